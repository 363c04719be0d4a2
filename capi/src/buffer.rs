//! Bytes that the library makes.

use std::ptr;

use protojit::EncodeBuffer;

use crate::error::{PjError, make};
use crate::handles::{self, Exclusive, Handle};

/// Bytes that the library made. One that is passed to a function is written anew, and keeps its memory for that.
pub struct PjBuffer;

impl Handle for PjBuffer {
    type Value = Exclusive<Buffer>;
    const KIND: usize = 2;
    const NAME: &'static str = "buffer";
}

/// Bytes at an address, as lent by one side to the other. Not terminated by a zero.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PjBytes {
    /// The first byte; may be null where there are none.
    pub data: *const u8,
    /// How many.
    pub len: usize,
}

impl PjBytes {
    pub(crate) fn of(bytes: &[u8]) -> PjBytes {
        PjBytes { data: bytes.as_ptr(), len: bytes.len() }
    }
}

/// Holds text at its beginning, or wire bytes at its end.
#[derive(Default)]
pub(crate) struct Buffer {
    pub(crate) text: Vec<u8>,
    pub(crate) wire: EncodeBuffer,
    /// What was written last: a part of `text` or `wire`.
    written: Option<PjBytes>,
}

impl Buffer {
    pub(crate) fn from(text: Vec<u8>) -> Exclusive<Buffer> {
        let mut buffer = Buffer { text, ..Buffer::default() };
        buffer.wrote_text();
        Exclusive::new(buffer)
    }

    pub(crate) fn wrote_text(&mut self) {
        self.wrote(PjBytes::of(&self.text));
    }

    #[inline]
    pub(crate) fn wrote(&mut self, bytes: PjBytes) {
        self.written = Some(bytes);
    }

    fn bytes(&self) -> PjBytes {
        self.written.unwrap_or(PjBytes { data: ptr::null(), len: 0 })
    }
}

/// An empty buffer, to be written to again and again. Free it with `pj_buffer_free`.
///
/// # Safety
/// `error` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_buffer_new(error: *mut *mut PjError) -> *mut PjBuffer {
    // SAFETY: as the caller promises.
    unsafe { make(error, || Ok(Exclusive::new(Buffer::default()))) }
}

/// Frees a buffer; false where it is no live one.
///
/// # Safety
/// The buffer and its bytes are not used again, nor by another thread now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_buffer_free(buffer: *mut PjBuffer) -> bool {
    handles::free(buffer)
}

/// The bytes, valid until the buffer is written to again or freed; null where it is no live buffer.
///
/// # Safety
/// No other thread writes to the buffer or frees it meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_buffer_data(buffer: *const PjBuffer) -> *const u8 {
    // SAFETY: as the caller promises.
    unsafe { handles::find(buffer).map_or(ptr::null(), |buffer| buffer.get().bytes().data) }
}

/// How many bytes; 0 where it is no live buffer.
///
/// # Safety
/// No other thread writes to the buffer or frees it meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_buffer_len(buffer: *const PjBuffer) -> usize {
    // SAFETY: as the caller promises.
    unsafe { handles::find(buffer).map_or(0, |buffer| buffer.get().bytes().len) }
}
