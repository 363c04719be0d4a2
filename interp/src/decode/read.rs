//! Raw readers: tags, varints, UTF-8.
//!
//! Each comes in two forms. *Wide* ones load up to [`SLACK`](super::SLACK) bytes from where they begin, which is allowed
//! before [`DecodeCtx::safe`](super::DecodeCtx::safe); what they read may reach beyond the frame, so the caller compares the
//! position they return with its limit. *Bounded* ones read nothing at or behind the limit.
//!
//! All give a value and the position behind it, null where there is no value. The rules, for every kind of varint (numbers,
//! bools, enums, lengths): forms longer than needed are accepted up to ten bytes; the tenth byte carries one bit, and any other
//! in it is an error, as in [`protojit_core::wire::read_varint`] (C++ and Java drop those bits, Go and prost refuse them; no
//! encoder writes them). What a field does not hold of the 64 bits is cut off. Tags have at most five bytes and 32 bits.

use protojit_core::error::DecodeErrorKind;
use protojit_core::wire::{MAX_TAG_LEN, MAX_VARINT_LEN};

/// A value and the position behind it; null where there is none.
pub(super) type Read<T> = (T, *const u8);

pub(super) const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// Whether `end`, the position behind a value, is null or lies beyond `limit`.
#[inline(always)]
pub(super) fn is_beyond(end: *const u8, limit: *const u8) -> bool {
    end.addr().wrapping_sub(1) >= limit.addr()
}

/// Loads eight bytes.
///
/// # Safety
/// They are readable.
#[inline(always)]
pub(super) unsafe fn load64(p: *const u8) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { p.cast::<u64>().read_unaligned() }
}

/// Loads four bytes.
///
/// # Safety
/// They are readable.
#[inline(always)]
pub(super) unsafe fn load32(p: *const u8) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { p.cast::<u32>().read_unaligned() }
}

/// Squeezes the low seven bits of eight bytes together.
#[inline(always)]
pub(super) const fn squeeze(word: u64) -> u64 {
    let word = (word & 0x007f_007f_007f_007f) | ((word & 0x7f00_7f00_7f00_7f00) >> 1);
    let word = (word & 0x0000_3fff_0000_3fff) | ((word & 0x3fff_0000_3fff_0000) >> 2);
    (word & 0x0fff_ffff) | ((word & 0x0fff_ffff_0000_0000) >> 4)
}

/// A varint, wide.
///
/// # Safety
/// Sixteen bytes are readable.
#[inline(always)]
pub(super) unsafe fn varint_wide(p: *const u8) -> Read<u64> {
    // SAFETY: the caller's promise.
    unsafe {
        let first = p.read();
        if first < 0x80 {
            return (u64::from(first), p.add(1));
        }
        varint_more(p)
    }
}

/// A varint of at least two bytes, wide. Short ones have branches of their own: the position behind is then a guess of the
/// branch predictor's, which is mostly right since the values of a field are mostly alike, and not a result to wait for.
///
/// # Safety
/// Sixteen bytes are readable.
#[inline(always)]
pub(super) unsafe fn varint_more(p: *const u8) -> Read<u64> {
    // SAFETY: the caller's promise.
    unsafe {
        let word = load64(p);
        let two = word & 0x7f | word >> 1 & 0x3f80;
        if word & 0x8000 == 0 {
            return (two, p.add(2));
        }
        if word & 0x80_0000 == 0 {
            return (two | word >> 2 & 0x1f_c000, p.add(3));
        }
        varint_swar(p)
    }
}

/// A varint, wide, without a branch for the lengths up to eight.
///
/// # Safety
/// Sixteen bytes are readable.
#[inline(always)]
pub(super) unsafe fn varint_swar(p: *const u8) -> Read<u64> {
    // SAFETY: the caller's promise.
    unsafe {
        let word = load64(p);
        let stops = !word & HIGH_BITS;
        if stops == 0 {
            return varint_long(p, word);
        }
        let len = stops.trailing_zeros() / 8 + 1;
        (squeeze(word & (stops ^ (stops - 1))), p.add(len as usize))
    }
}

