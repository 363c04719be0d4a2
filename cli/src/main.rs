//! The `protojit` command: decodes, encodes and diagnoses Protobuf payloads with code compiled at run time.
//!
//! Subcommands parse their flags in [`args`], get their types from [`schema`] and [`setup`], and end in a [`failure`]
//! or not at all badly. Payloads come in through [`input`], [`digits`] and [`lines`].

mod args;
mod bench;
mod clock;
mod decode;
mod digits;
mod encode;
mod failure;
mod input;
mod layout;
mod lines;
mod output;
mod schema;
mod setup;
mod stream;
mod table;
mod trace;
mod wire;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};

fn main() -> ExitCode {
    let Cli { command, runtime } = Cli::parse();
    let done = runtime.with_stack(|| match &command {
        Command::Decode(args) => decode::run(args, &runtime),
        Command::Encode(args) => encode::run(args, &runtime),
        Command::JitTrace(args) => trace::run(args, &runtime),
        Command::Bench(args) => bench::run(args, &runtime),
        Command::Layout(args) => layout::run(args, &runtime),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
