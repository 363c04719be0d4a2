//! What equal messages of several schemas have in common.
//!
//! Versions of a schema differ in a few messages and agree in the rest. A message whose definition and everything
//! that it reaches is the same in two schemas has the same shape and the same programs in both, so those of the schema that
//! came first are used for both, and with them their compiled code. A message is known by a hash of its definition and of
//! all definitions that it reaches, under keys drawn at random: nobody can make two messages that are taken for
//! one.
//!
//! Messages that reach `google.protobuf.Any` are not shared: what an `Any` contains is looked up in the schema.

use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use hashbrown::HashMap;

use crate::schema::model::{DefaultValue, EnumId, FieldDef, FieldKey, FieldKind, MessageId, SchemaData, WellKnown};

use super::build::{EncodeKey, sub_message};
use super::decode::{DecodeOptions, DecodeProgram};
use super::encode::EncodeProgram;
use super::layout::{Layout, LayoutId};
use super::unit::{Unit, UnitRef, components};

/// What a message and all that it reaches is, whatever schema it stands in.
pub(super) type Fingerprint = u128;

/// The shapes and programs that several schemas can use. Keeps none of them alive.
///
/// ```
/// use std::sync::Arc;
/// use protojit_core::program::{Programs, SharedPrograms};
/// use protojit_core::schema::Schema;
/// // A file descriptor set: message "P" with "string n = 1".
/// let set = b"\x0a\x1b\x0a\x01f\x22\x0e\x0a\x01P\x12\x09\x0a\x01n\x18\x01 \x01(\x09b\x06proto3";
/// let (one, two) = (Schema::from_descriptor_set(&set[..])?, Schema::from_descriptor_set(&set[..])?);
/// let shared = Arc::new(SharedPrograms::new());
/// let first = Programs::sharing(one.shared().clone(), shared.clone());
/// let second = Programs::sharing(two.shared().clone(), shared);
/// let id = one.message("P").unwrap().id();
/// assert_eq!(first.shape(id).id, second.shape(id).id);
/// # Ok::<(), protojit_core::schema::SchemaError>(())
/// ```
#[derive(Default)]
pub struct SharedPrograms {
    keys: [RandomState; 2],
    pub(super) shapes: Table<Fingerprint, Layout>,
    /// By the message that wrote the bytes.
    pub(super) decode: Table<(Fingerprint, LayoutId, DecodeOptions), DecodeProgram>,
    pub(super) encode: Table<EncodeKey, EncodeProgram>,
}

impl SharedPrograms {
    /// Without any.
    pub fn new() -> SharedPrograms {
        SharedPrograms::default()
    }
}

impl std::fmt::Debug for SharedPrograms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedPrograms").finish_non_exhaustive()
    }
}

/// Members of units by what they are.
pub(super) struct Table<K, T: 'static> {
    entries: Mutex<Entries<K, T>>,
}

struct Entries<K, T: 'static> {
    found: HashMap<K, (Weak<Unit<T>>, usize), foldhash::fast::RandomState>,
    /// How many members were let go of since those that nobody holds were looked for.
    left: usize,
}

impl<K, T> Default for Table<K, T> {
    fn default() -> Self {
        Table { entries: Mutex::new(Entries { found: HashMap::default(), left: 0 }) }
    }
}

impl<K: Copy + Eq + Hash, T> Table<K, T> {
    fn lock(&self) -> MutexGuard<'_, Entries<K, T>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The members of a component, where it is there.
    pub(super) fn find(&self, component: &[K]) -> Option<Vec<UnitRef<T>>> {
        self.lock().find(component)
    }

    /// Makes a new unit known; gives the members of the one that another thread made known before.
    pub(super) fn add(&self, component: &[K], unit: &Arc<Unit<T>>) -> Vec<UnitRef<T>> {
        let mut entries = self.lock();
        if let Some(found) = entries.find(component) {
            return found;
        }
        for (at, &key) in component.iter().enumerate() {
            entries.found.insert(key, (Arc::downgrade(unit), at));
        }
        drop(entries);
        (0..component.len()).filter_map(|at| UnitRef::new(unit.clone(), at)).collect()
    }

    /// A schema let go of so many members. Those that nobody holds are forgotten once they may be half of all.
    pub(super) fn leave(&self, members: usize) {
        let mut entries = self.lock();
        entries.left += members;
        if entries.left * 2 >= entries.found.len() {
            entries.left = 0;
            entries.found.retain(|_, (unit, _)| unit.strong_count() > 0);
            entries.found.shrink_to_fit();
        }
    }
}

impl<K: Copy + Eq + Hash, T> Entries<K, T> {
    fn find(&self, component: &[K]) -> Option<Vec<UnitRef<T>>> {
        let member = |key| {
            let (unit, at) = self.found.get(key)?;
            UnitRef::new(unit.upgrade()?, *at)
        };
        component.iter().map(member).collect()
    }
}

