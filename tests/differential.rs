//! Both engines agree on every input: on the value with its unknown fields, on the bytes it is written as, or on kind,
//! offset and path of the error.
//!
//! Every input lies directly before an unmapped page (borrowed) and directly behind one (copied); a share is decoded
//! into arenas with the smallest chunks, each between two unmapped pages. Seeds are fixed; `PROTOJIT_TEST_CASES` (a
//! factor) multiplies the number of cases, `PROTOJIT_TEST_SEED` moves to others.

#![cfg(feature = "jit")]

use std::time::Duration;

use protojit::DecodeOptions;
use protojit_core::schema::model::MessageId;
use protojit_testing::inputs::Inputs;
use protojit_testing::pair::{Checker, Pair, Types};
use protojit_testing::rng::Rng;
use protojit_testing::schema_gen::{Dialect, random_set};
use protojit_testing::schemas;
use protojit_testing::soak::soak;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().expect("a number"))
}

fn factor() -> usize {
    setting("PROTOJIT_TEST_CASES", 1) as usize
}

fn rng(test: u64) -> Rng {
    Rng::new(setting("PROTOJIT_TEST_SEED", 0) << 32 | test)
}

fn check_types(checker: &mut Checker, pair: &Pair, types: &Types, message: MessageId, rng: &mut Rng, cases: usize) {
    let data = pair.interp.descriptors().data();
    let mut inputs = Inputs::new(data, message, rng);
    for _ in 0..cases {
        let input = inputs.fresh();
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

/// The first rounds of what `cargo run --release -p protojit-testing --features jit --bin soak` goes on with: narrow limits, full
/// arenas, every option.
#[test]
fn soaked() {
    let first = setting("PROTOJIT_TEST_SEED", 0) << 32;
    let tally = soak(first, 50 * factor() as u64, Duration::MAX);
    println!("{tally:?}");
    assert_eq!(tally.failed, []);
    assert!(tally.cases > 2000 * tally.rounds as usize);
    for kind in
        ["value", "DepthLimit", "MemoryLimit", "UnknownFieldLimit", "MessageTooLarge", "value that is not encoded"]
    {
        assert!(tally.seen.contains_key(kind), "{kind} was never seen");
    }
}
