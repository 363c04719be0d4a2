//! Unknown fields: their wire bytes, in order, as runs.
//!
//! A run borrows the input; neighbours join. Fields that are made up (the number of a closed enum that
//! came packed) are arena copies, told apart by their capacity.

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
    let full = ArenaFull { limit: from.limit() };
    if runs.len != 0 {
        // SAFETY: a live list of `StrSlot`s with at least one element.
        let last = unsafe { &mut *runs.ptr.cast::<StrSlot>().add(runs.len as usize - 1) };
        let joined = last.len as usize + bytes.len();
        if last.cap == 0 && last.ptr.wrapping_add(last.len as usize) == bytes.as_ptr() && joined <= i32::MAX as usize {
            last.len = joined as u32;
            return Ok(());
        }
    }
    let run = StrSlot::borrowed(bytes).ok_or(full)?;
    // SAFETY: as promised to this function.
    unsafe { list::push(runs, run, from) }
}

/// Appends an arena copy of `bytes`.
///
/// # Errors
/// The arena is full.
///
/// # Safety
/// `runs` is the unknown-field cell of a live message.
pub unsafe fn push_copied(runs: &mut ListSlot, bytes: &[u8], from: &mut impl Alloc) -> Result<(), ArenaFull> {
    let mut run = StrSlot { ptr: std::ptr::null(), len: 0, cap: 0 };
    // SAFETY: a fresh cell, then as promised to this function.
    unsafe {
        list::copy_str(&mut run, bytes, from)?;
        list::push(runs, run, from)
    }
}
