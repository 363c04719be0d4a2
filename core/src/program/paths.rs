//! Ways from a message down to one below it.

use std::sync::{Arc, Mutex, PoisonError};

use crate::memory::parts;

use super::layout::{FieldSlot, Layout, SlotPresence};
use super::ops::NO_CASE;
use super::unit::Child;

/// One step: the pointer cell of a singular message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hop {
    /// The number of the field.
    pub number: u32,
    /// Offset of the cell from the start of its part.
    pub offset: u32,
    /// Offset of the oneof's case word, else [`NO_CASE`].
    pub case_offset: u32,
    /// 0 for the message itself, else the cold page, counted from 1.
    pub page: u16,
}

/// A way through singular messages. Owned by the layout that it begins at.
#[derive(Debug)]
pub struct Path {
    hops: Box<[Hop]>,
    end: Child<Layout>,
}

impl Path {
    /// The steps.
    pub fn hops(&self) -> &[Hop] {
        &self.hops
    }

    /// The layout of the message at the end.
    pub fn end(&self) -> &Layout {
        self.end.get().expect("a path ends at a message")
    }

    /// The message at the end, null where one on the way is not set.
    ///
    /// # Safety
    /// `message` is a live message of the layout that owns the path.
    pub unsafe fn follow(&self, mut message: *const u8) -> *const u8 {
        for hop in &self.hops {
            // SAFETY: every hop was made of a slot of the layout of the message before it.
            unsafe {
                let part = parts::part(message, hop.page);
                if part.is_null()
                    || hop.case_offset != NO_CASE
                        && part.add(hop.case_offset as usize).cast::<u32>().read() != hop.number
                {
                    return std::ptr::null();
                }
                message = part.add(hop.offset as usize).cast::<*const u8>().read();
            }
            if message.is_null() {
                break;
            }
        }
        message
    }
}

/// The paths that were asked for at one layout, each once.
#[derive(Debug, Default)]
pub(super) struct Paths(Mutex<Vec<Arc<Path>>>);

impl Layout {
    /// The path through these slots: each is a singular message, of the layout that the one before it leads to.
    /// `None` where that is not so, and for no slots at all.
    pub fn path(&self, slots: &[&FieldSlot]) -> Option<&Path> {
        let (mut end, mut hops) = (self, Vec::with_capacity(slots.len()));
        for &slot in slots {
            if !end.fields.as_ptr_range().contains(&(&raw const *slot)) || !slot.is_singular() {
                return None;
            }
            let case_offset = match slot.presence {
                SlotPresence::Case { offset } => offset,
                _ => NO_CASE,
            };
            hops.push(Hop { number: slot.number, offset: slot.offset, case_offset, page: slot.page });
            end = slot.child.get()?;
        }
        if hops.is_empty() {
            return None;
        }
        let mut paths = self.paths.0.lock().unwrap_or_else(PoisonError::into_inner);
        let path = match paths.iter().find(|path| *path.hops == *hops) {
            Some(path) => Arc::as_ptr(path),
            None => {
                paths.push(Arc::new(Path { hops: hops.into(), end: Child::below(end) }));
                Arc::as_ptr(&paths[paths.len() - 1])
            }
        };
        // SAFETY: paths do not move, are never changed, and dropped with the layout only.
        Some(unsafe { &*path })
    }
}
