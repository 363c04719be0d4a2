//! What a handle can be typed as.

use std::marker::PhantomData;

use super::{ByteStrings, KeyRef, ListRef, MapIter, MapRef, MessageRef, Messages, StrRef, Strings, Value, ValueRef};
use crate::memory::slots::StrSlot;
use crate::schema::model::FieldKind;

/// Stands for `string` in the type of a [`Field`](super::Field).
#[derive(Debug)]
pub enum Str {}

/// Stands for `bytes` in the type of a [`Field`](super::Field).
#[derive(Debug)]
pub enum Bytes {}

/// Stands for an enum in the type of a [`Field`](super::Field).
#[derive(Debug)]
pub enum Enum {}

/// Stands for a message in the type of a [`Field`](super::Field).
#[derive(Debug)]
pub enum Msg {}

/// Stands for a repeated field in the type of a [`Field`](super::Field).
#[derive(Debug)]
pub struct List<T>(PhantomData<fn() -> T>);

/// Stands for a map in the type of a [`Field`](super::Field).
#[derive(Debug)]
pub struct Map<K, V>(PhantomData<fn() -> (K, V)>);

pub(super) mod sealed {
    use super::*;

    /// One value: how its cell is read.
    pub trait Single: Sized + 'static {
        type Out<'a>;
        type Slice<'a>;
        const NAME: &'static str;

        fn fits(kind: FieldKind) -> bool;

        /// The value, which is of a kind that fits.
        fn of(value: ValueRef<'_>) -> Option<Self::Out<'_>>;

        /// # Safety
        /// The list is of a kind that fits.
        unsafe fn of_list(list: ListRef<'_>) -> Self::Slice<'_>;
    }

    /// One that a oneof or a field of its own can hold without being looked up: not a message.
    pub trait Scalar: Single {
        /// # Safety
        /// As `cells::read`, with a kind that fits.
        unsafe fn load<'a>(cell: *const u8) -> Self::Out<'a>;
    }

    /// A map's key.
    pub trait Key: Scalar {
        fn of_key(key: KeyRef<'_>) -> Option<Self::Out<'_>>;
    }
}

use sealed::{Key, Scalar, Single};

macro_rules! single {
    ($($ty:ty, $name:literal, $kinds:pat, $out:ty, $slice:ty, $variant:ident, $as_list:ident;)*) => {$(
        impl Single for $ty {
            type Out<'a> = $out;
            type Slice<'a> = $slice;
            const NAME: &'static str = $name;

            #[inline]
            fn fits(kind: FieldKind) -> bool {
                matches!(kind, $kinds)
            }

            #[inline]
            fn of<'a>(value: ValueRef<'a>) -> Option<$out> {
                match value {
                    ValueRef::$variant(value) => Some(value),
                    _ => None,
                }
            }

            #[inline]
            unsafe fn of_list<'a>(list: ListRef<'a>) -> $slice {
                // SAFETY: as promised to this function.
                unsafe { list.$as_list() }
            }
        }
    )*};
}

single! {
    i32, "int32, sint32 or sfixed32", FieldKind::Int32 | FieldKind::Sint32 | FieldKind::Sfixed32,
        i32, &'a [i32], I32, elements;
    u32, "uint32 or fixed32", FieldKind::Uint32 | FieldKind::Fixed32, u32, &'a [u32], U32, elements;
    i64, "int64, sint64 or sfixed64", FieldKind::Int64 | FieldKind::Sint64 | FieldKind::Sfixed64,
        i64, &'a [i64], I64, elements;
    u64, "uint64 or fixed64", FieldKind::Uint64 | FieldKind::Fixed64, u64, &'a [u64], U64, elements;
    f32, "float", FieldKind::Float, f32, &'a [f32], F32, elements;
    f64, "double", FieldKind::Double, f64, &'a [f64], F64, elements;
    bool, "bool", FieldKind::Bool, bool, &'a [bool], Bool, elements;
    Str, "string", FieldKind::String, StrRef<'a>, Strings<'a>, Str, strings;
    Bytes, "bytes", FieldKind::Bytes, &'a [u8], ByteStrings<'a>, Bytes, byte_strings;
    Enum, "an enum", FieldKind::Enum(_), i32, &'a [i32], Enum, elements;
    Msg, "a message", FieldKind::Message(_), MessageRef<'a>, Messages<'a>, Message, messages;
}

