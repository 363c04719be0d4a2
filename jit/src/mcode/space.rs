//! The chunks of one unit, and their hand-over to cranelift-jit.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cranelift_jit::{BranchProtection, JITMemoryKind, JITMemoryProvider};
use cranelift_module::ModuleResult;

use super::arena::Inner;
use super::chunks::Run;
use super::error::McodeError;
use super::fault::Step;
use super::os::{self, Access};

/// What a block's pages become when they are sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Code,
    Constants,
    Variables,
}

/// A run that holds pieces of one kind; kinds never share a page.
struct Block {
    run: Run,
    kind: Kind,
    /// Where the first piece begins: see [`first_place`].
    from: usize,
    /// Where the last piece ends.
    used: usize,
    sealed: bool,
}

/// Where the first piece of a run of code begins. Chunks are large powers of two, and the processor's caches look at the low
/// bits of an address: were all units to begin where their chunks do, the beginnings of some ten functions that call each
/// other would push each other out of the cache. So each begins at another line of its first page, as far as that
/// takes no further chunk.
fn first_place(run: &Run, bytes: usize, size: usize) -> usize {
    /// Lines from one unit to the next, coprime to the number of lines in a page.
    const STEP: usize = 27;
    const LINE: usize = 64;
    let place = run.start() * STEP * LINE % 4096;
    if place <= bytes - size { place } else { 0 }
}

/// All memory of one unit, from its first allocation until its code is dropped.
///
/// Invariant: pages of an unsealed block are readable and writable and reached only by
/// the one [`ArenaProvider`] (and the module that owns it); pages of a sealed code
/// block are never writable again while the block exists.
pub(super) struct UnitSpace {
    arena: Arc<Inner>,
    blocks: Vec<Block>,
    /// Set by a complete [`seal`](Self::seal): the unit counts as alive.
    sealed: bool,
}

impl UnitSpace {
    pub(super) fn new(arena: Arc<Inner>) -> Self {
        Self { arena, blocks: Vec::new(), sealed: false }
    }

    fn allocate(&mut self, size: usize, align: u64, kind: Kind) -> Result<*mut u8, McodeError> {
        let max = self.arena.page();
        let align = match usize::try_from(align) {
            Ok(align) if align <= max && align.is_power_of_two() => align,
            _ => return Err(McodeError::Alignment { wanted: align, max }),
        };
        // A piece of zero bytes still gets an address of its own.
        let size = size.max(1);
        if size > self.arena.len() {
            // Refused here, so that no sum below can overflow.
            let stats = self.arena.stats();
            return Err(McodeError::NoRoom {
                wanted: size,
                largest_free: stats.largest_free,
                reserved: stats.reserved,
            });
        }
        let index = self.block_for(size, align, kind)?;
        let block = &mut self.blocks[index];
        let start = self.arena.run_start(&block.run);
        let offset = block.used.next_multiple_of(align);
        if kind == Kind::Code {
            // SAFETY: `used..offset` lies in this unsealed block, which is writable and
            // not yet handed out (invariant of `UnitSpace`).
            unsafe { fill_with_traps(start.add(block.used), offset - block.used) };
        }
        block.used = offset + size;
        // SAFETY: `block_for` made sure that `offset + size` is within the run.
        Ok(unsafe { start.add(offset) })
    }

    /// Index of an unsealed block that has room for a piece.
    fn block_for(&mut self, size: usize, align: usize, kind: Kind) -> Result<usize, McodeError> {
        let open = |block: &Block| block.kind == kind && !block.sealed;
        // The last open block of the kind is tried, and then grown: earlier ones were
        // left because they had become full.
        if let Some((index, block)) = self.blocks.iter_mut().enumerate().rfind(|(_, block)| open(block)) {
            let end = block.used.next_multiple_of(align) + size;
            let room = self.arena.run_bytes(&block.run);
            if end <= room {
                return Ok(index);
            }
            if let Some(more) = self.arena.take_after(&block.run, end - room)? {
                block.run.append(more);
                return Ok(index);
            }
        }
        let run = self.arena.take(size)?;
        let from = if kind == Kind::Code { first_place(&run, self.arena.run_bytes(&run), size) } else { 0 };
        if kind == Kind::Code {
            // SAFETY: the run is new, writable, and longer than that.
            unsafe { fill_with_traps(self.arena.run_start(&run), from) };
        }
        self.blocks.push(Block { run, kind, from, used: from, sealed: false });
        Ok(self.blocks.len() - 1)
    }

