//! A message of a registered schema, ready to decode and encode.

use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use protojit_core::error::{DecodeError, EncodeError, EncodeErrorKind, FieldPath};
use protojit_core::memory::{Arena, ArenaFull, Counts, Owner};
use protojit_core::message::{Message, MessageMut, MessageRef};
use protojit_core::program::{DecodeOptions, DecodeProgram, DecodeRef, EncodeOptions, EncodeProgram, Layout, Shape};
use protojit_core::schema::MessageDescriptor;
use protojit_core::schema::model::MessageId;
use protojit_interp::decode::{self, COMPILED_CALLS, DISAGREEMENTS, FINISHED_BYTES, INTERPRETED_CALLS, Input};
use protojit_interp::encode::{self, EncodeBuffer, Framing, Target};

use crate::coder::Coder;
use crate::counts::{EncodeCounts, Event};
use crate::engine::{CompileMode, Fallback};
use crate::schema::Schema;
use crate::trace::ProgramTrace;

/// A message of a registered schema with its options, ready to decode and encode. Cheap to clone, `Send + Sync`.
#[derive(Clone, Debug)]
pub struct MessageType {
    pub(crate) inner: Arc<TypeInner>,
}

#[derive(Debug)]
pub(crate) struct TypeInner {
    /// Jobs in the background know the type by this, and do not keep it alive.
    #[cfg(feature = "jit")]
    this: std::sync::Weak<TypeInner>,
    /// The message in `schema`. The programs may be those of an equal message of another schema.
    pub(crate) message: MessageId,
    pub(crate) decode: Coder<DecodeProgram>,
    pub(crate) encode_options: EncodeOptions,
    /// Made and compiled on first use.
    encode: OnceLock<Coder<EncodeProgram>>,
    pub(crate) decode_counts: [AtomicU64; Arena::COUNTERS],
    pub(crate) encode_counts: EncodeCounts,
    /// How many calls went through both engines: decodes, encodes.
    pub(crate) shadowed: [AtomicU64; 2],
    schema: Schema,
}

impl Owner for TypeInner {
    fn add_counts(&self, counts: &Counts) {
        for (sum, count) in self.decode_counts.iter().zip(counts) {
            sum.fetch_add(*count, Ordering::Relaxed);
        }
    }

    #[cfg(feature = "jit")]
    fn disagreement(&self, input: &[u8]) {
        if let Some(inner) = self.this.upgrade() {
            MessageType { inner }.refused_decode(input);
        }
    }
}

impl TypeInner {
    pub(crate) fn new(schema: Schema, message: MessageId, decode: DecodeRef, encode: EncodeOptions) -> Arc<Self> {
        Arc::new_cyclic(|_this| TypeInner {
            #[cfg(feature = "jit")]
            this: _this.clone(),
            message,
            decode: Coder::new(decode),
            encode_options: encode,
            encode: OnceLock::new(),
            decode_counts: Default::default(),
            encode_counts: EncodeCounts::default(),
            shadowed: Default::default(),
            schema,
        })
    }

    #[inline]
    pub(crate) fn encode(&self) -> &Coder<EncodeProgram> {
        self.encode.get_or_init(|| {
            let shape = self.decode.program.shape();
            Coder::new(self.schema.inner().programs.encode_shape(shape, self.encode_options))
        })
    }

    /// The way into compiled decode.
    #[cfg(feature = "jit")]
    #[inline]
    fn decode_code(&self) -> Result<protojit_jit::stubs::EntryThunk, &Fallback> {
        // SAFETY: `self.schema` is the programs' schema, kept alive by `self`.
        unsafe {
            self.decode.code_by_mode(self.schema.inner(), || {
                self.request(|ty| {
                    let _ = ty.compile_decode();
                })
            })
        }
    }

