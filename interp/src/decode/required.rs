//! The search for missing required fields in a finished tree.
//!
//! A frame that ends without one proves nothing (a later occurrence of the message may bring it), so the tree is searched once, at
//! the end, and only where some frame lacked something. The search keeps its own stack: trees that were built by hand may be deep.

use protojit_core::memory::map::MapTable;
use protojit_core::memory::parts;
use protojit_core::memory::slots::{ListSlot, Storage};
use protojit_core::program::{FieldSlot, Layout};

use crate::presence::is_set;

/// A message on the way down, and how far its search has come.
struct Level<'a> {
    layout: &'a Layout,
    msg: *const u8,
    /// Position of the field that is being searched.
    field: usize,
    /// Position of the next element or entry in it.
    element: u32,
}

/// The numbers of the fields that lead to a required field that is missing in the message or below it, outermost first; `None` where nothing is missing.
///
/// # Safety
/// `msg` is a live message of this layout, and nobody changes it meanwhile.
pub unsafe fn find_missing(layout: &Layout, msg: *const u8) -> Option<Vec<u32>> {
    if !layout.reaches_required {
        return None;
    }
    let mut levels = vec![Level { layout, msg, field: 0, element: 0 }];
    // SAFETY: as promised to this function; sub-messages have the layout of their slot's child.
    unsafe {
        if let Some(slot) = missing(layout, msg) {
            return Some(vec![slot.number]);
        }
        while let Some(level) = levels.last_mut() {
            let layout = level.layout;
            let Some(slot) = layout.fields.get(level.field) else {
                levels.pop();
                continue;
            };
            let child = slot.child.get().filter(|child| child.reaches_required);
            let next = child.and_then(|child| Some((child, next_message(level, slot)?)));
            let Some((child, sub)) = next else {
                level.field += 1;
                level.element = 0;
                continue;
            };
            levels.push(Level { layout: child, msg: sub, field: 0, element: 0 });
            if let Some(slot) = missing(child, sub) {
                let (_, above) = levels.split_last()?;
                let mut path = Vec::new();
                for level in above {
                    let slot = &level.layout.fields[level.field];
                    path.push(slot.number);
                    // The value of the entry.
                    path.extend((slot.storage == Storage::Map).then_some(2));
                }
                path.push(slot.number);
                return Some(path);
            }
        }
    }
    None
}

/// A required field that this very message lacks.
unsafe fn missing(layout: &Layout, msg: *const u8) -> Option<&FieldSlot> {
    let slots = layout.required.iter().map(|&at| &layout.fields[at as usize]);
    // SAFETY: as promised to `find_missing`.
    slots.into_iter().find(|slot| unsafe { !is_set(msg, slot) })
}

/// The next message in the field that `level` is at.
unsafe fn next_message(level: &mut Level<'_>, slot: &FieldSlot) -> Option<*const u8> {
    // SAFETY: as promised to `find_missing`; the slot says what its cell holds.
    unsafe {
        let part = parts::part(level.msg, slot.page);
        if part.is_null() || !is_set(level.msg, slot) {
            return None;
        }
        let cell = part.add(slot.offset as usize);
        let at = level.element as usize;
        level.element += 1;
        match slot.storage {
            Storage::List => cell.cast::<ListSlot>().read().elements::<*const u8>().get(at).copied(),
            Storage::Map => {
                let table = cell.cast::<*const MapTable>().read();
                let entry = slot.entry.as_ref()?;
                if at >= (*table).len as usize {
                    return None;
                }
                let value = (*table).entries.add(at * entry.stride as usize + entry.value_offset as usize);
                Some(value.cast::<*const u8>().read())
            }
            _ if at == 0 => Some(cell.cast::<*const u8>().read()),
            _ => None,
        }
    }
}
