//! The C ABI of protojit.
//!
//! Handles are opaque. A function that makes one hands it to the caller, who frees it with the function named next to
//! it; handles keep alive what they were made from, so that they may be freed in any order. A function that can fail
//! gives null and, where `error` is not null, stores an error there, to be freed with `pj_error_free`; `*error` is
//! written on failure only. Nulls give errors, panics are caught and become errors.
//!
//! Runtimes, schemas and message types may be shared between threads. A message may be read by many threads at once,
//! or changed by one.

#![warn(clippy::undocumented_unsafe_blocks)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use protojit::json::{self, JsonReadOptions, JsonWriteOptions};
use protojit::{Engine, Message, MessageType, Runtime, Schema};

/// Where and how messages are compiled.
pub struct PjRuntime(Runtime);
/// Registered descriptors.
pub struct PjSchema(Schema);
/// A message of a schema, ready to decode and encode.
pub struct PjMessageType(MessageType);
/// A message that owns its memory.
pub struct PjMessage {
    message: Message,
    message_type: MessageType,
}
/// Bytes that the library made.
pub struct PjBuffer(Vec<u8>);
/// Why a function failed.
pub struct PjError {
    kind: PjErrorKind,
    offset: usize,
    path: String,
    text: String,
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
}

/// What kind of failure an error is.
#[repr(u32)]
#[derive(Clone, Copy)]
pub enum PjErrorKind {
    /// An argument is null or out of range.
    Argument = 1,
    /// The descriptors are not valid, or the schema has no such message.
    Schema = 2,
    /// The bytes are no valid message, or a limit is reached.
    Decode = 3,
    /// The message cannot be written.
    Encode = 4,
    /// The text is not JSON of this message, or the message has no JSON.
    Json = 5,
    /// A fault of this library; please report it.
    Internal = 6,
}

impl PjError {
    fn new(kind: PjErrorKind, text: impl ToString) -> PjError {
        PjError { kind, offset: usize::MAX, path: String::new(), text: text.to_string() }
    }
}

/// Runs `work`; its value becomes a handle of the caller's, its error goes to `*error`.
///
/// # Safety
/// `error` is null or may be written.
unsafe fn make<T>(error: *mut *mut PjError, work: impl FnOnce() -> Result<T, PjError>) -> *mut T {
    let panicked = |_| Err(PjError::new(PjErrorKind::Internal, "the library panicked"));
    match catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(panicked) {
        Ok(made) => Box::into_raw(Box::new(made)),
        Err(why) => {
            if !error.is_null() {
                // SAFETY: not null, and the caller's to be written.
                unsafe { error.write(Box::into_raw(Box::new(why))) };
            }
            ptr::null_mut()
        }
    }
}

/// Drops a handle; null is nothing to drop.
///
/// # Safety
/// `handle` is null or was made by [`make`], and is not used again.
unsafe fn free<T>(handle: *mut T) {
    if !handle.is_null() {
        // SAFETY: made by `Box::into_raw` in `make`, given back once. A panic must not cross into C.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(unsafe { Box::from_raw(handle) })));
    }
}

/// A handle to be read.
///
/// # Safety
/// `handle` is null or live for `'a`.
unsafe fn get<'a, T>(handle: *const T, name: &str) -> Result<&'a T, PjError> {
    // SAFETY: null or live, as the caller promises.
    unsafe { handle.as_ref() }.ok_or_else(|| PjError::new(PjErrorKind::Argument, format!("{name} is null")))
}

/// Bytes of the caller's; null is allowed where there are none.
///
/// # Safety
/// `data` is null or `len` bytes may be read there for `'a`.
unsafe fn bytes<'a>(data: *const u8, len: usize) -> Result<&'a [u8], PjError> {
    match (data.is_null(), len) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(PjError::new(PjErrorKind::Argument, "data is null, its length is not 0")),
        (false, len) if len > isize::MAX as usize => {
            Err(PjError::new(PjErrorKind::Argument, "the length is too large"))
        }
        // SAFETY: not null, not too long, readable as the caller promises.
        (false, len) => Ok(unsafe { std::slice::from_raw_parts(data, len) }),
    }
}

/// A runtime with default settings; `engine` is a `PjEngine`. Free it with `pj_runtime_free`.
///
/// # Safety
/// Handles are null or live, data may be read for its length, and `error` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_runtime_new(engine: u32, error: *mut *mut PjError) -> *mut PjRuntime {
    let work = || {
        let engine = match engine {
            engine if engine == PjEngine::Auto as u32 => Engine::Auto,
            engine if engine == PjEngine::Jit as u32 => Engine::Jit,
            engine if engine == PjEngine::Interp as u32 => Engine::Interp,
            _ => return Err(PjError::new(PjErrorKind::Argument, "unknown engine")),
        };
        Ok(PjRuntime(Runtime::builder().engine(engine).build()))
    };
    // SAFETY: as the caller promises.
    unsafe { make(error, work) }
}

