//! Many varints in a row.
//!
//! Where a varint ends is found for 64 bytes at once, as a mask of the bytes without the high bit. So the next one's place does not wait for
//! the last one's length, and no branch depends on lengths, which in lists of numbers are hard to predict.

use super::read::{distance, load64, squeeze, varint, varint_long};

/// Bytes that are looked at together.
const BLOCK: usize = 64;

const _: () = assert!(BLOCK <= super::SLACK);

/// How many of `len` bytes, more than none, end a varint.
///
/// # Safety
/// They are readable, and before `safe` as [`DecodeCtx::safe`](super::DecodeCtx::safe) says.
#[inline]
pub(super) unsafe fn count(p: *const u8, len: usize, safe: *const u8) -> usize {
    if len <= BLOCK && p < safe {
        // SAFETY: below `safe` a block is readable.
        let stops = unsafe { stops_of(p, len) };
        return (stops << (BLOCK - len)).count_ones() as usize;
    }
    // SAFETY: the caller's promise.
    let bytes = unsafe { std::slice::from_raw_parts(p, len) };
    // In parts that a byte can count, so that the inner loop runs on vectors of bytes.
    bytes.chunks(128).map(|part| usize::from(part.iter().map(|&byte| u8::from(byte < 0x80)).sum::<u8>())).sum()
}

/// Decodes the varints from `p` to `end`, of which there are `count`, the last one complete. Gives null, or the position of one that is
/// malformed.
///
/// # Safety
/// `p..end` is readable and before `safe` as [`DecodeCtx::safe`](super::DecodeCtx::safe) says; it holds exactly `count` bytes that end a
/// varint, and `to` has room for as many values.
#[inline(always)]
pub(super) unsafe fn decode<T: Copy>(
    p: *const u8,
    end: *const u8,
    count: usize,
    to: *mut T,
    safe: *const u8,
    convert: impl Fn(u64) -> T,
) -> *const u8 {
    // SAFETY: as promised to this function.
    unsafe {
        if count == distance(p, end) {
            for at in 0..count {
                to.add(at).write(convert(u64::from(p.add(at).read())));
            }
            return std::ptr::null();
        }
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if crate::host::has_fast_bit_gather() {
            return pext::blocks(p, end, to, safe, convert);
        }
        blocks(p, end, to, safe, |word, len| squeeze(word & (u64::MAX >> (64 - 8 * len))), convert)
    }
}

/// As [`decode`]. `value` gives the value of a varint of up to eight bytes from a word that begins with it, and its length.
#[inline(always)]
unsafe fn blocks<T: Copy>(
    mut p: *const u8,
    end: *const u8,
    mut to: *mut T,
    safe: *const u8,
    value: impl Fn(u64, u32) -> u64,
    convert: impl Fn(u64) -> T,
) -> *const u8 {
    // SAFETY: as promised to `decode`: each varint ends at one of the bytes that `to` has room for. A block is loaded where 64 bytes
    // can be, and words from positions before `safe`.
    unsafe {
        while p < end && (end <= safe || distance(p, safe) >= BLOCK) {
            let left = distance(p, end);
            let mut stops = stops_of(p, left);
            if left < BLOCK {
                stops &= (1 << left) - 1;
            }
            let mut from = 0;
            while stops != 0 {
                let stop = stops.trailing_zeros();
                stops &= stops - 1;
                let len = stop + 1 - from;
                let at = p.add(from as usize);
                let word = load64(at);
                let bits = if len <= 8 {
                    value(word, len)
                } else {
                    let (bits, behind) = varint_long(at, word);
                    if len > 10 || behind.is_null() {
                        return at;
                    }
                    bits
                };
                to.write(convert(bits));
                to = to.add(1);
                from = stop + 1;
            }
            if from == 0 {
                return p;
            }
            p = p.add(from as usize);
        }
        while p < end {
            let (bits, behind) = varint(p, end);
            if behind.is_null() {
                return p;
            }
            to.write(convert(bits));
            to = to.add(1);
            p = behind;
        }
    }
    std::ptr::null()
}

/// Which of 64 bytes end a varint, the first in the lowest bit; of the last bytes only as many as `len` needs are looked at. Short
/// inputs were just stored: a load of bytes that nobody needs would wait for more than one of those stores.
#[inline(always)]
unsafe fn stops_of(p: *const u8, len: usize) -> u64 {
    // SAFETY: 64 bytes are readable.
    unsafe { if len <= 16 { u64::from(stops_of_16(p)) } else { stops(p) } }
}

