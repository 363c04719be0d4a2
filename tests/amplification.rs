//! Inputs that want much for little: what they take, in memory and time for each byte, stays within constants. These are stated in
//! `docs/SAFETY.md`.

#![cfg(feature = "jit")]

use std::time::{Duration, Instant};

use protojit::json::{self, JsonReadOptions};
use protojit::text::{self, TextReadOptions};
use protojit::{Arena, DecodeErrorKind, MessageType};
use protojit_core::wire::push_varint;
use protojit_testing::pair::{Pair, Types};
use protojit_testing::schemas;

/// Bytes of arena for each byte of input, at most. The chunks' steps are part of it.
const MEMORY_FACTOR: usize = 320;

/// Time for each byte of input, at most, for a test build on a busy machine. Where it grew with the length of the input it would be a
/// hundred times as much.
const TIME_PER_BYTE: Duration = Duration::from_nanos(3000);

/// How long the inputs are.
const LENGTH: usize = 400_000;

const SCHEMA: &str = r#"syntax = "proto2";
import "google/protobuf/any.proto";
import "google/protobuf/struct.proto";
message Node {
  repeated Node nodes = 1;
  optional Node node = 2;
  repeated int32 numbers = 3 [packed = true];
  repeated string texts = 4;
  map<int32, int32> numbered = 5;
  map<string, Node> named = 6;
  oneof either { Node left = 7; Node right = 8; string word = 9; }
  optional group Inner = 10 { repeated Node nodes = 1; }
  repeated Wide wides = 11;
  optional bytes data = 12;
  optional google.protobuf.Any any = 13;
  optional google.protobuf.Value value = 14;
  repeated double doubles = 15;
}
message Wide {
  optional int64 a1 = 1; optional int64 a2 = 2; optional int64 a3 = 3; optional int64 a4 = 4; optional int64 a5 = 5;
  optional int64 b1 = 11; optional int64 b2 = 12; optional int64 b3 = 13; optional int64 b4 = 14; optional int64 b5 = 15;
  optional string c1 = 21; optional string c2 = 22; optional string c3 = 23; optional string c4 = 24; optional string c5 = 25;
  optional string d1 = 31; optional string d2 = 32; optional string d3 = 33; optional string d4 = 34; optional string d5 = 35;
  optional string e1 = 41; optional string e2 = 42; optional string e3 = 43; optional string e4 = 44; optional string e5 = 45;
  optional int64 f1 = 51; optional int64 f2 = 52; optional int64 f3 = 53; optional int64 f4 = 54; optional int64 f5 = 55;
}
"#;

fn field(number: u32, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    push_varint(u64::from(number << 3 | 2), &mut out);
    push_varint(content.len() as u64, &mut out);
    out.extend_from_slice(content);
    out
}

fn many(part: &[u8]) -> Vec<u8> {
    part.repeat(LENGTH / part.len())
}

/// Each part with its own number in it.
fn numbered(part: impl Fn(usize) -> Vec<u8>) -> Vec<u8> {
    let mut out = Vec::new();
    (0..).map_while(|at| (out.len() < LENGTH).then(|| out.extend(part(at)))).for_each(drop);
    out
}

fn nested(layers: usize, bytes: &[u8], number: u32) -> Vec<u8> {
    (0..layers).fold(bytes.to_vec(), |inner, _| field(number, &inner))
}

fn varint(value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    push_varint(value, &mut out);
    out
}