/// What [`MessageMut::set`](super::MessageMut::set) can set through a handle: numbers, bools, enums, strings and
/// bytes, also as `Option`.
pub trait Settable: super::FieldType {
    /// What is given: a number, a bool, the number of an enum, `&str` or `&[u8]`.
    type Input<'v>: Into<Value<'v>>;

    /// Numbers stand for values of an enum.
    #[doc(hidden)]
    const ENUM: bool;
}

macro_rules! scalars {
    ($($ty:ty: $input:ty, $enum:literal, |$cell:ident| $load:expr;)*) => {$(
        impl Scalar for $ty {
            #[inline]
            unsafe fn load<'a>($cell: *const u8) -> Self::Out<'a> {
                // SAFETY: as promised to this function: the cell is as wide as the storage of such a kind.
                unsafe { $load }
            }
        }

        impl Settable for $ty {
            type Input<'v> = $input;
            const ENUM: bool = $enum;
        }

        impl Settable for Option<$ty> {
            type Input<'v> = $input;
            const ENUM: bool = $enum;
        }
    )*};
}

scalars! {
    i32: i32, false, |cell| cell.cast::<i32>().read();
    u32: u32, false, |cell| cell.cast::<u32>().read();
    i64: i64, false, |cell| cell.cast::<i64>().read();
    u64: u64, false, |cell| cell.cast::<u64>().read();
    f32: f32, false, |cell| cell.cast::<f32>().read();
    f64: f64, false, |cell| cell.cast::<f64>().read();
    bool: bool, false, |cell| cell.read() != 0;
    Str: &'v str, false, |cell| StrRef::new(cell.cast::<StrSlot>().read().bytes());
    Bytes: &'v [u8], false, |cell| cell.cast::<StrSlot>().read().bytes();
    Enum: i32, true, |cell| cell.cast::<i32>().read();
}

macro_rules! keys {
    ($($ty:ty, $variant:ident;)*) => {$(
        impl Key for $ty {
            #[inline]
            fn of_key(key: KeyRef<'_>) -> Option<Self::Out<'_>> {
                match key {
                    KeyRef::$variant(key) => Some(key),
                    _ => None,
                }
            }
        }
    )*};
}

keys! { bool, Bool; i32, I32; u32, U32; i64, I64; u64, U64; Str, Str; }

/// A map whose keys and values are known by type.
pub struct TypedMap<'a, K, V> {
    map: MapRef<'a>,
    types: PhantomData<fn() -> (K, V)>,
}

impl<K, V> Clone for TypedMap<'_, K, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K, V> Copy for TypedMap<'_, K, V> {}

impl<K, V> std::fmt::Debug for TypedMap<'_, K, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.map.fmt(f)
    }
}

impl<'a, K: Key, V: Single> TypedMap<'a, K, V> {
    /// The map, whose keys and values fit.
    #[inline]
    pub(super) fn new(map: MapRef<'a>) -> Self {
        TypedMap { map, types: PhantomData }
    }

    /// Number of entries.
    #[inline]
    pub fn len(self) -> usize {
        self.map.len()
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.map.is_empty()
    }

    /// The value of a key.
    #[inline]
    pub fn get<'k>(self, key: impl Into<KeyRef<'k>>) -> Option<V::Out<'a>> {
        V::of(self.map.get(key)?)
    }

    /// The entries, in the order in which their keys first came.
    #[inline]
    pub fn iter(self) -> TypedMapIter<'a, K, V> {
        TypedMapIter { entries: self.map.iter(), types: PhantomData }
    }

    /// The map as such.
    #[inline]
    pub fn as_map(self) -> MapRef<'a> {
        self.map
    }
}

impl<'a, K: Key, V: Single> IntoIterator for TypedMap<'a, K, V> {
    type Item = (K::Out<'a>, V::Out<'a>);
    type IntoIter = TypedMapIter<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The entries of a [`TypedMap`].
#[derive(Debug)]
pub struct TypedMapIter<'a, K, V> {
    entries: MapIter<'a>,
    types: PhantomData<fn() -> (K, V)>,
}

impl<'a, K: Key, V: Single> Iterator for TypedMapIter<'a, K, V> {
    type Item = (K::Out<'a>, V::Out<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (key, value) = self.entries.next()?;
        Some((K::of_key(key)?, V::of(value)?))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.entries.size_hint()
    }
}
