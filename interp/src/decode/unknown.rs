//! What no operation takes: skipped, and kept as it came.

use protojit_core::error::DecodeErrorKind;
use protojit_core::memory::{ArenaFull, parts, unknown};
use protojit_core::program::DecodeProgram;
use protojit_core::wire::{MAX_VARINT_LEN, WireType, tag as make_tag, write_varint};

use super::DecodeCtx;
use super::field::decode_next;
use super::read::{distance, is_beyond, tag, tag_error, tag_wide, varint, varint_error, varint_wide};

/// One field, whatever it is, or all the fields from `p` on that the program does not know, which are kept as one run.
///
/// Returns what [`decode_next`] returns. For the slow exits of compiled code.
///
/// # Safety
/// As [`decode_next`].
pub unsafe fn decode_unknown(
    program: &DecodeProgram,
    p: *const u8,
    limit: *const u8,
    msg: *mut u8,
    ctx: &mut DecodeCtx,
) -> *const u8 {
    // SAFETY: as promised to this function.
    unsafe {
        let behind = if program.message_set { p } else { skip_run(program, p, limit, ctx) };
        if behind == p {
            return decode_next(program, p, limit, msg, ctx);
        }
        if keep_run(program, p, behind, msg, ctx) { behind } else { std::ptr::null() }
    }
}

/// The end of the run of plain unknown fields (no groups) that begins at `p`, each of them whole and counted. Ends early, perhaps
/// at `p`, where a field is anything else, or needs a closer look.
///
/// # Safety
/// As [`decode_next`].
#[inline]
unsafe fn skip_run(program: &DecodeProgram, mut p: *const u8, limit: *const u8, ctx: &mut DecodeCtx) -> *const u8 {
    let safe = limit.min(ctx.safe_from(p));
    // SAFETY: as promised to this function; below `safe` SLACK bytes are readable.
    unsafe {
        while p < safe {
            let (tag, behind) = tag_wide(p);
            if behind.is_null() || tag < 8 || program.op(tag >> 3).is_some() {
                break;
            }
            let end = match tag & 7 {
                VARINT => varint_wide(behind).1,
                LEN => {
                    let (len, from) = varint_wide(behind);
                    let fits = !from.is_null() && from <= limit && len <= distance(from, limit) as u64;
                    if fits { from.add(len as usize) } else { std::ptr::null() }
                }
                FIXED64 => behind.add(8),
                FIXED32 => behind.add(4),
                _ => break,
            };
            if is_beyond(end, limit) || (program.options.keep_unknown && !count(distance(p, end), ctx)) {
                break;
            }
            p = end;
        }
    }
    p
}

const VARINT: u32 = WireType::Varint as u32;
const LEN: u32 = WireType::Len as u32;
const FIXED64: u32 = WireType::Fixed64 as u32;
const FIXED32: u32 = WireType::Fixed32 as u32;

/// Skips the field whose tag `tag` was read at `start` and keeps its bytes. Gives the position behind it, or null.
///
/// # Safety
/// As [`decode_field`](super::field::decode_field).
#[inline(never)]
pub(super) unsafe fn unknown_field(
    program: &DecodeProgram,
    tag: u32,
    start: *const u8,
    p: *const u8,
    limit: *const u8,
    msg: *mut u8,
    ctx: &mut DecodeCtx,
) -> *const u8 {
    // SAFETY: as promised to this function; `start..end` was read.
    unsafe {
        let end = skip(tag, start, p, limit, ctx);
        if end.is_null() || keep(program, start, end, msg, ctx) { end } else { std::ptr::null() }
    }
}

/// Keeps the wire bytes of one field, if the program keeps any. False, with the error recorded, where a limit is reached.
///
/// # Safety
/// `msg` is a live message of the program's layout; `start..end` are bytes of the input.
pub(super) unsafe fn keep(
    program: &DecodeProgram,
    start: *const u8,
    end: *const u8,
    msg: *mut u8,
    ctx: &mut DecodeCtx,
) -> bool {
    let bytes = distance(start, end);
    if !program.options.keep_unknown {
        return true;
    }
    if !count(bytes, ctx) {
        ctx.fail(DecodeErrorKind::UnknownFieldLimit, start);
        return false;
    }
    // SAFETY: as promised to this function.
    unsafe { keep_run(program, start, end, msg, ctx) }
}

/// As [`keep`], for fields that were counted.
unsafe fn keep_run(
    program: &DecodeProgram,
    start: *const u8,
    end: *const u8,
    msg: *mut u8,
    ctx: &mut DecodeCtx,
) -> bool {
    let Some(layout) = program.layout.get().filter(|_| program.options.keep_unknown) else { return true };
    // SAFETY: as promised to `keep`.
    let kept = unsafe {
        parts::unknown_mut(msg, layout, ctx)
            .and_then(|runs| unknown::push_run(&mut *runs, start, distance(start, end), ctx))
    };
    full(kept, start, ctx)
}