    /// The way into compiled encode.
    #[cfg(feature = "jit")]
    #[inline]
    fn encode_code<'t>(
        &'t self,
        coder: &'t Coder<EncodeProgram>,
    ) -> Result<protojit_jit::stubs::EncodeThunk, &'t Fallback> {
        // SAFETY: `self.schema` is the programs' schema, kept alive by `self`.
        unsafe {
            coder.code_by_mode(self.schema.inner(), || {
                self.request(|ty| {
                    let _ = ty.compile_encode();
                })
            })
        }
    }

    /// Has another thread compile a part of this type, if it is still there by then.
    #[cfg(feature = "jit")]
    fn request(&self, compile: impl FnOnce(&TypeInner) + Send + 'static) -> std::io::Result<()> {
        let this = self.this.clone();
        self.schema.runtime().inner.background.run(Box::new(move || {
            if let Some(this) = this.upgrade() {
                compile(&this);
            }
        }))
    }

    #[cfg(feature = "jit")]
    fn compile_decode(&self) -> Result<(), &Fallback> {
        // SAFETY: `self.schema` is the programs' schema, kept alive by `self`.
        unsafe { self.decode.code(self.schema.inner()) }.map(drop)
    }

    #[cfg(feature = "jit")]
    fn compile_encode(&self) -> Result<(), &Fallback> {
        // SAFETY: as above.
        unsafe { self.encode().code(self.schema.inner()) }.map(drop)
    }

    pub(crate) fn trace(&self, rows: &mut Vec<ProgramTrace>, seen: &mut HashMap<usize, usize>) {
        let schema = self.schema.inner();
        let at = self.decode.trace(schema, rows, seen);
        let [compiled, interpreted, finished, disagreements] =
            [COMPILED_CALLS, INTERPRETED_CALLS, FINISHED_BYTES, DISAGREEMENTS]
                .map(|at| self.decode_counts[at].load(Ordering::Relaxed));
        let row = &mut rows[at];
        row.root = true;
        row.compiled_calls += compiled;
        row.interpreted_calls += interpreted;
        row.finished_bytes += finished;
        row.disagreements += disagreements;
        row.shadowed_calls += self.shadowed[0].load(Ordering::Relaxed);
        if let Some(encode) = self.encode.get() {
            let at = encode.trace(schema, rows, seen);
            let row = &mut rows[at];
            row.root = true;
            row.compiled_calls += self.encode_counts.sum(Event::Compiled);
            row.interpreted_calls += self.encode_counts.sum(Event::Interpreted);
            row.disagreements += self.encode_counts.sum(Event::Disagreement);
            row.shadowed_calls += self.shadowed[1].load(Ordering::Relaxed);
        }
    }
}

impl MessageType {
    /// A type, compiled now if the runtime is eager, and soon if that is done in the background.
    pub(crate) fn compiled_by_mode(inner: Arc<TypeInner>) -> MessageType {
        #[cfg(feature = "jit")]
        if inner.schema.runtime().inner.options.mode != CompileMode::Lazy {
            // An error is kept, and shows in the trace.
            let _ = inner.decode_code();
        }
        #[cfg(not(feature = "jit"))]
        let _ = CompileMode::Eager;
        MessageType { inner }
    }

    /// The same message with other decode options. Options are compiled in: this may compile.
    pub fn with_decode_options(&self, options: DecodeOptions) -> MessageType {
        let (schema, message) = (&self.inner.schema, self.inner.message);
        let program = schema.inner().programs.rebind(message, self.shape(), options);
        schema.message_type_of(message, program, self.inner.encode_options)
    }

    /// The same message with other encode options.
    pub fn with_encode_options(&self, options: EncodeOptions) -> MessageType {
        self.inner.schema.message_type_of(self.inner.message, self.inner.decode.program.clone(), options)
    }

    /// The schema.
    pub fn schema(&self) -> &Schema {
        &self.inner.schema
    }

    /// The descriptor.
    pub fn descriptor(&self) -> MessageDescriptor {
        self.inner.schema.descriptors().message_by_id(self.inner.message)
    }

    /// Full name, such as `hello.Person`.
    pub fn full_name(&self) -> &str {
        &self.inner.schema.descriptors().data().message(self.inner.message).full_name
    }

    /// The shape that it decodes into: all fields, known extensions included, unless it was [bound](MessageType::bind)
    /// to another. Field handles are resolved on it.
    pub fn shape(&self) -> &Shape {
        self.inner.decode.program.shape()
    }

