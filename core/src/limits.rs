//! What a decode or encode may use.

/// Bounds of one decode or encode. The memory bound is the arena's own
/// ([`Arena::with_limit`](crate::memory::Arena::with_limit)).
///
/// ```
/// use protojit_core::limits::Limits;
/// let limits = Limits { max_depth: 32, ..Limits::default() };
/// assert_eq!(limits.max_message_bytes, 0x7fff_ffff);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// How deep messages and groups may nest below the root message. Default 100. Engines use at most
    /// [`Limits::stack_bytes`] of stack, so that a larger depth needs more of it.
    pub max_depth: u32,
    /// Stack that a decode or encode may use, in bytes; default 512 KiB. The depth is cut to what fits.
    pub stack_bytes: usize,
    /// The largest message in bytes, at most (and by default) 2^31-1.
    pub max_message_bytes: usize,
    /// Bytes of unknown fields that are kept, per decode; default: no bound of its own.
    pub max_unknown_bytes: usize,
    /// Unknown fields that are kept, per decode; default: no bound of its own.
    pub max_unknown_fields: usize,
}

/// Stack that one level of nesting takes at most, in either engine.
pub const STACK_BYTES_PER_LEVEL: usize = 2048;

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_depth: 100,
            stack_bytes: 512 << 10,
            max_message_bytes: i32::MAX as usize,
            max_unknown_bytes: usize::MAX,
            max_unknown_fields: usize::MAX,
        }
    }
}

impl Limits {
    /// The depth that both [`Limits::max_depth`] and [`Limits::stack_bytes`] allow.
    #[inline]
    pub fn depth(&self) -> u32 {
        (self.stack_bytes / STACK_BYTES_PER_LEVEL).min(self.max_depth as usize) as u32
    }
}
