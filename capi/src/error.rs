//! Errors, and the frame of every function that can fail.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::buffer::{Buffer, PjBuffer};
use crate::handles::{self, Handle};

/// Why a function failed.
pub struct PjError;

/// The error behind a [`PjError`].
pub(crate) struct Error {
    pub(crate) kind: PjErrorKind,
    pub(crate) offset: usize,
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Handle for PjError {
    type Value = Error;
    const KIND: usize = 1;
    const NAME: &'static str = "error";
}

/// What kind of failure an error is.
#[repr(u32)]
#[derive(Clone, Copy)]
pub enum PjErrorKind {
    /// An argument is null, out of range, or no live handle of its type.
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
    /// The `.proto` sources cannot be compiled.
    Source = 7,
    /// An arena is full.
    Memory = 8,
}

impl Error {
    pub(crate) fn new(kind: PjErrorKind, text: impl ToString) -> Error {
        Error { kind, offset: usize::MAX, path: String::new(), text: text.to_string() }
    }

    pub(crate) fn argument(text: impl ToString) -> Error {
        Error::new(PjErrorKind::Argument, text)
    }
}

/// Runs `work`; `None` after an error, which then went to `*error`.
///
/// # Safety
/// `error` is null or may be written.
#[inline]
pub(crate) unsafe fn run<T>(error: *mut *mut PjError, work: impl FnOnce() -> Result<T, Error>) -> Option<T> {
    let panicked = |_| Err(Error::new(PjErrorKind::Internal, "the library panicked"));
    match catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(panicked) {
        Ok(made) => Some(made),
        Err(why) => {
            if !error.is_null() {
                // SAFETY: not null, and the caller's to be written.
                unsafe { error.write(handles::make(why)) };
            }
            None
        }
    }
}

/// As [`run`]; the value becomes a handle, null after an error.
///
/// # Safety
/// As [`run`].
pub(crate) unsafe fn make<T: Handle>(
    error: *mut *mut PjError,
    work: impl FnOnce() -> Result<T::Value, Error>,
) -> *mut T {
    let work = || {
        let handle = handles::make::<T>(work()?);
        if handle.is_null() { Err(Error::new(PjErrorKind::Memory, "there are too many handles")) } else { Ok(handle) }
    };
    // SAFETY: as promised to this function.
    unsafe { run(error, work) }.unwrap_or(std::ptr::null_mut())
}

/// What a handle stands for.
///
/// # Safety
/// The handle is not freed during `'a`.
#[inline]
pub(crate) unsafe fn get<'a, T: Handle>(handle: *const T) -> Result<&'a T::Value, Error> {
    // SAFETY: as promised to this function.
    unsafe { handles::find(handle) }.ok_or_else(|| bad_handle::<T>(handle.is_null()))
}

#[cold]
fn bad_handle<T: Handle>(null: bool) -> Error {
    Error::argument(format!("the {} is {}", T::NAME, if null { "null" } else { "no live handle of its type" }))
}

/// Bytes of the caller's; null is allowed where there are none.
///
/// # Safety
/// `data` is null or `len` bytes may be read there for `'a`.
#[inline]
pub(crate) unsafe fn bytes<'a>(data: *const u8, len: usize) -> Result<&'a [u8], Error> {
    // SAFETY: as promised to this function.
    unsafe { array(data, len) }
}

/// An array of the caller's; null is allowed where it is empty.
///
/// # Safety
/// `data` is null or `len` values may be read there for `'a`.
#[inline]
pub(crate) unsafe fn array<'a, T>(data: *const T, len: usize) -> Result<&'a [T], Error> {
    match (data.is_null(), len) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Error::argument("data is null, its length is not 0")),
        (false, len) if len > isize::MAX as usize / size_of::<T>() => Err(Error::argument("the length is too large")),
        (false, _) if !data.is_aligned() => Err(Error::argument("the array is not aligned")),
        // SAFETY: not null, aligned, not too long, readable as the caller promises.
        (false, len) => Ok(unsafe { std::slice::from_raw_parts(data, len) }),
    }
}

/// Text of the caller's.
///
/// # Safety
/// As [`bytes`].
pub(crate) unsafe fn text<'a>(data: *const u8, len: usize) -> Result<&'a str, Error> {
    // SAFETY: as promised to this function.
    std::str::from_utf8(unsafe { bytes(data, len) }?).map_err(Error::argument)
}

/// Frees an error; false where it is no live one.
///
/// # Safety
/// `error` is not used again, nor by another thread now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_error_free(error: *mut PjError) -> bool {
    handles::free(error)
}

/// A `PjErrorKind`; 0 where it is no live error.
///
/// # Safety
/// No other thread frees the error meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_error_kind(error: *const PjError) -> u32 {
    // SAFETY: as the caller promises.
    unsafe { handles::find(error) }.map_or(0, |error| error.kind as u32)
}

/// The byte of the input where the failure was found, `SIZE_MAX` where there is none.
///
/// # Safety
/// No other thread frees the error meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_error_offset(error: *const PjError) -> usize {
    // SAFETY: as the caller promises.
    unsafe { handles::find(error) }.map_or(usize::MAX, |error| error.offset)
}

/// The field, such as `Person.address.zip`; empty where there is none. Free it with `pj_buffer_free`.
///
/// # Safety
/// `error` is null or may be written; no other thread frees `of` meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_error_path(of: *const PjError, error: *mut *mut PjError) -> *mut PjBuffer {
    // SAFETY: as the caller promises.
    let work = || Ok(Buffer::from(unsafe { get(of) }?.path.clone().into_bytes()));
    // SAFETY: as the caller promises.
    unsafe { make(error, work) }
}

/// What happened, for people. Free it with `pj_buffer_free`.
///
/// # Safety
/// `error` is null or may be written; no other thread frees `of` meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pj_error_text(of: *const PjError, error: *mut *mut PjError) -> *mut PjBuffer {
    // SAFETY: as the caller promises.
    let work = || Ok(Buffer::from(unsafe { get(of) }?.text.clone().into_bytes()));
    // SAFETY: as the caller promises.
    unsafe { make(error, work) }
}
