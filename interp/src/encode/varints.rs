//! Many varints in a row: packed lists.
//!
//! Eight elements at a time, last to first. Where all of them fit a byte they are stored as one word; else each is placed without a
//! branch on its length, which in lists of numbers is hard to predict.

use protojit_core::memory::slots::ListSlot;
use protojit_core::wire::varint_len;

use super::context::{EncodeCtx, ROOM};
use super::write::{put, spread, varint_before, varint_longest};

/// Elements that are looked at together.
const BLOCK: usize = 8;

/// The most bytes that a block takes.
const BLOCK_BYTES: usize = BLOCK * 10;

/// Writes the elements as varints. Gives the new position; null, with the error recorded, where there is no room.
///
/// # Safety
/// `at` is the context's position; the list's elements are of type `T`.
#[inline(always)]
pub(super) unsafe fn varints<T: Copy>(
    list: ListSlot,
    at: *mut u8,
    ctx: &mut EncodeCtx,
    convert: impl Fn(T) -> u64,
) -> *mut u8 {
    let mut at = at;
    // SAFETY: as promised to this function; where there is no room for a whole block each element has its own check.
    unsafe {
        let mut rest = list.elements::<T>();
        if rest.len() >= BLOCK {
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            let fast = crate::host::has_fast_bit_gather();
            #[cfg(not(all(target_arch = "x86_64", not(miri))))]
            let fast = false;
            (at, rest) = match fast {
                #[cfg(all(target_arch = "x86_64", not(miri)))]
                true => pdep::blocks(rest, at, ctx, &convert),
                _ => blocks(rest, at, ctx, &convert, spread),
            };
            if at.is_null() {
                return at;
            }
        }
        while let Some((last, before)) = rest.split_last() {
            at = put(at, ctx, |at| varint_before(at, convert(*last)));
            if at.is_null() {
                return at;
            }
            rest = before;
        }
    }
    at
}

/// As many whole blocks as there is room for, or can be. Gives the new position and the elements that are left.
///
/// # Safety
/// As [`varints`].
#[inline(always)]
unsafe fn blocks<'a, T: Copy>(
    elements: &'a [T],
    mut at: *mut u8,
    ctx: &mut EncodeCtx,
    convert: &impl Fn(T) -> u64,
    spread: impl Fn(u64) -> u64,
) -> (*mut u8, &'a [T]) {
    let mut rest = elements;
    while let Some((before, block)) = rest.split_last_chunk::<BLOCK>() {
        if ctx.room(at) < BLOCK_BYTES + ROOM {
            if !ctx.can_grow() {
                break;
            }
            // SAFETY: the caller's promise.
            at = unsafe { ctx.grow(at, BLOCK_BYTES + ROOM) };
            if at.is_null() {
                break;
            }
        }
        let values = block.map(convert);
        // SAFETY: there is room for the block, and for a word before it.
        unsafe {
            if values.iter().fold(0, |any, value| any | value) < 0x80 {
                at = at.sub(BLOCK);
                at.cast::<[u8; BLOCK]>().write_unaligned(values.map(|value| value as u8));
            } else {
                for value in values.into_iter().rev() {
                    at = place(at, value, &spread);
                }
            }
        }
        rest = before;
    }
    (at, rest)
}

/// Writes a varint that ends at `at`.
///
/// # Safety
/// Ten bytes before `at` are writable.
#[inline(always)]
unsafe fn place(at: *mut u8, value: u64, spread: &impl Fn(u64) -> u64) -> *mut u8 {
    if value >= 1 << 56 {
        // SAFETY: the caller's promise.
        return unsafe { varint_longest(at, value) };
    }
    let len = varint_len(value);
    // All bytes but the last continue. What lies before the varint in the word is overwritten by what comes before it.
    let word = spread(value) << (64 - 8 * len) | 0x0080_8080_8080_8080;
    // SAFETY: the caller's promise.
    unsafe {
        at.sub(8).cast::<u64>().write_unaligned(word);
        at.sub(len)
    }
}

/// With the instruction that scatters bits, where it is fast.
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod pdep {
    use std::arch::x86_64::_pdep_u64;

    use super::EncodeCtx;

    /// As [`super::blocks`].
    ///
    /// # Safety
    /// As there; the processor has BMI2.
    #[target_feature(enable = "bmi1,bmi2,lzcnt")]
    pub(super) unsafe fn blocks<'a, T: Copy>(
        elements: &'a [T],
        at: *mut u8,
        ctx: &mut EncodeCtx,
        convert: &impl Fn(T) -> u64,
    ) -> (*mut u8, &'a [T]) {
        // SAFETY: as promised to this function.
        unsafe { super::blocks(elements, at, ctx, convert, |value| _pdep_u64(value, 0x7f7f_7f7f_7f7f_7f7f)) }
    }
}
