//! Schemas made to hurt: what cannot be compiled within bounds is interpreted with a reason, and nothing panics, overflows a stack
//! or takes for ever.

#![cfg(feature = "jit")]

use std::time::{Duration, Instant};

use prost::Message as _;
use prost_reflect::prost_types::descriptor_proto::ExtensionRange;
use prost_reflect::prost_types::field_descriptor_proto::{Label, Type};
use prost_reflect::prost_types::{
    DescriptorProto, EnumDescriptorProto, EnumValueDescriptorProto, FieldDescriptorProto, FileDescriptorProto,
    FileDescriptorSet, MessageOptions, OneofDescriptorProto,
};
use protojit::{Arena, DecodeErrorKind, Direction, EngineUsed, Runtime, RuntimeBuilder};
use protojit_core::wire::push_varint;
use protojit_testing::pair::{Checker, Outcome, Pair, Types};
use protojit_testing::rng::Rng;
use protojit_testing::wire_gen::{Style, WireGen};

fn set_of(messages: Vec<DescriptorProto>, extensions: Vec<FieldDescriptorProto>) -> Vec<u8> {
    let file = FileDescriptorProto {
        name: Some("t.proto".to_owned()),
        package: Some("t".to_owned()),
        message_type: messages,
        extension: extensions,
        ..Default::default()
    };
    FileDescriptorSet { file: vec![file] }.encode_to_vec()
}

fn field(name: &str, number: i32, ty: Type, type_name: Option<&str>, label: Label) -> FieldDescriptorProto {
    FieldDescriptorProto {
        name: Some(name.to_owned()),
        number: Some(number),
        r#type: Some(ty as i32),
        type_name: type_name.map(str::to_owned),
        label: Some(label as i32),
        ..Default::default()
    }
}

fn message(name: &str, field: Vec<FieldDescriptorProto>) -> DescriptorProto {
    DescriptorProto { name: Some(name.to_owned()), field, ..Default::default() }
}

/// The verifier is for small schemas.
fn builder() -> RuntimeBuilder {
    Runtime::builder().verify(false)
}

/// Both engines, the one compiled or not.
fn types(pair: &Pair, name: &str) -> Types {
    let [jit, interp] = [&pair.jit, &pair.interp].map(|schema| schema.message(name).unwrap());
    Types { context: format!("{}, {name}", pair.name), jit, interp }
}

/// Generous: it is about minutes and hours, on machines that do other things too.
fn within(most: u64, what: &str, started: Instant) {
    let took = started.elapsed();
    println!("{what}: {took:?}");
    assert!(took < Duration::from_secs(most), "{what} took {took:?}");
}

/// Random inputs, valid and cut.
fn check_inputs(pair: &Pair, types: &Types, name: &str, count: usize) {
    let message = pair.interp.descriptors().message(name).unwrap().id();
    let (mut rng, mut checker) = (Rng::new(51), Checker::new());
    let mut wire = WireGen::new(pair.interp.descriptors().data(), rng.fork());
    for turn in 0..count {
        let input = wire.message(message, [Style::PLAIN, Style::MIXED, Style::ODD][turn % 3], 60);
        checker.check(types, &input);
        checker.check(types, &input[..rng.below(input.len() + 1)]);
    }
}

/// `bytes` in field 1, in field 1, and so on.
fn nested(layers: usize, bytes: &[u8]) -> Vec<u8> {
    (0..layers).fold(bytes.to_vec(), |inner, _| {
        let mut outer = vec![0x0a];
        push_varint(inner.len() as u64, &mut outer);
        [outer, inner].concat()
    })
}

/// `count` messages, each with the next one in field 1; the last with the first, or with none.
fn chain(count: usize, closed: bool) -> Vec<u8> {
    let one = |at: usize| {
        let next = if at + 1 < count { at + 1 } else { 0 };
        let mut fields = vec![field("x", 2, Type::Int32, None, Label::Optional)];
        if at + 1 < count || closed {
            fields.push(field("next", 1, Type::Message, Some(&format!(".t.M{next}")), Label::Optional));
        }
        message(&format!("M{at}"), fields)
    };
    set_of((0..count).map(one).collect(), vec![])
}

fn check_chain(pair: &Pair, closed: bool) -> Vec<Types> {
    let (mut checker, mut all) = (Checker::new(), Vec::new());
    for name in ["t.M0", "t.M9000", "t.M9950", "t.M9999"] {
        let started = Instant::now();
        let types = types(pair, name);
        within(300, name, started);
        for layers in [0, 1, 48, 49, 50, 99, 100, 101] {
            let outcome = checker.check(&types, &nested(layers, &[0x10, 7]));
            // Near the end of an open chain the rest is an unknown field.
            let deep = layers > 100 && (closed || name < "t.M9900");
            assert_eq!(matches!(outcome, Outcome::Error { .. }), deep, "{name}, {layers}: {outcome:?}");
        }
        all.push(types);
    }
    all
}

