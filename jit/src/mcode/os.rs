//! The few operations that only the operating system or the processor can do.
//!
//! Everything here acts on ranges that the caller owns; nothing here knows what a
//! chunk or a unit is.

use std::io;

use cranelift_jit::BranchProtection;

/// What a page may be used for. There is no variant that is both writable and
/// executable, which is where the arena's central promise is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Any access faults.
    None,
    /// Data to be read.
    Read,
    /// Code or data that is being written.
    ReadWrite,
    /// Finished code.
    ReadExecute,
}

/// The page size of the running system (4 KiB to 64 KiB).
pub(super) fn page_size() -> usize {
    region::page::size()
}

/// Sets what the pages of a range may be used for.
///
/// # Safety
///
/// The range consists of whole pages of a mapping that the caller owns, and nobody
/// relies on an access that `access` takes away.
pub(super) unsafe fn protect(start: *mut u8, len: usize, access: Access) -> io::Result<()> {
    let protection = match access {
        Access::None => region::Protection::NONE,
        Access::Read => region::Protection::READ,
        Access::ReadWrite => region::Protection::READ_WRITE,
        Access::ReadExecute => region::Protection::READ_EXECUTE,
    };
    // SAFETY: passed on to the caller.
    unsafe { region::protect(start, len, protection) }.map_err(io::Error::from)
}

/// [`protect`] with [`Access::ReadExecute`], with guarded branch targets where the
/// code was compiled for them and the processor checks them.
///
/// # Safety
///
/// As for [`protect`].
pub(super) unsafe fn protect_code(start: *mut u8, len: usize, branches: BranchProtection) -> io::Result<()> {
    #[cfg(all(target_arch = "aarch64", target_os = "linux"))]
    if branches == BranchProtection::BTI && std::arch::is_aarch64_feature_detected!("bti") {
        /// `PROT_BTI`, which the kernel defines for arm64 only.
        const PROT_BTI: libc::c_int = 0x10;
        let flags = libc::PROT_READ | libc::PROT_EXEC | PROT_BTI;
        // SAFETY: passed on to the caller; the range is page-aligned by its contract.
        return match unsafe { libc::mprotect(start.cast(), len, flags) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        };
    }
    let _ = branches;
    // SAFETY: passed on to the caller.
    unsafe { protect(start, len, Access::ReadExecute) }
}

/// Makes instruction fetches from a range see what was written to it.
///
/// x86-64 keeps its caches coherent and needs nothing. On arm64 the written lines
/// must first leave the data cache (`dc cvau`) and then be dropped from the
/// instruction cache (`ic ivau`); cranelift-jit 0.135's own helper does only the
/// second half, so this calls what the compiler's run-time library or the operating
/// system provide. Emulators do not show the difference.
///
/// # Safety
///
/// The range is readable memory.
pub(super) unsafe fn clear_instruction_cache(start: *mut u8, len: usize) -> io::Result<()> {
    #[cfg(all(target_arch = "aarch64", any(target_os = "linux", target_os = "android")))]
    {
        unsafe extern "C" {
            fn __clear_cache(start: *mut core::ffi::c_void, end: *mut core::ffi::c_void);
        }
        // SAFETY: the range is readable, as this function's contract says, and cache
        // maintenance by address needs no more; `start + len` is its end.
        unsafe { __clear_cache(start.cast(), start.add(len).cast()) };
    }
    #[cfg(all(target_arch = "aarch64", target_vendor = "apple"))]
    {
        unsafe extern "C" {
            fn sys_icache_invalidate(start: *mut core::ffi::c_void, len: usize);
        }
        // SAFETY: the range is readable, as this function's contract says.
        unsafe { sys_icache_invalidate(start.cast(), len) };
    }
    #[cfg(all(target_arch = "aarch64", windows))]
    // SAFETY: the range is readable, as this function's contract says.
    unsafe {
        wasmtime_internal_jit_icache_coherence::clear_cache(start.cast_const().cast(), len)?
    };
    let _ = (start, len);
    Ok(())
}

/// Makes every thread of the process fetch its next instructions anew.
///
/// On arm64 a processor may have fetched from an address before its contents
/// changed; Linux's `membarrier` makes all of them synchronise. On x86-64 the
/// interrupt that a protection change sends to the other processors, and their
/// coherent caches, already do it. Apple's `sys_icache_invalidate` includes it.
pub(super) fn flush_pipelines() -> io::Result<()> {
    #[cfg(all(target_arch = "aarch64", any(target_os = "linux", target_os = "android", windows)))]
    wasmtime_internal_jit_icache_coherence::pipeline_flush_mt()?;
    Ok(())
}
