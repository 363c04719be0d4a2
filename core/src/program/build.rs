//! From messages to shapes and programs.

use std::hash::Hash;
use std::sync::atomic::AtomicPtr;
use std::sync::{Arc, Mutex, PoisonError};

use hashbrown::HashMap;

use crate::memory::slots::Storage;
use crate::schema::model::{FieldDef, FieldKey, FieldKind, MessageId, Presence, SchemaData};
use crate::wire::{MAX_FIELD_NUMBER, MAX_VARINT_LEN, WireType, tag, write_varint};

use super::decode::{DecodeOp, DecodeOptions, DecodeProgram, MapOp};
use super::encode::{EncodeMapOp, EncodeOp, EncodeOptions, EncodeProgram, SetTest};
use super::layout::{FieldSlot, Layout, Shape, SlotPresence};
use super::numbers::NumberTable;
use super::ops::{Access, Cardinality, EnumSet, Hasbit, NO_CASE, Route, ValueKind};
use super::unit::{Child, Linker, Unit, UnitRef, components};
use super::{DecodeRef, EncodeRef};

type Cache<K, T> = Mutex<HashMap<K, UnitRef<T>, foldhash::fast::RandomState>>;

/// The shapes and programs of one schema: built on first use, then shared.
pub struct Programs {
    schema: Arc<SchemaData>,
    shapes: Cache<MessageId, Layout>,
    decode: Cache<(MessageId, DecodeOptions), DecodeProgram>,
    encode: Cache<(MessageId, EncodeOptions), EncodeProgram>,
}

impl Programs {
    /// An empty cache for `schema`.
    pub fn new(schema: Arc<SchemaData>) -> Programs {
        Programs { schema, shapes: Cache::default(), decode: Cache::default(), encode: Cache::default() }
    }

    /// The schema.
    pub fn schema(&self) -> &Arc<SchemaData> {
        &self.schema
    }

    /// The shape of all fields of `message`, known extensions included.
    pub fn shape(&self, message: MessageId) -> Shape {
        get(
            &self.shapes,
            message,
            |&id| sub_messages(&self.schema, id),
            |component, known| self.build_shapes(component, known),
        )
    }

    /// The program that decodes `message` into its full shape.
    pub fn decode(&self, message: MessageId, options: DecodeOptions) -> DecodeRef {
        let successors = |&(id, options): &(MessageId, DecodeOptions)| {
            sub_messages(&self.schema, id).into_iter().map(|id| (id, options)).collect()
        };
        get(&self.decode, (message, options), successors, |component, known| self.build_decode(component, known))
    }

    /// The program that encodes `message` from its full shape.
    pub fn encode(&self, message: MessageId, options: EncodeOptions) -> EncodeRef {
        let successors = |&(id, options): &(MessageId, EncodeOptions)| {
            sub_messages(&self.schema, id).into_iter().map(|id| (id, options)).collect()
        };
        get(&self.encode, (message, options), successors, |component, known| self.build_encode(component, known))
    }

    fn build_shapes(&self, component: &[MessageId], known: &Known<MessageId, Layout>) -> Arc<Unit<Layout>> {
        let deps = deps(component, known, |&id| sub_messages(&self.schema, id));
        let mut members: Vec<Layout> =
            component.iter().map(|&id| Layout::compute(&self.schema, id, &self.schema.fields_of(id))).collect();
        let reaches = members.iter().any(|layout| layout.reaches_required)
            || deps.iter().any(|dep| dep.members().iter().any(|layout| layout.reaches_required));
        members.iter_mut().for_each(|layout| layout.reaches_required = reaches);
        let component = positions(component);
        Unit::new(members, deps, |_, layout, linker| {
            for slot in &mut layout.fields {
                if let Some(target) = value_message(&self.schema, slot.kind, slot.storage) {
                    slot.child = resolve(target, &component, known, linker);
                }
            }
        })
    }

