//! The gate on instructions: a few decodes and encodes, counted by callgrind and compared with a committed baseline.
//!
//! ```text
//! cargo run --profile gate -p protojit-gate -- check      fails where something takes 3 % more than it did
//! cargo run --profile gate -p protojit-gate -- refresh    writes the baseline anew
//! cargo run --profile gate -p protojit-gate -- selftest   a oneof falls back: exactly its bench must fail
//! ```
//!
//! Instructions do not depend on what else the machine does, and hardly on the machine: callgrind shows every x86-64 processor
//! with AVX2 as the same one, and code is compiled for the plainest. What does matter is the compiler of the Rust parts and the C
//! library; the baseline names both. Instructions of compiled code, which callgrind tells from all others, are the
//! same whatever they are, and held to 3 % everywhere; all instructions together are held to that where toolchain
//! and C library are those of the baseline, else to 25 %.

mod baseline;
mod benches;
mod callgrind;

use std::process::ExitCode;

use baseline::Baseline;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["check"] => check(),
        ["refresh"] => callgrind::measure(false).and_then(|found| found.store()),
        ["selftest"] => selftest(),
        // What callgrind runs.
        ["run"] => benches::run_all(false),
        ["run", "degraded"] => benches::run_all(true),
        _ => Err("usage: protojit-gate check|refresh|selftest".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn check() -> Result<(), String> {
    let (before, after) = (Baseline::load()?, callgrind::measure(false)?);
    let compared = before.compare(&after);
    print!("{}", compared.report);
    if compared.worse.is_empty() {
        return Ok(());
    }
    Err(format!(
        "worse than the baseline: {}\nIf this is meant: cargo run --profile gate -p protojit-gate -- refresh",
        compared.worse.join(", ")
    ))
}

/// Lets the compiler refuse a oneof. The benches that have it must be found worse, and no others.
fn selftest() -> Result<(), String> {
    let (before, after) = (callgrind::measure(false)?, callgrind::measure(true)?);
    let worse = before.compare(&after).worse;
    println!("with a oneof interpreted, worse: {}", worse.join(", "));
    let wanted: Vec<String> = benches::names().into_iter().filter(|name| benches::falls_back(name)).collect();
    if worse == wanted { Ok(()) } else { Err(format!("these should have been worse: {}", wanted.join(", "))) }
}
