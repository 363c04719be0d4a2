//! What compiled code calls: slow exits and the way into the interpreter.
//!
//! Helpers never unwind into compiled code, report errors by value, and run no user code. Those behind
//! register-saving stubs answer through the context (`answer`, `answer_value`), the others by their return value.

use std::ptr;
use std::sync::atomic::Ordering;

use crate::stubs::EntryThunk;
use protojit_core::error::DecodeErrorKind;
use protojit_core::memory::alloc::Alloc;
use protojit_core::memory::list;
use protojit_core::memory::map::{self, EntryLayout, MapKey, MapTable};
use protojit_core::memory::slots::{ListSlot, StrSlot};
use protojit_core::program::{DecodeOp, DecodeProgram, EncodeOp, EncodeProgram};
use protojit_core::wire;
use protojit_interp::decode::{DecodeCtx, decode_frame, decode_packed, decode_unknown};
use protojit_interp::encode::{EncodeCtx, encode_field, encode_frame, unknown_fields};

/// The rest of a frame, from `p` on, where not enough bytes follow to be read without care: by the same code in a copy of these
/// bytes, or else by the interpreter. Also called where `p` has passed the limit.
///
/// # Safety
/// Called by compiled code: all pointers belong to the running decode.
pub unsafe extern "C" fn finish(
    ctx: *mut DecodeCtx,
    program: *const DecodeProgram,
    p: *const u8,
    limit: *const u8,
    message: *mut u8,
    depth: u64,
) -> *const u8 {
    let raw = ctx;
    // SAFETY: the caller's promise.
    let (ctx, program) = unsafe { (&mut *ctx, &*program) };
    if p > limit {
        return ctx.fail(DecodeErrorKind::Truncated, p);
    }
    // SAFETY: the caller's promise: `p` is at or behind the context's `safe`, or was moved before.
    if !ctx.thunk.is_null()
        && let Some(moved) = unsafe { ctx.move_to_tail(p, limit) }
    {
        let entry = program.entry.load(Ordering::Acquire);
        // SAFETY: `thunk` is the entry thunk of the runtime whose code is running. The caller is the compiled code of this
        // program, which is what its entry slot holds as long as it runs.
        let behind = unsafe {
            let thunk = std::mem::transmute::<*const (), EntryThunk>(ctx.thunk);
            thunk(moved.p, moved.limit, message, depth, raw, entry)
        };
        return moved.back(behind);
    }
    ctx.depth = depth as u32;
    ctx.finished_bytes += (limit as usize - p as usize) as u64;
    // SAFETY: the caller's promise; `p` is at the beginning of a field.
    unsafe { decode_frame(program, p, limit, message, ctx) }
}

/// A whole frame by the interpreter, for a program without compiled code.
///
/// # Safety
/// As [`finish`].
pub unsafe extern "C" fn interpret(
    ctx: *mut DecodeCtx,
    program: *const DecodeProgram,
    p: *const u8,
    limit: *const u8,
    message: *mut u8,
    depth: u64,
) -> *const u8 {
    // SAFETY: the caller's promise.
    let (ctx, program) = unsafe { (&mut *ctx, &*program) };
    ctx.depth = depth as u32;
    ctx.interpreted_calls += 1;
    // SAFETY: the caller's promise; `p` is at the beginning of a field.
    unsafe { decode_frame(program, p, limit, message, ctx) }
}

/// One field by the interpreter, from its tag on, and the fields behind it that the program does not know. Gives the
/// position behind them, the position behind an end-group tag with
/// [`CLOSED_BY_GROUP`](protojit_interp::decode::CLOSED_BY_GROUP) set, or null.
///
/// # Safety
/// As [`finish`].
pub unsafe extern "C" fn step(
    ctx: *mut DecodeCtx,
    program: *const DecodeProgram,
    p: *const u8,
    limit: *const u8,
    message: *mut u8,
    depth: u64,
) -> *const u8 {
    // SAFETY: the caller's promise.
    let (ctx, program) = unsafe { (&mut *ctx, &*program) };
    ctx.depth = depth as u32;
    // SAFETY: the caller's promise; `p` is at a tag.
    unsafe { decode_unknown(program, p, limit, message, ctx) }
}

/// [`step`], behind a stub.
///
/// # Safety
/// As [`finish`].
pub unsafe extern "C" fn step_saving(
    ctx: *mut DecodeCtx,
    program: *const DecodeProgram,
    p: *const u8,
    limit: *const u8,
    message: *mut u8,
    depth: u64,
) {
    // SAFETY: the caller's promise.
    unsafe { (*ctx).answer = step(ctx, program, p, limit, message, depth) };
}