fn attacks() -> Vec<(&'static str, Vec<u8>)> {
    let groups = |open: u8, close: u8, depth: usize| [vec![open; depth], vec![close; depth]].concat();
    vec![
        ("empty messages in a list", many(&[0x0a, 0])),
        ("empty messages in a oneof, replaced each time", many(&[0x3a, 0, 0x42, 0])),
        ("an empty message, merged each time", many(&[0x12, 0])),
        ("a message with a list, merged each time", many(&[0x12, 2, 0x0a, 0])),
        ("wide messages with a field on a cold page", many(&[0x5a, 3, 0xb8, 3, 1])),
        ("empty entries", many(&[0x2a, 0])),
        ("entries of one byte too few", many(&[0x2a, 2, 0x08, 1])),
        ("different numbers as keys", numbered(|at| field(5, &[vec![0x08], varint(at as u64)].concat()))),
        (
            "keys that differ in high bits",
            numbered(|at| field(5, &[vec![0x08], varint(((at as u64) << 12) & 0xffff_ffff)].concat())),
        ),
        ("different texts as keys, with messages", numbered(|at| field(6, &field(1, at.to_string().as_bytes())))),
        ("one key, its message replaced each time", many(&[0x32, 0])),
        ("empty texts", many(&[0x22, 0])),
        ("a text replaced each time", many(&[0x4a, 1, b'a'])),
        ("numbers one by one", many(&[0x18, 1])),
        ("packed numbers of one byte", field(3, &[1; LENGTH])),
        ("empty packed fields", many(&[0x1a, 0])),
        ("packed fields of one number", many(&[0x1a, 1, 5])),
        ("unknown fields of two bytes", many(&[0x10, 0])),
        ("unknown numbers", many(&[0xf8, 0x7f, 1])),
        ("unknown fields between known ones", many(&[0xf8, 0x7f, 1, 0x18, 1])),
        ("unknown fields in messages", many(&[0x0a, 3, 0xf8, 0x7f, 1])),
        ("deep groups", many(&groups(0x53, 0x54, 1))),
        ("deep unknown groups", many(&groups(0xa3, 0xa4, 1).iter().flat_map(|&byte| [byte, 0x06]).collect::<Vec<_>>())),
        ("messages a hundred deep", many(&nested(99, &[], 2))),
        ("lists a hundred deep", many(&nested(99, &[], 1))),
        ("entries fifty deep", many(&nested(25, &[], 6))),
    ]
}

fn measure(what: &str, length: usize, memory: usize, took: Duration) {
    let per_byte = took / length as u32;
    println!("{what}: {} bytes of memory and {per_byte:?} for each of {length} bytes", memory / length);
    assert!(memory <= MEMORY_FACTOR * length, "{what}: {memory} bytes for {length}");
    assert!(per_byte < TIME_PER_BYTE, "{what}: {took:?} for {length} bytes");
}

fn types() -> Types {
    Pair::new("amplification", &schemas::descriptor_set_of(SCHEMA)).types("Node")
}

fn decode(ty: &MessageType, input: &[u8]) -> (Arena, Result<(), DecodeErrorKind>) {
    let arena = Arena::with_limit(LENGTH * MEMORY_FACTOR * 2);
    let outcome = ty.decode(input, &arena).map(drop).map_err(|error| error.kind());
    (arena, outcome)
}

#[test]
fn of_wire_bytes() {
    let types = types();
    for (what, input) in attacks() {
        for (engine, ty) in [("interp", &types.interp), ("jit", &types.jit)] {
            let started = Instant::now();
            let (arena, outcome) = decode(ty, &input);
            let took = started.elapsed();
            assert_eq!(outcome, Ok(()), "{what}");
            measure(&format!("{what}, {engine}"), input.len(), arena.reserved(), took);
            // And the limit of memory is one, whatever comes.
            let small = Arena::with_limit(64 << 10);
            let outcome = ty.decode(&input, &small).map(drop).map_err(|error| error.kind());
            assert!(matches!(outcome, Ok(()) | Err(DecodeErrorKind::MemoryLimit)), "{what}: {outcome:?}");
            assert!(small.reserved() <= 64 << 10, "{what}");
        }
    }
}

