//! The testee for the official Protobuf conformance runner.
//!
//! The runner starts this program, writes one `ConformanceRequest` after the other to
//! its standard input, each behind four bytes of length, and reads a
//! `ConformanceResponse` for each. `conformance/README.md` says how to run it.
//!
//! * [`protocol`] is the conversation with the runner,
//! * [`codec`] the seam between it and the library under test,
//! * [`under_test`] the library's side of that seam.

mod codec;
mod protocol;
mod under_test;

use codec::{Fault, Faulty, answer};
use protocol::{Request, read_frame, write_frame};
use protojit::Engine;
use std::error::Error;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use under_test::Protojit;

const USAGE: &str = "\
Usage: protojit-conformance --descriptors FILE [--engine jit|interp] [--report FILE] [--record FILE] [--fault FAULT]

  --descriptors FILE  the test messages, as a serialized FileDescriptorSet
  --engine ENGINE     the engine under test (default: jit)
  --report FILE       append a line at the start, and one at the end that counts which engine served
  --record FILE       append every request to FILE, framed as it came: the same program
                      reads it again from its standard input, without the runner
  --fault FAULT       misbehave: fail=N, skip=N, exit=N, panic=N or skip-all
";

struct Arguments {
    descriptors: PathBuf,
    engine: Engine,
    report: Option<PathBuf>,
    record: Option<PathBuf>,
    fault: Option<Fault>,
}

impl Arguments {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut descriptors, mut report, mut record, mut fault) = (None, None, None, None);
        let mut engine = Engine::Jit;
        while let Some(name) = args.next() {
            let value = args.next().ok_or(format!("{name} wants a value"))?;
            match name.as_str() {
                "--descriptors" => descriptors = Some(value.into()),
                "--report" => report = Some(value.into()),
                "--record" => record = Some(value.into()),
                "--fault" => fault = Some(value.parse()?),
                "--engine" => engine = value.parse().map_err(|_| format!("unknown engine: {value}"))?,
                _ => return Err(format!("not understood: {name} {value}")),
            }
        }
        Ok(Arguments { descriptors: descriptors.ok_or("--descriptors is missing")?, engine, report, record, fault })
    }
}

fn main() -> ExitCode {
    let arguments = match Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(error) => {
            eprint!("{error}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match serve(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("protojit-conformance: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let append = |path: &Option<PathBuf>| match path {
        None => Ok(None),
        Some(path) => File::options().create(true).append(true).open(path).map(Some),
    };
    let mut report = append(&arguments.report)?;
    let mut record = append(&arguments.record)?;
    if let Some(report) = &mut report {
        report.write_all(b"started\n")?;
    }
    let descriptors =
        std::fs::read(&arguments.descriptors).map_err(|e| format!("{}: {e}", arguments.descriptors.display()))?;
    let mut codec = Faulty { codec: Protojit::new(&descriptors, arguments.engine)?, fault: arguments.fault, seen: 0 };
    let (mut requests, mut responses) = (io::stdin().lock(), io::stdout().lock());
    while let Some(frame) = read_frame(&mut requests)? {
        if let Some(record) = &mut record {
            write_frame(record, &frame)?;
        }
        let outcome = answer(&mut codec, &Request::parse(&frame)?);
        write_frame(&mut responses, &outcome.to_bytes())?;
    }
    if let Some(report) = &mut report {
        report.write_all(format!("served {}\n", codec.codec.served()).as_bytes())?;
    }
    Ok(())
}
