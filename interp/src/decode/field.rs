//! One field, whatever it is: every rule, no hurry. The main loop and compiled code leave to it what they do not do themselves.

use protojit_core::error::DecodeErrorKind;
use protojit_core::memory::list;
use protojit_core::memory::slots::{ListSlot, StrSlot};
use protojit_core::program::{Cardinality, DecodeOp, DecodeProgram, ValueKind};
use protojit_core::wire::WireType;

use super::cell::{enter, new_message, part, store};
use super::frame::{close, decode_frame};
use super::map::entry;
use super::message_set::{ITEM, item};
use super::packed::{element, packed};
use super::read::{Read, distance, is_utf8, tag, tag_error, varint, varint_error};
use super::unknown::{keep, length, unknown_field};
use super::{CLOSED_BY_GROUP, DecodeCtx};

/// Reads a tag at `p` and the field behind it.
///
/// Returns the position behind the field, at most `limit`, or null after an error, which is recorded in `ctx` then; for an end-group
/// tag what [`decode_frame`] returns then.
///
/// # Safety
/// As [`decode_frame`], with `p` before `limit`.
pub unsafe fn decode_next(
    program: &DecodeProgram,
    p: *const u8,
    limit: *const u8,
    msg: *mut u8,
    ctx: &mut DecodeCtx,
) -> *const u8 {
    // SAFETY: as promised to this function.
    unsafe {
        let (tag, behind) = tag(p, limit);
        if behind.is_null() {
            return ctx.fail(tag_error(p, limit), p);
        }
        decode_field(program, program.op(tag >> 3), tag, p, behind, limit, msg, ctx)
    }
}

/// Decodes one field whose tag `tag` was read at `start`; `p` is behind the tag. `op` is the operation of its number, `None`
/// where the program has none.
///
/// Returns the position behind the field, at most `limit`, or null after an error, which is recorded in `ctx` then. An
/// end-group tag closes the frame: the return value is that of [`decode_frame`] then.
///
/// # Safety
/// As [`decode_frame`]; `op` is one of the program's operations, and `start <= p <= limit`.
#[expect(clippy::too_many_arguments, reason = "the state of a frame, in registers")]
pub(super) unsafe fn decode_field(
    program: &DecodeProgram,
    op: Option<&DecodeOp>,
    tag: u32,
    start: *const u8,
    p: *const u8,
    limit: *const u8,
    msg: *mut u8,
    ctx: &mut DecodeCtx,
) -> *const u8 {
    const LEN: u32 = WireType::Len as u32;
    // SAFETY: as promised to this function.
    unsafe {
        let wire = tag & 7;
        if let Some(op) = op {
            let end = match op.cardinality {
                Cardinality::Singular if wire == op.kind.wire_type() as u32 => {
                    value(program, op, start, p, limit, msg, ctx)
                }
                Cardinality::List if op.kind.is_packable() && wire == LEN => packed(program, op, p, limit, msg, ctx),
                Cardinality::List if wire == op.kind.wire_type() as u32 => {
                    if op.kind.is_packable() {
                        element(program, op, start, p, limit, msg, ctx)
                    } else {
                        value(program, op, start, p, limit, msg, ctx)
                    }
                }
                Cardinality::Map if wire == LEN => entry(program, op, start, p, limit, msg, ctx),
                _ => return other(program, tag, start, p, limit, msg, ctx),
            };
            if end.is_null() {
                ctx.note_field(op.number);
            }
            return end;
        }
        other(program, tag, start, p, limit, msg, ctx)
    }
}

/// What no operation takes.
unsafe fn other(
    program: &DecodeProgram,
    tag: u32,
    start: *const u8,
    p: *const u8,
    limit: *const u8,
    msg: *mut u8,
    ctx: &mut DecodeCtx,
) -> *const u8 {
    // SAFETY: as promised to `decode_field`.
    unsafe {
        if tag & 7 == WireType::EndGroup as u32 {
            return close(program, tag, start, p, msg, ctx);
        }
        if program.message_set && tag == ITEM {
            return item(program, start, p, limit, msg, ctx);
        }
        unknown_field(program, tag, start, p, limit, msg, ctx)
    }
}

