//! The last bytes of an input that is decoded in place.
//!
//! Fast code loads a bit more than it uses, which the last bytes of a borrowed input do not allow. The first frame that comes
//! there copies them, with padding behind, and goes on in the copy as if nothing had happened; at its end it returns the position
//! *in the input*. So its parents notice nothing, until they, at a position behind the point in their turn, change over to the
//! same copy. Where the arena has no room for it they go on in the input, field by field.
//!
//! All positions that leave a frame are positions in the input. Errors are recorded with such, too.

use super::{CLOSED_BY_GROUP, DecodeCtx, SLACK};
use crate::bytes::copy;

/// A frame that goes on in the copy.
#[derive(Clone, Copy, Debug)]
pub struct Moved {
    /// Where it goes on.
    pub p: *const u8,
    /// Its limit.
    pub limit: *const u8,
    from: *const u8,
}

impl Moved {
    /// The position in the input for one in the copy that a frame returned.
    #[inline]
    pub fn back(self, behind: *const u8) -> *const u8 {
        if behind.is_null() {
            return behind;
        }
        let closed = behind.addr() & CLOSED_BY_GROUP;
        let read = (behind.addr() & !CLOSED_BY_GROUP).wrapping_sub(self.p.addr());
        self.from.wrapping_add(read).map_addr(|at| at | closed)
    }
}

impl DecodeCtx {
    /// Takes memory for the copy, unless padding follows the input anyway. Before anything else is decoded: so that the engines, which
    /// come to the last bytes at slightly different positions, use the same memory.
    #[inline(always)]
    pub(super) fn keep_tail_room(&mut self, padded: bool) {
        if !padded {
            self.tail_room = self.bump.take(2 * SLACK).unwrap_or(std::ptr::null_mut());
        }
    }

    /// Moves a frame that is at `p`, before its limit, into the copy of the last bytes. `None` where it goes on as it is.
    ///
    /// # Safety
    /// `p..limit` lies within the input that this was made for, and `p` is not before [`DecodeCtx::safe`] or there is a copy already.
    #[inline(never)]
    pub unsafe fn move_to_tail(&mut self, p: *const u8, limit: *const u8) -> Option<Moved> {
        if self.tail.is_null() {
            let (len, at) = (self.end.addr() - p.addr(), self.tail_room);
            if at.is_null() || len > SLACK {
                return None;
            }
            // SAFETY: fresh memory of twice that size; the input reaches to `end`.
            unsafe {
                copy(p, at, len);
                at.add(len).write_bytes(0, SLACK);
            }
            self.tail = at;
            self.tail_from = p;
            self.safe = at.wrapping_add(len);
        }
        // Only what was copied; nothing goes back before that point, so this is never met.
        if p.addr().wrapping_sub(self.tail_from.addr()) > SLACK {
            return None;
        }
        let moved = |at: *const u8| self.tail.wrapping_add(at.addr().wrapping_sub(self.tail_from.addr()));
        Some(Moved { p: moved(p), limit: moved(limit), from: p })
    }

    /// Whether a frame that begins at `p` belongs into the copy, and is not there yet.
    #[inline(always)]
    pub(super) fn is_before_tail(&self, p: *const u8) -> bool {
        !self.tail.is_null() && p.addr().wrapping_sub(self.tail.addr()) > SLACK
    }

    /// From where on loads at `p` and behind must be careful, whichever of the two `p` lies in.
    #[inline(always)]
    pub(super) fn safe_from(&self, p: *const u8) -> *const u8 {
        if self.is_before_tail(p) { p } else { self.safe }
    }

    /// The position in the input for one that may be in the copy.
    pub(super) fn in_input(&self, at: *const u8) -> *const u8 {
        if self.tail.is_null() || self.is_before_tail(at) {
            return at;
        }
        self.tail_from.wrapping_add(at.addr() - self.tail.addr())
    }
}