    /// Compiles decode and encode now, whatever the mode; waits where another thread is at it.
    ///
    /// # Errors
    /// Why one of them is interpreted.
    pub fn compile(&self) -> Result<(), Fallback> {
        #[cfg(feature = "jit")]
        return self.inner.compile_decode().and_then(|()| self.inner.compile_encode()).map_err(Clone::clone);
        #[cfg(not(feature = "jit"))]
        Err(self.inner.schema.runtime().inner.no_compiler().clone())
    }

    /// Whether decoding runs compiled code. Compiles in lazy mode; does not wait in background mode.
    ///
    /// # Errors
    /// Why it does not.
    pub fn is_compiled(&self) -> Result<(), Fallback> {
        #[cfg(feature = "jit")]
        return match self.inner.decode_code() {
            Err(fallback) if self.inner.decode.shadowed().is_none() => Err(fallback.clone()),
            _ => Ok(()),
        };
        #[cfg(not(feature = "jit"))]
        Err(self.inner.schema.runtime().inner.no_compiler().clone())
    }

    /// Whether encoding runs compiled code. Compiles what was not yet: encoding is otherwise compiled on first use.
    ///
    /// # Errors
    /// Why it does not.
    pub fn is_encode_compiled(&self) -> Result<(), Fallback> {
        #[cfg(feature = "jit")]
        // SAFETY: the type's schema is the program's, kept alive by `self`.
        return unsafe { self.inner.encode().code(self.inner.schema.inner()) }.map(drop).map_err(Clone::clone);
        #[cfg(not(feature = "jit"))]
        Err(self.inner.schema.runtime().inner.no_compiler().clone())
    }

    /// Decodes a message that borrows `input` where that is large; small inputs are copied into the arena.
    ///
    /// # Errors
    /// The bytes are no valid message, or a limit is reached.
    #[inline]
    pub fn decode<'a>(&self, input: &'a [u8], arena: &'a Arena) -> Result<MessageRef<'a>, DecodeError> {
        // SAFETY: input and arena both outlive `'a`.
        let root = unsafe { self.root(input, arena, Input::Borrow) }?;
        Ok(self.message_ref(root, arena))
    }

