//! Shadow mode, and how engines that disagree are reported. Compiled code is right, so here it is made to be wrong.

#![cfg(feature = "jit")]

use std::sync::{Arc, Mutex};

use protojit::json::{self, JsonReadOptions};
use protojit::{
    Arena, DecodeErrorKind, Direction, Disagreement, EncodeBuffer, Engine, Message, MessageType, ProgramTrace, Runtime,
    RuntimeBuilder,
};
use protojit_core::program::Sabotage;
use protojit_core::schema::model::FieldDef;
use protojit_testing::again::this_program;
use protojit_testing::schemas;

const SOURCE: &str = r#"
    syntax = "proto2";
    package t;
    message M {
      optional int32 good = 1;
      optional int32 lost = 2;
      optional int32 refused = 3;
      map<string, M> map = 4;
      repeated M list = 5;
      oneof o { double number = 6; string text = 7; }
    }"#;

fn sabotage(field: &FieldDef) -> Sabotage {
    match &*field.name {
        "lost" => Sabotage::Lose,
        "refused" => Sabotage::Fail,
        _ => Sabotage::None,
    }
}

fn only_lose(field: &FieldDef) -> Sabotage {
    if &*field.name == "lost" { Sabotage::Lose } else { Sabotage::None }
}

type Found = Arc<Mutex<Vec<Disagreement>>>;

fn watched(builder: RuntimeBuilder) -> (Runtime, Found) {
    let found = Found::default();
    let kept = found.clone();
    let builder = builder.engine(Engine::Jit).on_disagreement(move |case| kept.lock().unwrap().push(case.clone()));
    (builder.build(), found)
}

fn row(runtime: &Runtime, direction: Direction) -> ProgramTrace {
    let rows = runtime.trace().programs;
    rows.into_iter().find(|row| row.root && row.direction == direction).expect("a row")
}

/// Decodes and encodes such an input so often; gives the bytes, or the decode's error.
fn run(runtime: &Runtime, input: &[u8], times: usize) -> Result<Vec<u8>, DecodeErrorKind> {
    let ty = runtime.register(&schemas::descriptor_set_of(SOURCE)).unwrap().message("t.M").unwrap();
    // Kept by the schema, and so in the trace.
    std::mem::forget(ty.clone());
    let (mut arena, mut out, mut last) = (Arena::new(), EncodeBuffer::new(), Ok(Vec::new()));
    for turn in 0..times {
        arena.reset();
        let decoded = match turn % 2 {
            0 => ty.decode(input, &arena),
            _ => ty.decode_copied(input, &arena),
        };
        last = match decoded {
            Ok(message) => Ok(ty.encode_into(message, &mut out).unwrap().to_vec()),
            Err(error) => Err(error.kind()),
        };
    }
    last
}

fn message(ty: &MessageType, text: &str) -> Message {
    let mut message = ty.new_message();
    json::read(text.as_bytes(), &mut message.as_mut(), &JsonReadOptions::default(), ty.schema()).unwrap();
    message
}

const GOOD: &[u8] = b"\x08\x01\x22\x09\x0a\x01k\x12\x04\x08\x02\x3a\x00\x22\x05\x0a\x01a\x12\x00\x2a\x02\x08\x03\x31\0\0\0\0\0\0\xf8\x7f\x50\x05";

#[test]
fn engines_that_agree_are_compared_and_not_reported() {
    let (runtime, found) = watched(Runtime::builder().shadow(1));
    run(&runtime, GOOD, 100).unwrap();
    for direction in [Direction::Decode, Direction::Encode] {
        let row = row(&runtime, direction);
        assert_eq!((row.compiled_calls, row.shadowed_calls, row.disagreements), (100, 100, 0), "{direction:?}");
    }
    // What both refuse is no disagreement either.
    assert_eq!(run(&runtime, b"\x08", 10), Err(DecodeErrorKind::Truncated));
    assert_eq!(row(&runtime, Direction::Decode).disagreements, 0);
    assert!(found.lock().unwrap().is_empty());
}

#[test]
fn a_share_is_compared() {
    for (one_in, least, most) in [(0, 0, 0), (4, 350, 650), (100, 1, 60)] {
        let (runtime, _) = watched(Runtime::builder().shadow(one_in));
        run(&runtime, GOOD, 2000).unwrap();
        for direction in [Direction::Decode, Direction::Encode] {
            let shadowed = row(&runtime, direction).shadowed_calls;
            assert!((least..=most).contains(&shadowed), "1 in {one_in}: {shadowed}");
        }
    }
}

