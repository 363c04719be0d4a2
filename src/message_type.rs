//! A message of a registered schema, ready to decode and encode.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use protojit_core::error::{DecodeError, EncodeError, EncodeErrorKind, FieldPath};
use protojit_core::memory::{Arena, ArenaFull, Counts, Owner};
use protojit_core::message::{Message, MessageMut, MessageRef};
use protojit_core::program::{
    DecodeOptions, DecodeProgram, DecodeRef, EncodeOptions, EncodeProgram, EncodeRef, Layout, Shape,
};
use protojit_core::schema::MessageDescriptor;
use protojit_core::schema::model::MessageId;
use protojit_interp::decode::{self, Input};
use protojit_interp::encode::{self, EncodeBuffer, Target};

use crate::engine::{CompileMode, Fallback};
use crate::schema::Schema;
use crate::trace::{Direction, EngineUsed, ProgramTrace};

/// A message of a registered schema with its options, ready to decode and encode. Cheap to clone, `Send + Sync`.
#[derive(Clone, Debug)]
pub struct MessageType {
    inner: Arc<TypeInner>,
}

#[derive(Debug)]
pub(crate) struct TypeInner {
    message: MessageId,
    decode: DecodeRef,
    encode_options: EncodeOptions,
    encode: OnceLock<EncodeRef>,
    #[cfg(feature = "jit")]
    code: OnceLock<Code>,
    counts: [AtomicU64; Arena::COUNTERS],
    schema: Schema,
}

/// How a type's decode runs.
#[cfg(feature = "jit")]
#[derive(Debug)]
enum Code {
    /// Through this thunk, into the program's entry.
    Compiled(protojit_jit::stubs::EntryThunk),
    Interpreted(Fallback),
}

impl Owner for TypeInner {
    fn add_counts(&self, counts: &Counts) {
        for (sum, count) in self.counts.iter().zip(counts) {
            sum.fetch_add(*count, Ordering::Relaxed);
        }
    }
}

impl TypeInner {
    pub(crate) fn new(schema: Schema, message: MessageId, decode: DecodeOptions, encode: EncodeOptions) -> Arc<Self> {
        Arc::new(TypeInner {
            message,
            decode: schema.inner().programs.decode(message, decode),
            encode_options: encode,
            encode: OnceLock::new(),
            #[cfg(feature = "jit")]
            code: OnceLock::new(),
            counts: Default::default(),
            schema,
        })
    }

    pub(crate) fn is(&self, message: MessageId, decode: DecodeOptions, encode: EncodeOptions) -> bool {
        self.message == message && self.decode.options == decode && self.encode_options == encode
    }

    fn encode_program(&self) -> &EncodeRef {
        self.encode.get_or_init(|| self.schema.inner().programs.encode(self.message, self.encode_options))
    }

    #[cfg(feature = "jit")]
    #[inline]
    fn code(&self) -> &Code {
        self.code.get_or_init(|| self.compile())
    }

    #[cfg(feature = "jit")]
    #[cold]
    fn compile(&self) -> Code {
        let schema = self.schema.inner();
        let compiler = match schema.runtime.inner.compiler() {
            Ok(compiler) => compiler,
            Err(fallback) => return Code::Interpreted(fallback.clone()),
        };
        // SAFETY: the cache and (through the runtime) the compiler belong to the schema, which `self.schema` keeps
        // alive; code runs only in decodes of types of this schema.
        unsafe { schema.code.compile(compiler, &self.decode) };
        match schema.code.unit(self.decode.unit()) {
            Some(Ok(_)) => Code::Compiled(compiler.stubs().thunk()),
            Some(Err(fallback)) => Code::Interpreted(fallback),
            None => Code::Interpreted(Fallback { reason: "not-compiled", detail: "it was not compiled".to_owned() }),
        }
    }

