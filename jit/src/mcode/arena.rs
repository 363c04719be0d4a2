//! The address range, and who may have which chunk of it.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use memmap2::{MmapOptions, MmapRaw};

use super::chunks::{ChunkMap, Run};
use super::error::McodeError;
use super::fault::{FaultPlan, Injector, Step};
use super::os::{self, Access};
use super::stats::McodeStats;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// How much a Runtime reserves unless told otherwise.
pub const DEFAULT_RESERVATION: usize = 128 * MIB;

/// The most that can be reserved, so that any call inside the arena reaches its target.
///
/// An x86-64 call spans ±2 GiB and cranelift-jit panics beyond; half of it leaves no
/// doubt. An arm64 call spans ±128 MiB.
///
/// It is a power of two.
pub const MAX_RESERVATION: usize = if cfg!(target_arch = "x86_64") { 1024 * MIB } else { 128 * MIB };

/// The usual size of a chunk.
pub const DEFAULT_CHUNK: usize = 64 * KIB;

/// The most chunks in an arena. A chunk costs at most two kernel mappings (the sealed
/// part and the rest), and Linux allows a process 65,530 in its default setting.
const MAX_CHUNKS: usize = 16 * KIB;

/// How an arena is to be reserved.
#[derive(Clone, Debug)]
pub struct ArenaOptions {
    bytes: usize,
    chunk: usize,
    faults: FaultPlan,
}

impl ArenaOptions {
    /// An arena of `bytes`, rounded up to whole chunks.
    pub fn new(bytes: usize) -> Self {
        Self { bytes, chunk: DEFAULT_CHUNK, faults: FaultPlan::none() }
    }

    /// The granularity, rounded up to a power of two and at least a page;
    /// [`DEFAULT_CHUNK`] unless set.
    ///
    /// Every unit takes at least one chunk of addresses (not of memory: untouched
    /// pages cost nothing). An arena smaller than a chunk is one chunk, and a very
    /// large one gets larger chunks, so that kernel mappings stay few.
    #[must_use]
    pub fn chunk(mut self, bytes: usize) -> Self {
        self.chunk = bytes;
        self
    }

    /// Lets steps fail on purpose.
    #[doc(hidden)]
    #[must_use]
    pub fn faults(mut self, plan: FaultPlan) -> Self {
        self.faults = plan;
        self
    }

    /// Reserves the address range.
    ///
    /// # Errors
    ///
    /// [`McodeError::Size`] for zero or for more than [`MAX_RESERVATION`], and
    /// [`McodeError::Reserve`] when the operating system refuses.
    pub fn reserve(self) -> Result<MachineCodeArena, McodeError> {
        let inner = Inner::reserve(self)?;
        Ok(MachineCodeArena { inner: Arc::new(inner) })
    }
}

/// The memory that compiled code of one Runtime lives in.
///
/// Cheap to clone; the range is unmapped when the last clone and the last unit in it
/// are gone. See the [module's documentation](super) for the life of a page.
#[derive(Clone)]
pub struct MachineCodeArena {
    pub(super) inner: Arc<Inner>,
}

impl MachineCodeArena {
    /// Reserves an arena of `bytes` with chunks of the usual size.
    ///
    /// # Errors
    ///
    /// As [`ArenaOptions::reserve`].
    pub fn reserve(bytes: usize) -> Result<Self, McodeError> {
        ArenaOptions::new(bytes).reserve()
    }

    /// The arena's figures at this moment.
    pub fn stats(&self) -> McodeStats {
        self.inner.stats()
    }

    /// Whether there is room for anything at all: to be asked before code is made that has no place to go.
    ///
    /// # Errors
    ///
    /// [`McodeError::NoRoom`], where not one chunk is free.
    pub fn check_room(&self) -> Result<(), McodeError> {
        self.inner.check_room()
    }

    /// The addresses that the arena occupies. They never change.
    pub fn address_range(&self) -> std::ops::Range<usize> {
        let start = self.inner.base().addr();
        start..start + self.inner.len()
    }
}

impl fmt::Debug for MachineCodeArena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MachineCodeArena")
            .field("addresses", &self.address_range())
            .field("stats", &self.stats())
            .finish()
    }
}