/// A packed field from behind its tag on. Gives the position behind it, or null.
///
/// # Safety
/// As [`finish`]; `op` is one of the program's operations, a list of numbers.
pub unsafe extern "C" fn packed(
    ctx: *mut DecodeCtx,
    program: *const DecodeProgram,
    op: *const DecodeOp,
    p: *const u8,
    limit: *const u8,
    message: *mut u8,
) -> *const u8 {
    // SAFETY: the caller's promise.
    let (ctx, program) = unsafe { (&mut *ctx, &*program) };
    // SAFETY: the caller's promise; `p` is behind the tag.
    unsafe { decode_packed(program, &*op, p, limit, message, ctx) }
}

/// Makes room for one more element. Answers the list, or null.
///
/// # Safety
/// As [`finish`]; `list` is a list cell of the message being decoded, with elements of `size` bytes.
pub unsafe extern "C" fn grow(ctx: *mut DecodeCtx, list: *mut ListSlot, size: u64) {
    // SAFETY: the caller's promise.
    let (ctx, list) = unsafe { (&mut *ctx, &mut *list) };
    // SAFETY: the caller's promise.
    ctx.answer = match unsafe { list::reserve(list, size as usize, 1, ctx) } {
        Ok(()) => ptr::from_mut(list).cast(),
        Err(_) => memory_limit(ctx),
    };
}

/// Arena memory beyond the current chunk, not zeroed. Answers its address, or null.
///
/// # Safety
/// As [`finish`].
pub unsafe extern "C" fn alloc(ctx: *mut DecodeCtx, size: u64) {
    // SAFETY: the caller's promise.
    let ctx = unsafe { &mut *ctx };
    ctx.answer = match ctx.alloc(size as usize) {
        Ok(at) => at,
        Err(_) => memory_limit(ctx),
    };
}

/// The entry for a number or bool in a map, new or there already. Null where the arena is full.
///
/// # Safety
/// As [`finish`]; `cell` is a map cell of the message being decoded, `layout` that of its entries.
pub unsafe extern "C" fn map_number(
    ctx: *mut DecodeCtx,
    cell: *mut *mut MapTable,
    layout: *const EntryLayout,
    bits: u64,
) -> *mut u8 {
    let none = StrSlot { ptr: ptr::null(), len: 0, cap: 0 };
    // SAFETY: the caller's promise.
    unsafe { map_entry(&mut *ctx, &mut *cell, &*layout, MapKey::Bits(bits), none) }
}

/// The entry for a string in a map, new or there already. Null where the arena is full.
///
/// # Safety
/// As [`map_number`]; `len` bytes at `text` are part of the input.
pub unsafe extern "C" fn map_text(
    ctx: *mut DecodeCtx,
    cell: *mut *mut MapTable,
    layout: *const EntryLayout,
    text: *const u8,
    len: u64,
) -> *mut u8 {
    let stored = StrSlot { ptr: text, len: len as u32, cap: 0 };
    // SAFETY: the caller's promise.
    unsafe { map_entry(&mut *ctx, &mut *cell, &*layout, MapKey::Str(stored.bytes()), stored) }
}

#[inline]
unsafe fn map_entry(
    ctx: &mut DecodeCtx,
    cell: &mut *mut MapTable,
    layout: &EntryLayout,
    key: MapKey<'_>,
    stored: StrSlot,
) -> *mut u8 {
    // SAFETY: the caller's promise.
    match unsafe { map::entry(cell, layout, key, stored, ctx) } {
        Ok((entry, _)) => entry,
        Err(_) => memory_limit(ctx).cast_mut(),
    }
}

fn memory_limit(ctx: &mut DecodeCtx) -> *const u8 {
    let at = ctx.begin;
    ctx.fail(DecodeErrorKind::MemoryLimit, at)
}

/// Checks that bytes are UTF-8. Answers their address, or null.
///
/// # Safety
/// As [`finish`]; `len` bytes at `bytes` are part of the input.
pub unsafe extern "C" fn utf8(ctx: *mut DecodeCtx, bytes: *const u8, len: u64) {
    // SAFETY: the caller's promise.
    let (ctx, text) = unsafe { (&mut *ctx, std::slice::from_raw_parts(bytes, len as usize)) };
    ctx.answer = match simdutf8::basic::from_utf8(text) {
        Ok(_) => bytes,
        Err(_) => ctx.fail(DecodeErrorKind::InvalidUtf8, bytes),
    };
}

