//! Each way in which making code can fail: an error with its reason, nothing lost.

mod support;

use cranelift_module::{DataDescription, Linkage, Module};
use protojit_jit::mcode::{ArenaOptions, FaultPlan, MachineCodeArena, McodeError, Step, Symbols, UnitBuilder};
use support::{added, adder_unit, define_adder, define_caller, native_isa, run, unary};

const MIB: usize = 1 << 20;

fn arena_with(plan: FaultPlan) -> MachineCodeArena {
    ArenaOptions::new(MIB).faults(plan).reserve().unwrap()
}

fn begin(arena: &MachineCodeArena) -> UnitBuilder {
    UnitBuilder::new(arena, native_isa(true), &Symbols::default()).unwrap()
}

/// Nothing is held, and the next unit works.
fn assert_sound(arena: &MachineCodeArena) {
    let stats = arena.stats();
    assert_eq!((stats.in_use, stats.live_units), (0, 0));
    assert_eq!((stats.code_bytes, stats.data_bytes), (0, 0));
    assert_eq!(stats.largest_free, stats.reserved);
    #[cfg(target_os = "linux")]
    assert_eq!(support::writable_and_executable(arena), (0, 0));
    let (unit, id) = adder_unit(arena, &native_isa(true), 4).unwrap();
    assert_eq!(run(&unit, id, 1), 11);
}

#[test]
fn a_refused_reservation_is_reported() {
    let plan = FaultPlan::none().fail_always(Step::Reserve);
    let error = ArenaOptions::new(MIB).faults(plan).reserve().unwrap_err();
    assert_eq!(error.reason(), "arena-reserve");
    assert!(error.to_string().contains("could not be reserved: injected"));
}

#[test]
fn every_refused_step_costs_only_its_unit() {
    for (step, reason) in [
        (Step::Unlock, "arena-protect"),
        (Step::ClearCache, "cache-flush"),
        (Step::Seal, "arena-seal"),
        (Step::Flush, "cache-flush"),
    ] {
        let arena = arena_with(FaultPlan::none().fail(step, 1, 1));
        let isa = native_isa(true);
        let (first, id) = adder_unit(&arena, &isa, 2).unwrap();
        let error = adder_unit(&arena, &isa, 3).unwrap_err();
        assert_eq!(error.reason(), reason, "{step:?}: {error}");
        assert!(error.to_string().contains("injected"), "{error}");
        assert_eq!(run(&first, id, 0), 3);
        assert_eq!(arena.stats().live_units, 1);
        assert_eq!(arena.stats().units_abandoned, 1);
        drop(first);
        assert_sound(&arena);
    }
}

#[test]
fn a_failure_in_the_second_range_gives_both_back() {
    let arena = arena_with(FaultPlan::none().fail(Step::Seal, 1, 1));
    let mut unit = begin(&arena);
    define_adder(&mut unit, "f", 2).unwrap();
    let mut contents = DataDescription::new();
    contents.define(Box::new([1, 2, 3]));
    let object = unit.declare_data("object", Linkage::Local, false, false).unwrap();
    unit.define_data(object, &contents).unwrap();
    let error = unit.seal().unwrap_err();
    assert!(matches!(error, McodeError::Seal { .. }), "{error}");
    assert_sound(&arena);
}

#[test]
fn chunks_that_cannot_be_taken_back_stay_out_of_service_until_they_can() {
    let arena = arena_with(FaultPlan::none().fail(Step::Lock, 0, 1));
    let isa = native_isa(true);
    let (unit, id) = adder_unit(&arena, &isa, 2).unwrap();
    let lost = unit.address(id).unwrap();
    drop(unit);
    let stats = arena.stats();
    assert_eq!(stats.quarantined, stats.chunk_size);
    assert_eq!(stats.in_use, stats.chunk_size);
    assert_eq!((stats.live_units, stats.code_bytes), (0, 0));
    let (unit, id) = adder_unit(&arena, &isa, 2).unwrap();
    assert_ne!(unit.address(id).unwrap(), lost);

    // When room is short the arena tries again, and now it succeeds.
    let mut units = vec![(unit, id)];
    while units.len() * stats.chunk_size < stats.reserved {
        units.push(adder_unit(&arena, &isa, 2).unwrap());
    }
    assert_eq!(arena.stats().quarantined, 0);
    assert!(adder_unit(&arena, &isa, 2).is_err());
    for (unit, id) in &units {
        assert_eq!(run(unit, *id, 1), 4);
    }
    units.clear();
    assert_sound(&arena);
}

