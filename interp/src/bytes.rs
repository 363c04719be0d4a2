//! Copying short runs of bytes.

/// Copies `len` bytes. Most strings are short: two loads and stores that overlap do for a range of lengths, without a call.
///
/// # Safety
/// As for [`std::ptr::copy_nonoverlapping`]; `from` may be anything where `len` is 0.
#[inline(always)]
pub(crate) unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's promise; both halves lie inside.
    unsafe {
        match len {
            0 => {}
            1..=3 => {
                let (first, middle, last) = (from.read(), from.add(len / 2).read(), from.add(len - 1).read());
                to.write(first);
                to.add(len / 2).write(middle);
                to.add(len - 1).write(last);
            }
            4..=7 => {
                let low = from.cast::<u32>().read_unaligned();
                let high = from.add(len - 4).cast::<u32>().read_unaligned();
                to.cast::<u32>().write_unaligned(low);
                to.add(len - 4).cast::<u32>().write_unaligned(high);
            }
            8..=16 => {
                let low = from.cast::<u64>().read_unaligned();
                let high = from.add(len - 8).cast::<u64>().read_unaligned();
                to.cast::<u64>().write_unaligned(low);
                to.add(len - 8).cast::<u64>().write_unaligned(high);
            }
            17..=32 => {
                let low = from.cast::<[u64; 2]>().read_unaligned();
                let high = from.add(len - 16).cast::<[u64; 2]>().read_unaligned();
                to.cast::<[u64; 2]>().write_unaligned(low);
                to.add(len - 16).cast::<[u64; 2]>().write_unaligned(high);
            }
            _ => to.copy_from_nonoverlapping(from, len),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_every_length() {
        let from: Vec<u8> = (0..200).collect();
        for len in 0..200 {
            let mut to = [0xee; 202];
            // SAFETY: both have that many bytes.
            unsafe { copy(from.as_ptr(), to.as_mut_ptr().add(1), len) };
            assert_eq!(to[1..=len], from[..len]);
            assert_eq!((to[0], to[len + 1]), (0xee, 0xee));
        }
    }
}
