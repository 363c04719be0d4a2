//! How a run ends that does not end well: one line for people, one number for scripts.

use std::fmt;
use std::io;
use std::process::ExitCode;

/// The result of everything that may end the run.
pub type Outcome<T = ()> = Result<T, Failure>;

/// Why the run ends.
#[derive(Debug)]
pub enum Failure {
    /// The input cannot be read or is bad, or the output cannot be written. Exit code 1.
    Input(String),
    /// The command line or the schema is bad. Exit code 2.
    Usage(String),
    /// What `--expect` asks for is not the case. Exit code 3.
    Expectation(String),
    /// Whoever read the output has seen enough. No error: exit code 0, and nothing is said.
    ClosedPipe,
}

impl Failure {
    /// The code that the process ends with.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::ClosedPipe => 0,
            Failure::Input(_) => 1,
            Failure::Usage(_) => 2,
            Failure::Expectation(_) => 3,
        }
    }

    /// Bad input, read from what goes by this name.
    pub fn input(name: impl fmt::Display, what: impl fmt::Display) -> Failure {
        Failure::Input(format!("{name}: {what}"))
    }

    /// The output could not be written.
    pub fn output(error: &io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
            _ => Failure::Input(format!("the output cannot be written: {error}")),
        }
    }

    /// Says what there is to say and gives the exit code.
    pub fn report(&self) -> ExitCode {
        match self {
            Failure::ClosedPipe => {}
            Failure::Input(what) | Failure::Usage(what) | Failure::Expectation(what) => say("error", what),
        }
        ExitCode::from(self.exit_code())
    }
}

/// Writes one line to stderr. Where that is closed too there is no one left to tell.
pub fn say(label: &str, what: impl fmt::Display) {
    use io::Write;
    let line = format!("{label}: {}\n", one_line(&what.to_string()));
    let _ = io::stderr().write_all(line.as_bytes());
}

/// Line breaks and other control characters do not belong into a line.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split(['\n', '\r']).map(str::trim).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().flat_map(|c| {
            let (plain, escaped) = if c.is_control() { (None, Some(c.escape_default())) } else { (Some(c), None) };
            plain.into_iter().chain(escaped.into_iter().flatten())
        }));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        assert_eq!(one_line("a\n  b\r\n\nc\u{1b}[31m"), "a b c\\u{1b}[31m");
    }

    #[test]
    fn codes() {
        assert_eq!(Failure::output(&io::ErrorKind::BrokenPipe.into()).exit_code(), 0);
        assert_eq!(Failure::output(&io::ErrorKind::StorageFull.into()).exit_code(), 1);
        assert_eq!(Failure::Usage(String::new()).exit_code(), 2);
        assert_eq!(Failure::Expectation(String::new()).exit_code(), 3);
    }
}
