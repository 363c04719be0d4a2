//! From messages to shapes and programs.

use std::cell::RefCell;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashbrown::HashMap;

use crate::memory::slots::Storage;
use crate::schema::model::{FieldDef, FieldKey, FieldKind, MessageId, SchemaData};
use crate::wire::{MAX_VARINT_LEN, WireType, write_varint};

use super::bind::{BindError, check};
use super::build_encode::build_encode;
use super::decode::{DecodeOptions, DecodeProgram};
use super::encode::{EncodeOptions, EncodeProgram};
use super::layout::{FieldSlot, Layout, LayoutId, Shape};
use super::ops::{Cardinality, EnumSet, ValueKind};
use super::shared::{Fingerprint, Fingerprints, SharedPrograms, Table};
use super::unit::{Child, Linker, Unit, UnitRef, components};
use super::view::{ALL, ProjectError, Rest, ViewId, Views};
use super::{DecodeRef, EncodeRef};

type Cache<K, T> = Mutex<HashMap<K, UnitRef<T>, foldhash::fast::RandomState>>;

/// The shapes and programs of one schema: built on first use, then shared.
pub struct Programs {
    pub(super) schema: Arc<SchemaData>,
    /// Those of other schemas that equal messages use.
    shared: Arc<SharedPrograms>,
    fingerprints: Fingerprints,
    views: Mutex<Views>,
    shapes: Cache<ShapeKey, Layout>,
    decode: Cache<DecodeKey, DecodeProgram>,
    encode: Cache<EncodeKey, EncodeProgram>,
}

/// A message, and which of its fields.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct ShapeKey {
    message: MessageId,
    view: ViewId,
}

/// A message that wrote bytes, and what they fill.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct DecodeKey {
    pub message: MessageId,
    pub layout: LayoutId,
    pub options: DecodeOptions,
}

/// What is written.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct EncodeKey {
    pub layout: LayoutId,
    pub options: EncodeOptions,
}

impl Programs {
    /// An empty cache for `schema`.
    pub fn new(schema: Arc<SchemaData>) -> Programs {
        Programs::sharing(schema, Arc::default())
    }

    /// An empty cache for `schema`, which uses what is the same in other schemas, and lets them use its own.
    pub fn sharing(schema: Arc<SchemaData>, shared: Arc<SharedPrograms>) -> Programs {
        Programs {
            schema,
            shared,
            fingerprints: Fingerprints::default(),
            views: Mutex::default(),
            shapes: Cache::default(),
            decode: Cache::default(),
            encode: Cache::default(),
        }
    }

    /// The schema.
    pub fn schema(&self) -> &Arc<SchemaData> {
        &self.schema
    }

    /// The shape of all fields of `message`, known extensions included.
    pub fn shape(&self, message: MessageId) -> Shape {
        self.view_shape(ShapeKey { message, view: ALL })
    }

    /// The shape of some fields of `message`: those at `paths`, such as `address.zip`. What it leaves out is skipped
    /// when bytes are decoded into it, with framing checks only, or kept as [`Rest`] says.
    ///
    /// A path leads through messages, lists of messages and maps to messages (to a field of their values); its parts
    /// are declared names, JSON names, numbers, or full names of extensions in brackets. What it ends at is taken
    /// whole, and so are well-known types that it leads into, since their JSON form is one value. The other members
    /// of a oneof come along (messages among them without their fields), so that which member is set is what a full
    /// decode says. Equal projections are the same shape.
    ///
    /// # Errors
    /// There is no such field, or a path goes on behind what has no fields.
    pub fn project<S: AsRef<str>>(
        &self,
        message: MessageId,
        paths: impl IntoIterator<Item = S>,
        rest: Rest,
    ) -> Result<Shape, ProjectError> {
        let view = self.views().select(&self.schema, message, paths, rest)?;
        Ok(self.view_shape(ShapeKey { message, view }))
    }

    /// The program that decodes `message` into its full shape.
    pub fn decode(&self, message: MessageId, options: DecodeOptions) -> DecodeRef {
        self.decode_checked(message, &self.shape(message), options)
    }

