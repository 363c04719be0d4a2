//! Layouts: at which offset of a message's memory each field of a shape lies.
//!
//! A message begins with a pointer to its cold part, then the presence bits, then fields by falling
//! alignment. At most [`HOT_BYTES`] of fields lie in the message itself; the rest, and all extensions, lie on
//! *pages* that are allocated when one of their fields first appears, so that two bytes on the wire never buy
//! a kilobyte of memory.
//!
//! ```text
//! message ──► +0   cold: *ColdPart (null until needed)     cold part ──► +0   unknown fields: ListSlot
//!             +8   presence bits, u32 words                              +16  page pointers, 8 bytes each
//!             ...  fields                                  page      ──► +0   presence bits, u32 words
//!                                                                        ...  fields
//! ```

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::memory::map::EntryLayout;
use crate::memory::slots::Storage;
use crate::schema::model::{FieldDef, FieldKey, FieldKind, MessageDef, MessageId, Presence, SchemaData};

use super::names::NameTable;
use super::numbers::NumberTable;
use super::paths::Paths;
use super::unit::{Child, UnitRef};

/// Bytes of fields that lie in the message itself, at most.
pub const HOT_BYTES: u32 = 256;

/// Offset of the cold pointer in a message.
pub const COLD_OFFSET: u32 = 0;

/// Offset of the unknown fields in the cold part.
pub const UNKNOWN_OFFSET: u32 = 0;

/// Offset of the first page pointer in the cold part.
pub const PAGES_OFFSET: u32 = 16;

const HEADER_BYTES: u32 = 8;
const PAGE_BYTES: u32 = 256;
const MOST_PAGES: u32 = 64;

/// What a message holds in memory: the fields of one shape, and where they lie.
pub type Shape = UnitRef<Layout>;

/// The identity of a layout. Handles carry it, every access compares it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LayoutId(u64);

impl LayoutId {
    /// No layout's identity.
    pub(crate) const NONE: LayoutId = LayoutId(0);