struct State {
    chunks: ChunkMap,
    /// Runs that could not be made inaccessible. They are not writable-and-executable
    /// either, merely out of service.
    quarantine: Vec<Run>,
    stats: McodeStats,
}

/// The shared part of an arena.
///
/// Invariant (home of the arena's `unsafe` arguments): a chunk is either in
/// `State::chunks` or `State::quarantine`, or inside exactly one [`Run`] held outside.
/// Only the holder of a run changes the protection of its pages or hands out pointers
/// into them. Protections are set through [`os::Access`], which cannot express
/// writable-and-executable.
pub(super) struct Inner {
    map: MmapRaw,
    page: usize,
    chunk: usize,
    state: Mutex<State>,
    faults: Injector,
}

impl Inner {
    fn reserve(options: ArenaOptions) -> Result<Self, McodeError> {
        let page = os::page_size();
        let wanted = options.bytes;
        if wanted == 0 || wanted > MAX_RESERVATION {
            return Err(McodeError::Size { wanted, max: MAX_RESERVATION });
        }
        // Nothing below overflows: every operand is at most MAX_RESERVATION, a power of
        // two of which every other power of two below it is a divisor.
        let least = wanted.div_ceil(MAX_CHUNKS).max(page);
        let chunk = options.chunk.clamp(least, MAX_RESERVATION).next_power_of_two();
        // A small arena is one chunk.
        let chunk = chunk.min(wanted.next_multiple_of(page));
        let bytes = wanted.next_multiple_of(chunk);

        let faults = Injector::new(options.faults);
        let reserve = |()| {
            let map = MmapOptions::new().len(bytes).no_reserve_swap().map_anon()?;
            let map = MmapRaw::from(map);
            // SAFETY: the mapping was made just now and nobody has a pointer into it;
            // `bytes` is a multiple of the chunk, hence of the page size.
            unsafe { os::protect(map.as_mut_ptr(), bytes, Access::None) }?;
            Ok(map)
        };
        let map = faults.pass(Step::Reserve).and_then(reserve).map_err(|cause| McodeError::Reserve { bytes, cause })?;
        let stats = McodeStats { reserved: bytes, chunk_size: chunk, page_size: page, ..McodeStats::default() };
        let state = State { chunks: ChunkMap::new(bytes / chunk), quarantine: Vec::new(), stats };
        Ok(Self { map, page, chunk, state: Mutex::new(state), faults })
    }

    /// First address of the range.
    pub(super) fn base(&self) -> *mut u8 {
        self.map.as_mut_ptr()
    }

    /// Length of the range.
    pub(super) fn len(&self) -> usize {
        self.map.len()
    }

    pub(super) fn page(&self) -> usize {
        self.page
    }

    /// First address of a run.
    pub(super) fn run_start(&self, run: &Run) -> *mut u8 {
        // SAFETY: by this type's invariant a run lies inside the mapping, so the offset
        // does too, and it fits `isize` as the mapping does.
        unsafe { self.base().add(run.start() * self.chunk) }
    }

