//! Messages that keep their input, take it in pieces, or are changed and passed on.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use bytes::{Buf, Bytes};
use protojit_core::error::{DecodeError, DecodeErrorKind, EncodeError, FieldPath};
use protojit_core::memory::{Arena, Counts, Owner};
use protojit_core::message::{Message, MessageMut, MessageRef};
use protojit_interp::decode::{Input, SMALL_INPUT};
use protojit_interp::encode::EncodeBuffer;

use crate::message_type::MessageType;

/// Inputs that messages in an arena point into.
pub(crate) struct Kept(#[expect(dead_code, reason = "only there to be kept alive")] pub(crate) Vec<Bytes>);

impl Owner for Kept {
    fn add_counts(&self, _: &Counts) {}
}

impl MessageType {
    /// Decodes into a message that owns its memory, without copying inputs of more than 512 bytes: its strings, bytes and
    /// unknown fields point into `input`, which it keeps alive, all of it, as long as it lives.
    /// [`Message::compact`] makes a copy that lets go of the input; [`MessageType::decode_owned`] keeps nothing of it in
    /// the first place.
    ///
    /// ```
    /// # let set = &protojit_source::ProtoSources::new().include("examples").compile(["hello.proto"])?;
    /// # let person = protojit::Runtime::new().register(set)?.message("hello.Person")?;
    /// use bytes::Bytes;
    ///
    /// let avatar = person.shape().bytes("avatar")?;
    /// let input = Bytes::from([&b"\x42\x80\x08"[..], &[7; 1024]].concat()); // avatar: 1,024 bytes
    /// let message = person.decode_bytes(input.clone())?;
    /// assert_eq!(message.as_ref().get(avatar).as_ptr(), input[3..].as_ptr());
    /// assert!(!input.is_unique());
    /// let compact = message.compact();
    /// drop(message);
    /// assert!(input.is_unique());
    /// assert_eq!(compact.as_ref().get(avatar), &input[3..]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`MessageType::decode`].
    pub fn decode_bytes(&self, input: Bytes) -> Result<Message, DecodeError> {
        if input.len() <= SMALL_INPUT {
            return self.decode_owned(&input);
        }
        let mut arena = Arena::with_capacity(input.len() / 2 + 512);
        // SAFETY: the arena keeps the input alive, below; the message is read while there is the arena.
        let root = unsafe { self.root(&input, &arena, Input::Borrow) }?;
        arena.release_owners();
        arena.pin(&Arc::new(Kept(vec![input])));
        // SAFETY: the root lies in this arena, in this shape, and borrows nothing but what the arena keeps alive.
        Ok(unsafe { Message::from_parts(arena, root.as_ptr(), self.shape().clone()) })
    }

    /// Decodes from a buffer that may lie in pieces: all that remains of it, which is consumed. A message must lie in one
    /// piece to be decoded; what does not is copied together once.
    ///
    /// ```
    /// # let set = &protojit_source::ProtoSources::new().include("examples").compile(["hello.proto"])?;
    /// # let person = protojit::Runtime::new().register(set)?.message("hello.Person")?;
    /// use bytes::Buf;
    ///
    /// let arena = protojit::Arena::new();
    /// let pieces = b"\x0a\x03A"[..].chain(&b"da\x10\x24"[..]);
    /// let message = person.decode_buf(pieces, &arena)?;
    /// assert_eq!(message.get(person.shape().str("name")?), "Ada");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`MessageType::decode`].
    pub fn decode_buf<'a>(&self, mut input: impl Buf, arena: &'a Arena) -> Result<MessageRef<'a>, DecodeError> {
        let len = input.remaining();
        if input.chunk().len() == len {
            let decoded = self.decode_copied(input.chunk(), arena);
            input.advance(len);
            return decoded;
        }
        self.decode_copied(&input.copy_to_bytes(len), arena)
    }

    /// As [`MessageType::decode_buf`], into a message that owns its memory.
    ///
    /// # Errors
    /// As [`MessageType::decode`].
    pub fn decode_buf_owned(&self, mut input: impl Buf) -> Result<Message, DecodeError> {
        let len = input.remaining();
        // Costs nothing where the buffer is `Bytes` itself.
        self.decode_bytes(input.copy_to_bytes(len))
    }

    /// Decodes a message to be changed. Otherwise as [`MessageType::decode`].
    ///
    /// ```
    /// # let set = &protojit_source::ProtoSources::new().include("examples").compile(["hello.proto"])?;
    /// # let person = protojit::Runtime::new().register(set)?.message("hello.Person")?;
    /// use protojit::{Arena, EncodeBuffer};
    ///
    /// let name = person.shape().str("name")?;
    /// let (arena, mut out) = (Arena::new(), EncodeBuffer::new());
    /// let mut m = person.decode_mut(b"\x0a\x03Ada\xa0\x06\x05", &arena)?; // and field 100, which is unknown
    /// m.set(name, "Eve")?;
    /// assert_eq!(m.encode_into(&mut out)?, b"\x0a\x03Eve\xa0\x06\x05");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`MessageType::decode`].
    pub fn decode_mut<'a>(&'a self, input: &'a [u8], arena: &'a Arena) -> Result<MessageEdit<'a>, DecodeError> {
        // SAFETY: input and arena both outlive `'a`.
        let root = unsafe { self.root(input, arena, Input::Borrow) }?;
        // SAFETY: a new message of this layout in this arena, which nobody else knows; strings in the input are replaced,
        // never written to. The layout is kept alive by `self`.
        let message = unsafe { MessageMut::from_raw(root.as_ptr(), self.shape(), arena) };
        Ok(MessageEdit { message, ty: self })
    }

    /// A new, empty message to be filled and encoded.
    ///
    /// ```
    /// # let set = &protojit_source::ProtoSources::new().include("examples").compile(["hello.proto"])?;
    /// # let person = protojit::Runtime::new().register(set)?.message("hello.Person")?;
    /// let arena = protojit::Arena::new();
    /// let mut m = person.build(&arena)?;
    /// m.set(person.shape().i32("age")?, 36)?;
    /// assert_eq!(m.encode_to_vec()?, b"\x10\x24");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The arena is full.
    pub fn build<'a>(&'a self, arena: &'a Arena) -> Result<MessageEdit<'a>, protojit_core::memory::ArenaFull> {
        Ok(MessageEdit { message: self.new_in(arena)?, ty: self })
    }

    /// Decodes into a message that may have fields already: singular fields are replaced, messages merged, lists and maps
    /// added to. Nothing of the input is kept. To decode anew into the same message [clear](MessageMut::clear) it first;
    /// what it took in its arena stays taken until the arena is reset.
    ///
    /// ```
    /// # let set = &protojit_source::ProtoSources::new().include("examples").compile(["hello.proto"])?;
    /// # let person = protojit::Runtime::new().register(set)?.message("hello.Person")?;
    /// let mut message = person.decode_owned(b"\x0a\x03Ada\x1a\x01a")?;
    /// person.merge(&mut message.as_mut(), b"\x0a\x03Eve\x1a\x01b")?;
    /// assert_eq!(message.as_ref().get(person.shape().str("name")?), "Eve");
    /// assert_eq!(message.as_ref().get(person.shape().list_str("emails")?).len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`MessageType::decode`]; the message then has a part of the input. Also where it is of another type.
    pub fn merge(&self, message: &mut MessageMut<'_>, input: &[u8]) -> Result<(), DecodeError> {
        if message.layout().id != self.shape().id {
            let path = FieldPath::new(self.shape().schema.clone(), self.shape().message, Vec::new());
            return Err(DecodeError::new(DecodeErrorKind::WrongType, 0, path));
        }
        // SAFETY: a live message of this layout in its arena, which is borrowed alone; nothing of the input is kept.
        unsafe { self.merge_root(message.as_ptr(), input, message.arena()) }
    }
}

