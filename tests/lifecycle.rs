//! Schemas come and go while others decode: modes, sharing, replacement, and what is left of those that went.

#![cfg(feature = "jit")]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use protojit::{
    Arena, CompileMode, Direction, EncodeBuffer, Engine, EngineUsed, FaultPlan, MessageType, Registry, Runtime, Step,
};
use protojit_core::schema::model::FieldDef;
use protojit_testing::{many, schemas};

fn runtime(mode: CompileMode) -> Runtime {
    Runtime::builder().engine(Engine::Jit).compile_mode(mode).build()
}

/// An `order.Order` with `id` and `text`.
fn order(id: u8) -> Vec<u8> {
    let mut bytes = vec![0x08, id, 0x12, 40];
    bytes.extend(std::iter::repeat_n(b'a' + id % 26, 40));
    bytes
}

/// Decodes, and encodes what came of it.
fn round_trip(ty: &MessageType, bytes: &[u8]) -> Vec<u8> {
    let (arena, mut buffer) = (Arena::new(), EncodeBuffer::new());
    ty.encode_into(ty.decode(bytes, &arena).unwrap(), &mut buffer).unwrap().to_vec()
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Mappings of this process that are writable and executable, and how many are executable.
#[cfg(target_os = "linux")]
fn code_mappings() -> (Vec<String>, usize) {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let access = |line: &str| line.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let both = maps.lines().filter(|line| access(line).contains('w') && access(line).contains('x'));
    (both.map(str::to_owned).collect(), maps.lines().filter(|line| access(line).contains('x')).count())
}

#[test]
fn the_interpreter_serves_until_code_is_ready() {
    let runtime = runtime(CompileMode::Background);
    let schema = runtime.register(&schemas::descriptor_set("hello.proto")).unwrap();
    let ty = schema.message("hello.Person").unwrap();
    let bytes = [0x0a, 3, b'A', b'd', b'a'];
    assert_eq!(round_trip(&ty, &bytes), bytes);
    wait_until("decode is never compiled", || ty.is_compiled().is_ok());
    let encodes = |runtime: &Runtime| {
        let trace = runtime.trace();
        let row = trace.programs.iter().find(|row| row.root && row.direction == Direction::Encode).unwrap().clone();
        (row.engine, row.compiled_calls)
    };
    wait_until("encode is never compiled", || encodes(&runtime).0 == EngineUsed::Jit);
    // The unit is recorded a moment before its way in is.
    wait_until("compiled code does not serve", || {
        assert_eq!(round_trip(&ty, &bytes), bytes);
        encodes(&runtime).1 > 0
    });
    let trace = runtime.trace();
    assert!(trace.failures.is_empty() && trace.compiled().any(|row| row.compiled_calls > 0));
}

#[test]
fn failures_in_the_background_are_told_and_counted() {
    let builder = Runtime::builder().engine(Engine::Jit).compile_mode(CompileMode::Background).code_arena(4096);
    let runtime = builder.build();
    let schema = runtime.register(&many::version(0)).unwrap();
    let ty = schema.message("order.Order").unwrap();
    wait_until("the failure is not reported", || ty.is_compiled().is_err_and(|error| error.reason == "arena-full"));
    assert_eq!(round_trip(&ty, &order(1)), order(1));
    assert!(runtime.trace().failures["arena-full"] >= 1);
}

#[test]
fn roots_compile_on_several_threads_and_what_they_share_once() {
    let runtime = runtime(CompileMode::Eager);
    let schema = runtime.register(&many::descriptor_set(64)).unwrap();
    let names: Vec<String> = (0..64).map(|number| format!("many.M{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let types = schema.messages(&names).unwrap();
    for (ty, name) in types.iter().zip(&names) {
        assert_eq!(ty.full_name(), *name);
        ty.is_compiled().unwrap();
    }
    let trace = runtime.trace();
    // One program for each message although each reaches others; one chunk for each, and one for the stubs.
    assert_eq!((trace.compiled().count(), trace.programs.len()), (64, 64));
    assert_eq!(trace.arena.unwrap().in_use, 65 << 16);
    assert!(schema.messages(&["many.M1", "many.Nothing"]).is_err());
}

#[test]
fn equal_descriptor_sets_are_one_schema() {
    let runtime = runtime(CompileMode::Eager);
    let first = runtime.register(&many::version(1)).unwrap();
    let ty = first.message("order.Order").unwrap();
    let used = runtime.trace().arena.unwrap().in_use;
    let second = runtime.register(&many::version(1)).unwrap();
    let same = second.message("order.Order").unwrap();
    assert_eq!(same.shape().id, ty.shape().id);
    assert_eq!(runtime.trace().arena.unwrap().in_use, used);
    let other = runtime.register(&many::version(2)).unwrap();
    let different = other.message("order.Order").unwrap();
    assert_ne!(different.shape().id, ty.shape().id);
    assert!(runtime.trace().arena.unwrap().in_use > used);
    assert_eq!(runtime.trace().schemas.len(), 2);
}

/// A `shop.Order` to "a", 5, of a part with a part from "b".
const ORDER: &[u8] = b"\x08\x07\x12\x05\x0a\x01a\x10\x05\x1a\x0b\x08\x01\x12\x07\x08\x02\x1a\x03\x0a\x01b";

#[test]
fn versions_share_the_messages_in_which_they_agree() {
    let runtime = runtime(CompileMode::Eager);
    let used = || runtime.trace().arena.unwrap().in_use >> 16;
    let order = |set: &[u8]| {
        let schema = runtime.register(set).unwrap();
        ["shop.Order", "shop.Part", "shop.Address"].map(|name| schema.message(name).unwrap())
    };
    let first = order(&many::shop(0, "zip"));
    assert_eq!(used(), 1 + 3, "stubs, and decode of three messages");
    let second = order(&many::shop(1, "zip"));
    assert_eq!(used(), 1 + 4, "one more");
    let other = order(&many::shop(2, "postcode"));
    assert_eq!(used(), 1 + 7, "the address is another one, and so is what reaches it");
    let ids = |types: &[MessageType; 3]| types.each_ref().map(|ty| ty.shape().id);
    let ([a, b, c], [d, e, f], [g, h, i]) = (ids(&first), ids(&second), ids(&other));
    assert_eq!([b, c], [e, f]);
    assert!(a != d && ![a, d].contains(&g) && b != h && c != i);

    // A type is of the schema it was asked of, whoever its programs come from.
    assert!(second[1].schema().descriptors().message("shop.Filler0").is_some());
    assert_eq!(second[1].descriptor().full_name(), "shop.Part");
    let rows = runtime.trace().programs;
    assert_eq!(rows.iter().filter(|row| row.message == "shop.Part" && row.direction == Direction::Decode).count(), 2);

    // What is shared outlives the schema it came with.
    first.iter().chain(&second).for_each(|ty| ty.compile().unwrap());
    drop(first);
    assert_eq!(used(), 1 + 3 + 3 + 3, "decode and encode of the second, decode of the other");
    assert_eq!(round_trip(&second[0], ORDER), ORDER);
    let arena = Arena::new();
    let error = second[0].decode(b"\x1a\x05\x12\x03\x1a\x01\x0a", &arena).unwrap_err();
    assert!(error.to_string().contains("part.parts.from.street"), "{error}");
    drop((arena, second, other));
    assert_eq!(used(), 1);
    // What is gone is made anew.
    assert_eq!(round_trip(&order(&many::shop(1, "zip"))[0], ORDER), ORDER);
}

#[test]
fn versions_that_share_come_and_go_on_several_threads() {
    let runtime = runtime(CompileMode::Eager);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let runtime = &runtime;
            scope.spawn(move || {
                for round in 0..rounds() / 20 {
                    let schema = runtime.register(&many::shop((thread + round) % 7, "zip")).unwrap();
                    let ty = schema.message("shop.Order").unwrap();
                    assert_eq!(round_trip(&ty, ORDER), ORDER);
                    ty.is_compiled().unwrap();
                }
            });
        }
    });
    let trace = runtime.trace();
    assert!(trace.failures.is_empty() && trace.programs.is_empty(), "{trace:?}");
    assert_eq!(trace.arena.unwrap().in_use, 1 << 16, "of the code only the stubs are left");
}

