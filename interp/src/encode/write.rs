//! Writing before a position: varints, tags and bytes.

use protojit_core::error::EncodeErrorKind;
use protojit_core::program::EncodeOp;
use protojit_core::wire::varint_len;

use super::context::{EncodeCtx, ROOM};
use crate::bytes::copy;

/// A tag as it is written.
#[derive(Clone, Copy)]
pub(super) struct Tag {
    /// Its bytes, little-endian.
    pub bytes: u64,
    /// How many.
    pub len: u8,
}

impl Tag {
    /// The tag of a field with a number below 16, or any other whole tag below 128.
    pub const fn short(tag: u32) -> Tag {
        Tag { bytes: tag as u64, len: 1 }
    }

    /// The tag of an operation.
    #[inline(always)]
    pub fn of(op: &EncodeOp) -> Tag {
        Tag { bytes: op.tag_bytes, len: op.tag_len }
    }
}

/// Writes a varint that ends at `at`.
///
/// # Safety
/// Ten bytes before `at` are writable.
#[inline(always)]
pub(super) unsafe fn varint_before(at: *mut u8, value: u64) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe {
        if value < 0x80 {
            let at = at.sub(1);
            at.write(value as u8);
            return at;
        }
        // Short ones have branches of their own, as when they are read.
        if value < 1 << 14 {
            let at = at.sub(2);
            at.cast::<u16>().write_unaligned((value & 0x7f | 0x80 | value >> 7 << 8) as u16);
            return at;
        }
        varint_long(at, value)
    }
}

/// As [`varint_before`], for two bytes and more.
#[inline(always)]
unsafe fn varint_long(at: *mut u8, value: u64) -> *mut u8 {
    if value >= 1 << 56 {
        // SAFETY: as promised to `varint_before`.
        return unsafe { varint_longest(at, value) };
    }
    let len = varint_len(value);
    let word = spread(value) | 0x0080_8080_8080_8080 & (u64::MAX >> (72 - 8 * len));
    // SAFETY: as promised to `varint_before`: the word's unused bytes lie before the varint.
    unsafe {
        at.sub(8).cast::<u64>().write_unaligned(word << (64 - 8 * len));
        at.sub(len)
    }
}

/// Nine or ten bytes: negative numbers.
///
/// # Safety
/// As [`varint_before`].
#[inline(never)]
pub(super) unsafe fn varint_longest(at: *mut u8, value: u64) -> *mut u8 {
    let top = value >> 56;
    // SAFETY: as promised to `varint_before`.
    unsafe {
        let mut at = at.sub(1);
        if top < 0x80 {
            at.write(top as u8);
        } else {
            at.write((top >> 7) as u8);
            at = at.sub(1);
            at.write(top as u8 | 0x80);
        }
        at = at.sub(8);
        at.cast::<u64>().write_unaligned(spread(value & ((1 << 56) - 1)) | 0x8080_8080_8080_8080);
        at
    }
}

/// Spreads 56 bits over eight bytes, seven to each.
#[inline(always)]
pub(super) const fn spread(value: u64) -> u64 {
    let word = (value & 0x0fff_ffff) | (value & 0x00ff_ffff_f000_0000) << 4;
    let word = (word & 0x0000_3fff_0000_3fff) | (word & 0x0fff_c000_0fff_c000) << 2;
    (word & 0x007f_007f_007f_007f) | (word & 0x3f80_3f80_3f80_3f80) << 1
}

/// Writes a tag that ends at `at`.
///
/// # Safety
/// Eight bytes before `at` are writable.
#[inline(always)]
pub(super) unsafe fn tag_before(at: *mut u8, tag: Tag) -> *mut u8 {
    // SAFETY: the caller's promise; a tag has one to five bytes.
    unsafe {
        at.sub(8).cast::<u64>().write_unaligned(tag.bytes << (64 - 8 * u32::from(tag.len)));
        at.sub(tag.len as usize)
    }
}

/// Writes something of at most [`ROOM`] - 8 bytes; null, with the error recorded, where there is no room.
///
/// # Safety
/// `at` is the context's position; `write` writes before the position it is given, at most [`ROOM`] bytes, and gives the
/// new one.
#[inline(always)]
pub(super) unsafe fn put(at: *mut u8, ctx: &mut EncodeCtx, write: impl Fn(*mut u8) -> *mut u8) -> *mut u8 {
    if ctx.room(at) >= ROOM {
        return write(at);
    }
    // SAFETY: as promised to this function.
    unsafe { put_short(at, ctx, write) }
}

/// As [`put`], where the room is short.
#[cold]
#[inline(never)]
unsafe fn put_short(at: *mut u8, ctx: &mut EncodeCtx, write: impl Fn(*mut u8) -> *mut u8) -> *mut u8 {
    if ctx.can_grow() {
        // SAFETY: as promised to `put`.
        let at = unsafe { ctx.grow(at, ROOM) };
        return if at.is_null() { at } else { write(at) };
    }
    let mut bytes = [0u8; ROOM];
    let end = bytes.as_mut_ptr_range().end;
    let begin = write(end);
    // SAFETY: the bytes from `begin` to `end` are what was written.
    unsafe { put_bytes(begin, end.addr() - begin.addr(), at, ctx) }
}