/// Frees a runtime; null is ignored.
///
/// # Safety
/// `runtime` is null or a live handle, and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_runtime_free(runtime: *mut PjRuntime) {
    // SAFETY: as the caller promises.
    unsafe { free(runtime) }
}

/// What was compiled and which engine ran, as JSON. Free it with `pj_buffer_free`.
///
/// # Safety
/// Handles are null or live, data may be read for its length, and `error` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_runtime_trace(runtime: *const PjRuntime, error: *mut *mut PjError) -> *mut PjBuffer {
    let work = || {
        // SAFETY: as the caller promises.
        let runtime = unsafe { get(runtime, "runtime") }?;
        let text = serde_json::to_vec(&runtime.0.trace());
        text.map(PjBuffer).map_err(|error| PjError::new(PjErrorKind::Internal, error))
    };
    // SAFETY: as the caller promises.
    unsafe { make(error, work) }
}

/// Registers a serialized `FileDescriptorSet`, of which nothing is kept. Free it with `pj_schema_free`.
///
/// # Safety
/// Handles are null or live, data may be read for its length, and `error` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_register(
    runtime: *const PjRuntime,
    data: *const u8,
    len: usize,
    error: *mut *mut PjError,
) -> *mut PjSchema {
    let work = || {
        // SAFETY: as the caller promises.
        let (runtime, set) = unsafe { (get(runtime, "runtime")?, bytes(data, len)?) };
        runtime.0.register(set).map(PjSchema).map_err(|error| PjError::new(PjErrorKind::Schema, error))
    };
    // SAFETY: as the caller promises.
    unsafe { make(error, work) }
}

/// Frees a schema; null is ignored.
///
/// # Safety
/// `schema` is null or a live handle, and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_schema_free(schema: *mut PjSchema) {
    // SAFETY: as the caller promises.
    unsafe { free(schema) }
}

/// The message type of a full name, which is `len` bytes of UTF-8. Free it with `pj_message_type_free`.
///
/// # Safety
/// Handles are null or live, data may be read for its length, and `error` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_message_type(
    schema: *const PjSchema,
    name: *const u8,
    len: usize,
    error: *mut *mut PjError,
) -> *mut PjMessageType {
    let work = || {
        // SAFETY: as the caller promises.
        let (schema, name) = unsafe { (get(schema, "schema")?, bytes(name, len)?) };
        let name = std::str::from_utf8(name).map_err(|error| PjError::new(PjErrorKind::Argument, error))?;
        schema.0.message(name).map(PjMessageType).map_err(|error| PjError::new(PjErrorKind::Schema, error))
    };
    // SAFETY: as the caller promises.
    unsafe { make(error, work) }
}

/// Frees a message type; null is ignored.
///
/// # Safety
/// `message_type` is null or a live handle, and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_message_type_free(message_type: *mut PjMessageType) {
    // SAFETY: as the caller promises.
    unsafe { free(message_type) }
}

/// Decodes; nothing of `data` is kept. Free the message with `pj_message_free`.
///
/// # Safety
/// Handles are null or live, data may be read for its length, and `error` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_decode(
    message_type: *const PjMessageType,
    data: *const u8,
    len: usize,
    error: *mut *mut PjError,
) -> *mut PjMessage {
    let work = || {
        // SAFETY: as the caller promises.
        let (message_type, data) = unsafe { (&get(message_type, "message_type")?.0, bytes(data, len)?) };
        match message_type.decode_owned(data) {
            Ok(message) => Ok(PjMessage { message, message_type: message_type.clone() }),
            Err(error) => {
                let path = error.path().to_string();
                Err(PjError { offset: error.offset(), path, ..PjError::new(PjErrorKind::Decode, &error) })
            }
        }
    };
    // SAFETY: as the caller promises.
    unsafe { make(error, work) }
}

/// Encodes. Free the bytes with `pj_buffer_free`.
///
/// # Safety
/// Handles are null or live, data may be read for its length, and `error` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_encode(message: *const PjMessage, error: *mut *mut PjError) -> *mut PjBuffer {
    let work = || {
        // SAFETY: as the caller promises.
        let message = unsafe { get(message, "message") }?;
        message.message_type.encode_to_vec(message.message.as_ref()).map(PjBuffer).map_err(|error| {
            let path = error.path().to_string();
            PjError { path, ..PjError::new(PjErrorKind::Encode, &error) }
        })
    };
    // SAFETY: as the caller promises.
    unsafe { make(error, work) }
}