/// A message still goes both ways, and the trace gives this reason for both, counted once each.
fn check_fallback(runtime: &Runtime, reason: &'static str) {
    let ty = runtime.register(&many::version(0)).unwrap().message("order.Order").unwrap();
    assert_eq!(round_trip(&ty, &order(3)), order(3));
    let trace = runtime.trace();
    assert_eq!(trace.failures.iter().map(|(&reason, &count)| (reason, count)).collect::<Vec<_>>(), [(reason, 2)]);
    assert!(trace.programs.iter().all(|row| row.reason == Some(reason)), "{:?}", trace.programs);
}

#[test]
fn every_failure_leaves_a_reason_a_count_and_a_working_runtime() {
    let reasons = [
        (Runtime::builder().code_arena(0), "arena-size"),
        (Runtime::builder().code_arena(usize::MAX), "arena-size"),
        (Runtime::builder().code_arena(4096), "arena-full"),
        (Runtime::builder().max_compiled_fields(2), "message-too-large"),
    ];
    for (builder, reason) in reasons {
        let runtime = builder.engine(Engine::Jit).build();
        check_fallback(&runtime, reason);
    }
}

#[test]
fn every_step_of_the_arena_can_fail() {
    let always = |step| FaultPlan::none().fail_always(step);
    // The stubs are the first that is unlocked, sealed and flushed; of later failures they are there.
    let later = |step| FaultPlan::none().fail(step, 1, u64::MAX - 1);
    let plans = [
        (always(Step::Reserve), "arena-reserve"),
        (always(Step::Unlock), "arena-protect"),
        (always(Step::Seal), "arena-seal"),
        (always(Step::Flush), "cache-flush"),
        (later(Step::Unlock), "arena-protect"),
        (later(Step::Seal), "arena-seal"),
        (later(Step::Flush), "cache-flush"),
    ];
    for (plan, reason) in plans {
        let runtime = Runtime::builder().engine(Engine::Jit).arena_faults(plan).build();
        check_fallback(&runtime, reason);
    }
    // What fails once is compiled the next time it is registered.
    let once = FaultPlan::none().fail(Step::Seal, 1, 1);
    let runtime = Runtime::builder().engine(Engine::Jit).arena_faults(once).build();
    let message = || runtime.register(&many::version(0)).unwrap().message("order.Order").unwrap();
    assert_eq!(message().is_compiled().unwrap_err().reason, "arena-seal");
    message().is_compiled().unwrap();
    // Pages that cannot be taken back are out of service, and nothing else.
    let stuck = FaultPlan::none().fail_always(Step::Lock);
    let runtime = Runtime::builder().engine(Engine::Jit).arena_faults(stuck).build();
    for number in 0..3 {
        runtime.register(&many::version(number)).unwrap().message("order.Order").unwrap().compile().unwrap();
    }
}

