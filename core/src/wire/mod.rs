//! The wire format: varints, tags and zigzag.
//!
//! Readers here are safe and bounded; the engines' fast paths have readers of their own,
//! held against these in tests.

/// The longest varint: ten bytes carry 64 bits.
pub const MAX_VARINT_LEN: usize = 10;

/// The longest tag: five bytes carry 32 bits.
pub const MAX_TAG_LEN: usize = 5;

/// The largest field number (29 bits).
pub const MAX_FIELD_NUMBER: u32 = (1 << 29) - 1;

/// The six wire types of the encoding guide.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum WireType {
    /// A varint.
    Varint = 0,
    /// Eight bytes.
    Fixed64 = 1,
    /// A length and that many bytes.
    Len = 2,
    /// The beginning of a group.
    StartGroup = 3,
    /// The end of a group.
    EndGroup = 4,
    /// Four bytes.
    Fixed32 = 5,
}

impl WireType {
    /// The wire type of a tag, `None` for the two values that stand for nothing.
    #[inline]
    pub const fn of_tag(tag: u32) -> Option<WireType> {
        Some(match tag & 7 {
            0 => WireType::Varint,
            1 => WireType::Fixed64,
            2 => WireType::Len,
            3 => WireType::StartGroup,
            4 => WireType::EndGroup,
            5 => WireType::Fixed32,
            _ => return None,
        })
    }
}

/// The tag of a field: its number and wire type.
///
/// ```
/// use protojit_core::wire::{WireType, tag};
/// assert_eq!(tag(1, WireType::Len), 0x0a);
/// ```
#[inline]
pub const fn tag(number: u32, wire_type: WireType) -> u32 {
    number << 3 | wire_type as u32
}

/// The length of `value` as a varint, 1 to 10.
///
/// ```
/// assert_eq!(protojit_core::wire::varint_len(300), 2);
/// ```
#[inline]
pub const fn varint_len(value: u64) -> usize {
    (70 - (value | 1).leading_zeros() as usize) / 7
}

/// Reads a varint at `*at` and moves `*at` behind it; `None` where it is cut short or overflows
/// 64 bits (then `*at` stays). Forms longer than needed are accepted, up to ten bytes.
#[inline]
pub fn read_varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0u64;
    for (i, &byte) in bytes.get(*at..)?.iter().take(MAX_VARINT_LEN).enumerate() {
        if i == MAX_VARINT_LEN - 1 && byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            *at += i + 1;
            return Some(value);
        }
    }
    None
}

/// Writes `value` as a varint to the front of `out` and gives its length, 1 to 10.
#[inline]
pub fn write_varint(mut value: u64, out: &mut [u8; MAX_VARINT_LEN]) -> usize {
    let mut at = 0;
    while value >= 0x80 {
        out[at] = value as u8 | 0x80;
        value >>= 7;
        at += 1;
    }
    out[at] = value as u8;
    at + 1
}

/// Appends `value` as a varint.
#[inline]
pub fn push_varint(value: u64, out: &mut Vec<u8>) {
    let mut buffer = [0; MAX_VARINT_LEN];
    let len = write_varint(value, &mut buffer);
    out.extend_from_slice(&buffer[..len]);
}

/// Maps a signed number to its zigzag form.
#[inline]
pub const fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

/// Maps a zigzag form back to the signed number.
#[inline]
pub const fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_round_trip_at_every_width() {
        for bits in 0..64 {
            for value in [1u64 << bits, (1u64 << bits) - 1, u64::MAX >> bits] {
                let mut out = Vec::new();
                push_varint(value, &mut out);
                assert_eq!(out.len(), varint_len(value));
                let mut at = 0;
                assert_eq!(read_varint(&out, &mut at), Some(value));
                assert_eq!(at, out.len());
                assert_eq!(read_varint(&out[..out.len() - 1], &mut 0), None);
            }
        }
    }

    #[test]
    fn the_tenth_byte_carries_one_bit() {
        let mut bytes = [0xff; 10];
        bytes[9] = 1;
        assert_eq!(read_varint(&bytes, &mut 0), Some(u64::MAX));
        bytes[9] = 2;
        assert_eq!(read_varint(&bytes, &mut 0), None);
    }

    #[test]
    fn zigzag_is_its_own_inverse() {
        for value in [0, -1, 1, i64::MIN, i64::MAX, i64::from(i32::MIN)] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
        assert_eq!(zigzag(-1), 1);
    }
}
