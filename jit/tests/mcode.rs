//! The machine-code arena under normal and scarce conditions.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cranelift_module::{DataDescription, Linkage, Module};
use protojit_jit::mcode::{
    ArenaOptions, CodeUnit, DEFAULT_CHUNK, DEFAULT_RESERVATION, MAX_RESERVATION, MachineCodeArena, McodeError, Symbols,
    UnitBuilder,
};
use support::{added, adder_unit, define_adder, define_caller, native_isa, run, unary};

const MIB: usize = 1 << 20;

#[test]
fn code_is_written_sealed_run_and_dropped() {
    let arena = MachineCodeArena::reserve(MIB).unwrap();
    let isa = native_isa(true);
    assert_eq!(arena.address_range().len(), MIB);

    let mut unit = UnitBuilder::new(&arena, isa, &Symbols::default()).unwrap();
    assert_eq!(arena.stats().in_use, 0, "beginning takes nothing");
    let five = define_adder(&mut unit, "five", 5).unwrap();
    let caller = define_caller(&mut unit, "caller", five).unwrap();
    assert_eq!(arena.stats().in_use, DEFAULT_CHUNK, "both share a chunk");
    assert_eq!(arena.stats().live_units, 0);

    let code = unit.seal().unwrap();
    assert_eq!(run(&code, five, 10), 25);
    assert_eq!(run(&code, caller, 10), 26);
    let stats = arena.stats();
    assert_eq!((stats.live_units, stats.units_sealed), (1, 1));
    assert_eq!(stats.code_bytes, code.code_bytes());
    assert_eq!(stats.high_water, DEFAULT_CHUNK);
    assert_eq!(code.functions().count(), 2);
    assert_eq!(code.code(five).unwrap().as_ptr(), code.address(five).unwrap());
    let lengths: usize = code.functions().map(|(_, len)| len).sum();
    assert!(lengths > 0 && lengths <= code.code_bytes());

    drop(code);
    let stats = arena.stats();
    assert_eq!((stats.in_use, stats.live_units), (0, 0));
    assert_eq!((stats.code_bytes, stats.quarantined), (0, 0));
    assert_eq!(stats.largest_free, MIB);
    assert_eq!(stats.high_water, DEFAULT_CHUNK);
}

