//! From input to message, with either engine.

use std::ptr::NonNull;

use protojit_core::error::{DecodeError, DecodeErrorKind, FieldPath};
use protojit_core::limits::Limits;
use protojit_core::memory::{Arena, Bump, Room};
use protojit_core::program::DecodeProgram;

use super::frame::decode_frame;
use super::place::place;
use super::required::find_missing;
use super::{CLOSED_BY_GROUP, DecodeCtx, SLACK};
use crate::bytes::copy;

/// Inputs of at most so many bytes are copied into the arena also where they could be borrowed: behind the copy lies padding, so
/// that fast code reaches to its end. Of longer ones only the last bytes are copied ([`super::tail`]).
pub const SMALL_INPUT: usize = 512;

/// The arena's counter of decodes by compiled code.
pub const COMPILED_CALLS: usize = 0;
/// The arena's counter of decodes, and frames of compiled decodes, by the interpreter.
pub const INTERPRETED_CALLS: usize = 1;
/// The arena's counter of bytes that the interpreter finished for compiled code.
pub const FINISHED_BYTES: usize = 2;
/// The arena's counter of inputs that compiled code refused and the interpreter accepts.
pub const DISAGREEMENTS: usize = 3;

/// What strings and unknown fields of the message point to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Input {
    /// The caller's bytes, where that pays ([`SMALL_INPUT`]): they and the arena must outlive the message.
    Borrow,
    /// A copy in the arena: only the arena must outlive the message.
    Copy,
}

/// Decodes `input` into a new message, by the interpreter.
///
/// The message lives as long as both `input` and the arena stay as they are ([`Input`] says which of the two it points into). Its
/// layout is [`DecodeProgram::shape`], which the caller keeps alive.
///
/// # Errors
/// What is wrong with `input`, or the limit that it hits.
pub fn decode<'a>(
    program: &DecodeProgram,
    input: &'a [u8],
    arena: &'a Arena,
    limits: &Limits,
    mode: Input,
) -> Result<NonNull<u8>, DecodeError> {
    // SAFETY: there is no message to merge into; `run` calls the interpreter itself.
    unsafe { run(None::<Interpreter>, program, None, input, arena, limits, mode) }
}

/// Merges `input` into a message, by the interpreter. After an error the message holds a part of it.
///
/// # Errors
/// As [`decode`]; a required field that is still missing afterwards is one too.
///
/// # Safety
/// `message` is a live message of the program's layout in this arena, and nobody else uses it meanwhile. What was said at
/// [`decode`] holds for it and this input too.
pub unsafe fn merge<'a>(
    program: &DecodeProgram,
    message: NonNull<u8>,
    input: &'a [u8],
    arena: &'a Arena,
    limits: &Limits,
    mode: Input,
) -> Result<(), DecodeError> {
    // SAFETY: as promised to this function.
    unsafe { run(None::<Interpreter>, program, Some(message), input, arena, limits, mode).map(drop) }
}

/// [`decode`], or [`merge`] where there is a message already, by another frame function.
///
/// `frame` does what [`decode_frame`] does, but need not say why it failed: the interpreter then decodes the same bytes again, into
/// memory of its own, for kind, offset and path. Only memory is its business: where the arena is full it records
/// [`DecodeErrorKind::MemoryLimit`] in the context. Where the interpreter finds no fault the error is
/// [`DecodeErrorKind::EngineDisagreement`].
///
/// # Errors
/// As [`decode`].
///
/// # Safety
/// As [`merge`] where there is a message; `frame` keeps what [`decode_frame`] promises.
pub unsafe fn decode_with<'a>(
    frame: impl FnOnce(&DecodeProgram, *const u8, *const u8, *mut u8, &mut DecodeCtx) -> *const u8,
    program: &DecodeProgram,
    message: Option<NonNull<u8>>,
    input: &'a [u8],
    arena: &'a Arena,
    limits: &Limits,
    mode: Input,
) -> Result<NonNull<u8>, DecodeError> {
    // SAFETY: as promised to this function.
    unsafe { run(Some(frame), program, message, input, arena, limits, mode) }
}