    fn build_decode(
        &self,
        component: &[(MessageId, DecodeOptions)],
        known: &Known<(MessageId, DecodeOptions), DecodeProgram>,
    ) -> Arc<Unit<DecodeProgram>> {
        let options = component[0].1;
        let deps = deps(component, known, |&(id, options)| {
            sub_messages(&self.schema, id).into_iter().map(|id| (id, options)).collect()
        });
        let members = component.iter().map(|&(id, options)| self.decode_program(id, options)).collect();
        let component = positions(component);
        Unit::new(members, deps, |_, program, linker| {
            let shape = program.shape.clone();
            program.layout = Child::pinned(&shape);
            for op in &mut program.ops {
                let slot = &shape.fields[op.slot as usize];
                let Some(target) = value_message(&self.schema, slot.kind, slot.storage) else { continue };
                let child = resolve((target, options), &component, known, linker);
                match op.cardinality {
                    Cardinality::Map => program.maps[op.aux as usize].child = child,
                    _ => op.child = child,
                }
            }
        })
    }

    fn decode_program(&self, message: MessageId, options: DecodeOptions) -> DecodeProgram {
        let (shape, message_set) = (self.shape(message), self.schema.message(message).is_message_set);
        let (mut enums, mut maps) = (Vec::new(), Vec::new());
        let count = shape.fields.len() as u32;
        let ops = (0..count)
            .zip(&shape.fields)
            .map(|(at, slot)| {
                let field = self.schema.field(slot.key);
                let kind = self.value_kind(field, options.check_utf8);
                let mut aux = 0;
                if kind == ValueKind::ClosedEnum {
                    aux = enums.len() as u32;
                    enums.push(self.enum_set(field));
                }
                if let Some(entry) = slot.entry {
                    aux = maps.len() as u32;
                    let (fields, defs) = self.entry_fields(field);
                    maps.push(MapOp {
                        entry,
                        key: self.value_kind(defs[0], options.check_utf8),
                        value: self.value_kind(defs[1], options.check_utf8),
                        enums: self.enum_set(defs[1]),
                        child: Child::NONE,
                        fields,
                    });
                }
                let (hasbit, case_offset) = match slot.presence {
                    SlotPresence::Hasbit { offset, mask } => (Hasbit { offset, mask }, NO_CASE),
                    SlotPresence::Case { offset } => (Hasbit { offset: 0, mask: 0 }, offset),
                    _ => (Hasbit { offset: 0, mask: 0 }, NO_CASE),
                };
                let wire_type = written_wire_type(field, kind);
                let tag = tag(slot.number, wire_type);
                let (tag_word, tag_len) = written_tag(tag);
                let (tag_bytes, tag_mask) = match tag_len {
                    5 => (1, 0),
                    // An extension of a MessageSet that only an item can name: cut to 32 bits its tag is another field's.
                    _ if slot.number > MAX_FIELD_NUMBER => (1, 0),
                    len => (tag_word as u32, u32::MAX >> (32 - 8 * u32::from(len))),
                };
                DecodeOp {
                    tag,
                    tag_bytes,
                    tag_mask,
                    tag_len,
                    route: match message_set {
                        true => Route::General,
                        false => Route::of(kind, cardinality(slot), wire_type == WireType::Len),
                    },
                    access: Access::of(slot.page, hasbit, case_offset),
                    sequential: at + 1 < count,
                    number: slot.number,
                    next: if at + 1 < count { at + 1 } else { u32::MAX },
                    kind,
                    cardinality: cardinality(slot),
                    page: slot.page,
                    offset: slot.offset,
                    hasbit,
                    case_offset,
                    aux,
                    slot: at,
                    key: slot.key,
                    child: Child::NONE,
                }
            })
            .collect::<Box<[DecodeOp]>>();
        let required = if options.check_required { shape.required.clone() } else { Box::default() };
        DecodeProgram {
            entry: AtomicPtr::default(),
            numbers: NumberTable::new(ops.iter().map(|op| op.number)),
            first: if count == 0 { u32::MAX } else { 0 },
            ops,
            layout: Child::NONE,
            size: shape.size,
            required_bits: required_bits(&shape, &required),
            required,
            message_set,
            options,
            enums: enums.into(),
            maps: maps.into(),
            schema: self.schema.clone(),
            message,
            shape,
        }
    }

