//! `decode` and `encode` of single messages: formats, ways in and out, limits, errors.

mod common;

use std::fs;

use common::{Run, Scratch, example};

/// `Person { name: "Bob", age: 42 }`.
const BOB: &[u8] = b"\x0a\x03Bob\x10\x2a";

/// The same with field 99 behind it.
const BOB_99: &[u8] = b"\x0a\x03Bob\x10\x2a\x98\x06\x01";

const BOB_JSON: &[u8] = b"{\n  \"name\": \"Bob\",\n  \"age\": 42\n}\n";

#[test]
fn decode_ways_in() {
    let scratch = Scratch::new("decode_ways_in");
    let file = scratch.file("bob", BOB);
    assert_eq!(Run::hello("decode").arg(file).ok(), BOB_JSON);
    assert_eq!(Run::hello("decode").input(BOB).ok(), BOB_JSON);
    assert_eq!(Run::hello("decode").arg("-").input(BOB).ok(), BOB_JSON);
    assert_eq!(Run::hello("decode").args(["--from", "hex"]).input("0a03 426F62\n102a\n").ok(), BOB_JSON);
    assert_eq!(Run::hello("decode").args(["--from", "base64"]).input("CgNCb2IQKg==").ok(), BOB_JSON);
    assert_eq!(Run::hello("decode").args(["--from", "base64"]).input("CgNCb2IQKg").ok(), BOB_JSON);
    assert_eq!(Run::hello("decode").args(["--from", "binary"]).input(BOB).ok(), BOB_JSON);
}

#[test]
fn decode_ways_out() {
    let to = |format: &str| Run::hello("decode").args(["--to", format]).input(BOB_99).ok();
    assert_eq!(to("json"), BOB_JSON);
    assert_eq!(to("text"), b"name: \"Bob\"\nage: 42\n99: 1\n");
    assert_eq!(to("binary"), BOB_99);
    assert_eq!(to("hex"), b"0a03426f62102a980601\n");
}

#[test]
fn discard_unknown() {
    let to = |format: &str| Run::hello("decode").args(["--discard-unknown", "--to", format]).input(BOB_99).ok();
    assert_eq!(to("binary"), BOB);
    assert_eq!(to("text"), b"name: \"Bob\"\nage: 42\n");
}

#[test]
fn encode_ways() {
    let run = || Run::hello("encode").input(BOB_JSON);
    assert_eq!(run().ok(), BOB);
    assert_eq!(run().arg("-").ok(), BOB);
    assert_eq!(run().args(["--to", "binary"]).ok(), BOB);
    assert_eq!(run().args(["--to", "hex"]).ok(), b"0a03426f62102a\n");
    assert_eq!(run().args(["--to", "base64"]).ok(), b"CgNCb2IQKg==\n");
    assert_eq!(Run::hello("encode").args(["--from", "text"]).input("name: 'Bob' age: 42").ok(), BOB);
    let scratch = Scratch::new("encode_ways");
    assert_eq!(Run::hello("encode").arg(scratch.file("bob.json", BOB_JSON)).ok(), BOB);
}

#[test]
fn encode_unknown() {
    let json = r#"{"name": "Bob", "size": 3, "status": "RETIRED", "age": 42}"#;
    let error = Run::hello("encode").input(json).fails(1);
    assert!(error.starts_with("stdin: unknown field: size (line 1, column "), "{error}");
    assert_eq!(Run::hello("encode").arg("--ignore-unknown").input(json).ok(), BOB);
    let text = "name: 'Bob' size: 3 age: 42";
    let run = || Run::hello("encode").args(["--from", "text"]).input(text);
    assert!(run().fails(1).contains("size"));
    assert_eq!(run().arg("--ignore-unknown").ok(), BOB);
}

#[test]
fn both_engines_give_the_same() {
    for engine in ["auto", "jit", "interp"] {
        let run = |way: &str| Run::hello(way).args(["--engine", engine]);
        assert_eq!(run("decode").input(BOB).ok(), BOB_JSON);
        assert_eq!(run("encode").input(BOB_JSON).ok(), BOB);
        // Anywhere on the command line, and from the environment.
        assert_eq!(
            Run::new(["--engine", engine, "decode", "-m", "Person", "-s"]).arg(example("hello.proto")).input(BOB).ok(),
            BOB_JSON
        );
        assert_eq!(Run::hello("decode").env("PROTOJIT_ENGINE", engine).input(BOB).ok(), BOB_JSON);
    }
    assert_eq!(Run::hello("decode").env("PROTOJIT_ENGINE", "").input(BOB).ok(), BOB_JSON);
    let ended = Run::hello("decode").env("PROTOJIT_ENGINE", "warp").input(BOB).run();
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.contains("warp"), "{}", ended.stderr);
}

