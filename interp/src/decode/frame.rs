//! The main loop.
//!
//! Fields mostly come in the order of their numbers, so each iteration first compares the bytes at hand with the tag of the
//! operation expected next: then neither is the tag decoded nor the position behind it a function of the input. Otherwise the
//! number is looked up. A single indirect jump on the operation's [`Route`] leads to the code for its kind.
//!
//! The loop ends where the frame does, or at [`DecodeCtx::safe`]: from there on [`decode_next`] goes field by field and reads nothing
//! beyond the limit.

use protojit_core::error::DecodeErrorKind;
use protojit_core::memory::list;
use protojit_core::memory::slots::{ListSlot, StrSlot};
use protojit_core::program::{Access, DecodeOp, DecodeProgram, Route, ValueKind};

use super::cell::{enter, new_message, part, set_hasbit};
use super::field::{decode_field, decode_next, new_element, not_closed, to_bits};
use super::map::entry;
use super::packed::{element, packed};
use super::read::{
    Read, distance, is_beyond, is_utf8_wide, load32, tag_error, tag_wide, varint_error, varint_more, varint_wide,
};
use super::unknown::decode_unknown;
use super::{CLOSED_BY_GROUP, DecodeCtx};
use crate::presence::is_set;

/// Decodes the fields from `p` on into `msg`, which may be partly filled.
///
/// Returns `limit` when the frame ended there. When an end-group tag closed it, the position behind that tag with
/// [`CLOSED_BY_GROUP`] set; the tag's field number is in [`DecodeCtx::end_group`], and the caller compares it with what it
/// opened. Null after an error, which is recorded in `ctx` with the fields it lies in.
///
/// Either way of ending checks the message's required fields and sets [`DecodeCtx::maybe_missing`]. [`DecodeCtx::depth`] is how many
/// levels may be nested below this frame, the same before and after.
///
/// # Safety
/// `msg` is a live message of the program's layout, in the arena of `ctx` or filled from the same input. `p..limit` lies within the
/// input that `ctx` was made for, and `p` is at a tag or at `limit`. Nobody else uses the message or the arena meanwhile.
pub unsafe fn decode_frame(
    program: &DecodeProgram,
    p: *const u8,
    limit: *const u8,
    msg: *mut u8,
    ctx: &mut DecodeCtx,
) -> *const u8 {
    // SAFETY: as promised to this function.
    unsafe {
        let mut p = p;
        if program.first != u32::MAX {
            if !ctx.is_before_tail(p) {
                p = fast(program, p, limit, msg, ctx);
                if is_end(p) {
                    return p;
                }
            }
            if p < limit
                && let Some(moved) = ctx.move_to_tail(p, limit)
            {
                return moved.back(decode_frame(program, moved.p, moved.limit, msg, ctx));
            }
        }
        while p < limit {
            p = decode_next(program, p, limit, msg, ctx);
            if is_end(p) {
                return p;
            }
        }
        finish(program, msg, ctx);
        p
    }
}

/// Whether a position is none: null after an error, or marked as closed by an end-group tag.
#[inline(always)]
fn is_end(p: *const u8) -> bool {
    p.addr() as isize <= 0
}

