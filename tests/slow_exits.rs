//! What the trace tells of compiled code: where it leaves its fast path, in which options rows differ, how long the steps of
//! compilation took, and the code itself as text.

#![cfg(feature = "jit")]

use protojit::{
    Arena, CodeForm, DecodeOptions, Direction, EncodeBuffer, EncodeOptions, Engine, MessageType, ProgramTrace, Runtime,
};
use protojit_testing::schemas;

const SOURCE: &str = r#"
    syntax = "proto2";
    package t;
    enum E { ZERO = 0; ONE = 1; }
    message M {
      optional int64 number = 1;
      optional string text = 2;
      repeated fixed64 list = 3;
      map<string, int32> map = 4;
      optional E closed = 5;
      optional M child = 6;
      optional bytes blob = 7;
      extensions 100 to 200;
    }
    extend M { optional int32 cold = 100; }
    message Set { option message_set_wire_format = true; extensions 4 to max; }
    extend Set { optional M item = 1000; }"#;

/// Where text is checked.
const CHECKED: &str = "syntax = \"proto3\"; package u; message T { string text = 1; repeated string texts = 2; }";

fn types(instrument: bool, message: &str) -> (Runtime, MessageType) {
    let runtime = Runtime::builder().engine(Engine::Jit).instrument(instrument).build();
    let source = if message.starts_with('u') { CHECKED } else { SOURCE };
    let ty = runtime.register(&schemas::descriptor_set_of(source)).unwrap().message(message).unwrap();
    (runtime, ty)
}

/// Decodes an input and encodes it again; gives the exits of the message itself.
fn exits(message: &str, input: &[u8]) -> Vec<(Direction, Option<String>, &'static str, u64)> {
    let (runtime, ty) = types(true, message);
    let arena = Arena::new();
    let decoded = ty.decode(input, &arena).unwrap();
    let mut out = EncodeBuffer::new();
    // The first time the buffer grows.
    ty.encode_into(decoded, &mut out).unwrap();
    let again = ty.encode_into(decoded, &mut out).unwrap();
    // Counting changes nothing else.
    let (_, plain) = types(false, message);
    let plain_arena = Arena::new();
    assert_eq!(plain.encode_to_vec(plain.decode(input, &plain_arena).unwrap()).unwrap(), again);
    let rows = runtime.trace().programs.into_iter().filter(|row| row.message == message);
    rows.flat_map(|row| {
        assert_eq!((row.interpreted_calls, row.disagreements), (0, 0));
        let exits = row.slow_exits.into_iter().filter(|exit| exit.exit != "buffer-growth");
        exits.map(move |exit| (row.direction, exit.field, exit.exit, exit.count)).collect::<Vec<_>>()
    })
    .collect()
}

/// Asserts that an input leaves the fast path of decode by these exits, and no others.
#[track_caller]
fn leaves(message: &str, input: &[u8], wanted: &[(Option<&str>, &str, u64)]) {
    let found = exits(message, input);
    let mut found: Vec<_> = found
        .iter()
        .filter(|(direction, ..)| *direction == Direction::Decode)
        .map(|(_, field, exit, count)| (field.as_deref(), *exit, *count))
        .collect();
    found.sort();
    let mut wanted = wanted.to_vec();
    wanted.sort();
    assert_eq!(found, wanted);
}

#[test]
fn each_kind_under_its_field() {
    leaves("t.M", b"", &[]);
    leaves("t.M", b"\x08\x01\x12\x01a\x19\0\0\0\0\0\0\0\0", &[]);
    leaves("t.M", b"\x08\x80\x80\x80\x01", &[(Some("number"), "long-varint", 1)]);
    leaves("u.T", b"\x0a\x02\xc3\xa9", &[(Some("text"), "non-ascii", 1)]);
    leaves("u.T", b"\x0a\x01a\x12\x02\xc3\xa9\x12\x01b\x12\x02\xc3\xa9", &[(Some("texts"), "non-ascii", 2)]);
    // Fields left out, the other order, and the same again.
    leaves("t.M", b"\x12\x01a", &[(Some("text"), "out-of-order", 1)]);
    leaves(
        "t.M",
        b"\x12\x01a\x08\x01\x08\x01",
        &[(Some("text"), "out-of-order", 1), (Some("number"), "out-of-order", 2)],
    );
    // A number that the schema does not have, and one that it has with another wire type.
    leaves("t.M", b"\x08\x01\x50\x01\x09\0\0\0\0\0\0\0\0", &[(None, "unknown", 2)]);
    leaves("t.M", b"\x2a\x00", &[(None, "unknown", 1)]);
    leaves("t.M", b"\x28\x01", &[(Some("closed"), "out-of-order", 1)]);
    leaves("t.M", b"\x28\x09", &[(Some("closed"), "out-of-order", 1), (Some("closed"), "closed-enum", 1)]);
    leaves("t.M", b"\x22\x05\x0a\x01k\x10\x01", &[(Some("map"), "out-of-order", 1)]);
    leaves("t.M", b"\x22\x02\x10\x01", &[(Some("map"), "out-of-order", 1), (Some("map"), "unusual-entry", 1)]);
    leaves("t.M", b"\xa0\x06\x01", &[(Some("cold"), "out-of-order", 1), (Some("cold"), "cold-page", 1)]);
    leaves("t.Set", b"\x0b\x10\xe8\x07\x1a\x00\x0c", &[(None, "unknown", 1)]);
}