#[test]
fn a_compiler_that_refuses_or_panics_costs_the_message_only() {
    let refused = |_: &FieldDef| true;
    let panics = |field: &FieldDef| match field.number {
        1 => panic!("a fault of the compiler"),
        _ => false,
    };
    for (refuse, reason) in [(refused as fn(&FieldDef) -> bool, "refused"), (panics, "compiler-panic")] {
        let runtime = Runtime::builder().engine(Engine::Jit).refuse_fields(refuse).build();
        check_fallback(&runtime, reason);
        assert_eq!(runtime.trace().arena.unwrap().in_use, 1 << 16, "the stubs");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn profilers_are_told_the_names_of_compiled_functions() {
    let path = format!("/tmp/perf-{}.map", std::process::id());
    let runtime = Runtime::builder().engine(Engine::Jit).perf_map(true).build();
    let ty = runtime.register(&many::version(0)).unwrap().message("order.Order").unwrap();
    ty.compile().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    for direction in ["decode", "encode"] {
        let name = format!("protojit::{direction}::order.Order");
        let line = text.lines().find(|line| line.ends_with(&name)).unwrap();
        let [start, size] = [0, 1].map(|at| usize::from_str_radix(line.split(' ').nth(at).unwrap(), 16).unwrap());
        let executable = maps.lines().filter(|line| line.split(' ').nth(1).unwrap().contains('x')).any(|line| {
            let (from, to) = line.split_once(' ').unwrap().0.split_once('-').unwrap();
            let [from, to] = [from, to].map(|address| usize::from_str_radix(address, 16).unwrap());
            from <= start && start + size <= to
        });
        assert!(executable && size > 100, "{line}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn no_step_of_a_registration_leaves_a_page_writable_and_executable() {
    let check = |step: &str| assert!(code_mappings().0.is_empty(), "{step}: {:?}", code_mappings().0);
    let (_, before) = code_mappings();
    let runtime = runtime(CompileMode::Lazy);
    check("a runtime is made");
    let schema = runtime.register(&many::version(5)).unwrap();
    check("a schema is registered");
    let ty = schema.message("order.Order").unwrap();
    check("a message is asked for");
    ty.is_compiled().unwrap();
    check("decode is compiled");
    ty.compile().unwrap();
    check("encode is compiled");
    assert!(code_mappings().1 > before, "the check sees compiled code");
    assert_eq!(round_trip(&ty, &order(1)), order(1));
    check("code ran");
    drop((ty, schema));
    check("the schema is dropped");
    drop(runtime);
    check("the runtime is dropped");
}

#[test]
fn readers_see_the_old_schema_or_the_new_one() {
    let (runtime, registry, done) = (runtime(CompileMode::Eager), Registry::new(), AtomicBool::new(false));
    let reads = AtomicU64::new(0);
    registry.replace("orders", runtime.register(&many::version(0)).unwrap());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let ty = registry.get("orders").unwrap().message("order.Order").unwrap();
                    assert_eq!(round_trip(&ty, &order(9)), order(9));
                    reads.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for number in 1..200 {
            let old = registry.replace("orders", runtime.register(&many::version(number)).unwrap()).unwrap();
            let fields = old.descriptors().message("order.Order").unwrap();
            assert!(fields.def().fields.iter().any(|field| *field.name == *format!("only_{}", number - 1)));
        }
        wait_until("nobody reads", || reads.load(Ordering::Relaxed) > 100);
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(registry.names().len(), 1);
    drop(registry.remove("orders"));
    assert_eq!(runtime.trace().arena.unwrap().in_use, 1 << 16, "of the code only the stubs are left");
}

/// Pages of memory that the process has; 0 where nobody says.
fn resident_pages() -> usize {
    let Ok(statm) = std::fs::read_to_string("/proc/self/statm") else { return 0 };
    statm.split(' ').nth(1).unwrap().parse().unwrap()
}

/// Rounds of the stress test: `PROTOJIT_TEST_ROUNDS`, else some seconds' worth.
fn rounds() -> usize {
    std::env::var("PROTOJIT_TEST_ROUNDS").map_or(3_000, |value| value.parse().expect("a number"))
}

#[test]
fn registering_and_dropping_disturbs_nobody_and_leaves_nothing() {
    let runtime = runtime(CompileMode::Eager);
    let (done, decodes) = (AtomicBool::new(false), AtomicU64::new(0));
    let started = Instant::now();
    let rounds = rounds();
    let oracle = Runtime::builder().engine(Engine::Interp).build().register(&many::version(1)).unwrap();
    let oracle = oracle.message("order.Order").unwrap();
    std::thread::scope(|scope| {
        for thread in 0..2u8 {
            let (runtime, oracle, done, decodes) = (&runtime, &oracle, &done, &decodes);
            scope.spawn(move || {
                let schema = runtime.register(&many::version(90_000 + usize::from(thread))).unwrap();
                let ty = schema.message("order.Order").unwrap();
                ty.is_compiled().unwrap();
                for id in (0..100).cycle() {
                    assert_eq!(round_trip(&ty, &order(id)), round_trip(oracle, &order(id)));
                    decodes.fetch_add(1, Ordering::Relaxed);
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                    // The rest of the machine is for the compiler.
                    std::thread::yield_now();
                }
            });
        }
        let (mut high_water, mut resident) = (0, 0);
        for round in 0..rounds {
            let schema = runtime.register(&many::version(round)).unwrap();
            let ty = schema.message("order.Order").unwrap();
            let bytes = order((round % 100) as u8);
            let arena = Arena::new();
            ty.is_compiled().unwrap();
            ty.decode(&bytes, &arena).unwrap();
            if round == 100 {
                high_water = runtime.trace().arena.unwrap().high_water;
            }
            if round == rounds / 2 {
                resident = resident_pages();
            }
        }
        // Other tests of this process come and go beside it, with a few megabytes.
        let grown = resident_pages().saturating_sub(resident);
        assert!(grown < 8 << 10, "{grown} pages more than half-way");
        done.store(true, Ordering::Relaxed);
        if rounds > 100 {
            assert_eq!(runtime.trace().arena.unwrap().high_water, high_water, "the code arena grew");
        }
    });
    println!("{rounds} rounds in {:?}, {} decodes beside", started.elapsed(), decodes.load(Ordering::Relaxed));
    assert!(decodes.load(Ordering::Relaxed) > 100);
    assert!(runtime.trace().failures.is_empty());
    assert_eq!(runtime.trace().schemas.len(), 0);
    assert_eq!(runtime.trace().arena.unwrap().in_use, 1 << 16, "of the code only the stubs are left");
}
