//! Schemas, types and messages shared by threads: all see the same, whoever is first compiles, and nobody waits for ever.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use protojit::{Arena, CompileMode, Engine, Message, MessageRef, Runtime};
use protojit_core::schema::model::MessageId;
use protojit_testing::dump::dump;
use protojit_testing::rng::Rng;
use protojit_testing::schema_gen::{Dialect, random_set};
use protojit_testing::schemas;
use protojit_testing::wire_gen::{Style, WireGen};

const THREADS: usize = 8;

fn inputs(runtime: &Runtime, set: &[u8], each: usize) -> Vec<(String, Vec<u8>)> {
    let schema = runtime.register(set).unwrap();
    let mut rng = Rng::new(91);
    let mut out = Vec::new();
    for message in schema.descriptors().messages().filter(|message| !message.is_map_entry()) {
        let id: MessageId = message.id();
        let mut wire = WireGen::new(schema.descriptors().data(), rng.fork());
        out.extend((0..each).map(|_| (message.full_name().to_owned(), wire.message(id, Style::MIXED, 40))));
    }
    out
}

/// What comes of an input: the dump and the bytes, or the error.
fn outcome(schema: &protojit::Schema, name: &str, input: &[u8], arena: &Arena) -> String {
    let ty = schema.message(name).unwrap();
    match ty.decode(input, arena) {
        Ok(message) => format!("{} {:?}", dump(message), ty.encode_to_vec(message).map_err(|error| error.to_string())),
        Err(error) => error.to_string(),
    }
}

/// Eight threads ask for the same types for the first time, in different orders, in every mode.
#[test]
fn types_are_shared_from_the_first_use_on() {
    let set = schemas::descriptor_set("kinds2.proto");
    let reference = Runtime::builder().engine(Engine::Interp).build();
    let inputs = inputs(&reference, &set, 6);
    let schema = reference.register(&set).unwrap();
    let expected: Vec<String> =
        inputs.iter().map(|(name, input)| outcome(&schema, name, input, &Arena::new())).collect();
    for mode in [CompileMode::Eager, CompileMode::Lazy, CompileMode::Background] {
        let runtime = Runtime::builder().engine(Engine::Auto).compile_mode(mode).verify(false).build();
        let barrier = Barrier::new(THREADS);
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (runtime, barrier, inputs, expected, set) = (&runtime, &barrier, &inputs, &expected, &set);
                scope.spawn(move || {
                    let mut arena = Arena::new();
                    barrier.wait();
                    let schema = runtime.register(set).unwrap();
                    for turn in 0..inputs.len() {
                        // Each thread begins elsewhere, and every other one goes backwards.
                        let at = (thread * inputs.len() / THREADS + turn) % inputs.len();
                        let at = if thread % 2 == 0 { at } else { inputs.len() - 1 - at };
                        let (name, input) = &inputs[at];
                        assert_eq!(outcome(&schema, name, input, &arena), expected[at], "{mode:?}, {name}");
                        arena.reset();
                    }
                });
            }
        });
        for row in runtime.trace().programs {
            assert_eq!(row.disagreements, 0, "{row:?}");
        }
    }
}

/// Messages, and references into an arena that goes on being used, are read by other threads.
#[test]
fn messages_are_read_by_many_threads() {
    let runtime = Runtime::new();
    let set = schemas::descriptor_set("kinds3.proto");
    let inputs = inputs(&runtime, &set, 4);
    let schema = runtime.register(&set).unwrap();
    let arena = Arena::new();
    let mut held: Vec<(MessageRef<'_>, String)> = Vec::new();
    let mut owned: Vec<(Message, String)> = Vec::new();
    let types: Vec<_> = inputs.iter().map(|(name, _)| schema.message(name).unwrap()).collect();
    for (ty, (_, input)) in types.iter().zip(&inputs) {
        let Ok(message) = ty.decode(input, &arena) else { continue };
        held.push((message, dump(message)));
        let message = ty.decode_owned(input).unwrap();
        let expected = dump(message.as_ref());
        owned.push((message, expected));
    }
    assert!(held.len() > 20);
    let (done, reads) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    for (message, expected) in &held {
                        assert_eq!(dump(*message), *expected);
                    }
                    for (message, expected) in &owned {
                        assert_eq!(dump(message.as_ref()), *expected);
                    }
                    reads.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        // Meanwhile the arena is used by the thread that has it.
        let mut decoded = 0;
        while reads.load(Ordering::Relaxed) < 40 || decoded <= 100 {
            for (ty, (_, input)) in types.iter().zip(&inputs) {
                decoded += usize::from(decoded < 20_000 && ty.decode(input, &arena).is_ok());
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    // A message goes with its memory to another thread, and ends there.
    std::thread::spawn(move || {
        owned.iter().for_each(|(message, expected)| assert_eq!(dump(message.as_ref()), *expected))
    })
    .join()
    .unwrap();
}

/// Threads register schemas, compile, use and drop them, in one runtime whose machine-code arena is too small for all.
#[test]
fn schemas_come_and_go() {
    let runtime = Runtime::builder().code_arena(3 << 20).verify(false).build();
    let reference = Runtime::builder().engine(Engine::Interp).build();
    let mut rng = Rng::new(92);
    let sets: Vec<Vec<u8>> =
        (0..6).map(|at| random_set(&mut rng, [Dialect::Proto2, Dialect::Proto3, Dialect::Edition][at % 3])).collect();
    let cases: Vec<_> = sets
        .iter()
        .map(|set| {
            let inputs = inputs(&reference, set, 2);
            let schema = reference.register(set).unwrap();
            let expected: Vec<String> =
                inputs.iter().map(|(name, input)| outcome(&schema, name, input, &Arena::new())).collect();
            (set, inputs, expected)
        })
        .collect();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (runtime, cases) = (&runtime, &cases);
            scope.spawn(move || {
                let mut arena = Arena::new();
                for turn in 0..24 {
                    let (set, inputs, expected) = &cases[(thread + turn) % cases.len()];
                    let schema = runtime.register(set).unwrap();
                    for ((name, input), expected) in inputs.iter().zip(expected) {
                        assert_eq!(outcome(&schema, name, input, &arena), *expected, "{name}");
                        arena.reset();
                    }
                }
            });
        }
    });
}
