//! What a hardened system does to the arena: the refusals come from the kernel here.
//!
//! They concern the whole process and cannot be taken back, hence a file with a
//! single test.

#![cfg(target_os = "linux")]

mod support;

use protojit_jit::mcode::{DEFAULT_RESERVATION, MachineCodeArena};
use support::{adder_unit, native_isa, run};

/// What these tests need of the C library, for 64-bit Linux.
mod c {
    use std::ffi::{c_int, c_ulong};

    #[repr(C)]
    pub struct Limit {
        pub current: u64,
        pub most: u64,
    }

    pub const RLIMIT_AS: c_int = 9;
    pub const PR_SET_MDWE: c_int = 65;
    pub const PR_MDWE_REFUSE_EXEC_GAIN: c_ulong = 1;

    unsafe extern "C" {
        pub fn prctl(option: c_int, ...) -> c_int;
        pub fn getrlimit(resource: c_int, limit: *mut Limit) -> c_int;
        pub fn setrlimit(resource: c_int, limit: *const Limit) -> c_int;
    }
}

/// As service managers do it (Linux 6.3): pages that were mapped without execution
/// never get it.
fn deny_new_code() -> bool {
    let none: std::ffi::c_ulong = 0;
    // SAFETY: the call takes numbers only and affects what this test is about.
    unsafe { c::prctl(c::PR_SET_MDWE, c::PR_MDWE_REFUSE_EXEC_GAIN, none, none, none) == 0 }
}

/// Sets how much address space the process may have, and returns the former limit.
fn limit_address_space(bytes: u64) -> u64 {
    let mut limit = c::Limit { current: 0, most: 0 };
    // SAFETY: both calls get a valid structure.
    unsafe {
        assert_eq!(c::getrlimit(c::RLIMIT_AS, &mut limit), 0);
        let former = std::mem::replace(&mut limit.current, bytes);
        assert_eq!(c::setrlimit(c::RLIMIT_AS, &limit), 0);
        former
    }
}

#[test]
fn refusals_of_the_kernel_are_reported_and_survived() {
    let isa = native_isa(false);
    let arena = MachineCodeArena::reserve(1 << 20).unwrap();
    let (before, id) = adder_unit(&arena, &isa, 2).unwrap();

    let former = limit_address_space(DEFAULT_RESERVATION as u64);
    let refused = MachineCodeArena::reserve(DEFAULT_RESERVATION);
    limit_address_space(former);
    match refused {
        Err(error) => assert_eq!(error.reason(), "arena-reserve", "{error}"),
        // Emulators do not enforce the limit.
        Ok(_) => eprintln!("skipped: the address space is not limited here"),
    }

    if !deny_new_code() {
        eprintln!("skipped: this kernel cannot deny new code");
        return;
    }
    for _ in 0..3 {
        let error = adder_unit(&arena, &isa, 3).unwrap_err();
        assert_eq!(error.reason(), "arena-seal", "{error}");
    }
    assert_eq!(run(&before, id, 1), 4, "code from before goes on");
    assert_eq!(arena.stats().units_abandoned, 3);
    drop(before);
    assert_eq!(arena.stats().in_use, 0);
}
