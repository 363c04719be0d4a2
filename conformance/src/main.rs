//! The testee for the official Protobuf conformance runner.
//!
//! The runner starts this program, writes one `ConformanceRequest` after the other to
//! its standard input, each behind four bytes of length, and reads a
//! `ConformanceResponse` for each. `conformance/README.md` says how to run it.
//!
//! * [`protocol`] is the conversation with the runner,
//! * [`codec`] the seam between it and the library under test,
//! * [`protojit`](mod@protojit) the library's side of that seam.

#![allow(dead_code, reason = "the codec under test is not there yet")]

mod codec;
mod protocol;
mod protojit;

use codec::{Codec, Fault, Faulty, answer};
use protocol::{Request, read_frame, write_frame};
use protojit::Protojit;
use std::error::Error;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "\
Usage: protojit-conformance --descriptors FILE [--engine jit|interp] [--record FILE] [--fault FAULT]

  --descriptors FILE  the test messages, as a serialized FileDescriptorSet
  --engine ENGINE     the engine under test (default: jit)
  --record FILE       append every request to FILE, framed as it came: the same program
                      reads it again from its standard input, without the runner
  --fault FAULT       misbehave: fail=N, skip=N, exit=N, panic=N or skip-all
";

struct Arguments {
    descriptors: PathBuf,
    engine: String,
    record: Option<PathBuf>,
    fault: Option<Fault>,
}

impl Arguments {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut descriptors, mut record, mut fault) = (None, None, None);
        let mut engine = "jit".to_string();
        while let Some(name) = args.next() {
            let value = args.next().ok_or(format!("{name} wants a value"))?;
            match name.as_str() {
                "--descriptors" => descriptors = Some(value.into()),
                "--record" => record = Some(value.into()),
                "--fault" => fault = Some(value.parse()?),
                "--engine" if value == "jit" || value == "interp" => engine = value,
                _ => return Err(format!("not understood: {name} {value}")),
            }
        }
        Ok(Arguments { descriptors: descriptors.ok_or("--descriptors is missing")?, engine, record, fault })
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
    let descriptors =
        std::fs::read(&arguments.descriptors).map_err(|e| format!("{}: {e}", arguments.descriptors.display()))?;
    let codec = Protojit::new(&descriptors, &arguments.engine)?;
    let mut codec: Box<dyn Codec> = match arguments.fault {
        None => Box::new(codec),
        Some(fault) => Box::new(Faulty { codec, fault, seen: 0 }),
    };
    let mut record = match &arguments.record {
        None => None,
        Some(path) => Some(File::options().create(true).append(true).open(path)?),
    };
    let (mut requests, mut responses) = (io::stdin().lock(), io::stdout().lock());
    while let Some(frame) = read_frame(&mut requests)? {
        if let Some(record) = &mut record {
            write_frame(record, &frame)?;
        }
        let outcome = answer(&mut *codec, &Request::parse(&frame)?);
        write_frame(&mut responses, &outcome.to_bytes())?;
    }
    Ok(())
}
