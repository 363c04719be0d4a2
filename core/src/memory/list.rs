//! Growing lists.
//!
//! A list at the end of the bump memory grows in place; elsewhere it moves to a place twice as large.
//! Lengths stay below 2^31, sizes are checked.

use std::ptr;

use super::ArenaFull;
use super::alloc::Alloc;
use super::slots::{ListSlot, StrSlot};

/// How many elements of `size` bytes a list has room for at first. Both engines ask for the same.
pub const fn first_room(size: usize) -> usize {
    let in_half_a_line = 32 / size;
    if in_half_a_line < 4 { 4 } else { in_half_a_line }
}

/// Makes room for `extra` more elements of `size` bytes each. The elements are not touched.
///
/// # Errors
/// The list would pass 2^31-1 elements, or the arena is full.
///
/// # Safety
/// `list` is the cell of a live message whose elements are `size` bytes wide (1, 4, 8 or 16).
#[inline]
pub unsafe fn reserve(list: &mut ListSlot, size: usize, extra: usize, from: &mut impl Alloc) -> Result<(), ArenaFull> {
    if (list.cap as usize).wrapping_sub(list.len as usize) >= extra && list.cap >= list.len {
        return Ok(());
    }
    // SAFETY: as promised to this function.
    unsafe { grow(list, size, extra, from) }
}

#[cold]
unsafe fn grow(list: &mut ListSlot, size: usize, extra: usize, from: &mut impl Alloc) -> Result<(), ArenaFull> {
    let full = ArenaFull { limit: from.limit() };
    let len = list.len as usize;
    let needed = len.checked_add(extra).filter(|&n| n <= i32::MAX as usize).ok_or(full)?;
    let old_bytes = (list.cap as usize * size).next_multiple_of(8);
    if list.cap != 0 {
        // In place: no copy to pay for, so a smaller step.
        let wanted = needed.max(list.cap as usize + list.cap as usize / 2);
        let bytes = (wanted * size).next_multiple_of(64);
        if from.extend(list.ptr.wrapping_add(old_bytes), bytes - old_bytes) {
            list.cap = (bytes / size).min(i32::MAX as usize) as u32;
            return Ok(());
        }
    }
    let wanted = needed.max(len * 2).max(first_room(size)).min(i32::MAX as usize);
    let bytes = (wanted * size).next_multiple_of(8);
    let at = from.alloc(bytes)?;
    if len != 0 {
        // SAFETY: `len` elements are readable at the old place, and the new one is larger and fresh.
        unsafe { ptr::copy_nonoverlapping(list.ptr, at, len * size) };
    }
    list.ptr = at;
    list.cap = (bytes / size).min(i32::MAX as usize) as u32;
    Ok(())
}

/// Appends one element.
///
/// # Errors
/// As [`reserve`].
///
/// # Safety
/// As [`reserve`], with `T` the element type.
#[inline]
pub unsafe fn push<T: Copy>(list: &mut ListSlot, value: T, from: &mut impl Alloc) -> Result<(), ArenaFull> {
    // SAFETY: as promised to this function; after `reserve` there is room for one more.
    unsafe {
        reserve(list, size_of::<T>(), 1, from)?;
        list.ptr.cast::<T>().add(list.len as usize).write(value);
    }
    list.len += 1;
    Ok(())
}

/// Replaces the bytes of a cell by an arena copy of `bytes`, in the cell's own room where it fits.
///
/// # Errors
/// `bytes` are longer than 2^31-1, or the arena is full.
///
/// # Safety
/// `slot` is the cell of a live message, and nobody reads its old bytes any more.
pub unsafe fn copy_str(slot: &mut StrSlot, bytes: &[u8], from: &mut impl Alloc) -> Result<(), ArenaFull> {
    let len = u32::try_from(bytes.len())
        .ok()
        .filter(|&len| len <= i32::MAX as u32)
        .ok_or(ArenaFull { limit: from.limit() })?;
    if slot.cap < len {
        let room = bytes.len().next_multiple_of(8);
        slot.ptr = from.alloc(room)?;
        slot.cap = room as u32;
    }
    // SAFETY: `cap` bytes at `ptr` belong to this cell. `copy`, since `bytes` may be the cell's own.
    unsafe { ptr::copy(bytes.as_ptr(), slot.ptr.cast_mut(), bytes.len()) };
    slot.len = len;
    Ok(())
}