/// A length buys nothing before the bytes are there.
#[test]
fn of_lengths_without_bytes() {
    let types = types();
    for number in [1, 2, 3, 4, 5, 6, 7, 9, 11, 12, 15, 100] {
        for length in [1u64 << 20, 1 << 30, (1 << 31) - 1, 1 << 31, 1 << 32, 1 << 40, u64::MAX] {
            let mut input = varint(number << 3 | 2);
            push_varint(length, &mut input);
            input.extend([1; 40]);
            for ty in [&types.interp, &types.jit] {
                let (arena, outcome) = decode(ty, &input);
                assert_eq!(outcome, Err(DecodeErrorKind::LengthOutOfBounds));
                assert!(arena.reserved() <= 8 << 10, "{number}, {length}: {}", arena.reserved());
            }
        }
    }
}

/// No keys are worse than others, whatever bits of them differ. (That hashes are seeded is tested where they are made.)
#[test]
fn of_keys_in_a_pattern() {
    let types = types();
    for shift in [0, 4, 8, 12, 16] {
        let key = |at: usize| varint(((at as u64) << shift) & 0x7fff_ffff);
        let input = numbered(|at| field(5, &[vec![0x08], key(at), vec![0x10, 1]].concat()));
        for ty in [&types.interp, &types.jit] {
            let started = Instant::now();
            let (arena, outcome) = decode(ty, &input);
            let took = started.elapsed();
            assert_eq!(outcome, Ok(()));
            measure(&format!("keys of {shift} zero bits"), input.len(), arena.reserved(), took);
        }
    }
}

fn json_of(text: &str) -> Result<(usize, Duration), json::ReadErrorKind> {
    thread_local!(static TYPES: Types = types());
    TYPES.with(|types| {
        let arena = Arena::with_limit(text.len() * MEMORY_FACTOR * 2);
        let mut message = types.interp.new_in(&arena).unwrap();
        let options = JsonReadOptions { ignore_unknown: true, ..JsonReadOptions::default() };
        let started = Instant::now();
        json::read(text.as_bytes(), &mut message, &options, types.interp.schema()).map_err(|error| error.kind())?;
        Ok((arena.reserved(), started.elapsed()))
    })
}

