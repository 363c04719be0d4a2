//! Bump memory.
//!
//! An arena hands out memory by moving a pointer and takes it all back at once by [`Arena::reset`].
//! Decoders copy the pointer pair ([`Bump`]) into their context, move it there, and put it back.
//! Memory is *not* zeroed: who allocates writes every byte that is ever read.

use std::alloc::{Layout as AllocLayout, alloc, dealloc};
use std::cell::{Cell, RefCell};
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// The default bound of the memory that one arena takes between two resets: 2 GiB.
pub const DEFAULT_ARENA_LIMIT: usize = 2 << 30;

const FIRST_CHUNK: usize = 4 << 10;
const LARGEST_STEP: usize = 4 << 20;
/// A cache line, which small inputs and messages then begin with.
const CHUNK_ALIGN: usize = 64;
/// How many owners an arena keeps alive before a reset lets go of them.
const MOST_PINS: usize = 64;
/// A reset passes counts on once so many events are waiting in the first two counters.
const FLUSH_AFTER: u64 = 1024;

/// The free part of the current chunk. Both ends are multiples of eight.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Bump {
    /// The next free byte.
    pub at: *mut u8,
    /// The end of the chunk.
    pub end: *mut u8,
}

/// The arena's limit is reached, or the allocator refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the arena's limit of {limit} bytes is reached")]
pub struct ArenaFull {
    /// The limit in bytes.
    pub limit: usize,
}

struct Chunk {
    ptr: *mut u8,
    size: usize,
}

/// Where chunks come from in place of the allocator: for tests, which put them between unmapped pages and make every
/// growth happen that can.
///
/// # Safety
/// Chunks are memory that nobody else holds until they are given back, aligned to eight, of at least the size asked
/// for and a multiple of eight.
#[doc(hidden)]
pub unsafe trait ChunkSource: Send {
    /// A chunk of at least `least` bytes, a multiple of eight; an arena of its own accord would take `wanted`.
    fn take(&mut self, least: usize, wanted: usize) -> Option<NonNull<[u8]>>;

    /// Takes a chunk back.
    fn give_back(&mut self, chunk: NonNull<[u8]>);
}

/// How much room an arena has left, and how much it may still take.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    free: usize,
    reserved: usize,
}

/// Event counts of an arena: how many decodes each engine ran, and so on. The engines give them their meaning.
pub type Counts = [u64; Arena::COUNTERS];

/// What an arena keeps alive: the owner of the layouts that its messages have. It also receives the counts of what
/// was decoded on its behalf, so that no counter is shared between threads on the way.
pub trait Owner: Send + Sync {
    /// Adds counts. Called when the arena is reset (now and then), released or dropped.
    fn add_counts(&self, counts: &Counts);

    /// Is told of an input that an engine refused on the owner's behalf, and the interpreter did not.
    fn disagreement(&self, input: &[u8]) {
        let _ = input;
    }
}

struct Pin {
    owner: Arc<dyn Owner>,
    counts: Counts,
}

impl Pin {
    fn address(&self) -> *const () {
        Arc::as_ptr(&self.owner).cast()
    }
}

/// Memory for messages: `Send`, not `Sync`. What was decoded into it borrows it and can be read from
/// any thread.
///
/// ```
/// use protojit_core::memory::Arena;
/// let mut arena = Arena::new();
/// let bytes: &[u8] = arena.copy_bytes(b"hello").unwrap();
/// assert_eq!(bytes, b"hello");
/// arena.reset(); // keeps the memory for the next message
/// assert_eq!(arena.used(), 0);
/// ```
pub struct Arena {
    bump: Cell<Bump>,
    /// Where a reset begins again; null where it has more to do than that.
    start: Cell<*mut u8>,
    chunks: RefCell<Vec<Chunk>>,
    reserved: Cell<usize>,
    limit: usize,
    source: Option<Box<RefCell<dyn ChunkSource>>>,
    pins: RefCell<Vec<Pin>>,
    /// The owner pinned last; `counters` are its counts.
    last_pin: Cell<*const ()>,
    counters: [Cell<u64>; Self::COUNTERS],
}

