//! Tests that run in a process of their own.

use std::process::Command;

/// This very test program, started anew with these arguments. Where it is one for another processor, `PROTOJIT_TEST_RUNNER` names
/// the program that runs it.
///
/// # Panics
/// The system does not tell where the program is.
pub fn this_program(arguments: &[&str]) -> Command {
    let program = std::env::current_exe().expect("a program has a path");
    let mut command = match std::env::var_os("PROTOJIT_TEST_RUNNER") {
        Some(runner) => {
            let mut command = Command::new(runner);
            command.arg(program);
            command
        }
        None => Command::new(program),
    };
    command.args(arguments);
    command
}
