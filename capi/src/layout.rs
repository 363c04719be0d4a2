//! Where fields lie in memory, as plain structs that other languages read once per message type.

use std::collections::HashMap;

use protojit::Shape;
use protojit::descriptors::model::{DefaultValue, EnumDef, EnumId, FieldKey, FieldKind, Presence, SchemaData};
use protojit_core::memory::slots::Storage;
use protojit_core::program::{FieldSlot, Layout, LayoutId, SlotPresence};

use crate::buffer::PjBytes;
use crate::check::Plan;

/// No layout, no enum, no oneof.
pub const PJ_NONE: u32 = u32::MAX;

/// What a field's cell holds. docs/LAYOUT.md describes the cells.
#[repr(u32)]
#[derive(Clone, Copy)]
pub enum PjCell {
    /// One byte, 0 or 1.
    Bool = 0,
    /// Four bytes.
    Bits32 = 1,
    /// Eight bytes.
    Bits64 = 2,
    /// A string or bytes: `PjStringCell`.
    String = 3,
    /// A pointer to a message, null where absent.
    Message = 4,
    /// A list: `PjListCell`. Each element is the cell that the field's kind has where it is singular.
    List = 5,
    /// A pointer to a `PjMapCell`, null where empty.
    Map = 6,
}

/// How a field tells set from unset.
#[repr(u32)]
#[derive(Clone, Copy)]
pub enum PjPresence {
    /// Set where the word at `presence_offset` has a bit of `presence_mask`.
    Bit = 0,
    /// Set where its pointer is not null.
    Pointer = 1,
    /// Member of a oneof: set where the word at `presence_offset` is the field's number.
    Case = 2,
    /// Set where the value's bits are not all zero, the string not empty.
    NonZero = 3,
    /// List or map: set where it is not empty.
    NonEmpty = 4,
}

/// The type of a field, by the numbers of `FieldDescriptorProto.Type`; groups are messages.
#[repr(u32)]
#[derive(Clone, Copy)]
pub enum PjKind {
    /// `double`
    Double = 1,
    /// `float`
    Float = 2,
    /// `int64`
    Int64 = 3,
    /// `uint64`
    Uint64 = 4,
    /// `int32`
    Int32 = 5,
    /// `fixed64`
    Fixed64 = 6,
    /// `fixed32`
    Fixed32 = 7,
    /// `bool`
    Bool = 8,
    /// `string`
    String = 9,
    /// A message.
    Message = 11,
    /// `bytes`
    Bytes = 12,
    /// `uint32`
    Uint32 = 13,
    /// An enum.
    Enum = 14,
    /// `sfixed32`
    Sfixed32 = 15,
    /// `sfixed64`
    Sfixed64 = 16,
    /// `sint32`
    Sint32 = 17,
    /// `sint64`
    Sint64 = 18,
}

/// The cell of a string or of bytes. All zeros are an empty one.
#[repr(C)]
pub struct PjStringCell {
    /// The first byte; without meaning where `len` is 0.
    pub data: *const u8,
    /// Length in bytes, at most 2^31-1.
    pub len: u32,
    /// 0 where the bytes are borrowed.
    pub cap: u32,
}

/// The cell of a list, and of the unknown fields: string cells at the start of the cold part. All zeros are an empty one.
#[repr(C)]
pub struct PjListCell {
    /// The elements, next to each other.
    pub data: *mut u8,
    /// How many.
    pub len: u32,
    /// How many fit; 0 where they are borrowed.
    pub cap: u32,
}

/// A map. Entry `i` begins at `entries + i * stride`: the key, and the value at `value_offset`.
#[repr(C)]
pub struct PjMapCell {
    /// The first entry.
    pub entries: *mut u8,
    /// How many.
    pub len: u32,
    /// How many fit.
    pub cap: u32,
    /// The library's own index; null in a map that others made, which is then for `pj_encode_at` and `pj_to_json_at` only.
    pub index: *mut u8,
    /// The library's own.
    pub index_mask: u32,
    /// The library's own.
    pub reserved: u32,
}