// SAFETY: chunks are owned by the arena alone, and pins are `Send + Sync`; the cells make it `!Sync`,
// so that only one thread at a time allocates.
unsafe impl Send for Arena {}

impl Default for Arena {
    fn default() -> Self {
        Arena::new()
    }
}

impl Arena {
    /// How many event counters an arena carries for the engines.
    pub const COUNTERS: usize = 4;

    /// An empty arena with [`DEFAULT_ARENA_LIMIT`]. Takes no memory until the first use.
    pub fn new() -> Arena {
        Arena::with_limit(DEFAULT_ARENA_LIMIT)
    }

    /// An empty arena that holds at most `limit` bytes, chunk rounding included.
    pub fn with_limit(limit: usize) -> Arena {
        Arena {
            bump: Cell::new(Bump { at: ptr::without_provenance_mut(8), end: ptr::without_provenance_mut(8) }),
            start: Cell::new(ptr::null_mut()),
            chunks: RefCell::default(),
            reserved: Cell::new(0),
            limit,
            source: None,
            pins: RefCell::default(),
            last_pin: Cell::new(ptr::null()),
            counters: Default::default(),
        }
    }

    /// An empty arena whose first chunk holds `bytes`, so that messages of that size never grow it.
    pub fn with_capacity(bytes: usize) -> Arena {
        let arena = Arena::new();
        // Where the memory cannot be had the first decode reports it.
        let _ = arena.grow(bytes);
        arena
    }

    /// An empty arena whose chunks come from `source`.
    #[doc(hidden)]
    pub fn with_chunk_source(limit: usize, source: impl ChunkSource + 'static) -> Arena {
        let mut arena = Arena::with_limit(limit);
        arena.source = Some(Box::new(RefCell::new(source)));
        arena
    }

    /// The limit in bytes.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Bytes handed out since the last reset, unused tails of full chunks included.
    pub fn used(&self) -> usize {
        let bump = self.bump.get();
        self.reserved.get() - (bump.end as usize - bump.at as usize)
    }

    /// Bytes taken from the allocator.
    pub fn reserved(&self) -> usize {
        self.reserved.get()
    }

    /// Forgets everything in the arena and keeps its memory: afterwards there is one chunk, as large as
    /// all of them were together, so that equal work needs no new one.
    #[inline]
    pub fn reset(&mut self) {
        let start = self.start.get();
        if start.is_null() || self.counters[0].get() + self.counters[1].get() >= FLUSH_AFTER {
            return self.reset_slow();
        }
        self.bump.set(Bump { at: start, end: self.bump.get().end });
    }

    #[cold]
    fn reset_slow(&mut self) {
        let chunks = self.chunks.get_mut();
        if chunks.len() > 1 {
            let size = self.reserved.get();
            free(chunks, self.source.as_deref());
            self.reserved.set(0);
            self.bump.set(Bump { at: ptr::without_provenance_mut(8), end: ptr::without_provenance_mut(8) });
            // Where one chunk of that size cannot be had, the next decode begins small.
            let _ = self.add_chunk(size, size);
        } else if let Some(chunk) = chunks.first() {
            let end = chunk.ptr.wrapping_add(chunk.size);
            self.bump.set(Bump { at: chunk.ptr, end });
        }
        if self.pins.get_mut().len() > MOST_PINS {
            self.release_owners();
        } else {
            self.flush_counts();
        }
        self.start.set(self.chunks.get_mut().first().map_or(ptr::null_mut(), |chunk| chunk.ptr));
    }

    /// Gives all memory back to the allocator and lets go of the schemas it kept alive.
    pub fn release(&mut self) {
        free(self.chunks.get_mut(), self.source.as_deref());
        self.reserved.set(0);
        self.bump.set(Bump { at: ptr::without_provenance_mut(8), end: ptr::without_provenance_mut(8) });
        self.start.set(ptr::null_mut());
        self.release_owners();
    }

