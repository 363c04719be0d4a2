//! Runtimes, schemas, message types.

use std::sync::OnceLock;

use protojit::{Engine, MessageType, Runtime, Schema};
use protojit_source::ProtoSources;

use crate::buffer::{Buffer, PjBuffer, PjBytes};
use crate::error::{Error, PjError, PjErrorKind, array, bytes, get, make, run, text};
use crate::handles::{self, Handle};
use crate::layout::{PjTable, Table};

/// Where and how messages are compiled.
pub struct PjRuntime;
/// Registered descriptors.
pub struct PjSchema;
/// A message of a schema, ready to decode and encode.
pub struct PjMessageType;

impl Handle for PjRuntime {
    type Value = Runtime;
    const KIND: usize = 3;
    const NAME: &'static str = "runtime";
}

impl Handle for PjSchema {
    type Value = Schema;
    const KIND: usize = 4;
    const NAME: &'static str = "schema";
}

impl Handle for PjMessageType {
    type Value = Type;
    const KIND: usize = 5;
    const NAME: &'static str = "message type";
}

/// A message type, and its layouts where they were asked for.
pub(crate) struct Type {
    pub(crate) message: MessageType,
    table: OnceLock<Box<Table>>,
}

impl Type {
    pub(crate) fn new(message: MessageType) -> Type {
        Type { message, table: OnceLock::new() }
    }

    pub(crate) fn table(&self) -> &Table {
        self.table.get_or_init(|| Box::new(Table::new(self.message.shape().clone())))
    }
}

/// The engine of a runtime.
#[repr(u32)]
#[derive(Clone, Copy)]
pub enum PjEngine {
    /// Compiled code where this platform was tested for it, else the interpreter.
    Auto = 0,
    /// Compiled code wherever the compiler supports the machine.
    Jit = 1,
    /// The interpreter only.
    Interp = 2,
    /// What the environment variables say, `PROTOJIT_ENGINE` among them.
    Environment = 3,
}

/// A `.proto` file in memory.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PjSource {
    /// The name that imports give it, UTF-8.
    pub name: PjBytes,
    /// Its text, UTF-8.
    pub text: PjBytes,
}

/// A runtime with default settings; `engine` is a `PjEngine`. Free it with `pj_runtime_free`.
///
/// # Safety
/// `error` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_runtime_new(engine: u32, error: *mut *mut PjError) -> *mut PjRuntime {
    let work = || {
        let engine = match engine {
            engine if engine == PjEngine::Auto as u32 => Engine::Auto,
            engine if engine == PjEngine::Jit as u32 => Engine::Jit,
            engine if engine == PjEngine::Interp as u32 => Engine::Interp,
            engine if engine == PjEngine::Environment as u32 => return Ok(Runtime::from_env()),
            _ => return Err(Error::argument("unknown engine")),
        };
        Ok(Runtime::builder().engine(engine).build())
    };
    // SAFETY: as the caller promises.
    unsafe { make(error, work) }
}

/// Frees a runtime; false where it is no live one. What was made from it stays alive.
///
/// # Safety
/// The runtime is not used again, nor by another thread now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_runtime_free(runtime: *mut PjRuntime) -> bool {
    handles::free(runtime)
}

/// What was compiled and which engine ran, as JSON. Calls that decoded into arenas are counted once `pj_arena_flush_counts` was called or
/// the arena was freed. Free it with `pj_buffer_free`.
///
/// # Safety
/// `error` is null or may be written; no other thread frees the runtime meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_runtime_trace(runtime: *const PjRuntime, error: *mut *mut PjError) -> *mut PjBuffer {
    let work = || {
        // SAFETY: as the caller promises.
        let text = serde_json::to_vec(&unsafe { get(runtime) }?.trace());
        text.map(Buffer::from).map_err(|error| Error::new(PjErrorKind::Internal, error))
    };
    // SAFETY: as the caller promises.
    unsafe { make(error, work) }
}

/// Registers a serialized `FileDescriptorSet`, of which nothing is kept. Free it with `pj_schema_free`.
///
/// # Safety
/// `len` bytes may be read at `data`; `error` is null or may be written; no other thread frees the runtime meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_register(
    runtime: *const PjRuntime,
    data: *const u8,
    len: usize,
    error: *mut *mut PjError,
) -> *mut PjSchema {
    let work = || {
        // SAFETY: as the caller promises.
        let (runtime, set) = unsafe { (get(runtime)?, bytes(data, len)?) };
        runtime.register(set).map_err(|error| Error::new(PjErrorKind::Schema, error))
    };
    // SAFETY: as the caller promises.
    unsafe { make(error, work) }
}

