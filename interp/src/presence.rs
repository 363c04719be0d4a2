//! Which fields of a message in memory are set.

use protojit_core::memory::parts;
use protojit_core::memory::slots::{ListSlot, Storage, StrSlot};
use protojit_core::program::{FieldSlot, SlotPresence};

/// Whether a field is set; lists and maps where they are not empty.
///
/// # Safety
/// `msg` is a live message whose layout has this slot.
pub unsafe fn is_set(msg: *const u8, slot: &FieldSlot) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        let part = parts::part(msg, slot.page);
        !part.is_null() && is_set_in(part, slot.presence, slot.offset, slot.number, slot.storage)
    }
}

/// As [`is_set`], in the part that the field lies in.
///
/// # Safety
/// `part` is the part of a live message that a field of these properties lies in.
#[inline(always)]
pub(crate) unsafe fn is_set_in(
    part: *const u8,
    presence: SlotPresence,
    offset: u32,
    number: u32,
    storage: Storage,
) -> bool {
    // SAFETY: the caller's promise; presence words and cells are aligned.
    unsafe {
        let cell = part.add(offset as usize);
        match presence {
            SlotPresence::Hasbit { offset, mask } => part.add(offset as usize).cast::<u32>().read() & mask != 0,
            SlotPresence::Case { offset } => part.add(offset as usize).cast::<u32>().read() == number,
            SlotPresence::Pointer => !cell.cast::<*const u8>().read().is_null(),
            SlotPresence::NonZero => match storage {
                Storage::Bool => cell.read() != 0,
                Storage::Bits32 => cell.cast::<u32>().read() != 0,
                Storage::Bits64 => cell.cast::<u64>().read() != 0,
                _ => cell.cast::<StrSlot>().read().len != 0,
            },
            SlotPresence::NonEmpty => match storage {
                Storage::Map => {
                    let table = cell.cast::<*const protojit_core::memory::map::MapTable>().read();
                    !table.is_null() && (*table).len != 0
                }
                _ => cell.cast::<ListSlot>().read().len != 0,
            },
        }
    }
}
