//! Many messages, one arena, one reference count.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use protojit_core::error::DecodeError;
use protojit_core::memory::Arena;
use protojit_core::message::MessageRef;
use protojit_core::program::Shape;
use protojit_interp::decode::{Input, SMALL_INPUT};

use crate::message_type::MessageType;
use crate::owned::Kept;

/// The records of [`MessageType::decode_batch`]: each a message, or why it is none.
///
/// All messages lie in one arena, and share one reference count with it: a clone of a batch costs one atomic operation,
/// reading it none. It keeps the shape alive, not the compiled code or the schema.
///
/// ```
/// # let set = &protojit_source::ProtoSources::new().include("examples").compile(["hello.proto"])?;
/// use protojit::Runtime;
///
/// let person = Runtime::new().register(set)?.message("hello.Person")?;
/// let name = person.shape().str("name")?;
/// let frames = [&b"\x0a\x03Ada"[..], b"\x0a\x09Bo", b"\x0a\x03Eve"];
/// let batch = person.decode_batch(frames);
/// let mut names = Vec::new();
/// for (frame, record) in frames.iter().zip(&batch) {
///     match record {
///         Ok(message) => names.push(message.get(name).to_str()?),
///         Err(error) => assert_eq!((error.offset(), frame.len()), (1, 4)),
///     }
/// }
/// assert_eq!(names, ["Ada", "Eve"]);
///
/// let other = batch.clone();
/// let thread = std::thread::spawn(move || other.get(2).unwrap().unwrap().get(name).len());
/// assert_eq!(thread.join().unwrap(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Batch(Arc<Records>);

struct Records {
    /// Null where there is an error.
    messages: Vec<*const u8>,
    /// By position, ascending.
    errors: Vec<(usize, DecodeError)>,
    shape: Shape,
    /// What the messages lie in. Never used again while there is a batch.
    arena: Arena,
}

// SAFETY: the messages lie in the arena, which is `Send`, and are only read; shapes and errors are `Send`.
unsafe impl Send for Records {}
// SAFETY: messages are only read. The arena, which is not `Sync`, is not reached through `&Records` at all.
unsafe impl Sync for Records {}

impl MessageType {
    /// Decodes many records into one arena. A record that cannot be decoded is an error in its place, and does not disturb
    /// the others. Nothing of the input is kept.
    ///
    /// The arena holds up to [2 GiB](protojit_core::memory::DEFAULT_ARENA_LIMIT); records for which it has no room
    /// are errors too. See [`Batch`] for an example.
    pub fn decode_batch<I>(&self, frames: I) -> Batch
    where
        I: IntoIterator,
        I::Item: AsRef<[u8]>,
    {
        self.decode_batch_in(frames, Arena::new())
    }

    /// As [`MessageType::decode_batch`], in an arena that was made before, with its limit: perhaps that of an earlier
    /// batch ([`Batch::into_arena`]), whose memory is then used again. It is reset first.
    pub fn decode_batch_in<I>(&self, frames: I, mut arena: Arena) -> Batch
    where
        I: IntoIterator,
        I::Item: AsRef<[u8]>,
    {
        arena.reset();
        let frames = frames.into_iter();
        let mut batch = Builder::new(self, frames.size_hint().0, arena);
        for frame in frames {
            // SAFETY: with `Input::Copy` messages borrow the arena only.
            unsafe { batch.decode(frame.as_ref(), Input::Copy) };
        }
        batch.finish(Vec::new())
    }

    /// As [`MessageType::decode_batch`], without copying frames of more than 512 bytes: strings, bytes and unknown
    /// fields of the messages point into them, and the batch keeps them alive.
    ///
    /// ```
    /// # let set = &protojit_source::ProtoSources::new().include("examples").compile(["hello.proto"])?;
    /// # let person = protojit::Runtime::new().register(set)?.message("hello.Person")?;
    /// use bytes::Bytes;
    ///
    /// let mut frame = b"\x42\x80\x08".to_vec(); // avatar: 1,024 bytes
    /// frame.resize(3 + 1024, 7);
    /// let frame = Bytes::from(frame);
    /// let batch = person.decode_batch_bytes([frame.clone()]);
    /// let message = batch.get(0).unwrap().unwrap();
    /// assert_eq!(message.get(person.shape().bytes("avatar")?).as_ptr(), frame[3..].as_ptr());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decode_batch_bytes(&self, frames: impl IntoIterator<Item = Bytes>) -> Batch {
        let frames = frames.into_iter();
        let mut batch = Builder::new(self, frames.size_hint().0, Arena::new());
        let mut kept = Vec::new();
        for frame in frames {
            // SAFETY: what the message may point into is kept alive by the arena, below.
            unsafe { batch.decode(&frame, Input::Borrow) };
            if frame.len() > SMALL_INPUT {
                kept.push(frame);
            }
        }
        batch.finish(kept)
    }
}

