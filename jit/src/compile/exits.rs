//! Counters of slow exits, for code that is compiled to be watched.
//!
//! Compiled code leaves its fast path for what is rare. Which field does so, why and how often is counted only in an
//! instrumented compile: each such place then adds to a counter of its own, in memory that lives as long as the code.

use std::sync::atomic::{AtomicU64, Ordering};

/// Why compiled code left its fast path.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum Exit {
    /// A varint of four bytes and more, or a length of three and more.
    LongVarint,
    /// Text that is not ASCII.
    NonAscii,
    /// A field that came other than predicted: out of order, or behind fields that were left out.
    OutOfOrder,
    /// A field that the interpreter takes: unknown, or known with another wire type or an overlong tag.
    Unknown,
    /// No room in the arena's chunk.
    ChunkGrowth,
    /// A full list that had to move.
    ListGrowth,
    /// The first field of a cold page.
    ColdPage,
    /// A number that a closed enum does not declare, or an enum of too many ranges to check inline.
    ClosedEnum,
    /// A map entry that is not just a key and a value.
    UnusualEntry,
    /// An item of a MessageSet.
    MessageSet,
    /// A frame that reached the last bytes of a large input.
    InputEnd,
    /// Encode: the buffer had to grow.
    BufferGrowth,
    /// Encode: more than a kilobyte to copy.
    LongText,
    /// Encode: a field that the interpreter writes.
    Interpreted,
}

impl Exit {
    /// All of them, in the order of their counters.
    pub const ALL: [Exit; 14] = [
        Exit::LongVarint,
        Exit::NonAscii,
        Exit::OutOfOrder,
        Exit::Unknown,
        Exit::ChunkGrowth,
        Exit::ListGrowth,
        Exit::ColdPage,
        Exit::ClosedEnum,
        Exit::UnusualEntry,
        Exit::MessageSet,
        Exit::InputEnd,
        Exit::BufferGrowth,
        Exit::LongText,
        Exit::Interpreted,
    ];

    /// A stable word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Exit::LongVarint => "long-varint",
            Exit::NonAscii => "non-ascii",
            Exit::OutOfOrder => "out-of-order",
            Exit::Unknown => "unknown",
            Exit::ChunkGrowth => "chunk-growth",
            Exit::ListGrowth => "list-growth",
            Exit::ColdPage => "cold-page",
            Exit::ClosedEnum => "closed-enum",
            Exit::UnusualEntry => "unusual-entry",
            Exit::MessageSet => "message-set",
            Exit::InputEnd => "input-end",
            Exit::BufferGrowth => "buffer-growth",
            Exit::LongText => "long-text",
            Exit::Interpreted => "interpreted",
        }
    }
}

/// The counters of one function.
#[derive(Debug)]
pub struct ExitCounts {
    /// Those of the function itself, then those of each field, in the order of the program's operations.
    counts: Box<[AtomicU64]>,
}

impl ExitCounts {
    pub(super) fn new(fields: usize) -> ExitCounts {
        ExitCounts { counts: (0..(fields + 1) * Exit::ALL.len()).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Where code counts; valid as long as `self`.
    pub(super) fn address(&self, field: Option<usize>, exit: Exit) -> *const AtomicU64 {
        let row = field.map_or(0, |field| field + 1);
        self.counts.get(row * Exit::ALL.len() + exit as usize).map_or(std::ptr::null(), std::ptr::from_ref)
    }

    /// The exits that were taken: the operation's position, `None` where the exit is no field's, and how often.
    pub fn taken(&self) -> impl Iterator<Item = (Option<usize>, Exit, u64)> {
        let rows = self.counts.chunks(Exit::ALL.len()).enumerate();
        rows.flat_map(|(row, counts)| {
            let counts = Exit::ALL.into_iter().zip(counts);
            counts.map(move |(exit, count)| (row.checked_sub(1), exit, count.load(Ordering::Relaxed)))
        })
        .filter(|&(_, _, count)| count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_exit_has_a_counter() {
        let counts = ExitCounts::new(3);
        for field in [None, Some(0), Some(2)] {
            for exit in Exit::ALL {
                // SAFETY: the counters are alive, and `AtomicU64` may be changed through a shared pointer.
                unsafe { &*counts.address(field, exit) }.fetch_add(1, Ordering::Relaxed);
            }
        }
        assert_eq!(counts.taken().count(), 3 * Exit::ALL.len());
        assert!(counts.taken().all(|(field, _, count)| count == 1 && field != Some(1)));
        assert!(counts.address(Some(3), Exit::Unknown).is_null());
    }
}