#[test]
fn memory_that_is_not_taken_back_does_no_harm() {
    let arena = arena_with(FaultPlan::none().fail_always(Step::Decommit));
    let isa = native_isa(true);
    for n in 0..5 {
        let (unit, id) = adder_unit(&arena, &isa, 5 - n).unwrap();
        assert_eq!(run(&unit, id, 0), added(0, 5 - n));
    }
    assert_eq!(arena.stats().decommit_failures, 5);
    assert_sound(&arena);
}

#[test]
fn a_dropped_builder_gives_everything_back() {
    let arena = MachineCodeArena::reserve(MIB).unwrap();
    let mut unit = begin(&arena);
    define_adder(&mut unit, "f", 3000).unwrap();
    define_adder(&mut unit, "g", 3000).unwrap();
    assert!(arena.stats().in_use > 0);
    drop(unit);
    assert_eq!(arena.stats().units_abandoned, 1);
    assert_sound(&arena);
}

#[test]
fn a_builder_survives_a_function_that_does_not_fit() {
    let arena = MachineCodeArena::reserve(128 * 1024).unwrap();
    let mut unit = begin(&arena);
    let small = define_adder(&mut unit, "small", 2).unwrap();
    let error = define_adder(&mut unit, "large", 20_000).unwrap_err();
    assert!(matches!(error, McodeError::NoRoom { .. }), "{error}");
    let code = unit.seal().unwrap();
    assert_eq!(run(&code, small, 0), 3);
    drop(code);
    assert_sound(&arena);
}

#[test]
fn unknown_symbols_are_named() {
    let arena = MachineCodeArena::reserve(MIB).unwrap();
    let mut unit = begin(&arena);
    let signature = unary(&unit);
    // `abs` exists in this process, but was not handed in.
    let import = unit.declare_function("abs", Linkage::Import, &signature).unwrap();
    define_caller(&mut unit, "f", import).unwrap();
    let error = unit.seal().unwrap_err();
    assert!(matches!(&error, McodeError::Unresolved { symbol } if symbol == "abs"), "{error}");
    assert_sound(&arena);
}

#[test]
fn declared_functions_must_be_defined_if_called() {
    let arena = MachineCodeArena::reserve(MIB).unwrap();
    for named in [true, false] {
        let mut unit = begin(&arena);
        let signature = unary(&unit);
        let missing = if named {
            unit.declare_function("missing", Linkage::Local, &signature)
        } else {
            unit.declare_anonymous_function(&signature)
        };
        let missing = missing.unwrap();
        define_caller(&mut unit, "f", missing).unwrap();
        let error = unit.seal().unwrap_err();
        assert_eq!(error.reason(), "undefined-function", "{error}");
    }
    // One that nobody calls is no obstacle.
    let mut unit = begin(&arena);
    let signature = unary(&unit);
    unit.declare_function("unused", Linkage::Local, &signature).unwrap();
    let id = define_adder(&mut unit, "f", 1).unwrap();
    let code = unit.seal().unwrap();
    assert_eq!(run(&code, id, 1), 2);
    drop(code);
    assert_sound(&arena);
}

/// With stack probes on, a frame beyond a page makes Cranelift call a stack probe that nobody supplied.
#[cfg(target_arch = "x86_64")]
#[test]
fn library_calls_that_nobody_supplied_are_named() {
    use cranelift_codegen::ir::{InstBuilder, StackSlotData, StackSlotKind, types};

    let arena = MachineCodeArena::reserve(MIB).unwrap();
    let isa = support::native_isa_with(true, &[("enable_probestack", "true")]);
    let mut unit = UnitBuilder::new(&arena, isa, &Symbols::default()).unwrap();
    support::define(&mut unit, "deep", |_, body, x| {
        let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, 1 << 20, 3);
        let slot = body.create_sized_stack_slot(slot);
        body.ins().stack_store(types::I64, x, slot, 0);
        x
    })
    .unwrap();
    let error = unit.seal().unwrap_err();
    assert_eq!(error.reason(), "unresolved-symbol", "{error}");
    assert_sound(&arena);
}

#[test]
fn references_beyond_reach_are_refused() {
    let arena = MachineCodeArena::reserve(MIB).unwrap();
    // As far from the arena as an address of 47 bits can be.
    let far = (1_usize << 46) ^ arena.address_range().start;
    let symbols = Symbols::new([("far", std::ptr::without_provenance(far))]);
    let mut unit = UnitBuilder::new(&arena, native_isa(true), &symbols).unwrap();
    let signature = unary(&unit);
    let import = unit.declare_function("far", Linkage::Import, &signature).unwrap();
    // A hand-made relative reference, as a call that was wrongly marked near makes it.
    let id = unit.declare_function("f", Linkage::Local, &signature).unwrap();
    let kind = if cfg!(target_arch = "x86_64") {
        cranelift_codegen::binemit::Reloc::X86CallPCRel4
    } else {
        cranelift_codegen::binemit::Reloc::Aarch64AdrPrelPgHi21
    };
    let reloc = cranelift_module::ModuleReloc { offset: 0, kind, name: import.into(), addend: 0 };
    unit.define_function_bytes(id, 8, &[0; 8], &[reloc]).unwrap();
    let error = unit.seal().unwrap_err();
    assert!(error.to_string().contains("too far"), "{error}");
    assert_sound(&arena);
}