/// A varint of nine or ten bytes of which the first eight are `word`.
///
/// # Safety
/// Ten bytes are readable.
#[inline(never)]
pub(super) unsafe fn varint_long(p: *const u8, word: u64) -> Read<u64> {
    // SAFETY: the caller's promise.
    unsafe {
        let value = squeeze(word);
        let ninth = p.add(8).read();
        if ninth < 0x80 {
            return (value | u64::from(ninth) << 56, p.add(9));
        }
        let tenth = p.add(9).read();
        if tenth > 1 {
            return (0, std::ptr::null());
        }
        (value | u64::from(ninth & 0x7f) << 56 | u64::from(tenth) << 63, p.add(10))
    }
}

/// A varint, bounded.
///
/// # Safety
/// All bytes from `p` to `limit` are readable.
#[inline(always)]
pub(super) unsafe fn varint(p: *const u8, limit: *const u8) -> Read<u64> {
    // SAFETY: the caller's promise.
    unsafe {
        if p < limit {
            let first = p.read();
            if first < 0x80 {
                return (u64::from(first), p.add(1));
            }
        }
        varint_bytes(p, limit)
    }
}

/// A varint, bounded, byte by byte where fewer than sixteen bytes are left.
///
/// # Safety
/// As [`varint`].
#[inline(never)]
pub(super) unsafe fn varint_bytes(p: *const u8, limit: *const u8) -> Read<u64> {
    // SAFETY: the caller's promise; `left` bytes are readable.
    unsafe {
        let left = distance(p, limit);
        if left >= 16 {
            return varint_swar(p);
        }
        let mut value = 0;
        for at in 0..left.min(MAX_VARINT_LEN) {
            let byte = p.add(at).read();
            if at == MAX_VARINT_LEN - 1 && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << (7 * at);
            if byte < 0x80 {
                return (value, p.add(at + 1));
            }
        }
        (0, std::ptr::null())
    }
}

/// How many bytes lie between `p` and `limit`, none where `p` is beyond.
#[inline(always)]
pub(super) fn distance(p: *const u8, limit: *const u8) -> usize {
    limit.addr().saturating_sub(p.addr())
}

/// Why there is no varint at `p`.
///
/// # Safety
/// As [`varint`].
#[cold]
pub(super) unsafe fn varint_error(p: *const u8, limit: *const u8) -> DecodeErrorKind {
    let left = distance(p, limit).min(MAX_VARINT_LEN);
    // SAFETY: the caller's promise; `left` bytes are readable.
    let complete = (0..left).any(|at| unsafe { p.add(at).read() } < 0x80);
    if complete || left == MAX_VARINT_LEN { DecodeErrorKind::MalformedVarint } else { DecodeErrorKind::Truncated }
}

/// A tag, wide.
///
/// # Safety
/// Eight bytes are readable.
#[inline(always)]
pub(super) unsafe fn tag_wide(p: *const u8) -> Read<u32> {
    // SAFETY: the caller's promise.
    unsafe {
        let first = u32::from(p.read());
        if first < 0x80 {
            return (first, p.add(1));
        }
        let second = u32::from(p.add(1).read());
        if second < 0x80 {
            return (first & 0x7f | second << 7, p.add(2));
        }
        tag_bytes(p, MAX_TAG_LEN)
    }
}

/// A tag, bounded.
///
/// # Safety
/// As [`varint`].
#[inline(always)]
pub(super) unsafe fn tag(p: *const u8, limit: *const u8) -> Read<u32> {
    // SAFETY: the caller's promise.
    unsafe {
        if p < limit {
            let first = u32::from(p.read());
            if first < 0x80 {
                return (first, p.add(1));
            }
        }
        tag_bytes(p, distance(p, limit))
    }
}

/// A tag of at most `left` bytes.
///
/// # Safety
/// `left` bytes are readable, or five where it is more.
#[inline(never)]
unsafe fn tag_bytes(p: *const u8, left: usize) -> Read<u32> {
    let mut value = 0u32;
    for at in 0..left.min(MAX_TAG_LEN) {
        // SAFETY: the caller's promise.
        let byte = unsafe { p.add(at).read() };
        if at == MAX_TAG_LEN - 1 && byte > 0x0f {
            break;
        }
        value |= u32::from(byte & 0x7f) << (7 * at);
        if byte < 0x80 {
            return (value, p.wrapping_add(at + 1));
        }
    }
    (0, std::ptr::null())
}

