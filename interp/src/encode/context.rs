//! What an encode carries along, and the memory it writes to.

use protojit_core::error::EncodeErrorKind;
use protojit_core::limits::Limits;

/// Room that one tag with one number, or one tag with one length, is written in: more than the 15 bytes they have at most, since
/// they are written by whole words.
pub const ROOM: usize = 32;

const FIRST_BYTES: usize = 256;

/// Memory that messages are encoded to, kept for the next one.
///
/// Messages are written to its end; what [`encode`](super::encode) returns is that tail.
#[derive(Default)]
pub struct EncodeBuffer {
    /// Always empty: the bytes lie in the spare room.
    pub(super) bytes: Vec<u8>,
}

impl EncodeBuffer {
    /// An empty buffer; takes memory when it is first used.
    pub const fn new() -> EncodeBuffer {
        EncodeBuffer { bytes: Vec::new() }
    }

    /// A buffer that messages of up to `bytes` bytes fit in without growth.
    pub fn with_capacity(bytes: usize) -> EncodeBuffer {
        EncodeBuffer { bytes: Vec::with_capacity(bytes.saturating_add(ROOM)) }
    }

    /// Bytes taken from the allocator.
    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }
}

impl std::fmt::Debug for EncodeBuffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EncodeBuffer").field("capacity", &self.bytes.capacity()).finish()
    }
}

/// The state of one encode, shared by both engines. Compiled code reaches the first fields by offset.
#[derive(Debug)]
#[repr(C)]
pub struct EncodeCtx {
    /// The first byte of the room.
    pub begin: *mut u8,
    /// The end of the room, where the message ends.
    pub end: *mut u8,
    /// What the last helper answers to compiled code: the new position, null after an error.
    pub answer: *mut u8,
    /// Levels of nesting that are left.
    pub depth: u32,
    /// The largest message.
    pub max_bytes: usize,
    /// Messages that compiled code handed to the interpreter because a program had no compiled code.
    pub interpreted_calls: u64,
    /// Whose spare room this is; null where it cannot grow.
    vec: *mut Vec<u8>,
    /// What few encodes need.
    pub(super) rare: Option<Box<Rare>>,
}

/// What few encodes need.
#[derive(Default, Debug)]
pub(super) struct Rare {
    /// The first error.
    pub error: Option<EncodeErrorKind>,
    /// The numbers of the fields around the error, innermost first.
    pub path: Vec<u32>,
    /// Positions of map entries while they are sorted, a stack.
    pub order: Vec<u32>,
}

impl EncodeCtx {
    /// For room that cannot grow: `len` bytes at `begin`.
    ///
    /// # Safety
    /// They are writable as long as the encode takes.
    #[inline(always)]
    pub unsafe fn fixed(begin: *mut u8, len: usize, limits: &Limits) -> EncodeCtx {
        EncodeCtx {
            begin,
            end: begin.wrapping_add(len),
            answer: std::ptr::null_mut(),
            depth: limits.depth(),
            max_bytes: limits.max_message_bytes.min(i32::MAX as usize),
            interpreted_calls: 0,
            vec: std::ptr::null_mut(),
            rare: None,
        }
    }

    /// For the spare room of `vec`, which grows when it is used up.
    ///
    /// # Safety
    /// Nobody else uses `vec` as long as the encode takes.
    #[inline(always)]
    pub unsafe fn growing(vec: *mut Vec<u8>, limits: &Limits) -> EncodeCtx {
        // SAFETY: the caller's promise; spare room is writable.
        unsafe {
            let spare = (*vec).spare_capacity_mut();
            let mut ctx = EncodeCtx::fixed(spare.as_mut_ptr().cast(), spare.len(), limits);
            ctx.vec = vec;
            ctx
        }
    }

    /// How many bytes can be written before `at`.
    #[inline(always)]
    pub fn room(&self, at: *mut u8) -> usize {
        at.addr() - self.begin.addr()
    }

    /// How many bytes are written.
    #[inline(always)]
    pub fn written(&self, at: *mut u8) -> usize {
        self.end.addr() - at.addr()
    }

    /// Whether the room can grow.
    #[inline]
    pub fn can_grow(&self) -> bool {
        !self.vec.is_null()
    }

    /// Records an error, unless there is one already.
    #[cold]
    pub fn fail(&mut self, kind: EncodeErrorKind) -> *mut u8 {
        self.rare.get_or_insert_default().error.get_or_insert(kind);
        std::ptr::null_mut()
    }

    /// Notes the number of a field that the error lies in: from the inside to the outside.
    #[cold]
    pub(super) fn note_field(&mut self, number: u32) {
        self.rare.get_or_insert_default().path.push(number);
    }

    /// The first error.
    pub(super) fn error(&self) -> Option<EncodeErrorKind> {
        self.rare.as_ref().and_then(|rare| rare.error)
    }

    /// Positions of map entries while they are sorted, a stack.
    pub(super) fn order(&mut self) -> &mut Vec<u32> {
        &mut self.rare.get_or_insert_default().order
    }

    /// Makes room for `bytes` more and gives the new position; what is written moves to the end of the new room. Null, with the
    /// error recorded, where there is no more room to have.
    ///
    /// # Safety
    /// `at` is the position: from there to the end everything is written.
    #[cold]
    pub unsafe fn grow(&mut self, at: *mut u8, bytes: usize) -> *mut u8 {
        let (room, written) = (self.room(at), self.written(at));
        if room >= bytes {
            return at;
        }
        let most = self.max_bytes + 2 * ROOM;
        let needed = written.saturating_add(bytes);
        if needed > most {
            return self.fail(EncodeErrorKind::MessageTooLarge);
        }
        if self.vec.is_null() {
            return self.fail(EncodeErrorKind::BufferTooSmall { needed: 0 });
        }
        let wanted = needed.max((room + written) * 2).max(FIRST_BYTES).min(most);
        // SAFETY: ours alone, as promised to `growing`. The last `written` bytes of the old room are initialised, and
        // the new room is at least as large.
        unsafe {
            let old = &mut *self.vec;
            let mut new = Vec::new();
            if new.try_reserve_exact(old.len().saturating_add(wanted)).is_err() {
                return self.fail(EncodeErrorKind::OutOfMemory);
            }
            new.extend_from_slice(old);
            let spare = new.spare_capacity_mut();
            let begin = spare.as_mut_ptr().cast::<u8>();
            let end = begin.add(spare.len());
            let new_at = end.sub(written);
            new_at.copy_from_nonoverlapping(at, written);
            *old = new;
            (self.begin, self.end) = (begin, end);
            new_at
        }
    }
}
