//! Both engines agree on every input: on the value with its unknown fields, on the bytes it is written as, or on kind,
//! offset and path of the error.
//!
//! Every input lies directly before an unmapped page (borrowed) and directly behind one (copied); a share is decoded
//! into arenas with the smallest chunks, each between two unmapped pages. Seeds are fixed; `PROTOJIT_TEST_CASES` (a
//! factor) multiplies the number of cases, `PROTOJIT_TEST_SEED` moves to others.

#![cfg(feature = "jit")]

use protojit::DecodeOptions;
use protojit_core::schema::model::MessageId;
use protojit_testing::mutate::mutate;
use protojit_testing::pair::{Checker, Pair, Types};
use protojit_testing::rng::Rng;
use protojit_testing::schema_gen::{Dialect, random_set};
use protojit_testing::schemas;
use protojit_testing::wire_gen::{Style, WireGen};

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().expect("a number"))
}

fn factor() -> usize {
    setting("PROTOJIT_TEST_CASES", 1) as usize
}

fn rng(test: u64) -> Rng {
    Rng::new(setting("PROTOJIT_TEST_SEED", 0) << 32 | test)
}

/// Inputs of all kinds for one message type.
struct Inputs<'s> {
    wire: WireGen<'s>,
    message: MessageId,
    rng: Rng,
    last: Vec<u8>,
}

impl Inputs<'_> {
    fn valid(&mut self) -> Vec<u8> {
        let style = *self.rng.pick(&[Style::PLAIN, Style::ODD, Style::MIXED]);
        let budget = *self.rng.pick(&[2, 10, 40, 120]);
        self.wire.message(self.message, style, budget)
    }

    /// Longer than what is copied whatever the caller says. The bytes given come last, or amid others.
    fn lengthened(&mut self, bytes: &[u8]) -> Vec<u8> {
        let wanted = protojit_interp::decode::SMALL_INPUT + self.rng.below(300);
        let mut out = Vec::new();
        while out.len() + bytes.len() < wanted {
            match self.rng.below(3) {
                0 => out.extend(self.wire.unknown_field(Style::PLAIN)),
                _ => out.extend(self.wire.message(self.message, Style::MIXED, 40)),
            }
            if out.is_empty() {
                out.extend(self.wire.unknown_field(Style::PLAIN));
            }
        }
        out.extend_from_slice(bytes);
        if self.rng.chance(20) {
            out.extend(self.wire.unknown_field(Style::PLAIN));
        }
        out
    }

    fn next(&mut self) -> Vec<u8> {
        let mut bytes = self.valid();
        if self.rng.chance(50) {
            let mutated = mutate(&mut self.rng, &bytes, &self.last);
            self.last = std::mem::replace(&mut bytes, mutated);
        }
        if self.rng.chance(25) { self.lengthened(&bytes) } else { bytes }
    }
}

fn check_types(checker: &mut Checker, pair: &Pair, types: &Types, message: MessageId, rng: &mut Rng, cases: usize) {
    let data = pair.interp.descriptors().data();
    let mut inputs = Inputs { wire: WireGen::new(data, rng.fork()), message, rng: rng.fork(), last: Vec::new() };
    for _ in 0..cases {
        let input = inputs.next();
        checker.check(types, &input);
    }
}

/// What was seen; the inputs were of use only where they led to values and to errors of all kinds.
fn report(test: &str, checker: &Checker) {
    println!("{test}: {} cases, {:?}", checker.cases, checker.seen);
    let values = checker.seen.get("value").copied().unwrap_or_default();
    assert!(values * 3 > checker.cases && values * 10 < checker.cases * 9, "{values} values");
    for kind in [
        "Truncated",
        "MalformedVarint",
        "InvalidTag",
        "LengthOutOfBounds",
        "PackedLength",
        "InvalidUtf8",
        "UnmatchedEndGroup",
        "UnclosedGroup",
        "MissingRequired",
    ] {
        assert!(checker.seen.contains_key(kind), "no input was refused as {kind}");
    }
}

/// The other way for each option, and all of them.
const OPTIONS: [DecodeOptions; 4] = [
    DecodeOptions { keep_unknown: false, check_utf8: true, check_required: true },
    DecodeOptions { keep_unknown: true, check_utf8: false, check_required: true },
    DecodeOptions { keep_unknown: true, check_utf8: true, check_required: false },
    DecodeOptions { keep_unknown: false, check_utf8: false, check_required: false },
];

#[test]
fn committed_schemas_with_every_option() {
    let (mut checker, mut rng) = (Checker::new(), rng(3));
    for name in ["kinds2.proto", "kinds3.proto", "proto2_basic.proto"] {
        let pair = Pair::new(name, &schemas::descriptor_set(name));
        for (id, full_name) in pair.messages() {
            for options in OPTIONS {
                let types = pair.types(&full_name).map(|ty| ty.with_decode_options(options));
                check_types(&mut checker, &pair, &types, id, &mut rng, 60 * factor());
            }
        }
    }
    println!("{} cases, {:?}", checker.cases, checker.seen);
    assert!(checker.seen.contains_key("value that is not encoded"), "required fields are missing");
}

#[test]
fn committed_schemas() {
    let (mut checker, mut rng) = (Checker::new(), rng(1));
    for name in schemas::ALL {
        let pair = Pair::new(name, &schemas::descriptor_set(name));
        for (id, full_name) in pair.messages() {
            let types = pair.types(&full_name);
            check_types(&mut checker, &pair, &types, id, &mut rng, 700 * factor());
        }
    }
    report("committed schemas", &checker);
}

#[test]
fn random_schemas() {
    let (mut checker, mut rng) = (Checker::new(), rng(2));
    for number in 0..60 * factor() {
        let dialect = [Dialect::Proto2, Dialect::Proto3, Dialect::Edition][number % 3];
        let pair = Pair::new(format!("random schema {number}"), &random_set(&mut rng, dialect));
        for (id, full_name) in pair.messages() {
            let types = pair.types(&full_name);
            check_types(&mut checker, &pair, &types, id, &mut rng, 220);
        }
    }
    report("random schemas", &checker);
}
