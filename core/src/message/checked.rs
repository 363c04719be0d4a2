//! Values on their way into a cell: first checked against the field, then written.

use super::Value;
use crate::memory::alloc::Alloc;
use crate::memory::slots::StrSlot;
use crate::memory::{ArenaFull, list};
use crate::schema::model::{FieldDef, FieldKind, SchemaData};

/// Why a message was not changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetError {
    /// The value is of another kind than the field, or the field is a list where a singular one is meant.
    #[error("the value is not of the field's kind")]
    WrongKind,
    /// A string that is not UTF-8, where the schema asks for the check.
    #[error("the string is not UTF-8")]
    InvalidUtf8,
    /// A number that the closed enum does not declare.
    #[error("the closed enum does not declare the number {0}")]
    EnumNumber(i32),
    /// A list has no such element.
    #[error("the list has no element {0}")]
    NoSuchElement(usize),
    /// Bytes to be kept as unknown fields are not whole fields.
    #[error("the bytes are not whole fields")]
    MalformedUnknown,
    /// The other message has another layout.
    #[error("the messages have different layouts")]
    OtherLayout,
    /// The arena's limit is reached, or a string or list passes 2^31-1.
    #[error(transparent)]
    ArenaFull(#[from] ArenaFull),
}

/// A value in the form its cell takes.
#[derive(Clone, Copy)]
pub(super) enum Raw<'v> {
    Bool(bool),
    Bits32(u32),
    Bits64(u64),
    Str(&'v [u8]),
}

/// Fits `value` to `field`, which is (or has elements) of a kind other than message.
pub(super) fn check<'v>(schema: &SchemaData, field: &FieldDef, value: Value<'v>) -> Result<Raw<'v>, SetError> {
    use FieldKind::*;
    Ok(match (value, field.kind) {
        (Value::Bool(value), Bool) => Raw::Bool(value),
        (Value::I32(value), Int32 | Sint32 | Sfixed32) => Raw::Bits32(value as u32),
        (Value::U32(value), Uint32 | Fixed32) => Raw::Bits32(value),
        (Value::F32(value), Float) => Raw::Bits32(value.to_bits()),
        (Value::I64(value), Int64 | Sint64 | Sfixed64) => Raw::Bits64(value as u64),
        (Value::U64(value), Uint64 | Fixed64) => Raw::Bits64(value),
        (Value::F64(value), Double) => Raw::Bits64(value.to_bits()),
        (Value::Str(value), String) => Raw::Str(value.as_bytes()),
        (Value::Bytes(value), Bytes) => Raw::Str(value),
        (Value::Bytes(value), String) => Raw::Str(check_utf8(field, value)?),
        (Value::Enum(number), Enum(id)) => {
            let def = schema.enum_(id);
            if def.closed && def.by_number.binary_search_by_key(&number, |&(number, _)| number).is_err() {
                return Err(SetError::EnumNumber(number));
            }
            Raw::Bits32(number as u32)
        }
        _ => return Err(SetError::WrongKind),
    })
}

/// The bytes, if the field takes them as a string.
pub(super) fn check_utf8<'v>(field: &FieldDef, bytes: &'v [u8]) -> Result<&'v [u8], SetError> {
    if field.validate_utf8 && simdutf8::basic::from_utf8(bytes).is_err() {
        return Err(SetError::InvalidUtf8);
    }
    Ok(bytes)
}

/// Writes a value into its cell; strings are copied.
///
/// # Safety
/// `cell` is a cell of the value's storage, in a live message that nobody else reads meanwhile; the cell holds a
/// value of that storage, or zeros.
#[inline]
pub(super) unsafe fn write(cell: *mut u8, value: Raw<'_>, from: &mut impl Alloc) -> Result<(), ArenaFull> {
    // SAFETY: the cell is as wide as its storage and aligned to it.
    unsafe {
        match value {
            Raw::Bool(value) => cell.write(value.into()),
            Raw::Bits32(bits) => cell.cast::<u32>().write(bits),
            Raw::Bits64(bits) => cell.cast::<u64>().write(bits),
            Raw::Str(bytes) => list::copy_str(&mut *cell.cast::<StrSlot>(), bytes, from)?,
        }
    }
    Ok(())
}