/// A singular value, or an element that is no number.
unsafe fn value(
    program: &DecodeProgram,
    op: &DecodeOp,
    start: *const u8,
    p: *const u8,
    limit: *const u8,
    msg: *mut u8,
    ctx: &mut DecodeCtx,
) -> *const u8 {
    let null = std::ptr::null();
    let is_list = op.cardinality == Cardinality::List;
    // SAFETY: as promised to `decode_field`; the layout says what the cell holds.
    unsafe {
        match op.kind {
            ValueKind::String | ValueKind::Bytes => {
                let (text, end) = text(op.kind, p, limit, ctx);
                if end.is_null() {
                    return null;
                }
                let part = enter(program, op, start, msg, ctx);
                if part.is_null() {
                    return null;
                }
                let cell = part.add(op.offset as usize);
                if !is_list {
                    cell.cast::<StrSlot>().write(text);
                } else if list::push(&mut *cell.cast::<ListSlot>(), text, ctx).is_err() {
                    return ctx.fail(DecodeErrorKind::MemoryLimit, start);
                }
                end
            }
            ValueKind::Message => {
                let (len, from) = length(p, limit, ctx);
                if from.is_null() {
                    return null;
                }
                if !program.message_set {
                    return message(program, op, start, from, from.add(len), msg, ctx);
                }
                // It counts like the item that it is when it is written again: else what was read at the limit could not be read
                // once more.
                let Some(depth) = ctx.depth.checked_sub(1) else {
                    return ctx.fail(DecodeErrorKind::DepthLimit, start);
                };
                ctx.depth = depth;
                let end = message(program, op, start, from, from.add(len), msg, ctx);
                ctx.depth = depth + 1;
                end
            }
            ValueKind::Group => {
                let Some(child) = op.child.get() else {
                    return unknown_field(program, group_tag(op), start, p, limit, msg, ctx);
                };
                let sub = sub_message(program, child, op, start, msg, ctx);
                if sub.is_null() {
                    return null;
                }
                group(child, op.number, start, p, limit, sub, ctx)
            }
            kind => {
                let (bits, end) = number(kind, p, limit, ctx);
                if end.is_null() {
                    return null;
                }
                if kind == ValueKind::ClosedEnum && !program.enums[op.aux as usize].contains(bits as i32) {
                    return if keep(program, start, end, msg, ctx) { end } else { null };
                }
                let part = enter(program, op, start, msg, ctx);
                if part.is_null() {
                    return null;
                }
                store(kind.storage(), part.add(op.offset as usize), bits);
                end
            }
        }
    }
}

fn group_tag(op: &DecodeOp) -> u32 {
    protojit_core::wire::tag(op.number, WireType::StartGroup)
}

/// A new message at the end of `op`'s list. Null, with the error recorded, where the arena is full.
///
/// # Safety
/// As [`decode_field`].
#[inline(always)]
pub(super) unsafe fn new_element(
    program: &DecodeProgram,
    child: &DecodeProgram,
    op: &DecodeOp,
    start: *const u8,
    msg: *mut u8,
    ctx: &mut DecodeCtx,
) -> *mut u8 {
    // SAFETY: as promised to this function; the layout says what the cell holds.
    unsafe {
        let part = part(program, op, start, msg, ctx);
        if part.is_null() {
            return part;
        }
        // First the room, then the message, as compiled code does it: the arena's limit is met at the same place.
        let list = &mut *part.add(op.offset as usize).cast::<ListSlot>();
        if list::reserve(list, size_of::<*mut u8>(), 1, ctx).is_err() {
            ctx.fail(DecodeErrorKind::MemoryLimit, start);
            return std::ptr::null_mut();
        }
        let sub = new_message(child, start, ctx);
        if !sub.is_null() {
            list.ptr.cast::<*mut u8>().add(list.len as usize).write(sub);
            list.len += 1;
        }
        sub
    }
}

/// The message in `op`'s cell, made where there is none; a new one at the end of a list.
///
/// # Safety
/// As [`decode_field`].
unsafe fn sub_message(
    program: &DecodeProgram,
    child: &DecodeProgram,
    op: &DecodeOp,
    start: *const u8,
    msg: *mut u8,
    ctx: &mut DecodeCtx,
) -> *mut u8 {
    // SAFETY: as promised to this function; the layout says what the cell holds.
    unsafe {
        if op.cardinality == Cardinality::List {
            return new_element(program, child, op, start, msg, ctx);
        }
        let part = enter(program, op, start, msg, ctx);
        if part.is_null() {
            return part;
        }
        let cell = part.add(op.offset as usize).cast::<*mut u8>();
        if (*cell).is_null() {
            let sub = new_message(child, start, ctx);
            if sub.is_null() {
                return sub;
            }
            *cell = sub;
        }
        *cell
    }
}

/// The message from `from` to `end`, into `op`'s cell.
///
/// # Safety
/// As [`decode_field`]; `end` is at most the frame's limit.
pub(super) unsafe fn message(
    program: &DecodeProgram,
    op: &DecodeOp,
    start: *const u8,
    from: *const u8,
    end: *const u8,
    msg: *mut u8,
    ctx: &mut DecodeCtx,
) -> *const u8 {
    // SAFETY: as promised to this function.
    unsafe {
        let Some(child) = op.child.get() else {
            return if keep(program, start, end, msg, ctx) { end } else { std::ptr::null() };
        };
        let sub = sub_message(program, child, op, start, msg, ctx);
        if sub.is_null() {
            return std::ptr::null();
        }
        nested(child, start, from, end, sub, ctx)
    }
}