/// Fingerprints of the messages of one schema, computed as they are asked for. `None`: not to be shared.
#[derive(Default)]
pub(super) struct Fingerprints {
    known: Mutex<HashMap<MessageId, Option<Fingerprint>, foldhash::fast::RandomState>>,
}

impl Fingerprints {
    pub(super) fn of(&self, shared: &SharedPrograms, schema: &SchemaData, id: MessageId) -> Option<Fingerprint> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&found) = known.get(&id) {
            return found;
        }
        let successors = |id| sub_messages(schema, id);
        for component in components(id, |id| known.contains_key(&id), successors) {
            let whole = component_fingerprint(shared, schema, &component, &known);
            for &id in &component {
                // Members of a component reach the same, and differ in where that begins.
                let own = whole.map(|whole| {
                    let mut hasher = shared.hasher();
                    (whole, &schema.message(id).full_name).hash(&mut hasher);
                    hasher.fingerprint()
                });
                known.insert(id, own);
            }
        }
        known.get(&id).copied().flatten()
    }
}

fn component_fingerprint(
    shared: &SharedPrograms,
    schema: &SchemaData,
    component: &[MessageId],
    known: &HashMap<MessageId, Option<Fingerprint>, foldhash::fast::RandomState>,
) -> Option<Fingerprint> {
    let (mut own, mut reached) = (Vec::new(), Vec::new());
    for &id in component {
        if schema.message(id).well_known == Some(WellKnown::Any) {
            return None;
        }
        let mut hasher = shared.hasher();
        hash_message(schema, id, &mut hasher);
        own.push(hasher.fingerprint());
        for next in sub_messages(schema, id) {
            // Those that are not known yet are of this component.
            if let Some(found) = known.get(&next) {
                reached.push((*found)?);
            }
        }
    }
    own.sort_unstable();
    reached.sort_unstable();
    reached.dedup();
    let mut hasher = shared.hasher();
    (own, reached).hash(&mut hasher);
    Some(hasher.fingerprint())
}

/// Whatever of a message is visible in its shape, its programs, its text forms or its descriptor. What it refers to by name.
fn hash_message(schema: &SchemaData, id: MessageId, to: &mut Twice) {
    let message = schema.message(id);
    let file = &schema.files[message.file.index()];
    (&message.full_name, &file.package, file.edition, message.placeholder).hash(to);
    (message.is_message_set, message.well_known, schema.bytes(&message.raw)).hash(to);
    for (key, field) in schema.fields_of(id) {
        match key {
            FieldKey::Field(_, at) => at.hash(to),
            FieldKey::Extension(id) => schema.extensions[id.index()].full_name.hash(to),
        }
        hash_field(schema, field, to);
        // Entries of maps are reached through their fields only.
        if let (true, FieldKind::Message(entry)) = (field.is_map, field.kind) {
            schema.message(entry).fields.iter().for_each(|field| hash_field(schema, field, to));
        }
    }
}

fn hash_field(schema: &SchemaData, field: &FieldDef, to: &mut Twice) {
    (&field.name, &field.json_name, field.number, field.presence, field.oneof).hash(to);
    (field.packed, field.validate_utf8, field.delimited, field.is_map, schema.bytes(&field.raw)).hash(to);
    match &field.default {
        None => 0u8.hash(to),
        Some(DefaultValue::Bits(bits)) => (1u8, bits).hash(to),
        Some(DefaultValue::Bytes(bytes)) => (2u8, bytes).hash(to),
    }
    std::mem::discriminant(&field.kind).hash(to);
    match field.kind {
        FieldKind::Message(id) => schema.message(id).full_name.hash(to),
        FieldKind::Enum(id) => hash_enum(schema, id, to),
        _ => {}
    }
}

fn hash_enum(schema: &SchemaData, id: EnumId, to: &mut Twice) {
    let def = schema.enum_(id);
    (&def.full_name, def.closed, def.placeholder, schema.bytes(&def.raw)).hash(to);
}

impl SharedPrograms {
    fn hasher(&self) -> Twice {
        Twice(self.keys.each_ref().map(BuildHasher::build_hasher))
    }
}

/// Two hashes with different keys: 128 bits.
struct Twice([DefaultHasher; 2]);

impl Twice {
    fn fingerprint(&self) -> Fingerprint {
        Fingerprint::from(self.0[0].finish()) << 64 | Fingerprint::from(self.0[1].finish())
    }
}

impl Hasher for Twice {
    fn write(&mut self, bytes: &[u8]) {
        self.0.iter_mut().for_each(|hasher| hasher.write(bytes));
    }

    fn finish(&self) -> u64 {
        self.0[0].finish()
    }
}

fn sub_messages(schema: &SchemaData, id: MessageId) -> Vec<MessageId> {
    schema.fields_of(id).into_iter().filter_map(|(_, field)| sub_message(schema, field)).collect()
}