#[test]
fn little_code_memory_is_enough() {
    // It cannot compile, and says nothing about it here: that is what jit-trace is for.
    assert_eq!(Run::hello("decode").args(["--arena", "4096"]).input(BOB).ok(), BOB_JSON);
    assert_eq!(Run::hello("decode").args(["--arena", "0"]).input(BOB).ok(), BOB_JSON);
    assert_eq!(Run::hello("decode").args(["--arena", "64k"]).input(BOB).ok(), BOB_JSON);
}

#[test]
fn empty_input() {
    assert_eq!(Run::hello("decode").ok(), b"{}\n");
    assert_eq!(Run::hello("decode").args(["--to", "binary"]).ok(), b"");
    assert_eq!(Run::hello("encode").input("{}").ok(), b"");
    let error = Run::hello("encode").fails(1);
    assert!(error.starts_with("stdin: "), "{error}");
    let basic = |way: &str| Run::new([way, "-s"]).arg(example("proto2_basic.proto"));
    assert_eq!(basic("decode").fails(1), "stdin: a required field is missing (byte 0, in BenchPayload.id)");
    let error = basic("encode").input("{}").fails(1);
    assert!(error.contains("id") && error.contains("required"), "{error}");
}

#[test]
fn bad_input() {
    for engine in ["jit", "interp"] {
        let fails = |input: &[u8]| Run::hello("decode").args(["--engine", engine]).input(input).fails(1);
        assert_eq!(fails(b"\x0a\x03Bo"), "stdin: a length reaches beyond its message (byte 1, in Person.name)");
        assert_eq!(fails(b"\x0a\x02\xff\xff"), "stdin: a string is not UTF-8 (byte 1, in Person.name)");
        assert_eq!(fails(b"\x2a\x04\x0a\x02a\xc0"), "stdin: a string is not UTF-8 (byte 3, in Person.address.street)");
        // Pictures, archives, text, zeros.
        for garbage in [&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], b"PK\x03\x04\x14\0", b"{\"name\": \"Bob\"}", &[0; 4096]]
        {
            assert!(fails(garbage).starts_with("stdin: "));
        }
    }
    let error = Run::hello("decode").args(["--from", "hex"]).input("0a03zz").fails(1);
    assert_eq!(error, "stdin: 'z' is no digit in the hexadecimal text (byte 4)");
    let error = Run::hello("encode").input("{\n  \"address\": {\"zip\": true}}").fails(1);
    assert!(error.contains("line 2") && error.contains("Person.address.zip"), "{error}");
    assert!(Run::hello("encode").input(b"\xff\xfe{".as_slice()).fails(1).contains("UTF-8"));
    assert!(Run::hello("encode").args(["--from", "text"]).input("name: 3").fails(1).contains("Person.name"));
}

#[test]
fn unreadable_input() {
    let error = Run::hello("decode").arg("no/such/file").fails(1);
    assert!(error.starts_with("no/such/file: "), "{error}");
    let scratch = Scratch::new("unreadable_input");
    Run::hello("decode").arg(scratch.path()).fails(1);
    Run::hello("encode").arg(scratch.path()).fails(1);
}

#[test]
fn depth() {
    let nested =
        |levels: usize| format!("{}{}", "{\"friends\":[".repeat(levels), "{}".to_owned() + &"]}".repeat(levels));
    let encode = |levels: usize, limit: &str| Run::hello("encode").args(["--max-depth", limit]).input(nested(levels));
    let deep = encode(100, "100").ok();
    assert!(encode(101, "100").fails(1).contains("deeper"));
    for engine in ["jit", "interp"] {
        let decode = |limit: &str| Run::hello("decode").args(["--engine", engine, "--max-depth", limit]).input(&*deep);
        decode("100").ok();
        let error = decode("99").fails(1);
        assert!(error.contains("deeper") && error.contains("(byte ") && error.contains("Person.friends.friends"));
        // As deep as they go.
        let deep = Run::hello("encode").args(["--max-depth", "100000", "--delimited"]).input(nested(90_000)).ok();
        let deep =
            Run::hello("decode").args(["--max-depth", "100000", "--engine", engine, "--delimited"]).input(deep).ok();
        assert_eq!(deep.trim_ascii_end(), nested(90_000).as_bytes());
    }
    for bad in ["0", "100001", "-1", "x"] {
        assert_eq!(Run::hello("decode").arg(format!("--max-depth={bad}")).run().code, 2, "{bad}");
    }
}

