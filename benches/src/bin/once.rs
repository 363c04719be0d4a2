//! Runs one workload on one engine: a small program to count instructions of.
//!
//! ```text
//! cargo build --release -p protojit-benches
//! valgrind --tool=callgrind target/release/once person/1KB jit 1000
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::Parser;
use protojit_benches::peers::{ENGINES, Op, Skip, check, engine};
use protojit_benches::workloads::{Workload, all};

/// Runs one workload on one engine, so often, and says how many allocations that took.
#[derive(Parser)]
struct Args {
    /// The workload, such as person/1KB; "list" lists them and the engines.
    workload: String,
    /// The engine, such as jit.
    #[arg(default_value = "jit")]
    engine: String,
    /// Passes over the payloads.
    #[arg(default_value_t = 1000)]
    passes: usize,
    /// What to do.
    #[arg(long, value_enum, default_value_t = Op::Decode)]
    op: Op,
}

/// The system's allocator, counted.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: all is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as promised to this function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: as promised to this function.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as promised to this function.
        unsafe { System.realloc(ptr, layout, new_size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("once: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<(), String> {
    let mut workloads = all();
    if args.workload == "list" {
        list(&workloads);
        return Ok(());
    }
    let at = workloads.iter().position(|workload| workload.name == args.workload);
    let workload = workloads.swap_remove(at.ok_or_else(|| format!("no workload {:?}; try \"list\"", args.workload))?);
    let engine = engine(&args.engine).ok_or_else(|| format!("no engine {:?}; try \"list\"", args.engine))?;
    let mut codec = (engine.make)(&workload).map_err(|skip| match skip {
        Skip::Same => format!("{} differs from another engine only where there are unknown fields", engine.name),
        Skip::Cannot(reason) => format!("{} does not run it: {reason}", engine.name),
    })?;
    if !codec.can(args.op) {
        return Err(format!("{} cannot {}", engine.name, args.op));
    }
    let encode = args.op == Op::Encode;
    if encode {
        codec.prepare_encode();
    }
    check(&workload, &mut *codec, encode).map_err(|error| format!("{}: {error}", engine.name))?;
    codec.pass(args.op);
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    for _ in 0..args.passes {
        codec.pass(args.op);
    }
    let allocations = ALLOCATIONS.load(Ordering::Relaxed) - before;
    let messages = args.passes * workload.payloads().len();
    println!(
        "{} on {}: {}, {messages} messages of {:.0} bytes, {:.2} allocations per message",
        workload.name,
        engine.name,
        args.op,
        workload.wire_bytes(),
        allocations as f64 / messages as f64
    );
    Ok(())
}

fn list(workloads: &[Workload]) {
    println!("workloads:");
    for workload in workloads {
        println!("  {:<28} {:<18} {:>9.0} bytes", workload.name, workload.message, workload.wire_bytes());
    }
    println!("engines:");
    for engine in &ENGINES {
        println!("  {:<16} {}", engine.name, engine.version);
    }
}