/// Which of 64 bytes end a varint, the first in the lowest bit.
#[inline(always)]
unsafe fn stops(p: *const u8) -> u64 {
    let mut stops = 0;
    for at in 0..4 {
        // SAFETY: 64 bytes are readable.
        stops |= u64::from(unsafe { stops_of_16(p.add(16 * at)) }) << (16 * at);
    }
    stops
}

/// Which of 16 bytes end a varint, the first in the lowest bit.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
unsafe fn stops_of_16(p: *const u8) -> u16 {
    use std::arch::x86_64::{_mm_loadu_si128, _mm_movemask_epi8};
    // SAFETY: 16 bytes are readable; SSE2 is part of x86-64.
    !(unsafe { _mm_movemask_epi8(_mm_loadu_si128(p.cast())) } as u16)
}

/// Which of 16 bytes end a varint, the first in the lowest bit.
#[cfg(all(target_arch = "aarch64", not(miri)))]
#[inline(always)]
unsafe fn stops_of_16(p: *const u8) -> u16 {
    use std::arch::aarch64::{vaddv_u8, vandq_u8, vcltzq_s8, vget_high_u8, vget_low_u8, vld1q_u8, vreinterpretq_s8_u8};
    const WEIGHTS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];
    // SAFETY: 16 bytes are readable; NEON is part of arm64.
    let (low, high) = unsafe {
        let continued = vcltzq_s8(vreinterpretq_s8_u8(vld1q_u8(p)));
        let weighed = vandq_u8(continued, vld1q_u8(WEIGHTS.as_ptr()));
        (vaddv_u8(vget_low_u8(weighed)), vaddv_u8(vget_high_u8(weighed)))
    };
    !(u16::from(low) | u16::from(high) << 8)
}

/// Which of 16 bytes end a varint, the first in the lowest bit.
#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
#[inline(always)]
unsafe fn stops_of_16(p: *const u8) -> u16 {
    let mut stops = 0;
    for at in 0..2 {
        // SAFETY: 16 bytes are readable.
        let word = !unsafe { load64(p.add(8 * at)) } & super::read::HIGH_BITS;
        // Moves the lowest bit of each byte to the top byte, the first to its lowest bit.
        stops |= ((word >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56 << (8 * at)) as u16;
    }
    stops
}

/// With the instruction that gathers bits, where it is fast.
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod pext {
    use std::arch::x86_64::_pext_u64;

    use super::super::read::HIGH_BITS;

    /// As [`super::blocks`].
    ///
    /// # Safety
    /// As there; the processor has BMI2.
    #[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
    pub(super) unsafe fn blocks<T: Copy>(
        p: *const u8,
        end: *const u8,
        to: *mut T,
        safe: *const u8,
        convert: impl Fn(u64) -> T,
    ) -> *const u8 {
        let value = |word: u64, len: u32| {
            let bits = word & (u64::MAX >> (64 - 8 * len));
            _pext_u64(bits, !HIGH_BITS)
        };
        // SAFETY: as promised to this function.
        unsafe { super::blocks(p, end, to, safe, value, convert) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protojit_core::wire::push_varint;

    /// Values of all widths, before the end of what can be read and well inside.
    #[test]
    fn all_ways_agree() {
        let mut bits = 0x9e37_79b9_7f4a_7c15u64;
        for round in 0..400usize {
            let count_of = round % 150;
            let values: Vec<u64> = (0..count_of)
                .map(|_| {
                    bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let top = [1, 9, 30, 64][round % 4];
                    (bits >> 7) >> (64 - 1 - (bits >> 58) % top)
                })
                .collect();
            let mut bytes = Vec::new();
            values.iter().for_each(|&value| push_varint(value, &mut bytes));
            let len = bytes.len();
            bytes.extend([0xff; super::super::SLACK]);
            let (begin, end) = (bytes.as_ptr(), bytes[len..].as_ptr());
            for safe in [0, len / 2, len.saturating_sub(64), len] {
                let mut out = vec![0u64; count_of];
                // SAFETY: from everywhere before `safe`, and behind `end`, 64 bytes are readable.
                unsafe {
                    let safe = begin.add(safe);
                    assert!(len == 0 || count(begin, len, safe) == count_of);
                    assert!(decode(begin, end, count_of, out.as_mut_ptr(), safe, |value| value).is_null());
                    assert_eq!(out, values);
                    out.fill(0);
                    let value = |word: u64, len: u32| squeeze(word & (u64::MAX >> (64 - 8 * len)));
                    assert!(blocks(begin, end, out.as_mut_ptr(), safe, value, |value| value).is_null());
                    assert_eq!(out, values);
                }
            }
        }
    }
}