    /// Lets go of the owners that it keeps alive, after passing their counts on. Whoever still reads raw memory of this
    /// arena keeps the layouts alive by other means.
    pub fn release_owners(&mut self) {
        self.flush_counts();
        self.pins.get_mut().clear();
        self.last_pin.set(ptr::null());
    }

    /// Passes all counts on to the owners they belong to.
    pub fn flush_counts(&self) {
        self.store_counters();
        for pin in self.pins.borrow_mut().iter_mut() {
            let counts = std::mem::take(&mut pin.counts);
            if counts != Counts::default() {
                pin.owner.add_counts(&counts);
            }
        }
    }

    /// Moves the counters to the pin that they belong to.
    fn store_counters(&self) {
        let last = self.last_pin.get();
        if let Some(pin) = self.pins.borrow_mut().iter_mut().find(|pin| ptr::eq(pin.address(), last)) {
            for (count, counter) in pin.counts.iter_mut().zip(&self.counters) {
                *count += counter.take();
            }
        }
    }

    /// The free part of the current chunk, for a decoder to allocate from.
    #[inline]
    pub fn bump(&self) -> Bump {
        self.bump.get()
    }

    /// Puts back what [`Arena::bump`] or [`Arena::grow`] gave.
    ///
    /// # Safety
    /// `bump` is the last value that this arena gave out, with `at` moved forward, at most to `end`, by a
    /// multiple of eight.
    #[inline]
    pub unsafe fn set_bump(&self, bump: Bump) {
        self.bump.set(bump);
    }

    /// The room it has when this much of its last chunk is free.
    #[inline]
    pub fn room(&self, bump: Bump) -> Room {
        Room { free: bump.end as usize - bump.at as usize, reserved: self.reserved.get() }
    }

    /// An arena of its own with the room that this one had: equal work meets the limit at the same place in it.
    ///
    /// # Errors
    /// The allocator refused.
    pub fn rehearsal(&self, room: Room) -> Result<Arena, ArenaFull> {
        let arena = Arena::with_limit(self.limit);
        if room.free != 0 {
            arena.add_chunk(room.free, room.free)?;
        }
        arena.reserved.set(room.reserved);
        Ok(arena)
    }

    /// Starts a new chunk with at least `size` free bytes and gives it.
    ///
    /// # Errors
    /// The limit is reached, or the allocator refused.
    #[cold]
    pub fn grow(&self, size: usize) -> Result<Bump, ArenaFull> {
        let full = ArenaFull { limit: self.limit };
        let reserved = self.reserved.get();
        let room = self.limit.checked_sub(reserved).ok_or(full)?;
        let least = size.checked_next_multiple_of(8).ok_or(full)?;
        let size = size.checked_next_multiple_of(CHUNK_ALIGN).ok_or(full)?;
        let step = reserved.clamp(FIRST_CHUNK, LARGEST_STEP);
        let wanted = size.max(step).min(room & !(CHUNK_ALIGN - 1));
        if wanted < size {
            return Err(full);
        }
        self.add_chunk(least, wanted)
    }

    /// Of `size` bytes; a source of chunks may give less, at least `least`.
    fn add_chunk(&self, least: usize, mut size: usize) -> Result<Bump, ArenaFull> {
        let full = ArenaFull { limit: self.limit };
        if size == 0 {
            return Err(full);
        }
        let layout = AllocLayout::from_size_align(size, CHUNK_ALIGN).map_err(|_| full)?;
        let mut chunks = self.chunks.borrow_mut();
        chunks.try_reserve(1).map_err(|_| full)?;
        let ptr = match &self.source {
            // SAFETY: `size` is not zero.
            None => unsafe { alloc(layout) },
            Some(source) => {
                let chunk = source.borrow_mut().take(least, size).ok_or(full)?;
                size = chunk.len();
                chunk.as_ptr().cast()
            }
        };
        if ptr.is_null() {
            return Err(full);
        }
        self.start.set(if chunks.is_empty() { ptr } else { ptr::null_mut() });
        chunks.push(Chunk { ptr, size });
        self.reserved.set(self.reserved.get() + size);
        let bump = Bump { at: ptr, end: ptr.wrapping_add(size) };
        self.bump.set(bump);
        Ok(bump)
    }