#[test]
fn a_chain_of_ten_thousand_messages() {
    let pair = Pair::with("chain", &chain(10_000, false), builder().code_arena(16 << 20));
    let _types = check_chain(&pair, false);
    // What the arena has no room for is interpreted, with the reason; the rest is compiled.
    let rows = pair.jit.runtime().trace().programs;
    let compiled = rows.iter().filter(|row| row.engine == EngineUsed::Jit).count();
    println!("{compiled} of {} compiled", rows.len());
    assert!(compiled > 100 && compiled < rows.len());
    for row in rows {
        let reason = row.reason.unwrap_or_default();
        assert!(row.engine == EngineUsed::Jit || reason == "arena-full", "{}: {reason}", row.message);
    }
}

#[test]
fn a_cycle_of_ten_thousand_messages() {
    let pair = Pair::with("cycle", &chain(10_000, true), builder());
    check_chain(&pair, true);
}

const SOME: [Type; 7] = [Type::Int32, Type::String, Type::Fixed64, Type::Bool, Type::Sint64, Type::Bytes, Type::Float];

fn many_fields(count: usize, label: Label) -> Vec<FieldDescriptorProto> {
    let numbers = (1..).filter(|number| !(19_000..20_000).contains(number)).take(count);
    numbers.map(|number| field(&format!("f{number}"), number, SOME[number as usize % 7], None, label)).collect()
}

#[test]
fn messages_with_too_many_fields_are_interpreted() {
    let most = Some(".t.Most");
    let around = vec![
        field("most", 1, Type::Message, most, Label::Optional),
        field("list", 2, Type::Message, most, Label::Repeated),
        field("x", 3, Type::Int32, None, Label::Optional),
    ];
    let messages = vec![message("Most", many_fields(65_000, Label::Optional)), message("Around", around)];
    let started = Instant::now();
    let pair = Pair::with("65,000 fields", &set_of(messages, vec![]), builder());
    for name in ["t.Most", "t.Around"] {
        check_inputs(&pair, &types(&pair, name), name, 40);
    }
    within(120, "65,000 fields", started);
    // The one is interpreted and says so, the other compiled.
    for row in pair.jit.runtime().trace().programs {
        let expected = if row.message == "t.Most" { Some("message-too-large") } else { None };
        assert_eq!(row.reason, expected, "{row:?}");
    }
}

#[test]
fn messages_with_just_not_too_many_fields_are_compiled() {
    for (count, label) in [(4096, Label::Optional), (1500, Label::Repeated), (1500, Label::Required)] {
        let messages = vec![message("M", many_fields(count, label))];
        let started = Instant::now();
        let pair = Pair::with("many fields", &set_of(messages, vec![]), builder());
        check_inputs(&pair, &pair.types("t.M"), "t.M", 20);
        within(300, &format!("{count} fields, {label:?}"), started);
        let trace = pair.jit.runtime().trace();
        assert_eq!(trace.fallbacks(Direction::Encode).count() + trace.fallbacks(Direction::Decode).count(), 0);
    }
}

#[test]
fn extensions_of_message_sets_may_have_numbers_beyond_all_tags() {
    // 31 bits: their tags would not be 32-bit numbers, and cut to that they are those of others.
    let set = DescriptorProto {
        options: Some(MessageOptions { message_set_wire_format: Some(true), ..Default::default() }),
        extension_range: vec![ExtensionRange { start: Some(4), end: Some(i32::MAX), options: None }],
        ..message("Set", vec![])
    };
    let leaf = message("Leaf", vec![field("a", 1, Type::Int32, None, Label::Optional)]);
    let numbers = [5, 17, 3000, 1 << 20, (1 << 29) - 2];
    let all = numbers.iter().flat_map(|&number: &i64| (0..4).map(move |turn| number + (turn << 29)));
    let extensions: Vec<FieldDescriptorProto> = all
        .filter(|&number| number < i64::from(i32::MAX))
        .map(|number| FieldDescriptorProto {
            extendee: Some(".t.Set".to_owned()),
            ..field(&format!("x{number}"), number as i32, Type::Message, Some(".t.Leaf"), Label::Optional)
        })
        .collect();
    assert!(extensions.len() > 16);
    let all: Vec<u32> = extensions.iter().map(|field| field.number() as u32).collect();
    for only_beyond in [false, true] {
        let some: Vec<FieldDescriptorProto> =
            extensions.iter().filter(|field| !only_beyond || field.number() >= 1 << 29).cloned().collect();
        let pair = Pair::new("message set", &set_of(vec![set.clone(), leaf.clone()], some));
        let types = pair.types("t.Set");
        check_inputs(&pair, &types, "t.Set", 2000);
        // Fields of numbers that those of extensions become where they are cut: first in the message, after each item, and so far
        // from the end that the bytes are compared at once.
        let mut checker = Checker::new();
        let long = [&[0x9a, 0x3e, 0xbc, 0x05][..], &[0; 700]].concat();
        for &number in &all {
            let mut unknown = Vec::new();
            push_varint(u64::from(number << 3 | 2), &mut unknown);
            unknown.extend([2, 0x08, 7]);
            for &before in &all {
                let mut item = vec![0x0b, 0x10];
                push_varint(before.into(), &mut item);
                item.extend([0x1a, 2, 0x08, 5, 0x0c]);
                for parts in [vec![&unknown[..]], vec![&item, &unknown], vec![&item, &unknown, &unknown, &long]] {
                    checker.check(&types, &parts.concat());
                }
                let outcome = checker.check(&types, &unknown);
                let Outcome::Value { dump, .. } = outcome else { panic!("{number}: {outcome:?}") };
                // No tag names those beyond.
                let cut = number & ((1 << 29) - 1);
                let known = !only_beyond && all.contains(&cut);
                assert_eq!(dump.contains('?'), !known, "{number}: {dump}");
            }
        }
    }
}