    /// Takes the write permission from everything that was allocated so far and makes
    /// code executable. What is allocated later goes to new chunks: a sealed one is
    /// never opened again.
    fn seal(&mut self, branches: BranchProtection) -> Result<(), McodeError> {
        let mut sealed_code = 0;
        for block in self.blocks.iter_mut().filter(|block| !block.sealed) {
            match block.kind {
                Kind::Code => {
                    seal_code(&self.arena, block, branches)?;
                    sealed_code += 1;
                }
                Kind::Constants => seal_constants(&self.arena, block)?,
                Kind::Variables => {}
            }
            block.sealed = true;
        }
        // Also without new code: the step costs little and the order stays simple.
        self.arena
            .fault(Step::Flush)
            .and_then(|()| os::flush_pipelines())
            .map_err(|cause| McodeError::Flush { cause })?;
        self.arena.count(|stats| {
            stats.flushes += 1;
            stats.ranges_flushed += sealed_code;
        });
        Ok(())
    }

    /// The unit is complete: count it until it is dropped.
    pub(super) fn set_alive(&mut self) {
        debug_assert!(!self.sealed && self.blocks.iter().all(|block| block.sealed));
        self.sealed = true;
        let (code, data) = (self.code_bytes(), self.data_bytes());
        self.arena.count(|stats| {
            stats.units_sealed += 1;
            stats.live_units += 1;
            stats.code_bytes += code;
            stats.data_bytes += data;
        });
    }

    /// Bytes handed out for code, gaps included.
    pub(super) fn code_bytes(&self) -> usize {
        self.used(|kind| kind == Kind::Code)
    }

    /// Bytes handed out for data, gaps included.
    pub(super) fn data_bytes(&self) -> usize {
        self.used(|kind| kind != Kind::Code)
    }

    fn used(&self, choose: impl Fn(Kind) -> bool) -> usize {
        self.blocks.iter().filter(|block| choose(block.kind)).map(|block| block.used - block.from).sum()
    }
}

impl Drop for UnitSpace {
    fn drop(&mut self) {
        let (code, data) = (self.code_bytes(), self.data_bytes());
        // Pointers into the runs end here: a unit under construction has none outside
        // its module, which is dropped with it, and a finished unit's pointers are
        // valid as long as the unit, as `CodeUnit::address` says.
        for block in self.blocks.drain(..) {
            self.arena.give_back(block.run);
        }
        let sealed = self.sealed;
        self.arena.count(|stats| {
            if sealed {
                stats.live_units -= 1;
                stats.code_bytes -= code;
                stats.data_bytes -= data;
            } else {
                stats.units_abandoned += 1;
            }
        });
    }
}

/// Clears the caches for a block of code and makes its written pages executable; the
/// pages behind them, which nobody wrote, become inaccessible.
fn seal_code(arena: &Inner, block: &Block, branches: BranchProtection) -> Result<(), McodeError> {
    let start = arena.run_start(&block.run);
    let bytes = block.used.next_multiple_of(arena.page());
    let rest = arena.run_bytes(&block.run) - bytes;
    // SAFETY: the block is unsealed, hence writable, and `used..bytes` is the tail of
    // its last written page, which was not handed out.
    unsafe { fill_with_traps(start.add(block.used), bytes - block.used) };
    // The cache comes first, while the pages are certainly readable: some processors
    // are known to mishandle it on read-only ones.
    arena
        .fault(Step::ClearCache)
        // SAFETY: the range is part of the block and readable.
        .and_then(|()| unsafe { os::clear_instruction_cache(start, bytes) })
        .map_err(|cause| McodeError::Flush { cause })?;
    arena.count(|stats| stats.ranges_cleared += 1);
    let set = |()| {
        // SAFETY: the block is owned and its module has finished writing (it called
        // `finalize`); both ranges are whole pages of the run.
        unsafe {
            os::protect_code(start, bytes, branches)?;
            if rest > 0 {
                os::protect(start.add(bytes), rest, Access::None)?;
            }
        }
        Ok(())
    };
    arena.fault(Step::Seal).and_then(set).map_err(|cause| McodeError::Seal { bytes, cause })?;
    arena.count(|stats| stats.ranges_sealed += 1);
    Ok(())
}

fn seal_constants(arena: &Inner, block: &Block) -> Result<(), McodeError> {
    let (start, bytes) = (arena.run_start(&block.run), arena.run_bytes(&block.run));
    arena
        .fault(Step::Seal)
        // SAFETY: as in `seal_code`.
        .and_then(|()| unsafe { os::protect(start, bytes, Access::Read) })
        .map_err(|cause| McodeError::Seal { bytes, cause })
}