/// Why there is no tag at `p`.
///
/// # Safety
/// As [`varint`].
#[cold]
pub(super) unsafe fn tag_error(p: *const u8, limit: *const u8) -> DecodeErrorKind {
    let left = distance(p, limit).min(MAX_TAG_LEN);
    // SAFETY: the caller's promise; `left` bytes are readable.
    let complete = (0..left).any(|at| unsafe { p.add(at).read() } < 0x80);
    if complete || left == MAX_TAG_LEN { DecodeErrorKind::InvalidTag } else { DecodeErrorKind::Truncated }
}

/// Whether `len` bytes are UTF-8, wide: for strings that begin at most [`TEXT_BEGINS`] behind a position before `safe`.
///
/// # Safety
/// `len` bytes, and at least 32, are readable.
#[inline(always)]
pub(super) unsafe fn is_utf8_wide(p: *const u8, len: usize) -> bool {
    // SAFETY: the caller's promise.
    unsafe { if len <= 32 { is_ascii_wide(p, len) || is_utf8_slow(p, len) } else { is_utf8(p, len) } }
}

/// How far behind the tag's first byte a string can begin: the tag, and the longest length.
pub(super) const TEXT_BEGINS: usize = MAX_TAG_LEN + MAX_VARINT_LEN;

const _: () = assert!(TEXT_BEGINS + 32 <= super::SLACK);

/// Whether the first `len` bytes, at most 32, are ASCII.
///
/// # Safety
/// 32 bytes are readable.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
unsafe fn is_ascii_wide(p: *const u8, len: usize) -> bool {
    use std::arch::x86_64::{_mm_loadu_si128, _mm_movemask_epi8};
    // SAFETY: the caller's promise; SSE2 is part of x86-64.
    let high = unsafe {
        let low = _mm_movemask_epi8(_mm_loadu_si128(p.cast())) as u32;
        let high = _mm_movemask_epi8(_mm_loadu_si128(p.add(16).cast())) as u32;
        low | high << 16
    };
    u64::from(high) << (32 - len) as u32 & 0xffff_ffff == 0
}

/// Whether the first `len` bytes, at most 32, are ASCII.
///
/// # Safety
/// 32 bytes are readable.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[inline(always)]
unsafe fn is_ascii_wide(p: *const u8, len: usize) -> bool {
    let mut high = 0;
    for at in 0..4 {
        // The bits of this word that belong to the string: none, some, or all.
        let bits = 8 * len.saturating_sub(8 * at).min(8) as u32;
        // SAFETY: the caller's promise.
        high |= unsafe { load64(p.add(8 * at)) } & !u64::MAX.checked_shl(bits).unwrap_or(0);
    }
    high & HIGH_BITS == 0
}

/// Whether `len` bytes are UTF-8, bounded.
///
/// # Safety
/// `len` bytes are readable.
#[inline(never)]
pub(super) unsafe fn is_utf8(p: *const u8, len: usize) -> bool {
    // SAFETY: the caller's promise; `at` and the last loads stay inside.
    unsafe {
        let mut at = 0;
        while len - at >= 32 {
            let high = load64(p.add(at)) | load64(p.add(at + 8)) | load64(p.add(at + 16)) | load64(p.add(at + 24));
            if high & HIGH_BITS != 0 {
                // All bytes before are ASCII, so that a character begins here.
                return is_utf8_slow(p.add(at), len - at);
            }
            at += 32;
        }
        is_ascii_short(p.add(at), len - at) || is_utf8_slow(p.add(at), len - at)
    }
}

/// Whether fewer than 32 bytes are ASCII, bounded: loads that overlap instead of loads beyond the end.
///
/// # Safety
/// `len` bytes are readable.
#[inline(always)]
unsafe fn is_ascii_short(p: *const u8, len: usize) -> bool {
    // SAFETY: the caller's promise; all loads lie inside.
    unsafe {
        let high = match len {
            0 => 0,
            1..=3 => u64::from(p.read() | p.add(len / 2).read() | p.add(len - 1).read()),
            4..=7 => u64::from(load32(p) | load32(p.add(len - 4))),
            8..=15 => load64(p) | load64(p.add(len - 8)),
            _ => load64(p) | load64(p.add(8)) | load64(p.add(len - 16)) | load64(p.add(len - 8)),
        };
        high & HIGH_BITS == 0
    }
}

