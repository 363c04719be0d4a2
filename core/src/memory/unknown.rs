//! Unknown fields: their wire bytes, in order, as runs.
//!
//! A run borrows the input; neighbours join. Fields that are made up (the number of a closed enum that
//! came packed) are arena copies, told apart by their capacity.

use std::ptr;

use super::ArenaFull;
use super::alloc::Alloc;
use super::list;
use super::slots::{ListSlot, StrSlot};

/// Appends the wire bytes of one or more whole fields, tags included.
///
/// # Errors
/// The arena is full.
///
/// # Safety
/// `runs` is the unknown-field cell of a live message; `bytes` live as long as that message.
#[inline]
pub unsafe fn push_borrowed(runs: &mut ListSlot, bytes: &[u8], from: &mut impl Alloc) -> Result<(), ArenaFull> {
    // SAFETY: as promised to this function.
    unsafe { push_run(runs, bytes.as_ptr(), bytes.len(), from) }
}

/// As [`push_borrowed`], for `len` bytes at `bytes`: neighbouring runs join, so `bytes` must be a pointer that may read
/// the whole input they both lie in.
///
/// # Errors
/// The arena is full.
///
/// # Safety
/// As [`push_borrowed`]; `len` bytes are readable.
#[inline]
pub unsafe fn push_run(
    runs: &mut ListSlot,
    bytes: *const u8,
    len: usize,
    from: &mut impl Alloc,
) -> Result<(), ArenaFull> {
    let full = ArenaFull { limit: from.limit() };
    if runs.len != 0 {
        // SAFETY: a live list of `StrSlot`s with at least one element.
        let last = unsafe { &mut *runs.ptr.cast::<StrSlot>().add(runs.len as usize - 1) };
        let joined = last.len as usize + len;
        if last.cap == 0 && last.ptr.wrapping_add(last.len as usize) == bytes && joined <= i32::MAX as usize {
            last.len = joined as u32;
            return Ok(());
        }
    }
    let len = u32::try_from(len).ok().filter(|&len| len <= i32::MAX as u32).ok_or(full)?;
    // SAFETY: as promised to this function.
    unsafe { list::push(runs, StrSlot { ptr: bytes, len, cap: 0 }, from) }
}

/// Appends an arena copy of `bytes`, to the last run where that is a copy too.
///
/// # Errors
/// The arena is full.
///
/// # Safety
/// `runs` is the unknown-field cell of a live message.
pub unsafe fn push_copied(runs: &mut ListSlot, bytes: &[u8], from: &mut impl Alloc) -> Result<(), ArenaFull> {
    let full = ArenaFull { limit: from.limit() };
    // SAFETY: a live list of `StrSlot`s; `room` bytes at a copy's `ptr` are its own.
    unsafe {
        if runs.len != 0 {
            let last = &mut *runs.ptr.cast::<StrSlot>().add(runs.len as usize - 1);
            if last.cap != 0 {
                let joined = last.len as usize + bytes.len();
                if joined > last.cap as usize {
                    let room = (joined * 2).next_multiple_of(8);
                    let cap = u32::try_from(room).ok().filter(|&cap| cap <= i32::MAX as u32).ok_or(full)?;
                    let at = from.alloc(room)?;
                    ptr::copy_nonoverlapping(last.ptr, at, last.len as usize);
                    (last.ptr, last.cap) = (at, cap);
                }
                let end = last.ptr.cast_mut().add(last.len as usize);
                ptr::copy_nonoverlapping(bytes.as_ptr(), end, bytes.len());
                last.len = joined as u32;
                return Ok(());
            }
        }
        let mut run = StrSlot { ptr: ptr::null(), len: 0, cap: 0 };
        list::copy_str(&mut run, bytes, from)?;
        list::push(runs, run, from)
    }
}