/// Writes a tag and a number.
///
/// # Safety
/// As [`put`].
#[inline(always)]
pub(super) unsafe fn put_varint(tag: Tag, value: u64, at: *mut u8, ctx: &mut EncodeCtx) -> *mut u8 {
    // SAFETY: as promised to this function; `put` makes the room.
    unsafe { put(at, ctx, |at| tag_before(varint_before(at, value), tag)) }
}

/// Writes a tag and four bytes.
///
/// # Safety
/// As [`put`].
#[inline(always)]
pub(super) unsafe fn put_fixed32(tag: Tag, value: u32, at: *mut u8, ctx: &mut EncodeCtx) -> *mut u8 {
    // SAFETY: as promised to this function; `put` makes the room.
    unsafe {
        put(at, ctx, |at| {
            let at = at.sub(4);
            at.cast::<u32>().write_unaligned(value);
            tag_before(at, tag)
        })
    }
}

/// Writes a tag and eight bytes.
///
/// # Safety
/// As [`put`].
#[inline(always)]
pub(super) unsafe fn put_fixed64(tag: Tag, value: u64, at: *mut u8, ctx: &mut EncodeCtx) -> *mut u8 {
    // SAFETY: as promised to this function; `put` makes the room.
    unsafe {
        put(at, ctx, |at| {
            let at = at.sub(8);
            at.cast::<u64>().write_unaligned(value);
            tag_before(at, tag)
        })
    }
}

/// Writes a tag, a length, and that many bytes.
///
/// # Safety
/// As [`put`]; `len` bytes at `from` are readable, and not part of the room.
#[inline(always)]
pub(super) unsafe fn put_text(tag: Tag, from: *const u8, len: usize, at: *mut u8, ctx: &mut EncodeCtx) -> *mut u8 {
    // SAFETY: as promised to this function.
    unsafe {
        if ctx.room(at) >= len + ROOM {
            let at = at.sub(len);
            copy(from, at, len);
            return tag_before(varint_before(at, len as u64), tag);
        }
        put_text_short(tag, from, len, at, ctx)
    }
}

#[cold]
#[inline(never)]
unsafe fn put_text_short(tag: Tag, from: *const u8, len: usize, at: *mut u8, ctx: &mut EncodeCtx) -> *mut u8 {
    // SAFETY: as promised to `put_text`.
    unsafe {
        let at = put_bytes(from, len, at, ctx);
        if at.is_null() { at } else { put_varint(tag, len as u64, at, ctx) }
    }
}

/// Writes `len` bytes before `at` and gives the new position; null, with the error recorded, where there is no room.
///
/// # Safety
/// `at` is the context's position; `len` bytes at `from` are readable (whatever `from` is where `len` is 0), and not part of the room.
pub unsafe fn put_bytes(from: *const u8, len: usize, at: *mut u8, ctx: &mut EncodeCtx) -> *mut u8 {
    let mut at = at;
    if ctx.room(at) < len {
        if !ctx.can_grow() {
            return ctx.fail(EncodeErrorKind::BufferTooSmall { needed: 0 });
        }
        // SAFETY: the caller's promise.
        at = unsafe { ctx.grow(at, len.saturating_add(ROOM)) };
        if at.is_null() {
            return at;
        }
    }
    // SAFETY: the caller's promise; there is room.
    unsafe {
        let at = at.sub(len);
        copy(from, at, len);
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protojit_core::wire::{WireType, tag, write_varint};

    #[test]
    fn varints_are_the_shortest() {
        for bits in 0..64 {
            for value in [1u64 << bits, (1u64 << bits) - 1, u64::MAX >> bits, 0x5555_5555_5555_5555 >> bits] {
                let mut expected = [0; 10];
                let len = write_varint(value, &mut expected);
                let mut buffer = [0xee; 32];
                let end = buffer.as_mut_ptr_range().end;
                // SAFETY: 32 bytes before `end` are writable.
                let at = unsafe { varint_before(end, value) };
                assert_eq!(end.addr() - at.addr(), len);
                assert_eq!(buffer[32 - len..], expected[..len]);
            }
        }
    }

    #[test]
    fn tags_of_every_length() {
        for number in [1, 15, 16, 2047, 2048, 262_143, 262_144, 33_554_431, 33_554_432, (1 << 29) - 1] {
            let mut expected = [0; 10];
            let len = write_varint(tag(number, WireType::Len).into(), &mut expected);
            let tag = Tag { bytes: u64::from_le_bytes(expected[..8].try_into().unwrap()), len: len as u8 };
            let mut buffer = [0xee; 32];
            let end = buffer.as_mut_ptr_range().end;
            // SAFETY: 32 bytes before `end` are writable.
            let at = unsafe { tag_before(end, tag) };
            assert_eq!(end.addr() - at.addr(), len);
            assert_eq!(buffer[32 - len..], expected[..len]);
        }
    }
}