/// Reads a varint of any length. Answers the position behind it and its value, or null.
///
/// # Safety
/// As [`finish`]; at least ten bytes can be read at `p`.
pub unsafe extern "C" fn varint(ctx: *mut DecodeCtx, p: *const u8) {
    // SAFETY: the caller's promise.
    let (ctx, bytes) = unsafe { (&mut *ctx, std::slice::from_raw_parts(p, wire::MAX_VARINT_LEN)) };
    let mut len = 0;
    ctx.answer = match wire::read_varint(bytes, &mut len) {
        Some(value) => {
            ctx.answer_value = value;
            p.wrapping_add(len)
        }
        None => ctx.fail(DecodeErrorKind::MalformedVarint, p),
    };
}

/// A whole message by the interpreter, for an encode program without compiled code.
///
/// # Safety
/// Called by compiled code: all pointers belong to the running encode.
pub unsafe extern "C" fn interpret_encode(
    ctx: *mut EncodeCtx,
    program: *const EncodeProgram,
    at: *mut u8,
    message: *const u8,
    depth: u64,
) -> *mut u8 {
    // SAFETY: the caller's promise.
    let (ctx, program) = unsafe { (&mut *ctx, &*program) };
    ctx.depth = depth as u32;
    ctx.interpreted_calls += 1;
    // SAFETY: the caller's promise.
    unsafe { encode_frame(program, message, at, ctx) }
}

/// One field by the interpreter. Gives the new position, or null.
///
/// # Safety
/// As [`interpret_encode`]; `op` is a position in the program's operations.
pub unsafe extern "C" fn encode_one(
    ctx: *mut EncodeCtx,
    program: *const EncodeProgram,
    op: u64,
    message: *const u8,
    at: *mut u8,
    depth: u64,
) -> *mut u8 {
    // SAFETY: the caller's promise.
    let (ctx, program) = unsafe { (&mut *ctx, &*program) };
    ctx.depth = depth as u32;
    // SAFETY: the caller's promise.
    unsafe { encode_field(program, &program.ops[op as usize], message, at, ctx) }
}

/// A packed list that is not empty. Gives the new position, or null.
///
/// # Safety
/// As [`interpret_encode`]; `op` is one of the program's operations, and `list` its cell.
pub unsafe extern "C" fn encode_packed(
    ctx: *mut EncodeCtx,
    op: *const EncodeOp,
    list: *const ListSlot,
    at: *mut u8,
) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { protojit_interp::encode::encode_packed(&*op, list.read(), at, &mut *ctx) }
}

/// Makes room. Answers the new position, or null.
///
/// # Safety
/// As [`interpret_encode`].
pub unsafe extern "C" fn encode_room(ctx: *mut EncodeCtx, at: *mut u8, bytes: u64) {
    // SAFETY: the caller's promise.
    let ctx = unsafe { &mut *ctx };
    // SAFETY: the caller's promise.
    ctx.answer = unsafe { ctx.grow(at, bytes as usize) };
}

/// Writes the unknown fields. Answers the new position, or null.
///
/// # Safety
/// As [`interpret_encode`].
pub unsafe extern "C" fn encode_unknown(ctx: *mut EncodeCtx, message: *const u8, at: *mut u8) {
    // SAFETY: the caller's promise.
    let ctx = unsafe { &mut *ctx };
    // SAFETY: the caller's promise.
    ctx.answer = unsafe { unknown_fields(message, at, ctx) };
}

/// Writes a varint of any length. Answers the new position.
///
/// # Safety
/// As [`interpret_encode`]; there is room for ten bytes before `at`.
pub unsafe extern "C" fn encode_varint(ctx: *mut EncodeCtx, at: *mut u8, value: u64) {
    let mut bytes = [0; wire::MAX_VARINT_LEN];
    let len = wire::write_varint(value, &mut bytes);
    let at = at.wrapping_sub(len);
    // SAFETY: the caller's promise.
    unsafe {
        at.copy_from_nonoverlapping(bytes.as_ptr(), len);
        (*ctx).answer = at;
    }
}

/// Copies bytes.
///
/// # Safety
/// As [`interpret_encode`]; as for [`std::ptr::copy_nonoverlapping`].
pub unsafe extern "C" fn copy(_ctx: *mut EncodeCtx, from: *const u8, to: *mut u8, len: u64) {
    // SAFETY: the caller's promise.
    unsafe { to.copy_from_nonoverlapping(from, len as usize) };
}
