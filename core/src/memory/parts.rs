//! The parts of a message: the message itself, its cold part and its pages.
//!
//! Reading never allocates: a part that does not exist yet is null, and all of its fields are unset.
//! Writing makes the part, zeroed, when its first field appears.

use super::ArenaFull;
use super::alloc::Alloc;
use super::slots::ListSlot;
use crate::program::{COLD_OFFSET, Layout, PAGES_OFFSET, UNKNOWN_OFFSET};

/// A new, empty message.
///
/// # Errors
/// The arena is full.
#[inline]
pub fn new_message(layout: &Layout, from: &mut impl Alloc) -> Result<*mut u8, ArenaFull> {
    zeroed(layout.size as usize, from)
}

#[inline]
fn zeroed(size: usize, from: &mut impl Alloc) -> Result<*mut u8, ArenaFull> {
    let at = from.alloc(size)?;
    // SAFETY: `alloc` gave `size` writable bytes.
    unsafe { at.write_bytes(0, size) };
    Ok(at)
}

/// The cold part, null where there is none.
///
/// # Safety
/// `message` is a live message.
#[inline]
pub unsafe fn cold(message: *const u8) -> *const u8 {
    // SAFETY: every message begins with the pointer to its cold part.
    unsafe { message.add(COLD_OFFSET as usize).cast::<*const u8>().read() }
}

/// The cold part, made where there was none.
///
/// # Errors
/// The arena is full.
///
/// # Safety
/// `message` is a live message of this layout that nobody else reads meanwhile.
#[inline]
pub unsafe fn cold_mut(message: *mut u8, layout: &Layout, from: &mut impl Alloc) -> Result<*mut u8, ArenaFull> {
    // SAFETY: every message begins with the pointer to its cold part.
    unsafe {
        let cell = message.add(COLD_OFFSET as usize).cast::<*mut u8>();
        let mut cold = cell.read();
        if cold.is_null() {
            cold = zeroed(layout.cold_bytes() as usize, from)?;
            cell.write(cold);
        }
        Ok(cold)
    }
}

/// The part that a slot's offsets count from: the message itself for page 0, else that cold page, null where it
/// does not exist.
///
/// # Safety
/// `message` is a live message whose layout has that page.
#[inline]
pub unsafe fn part(message: *const u8, page: u16) -> *const u8 {
    if page == 0 {
        return message;
    }
    // SAFETY: the caller's promise; behind the unknown fields the cold part has a pointer for every page.
    unsafe {
        let cold = cold(message);
        if cold.is_null() {
            return cold;
        }
        cold.add(page_cell(page)).cast::<*const u8>().read()
    }
}

/// As [`part`], and makes the page where it does not exist.
///
/// # Errors
/// The arena is full.
///
/// # Safety
/// `message` is a live message of this layout that nobody else reads meanwhile, and the layout has that page.
#[inline]
pub unsafe fn part_mut(
    message: *mut u8,
    layout: &Layout,
    page: u16,
    from: &mut impl Alloc,
) -> Result<*mut u8, ArenaFull> {
    if page == 0 {
        return Ok(message);
    }
    // SAFETY: as promised to this function.
    unsafe { page_mut(message, layout, page, from) }
}

unsafe fn page_mut(message: *mut u8, layout: &Layout, page: u16, from: &mut impl Alloc) -> Result<*mut u8, ArenaFull> {
    // SAFETY: as promised to `part_mut`; the cold part has a pointer for every page of the layout.
    unsafe {
        let cell = cold_mut(message, layout, from)?.add(page_cell(page)).cast::<*mut u8>();
        let mut page_at = cell.read();
        if page_at.is_null() {
            page_at = zeroed(layout.pages[page as usize - 1] as usize, from)?;
            cell.write(page_at);
        }
        Ok(page_at)
    }
}

/// Offset of a page's pointer in the cold part.
#[inline]
const fn page_cell(page: u16) -> usize {
    PAGES_OFFSET as usize + 8 * (page as usize - 1)
}

/// The unknown fields: a list of [`StrSlot`](super::slots::StrSlot)s, each some whole fields as they came.
///
/// # Safety
/// `message` is a live message.
#[inline]
pub unsafe fn unknown(message: *const u8) -> ListSlot {
    // SAFETY: the caller's promise; the cold part begins with the unknown fields.
    unsafe {
        let cold = cold(message);
        if cold.is_null() {
            return ListSlot { ptr: std::ptr::null_mut(), len: 0, cap: 0 };
        }
        cold.add(UNKNOWN_OFFSET as usize).cast::<ListSlot>().read()
    }
}

/// The cell of the unknown fields, made where there was none.
///
/// # Errors
/// The arena is full.
///
/// # Safety
/// As [`cold_mut`].
#[inline]
pub unsafe fn unknown_mut(
    message: *mut u8,
    layout: &Layout,
    from: &mut impl Alloc,
) -> Result<*mut ListSlot, ArenaFull> {
    // SAFETY: as promised to this function.
    Ok(unsafe { cold_mut(message, layout, from)?.add(UNKNOWN_OFFSET as usize).cast() })
}