    fn build_encode(
        &self,
        component: &[(MessageId, EncodeOptions)],
        known: &Known<(MessageId, EncodeOptions), EncodeProgram>,
    ) -> Arc<Unit<EncodeProgram>> {
        let options = component[0].1;
        let deps = deps(component, known, |&(id, options)| {
            sub_messages(&self.schema, id).into_iter().map(|id| (id, options)).collect()
        });
        let members = component.iter().map(|&(id, options)| self.encode_program(id, options)).collect();
        let component = positions(component);
        Unit::new(members, deps, |_, program, linker| {
            let shape = program.shape.clone();
            program.layout = Child::pinned(&shape);
            for (op, slot) in program.ops.iter_mut().zip(&shape.fields) {
                let Some(target) = value_message(&self.schema, slot.kind, slot.storage) else { continue };
                let child = resolve((target, options), &component, known, linker);
                match op.cardinality {
                    Cardinality::Map => program.maps[op.aux as usize].child = child,
                    _ => op.child = child,
                }
            }
        })
    }

    fn encode_program(&self, message: MessageId, options: EncodeOptions) -> EncodeProgram {
        let shape = self.shape(message);
        let mut maps = Vec::new();
        let ops = shape
            .fields
            .iter()
            .map(|slot| {
                let field = self.schema.field(slot.key);
                let kind = self.value_kind(field, true);
                let mut aux = 0;
                if let Some(entry) = slot.entry {
                    aux = maps.len() as u32;
                    let (fields, defs) = self.entry_fields(field);
                    maps.push(EncodeMapOp {
                        entry,
                        key: self.value_kind(defs[0], true),
                        key_signed: matches!(
                            defs[0].kind,
                            FieldKind::Int32
                                | FieldKind::Int64
                                | FieldKind::Sint32
                                | FieldKind::Sint64
                                | FieldKind::Sfixed32
                                | FieldKind::Sfixed64
                        ),
                        value: self.value_kind(defs[1], true),
                        child: Child::NONE,
                        fields,
                    });
                }
                let (tag_bytes, tag_len) = written_tag(tag(slot.number, written_wire_type(field, kind)));
                EncodeOp {
                    tag_bytes,
                    tag_len,
                    kind,
                    cardinality: cardinality(slot),
                    packed: field.packed,
                    required: options.check_required && field.presence == Presence::Required,
                    page: slot.page,
                    offset: slot.offset,
                    number: slot.number,
                    presence: slot.presence,
                    test: SetTest::of(slot.presence, slot.number),
                    implicit: matches!(slot.presence, SlotPresence::NonZero | SlotPresence::Pointer),
                    tag_word: tag_bytes << (64 - 8 * u32::from(tag_len)),
                    aux,
                    key: slot.key,
                    child: Child::NONE,
                }
            })
            .collect();
        EncodeProgram {
            entry: AtomicPtr::default(),
            ops,
            layout: Child::NONE,
            message_set: self.schema.message(message).is_message_set,
            options,
            maps: maps.into(),
            schema: self.schema.clone(),
            message,
            shape,
        }
    }

    fn value_kind(&self, field: &FieldDef, check_utf8: bool) -> ValueKind {
        ValueKind::of(field, |id| self.schema.enum_(id).closed, check_utf8)
    }

    fn enum_set(&self, field: &FieldDef) -> EnumSet {
        match field.kind {
            FieldKind::Enum(id) if self.schema.enum_(id).closed => EnumSet::of(self.schema.enum_(id)),
            _ => EnumSet::default(),
        }
    }

    /// Key and value of a map field's entry message.
    fn entry_fields(&self, field: &FieldDef) -> ([FieldKey; 2], [&FieldDef; 2]) {
        let FieldKind::Message(entry) = field.kind else { unreachable!("linking makes maps of messages only") };
        let keys = [FieldKey::Field(entry, 0), FieldKey::Field(entry, 1)];
        (keys, keys.map(|key| self.schema.field(key)))
    }
}

impl std::fmt::Debug for Programs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Programs").finish_non_exhaustive()
    }
}

/// Where in a component its nodes stand.
type Positions<K> = HashMap<K, usize, foldhash::fast::RandomState>;

