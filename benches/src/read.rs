//! Reading every field, summed up in a way that comes out equal for all peers.
//!
//! A sum has to be cheap beside the reads it proves, and must not depend on what the peers do differently. So it is a
//! polynomial without order: each field's value times a [`weight`] of its number; lists are the sum of their elements,
//! maps the sum of their [`entry`]s, whatever order they are kept in. Fields that are not set, and lists and maps
//! without elements, add nothing, since not every peer tells them from zeros. Of strings and bytes the length and both
//! ends are read: a program that looks at them all would be measuring that. Extensions are left out, prost and others
//! have none.

use std::borrow::Cow;
use std::collections::HashMap;

/// What a message adds by being there.
pub const MESSAGE: u64 = 1;

/// A value that can be read into a sum.
pub trait Read {
    /// Its sum; zeros and empty values give 0.
    fn read(&self) -> u64;
}

/// The factor of a field's value, odd so that no bit is lost.
#[inline]
pub const fn weight(number: u32) -> u64 {
    (2 * number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// What a field adds to its message.
#[inline]
pub fn field<T: Read + ?Sized>(number: u32, value: &T) -> u64 {
    value.read().wrapping_mul(weight(number))
}

/// What a map's entry adds to the map.
#[inline]
pub const fn entry(key: u64, value: u64) -> u64 {
    // Rotated, so that a value given to another key changes the sum.
    (key ^ 0x5851_f42d_4c95_7f2d).wrapping_mul(value.rotate_left(17) | 1)
}

/// What a string or bytes add.
#[inline]
pub fn bytes(bytes: &[u8]) -> u64 {
    match bytes {
        [] => 0,
        [first, ..] => bytes.len() as u64 + (u64::from(*first) << 32) + (u64::from(bytes[bytes.len() - 1]) << 40),
    }
}

macro_rules! numbers {
    ($($ty:ty => |$value:ident| $read:expr;)*) => {
        $(impl Read for $ty {
            #[inline]
            fn read(&self) -> u64 {
                let $value = *self;
                $read
            }
        })*
    };
}

numbers! {
    bool => |value| u64::from(value);
    i32 => |value| value as u64;
    i64 => |value| value as u64;
    u32 => |value| u64::from(value);
    u64 => |value| value;
    f32 => |value| u64::from(value.to_bits());
    f64 => |value| value.to_bits();
}

impl Read for str {
    #[inline]
    fn read(&self) -> u64 {
        bytes(self.as_bytes())
    }
}

impl Read for String {
    #[inline]
    fn read(&self) -> u64 {
        bytes(self.as_bytes())
    }
}

impl Read for [u8] {
    #[inline]
    fn read(&self) -> u64 {
        bytes(self)
    }
}

impl Read for Vec<u8> {
    #[inline]
    fn read(&self) -> u64 {
        bytes(self)
    }
}

impl<T: Read + ?Sized> Read for &T {
    #[inline]
    fn read(&self) -> u64 {
        T::read(self)
    }
}

impl<T: Read + ?Sized> Read for Box<T> {
    #[inline]
    fn read(&self) -> u64 {
        T::read(self)
    }
}

impl<T: Read + ToOwned + ?Sized> Read for Cow<'_, T> {
    #[inline]
    fn read(&self) -> u64 {
        T::read(self)
    }
}

impl<T: Read> Read for Option<T> {
    #[inline]
    fn read(&self) -> u64 {
        self.as_ref().map_or(0, T::read)
    }
}

impl<T: Read> Read for [T] {
    #[inline]
    fn read(&self) -> u64 {
        self.iter().fold(0, |sum, element| sum.wrapping_add(element.read()))
    }
}

impl<T: Read> Read for Vec<T> {
    #[inline]
    fn read(&self) -> u64 {
        self.as_slice().read()
    }
}

impl<K: Read, V: Read, S> Read for HashMap<K, V, S> {
    #[inline]
    fn read(&self) -> u64 {
        self.iter().fold(0, |sum, (key, value)| sum.wrapping_add(entry(key.read(), value.read())))
    }
}

impl<E: buffa::Enumeration> Read for buffa::EnumValue<E> {
    #[inline]
    fn read(&self) -> u64 {
        self.to_i32().read()
    }
}

impl<T: Read + Default, P: buffa::ProtoBox<T>> Read for buffa::MessageField<T, P> {
    #[inline]
    fn read(&self) -> u64 {
        self.as_option().map_or(0, T::read)
    }
}

impl<V: Read> Read for buffa::MessageFieldView<V> {
    #[inline]
    fn read(&self) -> u64 {
        self.as_option().map_or(0, V::read)
    }
}

impl<T: Read> Read for buffa::RepeatedView<'_, T> {
    #[inline]
    fn read(&self) -> u64 {
        self.iter().fold(0, |sum, element| sum.wrapping_add(element.read()))
    }
}

impl<K: Read, V: Read> Read for buffa::MapView<'_, K, V> {
    #[inline]
    fn read(&self) -> u64 {
        self.iter().fold(0, |sum, (key, value)| sum.wrapping_add(entry(key.read(), value.read())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_does_not_matter_but_pairs_do() {
        let sum = |pairs: &[(i32, i32)]| {
            pairs.iter().fold(0u64, |sum, (key, value)| sum.wrapping_add(entry(key.read(), value.read())))
        };
        assert_eq!(sum(&[(1, 2), (3, 4)]), sum(&[(3, 4), (1, 2)]));
        assert_ne!(sum(&[(1, 2), (3, 4)]), sum(&[(1, 4), (3, 2)]));
    }

    #[test]
    fn what_is_not_set_adds_nothing() {
        assert_eq!(field(3, &0i32), 0);
        assert_eq!(field(3, ""), 0);
        assert_eq!(field(3, &None::<i64>), 0);
        assert_eq!(field(3, &Vec::<i64>::new()), 0);
        assert_ne!(field(3, &1i32), field(4, &1i32));
    }
}
