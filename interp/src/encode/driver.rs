//! From message to bytes, with either engine.

use std::slice;

use protojit_core::error::{EncodeError, EncodeErrorKind, FieldPath};
use protojit_core::limits::Limits;
use protojit_core::program::EncodeProgram;
use protojit_core::wire::varint_len;

use super::context::{EncodeBuffer, EncodeCtx};
use super::frame::encode_frame;
use super::len::encoded_len;
use super::write::{put, varint_before};

/// Where a message is written to.
#[derive(Debug)]
pub enum Target<'a> {
    /// The end of a buffer.
    Buffer(&'a mut EncodeBuffer),
    /// The beginning of a slice.
    Slice(&'a mut [u8]),
    /// Behind what a vector holds.
    Append(&'a mut Vec<u8>),
}

/// What stands before a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Framing {
    /// Nothing.
    Bare,
    /// Its length as a varint, as in streams of messages.
    Delimited,
}

impl Target<'_> {
    fn reborrow(&mut self) -> Target<'_> {
        match self {
            Target::Buffer(buffer) => Target::Buffer(buffer),
            Target::Slice(out) => Target::Slice(out),
            Target::Append(out) => Target::Append(out),
        }
    }
}

/// Encodes a message into a buffer, whose tail it returns.
///
/// # Errors
/// A required field is missing, or a limit is reached.
///
/// # Safety
/// `msg` is a live message of the program's layout, and nobody changes it meanwhile.
pub unsafe fn encode<'a>(
    program: &EncodeProgram,
    msg: *const u8,
    buffer: &'a mut EncodeBuffer,
    limits: &Limits,
) -> Result<&'a mut [u8], EncodeError> {
    // SAFETY: as promised to this function.
    unsafe { run(interpreted, program, msg, Target::Buffer(buffer), Framing::Bare, limits) }
}

/// Encodes a message to the beginning of a slice, and returns that part.
///
/// # Errors
/// As [`encode`]; [`EncodeErrorKind::BufferTooSmall`], with the length that is needed, where the slice is.
///
/// # Safety
/// As [`encode`].
pub unsafe fn encode_to_slice<'a>(
    program: &EncodeProgram,
    msg: *const u8,
    out: &'a mut [u8],
    limits: &Limits,
) -> Result<&'a mut [u8], EncodeError> {
    // SAFETY: as promised to this function.
    unsafe { run(interpreted, program, msg, Target::Slice(out), Framing::Bare, limits) }
}

/// Appends an encoded message to a vector, and returns the appended part. After an error the vector holds what it held.
///
/// # Errors
/// As [`encode`].
///
/// # Safety
/// As [`encode`].
pub unsafe fn append<'a>(
    program: &EncodeProgram,
    msg: *const u8,
    out: &'a mut Vec<u8>,
    limits: &Limits,
) -> Result<&'a mut [u8], EncodeError> {
    // SAFETY: as promised to this function.
    unsafe { run(interpreted, program, msg, Target::Append(out), Framing::Bare, limits) }
}

/// Encodes a message to any target, with or without its length before it.
///
/// # Errors
/// As [`encode_to_slice`].
///
/// # Safety
/// As [`encode`].
pub unsafe fn encode_framed<'a>(
    program: &EncodeProgram,
    msg: *const u8,
    target: Target<'a>,
    framing: Framing,
    limits: &Limits,
) -> Result<&'a mut [u8], EncodeError> {
    // SAFETY: as promised to this function.
    unsafe { run(interpreted, program, msg, target, framing, limits) }
}