#[test]
fn every_sealed_range_was_cleared_and_flushed() {
    let arena = MachineCodeArena::reserve(4 * MIB).unwrap();
    let isa = native_isa(false);
    let units: Vec<_> = (0..20).map(|n| adder_unit(&arena, &isa, n).unwrap()).collect();
    let stats = arena.stats();
    assert_eq!(stats.ranges_sealed, 20);
    assert_eq!(stats.ranges_cleared, stats.ranges_sealed);
    assert_eq!(stats.ranges_flushed, stats.ranges_sealed);
    assert_eq!(stats.flushes, 20);
    for (n, (unit, id)) in units.iter().enumerate() {
        let n = i64::try_from(n).unwrap();
        assert_eq!(run(unit, *id, 7), added(7, n));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn no_page_is_ever_writable_and_executable() {
    use support::{access_at, mappings, writable_and_executable};
    // `mappings` itself asserts that no mapping is both.
    let arena = MachineCodeArena::reserve(MIB).unwrap();
    let page = arena.stats().page_size;
    let isa = native_isa(true);
    assert_eq!(writable_and_executable(&arena), (0, 0));
    assert!(mappings(&arena).iter().all(|map| !map.read));

    let mut unit = UnitBuilder::new(&arena, isa.clone(), &Symbols::default()).unwrap();
    // Data does not share pages with code. The code comes last: an emulator's list of
    // mappings joins readable pages with executable neighbours.
    let mut contents = DataDescription::new();
    contents.define(Box::new(*b"constant"));
    let constant = unit.declare_data("constant", Linkage::Local, false, false).unwrap();
    unit.define_data(constant, &contents).unwrap();
    let mut zeros = DataDescription::new();
    zeros.define_zeroinit(16);
    let variable = unit.declare_data("variable", Linkage::Local, true, false).unwrap();
    unit.define_data(variable, &zeros).unwrap();
    assert_eq!(writable_and_executable(&arena), (2 * DEFAULT_CHUNK, 0));
    let id = define_adder(&mut unit, "f", 3).unwrap();
    assert_eq!(writable_and_executable(&arena), (3 * DEFAULT_CHUNK, 0));

    let first = unit.seal().unwrap();
    assert_eq!(writable_and_executable(&arena), (DEFAULT_CHUNK, page));
    let entry = first.address(id).unwrap().addr();
    assert_eq!(access_at(&arena, entry), "r-x");
    if page < DEFAULT_CHUNK {
        // The chunk's rest was never written and cannot be reached.
        assert_eq!(access_at(&arena, entry + DEFAULT_CHUNK - page), "---");
    }
    let (start, len) = first.data(constant).unwrap();
    assert_eq!(access_at(&arena, start.addr()), "r--");
    // SAFETY: the object is readable while the unit lives.
    assert_eq!(unsafe { std::slice::from_raw_parts(start, len) }, b"constant");
    let (start, _) = first.data(variable).unwrap();
    assert_eq!(access_at(&arena, start.addr()), "rw-");
    assert_eq!(arena.stats().data_bytes, 8 + 16);

    // A second unit under construction leaves the first one sealed.
    let mut unit = UnitBuilder::new(&arena, isa, &Symbols::default()).unwrap();
    define_adder(&mut unit, "g", 4).unwrap();
    assert_eq!(writable_and_executable(&arena), (2 * DEFAULT_CHUNK, page));
    assert_eq!(run(&first, id, 1), 7);
    let second = unit.seal().unwrap();
    assert_eq!(writable_and_executable(&arena), (DEFAULT_CHUNK, 2 * page));

    drop(first);
    assert_eq!(access_at(&arena, entry), "---");
    assert_eq!(writable_and_executable(&arena), (0, page));
    drop(second);
    assert!(mappings(&arena).iter().all(|map| !map.read));
}

#[test]
fn freed_chunks_are_used_again_and_begin_empty() {
    let arena = MachineCodeArena::reserve(MIB).unwrap();
    let isa = native_isa(false);
    let (long, id) = adder_unit(&arena, &isa, 1000).unwrap();
    let entry = long.address(id).unwrap();
    assert!(long.code_bytes() > 4096);
    drop(long);

    let (short, id) = adder_unit(&arena, &isa, 1).unwrap();
    assert_eq!(short.address(id).unwrap(), entry, "first fit");
    assert_eq!(run(&short, id, 1), 2);
    // The rest of the last page traps instead of holding what was there before.
    let end = short.code_bytes();
    // SAFETY: the page that holds the function is readable while the unit lives.
    let page = unsafe { std::slice::from_raw_parts(entry, 4096) };
    let trap = if cfg!(target_arch = "x86_64") { 0xcc } else { 0 };
    assert!(page[end..].iter().all(|&byte| byte == trap));
}

#[test]
fn a_large_unit_grows_from_chunk_to_chunk() {
    let arena = MachineCodeArena::reserve(4 * MIB).unwrap();
    let isa = native_isa(false);
    let mut unit = UnitBuilder::new(&arena, isa, &Symbols::default()).unwrap();
    let mut ids = Vec::new();
    for n in 0..40 {
        ids.push(define_adder(&mut unit, &format!("f{n}"), 200 + n).unwrap());
    }
    // One that no chunk holds.
    let huge = define_adder(&mut unit, "huge", 5000).unwrap();
    let caller = define_caller(&mut unit, "caller", huge).unwrap();
    let code = unit.seal().unwrap();
    assert!(code.code(huge).unwrap().len() > DEFAULT_CHUNK);
    for (n, &id) in (0..).zip(&ids) {
        assert_eq!(run(&code, id, -3), added(-3, 200 + n));
    }
    assert_eq!(run(&code, caller, 0), added(0, 5000) + 1);
    // Neighbouring chunks were joined: one range, sealed at once, nothing lost between.
    let stats = arena.stats();
    assert_eq!(stats.ranges_sealed, 1);
    assert_eq!(stats.in_use, code.code_bytes().next_multiple_of(DEFAULT_CHUNK));
}

#[test]
fn a_unit_that_cannot_grow_in_place_takes_chunks_elsewhere() {
    let arena = MachineCodeArena::reserve(4 * MIB).unwrap();
    let isa = native_isa(false);
    let mut unit = UnitBuilder::new(&arena, isa.clone(), &Symbols::default()).unwrap();
    let first = define_adder(&mut unit, "first", 3000).unwrap();
    // Somebody else takes the neighbouring chunk.
    let (other, other_id) = adder_unit(&arena, &isa, 2).unwrap();
    let second = define_adder(&mut unit, "second", 3000).unwrap();
    let caller = define_caller(&mut unit, "caller", first).unwrap();
    let code = unit.seal().unwrap();
    let places = [first, second].map(|id| code.address(id).unwrap());
    let between = other.address(other_id).unwrap();
    assert!(places[0] < between && between < places[1]);
    assert_eq!(run(&code, second, 1), added(1, 3000));
    assert_eq!(run(&code, caller, 1), added(1, 3000) + 1);
    assert_eq!(arena.stats().ranges_flushed, arena.stats().ranges_sealed);
    drop((code, other));
    assert_eq!(arena.stats().largest_free, 4 * MIB);
}

#[test]
fn a_full_arena_says_so_and_works_on() {
    let arena = MachineCodeArena::reserve(4 * DEFAULT_CHUNK).unwrap();
    let isa = native_isa(false);
    let mut units: Vec<(CodeUnit, _)> = Vec::new();
    let error = loop {
        match adder_unit(&arena, &isa, 3) {
            Ok(unit) => units.push(unit),
            Err(error) => break error,
        }
    };
    assert_eq!(units.len(), 4);
    assert_eq!(error.reason(), "arena-full");
    match &error {
        McodeError::NoRoom { wanted, largest_free: 0, reserved } => {
            assert!(*wanted > 0);
            assert_eq!(*reserved, 4 * DEFAULT_CHUNK);
        }
        other => panic!("{other}"),
    }
    assert!(error.to_string().contains("no room"));
    for (unit, id) in &units {
        assert_eq!(run(unit, *id, 0), 6);
    }
    assert_eq!(arena.stats().units_abandoned, 1);

    // Free, but in pieces: still no room for something large.
    units.swap_remove(0);
    units.swap_remove(1);
    let stats = arena.stats();
    assert_eq!(stats.in_use, 2 * DEFAULT_CHUNK);
    let error = adder_unit(&arena, &isa, 8000).unwrap_err();
    assert!(matches!(error, McodeError::NoRoom { .. }), "{error}");
    assert_eq!(arena.stats().in_use, 2 * DEFAULT_CHUNK);

    let (unit, id) = adder_unit(&arena, &isa, 4).unwrap();
    assert_eq!(run(&unit, id, 0), 10);
}

#[test]
fn one_page_is_enough_for_a_little_and_too_small_for_more() {
    let arena = MachineCodeArena::reserve(4096).unwrap();
    let stats = arena.stats();
    assert_eq!(stats.reserved, stats.page_size.max(4096));
    assert_eq!(stats.chunk_size, stats.reserved);
    let isa = native_isa(false);
    let (unit, id) = adder_unit(&arena, &isa, 3).unwrap();
    assert_eq!(run(&unit, id, 0), 6);
    let error = adder_unit(&arena, &isa, 3).unwrap_err();
    assert!(matches!(error, McodeError::NoRoom { .. }), "{error}");
    drop(unit);
    let error = adder_unit(&arena, &isa, 20_000).unwrap_err();
    assert!(matches!(error, McodeError::NoRoom { .. }), "{error}");
    let (unit, id) = adder_unit(&arena, &isa, 2).unwrap();
    assert_eq!(run(&unit, id, 0), 3);
}

#[test]
fn sizes_are_rounded_and_bounded() {
    let page = MachineCodeArena::reserve(1).unwrap().stats().page_size;
    for (bytes, reserved) in [
        (1, page),
        (page, page),
        (page + 1, 2 * page.min(DEFAULT_CHUNK)),
        (DEFAULT_CHUNK + 1, DEFAULT_CHUNK.max(page) * 2),
        (MAX_RESERVATION, MAX_RESERVATION),
    ] {
        let stats = MachineCodeArena::reserve(bytes).unwrap().stats();
        assert_eq!(stats.reserved, reserved, "{bytes}");
        assert_eq!(stats.largest_free, reserved);
        assert_eq!(stats.reserved % stats.chunk_size, 0);
        assert_eq!(stats.chunk_size % page, 0);
    }
    for bytes in [0, MAX_RESERVATION + 1, usize::MAX] {
        let error = MachineCodeArena::reserve(bytes).unwrap_err();
        assert_eq!(error.reason(), "arena-size");
    }
    // Chunks of any size asked for, but never so many that mappings run out.
    let chunk_of = |bytes, chunk| {
        let arena = ArenaOptions::new(bytes).chunk(chunk).reserve().unwrap();
        arena.stats().chunk_size
    };
    assert_eq!(chunk_of(MIB, 0), page);
    assert_eq!(chunk_of(MIB, 16 * 1024), page.max(16 * 1024));
    assert_eq!(chunk_of(MIB, usize::MAX), MIB);
    assert_eq!(chunk_of(MIB, 100_000), 128 * 1024);
    assert!(MAX_RESERVATION / chunk_of(MAX_RESERVATION, 1) <= 16 * 1024);
    // No chunk size makes the arena larger than it may be.
    for chunk in [1, 3 * page, 3 * MIB, MAX_RESERVATION - 1, usize::MAX] {
        for bytes in [MAX_RESERVATION, MAX_RESERVATION - 1, MAX_RESERVATION - 5 * MIB] {
            let stats = ArenaOptions::new(bytes).chunk(chunk).reserve().unwrap().stats();
            assert!((bytes..=MAX_RESERVATION).contains(&stats.reserved), "{stats:?}");
            assert_eq!(stats.reserved % stats.chunk_size, 0);
        }
    }
}

/// As many of the smallest units as the usual arena holds: what they cost the kernel.
#[cfg(target_os = "linux")]
#[test]
fn a_full_arena_needs_few_mappings() {
    let arena = MachineCodeArena::reserve(DEFAULT_RESERVATION).unwrap();
    let isa = native_isa(false);
    let count = DEFAULT_RESERVATION / arena.stats().chunk_size;
    let mut units: Vec<_> = (0..count).map(|_| adder_unit(&arena, &isa, 1).unwrap()).collect();
    assert_eq!(arena.stats().largest_free, 0);
    assert!(adder_unit(&arena, &isa, 1).is_err());
    assert!(support::mappings(&arena).len() <= 2 * count + 1);
    // The worst case: every other one goes.
    let mut keep = false;
    units.retain(|_| {
        keep = !keep;
        keep
    });
    assert_eq!(arena.stats().largest_free, arena.stats().chunk_size);
    assert!(support::mappings(&arena).len() <= 2 * count + 1);
    for (unit, id) in &units {
        assert_eq!(run(unit, *id, 4), 5);
    }
    drop(units);
    assert_eq!(arena.stats().largest_free, DEFAULT_RESERVATION);
    assert!(support::mappings(&arena).len() <= count);
}

#[cfg(target_os = "linux")]
#[test]
fn ten_thousand_rounds_leave_nothing_behind() {
    let arena = MachineCodeArena::reserve(16 * DEFAULT_CHUNK).unwrap();
    let isa = native_isa(false);
    let mut held = std::collections::VecDeque::new();
    for round in 0..10_000_i64 {
        let (unit, id) = adder_unit(&arena, &isa, round % 7).unwrap();
        assert_eq!(run(&unit, id, round), added(round, round % 7));
        held.push_back(unit);
        // Out of order, so that the free chunks are scattered.
        if held.len() > 11 {
            held.swap(0, usize::try_from(round % 11).unwrap());
            held.pop_front();
        }
        if round % 1000 == 0 {
            let maps = support::mappings(&arena).len();
            assert!(maps <= 2 * 16 + 1, "{maps} mappings");
        }
    }
    held.clear();
    let stats = arena.stats();
    assert_eq!((stats.in_use, stats.live_units), (0, 0));
    assert_eq!((stats.code_bytes, stats.quarantined), (0, 0));
    assert_eq!((stats.decommit_failures, stats.units_abandoned), (0, 0));
    assert_eq!(stats.units_sealed, 10_000);
    assert_eq!(stats.runs_returned, 10_000);
    assert_eq!(stats.ranges_flushed, 10_000);
    assert_eq!(stats.largest_free, stats.reserved);
    assert!(stats.high_water <= 12 * DEFAULT_CHUNK);
    let maps = support::mappings(&arena);
    assert!(maps.iter().all(|map| !map.read));
    assert!(maps.len() <= 16, "{} mappings", maps.len());
}

#[test]
fn threads_compile_and_drop_while_another_runs() {
    let arena = MachineCodeArena::reserve(2 * MIB).unwrap();
    let isa = native_isa(false);
    let (pinned, id) = adder_unit(&arena, &isa, 9).unwrap();
    let pinned = Arc::new(pinned);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let makers: Vec<_> = (0..2)
            .map(|maker| {
                let (arena, isa) = (&arena, &isa);
                scope.spawn(move || {
                    for round in 0..500 {
                        let (unit, id) = adder_unit(arena, isa, maker + round % 5).unwrap();
                        assert_eq!(run(&unit, id, round), added(round, maker + round % 5));
                    }
                })
            })
            .collect();
        let runner = Arc::clone(&pinned);
        let done = &done;
        scope.spawn(move || {
            let mut x = 0_i64;
            while !done.load(Ordering::Relaxed) {
                assert_eq!(run(&runner, id, x), added(x, 9));
                x += 1;
            }
        });
        let results: Vec<_> = makers.into_iter().map(|maker| maker.join()).collect();
        done.store(true, Ordering::Relaxed);
        assert!(results.iter().all(Result::is_ok));
    });
    let stats = arena.stats();
    assert_eq!((stats.live_units, stats.units_sealed), (1, 1001));
    assert_eq!(stats.in_use, DEFAULT_CHUNK);
    // A unit outlives the last handle of its arena.
    drop(arena);
    assert_eq!(run(&pinned, id, 5), added(5, 9));
}

