//! What a decode carries along.

use protojit_core::error::DecodeErrorKind;
use protojit_core::limits::Limits;
use protojit_core::memory::alloc::Alloc;
use protojit_core::memory::{Arena, ArenaFull, Bump};

/// Bytes behind `safe` that may still be loaded: the longest tag and length, and the widest inline load.
pub const SLACK: usize = 64;

/// Marks a frame that an end-group tag closed: set in the returned position, which no address has.
pub const CLOSED_BY_GROUP: usize = 1 << 63;

/// The state of one decode, shared by both engines. Compiled code reaches the first fields by offset.
#[derive(Debug)]
#[repr(C)]
pub struct DecodeCtx {
    /// Free arena memory.
    pub bump: Bump,
    /// From here on loads must be careful: at least [`SLACK`] bytes can be read behind every earlier position.
    /// The end of the input where padding follows it. Once the last bytes were copied ([`super::tail`]) it is about that copy.
    pub safe: *const u8,
    /// Levels of nesting that are left.
    pub depth: u32,
    /// The field number of the end-group tag that closed the last frame.
    pub end_group: u32,
    /// Not 0 once a frame ended without one of its required fields.
    pub maybe_missing: u32,
    /// Unknown fields that may still be kept.
    pub unknown_fields_left: usize,
    /// Bytes of unknown fields that may still be kept.
    pub unknown_bytes_left: usize,
    /// What the last helper answers to compiled code: a position or an address, null after an error.
    pub answer: *const u8,
    /// The number that goes with `answer`.
    pub answer_value: u64,
    /// The way into compiled code, for helpers that go back to it; null in the interpreter.
    pub thunk: *const (),
    /// The copy of the input's last bytes with padding behind, null while there is none. See [`super::tail`].
    pub(super) tail: *const u8,
    /// Where the copied bytes begin in the input.
    pub(super) tail_from: *const u8,
    /// Room for that copy, of `2 * SLACK` bytes; null where there is none.
    pub(super) tail_room: *mut u8,
    /// The first byte of the input (of the padded copy where there is one).
    pub begin: *const u8,
    /// The end of the input.
    pub end: *const u8,
    /// Where memory comes from when `bump` is used up.
    pub arena: *const Arena,
    /// Bytes that the interpreter finished for compiled code.
    pub finished_bytes: u64,
    /// Frames that compiled code handed to the interpreter because a program had no compiled code.
    pub interpreted_calls: u64,
    /// What went wrong.
    pub failure: Option<Box<Failure>>,
    /// Where the end-group tag stood that closed the last frame, for errors.
    pub end_group_at: *const u8,
}

/// What went wrong in a decode, and where.
#[derive(Clone, Default, Debug)]
pub struct Failure {
    /// The first error, and the position that it is about.
    pub error: Option<(DecodeErrorKind, *const u8)>,
    /// The numbers of the fields around it, innermost first; of map entries too.
    pub path: Vec<u32>,
}

impl DecodeCtx {
    /// The state at the beginning: `begin..end` is the input, `padded` says that [`SLACK`] readable bytes follow it.
    #[inline]
    pub fn new(arena: &Arena, begin: *const u8, end: *const u8, padded: bool, limits: &Limits) -> DecodeCtx {
        let len = end as usize - begin as usize;
        let safe = if padded { end } else { begin.wrapping_add(len.saturating_sub(SLACK)) };
        DecodeCtx {
            bump: arena.bump(),
            safe,
            depth: limits.depth(),
            end_group: 0,
            maybe_missing: 0,
            unknown_fields_left: limits.max_unknown_fields,
            unknown_bytes_left: limits.max_unknown_bytes,
            answer: std::ptr::null(),
            answer_value: 0,
            thunk: std::ptr::null(),
            tail: std::ptr::null(),
            tail_from: std::ptr::null(),
            tail_room: std::ptr::null_mut(),
            begin,
            end,
            arena,
            finished_bytes: 0,
            interpreted_calls: 0,
            failure: None,
            end_group_at: std::ptr::null(),
        }
    }

    /// Records an error, unless there is one already.
    #[cold]
    pub fn fail(&mut self, kind: DecodeErrorKind, at: *const u8) -> *const u8 {
        let at = self.in_input(at);
        self.failure.get_or_insert_default().error.get_or_insert((kind, at));
        std::ptr::null()
    }

    /// Notes the number of a field that the error lies in: from the inside to the outside.
    #[cold]
    pub fn note_field(&mut self, number: u32) {
        self.failure.get_or_insert_default().path.push(number);
    }

    /// The first error.
    pub fn error(&self) -> Option<(DecodeErrorKind, *const u8)> {
        self.failure.as_ref().and_then(|failure| failure.error)
    }

    /// The numbers of the fields around the error, innermost first. Takes them away.
    pub fn take_path(&mut self) -> Vec<u32> {
        self.failure.as_mut().map(|failure| std::mem::take(&mut failure.path)).unwrap_or_default()
    }
}

// SAFETY: `bump` is the arena's own, put back before the arena grows and when the decode ends.
unsafe impl Alloc for DecodeCtx {
    #[inline]
    fn alloc(&mut self, size: usize) -> Result<*mut u8, ArenaFull> {
        match self.bump.take(size) {
            Some(at) => Ok(at),
            None => grow(self, size),
        }
    }

    #[inline]
    fn extend(&mut self, end: *mut u8, more: usize) -> bool {
        self.bump.extend(end, more)
    }

    fn limit(&self) -> usize {
        // SAFETY: the arena outlives the decode.
        unsafe { (*self.arena).limit() }
    }
}

#[cold]
fn grow(ctx: &mut DecodeCtx, size: usize) -> Result<*mut u8, ArenaFull> {
    // SAFETY: the arena outlives the decode, and nobody else uses it meanwhile.
    let arena = unsafe { &*ctx.arena };
    let full = ArenaFull { limit: arena.limit() };
    let size = size.checked_next_multiple_of(8).ok_or(full)?;
    // SAFETY: the arena's own value, moved forward by multiples of eight.
    unsafe { arena.set_bump(ctx.bump) };
    ctx.bump = arena.grow(size)?;
    ctx.bump.take(size).ok_or(full)
}
