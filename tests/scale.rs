//! Thousands of message types: what registration costs in time and memory, and who serves until there is code.
//!
//! Times are bounded more loosely without optimisation; `cargo test --release --test scale` holds them to the figures of
//! the documentation.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::time::{Duration, Instant};

use protojit::{Arena, CompileMode, Engine, Runtime, RuntimeBuilder};
use protojit_testing::many;

const MESSAGES: usize = 5_000;

/// How much longer things may take than with optimisation, on machines that others use too.
const PATIENCE: u32 = if cfg!(debug_assertions) { 10 } else { 1 };

/// One test at a time: they measure the process.
static ALONE: Mutex<()> = Mutex::new(());

static LIVE: AtomicIsize = AtomicIsize::new(0);

struct Measuring;

// SAFETY: the system's allocator, and a counter.
unsafe impl GlobalAlloc for Measuring {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: as promised to this function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: as promised to this function.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Measuring = Measuring;

fn builder(mode: CompileMode) -> RuntimeBuilder {
    Runtime::builder().engine(Engine::Jit).compile_mode(mode)
}

/// `field_1` is 5, `field_7` is "x", and a child with `field_1` 6.
const PAYLOAD: &[u8] = &[0x08, 5, 0x3a, 1, b'x', 0x62, 2, 0x08, 6];

#[test]
fn registering_costs_little_and_the_interpreter_serves_at_once() {
    let _alone = ALONE.lock().unwrap_or_else(|error| error.into_inner());
    let set = many::descriptor_set(MESSAGES);
    let runtime = builder(CompileMode::Background).build();
    let started = Instant::now();
    let schema = runtime.register(&set).unwrap();
    let registered = started.elapsed();

    let started = Instant::now();
    let ty = schema.message("many.M4999").unwrap();
    let arena = Arena::new();
    let text = format!("{:?}", ty.decode(PAYLOAD, &arena).unwrap());
    let first = started.elapsed();
    assert!(text.contains('5') && text.contains('x') && text.contains('6'), "{text}");
    drop(arena);

    println!(
        "{MESSAGES} messages registered in {registered:?} ({:?} each), the first decode after {first:?}",
        registered / MESSAGES as u32
    );
    assert!(registered < Duration::from_millis(300) * PATIENCE, "{registered:?}");
    assert!(first < Duration::from_millis(5) * PATIENCE, "{first:?}");
    let trace = runtime.trace();
    let found = &trace.schemas[0];
    assert_eq!((found.messages, found.descriptor_bytes), (MESSAGES, set.len()));
    assert!(u128::from(found.register_micros) <= registered.as_micros() && found.register_micros > 0);
    // What the message refers to, and nothing else.
    assert!((5..40).contains(&trace.programs.len()), "{}", trace.programs.len());

    if cfg!(feature = "jit") {
        ty.compile().unwrap();
        let code = runtime.trace();
        let compiled: Vec<_> = code.compiled().collect();
        let bytes: usize = compiled.iter().map(|row| row.code_bytes).sum();
        let arena = code.arena.unwrap();
        println!(
            "{} programs compiled, {} bytes of code each, {} of {} bytes reserved are in use",
            compiled.len(),
            bytes / compiled.len(),
            arena.in_use,
            arena.reserved
        );
    }
}

#[test]
fn memory_of_what_is_not_compiled() {
    let _alone = ALONE.lock().unwrap_or_else(|error| error.into_inner());
    let set = many::descriptor_set(MESSAGES);
    let runtime = builder(CompileMode::Lazy).build();
    let live = || LIVE.load(Ordering::Relaxed);
    let names: Vec<String> = (0..MESSAGES).map(|number| format!("many.M{number}")).collect();
    let before = live();
    let schema = runtime.register(&set).unwrap();
    let linked = (live() - before) as usize;
    let started = Instant::now();
    let types: Vec<_> = names.iter().map(|name| schema.message(name).unwrap()).collect();
    let time = started.elapsed();
    let ready = (live() - before) as usize;
    println!(
        "bytes per message of {MESSAGES}: {} linked, {} ready to decode (built in {time:?})",
        linked / MESSAGES,
        ready / MESSAGES
    );
    assert!(linked > set.len() && ready > linked, "something is not counted");
    assert!(ready / MESSAGES <= 6 * 1024);
    assert!(time < Duration::from_millis(300) * PATIENCE, "finding a type must not take longer the more there are");
    drop((types, schema));
    let left = live() - before;
    assert!(left < 64 << 10, "{left} bytes are left of what was dropped");
}
