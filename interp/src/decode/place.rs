//! Where a decode begins: the copy of a small input with padding behind it, and the zeroed root message behind that.
//!
//! For messages of a few bytes this is most of the work, so it is done at once, in the widest stores that the host has. It matters
//! too *how* the copy is stored: a load that needs bytes of two earlier stores waits until both have reached the cache. The first 64
//! bytes are therefore one store where the host can load them by a mask, which reads no byte beyond the input.

use protojit_core::memory::Bump;

use super::SLACK;
use crate::bytes::copy;

/// Free bytes behind the root that may be overwritten.
const SPILL: usize = 64;

/// Takes memory for a copy of `input` with padding and for a root of `size` bytes, and fills both in. Gives the copy and the root;
/// `None`, with nothing done, where the chunk has no room for both and a bit more.
#[inline(always)]
pub(super) fn place(input: &[u8], size: usize, bump: &mut Bump) -> Option<(*const u8, *mut u8)> {
    // Inputs are shorter than 2 GiB, messages far shorter.
    let copied = (input.len() + SLACK + 7) & !7;
    let free = bump.end.addr() - bump.at.addr();
    if free < copied + size + SPILL {
        return None;
    }
    let at = bump.at;
    let root = at.wrapping_add(copied);
    bump.at = root.wrapping_add(size);
    // SAFETY: so much is free, and nobody else holds it.
    unsafe { fill(input, at, root, size) };
    Some((at, root))
}

/// # Safety
/// `input.len() + SLACK` bytes at `to`, and `size` and [`SPILL`] bytes at `root` behind it, are writable and not part of the input.
#[inline(always)]
unsafe fn fill(input: &[u8], to: *mut u8, root: *mut u8, size: usize) {
    // SAFETY: the caller's promise; the host has what is asked for.
    unsafe {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            if std::arch::is_x86_feature_detected!("avx512bw") && std::arch::is_x86_feature_detected!("bmi2") {
                return fill_avx512(input, to, root, size);
            }
            if std::arch::is_x86_feature_detected!("avx2") {
                return fill_avx2(input, to, root, size);
            }
        }
        fill_blocks(input, to, root, size);
    }
}

/// # Safety
/// As [`fill`].
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
unsafe fn fill_avx512(input: &[u8], to: *mut u8, root: *mut u8, size: usize) {
    use std::arch::x86_64::*;
    /// Inputs up to this length are copied here; longer ones by `memcpy`.
    const WIDE_COPY: usize = 1024;
    let (from, len) = (input.as_ptr(), input.len());
    let zero = _mm512_setzero_si512();
    // SAFETY: the caller's promise. The last store of the copy ends at most 64 bytes behind the input's length, as the
    // masked one behind it does; those of the root end within `SPILL`.
    unsafe {
        if len <= WIDE_COPY {
            let mut at = 0;
            while len - at >= 64 {
                _mm512_storeu_si512(to.add(at).cast(), _mm512_loadu_si512(from.add(at).cast()));
                at += 64;
            }
            let mask = _bzhi_u64(u64::MAX, (len - at) as u32);
            _mm512_storeu_si512(to.add(at).cast(), _mm512_maskz_loadu_epi8(mask, from.add(at).cast()));
            _mm512_mask_storeu_epi8(to.add(at + 64).cast(), mask, zero);
        } else {
            to.copy_from_nonoverlapping(from, len);
            _mm512_storeu_si512(to.add(len).cast(), zero);
        }
        let mut at = 0;
        while at < size {
            _mm512_storeu_si512(root.add(at).cast(), zero);
            at += 64;
        }
    }
}

/// # Safety
/// As [`fill`].
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx2")]
unsafe fn fill_avx2(input: &[u8], to: *mut u8, root: *mut u8, size: usize) {
    // SAFETY: the caller's promise.
    unsafe { fill_blocks(input, to, root, size) }
}

/// # Safety
/// As [`fill`].
#[inline(always)]
unsafe fn fill_blocks(input: &[u8], to: *mut u8, root: *mut u8, size: usize) {
    // SAFETY: the caller's promise: the last block ends within `SPILL`.
    unsafe {
        copy(input.as_ptr(), to, input.len());
        to.add(input.len()).write_bytes(0, SLACK);
        let mut at = 0;
        while at < size {
            root.add(at).write_bytes(0, 64);
            at += 64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Fill = unsafe fn(&[u8], *mut u8, *mut u8, usize);

    /// All that this host can run.
    fn ways() -> Vec<Fill> {
        let ways: Vec<Fill> = vec![fill, fill_blocks];
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        let ways = {
            let mut ways = ways;
            if std::arch::is_x86_feature_detected!("avx2") {
                ways.push(fill_avx2);
            }
            if std::arch::is_x86_feature_detected!("avx512bw") && std::arch::is_x86_feature_detected!("bmi2") {
                ways.push(fill_avx512);
            }
            ways
        };
        ways
    }

    #[test]
    fn every_length_is_copied_padded_and_followed_by_a_zeroed_root() {
        let input: Vec<u8> = (0..3000).map(|at| at as u8 | 1).collect();
        for way in ways() {
            for len in (0..300).chain([1000, 1023, 1024, 1025, 3000]) {
                for size in [8, 56, 64, 72, 200, 256] {
                    let mut memory = vec![0xee_u8; 4000];
                    let root = (len + SLACK).next_multiple_of(8);
                    // An exact copy, so that a tool that watches memory sees a read beyond it.
                    let exact = input[..len].to_vec();
                    let at = memory.as_mut_ptr();
                    // SAFETY: so much is there.
                    unsafe { way(&exact, at, at.add(root), size) };
                    assert_eq!(memory[..len], exact);
                    assert!(memory[len..len + SLACK].iter().all(|&byte| byte == 0), "{len}");
                    assert!(memory[root..root + size].iter().all(|&byte| byte == 0), "{len} {size}");
                    assert!(memory[root + size + SPILL..].iter().all(|&byte| byte == 0xee), "{len} {size}");
                }
            }
        }
    }

    #[test]
    fn the_root_lies_behind_the_copy() {
        let mut memory = vec![0xee_u8; 4000];
        let range = memory.as_mut_ptr_range();
        let mut bump = Bump { at: range.start, end: range.end };
        let (copied, root) = place(&[7; 100], 24, &mut bump).unwrap();
        assert_eq!(copied, range.start.cast_const());
        assert_eq!(root.addr(), range.start.addr() + 168);
        assert_eq!(bump.at.addr(), root.addr() + 24);
    }

    #[test]
    fn nothing_is_taken_where_there_is_no_room() {
        let mut memory = [0_u8; 200];
        let range = memory.as_mut_ptr_range();
        let mut bump = Bump { at: range.start, end: range.end };
        assert!(place(&[1; 64], 16, &mut bump).is_none());
        assert_eq!(bump.at, range.start);
        assert!(place(&[1; 56], 16, &mut bump).is_some());
    }
}