    /// The program that decodes `message` into a shape: of this message or of another, such as the same in another
    /// version of the schema. Fields go by their number.
    ///
    /// A shape that drops what it leaves out ([`Rest::Drop`]) makes `keep_unknown` false.
    ///
    /// # Errors
    /// What the two say of a field does not fit together. All mismatches are found here; none is left to records.
    pub fn bind(&self, message: MessageId, shape: &Shape, options: DecodeOptions) -> Result<DecodeRef, BindError> {
        check(&self.schema, message, shape, options)?;
        Ok(self.decode_checked(message, shape, options))
    }

    /// As [`Programs::bind`], for a message and a shape that are bound already, with other options.
    pub fn rebind(&self, message: MessageId, shape: &Shape, options: DecodeOptions) -> DecodeRef {
        self.decode_checked(message, shape, options)
    }

    fn fingerprint(&self, message: MessageId) -> Option<Fingerprint> {
        self.fingerprints.of(&self.shared, &self.schema, message)
    }

    /// The program that encodes `message` from its full shape.
    pub fn encode(&self, message: MessageId, options: EncodeOptions) -> EncodeRef {
        self.encode_shape(&self.shape(message), options)
    }

    /// The program that encodes messages of a shape, of whatever schema.
    pub fn encode_shape(&self, shape: &Shape, options: EncodeOptions) -> EncodeRef {
        let root = EncodeKey { layout: shape.id, options };
        if let Some(found) = find(&self.encode, &root) {
            return found;
        }
        let shapes = Shapes::new(shape);
        let successors = |key: &EncodeKey| {
            let children = shapes.children(key.layout).into_iter();
            children.map(|(_, layout)| EncodeKey { layout, ..*key }).collect()
        };
        let shared = (&self.shared.encode, |key: &EncodeKey| Some(*key));
        get(&self.encode, shared, root, successors, |component, links| build_encode(component, &shapes, links))
    }

    fn decode_checked(&self, message: MessageId, shape: &Shape, mut options: DecodeOptions) -> DecodeRef {
        options.keep_unknown &= shape.keeps_rest;
        let root = DecodeKey { message, layout: shape.id, options };
        if let Some(found) = find(&self.decode, &root) {
            return found;
        }
        let shapes = Shapes::new(shape);
        let successors = |key: &DecodeKey| {
            let child = |(number, layout)| {
                let field = self.schema.field(self.schema.field_by_number(key.message, number)?);
                Some(DecodeKey { message: sub_message(&self.schema, field)?, layout, ..*key })
            };
            shapes.children(key.layout).into_iter().filter_map(child).collect()
        };
        let shared_key = |key: &DecodeKey| Some((self.fingerprint(key.message)?, key.layout, key.options));
        let shared = (&self.shared.decode, shared_key);
        get(&self.decode, shared, root, successors, |component, links| self.build_decode(component, &shapes, links))
    }

    fn view_shape(&self, key: ShapeKey) -> Shape {
        let successors = |key: &ShapeKey| {
            let fields = self.fields(*key).into_iter();
            fields
                .filter_map(|(_, field, view)| Some(ShapeKey { message: sub_message(&self.schema, field)?, view }))
                .collect()
        };
        // Views are numbered by each schema for itself.
        let shared_key = |key: &ShapeKey| if key.view == ALL { self.fingerprint(key.message) } else { None };
        let shared = (&self.shared.shapes, shared_key);
        get(&self.shapes, shared, key, successors, |component, links| self.build_shapes(component, links))
    }

    fn build_shapes(&self, component: &[ShapeKey], links: &Links<'_, ShapeKey, Layout>) -> Arc<Unit<Layout>> {
        let deps = links.deps.clone();
        let mut members: Vec<Layout> = component
            .iter()
            .map(|&key| {
                let fields: Vec<_> = self.fields(key).into_iter().map(|(key, field, _)| (key, field)).collect();
                let mut layout = Layout::compute(&self.schema, key.message, &fields);
                layout.keeps_rest = key.view == ALL || self.views().rest(key.view) == Rest::Keep;
                layout
            })
            .collect();
        let reaches = members.iter().any(|layout| layout.reaches_required)
            || deps.iter().any(|dep| dep.members().iter().any(|layout| layout.reaches_required));
        members.iter_mut().for_each(|layout| layout.reaches_required = reaches);
        Unit::new(members, deps, |at, layout, linker| {
            let fields = self.fields(component[at]);
            for (slot, (_, field, view)) in layout.fields.iter_mut().zip(fields) {
                if let Some(message) = sub_message(&self.schema, field) {
                    slot.child = links.resolve(ShapeKey { message, view }, linker);
                }
            }
        })
    }