#[test]
fn a_lost_value_is_found_and_can_be_reproduced() {
    let (runtime, found) = watched(Runtime::builder().shadow(1).sabotage_fields(sabotage));
    let input = b"\x08\x01\x10\x07";
    // The caller gets what compiled code made of it.
    assert_eq!(run(&runtime, input, 3).unwrap(), b"\x08\x01");
    assert_eq!(row(&runtime, Direction::Decode).disagreements, 3);
    let found = std::mem::take(&mut *found.lock().unwrap());
    let decodes: Vec<_> = found.iter().filter(|case| case.direction == Direction::Decode).collect();
    assert_eq!(decodes.len(), 3);
    let case = decodes[0];
    assert_eq!((&*case.message, &case.options[..], &case.input[..]), ("t.M", &[][..], &input[..]));
    assert_eq!((case.compiled.as_deref(), case.interpreted.as_deref()), (Ok(&b"\x08\x01"[..]), Ok(&input[..])));
    assert!(case.to_string().contains("decode of a t.M of 4 bytes: the results differ"), "{case}");
    // On another runtime, from what is in the report alone.
    let again = |builder: RuntimeBuilder| {
        let ty = builder.build().register(&case.descriptor_set).unwrap().message(&case.message).unwrap();
        ty.encode_to_vec(ty.decode_owned(&case.input).unwrap().as_ref()).unwrap()
    };
    assert_eq!(again(Runtime::builder().engine(Engine::Interp)), case.interpreted.clone().unwrap());
    assert_eq!(again(Runtime::builder().engine(Engine::Jit).sabotage_fields(sabotage)), case.compiled.clone().unwrap());
    // It can be written down.
    let json = serde_json::to_value(case).unwrap();
    assert_eq!((&json["direction"], &json["input"][3]), (&"decode".into(), &7.into()));
}

#[test]
fn what_encode_leaves_out_is_found() {
    let (runtime, found) = watched(Runtime::builder().shadow(1).sabotage_fields(only_lose));
    let schema = runtime.register(&schemas::descriptor_set_of(SOURCE)).unwrap();
    let ty = schema.message("t.M").unwrap();
    let message = message(&ty, r#"{"lost": 7}"#);
    assert_eq!(ty.encode_to_vec(message.as_ref()).unwrap(), b"");
    let mut delimited = Vec::new();
    ty.append_delimited_to(message.as_ref(), &mut delimited).unwrap();
    assert_eq!(ty.encode_to_slice(message.as_ref(), &mut [0; 100]).unwrap(), b"");
    let found = found.lock().unwrap();
    assert_eq!(found.len(), 3);
    assert!(found.iter().all(|case| case.direction == Direction::Encode));
    assert_eq!((found[0].compiled.as_deref(), found[0].interpreted.as_deref()), (Ok(&b""[..]), Ok(&b"\x10\x07"[..])));
    assert_eq!(found[1].interpreted.as_deref(), Ok(&b"\x02\x10\x07"[..]));
    assert_eq!(row(&runtime, Direction::Encode).disagreements, 3);
}

/// Without sampling: what compiled code alone refuses is found by decoding again for the error, and encoding again.
#[test]
fn errors_of_compiled_code_alone_are_reported_the_same_way() {
    let (runtime, found) = watched(Runtime::builder().sabotage_fields(sabotage));
    let input = b"\x18\x05";
    assert_eq!(run(&runtime, input, 2), Err(DecodeErrorKind::EngineDisagreement));
    assert_eq!(row(&runtime, Direction::Decode).disagreements, 2);
    let schema = runtime.register(&schemas::descriptor_set_of(SOURCE)).unwrap();
    let ty = schema.message("t.M").unwrap();
    let message = message(&ty, r#"{"good": 1}"#);
    // The interpreter's bytes are good, and what the caller gets.
    assert_eq!(ty.encode_to_vec(message.as_ref()).unwrap(), b"\x08\x01");
    assert_eq!(row(&runtime, Direction::Encode).disagreements, 1);
    let found = found.lock().unwrap();
    assert_eq!(found.len(), 3);
    assert_eq!((found[0].direction, &found[0].input[..]), (Direction::Decode, &input[..]));
    assert_eq!(found[0].interpreted.as_deref(), Ok(&input[..]));
    assert!(found[0].compiled.is_err() && found[0].to_string().contains("compiled code alone says"));
    assert_eq!((found[2].direction, found[2].interpreted.as_deref()), (Direction::Encode, Ok(&b"\x08\x01"[..])));
    assert!(found[2].compiled.is_err());
}

/// Runs the test below in a process of its own, with the environment variable set.
#[test]
fn from_the_environment() {
    for (value, shadowed) in [("1", "shadowed 50"), ("0", "shadowed 0"), ("many", "shadowed 0")] {
        let ran = this_program(&["--exact", "in_an_environment", "--ignored", "--nocapture"])
            .env("PROTOJIT_SHADOW", value)
            .env("PROTOJIT_ENGINE", "jit")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success() && said.contains(shadowed), "{value}: {said}");
    }
}

#[test]
#[ignore = "run by from_the_environment, in an environment made for it"]
fn in_an_environment() {
    let runtime = Runtime::from_env();
    run(&runtime, GOOD, 50).unwrap();
    println!("shadowed {}", row(&runtime, Direction::Decode).shadowed_calls);
}