#[test]
fn memory_and_the_ends_of_inputs() {
    let mut many = Vec::new();
    for _ in 0..2000 {
        many.extend(b"\x19\0\0\0\0\0\0\0\0");
    }
    let found = exits("t.M", &many);
    let count = |exit: &str| {
        let of = found.iter().filter(|(way, field, name, _)| {
            *way == Direction::Decode && *name == exit && field.as_deref() == Some("list")
        });
        of.map(|(.., count)| count).sum::<u64>()
    };
    assert!(count("list-growth") > 0, "{found:?}");
    assert!(found.contains(&(Direction::Decode, None, "input-end", 1)), "{found:?}");
    // A tree of messages of more than one chunk.
    let mut tree = Vec::new();
    for _ in 0..80 {
        let mut outer = vec![0x32];
        prost::encoding::encode_varint(tree.len() as u64, &mut outer);
        outer.extend(&tree);
        tree = outer;
    }
    let found = exits("t.M", &tree);
    assert!(found.iter().any(|exit| exit.2 == "chunk-growth" && exit.1.as_deref() == Some("child")), "{found:?}");
}

#[test]
fn encode_has_exits_too() {
    let mut input = b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01".to_vec();
    input.extend(b"\x3a\x80\x10");
    input.resize(input.len() + 2048, 7);
    input.extend(b"\x50\x01");
    let found = exits("t.M", &input);
    let encode: Vec<_> = found.iter().filter(|exit| exit.0 == Direction::Encode).collect();
    // Each was encoded twice.
    for (field, exit) in [(Some("number"), "long-varint"), (Some("blob"), "long-text"), (None, "unknown")] {
        let is_it = |found: &&&(Direction, Option<String>, &'static str, u64)| {
            found.1.as_deref() == field && found.2 == exit && found.3 == 2
        };
        assert_eq!(encode.iter().filter(is_it).count(), 1, "{exit}: {found:?}");
    }
}

#[test]
fn nothing_is_counted_unless_asked_for() {
    let (runtime, ty) = types(false, "t.M");
    let arena = Arena::new();
    ty.decode(b"\x12\x02\xc3\xa9\x50\x01", &arena).unwrap();
    assert!(runtime.trace().programs.iter().all(|row| row.slow_exits.is_empty()));
    let size = |instrument| {
        let (runtime, _ty) = types(instrument, "t.M");
        runtime.trace().programs.iter().map(|row| row.code_bytes).max().unwrap()
    };
    assert!(size(true) > size(false));
}

#[test]
fn rows_tell_their_options_and_times() {
    let (runtime, ty) = types(false, "t.M");
    let decode = DecodeOptions { keep_unknown: false, check_utf8: false, check_required: false };
    let encode = EncodeOptions { deterministic: true, check_required: false };
    let other = ty.with_decode_options(decode).with_encode_options(encode);
    other.is_encode_compiled().unwrap();
    let rows = runtime.trace().programs;
    let options = |direction, of: &[&str]| {
        let is_it = |row: &&ProgramTrace| row.message == "t.M" && row.direction == direction && row.options == of;
        assert_eq!(rows.iter().filter(is_it).count(), 1, "{of:?} in {rows:#?}");
    };
    options(Direction::Decode, &[]);
    options(Direction::Decode, &["discard-unknown", "unchecked-utf8", "partial"]);
    options(Direction::Encode, &["deterministic", "partial"]);
    for row in rows.iter().filter(|row| row.message == "t.M") {
        assert!(row.build_micros > 0 && row.optimise_micros > 0 && row.allocate_micros > 0, "{row:?}");
        let sum = row.build_micros + row.optimise_micros + row.allocate_micros + row.seal_micros;
        assert_eq!(row.compile_micros, sum);
    }
}

/// Each field has blocks under its name, in both forms and directions.
#[test]
fn code_says_which_field_it_is_for() {
    let (_, ty) = types(false, "t.M");
    for direction in [Direction::Decode, Direction::Encode] {
        for form in [CodeForm::Clif, CodeForm::Asm] {
            let text = ty.code_text(direction, form).unwrap();
            for field in ["frame", "number = 1", "text = 2", "list = 3", "map = 4", "child = 6", "cold = 100"] {
                let comments = text.lines().filter(|line| line.ends_with(&format!("; {field}"))).count();
                assert!(comments > 0, "{direction:?} {form:?}: no {field} in\n{text}");
            }
            assert!(!text.contains("sequence_point") && !text.contains("debug @"), "{text}");
        }
    }
}
