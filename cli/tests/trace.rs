//! `jit-trace` and `layout`.

mod common;

use common::{Run, Scratch, example};
use serde_json::Value;

fn trace() -> Run {
    Run::hello("jit-trace")
}

fn person() -> Run {
    trace().arg("--input").arg(example("payloads/person_1k.binpb"))
}

fn json(run: Run) -> Value {
    serde_json::from_slice(&run.args(["--format", "json"]).ok()).unwrap()
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

/// Whether this platform compiles at all; elsewhere there is little to trace.
const COMPILES: bool = cfg!(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")));

#[test]
fn compiled_and_expected_to_be() {
    if !COMPILES {
        return;
    }
    let table = text(person().args(["--expect", "compiled", "--iterations", "50"]).ok());
    let row = table.lines().find(|line| line.contains("hello.Person") && line.contains("decode")).unwrap();
    let cells: Vec<&str> = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    assert_eq!(cells[..3], ["hello.Person", "decode", "jit"]);
    // Code, blocks, helpers, compile time, calls, fallbacks; no reason.
    assert_eq!(cells.len(), 9, "{table}");
    assert_eq!(cells[7..], ["50", "0"], "{table}");
    assert!(table.contains("128 MiB in use") && table.contains("person_1k.binpb"), "{table}");
    trace().args(["--expect", "compiled"]).ok();
}

/// Both directions of every message asked for, without any input.
#[test]
fn encode_is_compiled_and_looked_at_too() {
    if !COMPILES {
        return;
    }
    let trace = json(trace().args(["-m", "hello.Address", "--expect", "compiled"]));
    let programs = trace["programs"].as_array().or_else(|| trace["trace"]["programs"].as_array()).unwrap();
    for message in ["hello.Person", "hello.Address"] {
        for direction in ["decode", "encode"] {
            let found = programs.iter().find(|row| row["message"] == message && row["direction"] == direction);
            assert_eq!(found.unwrap_or_else(|| panic!("no row for {message}, {direction}"))["engine"], "jit");
        }
    }
}

#[test]
fn a_small_arena_is_the_reason() {
    if !COMPILES {
        return;
    }
    let ended = person().args(["--expect", "compiled", "--arena", "4096"]).run();
    assert_eq!(ended.code, 3);
    assert!(ended.stderr.starts_with("error: expected compiled code, but hello.Person"), "{}", ended.stderr);
    assert!(ended.stderr.contains("arena-full") && ended.stderr.lines().count() == 1, "{}", ended.stderr);
    let table = text(ended.stdout);
    assert!(table.contains("why: arena-full: ") && table.contains("--arena 16m"), "{table}");
    // Without the expectation it is no failure: all works.
    let table = text(person().args(["--arena", "4096"]).ok());
    assert!(table.contains("arena-full") && table.contains("yes"), "{table}");
}

#[test]
fn reasons() {
    let reason = |run: Run, reason: &str| {
        let ended = run.args(["--expect", "compiled"]).run();
        assert_eq!(ended.code, 3);
        assert!(ended.stderr.contains(reason), "{}", ended.stderr);
        assert!(text(ended.stdout).contains("what to do: "));
    };
    reason(person().args(["--engine", "interp"]), "engine-off");
    reason(person().env("PROTOJIT_ENGINE", "interp"), "engine-off");
    reason(trace().args(["--engine", "interp"]), "engine-off");
    if COMPILES {
        reason(trace().args(["--arena", "0"]), "arena-");
    }
}

#[test]
fn json_for_programs() {
    let trace = json(person().args(["--iterations", "7"]));
    assert_eq!(trace["engine"], "auto");
    let programs = trace["programs"].as_array().unwrap();
    let root = programs.iter().find(|row| row["message"] == "hello.Person" && row["direction"] == "decode").unwrap();
    assert_eq!(root["compiled_calls"].as_u64().unwrap() + root["interpreted_calls"].as_u64().unwrap(), 7);
    if COMPILES {
        assert_eq!(root["engine"], "jit");
        assert!(root["code_bytes"].as_u64().unwrap() > 1000);
        assert_eq!(trace["arena"]["reserved"], 128 << 20);
    }
    let input = &trace["inputs"][0];
    assert_eq!((input["messages"].as_u64(), input["iterations"].as_u64()), (Some(1), Some(7)));
    assert!(input["chosen"]["decode_nanos"].as_f64().unwrap() > 0.0);
    assert_eq!(input["disagreement"], Value::Null);
}

#[test]
fn inputs() {
    let all = ["person_10", "person_100", "person_10k"];
    let run = all.iter().fold(trace(), |run, name| run.arg("--input").arg(example(&format!("payloads/{name}.binpb"))));
    let traced = json(run.args(["--iterations", "3"]));
    assert_eq!(traced["inputs"].as_array().unwrap().len(), 3);
    let stream = || trace().arg("--delimited").arg("--input").arg(example("payloads/people.stream"));
    let traced = json(stream().args(["--iterations", "2"]));
    assert_eq!(traced["inputs"][0]["messages"], 20);
    let calls = &traced["programs"][0];
    assert_eq!(calls["compiled_calls"].as_u64().unwrap() + calls["interpreted_calls"].as_u64().unwrap(), 40);
    let stdin = || trace().args(["--input", "-", "--iterations", "1"]);
    assert_eq!(json(stdin().args(["--from", "hex"]).input("0a03426f62"))["inputs"][0]["bytes"], 5);
    assert_eq!(json(stdin().args(["--from", "base64"]).input("CgNCb2I="))["inputs"][0]["file"], "stdin");
    assert_eq!(json(stdin())["inputs"][0]["bytes"], 0);
    assert_eq!(trace().args(["--iterations", "0"]).run().code, 2);
}

#[test]
fn bad_inputs() {
    // The trace is shown all the same.
    let ended = trace().args(["--input", "-"]).input("\x0a\x09").run();
    assert_eq!(
        (ended.code, &*ended.stderr),
        (1, "error: stdin: a length reaches beyond its message (byte 1, in Person.name)\n")
    );
    assert!(text(ended.stdout).contains("hello.Person"));
    trace().args(["--input", "no/such"]).fails(1);
    let run = trace().args(["--delimited", "--input", "-"]).input(b"\x00\x02\x0a\x09".as_slice()).fails(1);
    assert!(run.starts_with("stdin: message 2: "), "{run}");
    let run = trace().args(["--delimited", "--input", "-"]).input(b"\x05".as_slice()).fails(1);
    assert!(run.contains("ends inside a frame"), "{run}");
}

#[test]
fn messages() {
    let hello = || Run::new(["jit-trace", "-s"]).arg(example("hello.proto"));
    // All at the top level, or those named; an input needs to know which.
    let table = text(hello().ok());
    assert!(table.contains("hello.Person") && table.contains("hello.Address"), "{table}");
    let table = text(hello().args(["-m", "Address"]).ok());
    assert!(!table.contains("hello.Person"), "{table}");
    text(hello().args(["-m", "Person", "-m", "Address", "--input", "-"]).ok());
    let error = hello().args(["--input", "-"]).fails(2);
    assert!(error.starts_with("which message?"), "{error}");
    let descriptor = example("payloads/descriptor.binpb");
    let run = Run::new(["jit-trace", "-m", "google.protobuf.FileDescriptorSet", "-s"]).arg(&descriptor);
    let run = run.arg("--input").arg(&descriptor).args(["--iterations", "2"]);
    let table = text(if COMPILES { run.args(["--expect", "compiled"]) } else { run }.ok());
    assert!(table.contains("google.protobuf.FieldOptions"), "{table}");
}

#[test]
fn tables_fit() {
    for width in [60, 80, 100, 200] {
        let columns = width.to_string();
        let tables = [
            person().env("COLUMNS", &columns).args(["--iterations", "1"]).ok(),
            Run::hello("layout").env("COLUMNS", &columns).ok(),
        ];
        for line in tables.map(text).concat().lines() {
            // Sentences are for the terminal to break.
            let sentence = line.contains(": ");
            assert!(sentence || line.chars().count() <= width, "{width}: {line}");
        }
    }
}

#[test]
fn intermediate_code() {
    let shown = text(trace().arg("--clif").ok());
    assert!(shown.contains("; decode of hello.Person\nfunction "), "{shown}");
    let json = json(trace().arg("--clif"));
    assert_eq!(json["clif"][0]["message"], "hello.Person");
    assert!(json["clif"][0]["text"].as_str().unwrap().contains("block0"));
}

#[test]
fn layout() {
    let table = text(Run::hello("layout").ok());
    assert!(table.starts_with("hello.Person: "), "{table}");
    for part in ["map<string, int32>", "repeated hello.Person", "hello.Status", "not null", "not empty", "not zero"] {
        assert!(table.contains(part), "{part}: {table}");
    }
    let basic = || Run::new(["layout", "-s"]).arg(example("proto2_basic.proto"));
    let table = text(basic().ok());
    for part in ["[basic.region]", "page 1", "required int32", "group basic.BenchPayload.Stats", "bit 0 at 8"] {
        assert!(table.contains(part), "{part}: {table}");
    }
    let layout = json(basic());
    assert_eq!(layout["message"], "basic.BenchPayload");
    assert_eq!(layout["fields"].as_array().unwrap().len(), 9);
    assert_eq!(layout["pages"].as_array().unwrap().len(), 1);
    let scratch = Scratch::new("layout");
    let oneof =
        scratch.file("oneof.proto", "syntax = \"proto3\"; message M { oneof it { int32 a = 1; string b = 2; } }");
    let table = text(Run::new(["layout", "-s"]).arg(oneof).ok());
    assert!(table.contains("case 1 at 24") && table.contains("case 2 at 24"), "{table}");
}

/// Code both ways, each block under the name of its field.
#[test]
fn asm() {
    if !COMPILES {
        return;
    }
    let shown = text(trace().arg("--asm").ok());
    for heading in
        ["; decode of hello.Person", "; encode of hello.Person", "  ; emails = 3", "  ; user_id = 9", "block0:"]
    {
        assert!(shown.contains(heading), "no {heading:?} in\n{shown}");
    }
    let json = json(trace().arg("--asm"));
    assert_eq!((&json["asm"][0]["direction"], &json["asm"][1]["direction"]), (&"decode".into(), &"encode".into()));
    assert!(json["clif"].is_null());
}

/// Which field of the data leaves the fast path, why, and how often.
#[test]
fn slow_exits() {
    if !COMPILES {
        return;
    }
    let input = Scratch::new("slow-exits");
    // A name that is not ASCII, and a field 99 twice, which is one exit.
    let file = input.file("payload", b"\x0a\x02\xc3\xa9\x98\x06\x01\x98\x06\x01");
    let run = || trace().arg("--input").arg(&file).args(["--iterations", "10"]);
    let table = text(run().ok());
    let row = |words: &[&str]| {
        let found = table.lines().any(|line| words.iter().all(|word| line.contains(word)));
        assert!(found, "no {words:?} in\n{table}");
    };
    row(&["slow exits of", "field", "exit", "count"]);
    row(&["hello.Person", "decode", "name = 1", "non-ascii", "1"]);
    row(&["hello.Person", "decode", "(none)", "unknown", "1"]);
    let json = json(run());
    let exits = json["slow_exits"].as_array().unwrap();
    let name = exits.iter().find(|exit| exit["exit"] == "non-ascii").unwrap();
    assert_eq!((&name["field"], &name["number"], &name["count"]), (&"name".into(), &1.into(), &1.into()));
    assert_eq!((&name["message"], &name["direction"]), (&"hello.Person".into(), &"decode".into()));
    // What was timed was not compiled to count, and the interpreter has no fast path.
    assert!(json["programs"].as_array().unwrap().iter().all(|row| row["slow_exits"].as_array().unwrap().is_empty()));
    let interpreted: Value =
        serde_json::from_slice(&run().args(["--engine", "interp", "--format", "json"]).ok()).unwrap();
    assert!(interpreted["slow_exits"].as_array().unwrap().is_empty());
}