/// As long as nothing that is loaded can lie beyond the input.
#[inline(always)]
unsafe fn fast(
    program: &DecodeProgram,
    mut p: *const u8,
    limit: *const u8,
    msg: *mut u8,
    ctx: &mut DecodeCtx,
) -> *const u8 {
    let ops = program.ops.as_ptr();
    let end = limit.min(ctx.safe);
    let null = std::ptr::null();
    // SAFETY: as promised to `decode_frame`; below `end` SLACK bytes can be loaded, and each arm loads less behind `start`.
    // Positions in the tables are those of operations.
    unsafe {
        let mut expected = ops.wrapping_add(program.first as usize);
        while p < end {
            let start = p;
            // The table's own pointer beside the reference, since the next operation is reached from it.
            let mut here = expected;
            let mut op = &*here;
            if load32(p) & op.tag_mask == op.tag_bytes {
                p = p.add(op.tag_len as usize);
            } else {
                let (tag, behind) = tag_wide(p);
                if is_beyond(behind, limit) {
                    return ctx.fail(tag_error(p, limit), p);
                }
                p = behind;
                let found = program.numbers.get(tag >> 3).map(|at| ops.add(at as usize));
                match found {
                    Some(other) if tag == (*other).tag => {
                        here = other;
                        op = &*here;
                    }
                    _ => {
                        p = match found {
                            Some(op) => decode_field(program, Some(&*op), tag, start, p, limit, msg, ctx),
                            None => decode_unknown(program, start, limit, msg, ctx),
                        };
                        if is_end(p) {
                            return p;
                        }
                        expected = found.unwrap_or(expected);
                        continue;
                    }
                }
            }
            if p >= limit {
                return at_limit(program, op, start, p, limit, msg, ctx);
            }
            // A branch, not a load: so that the next operation's address does not wait for this one.
            expected = if op.sequential { here.add(1) } else { next(op, ops) };
            macro_rules! cell {
                () => {{
                    let part = match op.access {
                        Access::Plain => msg,
                        Access::Hasbit => set_hasbit(op, msg),
                        Access::Indirect => {
                            let part = enter(program, op, start, msg, ctx);
                            if part.is_null() {
                                return null_at(op, ctx);
                            }
                            part
                        }
                    };
                    part.add(op.offset as usize)
                }};
            }
            macro_rules! text {
                ($checked:literal) => {{
                    let (text, behind) = text_wide($checked, p, limit, ctx);
                    if behind.is_null() {
                        return null_at(op, ctx);
                    }
                    cell!().cast::<StrSlot>().write(text);
                    p = behind;
                }};
            }
            macro_rules! varint {
                () => {{
                    let first = p.read();
                    if first < 0x80 {
                        p = p.add(1);
                        u64::from(first)
                    } else {
                        let (value, behind) = varint_more(p);
                        if is_beyond(behind, limit) {
                            return bad_varint(op, p, limit, ctx);
                        }
                        p = behind;
                        value
                    }
                }};
            }
            macro_rules! open {
                () => {{
                    let Some(child) = op.child.get() else {
                        p = decode_field(program, None, op.tag, start, p, limit, msg, ctx);
                        if is_end(p) {
                            return p;
                        }
                        continue;
                    };
                    let (len, from) = length_wide(p, limit, ctx);
                    if from.is_null() {
                        return null_at(op, ctx);
                    }
                    if ctx.depth == 0 {
                        ctx.fail(DecodeErrorKind::DepthLimit, start);
                        return null_at(op, ctx);
                    }
                    (child, from.add(len), from)
                }};
            }
            macro_rules! descend {
                ($child:ident, $from:ident, $end:ident, $sub:ident) => {{
                    ctx.depth -= 1;
                    p = decode_frame($child, $from, $end, $sub, ctx);
                    if p != $end {
                        not_closed(p, ctx);
                        return null_at(op, ctx);
                    }
                    ctx.depth += 1;
                }};
            }
            match op.route {
                Route::Bool => {
                    let value = varint!();
                    cell!().write(u8::from(value != 0));
                }
                Route::Int32 => {
                    let value = varint!();
                    cell!().cast::<u32>().write(value as u32);
                }
                Route::Sint32 => {
                    let value = varint!();
                    cell!().cast::<u32>().write(to_bits(ValueKind::Sint32, value) as u32);
                }
                Route::Int64 => {
                    let value = varint!();
                    cell!().cast::<u64>().write(value);
                }
                Route::Sint64 => {
                    let value = varint!();
                    cell!().cast::<u64>().write(to_bits(ValueKind::Sint64, value));
                }
                Route::Fixed32 => {
                    if distance(p, limit) < 4 {
                        return cut_off(op, p, ctx);
                    }
                    cell!().cast::<u32>().write(load32(p));
                    p = p.add(4);
                }
                Route::Fixed64 => {
                    if distance(p, limit) < 8 {
                        return cut_off(op, p, ctx);
                    }
                    cell!().cast::<u64>().write(p.cast::<u64>().read_unaligned());
                    p = p.add(8);
                }
                Route::String => text!(true),
                Route::Bytes => text!(false),
                Route::ListString | Route::ListBytes => {
                    p = texts(program, op, start, p, limit, end, msg, ctx);
                    if p.is_null() {
                        return null_at(op, ctx);
                    }
                    expected = here;
                }
                Route::Message => {
                    let (child, child_end, from) = open!();
                    let cell = cell!().cast::<*mut u8>();
                    let mut sub = *cell;
                    if sub.is_null() {
                        sub = new_message(child, start, ctx);
                        if sub.is_null() {
                            return null_at(op, ctx);
                        }
                        *cell = sub;
                    }
                    descend!(child, from, child_end, sub);
                }
                Route::ListMessage => {
                    let (child, child_end, from) = open!();
                    let sub = new_element(program, child, op, start, msg, ctx);
                    if sub.is_null() {
                        return null_at(op, ctx);
                    }
                    expected = here;
                    descend!(child, from, child_end, sub);
                }
                Route::Packed => {
                    p = packed(program, op, p, limit, msg, ctx);
                    if p.is_null() {
                        return null_at(op, ctx);
                    }
                }
                Route::Unpacked => {
                    p = elements(program, op, start, p, limit, end, msg, ctx);
                    if p.is_null() {
                        return null_at(op, ctx);
                    }
                    expected = here;
                }
                Route::Map => {
                    p = entry(program, op, start, p, limit, msg, ctx);
                    if p.is_null() {
                        return null_at(op, ctx);
                    }
                    expected = here;
                }
                Route::General => {
                    p = decode_field(program, Some(op), op.tag, start, p, limit, msg, ctx);
                    if p.is_null() {
                        return null;
                    }
                }
            }
        }
    }
    p
}