/// A message that is being changed, and its type, which can encode it. Derefs to [`MessageMut`].
///
/// Made by [`MessageType::decode_mut`] and [`MessageType::build`]; see there for examples.
pub struct MessageEdit<'a> {
    message: MessageMut<'a>,
    ty: &'a MessageType,
}

impl<'a> MessageEdit<'a> {
    /// The type.
    pub fn message_type(&self) -> &'a MessageType {
        self.ty
    }

    /// As [`MessageType::encode_into`].
    ///
    /// # Errors
    /// As there.
    pub fn encode_into<'b>(&self, out: &'b mut EncodeBuffer) -> Result<&'b [u8], EncodeError> {
        self.ty.encode_into(self.message.as_ref(), out)
    }

    /// As [`MessageType::append_to`].
    ///
    /// # Errors
    /// As there.
    pub fn append_to<'b>(&self, out: &'b mut Vec<u8>) -> Result<&'b [u8], EncodeError> {
        self.ty.append_to(self.message.as_ref(), out)
    }

    /// As [`MessageType::encode_to_vec`].
    ///
    /// # Errors
    /// As there.
    pub fn encode_to_vec(&self) -> Result<Vec<u8>, EncodeError> {
        self.ty.encode_to_vec(self.message.as_ref())
    }

    /// As [`MessageType::merge`].
    ///
    /// # Errors
    /// As there.
    pub fn merge(&mut self, input: &[u8]) -> Result<(), DecodeError> {
        self.ty.merge(&mut self.message, input)
    }

    /// The message, from now on only to be read.
    pub fn freeze(self) -> MessageRef<'a> {
        self.message.freeze()
    }
}

impl<'a> Deref for MessageEdit<'a> {
    type Target = MessageMut<'a>;

    fn deref(&self) -> &MessageMut<'a> {
        &self.message
    }
}

impl<'a> DerefMut for MessageEdit<'a> {
    fn deref_mut(&mut self) -> &mut MessageMut<'a> {
        &mut self.message
    }
}

impl fmt::Debug for MessageEdit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message.fmt(f)
    }
}