/// Stands for "no other frame function".
type Interpreter = fn(&DecodeProgram, *const u8, *const u8, *mut u8, &mut DecodeCtx) -> *const u8;

#[inline]
unsafe fn run<F>(
    frame: Option<F>,
    program: &DecodeProgram,
    message: Option<NonNull<u8>>,
    input: &[u8],
    arena: &Arena,
    limits: &Limits,
    mode: Input,
) -> Result<NonNull<u8>, DecodeError>
where
    F: FnOnce(&DecodeProgram, *const u8, *const u8, *mut u8, &mut DecodeCtx) -> *const u8,
{
    let most = limits.max_message_bytes.min(i32::MAX as usize);
    if input.len() > most {
        return Err(error(program, DecodeErrorKind::MessageTooLarge, most, Vec::new()));
    }
    let padded = mode == Input::Copy || input.len() <= SMALL_INPUT;
    let mut bump = arena.bump();
    let placed = match message {
        None if padded => place(input, program.size as usize, &mut bump),
        _ => None,
    };
    let (mut ctx, room);
    let (begin, root) = match placed {
        Some((begin, root)) => {
            ctx = DecodeCtx::new(arena, begin, begin.wrapping_add(input.len()), padded, limits);
            ctx.bump = bump;
            room = arena.room(Bump { at: root, end: bump.end });
            (begin, root)
        }
        None => {
            let begin = if padded { pad(input, arena, &mut bump) } else { input.as_ptr() };
            if begin.is_null() {
                return Err(error(program, DecodeErrorKind::MemoryLimit, 0, Vec::new()));
            }
            ctx = DecodeCtx::new(arena, begin, begin.wrapping_add(input.len()), padded, limits);
            ctx.bump = bump;
            room = arena.room(bump);
            let root = match message {
                Some(message) => message.as_ptr(),
                None => super::cell::new_message(program, begin, &mut ctx),
            };
            ctx.keep_tail_room(padded);
            (begin, root)
        }
    };
    let end = begin.wrapping_add(input.len());
    let compiled = frame.is_some();
    let behind = match (root.is_null(), frame) {
        (true, _) => std::ptr::null(),
        (false, Some(frame)) => frame(program, begin, end, root, &mut ctx),
        // SAFETY: `root` is a live message of the program's layout; `begin..end` is what `ctx` was made for.
        (false, None) => unsafe { decode_frame(program, begin, end, root, &mut ctx) },
    };
    // SAFETY: the arena's own value, moved forward by multiples of eight; the context gives out no more. Read in halves, as it
    // was written: one wide load would wait until both writes have left the store buffer.
    unsafe { arena.set_bump(Bump { at: (&raw const ctx.bump.at).read_volatile(), end: ctx.bump.end }) };
    count(arena, if compiled { COMPILED_CALLS } else { INTERPRETED_CALLS }, 1);
    if ctx.interpreted_calls | ctx.finished_bytes != 0 {
        count(arena, INTERPRETED_CALLS, ctx.interpreted_calls);
        count(arena, FINISHED_BYTES, ctx.finished_bytes);
    }
    if behind != end {
        return Err(if compiled {
            compiled_failure(program, &mut ctx, room, limits, padded)
        } else {
            let (kind, at) = recorded(behind, &ctx);
            error(program, kind, offset(at, &ctx), ctx.take_path())
        });
    }
    if (ctx.maybe_missing != 0 || message.is_some())
        && program.options.check_required
        && let Some(layout) = program.layout.get()
    {
        // SAFETY: a live message of that layout.
        if let Some(path) = unsafe { find_missing(layout, root) } {
            let path = FieldPath::new(layout.schema.clone(), layout.message, path);
            return Err(DecodeError::new(DecodeErrorKind::MissingRequired, input.len(), path));
        }
    }
    // SAFETY: not null, or the frame had not been called.
    Ok(unsafe { NonNull::new_unchecked(root) })
}

