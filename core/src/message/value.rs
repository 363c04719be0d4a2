//! Values, as they are read and as they are set.

use super::{ListRef, MapRef, MessageRef, StrRef};
use crate::memory::map::MapKey;
use crate::schema::model::FieldKind;

/// A value borrowed from a message.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ValueRef<'a> {
    /// `bool`
    Bool(bool),
    /// `int32`, `sint32`, `sfixed32`
    I32(i32),
    /// `int64`, `sint64`, `sfixed64`
    I64(i64),
    /// `uint32`, `fixed32`
    U32(u32),
    /// `uint64`, `fixed64`
    U64(u64),
    /// `float`
    F32(f32),
    /// `double`
    F64(f64),
    /// `string`
    Str(StrRef<'a>),
    /// `bytes`
    Bytes(&'a [u8]),
    /// The number of an enum value, declared or (open enums) not.
    Enum(i32),
    /// A message
    Message(MessageRef<'a>),
    /// A repeated field
    List(ListRef<'a>),
    /// A map
    Map(MapRef<'a>),
}

macro_rules! as_kind {
    ($($(#[$doc:meta])* $name:ident -> $variant:ident($ty:ty);)*) => {
        impl<'a> ValueRef<'a> {
            $(
                $(#[$doc])*
                #[inline]
                pub fn $name(self) -> Option<$ty> {
                    match self {
                        ValueRef::$variant(value) => Some(value),
                        _ => None,
                    }
                }
            )*
        }
    };
}

as_kind! {
    /// The bool, `None` for other kinds.
    as_bool -> Bool(bool);
    /// The `i32`, `None` for other kinds (enums too).
    as_i32 -> I32(i32);
    /// The `i64`, `None` for other kinds.
    as_i64 -> I64(i64);
    /// The `u32`, `None` for other kinds.
    as_u32 -> U32(u32);
    /// The `u64`, `None` for other kinds.
    as_u64 -> U64(u64);
    /// The `f32`, `None` for other kinds.
    as_f32 -> F32(f32);
    /// The `f64`, `None` for other kinds.
    as_f64 -> F64(f64);
    /// The string, `None` for other kinds.
    as_str -> Str(StrRef<'a>);
    /// The bytes, `None` for other kinds (strings too).
    as_bytes -> Bytes(&'a [u8]);
    /// The enum number, `None` for other kinds.
    as_enum -> Enum(i32);
    /// The message, `None` for other kinds.
    as_message -> Message(MessageRef<'a>);
    /// The list, `None` for other kinds.
    as_list -> List(ListRef<'a>);
    /// The map, `None` for other kinds.
    as_map -> Map(MapRef<'a>);
}

impl<'a> ValueRef<'a> {
    /// The value in the form in which it can be set elsewhere; `None` for messages, lists and maps.
    pub fn to_value(self) -> Option<Value<'a>> {
        Some(match self {
            ValueRef::Bool(value) => Value::Bool(value),
            ValueRef::I32(value) => Value::I32(value),
            ValueRef::I64(value) => Value::I64(value),
            ValueRef::U32(value) => Value::U32(value),
            ValueRef::U64(value) => Value::U64(value),
            ValueRef::F32(value) => Value::F32(value),
            ValueRef::F64(value) => Value::F64(value),
            ValueRef::Str(value) => Value::Bytes(value.as_bytes()),
            ValueRef::Bytes(value) => Value::Bytes(value),
            ValueRef::Enum(value) => Value::Enum(value),
            ValueRef::Message(_) | ValueRef::List(_) | ValueRef::Map(_) => return None,
        })
    }
}

/// A value to set: a number, a bool, an enum number, a string or bytes. The kinds are those of [`ValueRef`], and
/// must be the field's very own: nothing is converted.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value<'v> {
    /// `bool`
    Bool(bool),
    /// `int32`, `sint32`, `sfixed32`
    I32(i32),
    /// `int64`, `sint64`, `sfixed64`
    I64(i64),
    /// `uint32`, `fixed32`
    U32(u32),
    /// `uint64`, `fixed64`
    U64(u64),
    /// `float`
    F32(f32),
    /// `double`
    F64(f64),
    /// `string`
    Str(&'v str),
    /// `bytes`; also for a `string`, where the bytes are checked if the schema asks for UTF-8.
    Bytes(&'v [u8]),
    /// The number of an enum value.
    Enum(i32),
}

macro_rules! from {
    ($lt:lifetime: $($ty:ty => |$value:ident| $to:expr;)*) => {
        $(impl<$lt> From<$ty> for Value<$lt> {
            #[inline]
            fn from($value: $ty) -> Self {
                $to
            }
        })*
    };
}

from! { 'v:
    bool => |value| Value::Bool(value);
    i32 => |value| Value::I32(value);
    i64 => |value| Value::I64(value);
    u32 => |value| Value::U32(value);
    u64 => |value| Value::U64(value);
    f32 => |value| Value::F32(value);
    f64 => |value| Value::F64(value);
    &'v str => |value| Value::Str(value);
    &'v String => |value| Value::Str(value);
    &'v [u8] => |value| Value::Bytes(value);
    &'v Vec<u8> => |value| Value::Bytes(value);
    StrRef<'v> => |value| Value::Bytes(value.as_bytes());
}

impl<'v, const N: usize> From<&'v [u8; N]> for Value<'v> {
    fn from(value: &'v [u8; N]) -> Self {
        Value::Bytes(value)
    }
}

/// A map's key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum KeyRef<'a> {
    /// `bool`
    Bool(bool),
    /// `int32`, `sint32`, `sfixed32`
    I32(i32),
    /// `int64`, `sint64`, `sfixed64`
    I64(i64),
    /// `uint32`, `fixed32`
    U32(u32),
    /// `uint64`, `fixed64`
    U64(u64),
    /// `string`
    Str(StrRef<'a>),
}

macro_rules! key_from {
    ($($ty:ty => $variant:ident;)*) => {
        $(impl From<$ty> for KeyRef<'_> {
            fn from(value: $ty) -> Self {
                KeyRef::$variant(value)
            }
        })*
    };
}

key_from! { bool => Bool; i32 => I32; i64 => I64; u32 => U32; u64 => U64; }

impl<'a> From<&'a str> for KeyRef<'a> {
    fn from(value: &'a str) -> Self {
        KeyRef::Str(value.into())
    }
}

impl<'a> From<&'a String> for KeyRef<'a> {
    fn from(value: &'a String) -> Self {
        KeyRef::Str(value.as_str().into())
    }
}

impl<'a> From<StrRef<'a>> for KeyRef<'a> {
    fn from(value: StrRef<'a>) -> Self {
        KeyRef::Str(value)
    }
}

impl<'a> KeyRef<'a> {
    /// The key as a value.
    pub fn to_value_ref(self) -> ValueRef<'a> {
        match self {
            KeyRef::Bool(value) => ValueRef::Bool(value),
            KeyRef::I32(value) => ValueRef::I32(value),
            KeyRef::I64(value) => ValueRef::I64(value),
            KeyRef::U32(value) => ValueRef::U32(value),
            KeyRef::U64(value) => ValueRef::U64(value),
            KeyRef::Str(value) => ValueRef::Str(value),
        }
    }

    /// The key in the form the table stores it, `None` where it is not of this kind.
    pub(super) fn to_raw(self, kind: FieldKind) -> Option<MapKey<'a>> {
        use FieldKind::*;
        Some(match (self, kind) {
            (KeyRef::Bool(key), Bool) => MapKey::Bits(key.into()),
            (KeyRef::I32(key), Int32 | Sint32 | Sfixed32) => MapKey::Bits((key as u32).into()),
            (KeyRef::I64(key), Int64 | Sint64 | Sfixed64) => MapKey::Bits(key as u64),
            (KeyRef::U32(key), Uint32 | Fixed32) => MapKey::Bits(key.into()),
            (KeyRef::U64(key), Uint64 | Fixed64) => MapKey::Bits(key),
            (KeyRef::Str(key), String) => MapKey::Str(key.as_bytes()),
            _ => return None,
        })
    }

    /// The key that a table of this key kind stores as `raw`.
    pub(super) fn of_raw(raw: MapKey<'a>, kind: FieldKind) -> KeyRef<'a> {
        use FieldKind::*;
        match (raw, kind) {
            (MapKey::Bits(bits), Bool) => KeyRef::Bool(bits != 0),
            (MapKey::Bits(bits), Int32 | Sint32 | Sfixed32) => KeyRef::I32(bits as i32),
            (MapKey::Bits(bits), Uint32 | Fixed32) => KeyRef::U32(bits as u32),
            (MapKey::Bits(bits), Int64 | Sint64 | Sfixed64) => KeyRef::I64(bits as i64),
            (MapKey::Bits(bits), _) => KeyRef::U64(bits),
            (MapKey::Str(bytes), _) => KeyRef::Str(StrRef::new(bytes)),
        }
    }
}