/// Fills a gap with instructions that trap, should a wild jump ever land there.
///
/// # Safety
///
/// The range is writable and in nobody else's use.
unsafe fn fill_with_traps(start: *mut u8, len: usize) {
    // x86: `int3`. arm64: the all-zero word is permanently undefined.
    let byte = if cfg!(any(target_arch = "x86_64", target_arch = "x86")) { 0xcc } else { 0 };
    // SAFETY: passed on to the caller.
    unsafe { start.write_bytes(byte, len) };
}

/// A unit's space, shared between the module that writes into it and the unit that
/// keeps it.
#[derive(Clone)]
pub(super) struct SharedSpace(Arc<Mutex<UnitSpace>>);

impl SharedSpace {
    pub(super) fn new(arena: Arc<Inner>) -> Self {
        Self(Arc::new(Mutex::new(UnitSpace::new(arena))))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, UnitSpace> {
        // After a panic the unit is abandoned; its space only has to be given back.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The face that one module of cranelift-jit sees.
pub(super) struct ArenaProvider {
    space: SharedSpace,
}

impl ArenaProvider {
    pub(super) fn new(space: SharedSpace) -> Self {
        Self { space }
    }
}

impl JITMemoryProvider for ArenaProvider {
    fn allocate(&mut self, size: usize, align: u64, kind: JITMemoryKind) -> io::Result<*mut u8> {
        let kind = match kind {
            JITMemoryKind::Executable => Kind::Code,
            JITMemoryKind::ReadOnly => Kind::Constants,
            JITMemoryKind::Writable => Kind::Variables,
        };
        self.space.lock().allocate(size, align, kind).map_err(io::Error::other)
    }

    /// Does nothing: the space is given back when the unit is dropped.
    unsafe fn free_memory(&mut self) {}

    fn finalize(&mut self, branch_protection: BranchProtection) -> ModuleResult<()> {
        Ok(self.space.lock().seal(branch_protection)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcode::MachineCodeArena;

    fn code(provider: &mut ArenaProvider, size: usize, align: u64) -> io::Result<usize> {
        let start = provider.allocate(size, align, JITMemoryKind::Executable)?;
        // SAFETY: the piece is writable until the provider seals it.
        unsafe { start.write_bytes(0xc3, size) };
        Ok(start.addr())
    }

    #[test]
    fn a_sealed_chunk_is_not_opened_again() {
        let arena = MachineCodeArena::reserve(1 << 20).unwrap();
        let chunk = arena.stats().chunk_size;
        let base = arena.address_range().start;
        let mut provider = ArenaProvider::new(SharedSpace::new(Arc::clone(&arena.inner)));
        assert_eq!(code(&mut provider, 10, 16).unwrap(), base);
        assert_eq!(code(&mut provider, 10, 16).unwrap(), base + 16);
        for round in 1..4 {
            provider.finalize(BranchProtection::None).unwrap();
            let at = code(&mut provider, 10, 16).unwrap() - base - round * chunk;
            assert!(at < 4096 && at.is_multiple_of(64) && at != 0, "units begin at different lines: {at}");
        }
        let stats = arena.stats();
        assert_eq!((stats.ranges_sealed, stats.ranges_flushed), (3, 3));
        drop(provider);
        assert_eq!(arena.stats().in_use, 0);
    }

    #[test]
    fn pieces_are_aligned_and_do_not_overlap() {
        let arena = MachineCodeArena::reserve(1 << 20).unwrap();
        let mut provider = ArenaProvider::new(SharedSpace::new(Arc::clone(&arena.inner)));
        let mut end = 0;
        for shift in 0..12 {
            for size in [0, 1, 7, 100] {
                let start = code(&mut provider, size, 1 << shift).unwrap();
                assert_eq!(start % (1 << shift), 0);
                assert!(start >= end);
                end = start + size.max(1);
            }
        }
    }

    #[test]
    fn absurd_requests_are_errors() {
        let arena = MachineCodeArena::reserve(1 << 20).unwrap();
        let mut provider = ArenaProvider::new(SharedSpace::new(Arc::clone(&arena.inner)));
        let reason = |error: io::Error| error.downcast::<McodeError>().unwrap().reason();
        for size in [(1 << 20) + 1, isize::MAX as usize, usize::MAX] {
            assert_eq!(reason(code(&mut provider, size, 1).unwrap_err()), "arena-full");
        }
        for align in [0, 3, 1 << 20, u64::MAX] {
            assert_eq!(reason(code(&mut provider, 1, align).unwrap_err()), "alignment");
        }
        assert_eq!(arena.stats().in_use, 0);
        code(&mut provider, 1 << 20, 1).unwrap();
    }
}