/// The operation expected behind one that is not followed by the next in the table.
#[inline(always)]
unsafe fn next(op: &DecodeOp, ops: *const DecodeOp) -> *const DecodeOp {
    // Messages in a row often are equal: behind the last field, the first again.
    if op.next == u32::MAX { ops } else { ops.wrapping_add(op.next as usize) }
}

/// The frame ends where the value of `op` should begin, or inside the tag before it.
#[cold]
#[inline(never)]
unsafe fn at_limit(
    program: &DecodeProgram,
    op: &DecodeOp,
    start: *const u8,
    p: *const u8,
    limit: *const u8,
    msg: *mut u8,
    ctx: &mut DecodeCtx,
) -> *const u8 {
    if p > limit {
        return ctx.fail(DecodeErrorKind::Truncated, start);
    }
    // SAFETY: as promised to `decode_frame`. There is no value without a byte, so this fails, and says how.
    let behind = unsafe { decode_field(program, Some(op), op.tag, start, p, limit, msg, ctx) };
    if is_end(behind) { behind } else { ctx.fail(DecodeErrorKind::Truncated, p) }
}

/// Notes the field that an error lies in.
#[cold]
fn null_at(op: &DecodeOp, ctx: &mut DecodeCtx) -> *const u8 {
    ctx.note_field(op.number);
    std::ptr::null()
}

/// There is no varint at `p`, or the limit cuts it off.
#[cold]
unsafe fn bad_varint(op: &DecodeOp, p: *const u8, limit: *const u8, ctx: &mut DecodeCtx) -> *const u8 {
    // SAFETY: as promised to `decode_frame`.
    let kind = unsafe { varint_error(p, limit) };
    ctx.fail(kind, p);
    null_at(op, ctx)
}

/// The limit cuts the value at `p` off.
#[cold]
fn cut_off(op: &DecodeOp, p: *const u8, ctx: &mut DecodeCtx) -> *const u8 {
    ctx.fail(DecodeErrorKind::Truncated, p);
    null_at(op, ctx)
}

/// A length that the frame has room for, wide; `p` lies before `limit`. Null, with the error recorded, where there is none.
#[inline(always)]
unsafe fn length_wide(p: *const u8, limit: *const u8, ctx: &mut DecodeCtx) -> Read<usize> {
    // SAFETY: as promised to `decode_frame`, with `p` at most a tag behind a position before `end`.
    unsafe {
        let first = p.read();
        let from = p.add(1);
        if first < 0x80 {
            let len = first as usize;
            if len <= limit.addr() - from.addr() {
                return (len, from);
            }
        }
        length_slow(p, limit, ctx)
    }
}

#[inline(never)]
unsafe fn length_slow(p: *const u8, limit: *const u8, ctx: &mut DecodeCtx) -> Read<usize> {
    // SAFETY: as promised to `length_wide`.
    unsafe {
        let (len, from) = varint_wide(p);
        if is_beyond(from, limit) {
            return (0, ctx.fail(varint_error(p, limit), p));
        }
        if len > distance(from, limit) as u64 {
            return (0, ctx.fail(DecodeErrorKind::LengthOutOfBounds, p));
        }
        (len as usize, from)
    }
}

/// A string or bytes value, wide, as a cell that borrows the input. Null, with the error recorded, where there is none.
#[inline(always)]
unsafe fn text_wide(checked: bool, p: *const u8, limit: *const u8, ctx: &mut DecodeCtx) -> (StrSlot, *const u8) {
    // SAFETY: as promised to `length_wide`; from where the text begins 32 bytes can still be loaded.
    unsafe {
        let (len, from) = length_wide(p, limit, ctx);
        let text = StrSlot { ptr: from, len: len as u32, cap: 0 };
        if from.is_null() {
            return (text, from);
        }
        if checked && !is_utf8_wide(from, len) {
            return (text, ctx.fail(DecodeErrorKind::InvalidUtf8, p));
        }
        (text, from.add(len))
    }
}

