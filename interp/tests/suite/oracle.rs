//! Random messages, there and back, against prost-reflect.

use prost_reflect::DynamicMessage;

use crate::everything::{Random, proto2, proto3};
use crate::support::*;

fn there_and_back(fixture: &Fixture, name: &str, rounds: u64, depth: u32) {
    let descriptor = fixture.pool.get_message_by_name(name).unwrap();
    let (decoder, encoder) = (fixture.decoder(name), fixture.encoder(name));
    let mut large = 0;
    for seed in 0..rounds {
        let message = Random::new(seed).message(&descriptor, depth);
        let bytes = wire(&message);
        large += usize::from(bytes.len() > 1024);
        let expected = oracle_tree(&message);
        assert_eq!(tree_of(&decoder, &bytes).unwrap(), expected, "seed {seed}");
        let again = round_trip(&decoder, &encoder, &bytes);
        assert_eq!(oracle_tree(&fixture.oracle(name, &again).unwrap()), expected, "seed {seed}");
        assert_eq!(tree_of(&decoder, &again).unwrap(), expected, "seed {seed}");
    }
    assert!(large as u64 > rounds / 20, "{large} of {rounds} are large");
}

#[test]
fn every_kind_of_proto2() {
    there_and_back(&proto2(), "t.All", 300, 2);
}

#[test]
fn every_kind_of_proto3() {
    there_and_back(&proto3(), "t.All", 300, 2);
}

#[test]
fn required_fields() {
    let fixture = proto2();
    there_and_back(&fixture, "t.Required", 60, 2);
}

/// Two encodings one after the other are the merged message.
#[test]
fn merging() {
    for fixture in [proto2(), proto3()] {
        let descriptor = fixture.pool.get_message_by_name("t.All").unwrap();
        let decoder = fixture.decoder("t.All");
        for seed in 0..200 {
            let mut random = Random::new(seed);
            let mut bytes = Vec::new();
            for _ in 0..3 {
                bytes.extend(wire(&random.message(&descriptor, 1)));
            }
            let expected = oracle_tree(&DynamicMessage::decode(descriptor.clone(), &bytes[..]).unwrap());
            assert_eq!(tree_of(&decoder, &bytes).unwrap(), expected, "seed {seed}");
            assert_eq!(
                merged(&decoder, &bytes, seed as usize % (bytes.len() + 1)).unwrap_or(expected.clone()),
                expected
            );
        }
    }
}
