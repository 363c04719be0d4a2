//! Messages that own their memory.

use protojit::Message;

use crate::arena::{decode_error, encode_error, read_json, write_json};
use crate::buffer::{Buffer, PjBuffer};
use crate::error::{PjError, bytes, get, make};
use crate::handles::{self, Handle};
use crate::runtime::{PjMessageType, Type};

/// A message that owns its memory.
pub struct PjMessage;

impl Handle for PjMessage {
    type Value = Owned;
    const KIND: usize = 7;
    const NAME: &'static str = "message";
}

/// A message, and the type that it was made by.
pub(crate) struct Owned {
    message: Message,
    of: Type,
}

/// Decodes; nothing of `data` is kept. Free the message with `pj_message_free`.
///
/// # Safety
/// `len` bytes may be read at `data`; `error` is null or may be written; no other thread frees the message type meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_decode(
    message_type: *const PjMessageType,
    data: *const u8,
    len: usize,
    error: *mut *mut PjError,
) -> *mut PjMessage {
    let work = || {
        // SAFETY: as the caller promises.
        let (of, data) = unsafe { (&get(message_type)?.message, bytes(data, len)?) };
        let message = of.decode_owned(data).map_err(|error| decode_error(&error))?;
        Ok(Owned { message, of: Type::new(of.clone()) })
    };
    // SAFETY: as the caller promises.
    unsafe { make(error, work) }
}

/// Reads a message from JSON. Free it with `pj_message_free`.
///
/// # Safety
/// As `pj_decode`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_from_json(
    message_type: *const PjMessageType,
    data: *const u8,
    len: usize,
    error: *mut *mut PjError,
) -> *mut PjMessage {
    let work = || {
        // SAFETY: as the caller promises.
        let (of, data) = unsafe { (&get(message_type)?.message, bytes(data, len)?) };
        let mut message = of.new_message();
        read_json(of, &mut message.as_mut(), data)?;
        Ok(Owned { message, of: Type::new(of.clone()) })
    };
    // SAFETY: as the caller promises.
    unsafe { make(error, work) }
}

/// Encodes. Free the bytes with `pj_buffer_free`.
///
/// # Safety
/// `error` is null or may be written; no other thread changes or frees the message meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_encode(message: *const PjMessage, error: *mut *mut PjError) -> *mut PjBuffer {
    let work = || {
        // SAFETY: as the caller promises.
        let Owned { message, of } = unsafe { get(message) }?;
        of.message.encode_to_vec(message.as_ref()).map(Buffer::from).map_err(|error| encode_error(&error))
    };
    // SAFETY: as the caller promises.
    unsafe { make(error, work) }
}

/// The message as JSON. Free the text with `pj_buffer_free`.
///
/// # Safety
/// As `pj_encode`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_to_json(message: *const PjMessage, error: *mut *mut PjError) -> *mut PjBuffer {
    let work = || {
        // SAFETY: as the caller promises.
        let Owned { message, of } = unsafe { get(message) }?;
        let mut text = Vec::new();
        write_json(of, message.as_ref(), &mut text)?;
        Ok(Buffer::from(text))
    };
    // SAFETY: as the caller promises.
    unsafe { make(error, work) }
}

/// The address of the message, to be read as its type's table says, or passed to the functions that end in `_at`; valid until it is freed.
/// Null where it is no live message.
///
/// # Safety
/// No other thread frees the message meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_message_root(message: *const PjMessage) -> *const u8 {
    // SAFETY: as the caller promises.
    unsafe { handles::find(message) }.map_or(std::ptr::null(), |owned| owned.message.as_ref().as_ptr())
}

/// Frees a message; false where it is no live one.
///
/// # Safety
/// The message is not used again, nor by another thread now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_message_free(message: *mut PjMessage) -> bool {
    handles::free(message)
}