/// Compiles `.proto` files, and all they import, to a serialized `FileDescriptorSet`. `names` are the files to compile, by the names that
/// imports would give them. Each is looked for in `sources`, then in the directories `includes`, then among Google's own. Free the bytes with
/// `pj_buffer_free`.
///
/// # Safety
/// The arrays, and the bytes that they name, may be read; `error` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_compile_proto(
    names: *const PjBytes,
    name_count: usize,
    sources: *const PjSource,
    source_count: usize,
    includes: *const PjBytes,
    include_count: usize,
    error: *mut *mut PjError,
) -> *mut PjBuffer {
    let work = || {
        // SAFETY: as the caller promises.
        let (names, files, includes) =
            unsafe { (array(names, name_count)?, array(sources, source_count)?, array(includes, include_count)?) };
        // SAFETY: as the caller promises.
        let text = |bytes: &PjBytes| unsafe { text(bytes.data, bytes.len) };
        let mut sources = ProtoSources::new();
        for include in includes {
            sources = sources.include(text(include)?);
        }
        for file in files {
            sources = sources.file(text(&file.name)?, text(&file.text)?);
        }
        let names = names.iter().map(text).collect::<Result<Vec<_>, _>>()?;
        sources.compile(names).map(Buffer::from).map_err(|error| Error::new(PjErrorKind::Source, error))
    };
    // SAFETY: as the caller promises.
    unsafe { make(error, work) }
}

/// Frees a schema; false where it is no live one. What was made from it stays alive.
///
/// # Safety
/// The schema is not used again, nor by another thread now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_schema_free(schema: *mut PjSchema) -> bool {
    handles::free(schema)
}

/// The full names of all messages but map entries, in the order of their declaration, each followed by a line feed. Free them with
/// `pj_buffer_free`.
///
/// # Safety
/// `error` is null or may be written; no other thread frees the schema meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_schema_messages(schema: *const PjSchema, error: *mut *mut PjError) -> *mut PjBuffer {
    let work = || {
        // SAFETY: as the caller promises.
        let data = unsafe { get(schema) }?.descriptors().data();
        let mut names = Vec::new();
        for message in data.messages.iter().filter(|message| !message.is_map_entry && !message.placeholder) {
            names.extend_from_slice(message.full_name.as_bytes());
            names.push(b'\n');
        }
        Ok(Buffer::from(names))
    };
    // SAFETY: as the caller promises.
    unsafe { make(error, work) }
}

/// The message type of a full name, which is `len` bytes of UTF-8. Compiles its decoder. Free it with `pj_message_type_free`.
///
/// # Safety
/// `len` bytes may be read at `name`; `error` is null or may be written; no other thread frees the schema meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_message_type(
    schema: *const PjSchema,
    name: *const u8,
    len: usize,
    error: *mut *mut PjError,
) -> *mut PjMessageType {
    let work = || {
        // SAFETY: as the caller promises.
        let (schema, name) = unsafe { (get(schema)?, text(name, len)?) };
        schema.message(name).map(Type::new).map_err(|error| Error::new(PjErrorKind::Schema, error))
    };
    // SAFETY: as the caller promises.
    unsafe { make(error, work) }
}

/// The message type at an index path in the last file of the set, as schema registries send it: 1, 0 is the first message nested in the
/// second. Free it with `pj_message_type_free`.
///
/// # Safety
/// `len` numbers may be read at `path`; `error` is null or may be written; no other thread frees the schema meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_message_type_at(
    schema: *const PjSchema,
    path: *const u32,
    len: usize,
    error: *mut *mut PjError,
) -> *mut PjMessageType {
    let work = || {
        // SAFETY: as the caller promises.
        let (schema, path) = unsafe { (get(schema)?, array(path, len)?) };
        schema.message_at(path).map(Type::new).map_err(|error| Error::new(PjErrorKind::Schema, error))
    };
    // SAFETY: as the caller promises.
    unsafe { make(error, work) }
}

/// Frees a message type, and its table; false where it is no live one. Messages of it stay alive.
///
/// # Safety
/// The message type is not used again, nor by another thread now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_message_type_free(message_type: *mut PjMessageType) -> bool {
    handles::free(message_type)
}

/// Where the fields of the message, and of all messages that it reaches, lie in memory. Made on the first call, valid until the message
/// type is freed. Null after an error.
///
/// # Safety
/// `error` is null or may be written; no other thread frees the message type meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_message_type_table(
    message_type: *const PjMessageType,
    error: *mut *mut PjError,
) -> *const PjTable {
    // SAFETY: as the caller promises.
    let work = || Ok(&raw const unsafe { get(message_type) }?.table().table);
    // SAFETY: as the caller promises.
    unsafe { run(error, work) }.unwrap_or(std::ptr::null())
}