struct Builder<'t> {
    ty: &'t MessageType,
    messages: Vec<*const u8>,
    errors: Vec<(usize, DecodeError)>,
    arena: Arena,
}

impl<'t> Builder<'t> {
    fn new(ty: &'t MessageType, expected: usize, arena: Arena) -> Builder<'t> {
        // A claim, not a fact.
        let expected = expected.min(1 << 16);
        Builder { ty, messages: Vec::with_capacity(expected), errors: Vec::new(), arena }
    }

    /// # Safety
    /// With [`Input::Borrow`] the frame stays there as long as the arena.
    #[inline]
    unsafe fn decode(&mut self, frame: &[u8], input: Input) {
        // SAFETY: as promised to this function; messages are read as long as the arena is not reset.
        match unsafe { self.ty.root(frame, &self.arena, input) } {
            Ok(root) => self.messages.push(root.as_ptr()),
            Err(error) => {
                self.errors.push((self.messages.len(), error));
                self.messages.push(std::ptr::null());
            }
        }
    }

    /// The batch, which keeps these inputs alive.
    fn finish(self, inputs: Vec<Bytes>) -> Batch {
        let Builder { ty, messages, errors, mut arena } = self;
        // The shape is kept by the batch itself.
        arena.release_owners();
        if !inputs.is_empty() {
            arena.pin(&Arc::new(Kept(inputs)));
        }
        Batch(Arc::new(Records { messages, errors, shape: ty.shape().clone(), arena }))
    }
}

impl Batch {
    /// Number of records, those that could not be decoded included.
    pub fn len(&self) -> usize {
        self.0.messages.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.messages.is_empty()
    }

    /// The record at a position, `None` beyond the last.
    #[inline]
    pub fn get(&self, at: usize) -> Option<Result<MessageRef<'_>, &DecodeError>> {
        self.0.messages.get(at).map(|&message| self.0.record(at, message))
    }

    /// The records, in the order of the frames.
    pub fn iter(&self) -> BatchIter<'_> {
        BatchIter { records: &self.0, rest: 0..self.0.messages.len() }
    }

    /// The records that could not be decoded, by position.
    ///
    /// ```
    /// # let set = &protojit_source::ProtoSources::new().include("examples").compile(["hello.proto"])?;
    /// # let person = protojit::Runtime::new().register(set)?.message("hello.Person")?;
    /// let batch = person.decode_batch([&b"\x08"[..], b"", b"\xff"]);
    /// assert_eq!(batch.errors().map(|(at, _)| at).collect::<Vec<_>>(), [0, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn errors(&self) -> impl Iterator<Item = (usize, &DecodeError)> {
        self.0.errors.iter().map(|(at, error)| (*at, error))
    }

    /// The shape of all messages.
    pub fn shape(&self) -> &Shape {
        &self.0.shape
    }

    /// The arena, to be used again for the next batch; what was in it is gone. `None` where there are other clones of
    /// this batch.
    ///
    /// ```
    /// # let set = &protojit_source::ProtoSources::new().include("examples").compile(["hello.proto"])?;
    /// # let person = protojit::Runtime::new().register(set)?.message("hello.Person")?;
    /// let mut arena = protojit::Arena::new();
    /// for frames in [vec![b"\x10\x01", b"\x10\x02"], vec![b"\x10\x03"]] {
    ///     let batch = person.decode_batch_in(&frames, arena);
    ///     assert_eq!(batch.len(), frames.len());
    ///     arena = batch.into_arena().unwrap_or_default();
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_arena(self) -> Option<Arena> {
        let mut arena = Arc::into_inner(self.0)?.arena;
        arena.release_owners();
        arena.reset();
        Some(arena)
    }
}

impl Records {
    #[inline]
    fn record(&self, at: usize, message: *const u8) -> Result<MessageRef<'_>, &DecodeError> {
        if message.is_null() {
            let found = self.errors.binary_search_by_key(&at, |(at, _)| *at);
            return Err(&self.errors[found.unwrap_or_default()].1);
        }
        // SAFETY: a message of this shape in the arena, which stays as it is as long as `self`; so do the inputs that
        // the arena keeps.
        Ok(unsafe { MessageRef::from_raw(message, &self.shape) })
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'b> IntoIterator for &'b Batch {
    type Item = Result<MessageRef<'b>, &'b DecodeError>;
    type IntoIter = BatchIter<'b>;

    fn into_iter(self) -> BatchIter<'b> {
        self.iter()
    }
}

/// The records of a [`Batch`], in order.
#[derive(Clone)]
pub struct BatchIter<'b> {
    records: &'b Records,
    rest: Range<usize>,
}

impl<'b> Iterator for BatchIter<'b> {
    type Item = Result<MessageRef<'b>, &'b DecodeError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.rest.next().map(|at| self.records.record(at, self.records.messages[at]))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rest.size_hint()
    }
}

impl ExactSizeIterator for BatchIter<'_> {}

impl fmt::Debug for BatchIter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}