    /// Appends the programs of this type and of what it refers to; `seen` holds what is there already.
    pub(crate) fn trace(&self, programs: &mut Vec<ProgramTrace>, seen: &mut Vec<*const DecodeProgram>) {
        let mut pending = vec![self.decode.unit().clone()];
        // The root comes first, then its unit, then the units it refers to.
        let first = self.decode.unit().clone();
        let members = |unit: &Arc<protojit_core::program::Unit<DecodeProgram>>| unit.members().len();
        let mut order = vec![(first, self.decode.index())];
        let mut units = Vec::new();
        while let Some(unit) = pending.pop() {
            if units.contains(&Arc::as_ptr(&unit)) {
                continue;
            }
            units.push(Arc::as_ptr(&unit));
            order.extend((0..members(&unit)).map(|at| (unit.clone(), at)));
            pending.extend(unit.deps().iter().cloned());
        }
        for (position, (unit, at)) in order.into_iter().enumerate() {
            let Some(program) = unit.members().get(at) else { continue };
            let address: *const DecodeProgram = program;
            let is_root = position == 0;
            if seen.contains(&address) {
                // A type of its own that another one refers to: its calls belong to the row that is there.
                if is_root && let Some(at) = seen.iter().position(|&other| std::ptr::eq(other, address)) {
                    self.add_calls(&mut programs[at]);
                }
                continue;
            }
            seen.push(address);
            let mut row = self.row(&unit, at, program);
            if is_root {
                self.add_calls(&mut row);
            }
            programs.push(row);
        }
    }

    fn add_calls(&self, row: &mut ProgramTrace) {
        let [compiled, interpreted, finished, disagreements] =
            [0, 1, 2, 3].map(|at: usize| self.counts[at].load(Ordering::Relaxed));
        row.root = true;
        row.compiled_calls += compiled;
        row.interpreted_calls += interpreted;
        row.finished_bytes += finished;
        row.disagreements += disagreements;
    }

    fn row(
        &self,
        unit: &Arc<protojit_core::program::Unit<DecodeProgram>>,
        at: usize,
        program: &DecodeProgram,
    ) -> ProgramTrace {
        let mut row = ProgramTrace {
            message: program.schema.message(program.message).full_name.to_string(),
            direction: Direction::Decode,
            engine: EngineUsed::Interp,
            reason: None,
            detail: None,
            code_bytes: 0,
            blocks: 0,
            helper_calls: 0,
            compile_micros: 0,
            root: false,
            compiled_calls: 0,
            interpreted_calls: 0,
            finished_bytes: 0,
            disagreements: 0,
        };
        #[cfg(feature = "jit")]
        match (self.schema.inner().code.unit(unit), self.code.get()) {
            (Some(Ok(compiled)), _) => {
                row.engine = EngineUsed::Jit;
                if let Some(stats) = compiled.stats().get(at) {
                    row.code_bytes = stats.code_bytes;
                    row.blocks = stats.blocks;
                    row.helper_calls = stats.helper_calls;
                    row.compile_micros = stats.time.as_micros() as u64;
                }
            }
            (Some(Err(fallback)), _) => {
                row.reason = Some(fallback.reason);
                row.detail = Some(fallback.detail);
            }
            (None, Some(Code::Interpreted(fallback))) => {
                row.reason = Some(fallback.reason);
                row.detail = Some(fallback.detail.clone());
            }
            (None, _) => {
                row.reason = Some("not-yet-compiled");
                row.detail = Some("it is compiled on first use".to_owned());
            }
        }
        #[cfg(not(feature = "jit"))]
        {
            let _ = (unit, at);
            let fallback = self.schema.inner().runtime.inner.no_compiler();
            row.reason = Some(fallback.reason);
            row.detail = Some(fallback.detail.clone());
        }
        row
    }
}

impl MessageType {
    pub(crate) fn from_inner(inner: Arc<TypeInner>) -> MessageType {
        MessageType { inner }
    }

    /// A new type, compiled now if the runtime is eager.
    pub(crate) fn compiled_by_mode(inner: Arc<TypeInner>) -> MessageType {
        #[cfg(feature = "jit")]
        if inner.schema.runtime().inner.options.mode == CompileMode::Eager {
            inner.code();
        }
        #[cfg(not(feature = "jit"))]
        let _ = CompileMode::Eager;
        MessageType { inner }
    }