/// A field, or a known extension, and where it lies.
#[repr(C)]
pub struct PjField {
    /// Its name; of an extension the full name in brackets.
    pub name: PjBytes,
    /// Its name in JSON.
    pub json_name: PjBytes,
    /// Its number.
    pub number: u32,
    /// A `PjKind`: of a list's elements, of a map's values.
    pub kind: u32,
    /// A map's `PjKind` of keys, else 0.
    pub key_kind: u32,
    /// A `PjCell`.
    pub cell: u32,
    /// 0 where it lies in the message itself, else the cold page, counted from 1.
    pub page: u32,
    /// Of its cell, from the start of the message or of its page.
    pub offset: u32,
    /// A `PjPresence`.
    pub presence: u32,
    /// Of its presence or case word, from the start of the message or of its page.
    pub presence_offset: u32,
    /// Its presence bit.
    pub presence_mask: u32,
    /// Its messages' position in `layouts`, `PJ_NONE` where it has none.
    pub child: u32,
    /// Its enum's position in `enums`, `PJ_NONE` where it has none.
    pub enumeration: u32,
    /// The position of its oneof in the layout's `oneofs`, `PJ_NONE` where it is in none.
    pub oneof: u32,
    /// A map's offset of the value in its entry.
    pub value_offset: u32,
    /// A map's bytes from one entry to the next.
    pub stride: u32,
    /// 1 where a message without it is not valid.
    pub required: u32,
    /// 1 where its strings must be UTF-8.
    pub utf8: u32,
    /// What an unset one counts as: the bits of numbers (extended to 64, floats as 32), the number of an enum, 0 or 1.
    pub default_bits: u64,
    /// What an unset string or bytes field counts as.
    pub default_bytes: PjBytes,
}

/// A message's memory.
#[repr(C)]
pub struct PjLayout {
    /// Full name of the message.
    pub name: PjBytes,
    /// The fields, ascending by number.
    pub fields: *const PjField,
    /// How many.
    pub field_count: usize,
    /// The names of its oneofs, those made up for `optional` fields left out.
    pub oneofs: *const PjBytes,
    /// How many.
    pub oneof_count: usize,
    /// The sizes of its cold pages in bytes.
    pub pages: *const u32,
    /// How many.
    pub page_count: usize,
    /// The size of the message itself in bytes, a multiple of eight.
    pub size: u32,
    /// The size of its cold part in bytes.
    pub cold_size: u32,
}

/// A value of an enum.
#[repr(C)]
pub struct PjEnumValue {
    /// Its name.
    pub name: PjBytes,
    /// Its number.
    pub number: i32,
}

/// An enum.
#[repr(C)]
pub struct PjEnumeration {
    /// Full name.
    pub name: PjBytes,
    /// Its values, in the order of their declaration.
    pub values: *const PjEnumValue,
    /// How many.
    pub value_count: usize,
    /// 1 where other numbers are no values of it.
    pub closed: u32,
}

/// The layouts of a message and of all messages that it reaches.
#[repr(C)]
pub struct PjTable {
    /// The message's own comes first.
    pub layouts: *const PjLayout,
    /// How many.
    pub layout_count: usize,
    /// The enums of their fields.
    pub enums: *const PjEnumeration,
    /// How many.
    pub enum_count: usize,
}

/// A [`PjTable`] with all that it points to.
pub(crate) struct Table {
    pub(crate) table: PjTable,
    /// What is checked of messages that others wrote, per layout.
    pub(crate) plans: Vec<Plan>,
    // What the pointers above lead to; none of it moves or changes.
    _layouts: Box<[PjLayout]>,
    _fields: Vec<Box<[PjField]>>,
    _oneofs: Vec<Box<[PjBytes]>>,
    _names: Vec<Box<str>>,
    _enums: Box<[PjEnumeration]>,
    _values: Vec<Box<[PjEnumValue]>>,
    _shape: Shape,
}

// SAFETY: the pointers lead to what the table owns, or to the shape's schema, which it keeps alive; none of it is changed.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

