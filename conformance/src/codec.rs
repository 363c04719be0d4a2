//! What runs a test: the seam between the protocol and the library under test.

use crate::protocol::{Format, Outcome, Request};

/// Runs one test: reads the payload as the message type asked for and writes it in the
/// format asked for.
pub trait Codec {
    /// The outcome, for the runner to judge. Never called for the failure set, nor for
    /// JSPB, nor without a payload.
    fn run(&mut self, request: &Request) -> Outcome;
}

/// Answers what needs no codec, and gives the rest to it. A panic in the codec is a
/// failed test and not the end of the run.
pub fn answer(codec: &mut dyn Codec, request: &Request) -> Outcome {
    if request.message_type == "conformance.FailureSet" {
        // Nothing is expected to fail: the empty set.
        return Outcome::Protobuf(Vec::new());
    }
    match (&request.payload, request.output()) {
        (None, _) => return Outcome::RuntimeError("a request without a payload".into()),
        (_, Format::Other(n)) => {
            return Outcome::RuntimeError(format!("unknown output format {n}"));
        }
        (Some((Format::Jspb, _)), _) | (_, Format::Jspb) => {
            return Outcome::Skipped("JSPB exists only inside Google".into());
        }
        _ => {}
    }
    let run = std::panic::AssertUnwindSafe(|| codec.run(request));
    std::panic::catch_unwind(run).unwrap_or_else(|panic| {
        let what = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("(no message)");
        Outcome::RuntimeError(format!("panic: {what}"))
    })
}

/// Ways in which a testee can be made to misbehave, so that `run.sh` can be shown to
/// notice. Each counts the requests of its process from 1.
#[derive(Debug, Clone, Copy)]
pub enum Fault {
    /// Report test N as failed.
    Fail(u64),
    /// Skip test N.
    Skip(u64),
    /// Skip everything: the runner calls that passed.
    SkipAll,
    /// Exit in the middle of test N.
    Exit(u64),
    /// Panic in test N.
    Panic(u64),
}

impl std::str::FromStr for Fault {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let (kind, number) = s.split_once('=').unwrap_or((s, "0"));
        let n = number.parse().map_err(|_| format!("not a number: {s}"))?;
        match kind {
            "fail" => Ok(Fault::Fail(n)),
            "skip" => Ok(Fault::Skip(n)),
            "skip-all" => Ok(Fault::SkipAll),
            "exit" => Ok(Fault::Exit(n)),
            "panic" => Ok(Fault::Panic(n)),
            _ => Err(format!("unknown fault: {s}")),
        }
    }
}

/// A codec with a [`Fault`].
pub struct Faulty<C> {
    /// What misbehaves.
    pub codec: C,
    /// How it does, if it does.
    pub fault: Option<Fault>,
    /// Requests seen so far.
    pub seen: u64,
}

impl<C: Codec> Codec for Faulty<C> {
    fn run(&mut self, request: &Request) -> Outcome {
        self.seen += 1;
        match self.fault {
            Some(Fault::Fail(n)) if n == self.seen => Outcome::RuntimeError("a fault, as told".into()),
            Some(Fault::Skip(n)) if n == self.seen => Outcome::Skipped("a fault, as told".into()),
            Some(Fault::SkipAll) => Outcome::Skipped("a fault, as told".into()),
            Some(Fault::Exit(n)) if n == self.seen => std::process::exit(70),
            Some(Fault::Panic(n)) if n == self.seen => panic!("a fault, as told"),
            _ => self.codec.run(request),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Panics;
    impl Codec for Panics {
        fn run(&mut self, _: &Request) -> Outcome {
            panic!("no {}", "codec")
        }
    }

    fn answered(bytes: &[u8]) -> Outcome {
        answer(&mut Panics, &Request::parse(bytes).unwrap())
    }

    #[test]
    fn what_needs_no_codec_gets_none() {
        let failure_set = b"\x0a\x00\x18\x01\x22\x16conformance.FailureSet";
        assert_eq!(answered(failure_set), Outcome::Protobuf(vec![]));
        assert!(matches!(answered(b"\x18\x01"), Outcome::RuntimeError(_)));
        assert!(matches!(answered(b"\x0a\x00"), Outcome::RuntimeError(_)));
        assert!(matches!(answered(b"\x0a\x00\x18\x03"), Outcome::Skipped(_)));
        assert!(matches!(answered(b"\x3a\x00\x18\x01"), Outcome::Skipped(_)));
    }

    #[test]
    fn a_panic_is_a_failed_test() {
        let outcome = answered(b"\x0a\x00\x18\x01");
        assert_eq!(outcome, Outcome::RuntimeError("panic: no codec".into()));
    }
}
