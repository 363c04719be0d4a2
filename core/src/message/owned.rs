//! Messages that own their memory.

use std::fmt;
use std::ptr::NonNull;

use super::{MessageMut, MessageRef, SetError};
use crate::memory::{Arena, ArenaFull};
use crate::program::Shape;

/// A message with its own arena, which keeps its shape alive: `Send + Sync + 'static`.
///
/// What it is decoded from may be borrowed by it (the arena then keeps the input alive); [`Message::compact`] makes a
/// copy that stands alone. Each message counts as one owner of its shape: where many threads make many messages of one
/// type, messages in an arena avoid that counter.
///
/// ```
/// # let set = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/message.binpb"));
/// # let schema = protojit_core::schema::Schema::from_descriptor_set(&set[..])?;
/// # let programs = protojit_core::program::Programs::new(schema.shared().clone());
/// # let shape = programs.shape(schema.message("t.Person").unwrap().id());
/// use protojit_core::message::Message;
///
/// let name = shape.str("name")?;
/// let mut message = Message::new(shape);
/// message.as_mut().set(name, "Ada")?;
/// let copy = message.clone();
/// let thread = std::thread::spawn(move || copy.as_ref().get(name).len());
/// assert_eq!(thread.join().unwrap(), message.as_ref().get(name).len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Message {
    /// Only ever used through `&mut self`.
    arena: Arena,
    root: NonNull<u8>,
    shape: Shape,
}

// SAFETY: an `Arena` is `Send`, and the root lies in it. Shapes are `Send` and `Sync`.
unsafe impl Send for Message {}
// SAFETY: through `&Message` the message's memory is only read. The arena's cells, which are not `Sync`, are reached
// through `&mut Message` alone: by `as_mut` and what is built on it.
unsafe impl Sync for Message {}

impl Message {
    /// A new, empty message.
    pub fn new(shape: Shape) -> Message {
        Message::with_arena(&shape, Arena::new()).expect("an arena's default limit has room for one message")
    }

    /// A new, empty message in an arena, whose limit it is bound by.
    ///
    /// # Errors
    /// The arena is full.
    pub fn with_arena(shape: &Shape, arena: Arena) -> Result<Message, ArenaFull> {
        let root = MessageMut::new(shape, &arena)?.as_ptr();
        // SAFETY: a new message of this shape in this arena.
        Ok(unsafe { Message::from_parts(arena, root, shape.clone()) })
    }

    /// A message in an arena.
    ///
    /// # Safety
    /// `root` is a live message of this shape. It, and all that it points to, lies in `arena`, or is kept alive and
    /// unchanged by what is pinned there, and nobody else can read or change it.
    pub unsafe fn from_parts(arena: Arena, root: *mut u8, shape: Shape) -> Message {
        // SAFETY: messages do not lie at address 0.
        Message { arena, root: unsafe { NonNull::new_unchecked(root) }, shape }
    }

    /// A copy of a message, with a memory of its own that has no limit. The shape of a sub-message is what
    /// [`UnitRef::follow`](crate::program::UnitRef::follow) finds for its slot's child.
    ///
    /// # Errors
    /// The message is not of this shape.
    pub fn copy_of(shape: &Shape, message: MessageRef<'_>) -> Result<Message, SetError> {
        let mut copy = Message::with_arena(shape, Arena::with_limit(usize::MAX)).unwrap_or_else(|_| out_of_memory());
        match copy.as_mut().merge_from(message) {
            Err(SetError::ArenaFull(_)) => out_of_memory(),
            done => done.map(|()| copy),
        }
    }

    /// The message, to be read. (Of an `Arc<Message>`, `(*message).as_ref()`: an `Arc` has an `as_ref` of its own.)
    #[inline]
    pub fn as_ref(&self) -> MessageRef<'_> {
        // SAFETY: the root is alive as long as `self`, and changed through `&mut self` alone.
        unsafe { MessageRef::from_raw(self.root.as_ptr(), &self.shape) }
    }

    /// The message, to be changed.
    #[inline]
    pub fn as_mut(&mut self) -> MessageMut<'_> {
        // SAFETY: the root is alive as long as `self`, which is borrowed alone.
        unsafe { MessageMut::from_raw(self.root.as_ptr(), &self.shape, &self.arena) }
    }

    /// The shape.
    #[inline]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// A copy that takes no more memory than it needs, and keeps no input alive.
    pub fn compact(&self) -> Message {
        self.clone()
    }
}

#[cold]
fn out_of_memory() -> ! {
    std::alloc::handle_alloc_error(std::alloc::Layout::new::<u64>())
}

/// Copies everything, also what was borrowed from the input. The copy's memory has no limit.
impl Clone for Message {
    fn clone(&self) -> Self {
        match Message::copy_of(&self.shape, self.as_ref()) {
            Ok(copy) => copy,
            Err(_) => unreachable!("a message is of its own shape"),
        }
    }
}

/// As [`MessageRef`]'s.
impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        self.as_ref() == other.as_ref()
    }
}

/// As [`MessageRef`]'s.
impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.as_ref(), f)
    }
}
