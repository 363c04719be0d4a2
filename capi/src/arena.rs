//! Arenas, and messages in them, which are plain addresses.

use std::ptr;

use protojit::json::{self, JsonReadOptions, JsonWriteOptions};
use protojit::{Arena, DecodeError, EncodeError, MessageMut, MessageRef, MessageType};

use crate::buffer::{Buffer, PjBuffer, PjBytes};
use crate::check::{self, Wrong};
use crate::error::{Error, PjError, PjErrorKind, bytes, get, make, run};
use crate::handles::{self, Exclusive, Handle};
use crate::layout::Table;
use crate::runtime::{PjMessageType, Type};

/// Memory that messages are decoded into, for one thread at a time.
pub struct PjArena;

impl Handle for PjArena {
    type Value = Exclusive<Arena>;
    const KIND: usize = 6;
    const NAME: &'static str = "arena";
}

/// Copies the input: nothing of it is kept.
pub const PJ_COPY: u32 = 0;
/// Strings of the message may point into the input, which stays where it is, unchanged, as long as the message is read.
pub const PJ_BORROW: u32 = 1;
/// Resets the arena first: a call less.
pub const PJ_RESET: u32 = 2;
/// The caller wrote the message: look whether strings are UTF-8 where they must be, and unknown fields whole.
pub const PJ_CHECK: u32 = 4;

/// Levels that [`PJ_CHECK`] looks at; encoders refuse messages long before.
const CHECKED_LEVELS: u32 = 1000;

pub(crate) fn decode_error(error: &DecodeError) -> Error {
    Error { offset: error.offset(), path: error.path().to_string(), ..Error::new(PjErrorKind::Decode, error) }
}

pub(crate) fn encode_error(error: &EncodeError) -> Error {
    Error { path: error.path().to_string(), ..Error::new(PjErrorKind::Encode, error) }
}

/// An empty arena, which takes memory as it is used: at most `limit` bytes, 2 GiB where that is 0. What needs more fails. Free it with
/// `pj_arena_free`.
///
/// # Safety
/// `error` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_arena_new(limit: usize, error: *mut *mut PjError) -> *mut PjArena {
    let made = || if limit == 0 { Arena::new() } else { Arena::with_limit(limit) };
    // SAFETY: as the caller promises.
    unsafe { make(error, || Ok(Exclusive::new(made()))) }
}

/// Frees an arena and all messages in it; false where it is no live one.
///
/// # Safety
/// The arena and its messages are not used again, nor by another thread now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_arena_free(arena: *mut PjArena) -> bool {
    handles::free(arena)
}

/// Does something with an arena that cannot fail; false where it is no live arena.
///
/// # Safety
/// No other thread uses the arena now.
unsafe fn told(arena: *const PjArena, what: impl FnOnce(&mut Arena)) -> bool {
    let work = || {
        // SAFETY: as the caller promises.
        what(unsafe { get(arena)?.get() });
        Ok(())
    };
    // SAFETY: there is nothing to write.
    unsafe { run(ptr::null_mut(), work) }.is_some()
}

/// Ends all messages in the arena and keeps its memory for the next; false where it is no live arena.
///
/// # Safety
/// No other thread uses the arena now; its messages are not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_arena_reset(arena: *mut PjArena) -> bool {
    // SAFETY: as the caller promises.
    unsafe { told(arena, Arena::reset) }
}

/// Bytes handed out since the last reset; 0 where it is no live arena.
///
/// # Safety
/// No other thread uses the arena now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_arena_used(arena: *const PjArena) -> usize {
    // SAFETY: as the caller promises.
    unsafe { handles::find(arena).map_or(0, |arena| arena.get().used()) }
}

/// Adds the decodes into this arena to what `pj_runtime_trace` tells; false where it is no live arena.
///
/// # Safety
/// No other thread uses the arena now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_arena_flush_counts(arena: *const PjArena) -> bool {
    // SAFETY: as the caller promises.
    unsafe { told(arena, |arena| arena.flush_counts()) }
}