#[inline]
fn count(arena: &Arena, which: usize, by: u64) {
    let counter = arena.counter(which);
    counter.set(counter.get().wrapping_add(by));
}

/// A copy of `input` in the arena, with padding behind it; null where the arena is full.
#[inline]
fn pad(input: &[u8], arena: &Arena, bump: &mut Bump) -> *const u8 {
    let size = input.len() + SLACK;
    let at = match bump.take(size) {
        Some(at) => at,
        None => match grow(arena, size, bump) {
            Some(at) => at,
            None => return std::ptr::null(),
        },
    };
    // SAFETY: fresh memory of that size.
    unsafe {
        copy(input.as_ptr(), at, input.len());
        at.add(input.len()).write_bytes(0, SLACK);
    }
    at
}

#[cold]
fn grow(arena: &Arena, size: usize, bump: &mut Bump) -> Option<*mut u8> {
    *bump = arena.grow(size).ok()?;
    bump.take(size)
}

/// How far behind the beginning of the input a position lies.
fn offset(at: *const u8, ctx: &DecodeCtx) -> usize {
    at.addr().wrapping_sub(ctx.begin.addr())
}

/// The error of a compiled decode that did not end at the end of its input: the one that the interpreter finds. `room` is what the
/// arena had before.
#[cold]
fn compiled_failure(
    program: &DecodeProgram,
    ctx: &mut DecodeCtx,
    room: Room,
    limits: &Limits,
    padded: bool,
) -> DecodeError {
    // SAFETY: the arena outlives the decode.
    let arena = unsafe { &*ctx.arena };
    let full = match ctx.error() {
        Some((DecodeErrorKind::MemoryLimit, at)) => Some(at),
        _ => None,
    };
    // With the same room, whatever compiled code found: within one field the interpreter may ask for memory before it finds the same.
    let Ok(scratch) = arena.rehearsal(room) else { return error(program, DecodeErrorKind::MemoryLimit, 0, Vec::new()) };
    let mut again = DecodeCtx::new(&scratch, ctx.begin, ctx.end, padded, limits);
    let root = super::cell::new_message(program, ctx.begin, &mut again);
    again.keep_tail_room(padded);
    let behind = match root.is_null() {
        true => root,
        // SAFETY: a fresh message of the program's layout; the input is the same, and still there.
        false => unsafe { decode_frame(program, ctx.begin, ctx.end, root, &mut again) },
    };
    if behind != ctx.end {
        let (kind, at) = recorded(behind, &again);
        return error(program, kind, offset(at, ctx), again.take_path());
    }
    if let Some(at) = full {
        return error(program, DecodeErrorKind::MemoryLimit, offset(at, ctx), Vec::new());
    }
    count(arena, DISAGREEMENTS, 1);
    let len = offset(ctx.end, ctx);
    // SAFETY: the input lies there, borrowed or as a copy in the arena, until the decode returns.
    arena.tell_disagreement(unsafe { std::slice::from_raw_parts(ctx.begin, len) });
    error(program, DecodeErrorKind::EngineDisagreement, 0, Vec::new())
}

/// What a frame recorded that ended at `behind`, which is not its limit.
fn recorded(behind: *const u8, ctx: &DecodeCtx) -> (DecodeErrorKind, *const u8) {
    match ctx.error() {
        Some(error) if behind.addr() & CLOSED_BY_GROUP == 0 => error,
        _ => (DecodeErrorKind::UnmatchedEndGroup, ctx.end_group_at),
    }
}

/// An error in the field that `path` leads to, innermost first.
#[cold]
fn error(program: &DecodeProgram, kind: DecodeErrorKind, offset: usize, mut path: Vec<u32>) -> DecodeError {
    path.reverse();
    DecodeError::new(kind, offset, FieldPath::new(program.schema.clone(), program.message, path))
}