fn positions<K: Copy + Eq + Hash>(component: &[K]) -> Positions<K> {
    component.iter().copied().zip(0..).collect()
}

/// What components refer to and was built before.
type Known<K, T> = HashMap<K, UnitRef<T>, foldhash::fast::RandomState>;

/// The cached member for `root`, built with all that it reaches where it is new.
fn get<K: Copy + Eq + Hash, T>(
    cache: &Cache<K, T>,
    root: K,
    successors: impl Fn(&K) -> Vec<K>,
    build: impl Fn(&[K], &Known<K, T>) -> Arc<Unit<T>>,
) -> UnitRef<T> {
    let mut cache = cache.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = cache.get(&root) {
        return found.clone();
    }
    for component in components(root, |node| cache.contains_key(&node), |node| successors(&node)) {
        let unit = build(&component, &cache);
        for (at, &node) in component.iter().enumerate() {
            if let Some(member) = UnitRef::new(unit.clone(), at) {
                cache.insert(node, member);
            }
        }
    }
    cache[&root].clone()
}

/// The messages that a message's memory points to: types of fields and extensions, and map values.
fn sub_messages(schema: &SchemaData, id: MessageId) -> Vec<MessageId> {
    schema
        .fields_of(id)
        .into_iter()
        .filter_map(|(_, field)| {
            value_message(schema, field.kind, if field.is_map { Storage::Map } else { Storage::Message })
        })
        .collect()
}

/// The message that a cell refers to.
fn value_message(schema: &SchemaData, kind: FieldKind, storage: Storage) -> Option<MessageId> {
    match (kind, storage) {
        (FieldKind::Message(entry), Storage::Map) => match schema.message(entry).fields[1].kind {
            FieldKind::Message(value) => Some(value),
            _ => None,
        },
        (FieldKind::Message(id), _) => Some(id),
        _ => None,
    }
}

fn deps<K: Copy + Eq + Hash, T>(
    component: &[K],
    known: &Known<K, T>,
    successors: impl Fn(&K) -> Vec<K>,
) -> Vec<Arc<Unit<T>>> {
    let mut deps: Vec<Arc<Unit<T>>> = Vec::new();
    let mut seen = hashbrown::HashSet::<*const Unit<T>, foldhash::fast::RandomState>::default();
    for node in component.iter().flat_map(successors) {
        if let Some(member) = known.get(&node)
            && seen.insert(Arc::as_ptr(member.unit()))
        {
            deps.push(member.unit().clone());
        }
    }
    deps
}

fn resolve<K: Copy + Eq + Hash, T>(
    node: K,
    component: &Positions<K>,
    known: &Known<K, T>,
    linker: &Linker<T>,
) -> Child<T> {
    match known.get(&node) {
        Some(member) => linker.outer(member),
        None => component.get(&node).map_or(Child::NONE, |&at| linker.inner(at)),
    }
}

fn cardinality(slot: &FieldSlot) -> Cardinality {
    match slot.storage {
        Storage::List => Cardinality::List,
        Storage::Map => Cardinality::Map,
        _ => Cardinality::Singular,
    }
}

/// The wire type that the schema writes the field with.
fn written_wire_type(field: &FieldDef, kind: ValueKind) -> WireType {
    if field.packed { WireType::Len } else { kind.wire_type() }
}

/// A tag's bytes as written, little-endian, and how many there are.
fn written_tag(tag: u32) -> (u64, u8) {
    let mut bytes = [0; MAX_VARINT_LEN];
    let len = write_varint(tag.into(), &mut bytes) as u8;
    (u64::from_le_bytes(bytes[..8].try_into().unwrap_or_default()), len)
}

/// The words of the message itself that required scalars set bits in.
fn required_bits(layout: &Layout, required: &[u32]) -> Box<[Hasbit]> {
    let mut words: Vec<Hasbit> = Vec::new();
    for &at in required {
        let slot = &layout.fields[at as usize];
        if let (0, SlotPresence::Hasbit { offset, mask }) = (slot.page, slot.presence) {
            match words.iter_mut().find(|word| word.offset == offset) {
                Some(word) => word.mask |= mask,
                None => words.push(Hasbit { offset, mask }),
            }
        }
    }
    words.into()
}