#[test]
fn references_that_the_linker_does_not_know_are_refused() {
    use cranelift_codegen::binemit::Reloc;
    let arena = MachineCodeArena::reserve(MIB).unwrap();
    for kind in [Reloc::Abs4, Reloc::X86GOTPCRel4, Reloc::ElfX86_64TlsGd, Reloc::MachOX86_64Tlv] {
        let mut unit = begin(&arena);
        let signature = unary(&unit);
        let id = unit.declare_function("f", Linkage::Local, &signature).unwrap();
        let reloc = cranelift_module::ModuleReloc { offset: 0, kind, name: id.into(), addend: 0 };
        unit.define_function_bytes(id, 8, &[0; 8], &[reloc]).unwrap();
        let error = unit.seal().unwrap_err();
        assert_eq!(error.reason(), "link", "{error}");
    }
    assert_sound(&arena);
}

#[test]
fn data_that_the_module_would_panic_on_is_refused() {
    let arena = MachineCodeArena::reserve(MIB).unwrap();
    let mut unit = begin(&arena);
    let error = unit.declare_data("tls", Linkage::Local, true, true).unwrap_err();
    assert_eq!(McodeError::from(error).reason(), "link");
    let empty = unit.declare_data("empty", Linkage::Local, true, false).unwrap();
    let error = unit.define_data(empty, &DataDescription::new()).unwrap_err();
    assert_eq!(McodeError::from(error).reason(), "link");

    let mut aligned = DataDescription::new();
    aligned.define(Box::new([0]));
    for (align, fits) in [(4096, true), (1 << 20, false)] {
        aligned.set_align(align);
        let id = unit.declare_anonymous_data(true, false).unwrap();
        match unit.define_data(id, &aligned).map_err(McodeError::from) {
            Ok(()) => assert!(fits),
            Err(error) => assert!(!fits && error.reason() == "alignment", "{error}"),
        }
    }
    let id = define_adder(&mut unit, "f", 1).unwrap();
    let code = unit.seal().unwrap();
    assert_eq!(run(&code, id, 1), 2);
}

#[test]
fn a_panicking_compiler_costs_only_its_unit() {
    let arena = MachineCodeArena::reserve(MIB).unwrap();
    // Without the verifier a block that nobody finished reaches the compiler.
    let isa = native_isa(false);
    let mut unit = UnitBuilder::new(&arena, isa, &Symbols::default()).unwrap();
    define_adder(&mut unit, "good", 1).unwrap();
    let mut context = unit.make_context();
    let block = context.func.dfg.make_block();
    context.func.layout.append_block(block);
    let id = unit.declare_function("bad", Linkage::Local, &context.func.signature).unwrap();
    let error = unit.define_function(id, &mut context).unwrap_err();
    assert_eq!(McodeError::from(error).reason(), "compiler-panic");
    let error = define_adder(&mut unit, "after", 1).unwrap_err();
    assert_eq!(error.reason(), "compiler-panic");
    assert_eq!(unit.seal().unwrap_err().reason(), "compiler-panic");
    assert_sound(&arena);
}

#[test]
fn a_foreign_or_position_independent_target_is_refused() {
    use cranelift_codegen::settings::{self, Configurable};
    let arena = MachineCodeArena::reserve(MIB).unwrap();
    let foreign = if cfg!(target_arch = "x86_64") { "aarch64" } else { "x86_64" };
    let mut flags = settings::builder();
    flags.set("is_pic", "false").unwrap();
    // Only a compiler built with all targets knows the foreign one.
    if let Ok(builder) = cranelift_codegen::isa::lookup_by_name(foreign) {
        let isa = builder.finish(settings::Flags::new(flags)).unwrap();
        let error = UnitBuilder::new(&arena, isa, &Symbols::default()).unwrap_err();
        assert_eq!(error.reason(), "target");
    }
    let mut flags = settings::builder();
    flags.set("is_pic", "true").unwrap();
    let isa = cranelift_native::builder().unwrap().finish(settings::Flags::new(flags)).unwrap();
    let error = UnitBuilder::new(&arena, isa, &Symbols::default()).unwrap_err();
    assert!(error.to_string().contains("position-independent"));
}
