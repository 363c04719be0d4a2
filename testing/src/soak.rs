//! The engines held against each other without end: random schemas, random options and limits, inputs of all kinds.
//!
//! A round is one schema, and follows from its seed alone: what fails can be run again by itself.

use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};
use std::time::{Duration, Instant};

use protojit::{DecodeOptions, Limits, Runtime};

use crate::inputs::Inputs;
use crate::pair::{Checker, Pair};
use crate::rng::Rng;
use crate::schema_gen::{Dialect, random_set};

/// What was done so far.
#[derive(Default, Debug)]
pub struct Tally {
    /// Schemas.
    pub rounds: u64,
    /// Seeds of those with a difference.
    pub failed: Vec<u64>,
    /// Message types, with options.
    pub types: usize,
    /// Inputs, each decoded by both engines in several ways and written again.
    pub cases: usize,
    /// By what became of them.
    pub seen: BTreeMap<String, usize>,
}

impl Tally {
    fn add(&mut self, checker: &Checker) {
        self.cases += checker.cases;
        for (what, count) in &checker.seen {
            *self.seen.entry(what.clone()).or_default() += count;
        }
    }
}

/// Rounds from `first` on, until there were `rounds` of them or `most` has passed. Tells how far it is every minute.
///
/// A round that fails is told of, and the next one begun: one difference may hide others.
pub fn soak(first: u64, rounds: u64, most: Duration) -> Tally {
    let (mut tally, started, mut told) = (Tally::default(), Instant::now(), Instant::now());
    for seed in first..first.saturating_add(rounds) {
        if started.elapsed() >= most {
            break;
        }
        if panic::catch_unwind(AssertUnwindSafe(|| round(seed, &mut tally))).is_err() {
            println!("round {seed} failed");
            tally.failed.push(seed);
        }
        if told.elapsed() >= Duration::from_secs(60) {
            told = Instant::now();
            println!("{} s: {tally:?}", started.elapsed().as_secs());
        }
    }
    tally
}

/// Decodes and encodes messages of the random schema number `seed`.
///
/// # Panics
/// The engines differ; the message begins with the seed.
pub fn round(seed: u64, tally: &mut Tally) {
    let mut rng = Rng::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x50a6);
    let dialect = *rng.pick(&[Dialect::Proto2, Dialect::Proto3, Dialect::Edition]);
    let set = random_set(&mut rng, dialect);
    let limits = limits(&mut rng);
    // The verifier costs half of the time, and finds what it finds with few schemas.
    let builder = Runtime::builder().limits(limits).verify(rng.chance(10));
    let pair = Pair::with(format!("round {seed} ({dialect:?}, {limits:?})"), &set, builder);
    let mut checker = Checker::new();
    checker.guard_arenas = 6;
    for (id, full_name) in pair.messages() {
        let options = DecodeOptions {
            keep_unknown: !rng.chance(15),
            check_utf8: !rng.chance(15),
            check_required: !rng.chance(25),
        };
        let types = pair.types(&full_name).map(|ty| ty.with_decode_options(options));
        let types = crate::pair::Types { context: format!("{}, {options:?}", types.context), ..types };
        tally.types += 1;
        let mut inputs = Inputs::new(pair.interp.descriptors().data(), id, &mut rng);
        for _ in 0..400 {
            let input = inputs.fresh();
            checker.check(&types, &input);
            if rng.chance(10) {
                let limit = rng.below(checker.last_used() * 5 / 4 + 64);
                checker.check_in_memory(&types, &input, limit);
            }
        }
    }
    for row in pair.jit.runtime().trace().programs {
        assert_eq!(row.disagreements, 0, "round {seed}: {row:?}");
    }
    tally.rounds += 1;
    tally.add(&checker);
}

/// The usual ones mostly, else narrow ones.
fn limits(rng: &mut Rng) -> Limits {
    let mut limits = Limits::default();
    match rng.below(10) {
        0 => limits.max_depth = rng.below(6) as u32,
        1 => limits.max_unknown_fields = rng.below(12),
        2 => limits.max_unknown_bytes = rng.below(60),
        3 => limits.max_message_bytes = rng.below(400),
        _ => {}
    }
    limits
}