    /// The fields of a view, ascending by number, each with the view of the message that it refers to.
    fn fields(&self, key: ShapeKey) -> Vec<(FieldKey, &FieldDef, ViewId)> {
        let all = self.schema.fields_of(key.message).into_iter();
        if key.view == ALL {
            return all.map(|(key, field)| (key, field, ALL)).collect();
        }
        let views = self.views();
        all.filter_map(|(field_key, field)| Some((field_key, field, views.child(key.view, field.number)?))).collect()
    }

    fn views(&self) -> MutexGuard<'_, Views> {
        self.views.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The wire kind of a value of `field`; `checked` says whether strings are checked.
pub(super) fn value_kind(schema: &SchemaData, field: &FieldDef, checked: bool) -> ValueKind {
    ValueKind::of(field, |id| schema.enum_(id).closed, checked)
}

/// What a closed enum declares; nothing for any other field.
pub(super) fn enum_set(schema: &SchemaData, field: &FieldDef) -> EnumSet {
    match field.kind {
        FieldKind::Enum(id) if schema.enum_(id).closed => EnumSet::of(schema.enum_(id)),
        _ => EnumSet::default(),
    }
}

/// Key and value of a map field's entry message.
pub(super) fn entry_fields<'s>(schema: &'s SchemaData, field: &FieldDef) -> [&'s FieldDef; 2] {
    let FieldKind::Message(entry) = field.kind else { unreachable!("linking makes maps of messages only") };
    [FieldKey::Field(entry, 0), FieldKey::Field(entry, 1)].map(|key| schema.field(key))
}

impl Drop for Programs {
    fn drop(&mut self) {
        // Encode and decode hold the shapes.
        self.shared.encode.leave(empty(&mut self.encode));
        self.shared.decode.leave(empty(&mut self.decode));
        self.shared.shapes.leave(empty(&mut self.shapes));
    }
}

/// Drops what a cache holds; gives how much that was.
fn empty<K, T>(cache: &mut Cache<K, T>) -> usize {
    std::mem::take(cache.get_mut().unwrap_or_else(PoisonError::into_inner)).len()
}

impl std::fmt::Debug for Programs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Programs").finish_non_exhaustive()
    }
}

/// The shapes that one refers to, found by identity.
pub(super) struct Shapes(RefCell<ShapesFound>);

#[derive(Default)]
struct ShapesFound {
    by_id: HashMap<LayoutId, Shape, foldhash::fast::RandomState>,
    by_address: HashMap<usize, LayoutId, foldhash::fast::RandomState>,
    units: hashbrown::HashSet<usize, foldhash::fast::RandomState>,
}

impl Shapes {
    pub fn new(root: &Shape) -> Shapes {
        let mut found = ShapesFound::default();
        found.add(root.unit());
        Shapes(RefCell::new(found))
    }

    /// The fields that refer to messages, by number, with the layouts of these.
    pub fn children(&self, id: LayoutId) -> Vec<(u32, LayoutId)> {
        let mut found = self.0.borrow_mut();
        let Some(shape) = found.by_id.get(&id).cloned() else { return Vec::new() };
        for unit in shape.unit().deps() {
            found.add(unit);
        }
        let child = |slot: &FieldSlot| Some((slot.number, *found.by_address.get(&slot.child.as_ptr().addr())?));
        shape.fields.iter().filter_map(child).collect()
    }

    /// The shape with this identity, which [`Shapes::children`] gave.
    pub fn get(&self, id: LayoutId) -> Shape {
        self.0.borrow().by_id[&id].clone()
    }
}

impl ShapesFound {
    fn add(&mut self, unit: &Arc<Unit<Layout>>) {
        if self.units.insert(Arc::as_ptr(unit).addr()) {
            for shape in (0..unit.members().len()).filter_map(|at| UnitRef::new(unit.clone(), at)) {
                self.by_address.insert((&raw const *shape).addr(), shape.id);
                self.by_id.insert(shape.id, shape);
            }
        }
    }
}

