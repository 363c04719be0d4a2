//! Cells: presence, oneofs, and the values stored in them.

use protojit_core::error::DecodeErrorKind;
use protojit_core::memory::alloc::Alloc;
use protojit_core::memory::parts;
use protojit_core::memory::slots::Storage;
use protojit_core::program::{DecodeOp, DecodeProgram, NO_CASE};

use super::DecodeCtx;

/// The part that `op`'s cell lies in, with its field marked as set: the page made if need be, the case of a oneof switched. Null,
/// with the error recorded at `start`, where the arena is full.
///
/// A oneof that is switched gives the member a zeroed cell *before* the case names it: a message that another member pointed to
/// is never followed, nor the string of another one read, even where the decode ends right here.
///
/// # Safety
/// `msg` is a live message of the program's layout, and `op` one of its operations.
#[inline(never)]
pub(super) unsafe fn enter(
    program: &DecodeProgram,
    op: &DecodeOp,
    start: *const u8,
    msg: *mut u8,
    ctx: &mut DecodeCtx,
) -> *mut u8 {
    // SAFETY: as promised to this function; presence words lie in the cell's part, and a oneof's cell is as wide as its
    // widest member.
    unsafe {
        let part = part(program, op, start, msg, ctx);
        if part.is_null() {
            return part;
        }
        if op.hasbit.mask != 0 {
            *part.add(op.hasbit.offset as usize).cast::<u32>() |= op.hasbit.mask;
        }
        if op.case_offset != NO_CASE {
            let case = part.add(op.case_offset as usize).cast::<u32>();
            if *case != op.number {
                clear(op.kind.storage(), part.add(op.offset as usize));
                *case = op.number;
            }
        }
        part
    }
}

/// The part that `op`'s cell lies in. Null, with the error recorded at `start`, where the arena is full.
///
/// # Safety
/// As [`enter`].
#[inline(always)]
pub(super) unsafe fn part(
    program: &DecodeProgram,
    op: &DecodeOp,
    start: *const u8,
    msg: *mut u8,
    ctx: &mut DecodeCtx,
) -> *mut u8 {
    if op.page == 0 {
        return msg;
    }
    // SAFETY: the caller's promise: the program's layout is the message's.
    let part = program.layout.get().map(|layout| unsafe { parts::part_mut(msg, layout, op.page, ctx) });
    match part {
        Some(Ok(part)) => part,
        _ => {
            ctx.fail(DecodeErrorKind::MemoryLimit, start);
            std::ptr::null_mut()
        }
    }
}

/// Sets the presence bit of an operation whose access is [`Hasbit`](protojit_core::program::Access::Hasbit), and gives the part.
///
/// # Safety
/// As [`enter`].
#[inline(always)]
pub(super) unsafe fn set_hasbit(op: &DecodeOp, msg: *mut u8) -> *mut u8 {
    // SAFETY: the caller's promise: the layout put the presence word into the message.
    unsafe { *msg.add(op.hasbit.offset as usize).cast::<u32>() |= op.hasbit.mask };
    msg
}

/// Zeroes a cell.
///
/// # Safety
/// `cell` is a cell of that storage.
#[inline(always)]
unsafe fn clear(storage: Storage, cell: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe {
        match storage {
            Storage::Str => cell.write_bytes(0, 16),
            storage => store(storage, cell, 0),
        }
    }
}

/// Writes a number.
///
/// # Safety
/// `cell` is a cell of that storage.
#[inline(always)]
pub(super) unsafe fn store(storage: Storage, cell: *mut u8, bits: u64) {
    // SAFETY: the caller's promise; cells are aligned.
    unsafe {
        match storage {
            Storage::Bool => cell.write(bits as u8),
            Storage::Bits32 => cell.cast::<u32>().write(bits as u32),
            _ => cell.cast::<u64>().write(bits),
        }
    }
}

/// A zeroed message for a program. Null, with the error recorded at `start`, where the arena is full.
#[inline(always)]
pub(super) fn new_message(program: &DecodeProgram, start: *const u8, ctx: &mut DecodeCtx) -> *mut u8 {
    let size = program.size as usize;
    let at = ctx.bump.at;
    // Both ends and the size are multiples of eight.
    if ctx.bump.end.addr() - at.addr() < size {
        return new_message_slow(program, start, ctx);
    }
    ctx.bump.at = at.wrapping_add(size);
    // SAFETY: `size` bytes of the arena that nobody else has.
    unsafe { zero(at, size) };
    at
}

#[cold]
#[inline(never)]
fn new_message_slow(program: &DecodeProgram, start: *const u8, ctx: &mut DecodeCtx) -> *mut u8 {
    let size = program.size as usize;
    match ctx.alloc(size) {
        Ok(at) => {
            // SAFETY: `alloc` gave `size` bytes.
            unsafe { zero(at, size) };
            at
        }
        Err(_) => {
            ctx.fail(DecodeErrorKind::MemoryLimit, start);
            std::ptr::null_mut()
        }
    }
}

/// Zeroes `size` bytes, at least 8 and a multiple of it. Most messages are small: two stores that overlap do for a range of
/// sizes, without a call.
///
/// # Safety
/// They are writable.
#[inline(always)]
pub(super) unsafe fn zero(at: *mut u8, size: usize) {
    // SAFETY: the caller's promise; in each arm both stores lie inside.
    unsafe {
        let both = |half: usize| (at, at.add(size - half));
        match size {
            8..=16 => {
                let (low, high) = both(8);
                low.write_bytes(0, 8);
                high.write_bytes(0, 8);
            }
            17..=32 => {
                let (low, high) = both(16);
                low.write_bytes(0, 16);
                high.write_bytes(0, 16);
            }
            33..=64 => {
                let (low, high) = both(32);
                low.write_bytes(0, 32);
                high.write_bytes(0, 32);
            }
            65..=128 => {
                let (low, high) = both(64);
                low.write_bytes(0, 64);
                high.write_bytes(0, 64);
            }
            _ => at.write_bytes(0, size),
        }
    }
}
