//! What decode and encode operations have in common.

use crate::memory::slots::Storage;
use crate::schema::model::{EnumDef, FieldDef, FieldKind};

/// How a value looks on the wire and what it is stored as.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum ValueKind {
    /// Varint, not zero is true; one byte.
    Bool,
    /// Varint, the low 32 bits; negative numbers are written with ten bytes. Also open enums.
    Int32,
    /// Varint, the low 32 bits.
    Uint32,
    /// Zigzag varint, the low 32 bits.
    Sint32,
    /// Varint, 64 bits, either sign.
    Int64,
    /// Zigzag varint, 64 bits.
    Sint64,
    /// Four bytes: `fixed32`, `sfixed32`, `float`.
    Fixed32,
    /// Eight bytes: `fixed64`, `sfixed64`, `double`.
    Fixed64,
    /// As `Int32`, but numbers the enum does not declare go to the unknown fields.
    ClosedEnum,
    /// Length and bytes that must be UTF-8.
    String,
    /// Length and bytes.
    Bytes,
    /// Length and a message.
    Message,
    /// A message between a start-group and an end-group tag.
    Group,
}

impl ValueKind {
    /// The kind of a field's value or element. `checked` says whether strings are checked at all.
    pub fn of(
        field: &FieldDef,
        enum_def: impl FnOnce(crate::schema::model::EnumId) -> bool,
        checked: bool,
    ) -> ValueKind {
        match field.kind {
            FieldKind::Bool => ValueKind::Bool,
            FieldKind::Int32 => ValueKind::Int32,
            FieldKind::Uint32 => ValueKind::Uint32,
            FieldKind::Sint32 => ValueKind::Sint32,
            FieldKind::Int64 | FieldKind::Uint64 => ValueKind::Int64,
            FieldKind::Sint64 => ValueKind::Sint64,
            FieldKind::Fixed32 | FieldKind::Sfixed32 | FieldKind::Float => ValueKind::Fixed32,
            FieldKind::Fixed64 | FieldKind::Sfixed64 | FieldKind::Double => ValueKind::Fixed64,
            FieldKind::Enum(id) if enum_def(id) => ValueKind::ClosedEnum,
            FieldKind::Enum(_) => ValueKind::Int32,
            FieldKind::String if checked && field.validate_utf8 => ValueKind::String,
            FieldKind::String | FieldKind::Bytes => ValueKind::Bytes,
            FieldKind::Message(_) if field.delimited => ValueKind::Group,
            FieldKind::Message(_) => ValueKind::Message,
        }
    }

    /// The wire type of one value.
    #[inline]
    pub const fn wire_type(self) -> crate::wire::WireType {
        use crate::wire::WireType;
        match self {
            ValueKind::Fixed32 => WireType::Fixed32,
            ValueKind::Fixed64 => WireType::Fixed64,
            ValueKind::String | ValueKind::Bytes | ValueKind::Message => WireType::Len,
            ValueKind::Group => WireType::StartGroup,
            _ => WireType::Varint,
        }
    }

    /// What one value is stored as.
    #[inline]
    pub const fn storage(self) -> Storage {
        match self {
            ValueKind::Bool => Storage::Bool,
            ValueKind::Int32 | ValueKind::Uint32 | ValueKind::Sint32 | ValueKind::Fixed32 | ValueKind::ClosedEnum => {
                Storage::Bits32
            }
            ValueKind::Int64 | ValueKind::Sint64 | ValueKind::Fixed64 => Storage::Bits64,
            ValueKind::String | ValueKind::Bytes => Storage::Str,
            ValueKind::Message | ValueKind::Group => Storage::Message,
        }
    }

    /// A number or bool, which a repeated field may carry packed.
    #[inline]
    pub const fn is_packable(self) -> bool {
        !matches!(self, ValueKind::String | ValueKind::Bytes | ValueKind::Message | ValueKind::Group)
    }

    /// A sub-message.
    #[inline]
    pub const fn is_message(self) -> bool {
        matches!(self, ValueKind::Message | ValueKind::Group)
    }
}

/// One value, a list, or a map.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Cardinality {
    /// One value, the last one wins; sub-messages merge.
    Singular,
    /// A list; numbers are accepted packed and unpacked alike.
    List,
    /// A map.
    Map,
}