    /// `size` bytes, aligned to eight, not initialised.
    ///
    /// # Errors
    /// The limit is reached, or the allocator refused.
    #[inline]
    pub fn alloc(&self, size: usize) -> Result<*mut u8, ArenaFull> {
        let size = size.checked_next_multiple_of(8).ok_or(ArenaFull { limit: self.limit })?;
        let mut bump = self.bump.get();
        if bump.end as usize - (bump.at as usize) < size {
            bump = self.grow(size)?;
        }
        let at = bump.at;
        self.bump.set(Bump { at: at.wrapping_add(size), end: bump.end });
        Ok(at)
    }

    /// `size` zero bytes, aligned to eight.
    ///
    /// # Errors
    /// As [`Arena::alloc`].
    #[inline]
    pub fn alloc_zeroed(&self, size: usize) -> Result<*mut u8, ArenaFull> {
        let at = self.alloc(size)?;
        // SAFETY: `alloc` gave `size` writable bytes.
        unsafe { at.write_bytes(0, size) };
        Ok(at)
    }

    /// A copy of `bytes` that lives as long as the arena is not reset.
    ///
    /// # Errors
    /// As [`Arena::alloc`].
    pub fn copy_bytes(&self, bytes: &[u8]) -> Result<&[u8], ArenaFull> {
        let at = self.alloc(bytes.len())?;
        // SAFETY: fresh memory of that length, which nobody else writes to before a reset, and that
        // needs `&mut self`.
        unsafe {
            ptr::copy_nonoverlapping(bytes.as_ptr(), at, bytes.len());
            Ok(std::slice::from_raw_parts(at, bytes.len()))
        }
    }

    /// Uninitialised room for `len` bytes.
    ///
    /// # Errors
    /// As [`Arena::alloc`].
    #[expect(clippy::mut_from_ref, reason = "every call gives other memory")]
    pub fn alloc_slice(&self, len: usize) -> Result<&mut [MaybeUninit<u8>], ArenaFull> {
        let at = self.alloc(len)?;
        // SAFETY: fresh memory of that length; `MaybeUninit` needs no initialisation.
        Ok(unsafe { std::slice::from_raw_parts_mut(at.cast(), len) })
    }

    /// Keeps `owner` alive as long as what is decoded into this arena may be read. Costs a comparison
    /// where it is the one pinned last.
    #[inline]
    pub fn pin<T: Owner + 'static>(&self, owner: &Arc<T>) {
        if !ptr::eq(self.last_pin.get(), Arc::as_ptr(owner).cast()) {
            self.pin_slow(owner.clone());
        }
    }

    #[cold]
    fn pin_slow(&self, owner: Arc<dyn Owner>) {
        self.store_counters();
        let pin = Pin { owner, counts: Counts::default() };
        let address = pin.address();
        let mut pins = self.pins.borrow_mut();
        if !pins.iter().any(|other| ptr::eq(other.address(), address)) {
            pins.push(pin);
            if pins.len() > MOST_PINS {
                self.start.set(ptr::null_mut());
            }
        }
        self.last_pin.set(address);
    }

    /// Tells the owner pinned last of a [disagreement](Owner::disagreement).
    #[cold]
    pub fn tell_disagreement(&self, input: &[u8]) {
        let last = self.last_pin.get();
        let pins = self.pins.borrow();
        let owner = pins.iter().find(|pin| ptr::eq(pin.address(), last)).map(|pin| pin.owner.clone());
        // What the owner does about it may use this arena.
        drop(pins);
        if let Some(owner) = owner {
            owner.disagreement(input);
        }
    }

    /// The event counter `which`, below [`Arena::COUNTERS`]; it counts for the owner pinned last. The first two make a reset
    /// pass counts on, once they have reached a thousand together.
    #[inline]
    pub fn counter(&self, which: usize) -> &Cell<u64> {
        &self.counters[which]
    }
}