    /// Decodes a message that keeps nothing of `input`: its bytes are copied into the arena.
    ///
    /// # Errors
    /// As [`MessageType::decode`].
    pub fn decode_copied<'a>(&self, input: &[u8], arena: &'a Arena) -> Result<MessageRef<'a>, DecodeError> {
        // SAFETY: with `Input::Copy` the message borrows the arena only.
        let root = unsafe { self.root(input, arena, Input::Copy) }?;
        Ok(self.message_ref(root, arena))
    }

    /// Decodes into a message that owns its memory.
    ///
    /// # Errors
    /// As [`MessageType::decode`].
    pub fn decode_owned(&self, input: &[u8]) -> Result<Message, DecodeError> {
        let mut arena = Arena::with_capacity(input.len() * 2 + 512);
        // SAFETY: with `Input::Copy` the message borrows the arena only.
        let root = unsafe { self.root(input, &arena, Input::Copy) }?;
        // The message keeps its layout alive itself.
        arena.release_owners();
        // SAFETY: the root lies in this arena, in this shape, and borrows nothing else.
        Ok(unsafe { Message::from_parts(arena, root.as_ptr(), self.shape().clone()) })
    }

    /// Decodes; the arena keeps this type, hence the layout, alive until it is reset.
    ///
    /// # Safety
    /// The message is read only while the arena is not reset, and with [`Input::Borrow`] while `input` is there.
    #[inline]
    pub(crate) unsafe fn root(&self, input: &[u8], arena: &Arena, mode: Input) -> Result<NonNull<u8>, DecodeError> {
        // SAFETY: as promised to this function; there is no message to merge into.
        unsafe { self.run(None, input, arena, mode) }
    }

    /// Merges into a message; nothing of `input` is kept.
    ///
    /// # Safety
    /// `message` is a live message of this type's layout in `arena`, and nobody else uses it meanwhile.
    pub(crate) unsafe fn merge_root(&self, message: *mut u8, input: &[u8], arena: &Arena) -> Result<(), DecodeError> {
        // SAFETY: as promised to this function; with `Input::Copy` the message borrows the arena only.
        unsafe { self.run(NonNull::new(message), input, arena, Input::Copy) }.map(drop)
    }

    /// # Safety
    /// As [`MessageType::root`], and as [`MessageType::merge_root`] where there is a message.
    #[inline]
    unsafe fn run(
        &self,
        message: Option<NonNull<u8>>,
        input: &[u8],
        arena: &Arena,
        mode: Input,
    ) -> Result<NonNull<u8>, DecodeError> {
        arena.pin(&self.inner);
        let program: &DecodeProgram = &self.inner.decode.program;
        let limits = &self.inner.schema.runtime().inner.options.limits;
        #[cfg(feature = "jit")]
        if let Ok(thunk) = self.inner.decode_code() {
            // SAFETY: as promised to this function.
            return unsafe { self.run_compiled::<false>(thunk, message, input, arena, mode) };
        }
        #[cfg(feature = "jit")]
        if let Some(thunk) = self.inner.decode.shadowed() {
            // SAFETY: as promised to this function.
            return unsafe { self.run_shadowed(thunk, message, input, arena, mode) };
        }
        match message {
            None => decode::decode(program, input, arena, limits, mode),
            // SAFETY: as promised to this function.
            Some(message) => unsafe { decode::merge(program, message, input, arena, limits, mode) }.map(|()| message),
        }
    }

    /// # Safety
    /// As [`MessageType::run`]; the thunk is the one of this type's decode.
    #[cfg(feature = "jit")]
    #[cold]
    unsafe fn run_shadowed(
        &self,
        thunk: protojit_jit::stubs::EntryThunk,
        message: Option<NonNull<u8>>,
        input: &[u8],
        arena: &Arena,
        mode: Input,
    ) -> Result<NonNull<u8>, DecodeError> {
        // SAFETY: as promised to this function.
        let root = unsafe { self.run_compiled::<true>(thunk, message, input, arena, mode) }?;
        if message.is_none() {
            self.shadow_decode(input, root);
        }
        Ok(root)
    }

    /// One for each value of `SHADOW`, so that the driver is inlined where there is no shadow.
    ///
    /// # Safety
    /// As [`MessageType::run_shadowed`].
    #[cfg(feature = "jit")]
    #[inline(always)]
    unsafe fn run_compiled<const SHADOW: bool>(
        &self,
        thunk: protojit_jit::stubs::EntryThunk,
        message: Option<NonNull<u8>>,
        input: &[u8],
        arena: &Arena,
        mode: Input,
    ) -> Result<NonNull<u8>, DecodeError> {
        let program: &DecodeProgram = &self.inner.decode.program;
        let limits = &self.inner.schema.runtime().inner.options.limits;
        let entry = program.entry.load(Ordering::Acquire);
        let frame = |_: &DecodeProgram, p, limit, message, ctx: &mut decode::DecodeCtx| {
            let depth = u64::from(ctx.depth);
            ctx.thunk = thunk as *const ();
            // SAFETY: `entry` is this program's compiled code, kept alive by the schema; the driver hands over a
            // valid frame.
            unsafe { protojit_jit::stubs::enter_decode(thunk, p, limit, message, depth, ctx, entry.cast()) }
        };
        // SAFETY: as promised to this function; compiled code keeps what the interpreter promises.
        unsafe { decode::decode_with(frame, program, message, input, arena, limits, mode) }
    }

    #[inline]
    fn message_ref<'a>(&self, root: NonNull<u8>, _arena: &'a Arena) -> MessageRef<'a> {
        // SAFETY: the root was decoded into the arena with this type's layout. The arena keeps this type, hence the
        // layout, alive until a reset, which ends `'a`.
        unsafe {
            let layout = &*std::ptr::from_ref::<Layout>(self.shape());
            MessageRef::from_raw(root.as_ptr(), layout)
        }
    }

    /// A new, empty message.
    ///
    /// # Errors
    /// The arena is full.
    pub fn new_in<'a>(&self, arena: &'a Arena) -> Result<MessageMut<'a>, ArenaFull> {
        arena.pin(&self.inner);
        // SAFETY: the arena keeps the layout alive, as in `run`.
        let layout = unsafe { &*std::ptr::from_ref::<Layout>(self.shape()) };
        MessageMut::new(layout, arena)
    }

    /// A new, empty message that owns its memory.
    pub fn new_message(&self) -> Message {
        Message::new(self.shape().clone())
    }

    /// Encodes into a reused buffer and gives the bytes, which lie at the buffer's end. Copies nothing afterwards.
    ///
    /// # Errors
    /// A required field is missing, a limit is reached, or the message is of another type.
    #[inline]
    pub fn encode_into<'b>(&self, message: MessageRef<'_>, out: &'b mut EncodeBuffer) -> Result<&'b [u8], EncodeError> {
        self.encode_to(message, Target::Buffer(out), Framing::Bare).map(|bytes| &*bytes)
    }

    /// As [`MessageType::encode_into`], with the message's length before it as a varint: a record of a delimited stream.
    ///
    /// # Errors
    /// As [`MessageType::encode_into`].
    pub fn encode_delimited_into<'b>(
        &self,
        message: MessageRef<'_>,
        out: &'b mut EncodeBuffer,
    ) -> Result<&'b [u8], EncodeError> {
        self.encode_to(message, Target::Buffer(out), Framing::Delimited).map(|bytes| &*bytes)
    }

    /// Appends to a vector; gives the appended bytes. After an error the vector is as it was.
    ///
    /// # Errors
    /// As [`MessageType::encode_into`].
    pub fn append_to<'b>(&self, message: MessageRef<'_>, out: &'b mut Vec<u8>) -> Result<&'b [u8], EncodeError> {
        self.encode_to(message, Target::Append(out), Framing::Bare).map(|bytes| &*bytes)
    }

    /// As [`MessageType::append_to`], with the message's length before it as a varint.
    ///
    /// # Errors
    /// As [`MessageType::encode_into`].
    pub fn append_delimited_to<'b>(
        &self,
        message: MessageRef<'_>,
        out: &'b mut Vec<u8>,
    ) -> Result<&'b [u8], EncodeError> {
        self.encode_to(message, Target::Append(out), Framing::Delimited).map(|bytes| &*bytes)
    }

    /// Encodes into the front of a slice; gives the part that was written.
    ///
    /// # Errors
    /// As [`MessageType::encode_into`]; also where the slice is too small: the error says how many bytes are needed.
    pub fn encode_to_slice<'b>(&self, message: MessageRef<'_>, out: &'b mut [u8]) -> Result<&'b [u8], EncodeError> {
        self.encode_to(message, Target::Slice(out), Framing::Bare).map(|bytes| &*bytes)
    }

    /// Encodes into anything that takes bytes, by way of a reused buffer: one copy more than [`MessageType::encode_into`]. Gives the
    /// number of bytes; after an error nothing was put.
    ///
    /// ```
    /// use protojit::{Arena, EncodeBuffer, Runtime};
    /// // A file descriptor set: message "P" with "string n = 1".
    /// let set = b"\x0a\x1b\x0a\x01f\x22\x0e\x0a\x01P\x12\x09\x0a\x01n\x18\x01 \x01(\x09b\x06proto3";
    /// let ty = Runtime::new().register(set)?.message("P")?;
    /// let arena = Arena::new();
    /// let message = ty.decode(b"\x0a\x03Ada", &arena)?;
    /// let mut out = bytes::BytesMut::new();
    /// assert_eq!(ty.put_to(message, &mut EncodeBuffer::new(), &mut out)?, 5);
    /// assert_eq!(&out[..], b"\x0a\x03Ada");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`MessageType::encode_into`]; also where `out` has not room for all of it.
    pub fn put_to(
        &self,
        message: MessageRef<'_>,
        buffer: &mut EncodeBuffer,
        out: &mut impl bytes::BufMut,
    ) -> Result<usize, EncodeError> {
        let bytes = self.encode_into(message, buffer)?;
        if out.remaining_mut() < bytes.len() {
            return Err(self.encode_error(EncodeErrorKind::BufferTooSmall { needed: bytes.len() }));
        }
        out.put_slice(bytes);
        Ok(bytes.len())
    }

    /// Encodes into a new vector.
    ///
    /// # Errors
    /// As [`MessageType::encode_into`].
    pub fn encode_to_vec(&self, message: MessageRef<'_>) -> Result<Vec<u8>, EncodeError> {
        let mut out = Vec::new();
        self.append_to(message, &mut out)?;
        Ok(out)
    }

    /// How many bytes the message takes when it is encoded, without encoding it. By the interpreter; whoever wants the bytes next
    /// encodes into a buffer and looks at their length. Missing required fields do not matter here.
    ///
    /// # Errors
    /// A limit is reached, or the message is of another type.
    pub fn encoded_len(&self, message: MessageRef<'_>) -> Result<usize, EncodeError> {
        self.check_type(message)?;
        let limits = &self.inner.schema.runtime().inner.options.limits;
        // SAFETY: a live message of the program's layout, by the check above.
        unsafe { encode::encoded_len(&self.inner.encode().program, message.as_ptr(), limits) }
    }

    #[inline]
    fn check_type(&self, message: MessageRef<'_>) -> Result<(), EncodeError> {
        if message.layout().id == self.shape().id { Ok(()) } else { Err(self.encode_error(EncodeErrorKind::WrongType)) }
    }

    #[cold]
    fn encode_error(&self, kind: EncodeErrorKind) -> EncodeError {
        EncodeError::new(kind, FieldPath::new(self.shape().schema.clone(), self.shape().message, Vec::new()))
    }

    #[inline]
    fn encode_to<'b>(
        &self,
        message: MessageRef<'_>,
        target: Target<'b>,
        framing: Framing,
    ) -> Result<&'b mut [u8], EncodeError> {
        let inner = &*self.inner;
        let limits = &inner.schema.runtime().inner.options.limits;
        self.check_type(message)?;
        let coder = inner.encode();
        let program: &EncodeProgram = &coder.program;
        let message = message.as_ptr();
        #[cfg(feature = "jit")]
        if let Ok(thunk) = inner.encode_code(coder) {
            // SAFETY: a live message of the program's layout, by the check above.
            return unsafe { self.encode_compiled::<false>(thunk, program, message, target, framing) };
        }
        #[cfg(feature = "jit")]
        if let Some(thunk) = coder.shadowed() {
            // SAFETY: as above.
            return unsafe { self.encode_shadowed(thunk, program, message, target, framing) };
        }
        inner.encode_counts.count(Event::Interpreted);
        // SAFETY: a live message of the program's layout, by the check above.
        unsafe { encode::encode_framed(program, message, target, framing, limits) }
    }
    /// # Safety
    /// `message` is a live message of this type's layout; the thunk is the one of this type's encode.
    #[cfg(feature = "jit")]
    #[cold]
    unsafe fn encode_shadowed<'b>(
        &self,
        thunk: protojit_jit::stubs::EncodeThunk,
        program: &EncodeProgram,
        message: *const u8,
        target: Target<'b>,
        framing: Framing,
    ) -> Result<&'b mut [u8], EncodeError> {
        // SAFETY: as promised to this function.
        unsafe {
            let encoded = self.encode_compiled::<true>(thunk, program, message, target, framing)?;
            self.shadow_encode(program, message, framing, encoded);
            Ok(encoded)
        }
    }

    /// # Safety
    /// As [`MessageType::encode_shadowed`].
    #[cfg(feature = "jit")]
    #[inline(always)]
    unsafe fn encode_compiled<'b, const SHADOW: bool>(
        &self,
        thunk: protojit_jit::stubs::EncodeThunk,
        program: &EncodeProgram,
        message: *const u8,
        target: Target<'b>,
        framing: Framing,
    ) -> Result<&'b mut [u8], EncodeError> {
        let inner = &*self.inner;
        let limits = &inner.schema.runtime().inner.options.limits;
        inner.encode_counts.count(Event::Compiled);
        let entry = program.entry.load(Ordering::Acquire);
        let frame = |_: &EncodeProgram, message, at, ctx: &mut encode::EncodeCtx| {
            let depth = u64::from(ctx.depth);
            // SAFETY: `entry` is this program's compiled code, kept alive by the schema; the driver hands over a live
            // message and the context's position.
            unsafe { protojit_jit::stubs::enter_encode(thunk, at, message, depth, ctx, entry.cast()) }
        };
        // SAFETY: as promised to this function; compiled code keeps what the interpreter promises.
        unsafe {
            encode::encode_with(frame, program, message, target, framing, limits, move || {
                self.refused_encode(program, message, framing);
            })
        }
    }
}