    fn next() -> LayoutId {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        LayoutId(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// How a slot tells set from unset. Offsets count from the start of the slot's part (message or page).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SlotPresence {
    /// A bit: set where the field is.
    Hasbit {
        /// Offset of its word.
        offset: u32,
        /// The bit.
        mask: u32,
    },
    /// The pointer is not null.
    Pointer,
    /// A oneof: the case word holds the field's number.
    Case {
        /// Offset of the word.
        offset: u32,
    },
    /// Set where the value's bits are not all zero (strings: not empty).
    NonZero,
    /// Lists and maps: set where they are not empty.
    NonEmpty,
}

/// A field's place in memory.
#[derive(Debug)]
pub struct FieldSlot {
    /// The number.
    pub number: u32,
    /// The field in the shape's schema.
    pub key: FieldKey,
    /// Its type; for maps the entry message.
    pub kind: FieldKind,
    /// What its cell holds.
    pub storage: Storage,
    /// What an element of its list holds; the same as `storage` where it is no list.
    pub element: Storage,
    /// 0 for the message itself, else the cold page, counted from 1.
    pub page: u16,
    /// Offset from the start of the part.
    pub offset: u32,
    /// Presence.
    pub presence: SlotPresence,
    /// Maps: the entries.
    pub entry: Option<EntryLayout>,
    /// Maps: the types of key and value.
    pub entry_kinds: Option<(FieldKind, FieldKind)>,
    /// The layout of the sub-message, of the list's messages, or of the map's message values.
    pub child: Child<Layout>,
}

impl FieldSlot {
    /// Singular, hence neither list nor map.
    #[inline]
    pub fn is_singular(&self) -> bool {
        !matches!(self.storage, Storage::List | Storage::Map)
    }
}

/// The memory of one message type in one shape. Only this crate makes layouts, so that whoever holds one can
/// rely on what it says.
#[non_exhaustive]
pub struct Layout {
    /// The identity.
    pub id: LayoutId,
    /// The schema its fields are named by.
    pub schema: Arc<SchemaData>,
    /// The message.
    pub message: MessageId,
    /// Size of the message itself in bytes, a multiple of eight.
    pub size: u32,
    /// Bytes of presence words behind the header.
    pub hasbit_bytes: u32,
    /// Size of each cold page in bytes, multiples of eight.
    pub pages: Box<[u32]>,
    /// The fields, ascending by number.
    pub fields: Box<[FieldSlot]>,
    /// Number to position in `fields`.
    pub numbers: NumberTable,
    /// Positions of required fields in `fields`.
    pub required: Box<[u32]>,
    /// This message, or one that it reaches, has required fields.
    pub reaches_required: bool,
    /// Fields that the shape leaves out are kept as unknown fields. False only for projections that drop them.
    pub keeps_rest: bool,
    /// Name to position in `fields`, made when first asked for.
    names: OnceLock<NameTable>,
    pub(super) paths: Paths,
}

impl Layout {
    /// The message's definition.
    #[inline]
    pub fn def(&self) -> &MessageDef {
        self.schema.message(self.message)
    }

    /// The definition of a slot's field.
    #[inline]
    pub fn field_def(&self, slot: &FieldSlot) -> &FieldDef {
        self.schema.field(slot.key)
    }

    /// The slot of the field with this number.
    #[inline]
    pub fn slot(&self, number: u32) -> Option<&FieldSlot> {
        self.numbers.get(number).map(|at| &self.fields[at as usize])
    }

    /// The slot of the field with this name. Extensions go by their full name in brackets, `[acme.priority]`.
    pub fn slot_named(&self, name: &str) -> Option<&FieldSlot> {
        self.names().named(&self.schema, &self.fields, name).map(|at| &self.fields[at as usize])
    }

    /// The slot of the field that a JSON object calls by this name: its JSON name, or the declared one. Extensions go
    /// by their full name in brackets.
    pub fn slot_json_named(&self, name: &str) -> Option<&FieldSlot> {
        self.names().json_named(&self.schema, &self.fields, name).map(|at| &self.fields[at as usize])
    }

    fn names(&self) -> &NameTable {
        self.names.get_or_init(|| NameTable::new(&self.schema, &self.fields))
    }

    /// Size of the cold part itself: unknown fields and page pointers.
    #[inline]
    pub fn cold_bytes(&self) -> u32 {
        PAGES_OFFSET + 8 * self.pages.len() as u32
    }

    /// Lays out `fields` (ascending by number) of a message. Children are linked by the unit builder.
    pub(super) fn compute(schema: &Arc<SchemaData>, message: MessageId, fields: &[(FieldKey, &FieldDef)]) -> Layout {
        let def = schema.message(message);
        let mut slots: Vec<FieldSlot> = fields.iter().map(|&(key, field)| new_slot(schema, key, field)).collect();
        let groups = groups(def, fields, &slots);
        let (mut parts, mut pages) = (vec![Part::new(HEADER_BYTES, HOT_BYTES)], Vec::new());
        let cold: u32 = groups.iter().map(Group::bytes).sum();
        let page_bytes = (cold / MOST_PAGES).next_power_of_two().max(PAGE_BYTES);
        for group in &groups {
            let hot_fits = !group.extension && parts[0].fits(group);
            let at = if hot_fits {
                0
            } else {
                if parts.len() == 1 || !parts[parts.len() - 1].fits(group) {
                    parts.push(Part::new(0, page_bytes));
                }
                parts.len() - 1
            };
            parts[at].add(group);
        }
        let mut sizes = Vec::new();
        for (page, part) in (0u16..).zip(&parts) {
            sizes.push(part.place(page, &mut slots));
        }
        pages.extend_from_slice(&sizes[1..]);
        let required = (0u32..)
            .zip(fields)
            .filter(|(_, (_, field))| field.presence == Presence::Required)
            .map(|(at, _)| at)
            .collect::<Box<[u32]>>();
        Layout {
            id: LayoutId::next(),
            schema: schema.clone(),
            message,
            size: sizes[0],
            hasbit_bytes: parts[0].hasbit_bytes(),
            pages: pages.into(),
            numbers: NumberTable::new(slots.iter().map(|slot| slot.number)),
            fields: slots.into(),
            reaches_required: !required.is_empty(),
            keeps_rest: true,
            names: OnceLock::new(),
            paths: Paths::default(),
            required,
        }
    }
}

impl std::fmt::Debug for Layout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Layout({}, {} bytes)", self.def().full_name, self.size)
    }
}

/// What a singular value or an element of this kind is stored as.
pub fn storage_of(kind: FieldKind) -> Storage {
    use FieldKind::*;
    match kind {
        Bool => Storage::Bool,
        Int32 | Uint32 | Sint32 | Fixed32 | Sfixed32 | Float | Enum(_) => Storage::Bits32,
        Int64 | Uint64 | Sint64 | Fixed64 | Sfixed64 | Double => Storage::Bits64,
        String | Bytes => Storage::Str,
        Message(_) => Storage::Message,
    }
}

fn new_slot(schema: &SchemaData, key: FieldKey, field: &FieldDef) -> FieldSlot {
    let element = storage_of(field.kind);
    let (mut entry, mut entry_kinds) = (None, None);
    let storage = match (field.presence, field.kind) {
        (Presence::Repeated, FieldKind::Message(id)) if field.is_map => {
            let kinds: Vec<FieldKind> = schema.message(id).fields.iter().map(|f| f.kind).collect();
            entry = Some(EntryLayout::new(storage_of(kinds[0]), storage_of(kinds[1])));
            entry_kinds = Some((kinds[0], kinds[1]));
            Storage::Map
        }
        (Presence::Repeated, _) => Storage::List,
        _ => element,
    };
    FieldSlot {
        number: field.number,
        key,
        kind: field.kind,
        storage,
        element: if storage == Storage::Map { Storage::Map } else { element },
        page: 0,
        offset: 0,
        presence: SlotPresence::NonEmpty,
        entry,
        entry_kinds,
        child: Child::NONE,
    }
}