/// Encodes with another frame function.
///
/// `frame` does what [`encode_frame`] does, but need not say why it failed: the interpreter then encodes the same message again, and what
/// comes of it counts. Where that is a message although `frame` failed without a reason (such as room, which it may want more of than is
/// needed), `disagreement` is called.
///
/// # Errors
/// As [`encode_to_slice`].
///
/// # Safety
/// As [`encode`]; `frame` keeps what [`encode_frame`] promises.
pub unsafe fn encode_with<'a>(
    frame: impl FnOnce(&EncodeProgram, *const u8, *mut u8, &mut EncodeCtx) -> *mut u8,
    program: &EncodeProgram,
    msg: *const u8,
    mut target: Target<'a>,
    framing: Framing,
    limits: &Limits,
    disagreement: impl FnOnce(),
) -> Result<&'a mut [u8], EncodeError> {
    let mut unexplained = false;
    let frame = |program: &EncodeProgram, msg, at, ctx: &mut EncodeCtx| {
        let at = frame(program, msg, at, ctx);
        unexplained = at.is_null() && ctx.error().is_none();
        at
    };
    // SAFETY: as promised to this function. The first attempt leaves the target as it was where it fails.
    unsafe {
        let first =
            run(frame, program, msg, target.reborrow(), framing, limits).map(|bytes| (bytes.as_mut_ptr(), bytes.len()));
        match first {
            // The bytes lie in what the target borrows for `'a`.
            Ok((at, len)) => Ok(slice::from_raw_parts_mut(at, len)),
            Err(_) => {
                let second = run(interpreted, program, msg, target, framing, limits);
                if unexplained && second.is_ok() {
                    disagreement();
                }
                second
            }
        }
    }
}

/// [`encode_frame`] as a closure of [`run`], which calls it as it must be called.
#[inline(always)]
fn interpreted(program: &EncodeProgram, msg: *const u8, at: *mut u8, ctx: &mut EncodeCtx) -> *mut u8 {
    // SAFETY: `run` passes the message it was promised, and the context's position.
    unsafe { encode_frame(program, msg, at, ctx) }
}

#[inline]
unsafe fn run<'a>(
    frame: impl FnOnce(&EncodeProgram, *const u8, *mut u8, &mut EncodeCtx) -> *mut u8,
    program: &EncodeProgram,
    msg: *const u8,
    mut target: Target<'a>,
    framing: Framing,
    limits: &Limits,
) -> Result<&'a mut [u8], EncodeError> {
    // SAFETY: the target is borrowed for `'a`, and used through the context alone until the frame is written; `msg` as
    // promised to `encode`. The bytes from the position to the end are initialised.
    unsafe {
        let mut ctx = match &mut target {
            Target::Buffer(buffer) => EncodeCtx::growing(&raw mut buffer.bytes, limits),
            Target::Append(out) => EncodeCtx::growing(&raw mut **out, limits),
            Target::Slice(out) => EncodeCtx::fixed(out.as_mut_ptr(), out.len(), limits),
        };
        let mut at = frame(program, msg, ctx.end, &mut ctx);
        let mut len = if at.is_null() { 0 } else { ctx.written(at) };
        if at.is_null() || len > ctx.max_bytes {
            return Err(failure(program, msg, &mut ctx, framing, limits));
        }
        if framing == Framing::Delimited {
            at = put(at, &mut ctx, |at| varint_before(at, len as u64));
            if at.is_null() {
                return Err(failure(program, msg, &mut ctx, framing, limits));
            }
            len = ctx.written(at);
        }
        match target {
            Target::Buffer(_) => Ok(slice::from_raw_parts_mut(at, len)),
            Target::Slice(_) => {
                ctx.begin.copy_from(at, len);
                Ok(slice::from_raw_parts_mut(ctx.begin, len))
            }
            Target::Append(out) => {
                ctx.begin.copy_from(at, len);
                let before = out.len();
                out.set_len(before + len);
                Ok(&mut out[before..])
            }
        }
    }
}

#[cold]
unsafe fn failure(
    program: &EncodeProgram,
    msg: *const u8,
    ctx: &mut EncodeCtx,
    framing: Framing,
    limits: &Limits,
) -> EncodeError {
    let mut path = ctx.rare.as_mut().map(|rare| std::mem::take(&mut rare.path)).unwrap_or_default();
    let kind = match ctx.error() {
        // SAFETY: as promised to `encode`.
        Some(EncodeErrorKind::BufferTooSmall { .. }) => match unsafe { encoded_len(program, msg, limits) } {
            Ok(len) => {
                path.clear();
                let prefix = if framing == Framing::Delimited { varint_len(len as u64) } else { 0 };
                let needed = len + prefix;
                EncodeErrorKind::BufferTooSmall { needed }
            }
            Err(error) => return error,
        },
        Some(kind) => kind,
        None => EncodeErrorKind::MessageTooLarge,
    };
    path.reverse();
    EncodeError::new(kind, FieldPath::new(program.schema.clone(), program.message, path))
}