/// Keeps a number that its closed enum does not declare and that came packed, as a field of its own. False, with the error
/// recorded, where a limit is reached.
///
/// # Safety
/// `msg` is a live message of the program's layout.
pub(super) unsafe fn keep_number(
    program: &DecodeProgram,
    number: u32,
    value: i32,
    at: *const u8,
    msg: *mut u8,
    ctx: &mut DecodeCtx,
) -> bool {
    if !program.options.keep_unknown {
        return true;
    }
    let mut bytes = [0; 2 * MAX_VARINT_LEN];
    let mut part = [0; MAX_VARINT_LEN];
    let tag_len = write_varint(make_tag(number, WireType::Varint).into(), &mut part);
    bytes[..tag_len].copy_from_slice(&part[..tag_len]);
    let value_len = write_varint(i64::from(value) as u64, &mut part);
    bytes[tag_len..tag_len + value_len].copy_from_slice(&part[..value_len]);
    let bytes = &bytes[..tag_len + value_len];
    if !count(bytes.len(), ctx) {
        ctx.fail(DecodeErrorKind::UnknownFieldLimit, at);
        return false;
    }
    let Some(layout) = program.layout.get() else { return true };
    // SAFETY: the caller's promise.
    let kept =
        unsafe { parts::unknown_mut(msg, layout, ctx).and_then(|runs| unknown::push_copied(&mut *runs, bytes, ctx)) };
    full(kept, at, ctx)
}

/// Takes one unknown field of that many bytes off the limits.
fn count(bytes: usize, ctx: &mut DecodeCtx) -> bool {
    match (ctx.unknown_fields_left.checked_sub(1), ctx.unknown_bytes_left.checked_sub(bytes)) {
        (Some(fields), Some(bytes)) => {
            (ctx.unknown_fields_left, ctx.unknown_bytes_left) = (fields, bytes);
            true
        }
        _ => false,
    }
}

fn full(result: Result<(), ArenaFull>, at: *const u8, ctx: &mut DecodeCtx) -> bool {
    if result.is_err() {
        ctx.fail(DecodeErrorKind::MemoryLimit, at);
    }
    result.is_ok()
}

/// The position behind a field whose tag `tag` was read at `start`; `p` is behind the tag. Null, with the error recorded, where
/// it is no whole field.
///
/// # Safety
/// All bytes from `p` to `limit` are readable.
pub(super) unsafe fn skip(
    tag: u32,
    start: *const u8,
    p: *const u8,
    limit: *const u8,
    ctx: &mut DecodeCtx,
) -> *const u8 {
    if tag >> 3 == 0 {
        return ctx.fail(DecodeErrorKind::InvalidTag, start);
    }
    // SAFETY: as promised to this function.
    unsafe {
        let fixed = |bytes: usize| if distance(p, limit) < bytes { std::ptr::null() } else { p.add(bytes) };
        let end = match WireType::of_tag(tag) {
            Some(WireType::Varint) => {
                let (_, end) = varint(p, limit);
                if end.is_null() {
                    return ctx.fail(varint_error(p, limit), p);
                }
                end
            }
            Some(WireType::Fixed64) => fixed(8),
            Some(WireType::Fixed32) => fixed(4),
            Some(WireType::Len) => {
                let (len, end) = length(p, limit, ctx);
                return if end.is_null() { end } else { end.add(len) };
            }
            Some(WireType::StartGroup) => return skip_group(tag >> 3, start, p, limit, ctx),
            Some(WireType::EndGroup) => return ctx.fail(DecodeErrorKind::UnmatchedEndGroup, start),
            None => return ctx.fail(DecodeErrorKind::InvalidTag, start),
        };
        if end.is_null() { ctx.fail(DecodeErrorKind::Truncated, p) } else { end }
    }
}

/// A length that its frame has room for, and the position behind it. Null, with the error recorded, where there is none.
///
/// # Safety
/// As [`skip`].
#[inline]
pub(super) unsafe fn length(p: *const u8, limit: *const u8, ctx: &mut DecodeCtx) -> (usize, *const u8) {
    // SAFETY: as promised to this function.
    unsafe {
        let (len, end) = varint(p, limit);
        if end.is_null() {
            return (0, ctx.fail(varint_error(p, limit), p));
        }
        if len > distance(end, limit) as u64 {
            return (0, ctx.fail(DecodeErrorKind::LengthOutOfBounds, p));
        }
        (len as usize, end)
    }
}

/// As [`skip`], for a group: nesting is bounded by the depth limit.
unsafe fn skip_group(
    number: u32,
    start: *const u8,
    mut p: *const u8,
    limit: *const u8,
    ctx: &mut DecodeCtx,
) -> *const u8 {
    let Some(depth) = ctx.depth.checked_sub(1) else {
        return ctx.fail(DecodeErrorKind::DepthLimit, start);
    };
    ctx.depth = depth;
    // SAFETY: as promised to `skip`; `p` stays at or before `limit`.
    unsafe {
        while p < limit {
            let (inner, behind) = tag(p, limit);
            if behind.is_null() {
                return ctx.fail(tag_error(p, limit), p);
            }
            if inner == make_tag(number, WireType::EndGroup) {
                ctx.depth += 1;
                return behind;
            }
            let end = skip(inner, p, behind, limit, ctx);
            if end.is_null() {
                return end;
            }
            p = end;
        }
    }
    ctx.fail(DecodeErrorKind::UnclosedGroup, start)
}