/// `size` zero bytes of the arena, aligned to eight: zeros are an empty message, list or cold part, to be filled by layout. Null after an
/// error.
///
/// # Safety
/// `error` is null or may be written; no other thread uses the arena now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_arena_alloc(arena: *mut PjArena, size: usize, error: *mut *mut PjError) -> *mut u8 {
    let work = || {
        // SAFETY: as the caller promises.
        let arena = unsafe { get(arena)?.get() };
        arena.alloc_zeroed(size).map_err(|error| Error::new(PjErrorKind::Memory, error))
    };
    // SAFETY: as the caller promises.
    unsafe { run(error, work) }.unwrap_or(ptr::null_mut())
}

/// Decodes into an arena. `flags`: `PJ_COPY` or `PJ_BORROW`, whatever the size, and `PJ_RESET`. Gives the address of the message, which lies
/// there as `pj_message_type_table` says until the arena is reset or freed; null after an error.
///
/// # Safety
/// `len` bytes may be read at `data`; `error` is null or may be written; no other thread uses the arena or frees the message type now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_decode_in(
    message_type: *const PjMessageType,
    arena: *mut PjArena,
    data: *const u8,
    len: usize,
    flags: u32,
    error: *mut *mut PjError,
) -> *mut u8 {
    let work = || {
        // SAFETY: as the caller promises.
        let (of, arena, data) = unsafe { (&get(message_type)?.message, get(arena)?.get(), bytes(data, len)?) };
        if flags & !(PJ_BORROW | PJ_RESET) != 0 {
            return Err(Error::argument("unknown flags"));
        }
        if flags & PJ_RESET != 0 {
            arena.reset();
        }
        let found = if flags & PJ_BORROW != 0 { of.decode(data, arena) } else { of.decode_copied(data, arena) };
        found.map(|message| message.as_ptr().cast_mut()).map_err(|error| decode_error(&error))
    };
    // SAFETY: as the caller promises.
    unsafe { run(error, work) }.unwrap_or(ptr::null_mut())
}

/// Reads a message from JSON into an arena. Gives its address as `pj_decode_in` does; `flags`: 0 or `PJ_RESET`.
///
/// # Safety
/// As `pj_decode_in`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_from_json_in(
    message_type: *const PjMessageType,
    arena: *mut PjArena,
    data: *const u8,
    len: usize,
    flags: u32,
    error: *mut *mut PjError,
) -> *mut u8 {
    let work = || {
        // SAFETY: as the caller promises.
        let (of, arena, data) = unsafe { (&get(message_type)?.message, get(arena)?.get(), bytes(data, len)?) };
        if flags & !PJ_RESET != 0 {
            return Err(Error::argument("unknown flags"));
        }
        if flags & PJ_RESET != 0 {
            arena.reset();
        }
        let mut message = of.new_in(arena).map_err(|error| Error::new(PjErrorKind::Memory, error))?;
        read_json(of, &mut message, data)?;
        Ok(message.as_ptr())
    };
    // SAFETY: as the caller promises.
    unsafe { run(error, work) }.unwrap_or(ptr::null_mut())
}

/// The message at an address, checked as the flags say, and the buffer that it is to be written to.
///
/// # Safety
/// The handles are not freed during `'a`, and nobody else uses the buffer. `root` is null, or a live message of this type, unchanged for
/// `'a`.
#[inline]
unsafe fn source_and_target<'a>(
    message_type: *const PjMessageType,
    root: *const u8,
    flags: u32,
    buffer: *mut PjBuffer,
) -> Result<(&'a Type, MessageRef<'a>, &'a mut Buffer), Error> {
    // SAFETY: as promised to this function.
    let (of, buffer) = unsafe { (get(message_type)?, get(buffer)?.get()) };
    if root.is_null() || !root.cast::<u64>().is_aligned() {
        return Err(Error::argument("the message is null, or no message lies at such an address"));
    }
    match flags {
        0 => {}
        // SAFETY: as promised to this function.
        PJ_CHECK => unsafe { check_written(of.table(), root) }?,
        _ => return Err(Error::argument("unknown flags")),
    }
    // SAFETY: as promised to this function.
    Ok((of, unsafe { MessageRef::from_raw(root, of.message.shape()) }, buffer))
}

