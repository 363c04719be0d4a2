//! Merging, and with it copying. Without recursion: messages may be nested as deep as they like.

use super::cells;
use super::change::{child_message, mark, vacate};
use super::map::entry_layout;
use super::map_mut::value_cell;
use crate::memory::alloc::Alloc;
use crate::memory::map::{MapTable, key_of};
use crate::memory::slots::{ListSlot, Storage, StrSlot};
use crate::memory::{ArenaFull, list, parts, unknown};
use crate::program::{FieldSlot, Layout};

/// Pairs of messages that are still to be merged: target, source, their layout.
type Work<'l> = Vec<(*mut u8, *const u8, &'l Layout)>;

/// Merges `from` into `into`, copying all that it points to.
///
/// # Errors
/// The arena is full.
///
/// # Safety
/// Both are live messages of this layout; nobody else reads `into` meanwhile, nobody changes `from`, and they have
/// nothing in common.
pub(super) unsafe fn merge(
    into: *mut u8,
    from: *const u8,
    layout: &Layout,
    arena: &mut impl Alloc,
) -> Result<(), ArenaFull> {
    let mut work: Work<'_> = vec![(into, from, layout)];
    while let Some((into, from, layout)) = work.pop() {
        // SAFETY: a pair of messages of that layout: the given one, or one that `field` found below it.
        unsafe {
            for slot in &layout.fields {
                let part = parts::part(from, slot.page);
                if !part.is_null() && cells::is_set(part, slot) {
                    let target = parts::part_mut(into, layout, slot.page, arena)?;
                    field(target, part, slot, &mut work, arena)?;
                }
            }
            let runs = parts::unknown(from).elements::<StrSlot>();
            if !runs.is_empty() {
                let target = parts::unknown_mut(into, layout, arena)?;
                for run in runs {
                    unknown::push_copied(&mut *target, run.bytes(), arena)?;
                }
            }
        }
    }
    Ok(())
}

/// Merges one field that is set in the source.
///
/// # Safety
/// As [`merge`], with the parts of both messages that the slot lies in.
unsafe fn field<'l>(
    into: *mut u8,
    from: *const u8,
    slot: &'l FieldSlot,
    work: &mut Work<'l>,
    arena: &mut impl Alloc,
) -> Result<(), ArenaFull> {
    // SAFETY: as promised to this function.
    unsafe {
        let source = from.add(slot.offset as usize);
        let target = into.add(slot.offset as usize);
        match slot.storage {
            Storage::Message => {
                let child = cells::child_layout(&slot.child);
                work.push((child_message(into, slot, child, arena)?, source.cast::<*const u8>().read(), child));
            }
            Storage::List => append(&mut *target.cast(), source.cast::<ListSlot>().read(), slot, work, arena)?,
            Storage::Map => entries(target.cast(), &*source.cast::<*const MapTable>().read(), slot, work, arena)?,
            storage => {
                vacate(into, slot);
                value(target, source, storage, arena)?;
                mark(into, slot);
            }
        }
    }
    Ok(())
}

/// Copies the value of a cell that holds no message.
///
/// # Safety
/// Both are cells of this storage; the target holds a value of it, or zeros, and is ours to change.
unsafe fn value(target: *mut u8, source: *const u8, storage: Storage, arena: &mut impl Alloc) -> Result<(), ArenaFull> {
    // SAFETY: as promised to this function.
    unsafe {
        match storage {
            Storage::Str => list::copy_str(&mut *target.cast(), source.cast::<StrSlot>().read().bytes(), arena),
            _ => {
                target.copy_from_nonoverlapping(source, storage.size() as usize);
                Ok(())
            }
        }
    }
}

/// Appends the elements of a list.
///
/// # Safety
/// As [`field`], with the cells of both lists.
unsafe fn append<'l>(
    target: &mut ListSlot,
    source: ListSlot,
    slot: &'l FieldSlot,
    work: &mut Work<'l>,
    arena: &mut impl Alloc,
) -> Result<(), ArenaFull> {
    let width = slot.element.size() as usize;
    // SAFETY: as promised to this function; after `reserve` there is room for all elements of the source.
    unsafe {
        list::reserve(target, width, source.len as usize, arena)?;
        match slot.element {
            Storage::Str => {
                for string in source.elements::<StrSlot>() {
                    let mut copy = StrSlot { ptr: std::ptr::null(), len: 0, cap: 0 };
                    list::copy_str(&mut copy, string.bytes(), arena)?;
                    list::push(target, copy, arena)?;
                }
            }
            Storage::Message => {
                let child = cells::child_layout(&slot.child);
                for &message in source.elements::<*const u8>() {
                    let copy = parts::new_message(child, arena)?;
                    list::push(target, copy, arena)?;
                    if !message.is_null() {
                        work.push((copy, message, child));
                    }
                }
            }
            _ => {
                let end = target.ptr.add(target.len as usize * width);
                end.copy_from_nonoverlapping(source.ptr, source.len as usize * width);
                target.len += source.len;
            }
        }
    }
    Ok(())
}

/// Takes over the entries of a map.
///
/// # Safety
/// As [`field`], with the cells of both maps.
unsafe fn entries<'l>(
    target: *mut *mut MapTable,
    source: &MapTable,
    slot: &'l FieldSlot,
    work: &mut Work<'l>,
    arena: &mut impl Alloc,
) -> Result<(), ArenaFull> {
    let layout = entry_layout(slot);
    for at in 0..source.len as usize {
        // SAFETY: as promised to this function; below `len`.
        unsafe {
            let entry = source.entries.add(at * layout.stride as usize);
            let from = entry.add(layout.value_offset as usize);
            let into = value_cell(target, slot, key_of(entry, layout), arena)?;
            if layout.value == Storage::Message {
                let child = cells::child_layout(&slot.child);
                let copy = parts::new_message(child, arena)?;
                into.cast::<*mut u8>().write(copy);
                let message = from.cast::<*const u8>().read();
                if !message.is_null() {
                    work.push((copy, message, child));
                }
            } else {
                value(into, from, layout.value, arena)?;
            }
        }
    }
    Ok(())
}