/// Whether `len` bytes are UTF-8, by the library.
///
/// # Safety
/// `len` bytes are readable.
#[inline(never)]
unsafe fn is_utf8_slow(p: *const u8, len: usize) -> bool {
    // SAFETY: the caller's promise; `p` is not null.
    let bytes = unsafe { std::slice::from_raw_parts(p, len) };
    simdutf8::basic::from_utf8(bytes).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use protojit_core::wire::{push_varint, read_varint};

    fn wide(bytes: &[u8]) -> ([u8; 64], usize) {
        let mut padded = [0xff; 64];
        padded[..bytes.len()].copy_from_slice(bytes);
        (padded, bytes.len())
    }

    #[test]
    fn all_readers_agree_on_varints() {
        let mut cases: Vec<Vec<u8>> = Vec::new();
        for bits in 0..64 {
            for value in [1u64 << bits, (1u64 << bits) - 1, u64::MAX >> bits, 0x5555_5555_5555_5555 >> bits] {
                let mut bytes = Vec::new();
                push_varint(value, &mut bytes);
                cases.push(bytes.clone());
                while bytes.len() < 11 {
                    *bytes.last_mut().unwrap() |= 0x80;
                    bytes.push(0);
                    cases.push(bytes.clone());
                }
            }
        }
        cases.push([vec![0xff; 9], vec![2]].concat());
        cases.push(vec![0x80; 10]);
        for bytes in cases {
            let mut at = 0;
            let expected = read_varint(&bytes, &mut at);
            let (padded, len) = wide(&bytes);
            let (begin, limit) = (padded.as_ptr(), padded[len..].as_ptr());
            // SAFETY: 64 bytes are readable.
            unsafe {
                for (value, end) in
                    [varint_wide(begin), varint_swar(begin), varint(begin, limit), varint_bytes(begin, limit)]
                {
                    match expected {
                        Some(expected) => assert_eq!((value, end), (expected, begin.add(at))),
                        None => assert!(is_beyond(end, limit), "{bytes:x?}"),
                    }
                }
                if expected.is_none() {
                    assert_eq!(varint_error(begin, limit), DecodeErrorKind::MalformedVarint);
                }
                for cut in 0..len {
                    let limit = begin.add(cut);
                    let (_, end) = varint(begin, limit);
                    if cut < at {
                        assert!(end.is_null());
                        assert_eq!(varint_error(begin, limit), DecodeErrorKind::Truncated);
                    }
                }
            }
        }
    }

    #[test]
    fn tags_have_five_bytes_and_32_bits() {
        for (bytes, expected) in [
            (vec![0x08], Some(8)),
            (vec![0x88, 0x00], Some(8)),
            (vec![0x88, 0x80, 0x80, 0x80, 0x00], Some(8)),
            (vec![0x88, 0x80, 0x80, 0x80, 0x80, 0x00], None),
            (vec![0xff, 0xff, 0xff, 0xff, 0x0f], Some(u32::MAX)),
            (vec![0xff, 0xff, 0xff, 0xff, 0x1f], None),
        ] {
            let (padded, len) = wide(&bytes);
            // SAFETY: 64 bytes are readable.
            unsafe {
                let (begin, limit) = (padded.as_ptr(), padded.as_ptr().add(len));
                for (value, end) in [tag_wide(begin), tag(begin, limit)] {
                    match expected {
                        Some(expected) => assert_eq!((value, end), (expected, limit)),
                        None => assert!(end.is_null()),
                    }
                }
                if expected.is_none() {
                    assert_eq!(tag_error(begin, limit), DecodeErrorKind::InvalidTag);
                    assert_eq!(tag_error(begin, begin.add(3)), DecodeErrorKind::Truncated);
                }
            }
        }
    }

    #[test]
    fn text_is_checked_at_every_length_and_place() {
        for len in 0..200 {
            let mut text = vec![b'a'; len + 64];
            text[len] = 0xff;
            let check = |text: &[u8]| {
                // SAFETY: 64 bytes more than `len` are readable.
                unsafe { (is_utf8_wide(text.as_ptr(), len), is_utf8(text.as_ptr(), len)) }
            };
            assert_eq!(check(&text), (true, true));
            for at in 0..len {
                text[at] = 0xc3;
                assert_eq!(check(&text), (false, false));
                if at + 1 < len {
                    text[at + 1] = 0xa4;
                    assert_eq!(check(&text), (true, true));
                    text[at + 1] = b'a';
                }
                text[at] = b'a';
            }
        }
    }
}