    /// The same message with other decode options. Options are compiled in: this may compile.
    pub fn with_decode_options(&self, options: DecodeOptions) -> MessageType {
        self.inner.schema.message_type_by_id(self.inner.message, options, self.inner.encode_options)
    }

    /// The same message with other encode options.
    pub fn with_encode_options(&self, options: EncodeOptions) -> MessageType {
        self.inner.schema.message_type_by_id(self.inner.message, self.inner.decode.options, options)
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

    /// The shape that it decodes into: all fields, known extensions included. Field handles are resolved on it.
    pub fn shape(&self) -> &Shape {
        self.inner.decode.shape()
    }

    /// Whether decoding runs compiled code. Compiles in lazy mode.
    ///
    /// # Errors
    /// Why it does not.
    pub fn is_compiled(&self) -> Result<(), Fallback> {
        #[cfg(feature = "jit")]
        return match self.inner.code() {
            Code::Compiled(_) => Ok(()),
            Code::Interpreted(fallback) => Err(fallback.clone()),
        };
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
    unsafe fn root(&self, input: &[u8], arena: &Arena, mode: Input) -> Result<NonNull<u8>, DecodeError> {
        arena.pin(&self.inner);
        let program: &DecodeProgram = &self.inner.decode;
        let limits = &self.inner.schema.runtime().inner.options.limits;
        #[cfg(feature = "jit")]
        if let Code::Compiled(thunk) = self.inner.code() {
            let entry = program.entry.load(Ordering::Acquire);
            let frame = |_: &DecodeProgram, p, limit, message, ctx: &mut decode::DecodeCtx| {
                let depth = u64::from(ctx.depth);
                // SAFETY: `entry` is this program's compiled code, kept alive by the schema; the driver hands over a
                // valid frame.
                unsafe { thunk(ctx, p, limit, message, depth, entry) }
            };
            // SAFETY: there is no message to merge into; compiled code keeps what the interpreter promises.
            return unsafe { decode::decode_with(frame, program, None, input, arena, limits, mode) };
        }
        decode::decode(program, input, arena, limits, mode)
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
        self.encode_to(message, Target::Buffer(out)).map(|bytes| &*bytes)
    }

    /// Appends to a vector; gives the appended bytes. After an error the vector is as it was.
    ///
    /// # Errors
    /// As [`MessageType::encode_into`].
    pub fn append_to<'b>(&self, message: MessageRef<'_>, out: &'b mut Vec<u8>) -> Result<&'b [u8], EncodeError> {
        self.encode_to(message, Target::Append(out)).map(|bytes| &*bytes)
    }

    /// Encodes into the front of a slice; gives the part that was written.
    ///
    /// # Errors
    /// As [`MessageType::encode_into`]; also where the slice is too small: the error says how many bytes are needed.
    pub fn encode_to_slice<'b>(&self, message: MessageRef<'_>, out: &'b mut [u8]) -> Result<&'b [u8], EncodeError> {
        self.encode_to(message, Target::Slice(out)).map(|bytes| &*bytes)
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

    #[inline]
    fn encode_to<'b>(&self, message: MessageRef<'_>, target: Target<'b>) -> Result<&'b mut [u8], EncodeError> {
        let inner = &*self.inner;
        let limits = &inner.schema.runtime().inner.options.limits;
        if message.layout().id != self.shape().id {
            let path = FieldPath::new(self.shape().schema.clone(), inner.message, Vec::new());
            return Err(EncodeError::new(EncodeErrorKind::WrongType, path));
        }
        let program: &EncodeProgram = inner.encode_program();
        let message = message.as_ptr();
        // SAFETY: a live message of the program's layout, by the check above.
        unsafe {
            match target {
                Target::Buffer(out) => encode::encode(program, message, out, limits),
                Target::Append(out) => encode::append(program, message, out, limits),
                Target::Slice(out) => encode::encode_to_slice(program, message, out, limits),
            }
        }
    }
}
