//! Handles that can be checked.
//!
//! A handle is no address but a word: the position of a slot in a table that only grows, the slot's generation, and what kind of thing it
//! holds. Looking one up compares the whole word with the one that the slot holds now. So null, any other number, a handle of another
//! kind, and one that was freed are all told from a live one, without touching memory that may be gone.

use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// What a handle of this C type stands for.
pub(crate) trait Handle {
    /// The thing itself.
    type Value;
    /// Tells the kinds apart: 1 to 15.
    const KIND: usize;
    /// For people.
    const NAME: &'static str;
}

const KIND_BITS: u32 = 4;
const INDEX_BITS: u32 = 32;
const GENERATION_BITS: u32 = 24;
/// Slots of the first chunk; each chunk has twice as many as the one before.
const FIRST: usize = 64;
const CHUNKS: usize = 26;

struct Slot {
    /// The handle that is live, 0 where there is none.
    word: AtomicUsize,
    value: AtomicPtr<()>,
}

/// Chunks are made once and stay for good: a handle, however old, leads to a slot.
static TABLE: [AtomicPtr<Slot>; CHUNKS] = [const { AtomicPtr::new(ptr::null_mut()) }; CHUNKS];
static FREE: Mutex<Free> = Mutex::new(Free { again: VecDeque::new(), next: 0 });

struct Free {
    /// Slots to be used again, with the generation to come: those freed longest ago first.
    again: VecDeque<(usize, usize)>,
    /// The first slot that was never used.
    next: usize,
}

/// Chunk, and position in it.
#[inline]
fn place(index: usize) -> (usize, usize) {
    let chunk = (index / FIRST + 1).ilog2() as usize;
    (chunk, index - FIRST * ((1 << chunk) - 1))
}

#[inline]
fn slot(index: usize) -> Option<&'static Slot> {
    let (chunk, at) = place(index);
    let slots = TABLE.get(chunk)?.load(Ordering::Acquire);
    // SAFETY: chunk `chunk` has `FIRST << chunk` slots, `at` is below that, and chunks are never freed.
    (!slots.is_null()).then(|| unsafe { &*slots.add(at) })
}

/// The slot whose live handle this is.
#[inline]
fn live<T: Handle>(handle: *const T) -> Option<&'static Slot> {
    let word = handle.addr();
    if word & ((1 << KIND_BITS) - 1) != T::KIND {
        return None;
    }
    let slot = slot(word >> KIND_BITS & ((1 << INDEX_BITS) - 1))?;
    (slot.word.load(Ordering::Acquire) == word).then_some(slot)
}

/// A new handle; null where there are too many.
pub(crate) fn make<T: Handle>(value: T::Value) -> *mut T {
    let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
    let (index, generation) = free.again.pop_front().unwrap_or((free.next, 1));
    let (chunk, at) = place(index);
    if index == free.next {
        if chunk >= CHUNKS {
            return ptr::null_mut();
        }
        free.next += 1;
        if at == 0 {
            let empty = || Slot { word: AtomicUsize::new(0), value: AtomicPtr::new(ptr::null_mut()) };
            let slots: Box<[Slot]> = (0..FIRST << chunk).map(|_| empty()).collect();
            TABLE[chunk].store(Box::leak(slots).as_mut_ptr(), Ordering::Release);
        }
    }
    drop(free);
    let Some(slot) = slot(index) else { return ptr::null_mut() };
    let word = generation << (KIND_BITS + INDEX_BITS) | index << KIND_BITS | T::KIND;
    slot.value.store(Box::into_raw(Box::new(value)).cast(), Ordering::Relaxed);
    slot.word.store(word, Ordering::Release);
    ptr::without_provenance_mut(word)
}

/// What a handle stands for; `None` where it is no live one.
///
/// # Safety
/// The handle is not freed during `'a`.
#[inline]
pub(crate) unsafe fn find<'a, T: Handle>(handle: *const T) -> Option<&'a T::Value> {
    let value = live(handle)?.value.load(Ordering::Relaxed);
    // SAFETY: a live handle of this kind has a value of this type, boxed in `make`, which stays until the handle is freed.
    Some(unsafe { &*value.cast::<T::Value>() })
}

/// Frees a handle; `false` where it is no live one.
pub(crate) fn free<T: Handle>(handle: *mut T) -> bool {
    let Some(slot) = live(handle) else { return false };
    let word = handle.addr();
    if slot.word.compare_exchange(word, 0, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        return false;
    }
    let value = slot.value.swap(ptr::null_mut(), Ordering::Relaxed).cast::<T::Value>();
    // SAFETY: boxed in `make`; the exchange above lets only one caller take it. A panic must not cross into C.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(unsafe { Box::from_raw(value) })));
    let index = word >> KIND_BITS & ((1 << INDEX_BITS) - 1);
    let generation = ((word >> (KIND_BITS + INDEX_BITS)) + 1) & ((1 << GENERATION_BITS) - 1);
    FREE.lock().unwrap_or_else(PoisonError::into_inner).again.push_back((index, generation));
    true
}

/// What one thread at a time uses, by the promise of the caller.
pub(crate) struct Exclusive<T>(UnsafeCell<T>);

impl<T> Exclusive<T> {
    pub(crate) fn new(value: T) -> Exclusive<T> {
        Exclusive(UnsafeCell::new(value))
    }

    /// # Safety
    /// No other reference to the value is in use.
    #[inline]
    #[expect(clippy::mut_from_ref, reason = "exclusive by the caller's promise")]
    pub(crate) unsafe fn get(&self) -> &mut T {
        // SAFETY: as promised to this function.
        unsafe { &mut *self.0.get() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct One;
    struct Other;
    impl Handle for One {
        type Value = u32;
        const KIND: usize = 14;
        const NAME: &'static str = "one";
    }
    impl Handle for Other {
        type Value = String;
        const KIND: usize = 15;
        const NAME: &'static str = "other";
    }

    /// # Safety
    /// As [`find`].
    unsafe fn value(handle: *const One) -> Option<u32> {
        // SAFETY: as promised to this function.
        unsafe { find(handle) }.copied()
    }

    #[test]
    fn only_live_handles_of_the_kind_are_found() {
        let handles: Vec<*mut One> = (0..1000).map(make::<One>).collect();
        for (number, &handle) in (0..).zip(&handles) {
            // SAFETY: not freed meanwhile.
            assert_eq!(unsafe { value(handle) }, Some(number));
            assert!(!free(handle.cast::<Other>()));
            assert!(!free(handle.wrapping_byte_add(1)) && !free(handle.wrapping_byte_add(1 << 40)));
        }
        for &handle in &handles {
            assert!(free(handle) && !free(handle));
        }
        let again: Vec<*mut One> = (0..1000).map(make::<One>).collect();
        for &handle in &handles {
            // SAFETY: it is not found.
            assert!(unsafe { value(handle) }.is_none() && !again.contains(&handle));
        }
        for handle in again {
            assert!(free(handle));
        }
        for word in [0, 1, 14, usize::MAX, usize::MAX - 1, 14 | 12345 << 4, 14 | 0xffff_ffff0] {
            assert!(!free(ptr::without_provenance_mut::<One>(word)));
        }
    }
}