/// Reads a message from JSON. Free it with `pj_message_free`.
///
/// # Safety
/// Handles are null or live, data may be read for its length, and `error` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_from_json(
    message_type: *const PjMessageType,
    data: *const u8,
    len: usize,
    error: *mut *mut PjError,
) -> *mut PjMessage {
    let work = || {
        // SAFETY: as the caller promises.
        let (message_type, data) = unsafe { (&get(message_type, "message_type")?.0, bytes(data, len)?) };
        let mut message = message_type.new_message();
        match json::read(data, &mut message.as_mut(), &JsonReadOptions::default(), message_type.schema()) {
            Ok(()) => Ok(PjMessage { message, message_type: message_type.clone() }),
            Err(error) => {
                let path = error.path().to_string();
                Err(PjError { offset: error.offset(), path, ..PjError::new(PjErrorKind::Json, &error) })
            }
        }
    };
    // SAFETY: as the caller promises.
    unsafe { make(error, work) }
}

/// The message as JSON. Free the text with `pj_buffer_free`.
///
/// # Safety
/// Handles are null or live, data may be read for its length, and `error` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_to_json(message: *const PjMessage, error: *mut *mut PjError) -> *mut PjBuffer {
    let work = || {
        // SAFETY: as the caller promises.
        let message = unsafe { get(message, "message") }?;
        let mut text = Vec::new();
        let (options, types) = (JsonWriteOptions::default(), message.message_type.schema());
        match json::write(message.message.as_ref(), &options, types, &mut text) {
            Ok(_) => Ok(PjBuffer(text)),
            Err(error) => {
                let path = error.path().to_string();
                Err(PjError { path, ..PjError::new(PjErrorKind::Json, &error) })
            }
        }
    };
    // SAFETY: as the caller promises.
    unsafe { make(error, work) }
}

/// Frees a message; null is ignored.
///
/// # Safety
/// `message` is null or a live handle, and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_message_free(message: *mut PjMessage) {
    // SAFETY: as the caller promises.
    unsafe { free(message) }
}

/// Frees a buffer; null is ignored.
///
/// # Safety
/// `buffer` is null or a live handle, and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_buffer_free(buffer: *mut PjBuffer) {
    // SAFETY: as the caller promises.
    unsafe { free(buffer) }
}

/// Frees an error; null is ignored.
///
/// # Safety
/// `error` is null or a live handle, and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_error_free(error: *mut PjError) {
    // SAFETY: as the caller promises.
    unsafe { free(error) }
}

/// The bytes, valid until the buffer is freed; null of null. Not terminated by a zero.
///
/// # Safety
/// `buffer` is null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_buffer_data(buffer: *const PjBuffer) -> *const u8 {
    // SAFETY: as the caller promises.
    unsafe { buffer.as_ref() }.map_or(ptr::null(), |buffer| buffer.0.as_ptr())
}

/// How many bytes; 0 of null.
///
/// # Safety
/// `buffer` is null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_buffer_len(buffer: *const PjBuffer) -> usize {
    // SAFETY: as the caller promises.
    unsafe { buffer.as_ref() }.map_or(0, |buffer| buffer.0.len())
}

/// A `PjErrorKind`; 0 of null.
///
/// # Safety
/// `error` is null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_error_kind(error: *const PjError) -> u32 {
    // SAFETY: as the caller promises.
    unsafe { error.as_ref() }.map_or(0, |error| error.kind as u32)
}

/// The byte of the input where the failure was found, `SIZE_MAX` where there is none.
///
/// # Safety
/// `error` is null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_error_offset(error: *const PjError) -> usize {
    // SAFETY: as the caller promises.
    unsafe { error.as_ref() }.map_or(usize::MAX, |error| error.offset)
}

/// The field, such as `Person.address.zip`; empty where there is none. Free it with `pj_buffer_free`.
///
/// # Safety
/// Handles are null or live, data may be read for its length, and `error` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_error_path(of: *const PjError, error: *mut *mut PjError) -> *mut PjBuffer {
    let work = || {
        // SAFETY: as the caller promises.
        let of = unsafe { get(of, "of") }?;
        Ok(PjBuffer(of.path.clone().into_bytes()))
    };
    // SAFETY: as the caller promises.
    unsafe { make(error, work) }
}

/// What happened, for people. Free it with `pj_buffer_free`.
///
/// # Safety
/// Handles are null or live, data may be read for its length, and `error` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_error_text(of: *const PjError, error: *mut *mut PjError) -> *mut PjBuffer {
    let work = || {
        // SAFETY: as the caller promises.
        let of = unsafe { get(of, "of") }?;
        Ok(PjBuffer(of.text.clone().into_bytes()))
    };
    // SAFETY: as the caller promises.
    unsafe { make(error, work) }
}