impl Table {
    pub(crate) fn new(shape: Shape) -> Table {
        let mut found = Found { at: HashMap::new(), layouts: Vec::new() };
        found.add(&shape);
        let (mut enums, mut enum_at) = (Vec::new(), HashMap::new());
        let (mut fields, mut oneofs, mut layouts, mut names) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut next = 0;
        while let Some(&layout) = found.layouts.get(next) {
            next += 1;
            let mut of_enum = |id: EnumId| {
                *enum_at.entry(id).or_insert_with(|| {
                    enums.push(id);
                    enums.len() as u32 - 1
                })
            };
            let oneof_names: Box<[PjBytes]> = (layout.def().oneofs.iter().filter(|oneof| !oneof.synthetic))
                .map(|oneof| PjBytes::of(oneof.name.as_bytes()))
                .collect();
            let described: Box<[PjField]> =
                (layout.fields.iter()).map(|slot| field(layout, slot, &mut found, &mut of_enum, &mut names)).collect();
            layouts.push(PjLayout {
                name: PjBytes::of(layout.def().full_name.as_bytes()),
                fields: described.as_ptr(),
                field_count: described.len(),
                oneofs: oneof_names.as_ptr(),
                oneof_count: oneof_names.len(),
                pages: layout.pages.as_ptr(),
                page_count: layout.pages.len(),
                size: layout.size,
                cold_size: layout.cold_bytes(),
            });
            fields.push(described);
            oneofs.push(oneof_names);
        }
        let values: Vec<Box<[PjEnumValue]>> = enums.iter().map(|&id| values(shape.schema.enum_(id))).collect();
        let enums: Box<[PjEnumeration]> = (enums.iter().zip(&values))
            .map(|(&id, values)| {
                let def = shape.schema.enum_(id);
                PjEnumeration {
                    name: PjBytes::of(def.full_name.as_bytes()),
                    values: values.as_ptr(),
                    value_count: values.len(),
                    closed: u32::from(def.closed),
                }
            })
            .collect();
        let layouts: Box<[PjLayout]> = layouts.into();
        let plans = fields.iter().map(|fields| Plan::of(fields)).collect();
        Table {
            table: PjTable {
                layouts: layouts.as_ptr(),
                layout_count: layouts.len(),
                enums: enums.as_ptr(),
                enum_count: enums.len(),
            },
            plans,
            _layouts: layouts,
            _fields: fields,
            _oneofs: oneofs,
            _names: names,
            _enums: enums,
            _values: values,
            _shape: shape,
        }
    }
}

/// The layouts found so far, and the position of each.
struct Found<'a> {
    at: HashMap<LayoutId, u32>,
    layouts: Vec<&'a Layout>,
}

impl<'a> Found<'a> {
    fn add(&mut self, layout: &'a Layout) -> u32 {
        *self.at.entry(layout.id).or_insert_with(|| {
            self.layouts.push(layout);
            self.layouts.len() as u32 - 1
        })
    }
}

fn values(def: &EnumDef) -> Box<[PjEnumValue]> {
    (def.values.iter())
        .map(|value| PjEnumValue { name: PjBytes::of(value.name.as_bytes()), number: value.number })
        .collect()
}

