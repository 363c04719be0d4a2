//! Counters of encodes.
//!
//! Decodes count in their arena. Encodes have no such place, and a shared counter would cost more than the rest of a
//! small encode once two threads use it. So each thread gets a shard of its own, which it alone writes; threads beyond
//! the number of shards share the last one.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const SHARDS: usize = 16;
const SHARED: usize = SHARDS - 1;
const UNASSIGNED: usize = usize::MAX;

/// What an encode counts as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    Compiled = 0,
    Interpreted = 1,
    /// Compiled code refused what the interpreter wrote.
    Disagreement = 2,
}

/// One cache line, so that shards do not disturb each other.
#[repr(align(64))]
#[derive(Debug, Default)]
struct Shard {
    events: [AtomicU64; 3],
}

/// Counts of one message type.
#[derive(Debug, Default)]
pub(crate) struct EncodeCounts {
    shards: OnceLock<Box<[Shard; SHARDS]>>,
}

impl EncodeCounts {
    #[inline]
    pub(crate) fn count(&self, event: Event) {
        let shards = self.shards.get_or_init(Box::default);
        let at = shard_of_this_thread();
        let counter = &shards[at].events[event as usize];
        if at == SHARED {
            counter.fetch_add(1, Ordering::Relaxed);
        } else {
            // No other thread writes to this shard.
            counter.store(counter.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        }
    }

    pub(crate) fn sum(&self, event: Event) -> u64 {
        let shards = self.shards.get();
        shards.map_or(0, |shards| shards.iter().map(|shard| shard.events[event as usize].load(Ordering::Relaxed)).sum())
    }
}

/// Shards below [`SHARED`] that are taken, as bits.
static TAKEN: AtomicU32 = AtomicU32::new(0);

thread_local! {
    static SHARD: Cell<usize> = const { Cell::new(UNASSIGNED) };
    static LEASE: Lease = const { Lease(Cell::new(UNASSIGNED)) };
}

/// Gives the shard back when its thread ends.
struct Lease(Cell<usize>);

impl Drop for Lease {
    fn drop(&mut self) {
        // Later encodes of this thread, in other destructors, use the shared shard.
        SHARD.set(SHARED);
        let at = self.0.get();
        if at < SHARED {
            TAKEN.fetch_and(!(1 << at), Ordering::Release);
        }
    }
}

#[inline]
fn shard_of_this_thread() -> usize {
    let at = SHARD.get();
    if at == UNASSIGNED { assign() } else { at }
}

#[cold]
fn assign() -> usize {
    let mut taken = TAKEN.load(Ordering::Relaxed);
    let at = loop {
        let at = (!taken).trailing_zeros() as usize;
        if at >= SHARED {
            break SHARED;
        }
        // `Acquire` pairs with the release by the thread that had the shard before: its counts are seen.
        match TAKEN.compare_exchange_weak(taken, taken | 1 << at, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => break at,
            Err(now) => taken = now,
        }
    };
    if at < SHARED && LEASE.try_with(|lease| lease.0.set(at)).is_err() {
        TAKEN.fetch_and(!(1 << at), Ordering::Release);
        SHARD.set(SHARED);
        return SHARED;
    }
    SHARD.set(at);
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_counts_with_more_threads_than_shards() {
        let counts = EncodeCounts::default();
        for _ in 0..3 {
            std::thread::scope(|scope| {
                for _ in 0..2 * SHARDS {
                    scope.spawn(|| (0..1000).for_each(|_| counts.count(Event::Compiled)));
                }
            });
        }
        counts.count(Event::Interpreted);
        assert_eq!(counts.sum(Event::Compiled), 3 * 2 * SHARDS as u64 * 1000);
        assert_eq!(counts.sum(Event::Interpreted), 1);
    }
}