fn free(chunks: &mut Vec<Chunk>, source: Option<&RefCell<dyn ChunkSource>>) {
    for Chunk { ptr, size } in chunks.drain(..) {
        match source {
            // SAFETY: allocated in `add_chunk` with this very layout, and dropped from the list now.
            None => unsafe { dealloc(ptr, AllocLayout::from_size_align_unchecked(size, CHUNK_ALIGN)) },
            Some(source) => {
                let chunk = NonNull::new(ptr).map(|ptr| NonNull::slice_from_raw_parts(ptr, size));
                chunk.into_iter().for_each(|chunk| source.borrow_mut().give_back(chunk));
            }
        }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        self.flush_counts();
        free(self.chunks.get_mut(), self.source.as_deref());
    }
}

impl std::fmt::Debug for Arena {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Arena")
            .field("used", &self.used())
            .field("reserved", &self.reserved())
            .field("limit", &self.limit)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rehearsal_meets_the_limit_where_the_arena_does() {
        for limit in (0..300_000).step_by(1111) {
            let mut arena = Arena::with_limit(limit);
            for before in [0, 8, 4096, 5000, 30_000] {
                arena.reset();
                if arena.alloc(before).is_err() {
                    continue;
                }
                let rehearsal = arena.rehearsal(arena.room(arena.bump())).unwrap();
                let work = |arena: &Arena| (0..).take_while(|n| arena.alloc(n % 5000).is_ok()).count();
                assert_eq!(work(&rehearsal), work(&arena), "{limit}, {before}");
            }
        }
    }

    #[test]
    fn a_reset_arena_serves_equal_work_from_one_chunk() {
        let mut arena = Arena::new();
        for _ in 0..3 {
            for _ in 0..1000 {
                arena.alloc(64).unwrap();
            }
            let reserved = arena.reserved();
            arena.reset();
            assert_eq!(arena.reserved(), reserved);
            assert_eq!(arena.chunks.borrow().len(), 1);
        }
    }

    #[test]
    fn the_limit_holds() {
        let arena = Arena::with_limit(10_000);
        assert!(arena.alloc(20_000).is_err());
        let mut got = 0;
        while arena.alloc(1000).is_ok() {
            got += 1000;
        }
        assert!((7000..=10_000).contains(&got), "{got}");
        assert!(arena.reserved() <= 10_000);
        assert_eq!(arena.alloc(usize::MAX), Err(ArenaFull { limit: 10_000 }));
    }

    #[derive(Default)]
    struct Sum(std::sync::Mutex<Counts>);

    impl Owner for Sum {
        fn add_counts(&self, counts: &Counts) {
            let mut sum = self.0.lock().unwrap();
            sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
    }

    #[test]
    fn owners_are_kept_once_and_get_their_own_counts() {
        let mut arena = Arena::new();
        let (a, b) = (Arc::new(Sum::default()), Arc::new(Sum::default()));
        for _ in 0..4 {
            arena.pin(&a);
            arena.counter(0).set(arena.counter(0).get() + 1);
            arena.pin(&b);
            arena.counter(0).set(arena.counter(0).get() + 10);
            arena.counter(1).set(arena.counter(1).get() + 1);
            arena.reset();
        }
        assert_eq!(Arc::strong_count(&a), 2);
        drop(arena);
        assert_eq!(Arc::strong_count(&b), 1);
        assert_eq!(*a.0.lock().unwrap(), [4, 0, 0, 0]);
        assert_eq!(*b.0.lock().unwrap(), [40, 4, 0, 0]);
    }
}