#[test]
fn memory() {
    // Two bytes on the wire are a message in memory.
    let friends = [0x32, 0].repeat(100_000);
    for engine in ["jit", "interp"] {
        let run = |limit: &str| Run::hello("decode").args(["--engine", engine, "--max-memory", limit]).input(&*friends);
        let error = run("1m").fails(1);
        assert!(error.contains("memory limit") && error.contains("Person.friends"), "{error}");
        run("100m").ok();
    }
    let emails = format!("{{\"emails\":[{}\"\"]}}", "\"x\",".repeat(100_000));
    let error = Run::hello("encode").args(["--max-memory", "1m"]).input(emails).fails(1);
    assert!(error.contains("Person.emails"), "{error}");
    for bad in ["", "12q", "1.5m", "-3"] {
        assert_eq!(Run::hello("decode").arg(format!("--max-memory={bad}")).run().code, 2, "{bad}");
    }
}

#[test]
fn usage() {
    for args in [&["decode"][..], &["encode", "-m", "x"], &["fly"], &[], &["decode", "--to", "xml", "-s", "x"]] {
        let ended = Run::new(args).run();
        assert_eq!(ended.code, 2, "{args:?}");
        assert!(ended.stdout.is_empty() && !ended.stderr.is_empty(), "{args:?}");
    }
    assert_eq!(Run::hello("decode").args(["--on-error", "skip"]).run().code, 2);
    let help = Run::new(["--help"]).ok();
    assert!(String::from_utf8(help).unwrap().contains("Exit codes"));
    assert!(Run::new(["--version"]).ok().starts_with(b"protojit "));
    for way in ["decode", "encode", "jit-trace", "layout"] {
        assert!(!Run::new([way, "--help"]).ok().is_empty());
    }
}

#[test]
#[cfg(unix)]
fn paths_that_are_no_text() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let scratch = Scratch::new("paths_that_are_no_text");
    let directory = scratch.path().join(OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir_all(&directory).unwrap();
    let schema = directory.join(OsStr::from_bytes(b"h\xff.proto"));
    fs::copy(example("hello.proto"), &schema).unwrap();
    let payload = directory.join(OsStr::from_bytes(b"b\xf0b"));
    fs::write(&payload, BOB).unwrap();
    let run = || Run::new(["decode", "-m", "Person", "-s"]).arg(&schema);
    assert_eq!(run().arg(&payload).ok(), BOB_JSON);
    assert_eq!(run().arg("-I").arg(&directory).arg(&payload).ok(), BOB_JSON);
    let set = directory.join(OsStr::from_bytes(b"\xfeset"));
    fs::copy(example("payloads/descriptor.binpb"), &set).unwrap();
    let run = Run::new(["decode", "-m", "google.protobuf.FileDescriptorSet", "-s"]).arg(&set);
    assert!(!run.arg(&set).ok().is_empty());
    let missing = directory.join(OsStr::from_bytes(b"\xfd"));
    let ended = Run::new(["decode", "-m", "Person", "-s"]).arg(&schema).arg(missing).run();
    assert_eq!(ended.code, 1);
}

#[test]
#[cfg(target_os = "linux")]
fn full_disks_and_closed_pipes() {
    use std::process::Stdio;

    let full = || fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = Run::hello("decode").arg(example("payloads/person_10k.binpb")).into_command();
    let output = command.stdout(full()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("error: the output cannot be written: ") && said.lines().count() == 1, "{said}");
    // Nobody can be told.
    let status = command.stdout(full()).stderr(full()).status().unwrap();
    assert_eq!(status.code(), Some(1));
    for args in [&["decode"][..], &["jit-trace"], &["layout"]] {
        let mut command = Run::hello(args[0]).into_command();
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // No reader from the start.
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), &output.stderr[..]), (Some(0), &b""[..]), "{args:?}");
    }
}

#[test]
fn project() {
    let json = br#"{"name": "Bob", "age": 42, "address": {"street": "Long", "zip": 7}, "friends": [{"name": "Ann", "age": 3}]}"#;
    let wire = Run::hello("encode").input(json).ok();
    let decode = |paths: &[&str]| {
        let mut run = Run::hello("decode");
        for path in paths {
            run = run.args(["--project", path]);
        }
        run
    };
    let expected = b"{\n  \"age\": 42,\n  \"address\": {\n    \"zip\": 7\n  }\n}\n";
    assert_eq!(decode(&["age,address.zip"]).input(&wire[..]).ok(), expected);
    assert_eq!(decode(&["age", "address.zip"]).input(&wire[..]).ok(), expected);
    assert_eq!(
        decode(&["friends.name"]).args(["--to", "text"]).input(&wire[..]).ok(),
        b"friends {\n  name: \"Ann\"\n}\n"
    );
    assert_eq!(decode(&["age"]).args(["--to", "binary"]).input(&wire[..]).ok(), b"\x10\x2a");
    let error = decode(&["age,adress"]).input(&wire[..]).fails(2);
    assert_eq!(error, "--project: hello.Person has no field \"adress\" (in the path \"adress\")");
}
