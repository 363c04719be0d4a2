//! Inputs made to hurt: at the depth limit, with lengths that no memory has, at the limits of memory and unknown
//! fields. Both engines must give the same value or the same error.

#![cfg(feature = "jit")]

use protojit::{Arena, DecodeErrorKind, DecodeOptions, Limits, MessageType, Runtime};
use protojit_core::wire::{WireType, push_varint, tag};
use protojit_testing::dump::dump;
use protojit_testing::inputs::Inputs;
use protojit_testing::pair::{Checker, Outcome, Pair, Types};
use protojit_testing::rng::Rng;
use protojit_testing::schemas;
use protojit_testing::wire_gen::{Style, WireGen};

fn kinds(name: &str) -> Types {
    Pair::new("kinds2.proto", &schemas::descriptor_set("kinds2.proto")).types(&format!("kinds.{name}"))
}

fn field(number: u32, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    push_varint(tag(number, WireType::Len).into(), &mut out);
    push_varint(content.len() as u64, &mut out);
    out.extend_from_slice(content);
    out
}

fn group(number: u32, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    push_varint(tag(number, WireType::StartGroup).into(), &mut out);
    out.extend_from_slice(content);
    push_varint(tag(number, WireType::EndGroup).into(), &mut out);
    out
}

fn varint(number: u32, value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    push_varint(tag(number, WireType::Varint).into(), &mut out);
    push_varint(value, &mut out);
    out
}

/// `bytes` in as many layers.
fn nested(layers: usize, bytes: &[u8], layer: impl Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    (0..layers).fold(bytes.to_vec(), |inner, _| layer(&inner))
}

/// The kind of the error, `None` for a value.
fn kind(outcome: &Outcome) -> Option<DecodeErrorKind> {
    match outcome {
        Outcome::Value { .. } => None,
        Outcome::Error { kind, .. } => Some(*kind),
    }
}