#[test]
fn enums_with_thousands_of_ranges() {
    let mut numbers: Vec<i32> = (0..20_000).map(|at| at * 3 - 30_000).collect();
    // Zero first.
    numbers.retain(|&number| number != 0);
    numbers.insert(0, 0);
    let value =
        |(at, number)| EnumValueDescriptorProto { name: Some(format!("V{at}")), number: Some(number), options: None };
    let definition = EnumDescriptorProto {
        name: Some("E".to_owned()),
        value: (0..).zip(numbers).map(value).collect(),
        ..Default::default()
    };
    let parts = vec![
        field("key", 1, Type::Int32, None, Label::Optional),
        field("value", 2, Type::Enum, Some(".t.E"), Label::Optional),
    ];
    let entry = DescriptorProto {
        options: Some(MessageOptions { map_entry: Some(true), ..Default::default() }),
        ..message("MEntry", parts)
    };
    let fields = vec![
        field("one", 1, Type::Enum, Some(".t.E"), Label::Optional),
        field("list", 2, Type::Enum, Some(".t.E"), Label::Repeated),
        field("m", 3, Type::Message, Some(".t.M.MEntry"), Label::Repeated),
        field("required", 4, Type::Enum, Some(".t.E"), Label::Required),
    ];
    let file = FileDescriptorProto {
        name: Some("t.proto".to_owned()),
        package: Some("t".to_owned()),
        enum_type: vec![definition],
        message_type: vec![DescriptorProto { nested_type: vec![entry], ..message("M", fields) }],
        ..Default::default()
    };
    let pair = Pair::new("enum", &FileDescriptorSet { file: vec![file] }.encode_to_vec());
    check_inputs(&pair, &pair.types("t.M"), "t.M", 500);
}

#[test]
fn oneofs_with_thousands_of_members() {
    let mut fields = many_fields(2000, Label::Optional);
    let member = |at| field(&format!("m{at}"), 50_000 + at, Type::Message, Some(".t.M"), Label::Optional);
    fields.extend((0..50).map(member));
    fields.iter_mut().for_each(|field| field.oneof_index = Some(0));
    let oneof = OneofDescriptorProto { name: Some("o".to_owned()), options: None };
    let messages = vec![DescriptorProto { oneof_decl: vec![oneof], ..message("M", fields) }];
    let pair = Pair::with("oneof", &set_of(messages, vec![]), builder());
    check_inputs(&pair, &pair.types("t.M"), "t.M", 200);
}

/// Whatever the schema, a few bytes of input buy little memory, and the arena's limit holds.
#[test]
fn small_inputs_take_little_memory() {
    let wide = many_fields(3000, Label::Optional);
    let many = vec![field("wide", 1, Type::Message, Some(".t.Wide"), Label::Repeated)];
    let messages = vec![message("Wide", wide), message("Many", many)];
    let pair = Pair::with("amplification", &set_of(messages, vec![]), builder());
    // Empty sub-messages, and sub-messages with one field on the last of the cold pages.
    let mut last = Vec::new();
    push_varint(3000 << 3, &mut last);
    last.push(1);
    let last = nested(1, &last);
    for (input, most) in [([0x0a, 0].repeat(100_000), 300), (last.repeat(50_000), 500)] {
        let types = types(&pair, "t.Many");
        for ty in [&types.interp, &types.jit] {
            let arena = Arena::new();
            ty.decode(&input, &arena).unwrap();
            let factor = arena.used() / input.len();
            println!("{} bytes of input take {factor} times as many", input.len());
            assert!(factor < most, "{factor} bytes for each byte of input");
            let bounded = Arena::with_limit(1 << 20);
            let error = ty.decode(&input, &bounded).map(|_| ()).unwrap_err();
            assert_eq!(error.kind(), DecodeErrorKind::MemoryLimit);
            assert!(bounded.reserved() <= 1 << 20);
        }
    }
}