/// Elements of a list of strings or bytes, as long as the same tag follows.
#[inline(never)]
#[expect(clippy::too_many_arguments, reason = "the state of a frame, in registers")]
unsafe fn texts(
    program: &DecodeProgram,
    op: &DecodeOp,
    mut start: *const u8,
    mut p: *const u8,
    limit: *const u8,
    end: *const u8,
    msg: *mut u8,
    ctx: &mut DecodeCtx,
) -> *const u8 {
    // SAFETY: as promised to `decode_frame`; the layout says that the cell is a list of this storage.
    unsafe {
        let part = part(program, op, start, msg, ctx);
        if part.is_null() {
            return part;
        }
        let cell = &mut *part.add(op.offset as usize).cast::<ListSlot>();
        loop {
            let (text, behind) = text_wide(op.route == Route::ListString, p, limit, ctx);
            if behind.is_null() {
                return behind;
            }
            if list::push(cell, text, ctx).is_err() {
                return ctx.fail(DecodeErrorKind::MemoryLimit, start);
            }
            match again(op, behind, limit, end) {
                Some(next) => (start, p) = (behind, next),
                None => return behind,
            }
        }
    }
}

/// Elements of a list of numbers that came unpacked, as long as the same tag follows.
#[inline(never)]
#[expect(clippy::too_many_arguments, reason = "the state of a frame, in registers")]
unsafe fn elements(
    program: &DecodeProgram,
    op: &DecodeOp,
    mut start: *const u8,
    mut p: *const u8,
    limit: *const u8,
    end: *const u8,
    msg: *mut u8,
    ctx: &mut DecodeCtx,
) -> *const u8 {
    // SAFETY: as promised to `decode_frame`.
    unsafe {
        loop {
            let behind = element(program, op, start, p, limit, msg, ctx);
            if behind.is_null() {
                return behind;
            }
            match again(op, behind, limit, end) {
                Some(next) => (start, p) = (behind, next),
                None => return behind,
            }
        }
    }
}

/// The position behind `op`'s tag where that tag follows once more.
///
/// # Safety
/// As [`decode_frame`].
#[inline(always)]
unsafe fn again(op: &DecodeOp, p: *const u8, limit: *const u8, end: *const u8) -> Option<*const u8> {
    // SAFETY: below `end` four bytes can be loaded.
    if p < end && unsafe { load32(p) } & op.tag_mask == op.tag_bytes {
        let next = p.wrapping_add(op.tag_len as usize);
        return (next < limit).then_some(next);
    }
    None
}

/// The end-group tag `tag`, read at `start`, ends the frame. Gives what [`decode_frame`] returns.
///
/// # Safety
/// `msg` is a live message of the program's layout.
pub(super) unsafe fn close(
    program: &DecodeProgram,
    tag: u32,
    start: *const u8,
    behind: *const u8,
    msg: *mut u8,
    ctx: &mut DecodeCtx,
) -> *const u8 {
    if tag >> 3 == 0 {
        return ctx.fail(DecodeErrorKind::InvalidTag, start);
    }
    ctx.end_group = tag >> 3;
    ctx.end_group_at = ctx.in_input(start);
    // SAFETY: the caller's promise.
    unsafe { finish(program, msg, ctx) };
    behind.map_addr(|at| at | CLOSED_BY_GROUP)
}

/// What every frame does when it ends: sets [`DecodeCtx::maybe_missing`] where a required field is missing.
///
/// # Safety
/// `msg` is a live message of the program's layout.
#[inline(always)]
pub unsafe fn finish(program: &DecodeProgram, msg: *const u8, ctx: &mut DecodeCtx) {
    if !program.required.is_empty() {
        // SAFETY: the caller's promise.
        unsafe { finish_required(program, msg, ctx) };
    }
}

#[inline(never)]
unsafe fn finish_required(program: &DecodeProgram, msg: *const u8, ctx: &mut DecodeCtx) {
    let mut checked = 0;
    for word in &program.required_bits {
        // SAFETY: the caller's promise: the layout has a presence word there.
        let bits = unsafe { msg.add(word.offset as usize).cast::<u32>().read() };
        if bits & word.mask != word.mask {
            ctx.maybe_missing = 1;
            return;
        }
        checked += word.mask.count_ones() as usize;
    }
    if checked == program.required.len() {
        return;
    }
    // Messages, and what lies on cold pages.
    let Some(layout) = program.layout.get() else { return };
    for &at in &program.required {
        // SAFETY: the caller's promise.
        if !unsafe { is_set(msg, &layout.fields[at as usize]) } {
            ctx.maybe_missing = 1;
            return;
        }
    }
}
