//! The raw cells that messages are made of.
//!
//! Each has a fixed C layout, since compiled code and foreign languages read them by offset.
//! All-zero bytes are a valid empty cell of every kind.

use std::hint::assert_unchecked;
use std::slice;

/// A string or bytes value: sixteen bytes.
///
/// `ptr` is meaningless while `len` is 0. `cap` is 0 where the bytes are borrowed (from the input or
/// from another cell), else the number of bytes in the arena that belong to this cell.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct StrSlot {
    /// The first byte.
    pub ptr: *const u8,
    /// Length in bytes, at most 2^31-1.
    pub len: u32,
    /// Bytes reserved in the arena, 0 for borrowed ones.
    pub cap: u32,
}

impl StrSlot {
    /// The bytes.
    ///
    /// # Safety
    /// The cell belongs to a live message: `len` bytes at `ptr` stay readable and unchanged for `'a`.
    #[inline]
    pub unsafe fn bytes<'a>(self) -> &'a [u8] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: the caller's promise; `ptr` is not null where `len` is not 0 (said, so that compilers know).
        unsafe {
            assert_unchecked(!self.ptr.is_null());
            slice::from_raw_parts(self.ptr, self.len as usize)
        }
    }

    /// A cell that borrows `bytes`; `None` where they are longer than 2^31-1.
    #[inline]
    pub fn borrowed(bytes: &[u8]) -> Option<StrSlot> {
        let len = u32::try_from(bytes.len()).ok().filter(|&len| len <= i32::MAX as u32)?;
        Some(StrSlot { ptr: bytes.as_ptr(), len, cap: 0 })
    }
}

/// A repeated field: sixteen bytes. Elements lie next to each other, each as wide as its storage.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ListSlot {
    /// The first element.
    pub ptr: *mut u8,
    /// Number of elements.
    pub len: u32,
    /// Elements that fit; 0 where the elements are borrowed.
    pub cap: u32,
}

impl ListSlot {
    /// The elements as values of `T`.
    ///
    /// # Safety
    /// The cell belongs to a live message whose layout says that the elements are `T`s, and they
    /// are not changed during `'a`.
    #[inline]
    pub unsafe fn elements<'a, T: Copy>(self) -> &'a [T] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: the caller's promise; list storage is aligned to eight bytes, or for borrowed
        // packed elements to their own width (kept where borrowed lists are made).
        unsafe { slice::from_raw_parts(self.ptr.cast(), self.len as usize) }
    }
}

/// What a cell holds and how wide it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Storage {
    /// One byte, 0 or 1.
    Bool,
    /// Four bytes: `int32`, `uint32`, `float`, enums and their kin.
    Bits32,
    /// Eight bytes: `int64`, `uint64`, `double` and their kin.
    Bits64,
    /// A [`StrSlot`].
    Str,
    /// A pointer to a message, null where absent.
    Message,
    /// A [`ListSlot`].
    List,
    /// A pointer to a [`MapTable`](super::map::MapTable), null where empty.
    Map,
}

impl Storage {
    /// Width in bytes.
    #[inline]
    pub const fn size(self) -> u32 {
        match self {
            Storage::Bool => 1,
            Storage::Bits32 => 4,
            Storage::Bits64 | Storage::Message | Storage::Map => 8,
            Storage::Str | Storage::List => 16,
        }
    }

    /// Alignment in bytes.
    #[inline]
    pub const fn align(self) -> u32 {
        match self {
            Storage::Bool => 1,
            Storage::Bits32 => 4,
            _ => 8,
        }
    }
}