/// Fields that must lie together: one field, or the members of a oneof.
struct Group {
    fields: Vec<u32>,
    size: u32,
    align: u32,
    presence: GroupPresence,
    extension: bool,
    required: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum GroupPresence {
    Hasbit,
    Case,
    Inherent(SlotPresence),
}

impl Group {
    fn bytes(&self) -> u32 {
        self.size + if self.presence == GroupPresence::Case { 4 } else { 0 }
    }
}

fn groups(def: &MessageDef, fields: &[(FieldKey, &FieldDef)], slots: &[FieldSlot]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut of_oneof = vec![None; def.oneofs.len()];
    for (at, ((key, field), slot)) in (0u32..).zip(fields.iter().zip(slots)) {
        let oneof = field.oneof.filter(|&oneof| !def.oneofs[oneof as usize].synthetic);
        if let Some(oneof) = oneof {
            if let Some(group) = of_oneof[oneof as usize] {
                let group: &mut Group = &mut groups[group as usize];
                group.fields.push(at);
                group.size = group.size.max(slot.storage.size());
                group.align = group.align.max(slot.storage.align());
                continue;
            }
            of_oneof[oneof as usize] = Some(groups.len() as u32);
        }
        let presence = match (oneof, field.presence, slot.storage) {
            (Some(_), ..) => GroupPresence::Case,
            (None, Presence::Repeated, _) => GroupPresence::Inherent(SlotPresence::NonEmpty),
            (None, _, Storage::Message) => GroupPresence::Inherent(SlotPresence::Pointer),
            (None, Presence::Implicit, _) => GroupPresence::Inherent(SlotPresence::NonZero),
            (None, ..) => GroupPresence::Hasbit,
        };
        groups.push(Group {
            fields: vec![at],
            size: slot.storage.size(),
            align: slot.storage.align(),
            presence,
            extension: matches!(key, FieldKey::Extension(_)),
            required: field.presence == Presence::Required,
        });
    }
    // Required fields are checked at the end of every frame: they come first, hence into the message.
    groups.sort_by_key(|group| !group.required);
    groups
}

/// A part of a message's memory being filled: the message itself or a page.
struct Part<'g> {
    header: u32,
    room: u32,
    used: u32,
    hasbits: u32,
    groups: Vec<&'g Group>,
}

impl<'g> Part<'g> {
    fn new(header: u32, room: u32) -> Self {
        Part { header, room, used: 0, hasbits: 0, groups: Vec::new() }
    }

    /// An empty part takes any group.
    fn fits(&self, group: &Group) -> bool {
        self.groups.is_empty() || self.used + group.bytes() <= self.room
    }

    fn add(&mut self, group: &'g Group) {
        self.used += group.bytes();
        self.hasbits += u32::from(group.presence == GroupPresence::Hasbit);
        self.groups.push(group);
    }

    fn hasbit_bytes(&self) -> u32 {
        self.hasbits.div_ceil(32) * 4
    }

    /// Gives every field of the part its place, and the part's size.
    fn place(&self, page: u16, slots: &mut [FieldSlot]) -> u32 {
        let mut at = self.header + self.hasbit_bytes();
        let (mut cases, mut bits) = (Vec::new(), 0);
        // Case words are four-byte cells like any other.
        for group in &self.groups {
            let presence = match group.presence {
                GroupPresence::Inherent(presence) => presence,
                GroupPresence::Hasbit => {
                    let (offset, mask) = (self.header + bits / 32 * 4, 1 << (bits % 32));
                    bits += 1;
                    SlotPresence::Hasbit { offset, mask }
                }
                GroupPresence::Case => {
                    cases.push(*group);
                    SlotPresence::Case { offset: 0 }
                }
            };
            for &field in &group.fields {
                slots[field as usize].presence = presence;
            }
        }
        if !at.is_multiple_of(8) && !cases.is_empty() {
            // The half word behind the presence bits.
            let case = cases.remove(0);
            set_case(case, at, slots);
            at += 4;
        }
        for align in [8, 4, 1] {
            at = at.next_multiple_of(align);
            for group in self.groups.iter().filter(|group| group.align == align) {
                for &field in &group.fields {
                    slots[field as usize].page = page;
                    slots[field as usize].offset = at;
                }
                // Larger members of a oneof may make its size no multiple of its alignment.
                at += group.size.next_multiple_of(align);
            }
            if align == 4 {
                for case in cases.drain(..) {
                    set_case(case, at, slots);
                    at += 4;
                }
            }
        }
        at.next_multiple_of(8)
    }
}

fn set_case(group: &Group, offset: u32, slots: &mut [FieldSlot]) {
    for &field in &group.fields {
        slots[field as usize].presence = SlotPresence::Case { offset };
    }
}