    /// Length of a run in bytes.
    pub(super) fn run_bytes(&self, run: &Run) -> usize {
        run.len() * self.chunk
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No user code runs under this lock; the figures stay usable after a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn stats(&self) -> McodeStats {
        let state = self.lock();
        McodeStats {
            largest_free: state.chunks.largest() * self.chunk,
            quarantined: state.quarantine.iter().map(|run| self.run_bytes(run)).sum(),
            ..state.stats
        }
    }

    /// Changes the counters.
    pub(super) fn count(&self, change: impl FnOnce(&mut McodeStats)) {
        change(&mut self.lock().stats);
    }

    pub(super) fn fault(&self, step: Step) -> std::io::Result<()> {
        self.faults.pass(step)
    }

    /// Takes a run of at least `bytes`, readable and writable.
    pub(super) fn take(&self, bytes: usize) -> Result<Run, McodeError> {
        let count = bytes.div_ceil(self.chunk).max(1);
        let run = match self.find(|chunks| chunks.take(count)) {
            Some(run) => run,
            None => {
                self.retry_quarantine();
                self.find(|chunks| chunks.take(count)).ok_or_else(|| self.no_room(bytes))?
            }
        };
        self.unlock(run)
    }

    /// Takes the chunks behind `run` that `bytes` need, readable and writable.
    ///
    /// `None` when they are not free.
    pub(super) fn take_after(&self, run: &Run, bytes: usize) -> Result<Option<Run>, McodeError> {
        let count = bytes.div_ceil(self.chunk).max(1);
        match self.find(|chunks| chunks.take_after(run, count)) {
            Some(more) => self.unlock(more).map(Some),
            None => Ok(None),
        }
    }

    fn check_room(&self) -> Result<(), McodeError> {
        let is_full = || self.lock().chunks.largest() == 0;
        if is_full() {
            self.retry_quarantine();
            if is_full() {
                return Err(self.no_room(self.chunk));
            }
        }
        Ok(())
    }

    fn find(&self, pick: impl FnOnce(&mut ChunkMap) -> Option<Run>) -> Option<Run> {
        let mut state = self.lock();
        let run = pick(&mut state.chunks)?;
        let stats = &mut state.stats;
        stats.in_use += self.run_bytes(&run);
        stats.high_water = stats.high_water.max(stats.in_use);
        Some(run)
    }

    fn no_room(&self, wanted: usize) -> McodeError {
        McodeError::NoRoom { wanted, largest_free: self.lock().chunks.largest() * self.chunk, reserved: self.len() }
    }

    fn unlock(&self, run: Run) -> Result<Run, McodeError> {
        let bytes = self.run_bytes(&run);
        let set = |()| {
            // SAFETY: this function owns the run (invariant of `Inner`), whose pages
            // were inaccessible until now, so nobody relies on their protection.
            unsafe { os::protect(self.run_start(&run), bytes, Access::ReadWrite) }
        };
        match self.fault(Step::Unlock).and_then(set) {
            Ok(()) => Ok(run),
            Err(cause) => {
                self.give_back(run);
                Err(McodeError::Protect { bytes, cause })
            }
        }
    }

    /// Takes a run back: inaccessible, without memory behind it, and free.
    ///
    /// The caller has no pointer into the run left, nor has anybody it gave one to.
    pub(super) fn give_back(&self, run: Run) {
        match self.lock_pages(&run) {
            Ok(decommitted) => {
                let mut state = self.lock();
                state.stats.in_use -= self.run_bytes(&run);
                state.stats.runs_returned += 1;
                state.stats.decommit_failures += u64::from(!decommitted);
                state.chunks.give_back(run);
            }
            Err(cause) => {
                let bytes = self.run_bytes(&run);
                tracing::warn!(bytes, %cause, "machine code could not be made inaccessible; its memory stays out of service");
                self.lock().quarantine.push(run);
            }
        }
    }

    /// Makes a run inaccessible; `false` when its memory could not be given back.
    fn lock_pages(&self, run: &Run) -> std::io::Result<bool> {
        let (start, bytes) = (self.run_start(run), self.run_bytes(run));
        self.fault(Step::Lock)?;
        // SAFETY: the caller owns the run (invariant of `Inner`), and `give_back` says
        // that no pointer into it is left.
        unsafe { os::protect(start, bytes, Access::None) }?;
        Ok(self.fault(Step::Decommit).and_then(|()| self.decommit(run)).is_ok())
    }

    #[cfg(unix)]
    fn decommit(&self, run: &Run) -> std::io::Result<()> {
        let (offset, bytes) = (run.start() * self.chunk, self.run_bytes(run));
        // SAFETY: `DontNeed` discards the contents of private anonymous pages; the run
        // is owned here and inaccessible, so nobody can notice.
        unsafe { self.map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, offset, bytes) }
    }

    /// Where there is no such advice the pages keep their memory and old contents,
    /// which nothing relies on: what is executable later is written first.
    #[cfg(not(unix))]
    fn decommit(&self, _run: &Run) -> std::io::Result<()> {
        Ok(())
    }

    /// Tries once more to take back what [`give_back`](Self::give_back) could not.
    fn retry_quarantine(&self) {
        let runs = std::mem::take(&mut self.lock().quarantine);
        runs.into_iter().for_each(|run| self.give_back(run));
    }
}