/// What a component's members refer to.
pub(super) struct Links<'c, K, T: 'static> {
    /// Everything that was built before.
    known: &'c HashMap<K, UnitRef<T>, foldhash::fast::RandomState>,
    /// Where in the component its nodes stand.
    positions: HashMap<K, usize, foldhash::fast::RandomState>,
    /// The units that members refer to, besides their own.
    pub deps: Vec<Arc<Unit<T>>>,
}

impl<K: Copy + Eq + Hash, T> Links<'_, K, T> {
    /// The pointer to a node.
    pub fn resolve(&self, node: K, linker: &Linker<T>) -> Child<T> {
        match self.known.get(&node) {
            Some(member) => linker.outer(member),
            None => self.positions.get(&node).map_or(Child::NONE, |&at| linker.inner(at)),
        }
    }
}

fn find<K: Eq + Hash, T>(cache: &Cache<K, T>, root: &K) -> Option<UnitRef<T>> {
    cache.lock().unwrap_or_else(PoisonError::into_inner).get(root).cloned()
}

/// The cached member for `root`, built with all that it reaches where it is new, here and in all other schemas.
fn get<K: Copy + Eq + Hash, S: Copy + Eq + Hash, T>(
    cache: &Cache<K, T>,
    (shared, shared_key): (&Table<S, T>, impl Fn(&K) -> Option<S>),
    root: K,
    successors: impl Fn(&K) -> Vec<K>,
    build: impl Fn(&[K], &Links<'_, K, T>) -> Arc<Unit<T>>,
) -> UnitRef<T> {
    let mut cache = cache.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = cache.get(&root) {
        return found.clone();
    }
    for component in components(root, |node| cache.contains_key(&node), |node| successors(&node)) {
        let keys: Option<Vec<S>> = component.iter().map(&shared_key).collect();
        if let Some(found) = keys.as_ref().and_then(|keys| shared.find(keys)) {
            cache.extend(component.into_iter().zip(found));
            continue;
        }
        let (mut deps, mut seen) = (Vec::new(), hashbrown::HashSet::<_, foldhash::fast::RandomState>::default());
        for node in component.iter().flat_map(&successors) {
            if let Some(member) = cache.get(&node)
                && seen.insert(Arc::as_ptr(member.unit()))
            {
                deps.push(member.unit().clone());
            }
        }
        let positions = component.iter().copied().zip(0..).collect();
        let unit = build(&component, &Links { known: &cache, positions, deps });
        let members = match &keys {
            Some(keys) => shared.add(keys, &unit),
            None => (0..component.len()).filter_map(|at| UnitRef::new(unit.clone(), at)).collect(),
        };
        cache.extend(component.into_iter().zip(members));
    }
    cache[&root].clone()
}

/// The message that a field's cell refers to: its type, for maps that of the values.
pub(super) fn sub_message(schema: &SchemaData, field: &FieldDef) -> Option<MessageId> {
    match field.kind {
        FieldKind::Message(entry) if field.is_map => match schema.message(entry).fields[1].kind {
            FieldKind::Message(value) => Some(value),
            _ => None,
        },
        FieldKind::Message(id) => Some(id),
        _ => None,
    }
}

pub(super) fn cardinality(slot: &FieldSlot) -> Cardinality {
    match slot.storage {
        Storage::List => Cardinality::List,
        Storage::Map => Cardinality::Map,
        _ => Cardinality::Singular,
    }
}

/// The wire type that the schema writes the field with.
pub(super) fn written_wire_type(field: &FieldDef, kind: ValueKind) -> WireType {
    if field.packed { WireType::Len } else { kind.wire_type() }
}

/// A tag's bytes as written, little-endian, and how many there are.
pub(super) fn written_tag(tag: u32) -> (u64, u8) {
    let mut bytes = [0; MAX_VARINT_LEN];
    let len = write_varint(tag.into(), &mut bytes) as u8;
    (u64::from_le_bytes(bytes[..8].try_into().unwrap_or_default()), len)
}