/// The length-prefixed message from `from` to `end`, into `sub`, one level down.
///
/// # Safety
/// As [`decode_frame`].
pub(super) unsafe fn nested(
    child: &DecodeProgram,
    start: *const u8,
    from: *const u8,
    end: *const u8,
    sub: *mut u8,
    ctx: &mut DecodeCtx,
) -> *const u8 {
    let Some(depth) = ctx.depth.checked_sub(1) else {
        return ctx.fail(DecodeErrorKind::DepthLimit, start);
    };
    ctx.depth = depth;
    // SAFETY: as promised to this function.
    let behind = unsafe { decode_frame(child, from, end, sub, ctx) };
    if behind != end {
        return not_closed(behind, ctx);
    }
    ctx.depth = depth + 1;
    behind
}

/// A length-prefixed frame did not end at its limit: it failed, or an end-group tag stood in it.
#[cold]
pub(super) fn not_closed(behind: *const u8, ctx: &mut DecodeCtx) -> *const u8 {
    if behind.is_null() { behind } else { ctx.fail(DecodeErrorKind::UnmatchedEndGroup, ctx.end_group_at) }
}

/// The group whose tag was read at `start`, into `sub`, one level down.
///
/// # Safety
/// As [`decode_frame`].
pub(super) unsafe fn group(
    child: &DecodeProgram,
    number: u32,
    start: *const u8,
    p: *const u8,
    limit: *const u8,
    sub: *mut u8,
    ctx: &mut DecodeCtx,
) -> *const u8 {
    let Some(depth) = ctx.depth.checked_sub(1) else {
        return ctx.fail(DecodeErrorKind::DepthLimit, start);
    };
    ctx.depth = depth;
    // SAFETY: as promised to `decode_field`.
    let behind = unsafe { decode_frame(child, p, limit, sub, ctx) };
    if behind.is_null() {
        return behind;
    }
    if behind.addr() & CLOSED_BY_GROUP == 0 {
        return ctx.fail(DecodeErrorKind::UnclosedGroup, start);
    }
    if ctx.end_group != number {
        return ctx.fail(DecodeErrorKind::UnmatchedEndGroup, ctx.end_group_at);
    }
    ctx.depth = depth + 1;
    behind.map_addr(|at| at & !CLOSED_BY_GROUP)
}

/// A length-prefixed string or bytes value, as a cell that borrows the input. Null, with the error recorded, where there
/// is none.
///
/// # Safety
/// All bytes from `p` to `limit` are readable.
pub(super) unsafe fn text(
    kind: ValueKind,
    p: *const u8,
    limit: *const u8,
    ctx: &mut DecodeCtx,
) -> (StrSlot, *const u8) {
    const NONE: StrSlot = StrSlot { ptr: std::ptr::null(), len: 0, cap: 0 };
    // SAFETY: as promised to this function.
    unsafe {
        let (len, from) = length(p, limit, ctx);
        if from.is_null() {
            return (NONE, from);
        }
        if kind == ValueKind::String && !is_utf8(from, len) {
            return (NONE, ctx.fail(DecodeErrorKind::InvalidUtf8, p));
        }
        (StrSlot { ptr: from, len: len as u32, cap: 0 }, from.add(len))
    }
}

/// A number, as the bits that are stored, and the position behind it. Null, with the error recorded, where there is none.
///
/// # Safety
/// All bytes from `p` to `limit` are readable.
#[inline]
pub(super) unsafe fn number(kind: ValueKind, p: *const u8, limit: *const u8, ctx: &mut DecodeCtx) -> Read<u64> {
    // SAFETY: as promised to this function.
    unsafe {
        let width = match kind {
            ValueKind::Fixed32 => 4,
            ValueKind::Fixed64 => 8,
            _ => {
                let (value, end) = varint(p, limit);
                if end.is_null() {
                    return (0, ctx.fail(varint_error(p, limit), p));
                }
                return (to_bits(kind, value), end);
            }
        };
        if distance(p, limit) < width {
            return (0, ctx.fail(DecodeErrorKind::Truncated, p));
        }
        let bits = match width {
            4 => u64::from(p.cast::<u32>().read_unaligned()),
            _ => p.cast::<u64>().read_unaligned(),
        };
        (bits, p.add(width))
    }
}

/// What is stored for a varint of this kind: zero-extended from the storage's width.
#[inline(always)]
pub(super) const fn to_bits(kind: ValueKind, value: u64) -> u64 {
    match kind {
        ValueKind::Bool => (value != 0) as u64,
        ValueKind::Int32 | ValueKind::Uint32 | ValueKind::ClosedEnum => value as u32 as u64,
        // Cut first: the sign is in the lowest bit.
        ValueKind::Sint32 => ((value as u32 >> 1) ^ (value as u32 & 1).wrapping_neg()) as u64,
        ValueKind::Sint64 => (value >> 1) ^ (value & 1).wrapping_neg(),
        _ => value,
    }
}