/// What the table interpreter's main loop does with a field that came with the expected tag: a value kind and a
/// cardinality in one number, so that one indirect jump gets there. It tells nothing that the rest of the operation
/// does not.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Route {
    /// One bool.
    Bool,
    /// One varint of which 32 bits are kept.
    Int32,
    /// One zigzag varint of which 32 bits are kept.
    Sint32,
    /// One varint.
    Int64,
    /// One zigzag varint.
    Sint64,
    /// One times four bytes.
    Fixed32,
    /// One times eight bytes.
    Fixed64,
    /// One checked string.
    String,
    /// One bytes value.
    Bytes,
    /// One length-prefixed message.
    Message,
    /// An element of a list of checked strings.
    ListString,
    /// An element of a list of bytes.
    ListBytes,
    /// An element of a list of length-prefixed messages.
    ListMessage,
    /// A packed list.
    Packed,
    /// An element of a list of numbers that is written unpacked.
    Unpacked,
    /// An entry of a map.
    Map,
    /// Everything else: closed enums and groups.
    General,
}

impl Route {
    /// The route of a field; `packed` where its expected tag is that of a packed list.
    pub fn of(kind: ValueKind, cardinality: Cardinality, packed: bool) -> Route {
        match (cardinality, kind) {
            (Cardinality::Map, _) => Route::Map,
            (Cardinality::List, kind) if kind.is_packable() => {
                if packed {
                    Route::Packed
                } else {
                    Route::Unpacked
                }
            }
            (Cardinality::List, ValueKind::String) => Route::ListString,
            (Cardinality::List, ValueKind::Bytes) => Route::ListBytes,
            (Cardinality::List, ValueKind::Message) => Route::ListMessage,
            (Cardinality::List, _) => Route::General,
            (Cardinality::Singular, kind) => match kind {
                ValueKind::Bool => Route::Bool,
                ValueKind::Int32 | ValueKind::Uint32 => Route::Int32,
                ValueKind::Sint32 => Route::Sint32,
                ValueKind::Int64 => Route::Int64,
                ValueKind::Sint64 => Route::Sint64,
                ValueKind::Fixed32 => Route::Fixed32,
                ValueKind::Fixed64 => Route::Fixed64,
                ValueKind::String => Route::String,
                ValueKind::Bytes => Route::Bytes,
                ValueKind::Message => Route::Message,
                ValueKind::ClosedEnum | ValueKind::Group => Route::General,
            },
        }
    }
}

/// What the table interpreter has to do before it writes a field's cell. As [`Route`], it tells nothing new.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Access {
    /// Nothing.
    Plain,
    /// Set the presence bit.
    Hasbit,
    /// Find a cold page, or switch a oneof.
    Indirect,
}

impl Access {
    /// The access of a field with these properties.
    pub fn of(page: u16, hasbit: Hasbit, case_offset: u32) -> Access {
        match (page, hasbit.mask, case_offset) {
            (0, 0, NO_CASE) => Access::Plain,
            (0, _, NO_CASE) => Access::Hasbit,
            _ => Access::Indirect,
        }
    }
}

/// The numbers that a closed enum declares, as ascending ranges with both ends included.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct EnumSet {
    /// The ranges.
    pub ranges: Box<[(i32, i32)]>,
}

impl EnumSet {
    /// The numbers that `def` declares.
    pub fn of(def: &EnumDef) -> EnumSet {
        let mut ranges: Vec<(i32, i32)> = Vec::new();
        for &(number, _) in &def.by_number {
            match ranges.last_mut() {
                Some((_, end)) if end.checked_add(1) == Some(number) => *end = number,
                _ => ranges.push((number, number)),
            }
        }
        EnumSet { ranges: ranges.into() }
    }

    /// Whether `number` is declared.
    #[inline]
    pub fn contains(&self, number: i32) -> bool {
        if let [(low, high)] = *self.ranges {
            return low <= number && number <= high;
        }
        let at = self.ranges.partition_point(|&(low, _)| low <= number);
        at > 0 && number <= self.ranges[at - 1].1
    }
}

/// A presence bit: offset of its word from the start of the part, and the bit. The mask is 0 for none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Hasbit {
    /// Offset of the word.
    pub offset: u32,
    /// The bit, 0 where the field has none.
    pub mask: u32,
}

/// [`DecodeOp::case_offset`](super::DecodeOp::case_offset) where the field is in no oneof.
pub const NO_CASE: u32 = u32::MAX;