fn field<'a>(
    layout: &'a Layout,
    slot: &'a FieldSlot,
    found: &mut Found<'a>,
    of_enum: &mut impl FnMut(EnumId) -> u32,
    names: &mut Vec<Box<str>>,
) -> PjField {
    let (schema, def) = (&*layout.schema, layout.field_def(slot));
    let (name, json_name) = match slot.key {
        FieldKey::Field(..) => (PjBytes::of(def.name.as_bytes()), PjBytes::of(def.json_name.as_bytes())),
        FieldKey::Extension(id) => {
            let name = format!("[{}]", schema.extensions[id.index()].full_name).into_boxed_str();
            let bytes = PjBytes::of(name.as_bytes());
            names.push(name);
            (bytes, bytes)
        }
    };
    let (key_kind, value_kind) = slot.entry_kinds.map_or((None, slot.kind), |(key, value)| (Some(key), value));
    let (presence, presence_offset, presence_mask) = match slot.presence {
        SlotPresence::Hasbit { offset, mask } => (PjPresence::Bit, offset, mask),
        SlotPresence::Pointer => (PjPresence::Pointer, 0, 0),
        SlotPresence::Case { offset } => (PjPresence::Case, offset, 0),
        SlotPresence::NonZero => (PjPresence::NonZero, 0, 0),
        SlotPresence::NonEmpty => (PjPresence::NonEmpty, 0, 0),
    };
    let (default_bits, default_bytes) = default(schema, value_kind, def.default.as_ref());
    PjField {
        name,
        json_name,
        number: slot.number,
        kind: kind(value_kind) as u32,
        key_kind: key_kind.map_or(0, |key| kind(key) as u32),
        cell: cell(slot.storage) as u32,
        page: u32::from(slot.page),
        offset: slot.offset,
        presence: presence as u32,
        presence_offset,
        presence_mask,
        child: slot.child.get().map_or(PJ_NONE, |child| found.add(child)),
        enumeration: if let FieldKind::Enum(id) = value_kind { of_enum(id) } else { PJ_NONE },
        oneof: def.oneof.filter(|&at| !layout.def().oneofs[at as usize].synthetic).unwrap_or(PJ_NONE),
        value_offset: slot.entry.map_or(0, |entry| entry.value_offset),
        stride: slot.entry.map_or(0, |entry| entry.stride),
        required: u32::from(def.presence == Presence::Required),
        utf8: u32::from(must_be_utf8(schema, slot, def.validate_utf8)),
        default_bits,
        default_bytes,
    }
}

/// A map's entry message has the rule of its own strings: keys and values have the same.
fn must_be_utf8(schema: &SchemaData, slot: &FieldSlot, validate: bool) -> bool {
    match (slot.entry_kinds, slot.kind) {
        (Some(_), FieldKind::Message(entry)) => schema.message(entry).fields.iter().any(|field| field.validate_utf8),
        _ => validate,
    }
}

fn default(schema: &SchemaData, kind: FieldKind, declared: Option<&DefaultValue>) -> (u64, PjBytes) {
    match (declared, kind) {
        (Some(DefaultValue::Bits(bits)), _) => (*bits, PjBytes::of(b"")),
        (Some(DefaultValue::Bytes(bytes)), _) => (0, PjBytes::of(bytes)),
        (None, FieldKind::Enum(id)) => {
            let first = schema.enum_(id).values.first().map_or(0, |value| value.number);
            (i64::from(first) as u64, PjBytes::of(b""))
        }
        (None, _) => (0, PjBytes::of(b"")),
    }
}

fn cell(storage: Storage) -> PjCell {
    match storage {
        Storage::Bool => PjCell::Bool,
        Storage::Bits32 => PjCell::Bits32,
        Storage::Bits64 => PjCell::Bits64,
        Storage::Str => PjCell::String,
        Storage::Message => PjCell::Message,
        Storage::List => PjCell::List,
        Storage::Map => PjCell::Map,
    }
}

fn kind(kind: FieldKind) -> PjKind {
    match kind {
        FieldKind::Double => PjKind::Double,
        FieldKind::Float => PjKind::Float,
        FieldKind::Int64 => PjKind::Int64,
        FieldKind::Uint64 => PjKind::Uint64,
        FieldKind::Int32 => PjKind::Int32,
        FieldKind::Fixed64 => PjKind::Fixed64,
        FieldKind::Fixed32 => PjKind::Fixed32,
        FieldKind::Bool => PjKind::Bool,
        FieldKind::String => PjKind::String,
        FieldKind::Message(_) => PjKind::Message,
        FieldKind::Bytes => PjKind::Bytes,
        FieldKind::Uint32 => PjKind::Uint32,
        FieldKind::Enum(_) => PjKind::Enum,
        FieldKind::Sfixed32 => PjKind::Sfixed32,
        FieldKind::Sfixed64 => PjKind::Sfixed64,
        FieldKind::Sint32 => PjKind::Sint32,
        FieldKind::Sint64 => PjKind::Sint64,
    }
}