/// # Safety
/// `out` is null or may be written.
#[inline]
unsafe fn give(out: *mut PjBytes, bytes: PjBytes) {
    if !out.is_null() {
        // SAFETY: not null, and the caller's to be written.
        unsafe { out.write(bytes) };
    }
}

/// # Safety
/// `root` is a live message of the table's type.
unsafe fn check_written(table: &Table, root: *const u8) -> Result<(), Error> {
    // SAFETY: a table's pointer and count belong together.
    let layouts = unsafe { std::slice::from_raw_parts(table.table.layouts, table.table.layout_count) };
    // SAFETY: as promised to this function; the first layout is the type's own.
    let checked = unsafe { check::written(&table.plans, layouts, 0, root, CHECKED_LEVELS) };
    checked.map_err(|Wrong { what, path: fields }| {
        // SAFETY: names lie in the table's schema.
        let text = |name: PjBytes| unsafe { String::from_utf8_lossy(std::slice::from_raw_parts(name.data, name.len)) };
        let root = text(layouts[0].name);
        let mut path = root.rsplit('.').next().unwrap_or_default().to_owned();
        for &(layout, field) in fields.iter().rev() {
            path.push('.');
            // SAFETY: positions of fields in their layouts.
            path.push_str(&text(unsafe { (*layouts[layout as usize].fields.add(field as usize)).name }));
        }
        let text = format!("{path}: {what}");
        Error { path, ..Error::new(PjErrorKind::Encode, text) }
    })
}

/// Encodes the message at an address into a buffer, whose memory is used again. `flags`: 0 or `PJ_CHECK`. The bytes go to `*out`; they are
/// valid until the buffer is written to again or freed. False after an error.
///
/// # Safety
/// At `root` lies a live message of this type, made by this library, or written by the caller as the type's table says: this is not
/// checked. `out` and `error` are null or may be written; no other thread uses the buffer, or changes the message, or frees the message
/// type now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_encode_at(
    message_type: *const PjMessageType,
    root: *const u8,
    flags: u32,
    buffer: *mut PjBuffer,
    out: *mut PjBytes,
    error: *mut *mut PjError,
) -> bool {
    let work = || {
        // SAFETY: as the caller promises.
        let (of, message, buffer) = unsafe { source_and_target(message_type, root, flags, buffer) }?;
        let bytes = of.message.encode_into(message, &mut buffer.wire).map_err(|error| encode_error(&error))?;
        let bytes = PjBytes::of(bytes);
        buffer.wrote(bytes);
        // SAFETY: as the caller promises.
        unsafe { give(out, bytes) };
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { run(error, work) }.is_some()
}

/// Writes the message at an address as JSON into a buffer, as `pj_encode_at` does its bytes. `flags`: 0 or `PJ_CHECK`.
///
/// # Safety
/// As `pj_encode_at`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_to_json_at(
    message_type: *const PjMessageType,
    root: *const u8,
    flags: u32,
    buffer: *mut PjBuffer,
    out: *mut PjBytes,
    error: *mut *mut PjError,
) -> bool {
    let work = || {
        // SAFETY: as the caller promises.
        let (of, message, buffer) = unsafe { source_and_target(message_type, root, flags, buffer) }?;
        buffer.text.clear();
        write_json(of, message, &mut buffer.text)?;
        buffer.wrote_text();
        // SAFETY: as the caller promises.
        unsafe { give(out, PjBytes::of(&buffer.text)) };
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { run(error, work) }.is_some()
}

pub(crate) fn read_json(of: &MessageType, message: &mut MessageMut<'_>, data: &[u8]) -> Result<(), Error> {
    json::read(data, message, &JsonReadOptions::default(), of.schema()).map_err(|error| {
        let path = error.path().to_string();
        Error { offset: error.offset(), path, ..Error::new(PjErrorKind::Json, &error) }
    })
}

pub(crate) fn write_json(of: &Type, message: MessageRef<'_>, text: &mut Vec<u8>) -> Result<(), Error> {
    json::write(message, &JsonWriteOptions::default(), of.message.schema(), text).map(drop).map_err(|error| {
        let path = error.path().to_string();
        Error { path, ..Error::new(PjErrorKind::Json, &error) }
    })
}
