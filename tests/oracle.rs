//! prost-reflect agrees with compiled code, on valid bytes in every form and on damaged ones, except where it breaks a rule:
//! [`Excuse`] lists those, and each of them is seen here.

#![cfg(feature = "jit")]

use std::collections::BTreeMap;

use prost_reflect::DescriptorPool;
use protojit::Arena;
use protojit_testing::mutate::mutate;
use protojit_testing::oracle::{Excuse, compare};
use protojit_testing::pair::{Pair, hex};
use protojit_testing::rng::Rng;
use protojit_testing::schema_gen::{Dialect, random_set};
use protojit_testing::schemas;
use protojit_testing::wire_gen::{Style, WireGen};

#[derive(Default)]
struct Counts {
    cases: usize,
    values: usize,
    excused: BTreeMap<Excuse, usize>,
}

/// Whether there is a MessageSet: prost-reflect knows nothing of their encoding.
fn has_message_set(pair: &Pair) -> bool {
    pair.interp.descriptors().data().messages.iter().any(|message| message.is_message_set)
}

fn check(set: &[u8], name: &str, rng: &mut Rng, cases: usize, skip: &[&str], counts: &mut Counts) {
    let pair = Pair::new(name, set);
    let pool = DescriptorPool::decode(set).unwrap_or_else(|error| panic!("{name}: {error}"));
    for (id, full_name) in pair.messages() {
        if skip.contains(&&*full_name) {
            continue;
        }
        let ty = pair.types(&full_name).jit;
        let descriptor = pool.get_message_by_name(&full_name).unwrap();
        let mut wire = WireGen::new(pair.interp.descriptors().data(), rng.fork());
        let mut last = Vec::new();
        for _ in 0..cases {
            // Without what prost-reflect is known to get wrong, mostly.
            let style = match rng.below(10) {
                0 => Style::ODD,
                1 => Style::PLAIN,
                _ => Style { wrong_type: 0, undeclared: 0, not_utf8: 0, missing: 0, ..Style::ODD },
            };
            let mut input = wire.message(id, style, *rng.pick(&[4, 30, 150]));
            if rng.chance(35) {
                let mutated = mutate(rng, &input, &last);
                last = std::mem::replace(&mut input, mutated);
            }
            let arena = Arena::new();
            let ours = ty.decode(&input, &arena);
            counts.cases += 1;
            counts.values += usize::from(ours.is_ok());
            match compare(&descriptor, &input, ours) {
                Ok(None) => {}
                Ok(Some(excuse)) => *counts.excused.entry(excuse).or_default() += 1,
                Err(difference) => panic!("{name}, {full_name}: {}\n{difference}", hex(&input)),
            }
        }
    }
}

/// Layers of map entries with a message, in layers of messages: 2 and 1 level each.
fn entries_in_messages(entries: usize, messages: usize) -> Vec<u8> {
    let inner = (0..entries).fold(Vec::new(), |inner: Vec<u8>, _| {
        [&[0x22, inner.len() as u8 + 2, 0x12, inner.len() as u8][..], &inner].concat()
    });
    (0..messages)
        .fold(inner, |inner, _| [&[0x0a, inner.len() as u8 | 0x80, (inner.len() >> 7) as u8][..], &inner].concat())
}

#[test]
fn prost_reflect_agrees_where_it_follows_the_specification() {
    let (mut rng, mut counts) = (Rng::new(41), Counts::default());
    for name in schemas::ALL {
        // These hold MessageSets.
        let skip = ["kinds.Set", "kinds.SetItem", "kinds.HasSet"];
        check(&schemas::descriptor_set(name), name, &mut rng, 300, &skip, &mut counts);
    }
    for number in 0..30 {
        let dialect = [Dialect::Proto2, Dialect::Proto3][number % 2];
        let (name, set) = (format!("random schema {number}"), random_set(&mut rng, dialect));
        if !has_message_set(&Pair::new(name.clone(), &set)) {
            check(&set, &name, &mut rng, 150, &[], &mut counts);
        }
    }
    // A tag of six bytes, and nesting that is counted differently.
    let set = schemas::descriptor_set("kinds2.proto");
    let (pair, pool) = (Pair::new("kinds2.proto", &set), DescriptorPool::decode(&set[..]).unwrap());
    let long_tag = vec![0x88, 0x80, 0x80, 0x80, 0x80, 0x00, 1];
    for (full_name, input, expected) in [
        ("kinds.Leaf", long_tag, Some(Excuse::LongTag)),
        ("kinds.Recursive", entries_in_messages(30, 40), None),
        ("kinds.Recursive", entries_in_messages(30, 41), Some(Excuse::Depth)),
    ] {
        let arena = Arena::new();
        let ours = pair.types(full_name).jit.decode(&input, &arena);
        let excuse = compare(&pool.get_message_by_name(full_name).unwrap(), &input, ours).unwrap();
        assert_eq!(excuse, expected, "{full_name}");
        excuse.into_iter().for_each(|excuse| *counts.excused.entry(excuse).or_default() += 1);
    }
    println!("{} cases, {} values, excused: {:?}", counts.cases, counts.values, counts.excused);
    let excused: usize = counts.excused.values().sum();
    assert!(excused * 6 < counts.cases && counts.values * 2 > counts.cases);
    for excuse in Excuse::ALL {
        assert!(counts.excused.contains_key(&excuse), "{excuse:?} is of no use");
    }
}