#[test]
fn of_json() {
    let joined = |part: &dyn Fn(usize) -> String| {
        let mut out = String::new();
        for at in 0.. {
            if out.len() > LENGTH {
                break;
            }
            if at != 0 {
                out.push(',');
            }
            out += &part(at);
        }
        out
    };
    let deep = |open: &str, close: &str, depth: usize| [open.repeat(depth), close.repeat(depth)].concat();
    // An Any in an Any: the inner ones are written as bytes by each outer one.
    let any = (0..30).fold("{}".to_owned(), |inner, _| {
        format!(
            r#"{{"any":{{"@type":"x/Node",{}}}}}"#,
            inner.strip_prefix('{').and_then(|s| s.strip_suffix('}')).unwrap()
        )
    });
    let any = any.replace(",}", "}");
    let accepted = [
        ("empty objects", format!(r#"{{"nodes":[{}]}}"#, joined(&|_| "{}".to_owned()))),
        ("unknown members", format!("{{{}}}", joined(&|at| format!(r#""u{at}":0"#)))),
        ("values of an unknown member", format!(r#"{{"u":[{}]}}"#, joined(&|_| "[]".to_owned()))),
        ("keys", format!(r#"{{"numbered":{{{}}}}}"#, joined(&|at| format!(r#""{at}":0"#)))),
        ("objects of any form", format!(r#"{{"value":{{{}}}}}"#, joined(&|at| format!(r#""{at}":{{}}"#)))),
        ("lists of any form", format!(r#"{{"value":[{}]}}"#, joined(&|_| "[]".to_owned()))),
        ("escapes", format!(r#"{{"word":"{}"}}"#, "\\u0061".repeat(LENGTH / 6))),
        ("base64", format!(r#"{{"data":"{}"}}"#, "AAAA".repeat(LENGTH / 4))),
        ("a number of many digits", format!(r#"{{"doubles":[0.{}]}}"#, "1".repeat(LENGTH))),
        ("numbers of any length", format!(r#"{{"doubles":[{}]}}"#, joined(&|_| "1e-9999999999".to_owned()))),
        ("white space", format!("{{{}}}", " ".repeat(LENGTH))),
        ("Any in Any", format!(r#"{{"nodes":[{}]}}"#, joined(&|_| any.clone()))),
    ];
    for (what, text) in accepted {
        let (memory, took) = json_of(&text).unwrap_or_else(|kind| panic!("{what}: {kind:?}"));
        measure(&format!("JSON, {what}"), text.len(), memory, took);
    }
    for (what, text) in [
        ("arrays", deep("[", "]", LENGTH / 2)),
        ("members of no field", deep(r#"{"u":"#, "}", LENGTH / 6)),
        ("messages", deep(r#"{"node":"#, "}", LENGTH / 9)),
        ("values", format!(r#"{{"value":{}}}"#, deep("[", "]", LENGTH / 2))),
        ("an integer of many digits", format!(r#"{{"numbers":[{}]}}"#, "1".repeat(LENGTH))),
        ("an exponent of many digits", format!(r#"{{"doubles":[1e{}]}}"#, "9".repeat(LENGTH))),
    ] {
        let started = Instant::now();
        let kind = json_of(&text).expect_err(what);
        println!("{what}: {kind:?}, {:?}", started.elapsed());
        assert!(started.elapsed() < TIME_PER_BYTE * LENGTH as u32, "{what}: {:?}", started.elapsed());
    }
    assert_eq!(json_of(&deep(r#"{"u":"#, "}", 300)).unwrap_err(), json::ReadErrorKind::DepthLimit);
    assert_eq!(json_of(&format!(r#"{{"u":{}}}"#, deep("[", "]", 300))).unwrap_err(), json::ReadErrorKind::DepthLimit);
}

#[test]
fn of_the_text_format() {
    let types = types();
    let read = |text: &str| {
        let arena = Arena::with_limit(text.len() * MEMORY_FACTOR * 2);
        let mut message = types.interp.new_in(&arena).unwrap();
        let options = TextReadOptions { ignore_unknown: true, ..TextReadOptions::default() };
        let started = Instant::now();
        text::read(text.as_bytes(), &mut message, &options, types.interp.schema()).map_err(|error| error.kind())?;
        Ok::<_, text::ReadErrorKind>((arena.reserved(), started.elapsed()))
    };
    let many = |part: &str| part.repeat(LENGTH / part.len());
    let deep = |open: &str, close: &str, depth: usize| [open.repeat(depth), close.repeat(depth)].concat();
    let accepted = [
        ("empty messages", many("nodes{}")),
        ("empty entries", many("named{}")),
        ("unknown fields", many("u:0 ")),
        ("unknown messages", many("u{}")),
        ("a list of no field", format!("u:[{}0]", many("0,"))),
        ("strings in pieces", format!("word:{}", many("'a'"))),
        ("escapes", format!("word:'{}'", many("\\141"))),
        ("comments", many("#\n")),
        ("a number of many digits", format!("doubles:0.{}", many("1"))),
        ("Any in Any", many(&format!("nodes{{{}}}", deep("any{[x/Node]{", "}}", 30)))),
    ];
    for (what, text) in accepted {
        let (memory, took) = read(&text).unwrap_or_else(|kind| panic!("{what}: {kind:?}"));
        measure(&format!("text, {what}"), text.len(), memory, took);
    }
    for (what, text) in [
        ("messages", deep("node{", "}", LENGTH / 6)),
        ("unknown messages", deep("u{", "}", LENGTH / 3)),
        ("unknown lists", format!("u:{}", deep("[", "]", LENGTH / 2))),
        ("an integer of many digits", format!("numbers:{}", many("1"))),
    ] {
        let started = Instant::now();
        let kind = read(&text).expect_err(what);
        println!("{what}: {kind:?}, {:?}", started.elapsed());
        assert!(started.elapsed() < TIME_PER_BYTE * LENGTH as u32, "{what}: {:?}", started.elapsed());
    }
    assert_eq!(read(&deep("u{", "}", 300)).unwrap_err(), text::ReadErrorKind::DepthLimit);
}
