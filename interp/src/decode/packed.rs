//! Lists of numbers: packed, and one by one.

use protojit_core::error::DecodeErrorKind;
use protojit_core::memory::list;
use protojit_core::memory::slots::{ListSlot, Storage};
use protojit_core::program::{DecodeOp, DecodeProgram, ValueKind};

use super::DecodeCtx;
use super::cell::{part, store};
use super::field::{number, to_bits};
use super::read::{distance, varint, varint_error};
use super::unknown::{keep, keep_number, length};
use super::varints;

/// One element of a list that came unpacked.
///
/// # Safety
/// As [`decode_field`](super::field::decode_field).
pub(super) unsafe fn element(
    program: &DecodeProgram,
    op: &DecodeOp,
    start: *const u8,
    p: *const u8,
    limit: *const u8,
    msg: *mut u8,
    ctx: &mut DecodeCtx,
) -> *const u8 {
    // SAFETY: as promised to this function; the layout says that the cell is a list of this storage.
    unsafe {
        let (bits, end) = number(op.kind, p, limit, ctx);
        if end.is_null() {
            return end;
        }
        let part = part(program, op, start, msg, ctx);
        if part.is_null() {
            return std::ptr::null();
        }
        let cell = &mut *part.add(op.offset as usize).cast::<ListSlot>();
        let storage = op.kind.storage();
        let width = storage.size() as usize;
        if list::reserve(cell, width, 1, ctx).is_err() {
            return ctx.fail(DecodeErrorKind::MemoryLimit, start);
        }
        // Only now, as in compiled code: the arena's limit is met at the same place.
        if op.kind == ValueKind::ClosedEnum && !program.enums[op.aux as usize].contains(bits as i32) {
            return if keep(program, start, end, msg, ctx) { end } else { std::ptr::null() };
        }
        store(storage, cell.ptr.add(cell.len as usize * width), bits);
        cell.len += 1;
        end
    }
}

/// A packed list of the operation's numbers; `p` is at its length. Returns what [`decode_next`](super::decode_next) returns. For
/// compiled code.
///
/// # Safety
/// As [`decode_next`](super::decode_next); `op` is a list of numbers.
pub unsafe fn decode_packed(
    program: &DecodeProgram,
    op: &DecodeOp,
    p: *const u8,
    limit: *const u8,
    msg: *mut u8,
    ctx: &mut DecodeCtx,
) -> *const u8 {
    // SAFETY: as promised to this function.
    let end = unsafe { packed(program, op, p, limit, msg, ctx) };
    if end.is_null() {
        ctx.note_field(op.number);
    }
    end
}

/// A packed list; `p` is at its length.
///
/// # Safety
/// As [`decode_field`](super::field::decode_field).
#[inline(never)]
pub(super) unsafe fn packed(
    program: &DecodeProgram,
    op: &DecodeOp,
    p: *const u8,
    limit: *const u8,
    msg: *mut u8,
    ctx: &mut DecodeCtx,
) -> *const u8 {
    // SAFETY: as promised to this function; the layout says that the cell is a list of this storage.
    unsafe {
        let (len, from) = length(p, limit, ctx);
        if from.is_null() || len == 0 {
            return from;
        }
        let end = from.add(len);
        let part = part(program, op, p, msg, ctx);
        if part.is_null() {
            return std::ptr::null();
        }
        let cell = part.add(op.offset as usize).cast::<ListSlot>();
        match op.kind {
            ValueKind::Fixed32 => fixed::<4>(cell, p, from, len, ctx),
            ValueKind::Fixed64 => fixed::<8>(cell, p, from, len, ctx),
            ValueKind::ClosedEnum => closed_enums(program, op, cell, from, end, msg, ctx),
            kind => {
                let safe = ctx.safe_from(from);
                let count = varints::count(from, len, safe);
                let width = kind.storage().size() as usize;
                if end.sub(1).read() >= 0x80 {
                    return ctx.fail(DecodeErrorKind::Truncated, last_element(from, end));
                }
                if list::reserve(&mut *cell, width, count, ctx).is_err() {
                    return ctx.fail(DecodeErrorKind::MemoryLimit, p);
                }
                let to = (*cell).ptr.add((*cell).len as usize * width);
                let failed = match kind {
                    ValueKind::Bool => varints::decode::<u8>(from, end, count, to, safe, |value| u8::from(value != 0)),
                    ValueKind::Sint32 => varints::decode::<u32>(from, end, count, to.cast(), safe, |v| {
                        to_bits(ValueKind::Sint32, v) as u32
                    }),
                    ValueKind::Int64 => varints::decode::<u64>(from, end, count, to.cast(), safe, |value| value),
                    ValueKind::Sint64 => {
                        varints::decode::<u64>(from, end, count, to.cast(), safe, |v| to_bits(ValueKind::Sint64, v))
                    }
                    _ => varints::decode::<u32>(from, end, count, to.cast(), safe, |value| value as u32),
                };
                if !failed.is_null() {
                    return ctx.fail(varint_error(failed, end), failed);
                }
                (*cell).len += count as u32;
                end
            }
        }
    }
}

/// Elements of `W` bytes: copied as they are.
unsafe fn fixed<const W: usize>(
    cell: *mut ListSlot,
    p: *const u8,
    from: *const u8,
    len: usize,
    ctx: &mut DecodeCtx,
) -> *const u8 {
    if !len.is_multiple_of(W) {
        return ctx.fail(DecodeErrorKind::PackedLength, p);
    }
    let count = len / W;
    // SAFETY: as promised to `packed`; after `reserve` there is room for `count` more.
    unsafe {
        let list = &mut *cell;
        if list::reserve(list, W, count, ctx).is_err() {
            return ctx.fail(DecodeErrorKind::MemoryLimit, p);
        }
        std::ptr::copy_nonoverlapping(from, list.ptr.add(list.len as usize * W), len);
        list.len += count as u32;
        from.add(len)
    }
}

/// Numbers of a closed enum: those it does not declare become unknown fields.
unsafe fn closed_enums(
    program: &DecodeProgram,
    op: &DecodeOp,
    cell: *mut ListSlot,
    mut p: *const u8,
    end: *const u8,
    msg: *mut u8,
    ctx: &mut DecodeCtx,
) -> *const u8 {
    let known = &program.enums[op.aux as usize];
    // SAFETY: as promised to `packed`.
    unsafe {
        if end.sub(1).read() >= 0x80 {
            return ctx.fail(DecodeErrorKind::Truncated, last_element(p, end));
        }
        let count = varints::count(p, distance(p, end), ctx.safe_from(p));
        if list::reserve(&mut *cell, Storage::Bits32.size() as usize, count, ctx).is_err() {
            return ctx.fail(DecodeErrorKind::MemoryLimit, p);
        }
        while p < end {
            let (value, behind) = varint(p, end);
            if behind.is_null() {
                return ctx.fail(varint_error(p, end), p);
            }
            let value = value as i32;
            if known.contains(value) {
                let list = &mut *cell;
                list.ptr.cast::<i32>().add(list.len as usize).write(value);
                list.len += 1;
            } else if !keep_number(program, op.number, value, p, msg, ctx) {
                return std::ptr::null();
            }
            p = behind;
        }
        end
    }
}

/// Where the varint begins that `end` cuts off.
#[cold]
unsafe fn last_element(from: *const u8, end: *const u8) -> *const u8 {
    let mut at = end;
    // SAFETY: `at` stays behind `from`.
    while at > from && unsafe { at.sub(1).read() } >= 0x80 {
        at = at.wrapping_sub(1);
    }
    at
}
