//! The committed corpus of the fuzz targets, each input as it is and with accidents. Fuzzing itself needs libFuzzer: `fuzz/README.md`.

#![cfg(feature = "jit")]

use std::fs;
use std::path::PathBuf;

use protojit_testing::bodies::{self, Body};
use protojit_testing::mutate::mutate;
use protojit_testing::rng::Rng;

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut paths: Vec<PathBuf> = fs::read_dir(&directory)
        .unwrap_or_else(|error| panic!("{}: {error}", directory.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// Every input, and `times` as many made of them.
fn replay(target: &str, times: usize) {
    let (_, body): (_, Body) = *bodies::ALL.iter().find(|(name, _)| *name == target).unwrap();
    let (inputs, mut rng) = (corpus(target), Rng::new(71));
    assert!(inputs.len() > 20, "{target}: {} inputs", inputs.len());
    for input in &inputs {
        body(input);
        for _ in 0..times {
            let other = rng.pick(&inputs);
            body(&mutate(&mut rng, input, other));
        }
    }
    println!("{target}: {} inputs", inputs.len() * (times + 1));
}

#[test]
fn decode() {
    replay("decode", 8);
}

#[test]
fn encode() {
    replay("encode", 8);
}

#[test]
fn json() {
    replay("json", 8);
}

#[test]
fn text() {
    replay("text", 8);
}

#[test]
fn descriptors() {
    replay("descriptors", 2);
}