/// Every truncation and every single-bit error of an input, alone and behind so much else that it is read in place.
fn check_around(checker: &mut Checker, types: &Types, input: &[u8]) {
    let mut large = field(99, &[0; 1100]);
    let before = large.len();
    large.extend_from_slice(input);
    for end in 0..=input.len() {
        checker.check(types, &input[..end]);
        checker.check(types, &large[..before + end]);
    }
    let mut flipped = input.to_vec();
    for bit in 0..input.len() * 8 {
        flipped[bit / 8] ^= 1 << (bit % 8);
        checker.check(types, &flipped);
        large.truncate(before);
        large.extend_from_slice(&flipped);
        checker.check(types, &large);
        flipped[bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn what_follows_an_empty_entry_is_none_of_its_fields() {
    let types = kinds("MutualA");
    let mut checker = Checker::new();
    // The bytes behind the entry look like its key, with a length that its frame has no room for.
    let inner = field(1, &field(1, &field(2, &[])));
    for behind in [field(1, &[0x12; 100]), field(1, &[]), field(2, &field(2, "é".as_bytes())), varint(3, 1 << 60)] {
        let input = [inner.clone(), behind].concat();
        assert_eq!(kind(&checker.check(&types, &input)), None);
        check_around(&mut checker, &types, &input);
    }
}

#[test]
fn nesting_ends_at_the_depth_limit() {
    let limit = Limits::default().max_depth as usize;
    let types = kinds("Recursive");
    let mut checker = Checker::new();
    // How many levels the innermost part needs, the part, and the error below the limit.
    let map_entry = |content: &[u8]| field(4, &[varint(1, 7), field(2, content)].concat());
    let innermost: Vec<(usize, Vec<u8>)> = vec![
        (0, vec![]),
        (0, varint(3, 9)),
        (0, field(8, &[0xff; 40])),
        (0, varint(50, 9)),
        (1, field(1, &[])),
        (1, field(2, &[])),
        (1, group(5, &[])),
        (1, field(6, &[])),
        // Entries without a value, or with one.
        (1, field(4, &[])),
        (1, field(4, &varint(1, 7))),
        (1, field(4, &varint(9, 7))),
        (2, map_entry(&[])),
        (2, field(4, &field(2, &[]))),
        (2, field(4, &[field(2, &[]), varint(1, 7)].concat())),
        // Groups that nobody knows.
        (1, group(70, &[])),
        (2, group(70, &group(71, &varint(1, 1)))),
        (2, field(4, &[varint(1, 7), group(9, &[])].concat())),
    ];
    type Layer = (usize, fn(&[u8]) -> Vec<u8>);
    let layers: [Layer; 6] = [
        (1, |inner| field(1, inner)),
        (1, |inner| field(2, inner)),
        (1, |inner| field(6, inner)),
        (2, |inner| field(4, &[varint(1, 7), field(2, inner)].concat())),
        (2, |inner| field(4, &[field(2, inner), varint(1, 7)].concat())),
        (2, |inner| group(5, &field(1, inner))),
    ];
    for (levels, layer) in layers {
        for (needs, part) in &innermost {
            for depth in limit - 3..=limit + 3 {
                let Some(outer) = depth.checked_sub(*needs) else { continue };
                // Filled up by single levels.
                let single = |inner: &[u8]| field(1, inner);
                let input = nested(outer % levels, &nested(outer / levels, part, layer), single);
                let expected = (depth > limit).then_some(DecodeErrorKind::DepthLimit);
                for input in [input.clone(), [field(8, &[0; 1200]), input].concat()] {
                    let outcome = checker.check(&types, &input);
                    assert_eq!(kind(&outcome), expected, "{depth} levels, {levels} a layer, {part:?}: {outcome:?}");
                }
            }
        }
    }
}

#[test]
fn groups_and_message_sets_end_at_the_depth_limit() {
    let limit = Limits::default().max_depth as usize;
    let mut checker = Checker::new();
    let item = |id: u64, content: &[u8]| group(1, &[varint(2, id), field(3, content)].concat());
    // SetItem.inner (2) is a Set, whose items are SetItems: three levels a layer.
    let set = kinds("Set");
    for depth in limit - 6..=limit + 6 {
        let layers = depth / 3;
        let part = match depth % 3 {
            0 => vec![],
            1 => item(77, &[1, 2, 3]),
            _ => item(15, &varint(1, 1)),
        };
        let input = nested(layers, &part, |inner| item(15, &field(2, inner)));
        let expected = (depth > limit).then_some(DecodeErrorKind::DepthLimit);
        assert_eq!(kind(&checker.check(&set, &input)), expected, "{depth}");
    }
    // In the ordinary encoding an extension counts as much: written again it is an item, and what can be read can be written and read
    // again.
    for depth in limit - 6..=limit + 6 {
        let expected = (depth > limit).then_some(DecodeErrorKind::DepthLimit);
        let alone = field(15, &nested(depth - 2, &[], |inner| group(70, inner)));
        assert_eq!(kind(&checker.check(&set, &alone)), expected, "{depth}");
        // Three levels a layer here, too.
        let chain = nested(depth / 3, &[], |inner| field(15, &field(2, inner)));
        let expected = (depth / 3 * 3 > limit).then_some(DecodeErrorKind::DepthLimit);
        assert_eq!(kind(&checker.check(&set, &chain)), expected, "{depth}");
    }
    // Groups in a group (5.2), and the same type both ways in.
    for (name, layer) in
        [("Recursive", (|inner| group(2, inner)) as fn(&[u8]) -> Vec<u8>), ("Delimited", |inner| field(2, inner))]
    {
        let types = kinds(name);
        for depth in limit - 2..=limit + 2 {
            let wrap = |inner: Vec<u8>| if name == "Recursive" { group(5, &inner) } else { group(2, &inner) };
            let input = wrap(nested(depth - 1, &[], layer));
            let expected = (depth > limit).then_some(DecodeErrorKind::DepthLimit);
            assert_eq!(kind(&checker.check(&types, &input)), expected, "{name} {depth}");
        }
    }
    // Groups in unknown groups.
    let types = kinds("Empty");
    for depth in limit - 2..=limit + 2 {
        let input = nested(depth, &[], |inner| group(3, inner));
        let expected = (depth > limit).then_some(DecodeErrorKind::DepthLimit);
        assert_eq!(kind(&checker.check(&types, &input)), expected, "{depth}");
    }
}

/// However small the number and the value, also where unknown fields are dropped without being looked at.
#[test]
fn tags_have_at_most_five_bytes() {
    let mut checker = Checker::new();
    for name in ["Tags", "Leaf", "Empty", "Optional", "Repeated", "Maps", "Extended"] {
        for keep_unknown in [true, false] {
            let options = DecodeOptions { keep_unknown, ..DecodeOptions::default() };
            let types = kinds(name).map(|ty| ty.with_decode_options(options));
            for number in [1u32, 2, 15, 16, 60, 2047, 2048, 18_001, 262_144, 1 << 21, (1 << 28) + 3, (1 << 29) - 1] {
                for (wire_type, value) in [(0, vec![1]), (1, vec![0; 8]), (2, vec![1, 0x40]), (5, vec![0; 4])] {
                    let mut tag = Vec::new();
                    push_varint(u64::from(number << 3 | wire_type), &mut tag);
                    for len in tag.len()..=10 {
                        let mut overlong = tag.clone();
                        overlong.resize(len, 0);
                        overlong[..len - 1].iter_mut().for_each(|byte| *byte |= 0x80);
                        let input = [&overlong[..], &value].concat();
                        for input in [
                            input.clone(),
                            [field(70_000, &[0; 1100]), input.clone(), field(70_000, &[0; 90])].concat(),
                        ] {
                            let found = kind(&checker.check(&types, &input));
                            let refused = found == Some(DecodeErrorKind::InvalidTag);
                            assert_eq!(refused, len > 5, "{name}.{number}, {keep_unknown}, {overlong:x?}: {found:?}");
                        }
                    }
                }
            }
        }
    }
    println!("{:?}", checker.seen);
}

#[test]
fn lengths_that_no_memory_has() {
    let mut checker = Checker::new();
    let huge = [
        0x7f,
        0x80,
        0x3fff,
        0x4000,
        (1 << 31) - 1,
        1 << 31,
        (1 << 31) + 1,
        (1 << 32) - 1,
        1 << 32,
        (1 << 32) + 2,
        1 << 56,
        (1 << 63) - 1,
        1 << 63,
        u64::MAX - 1,
        u64::MAX,
    ];
    for (name, numbers) in [
        ("Optional", vec![9, 10, 19]),
        ("Repeated", vec![1, 3, 8, 9, 10, 16, 19, 21]),
        ("Packed", vec![1, 2, 3, 5, 8, 14, 15]),
        ("OneOf", vec![9, 10, 18, 19]),
        ("Maps", vec![1, 12, 13, 21, 22, 30, 33]),
        ("Empty", vec![1]),
        ("Tags", vec![15, 2048, 2049, 18000, 262_144, 536_870_911]),
        ("Extended", vec![3, 5, 6, 7, 1001]),
    ] {
        let types = kinds(name);
        for number in numbers {
            for length in huge {
                let mut input = Vec::new();
                push_varint(tag(number, WireType::Len).into(), &mut input);
                push_varint(length, &mut input);
                for more in [0, 1, 2, 70, 126] {
                    let input = [&input[..], &vec![0; more]].concat();
                    for input in [input.clone(), [field(60_000, &[0; 1100]), input].concat()] {
                        let found = kind(&checker.check(&types, &input));
                        assert_eq!(found, Some(DecodeErrorKind::LengthOutOfBounds), "{name}.{number}: {length:x}");
                    }
                }
            }
        }
    }
    println!("{:?}", checker.seen);
}

#[test]
fn unknown_fields_end_at_their_limits() {
    let set = schemas::descriptor_set("kinds2.proto");
    let mut checker = Checker::new();
    let input =
        [varint(900, 1), varint(900, 300), varint(1, 5), varint(901, 1), group(77, &varint(1, 1)), field(5, b"x")]
            .concat();
    let deeper = field(2, &field(9, &[1; 4])).to_vec();
    let mut reached = (0, 0);
    for most in 0..24 {
        for limits in [
            Limits { max_unknown_fields: most, ..Limits::default() },
            Limits { max_unknown_bytes: most, ..Limits::default() },
        ] {
            let pair = Pair::with("kinds2.proto", &set, Runtime::builder().limits(limits));
            for name in ["Leaf", "MutualA", "Packed", "Repeated", "Maps", "Extended"] {
                let types = pair.types(&format!("kinds.{name}"));
                for input in
                    [&input, &[&input[..], &deeper].concat(), &[field(900, &[0; 1100]), input.clone()].concat()]
                {
                    match kind(&checker.check(&types, input)) {
                        Some(DecodeErrorKind::UnknownFieldLimit) => reached.0 += 1,
                        _ => reached.1 += 1,
                    }
                }
                // Numbers that a packed closed enum does not declare are unknown fields too.
                let enums = field(15, &[1, 99, 98, 2, 97, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]);
                checker.check(&types, &enums);
            }
        }
    }
    assert!(reached.0 > 50 && reached.1 > 50, "{reached:?}");
}

/// Whatever is met first: a field may ask for memory before it turns out to be damaged or too deep.
#[test]
fn errors_in_full_arenas() {
    let (mut rng, mut checker) = (Rng::new(8), Checker::new());
    for (name, max_depth) in [("kinds2.proto", 0), ("kinds2.proto", 1), ("kinds2.proto", 3), ("kinds3.proto", 2)] {
        let limits = Limits { max_depth, ..Limits::default() };
        let pair = Pair::with(name, &schemas::descriptor_set(name), Runtime::builder().limits(limits));
        let data = pair.interp.descriptors().data();
        for (id, full_name) in pair.messages() {
            let types = pair.types(&full_name);
            let mut inputs = Inputs::new(data, id, &mut rng);
            for _ in 0..12 {
                let input = inputs.fresh();
                checker.check(&types, &input);
                let used = checker.last_used();
                for limit in (0..used + 64).step_by((used / 40).next_multiple_of(8).max(8)) {
                    checker.check_in_memory(&types, &input, limit);
                }
            }
        }
    }
    println!("{:?}", checker.seen);
    for kind in ["MemoryLimit", "DepthLimit", "Truncated", "InvalidUtf8"] {
        assert!(checker.seen.get(kind).is_some_and(|&count| count > 10), "{kind}");
    }
}

/// What one engine makes of an input in an arena.
fn decoded(ty: &MessageType, input: &[u8], arena: &Arena) -> Result<String, (DecodeErrorKind, usize, String)> {
    let found = ty.decode(input, arena).map(dump);
    found.map_err(|error| (error.kind(), error.offset(), error.path().to_string()))
}

#[test]
fn memory_ends_at_the_arenas_limit() {
    let mut rng = Rng::new(7);
    let (mut cases, mut full) = (0, 0);
    for name in ["kinds2.proto", "hello.proto"] {
        let pair = Pair::new(name, &schemas::descriptor_set(name));
        let data = pair.interp.descriptors().data();
        for (id, full_name) in pair.messages() {
            let types = pair.types(&full_name);
            let mut wire = WireGen::new(data, rng.fork());
            for turn in 0..5 {
                let input = wire.message(id, *rng.pick(&[Style::PLAIN, Style::MIXED, Style::ODD]), 60);
                let arena = Arena::new();
                let _ = types.interp.decode(&input, &arena);
                let used = arena.used();
                // Up to the first chunk's size the limit is met to the byte, beyond it with the chunks' sizes.
                for limit in (0..used + 64).step_by((used / 150).next_multiple_of(16).max(16)) {
                    // An arena of its own, or one that holds something already.
                    let [interp, jit] = [&types.interp, &types.jit].map(|ty| {
                        let arena = Arena::with_limit(limit + turn % 2 * 1024);
                        arena.alloc(turn % 2 * 1024).unwrap();
                        decoded(ty, &input, &arena)
                    });
                    assert_eq!(interp, jit, "{full_name}, limit {limit}, {input:x?}");
                    cases += 1;
                    full += usize::from(matches!(interp, Err((DecodeErrorKind::MemoryLimit, ..))));
                }
            }
        }
    }
    println!("{full} of {cases} met the limit");
    assert!(full * 2 > cases && full < cases);
}