extern "C" fn tripled(x: i64) -> i64 {
    x * 3
}

#[test]
fn code_calls_into_the_process_by_name() {
    let arena = MachineCodeArena::reserve(MIB).unwrap();
    let helper: extern "C" fn(i64) -> i64 = tripled;
    let symbols = Symbols::new([("helper", helper as *const u8)]);
    let mut unit = UnitBuilder::new(&arena, native_isa(true), &symbols).unwrap();
    let signature = unary(&unit);
    let import = unit.declare_function("helper", Linkage::Import, &signature).unwrap();
    let id = define_caller(&mut unit, "f", import).unwrap();
    let code = unit.seal().unwrap();
    assert_eq!(run(&code, id, 5), 16);
    assert_eq!(code.address(import), None);
}

/// Data objects hold addresses of functions, and functions those of data.
#[test]
fn code_and_data_refer_to_each_other() {
    let arena = MachineCodeArena::reserve(MIB).unwrap();
    let mut unit = UnitBuilder::new(&arena, native_isa(true), &Symbols::default()).unwrap();
    let adder = define_adder(&mut unit, "adder", 2).unwrap();
    let mut table = DataDescription::new();
    table.define(Box::new([0; 16]));
    table.set_align(8);
    let reference = unit.declare_func_in_data(adder, &mut table);
    table.write_function_addr(8, reference);
    let object = unit.declare_data("table", Linkage::Local, false, false).unwrap();
    unit.define_data(object, &table).unwrap();
    let load = support::define_load(&mut unit, "load", object).unwrap();
    let code = unit.seal().unwrap();
    let entry = i64::try_from(code.address(adder).unwrap().addr()).unwrap();
    assert_eq!(run(&code, load, 8), entry);
    assert_eq!(run(&code, load, 0), 0);
}

/// Where the processor checks branch targets, this faults unless code and pages agree.
#[cfg(target_arch = "aarch64")]
#[test]
fn guarded_branch_targets_run() {
    let arena = MachineCodeArena::reserve(MIB).unwrap();
    let (unit, id) = adder_unit(&arena, &support::guarded_isa(), 6).unwrap();
    let bti_c = [0x5f, 0x24, 0x03, 0xd5];
    assert!(unit.code(id).unwrap().starts_with(&bti_c));
    assert_eq!(run(&unit, id, 1), 22);
    #[cfg(target_os = "linux")]
    assert_eq!(support::writable_and_executable(&arena).0, 0);
}
