//! Where helpers take memory from: the arena itself, or a decoder's copy of its bump pointers.

use super::{Arena, ArenaFull, Bump};

/// A source of arena memory.
///
/// # Safety
/// `alloc` gives memory of the size asked for, aligned to eight, that nobody else holds and that lives
/// until the arena is reset; `extend` answers `true` only where the `more` bytes behind `end` were free
/// and now belong to the caller.
pub unsafe trait Alloc {
    /// `size` bytes, aligned to eight, not initialised.
    ///
    /// # Errors
    /// The arena's limit is reached, or the allocator refused.
    fn alloc(&mut self, size: usize) -> Result<*mut u8, ArenaFull>;

    /// Grows an allocation in place: `end` is its end (a multiple of eight), `more` the bytes wanted.
    fn extend(&mut self, end: *mut u8, more: usize) -> bool;

    /// The limit, for errors.
    fn limit(&self) -> usize;
}

impl Bump {
    /// Moves the pointer by `size` rounded up to eight, if there is room.
    #[inline]
    pub fn take(&mut self, size: usize) -> Option<*mut u8> {
        let size = size.checked_next_multiple_of(8)?;
        let at = self.at;
        if self.end as usize - (at as usize) < size {
            return None;
        }
        self.at = at.wrapping_add(size);
        Some(at)
    }

    /// Takes `more` bytes (rounded up to eight) if the free part begins at `end` and has room.
    #[inline]
    pub fn extend(&mut self, end: *mut u8, more: usize) -> bool {
        self.at == end && self.take(more).is_some()
    }
}

// SAFETY: the arena's bump pointer separates what was handed out from what is free.
unsafe impl Alloc for &Arena {
    #[inline]
    fn alloc(&mut self, size: usize) -> Result<*mut u8, ArenaFull> {
        Arena::alloc(self, size)
    }

    #[inline]
    fn extend(&mut self, end: *mut u8, more: usize) -> bool {
        let mut bump = self.bump();
        let done = bump.extend(end, more);
        // SAFETY: the arena's own value, moved forward within its chunk by a multiple of eight.
        unsafe { self.set_bump(bump) };
        done
    }

    fn limit(&self) -> usize {
        Arena::limit(self)
    }
}
