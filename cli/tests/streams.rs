//! `--delimited`: streams of messages.

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Stdio};
use std::thread;

use common::{Run, example};

const BOB: &[u8] = b"\x0a\x03Bob\x10\x2a";

/// A message with a string that is none.
const BAD: &[u8] = b"\x0a\x01\xff";

fn stream(messages: &[&[u8]]) -> Vec<u8> {
    messages.iter().flat_map(|message| [&[message.len() as u8][..], message].concat()).collect()
}

fn decode() -> Run {
    Run::hello("decode").arg("--delimited")
}

fn encode() -> Run {
    Run::hello("encode").arg("--delimited")
}

#[test]
fn round_trips() {
    let binary = stream(&[BOB, b"", BOB]);
    let json = b"{\"name\":\"Bob\",\"age\":42}\n{}\n{\"name\":\"Bob\",\"age\":42}\n";
    let text = b"name: \"Bob\" age: 42\n\nname: \"Bob\" age: 42\n";
    let hex = b"070a03426f62102a\n00\n070a03426f62102a\n";
    let base64 = b"BwoDQm9iECo=\nAA==\nBwoDQm9iECo=\n";
    assert_eq!(decode().input(&*binary).ok(), json);
    assert_eq!(decode().args(["--to", "text"]).input(&*binary).ok(), text);
    assert_eq!(decode().args(["--to", "binary"]).input(&*binary).ok(), binary);
    assert_eq!(decode().args(["--to", "hex"]).input(&*binary).ok(), hex);
    assert_eq!(decode().args(["--from", "hex"]).input(hex).ok(), json);
    assert_eq!(decode().args(["--from", "base64"]).input(base64).ok(), json);
    assert_eq!(encode().input(json).ok(), binary);
    assert_eq!(
        encode().input("\r\n{\"name\":\"Bob\",\"age\":42}\r\n\n{}\n \n{\"age\":42,\"name\":\"Bob\"}").ok(),
        binary
    );
    assert_eq!(encode().args(["--from", "text"]).input(text).ok(), binary);
    assert_eq!(encode().args(["--to", "hex"]).input(json).ok(), hex);
    assert_eq!(encode().args(["--to", "base64"]).input(json).ok(), base64);
}

#[test]
fn nothing_in_nothing_out() {
    assert_eq!(decode().ok(), b"");
    assert_eq!(encode().ok(), b"");
    assert_eq!(encode().input("\n\n").ok(), b"");
}

#[test]
fn bad_messages() {
    let binary = stream(&[BOB, BAD, b"", BAD, BOB]);
    let stop = decode().input(&*binary).run();
    assert_eq!(stop.code, 1);
    assert_eq!(stop.stdout, b"{\"name\":\"Bob\",\"age\":42}\n");
    let said = "error: stdin: message 2 (at byte 9): a string is not UTF-8 (byte 1, in Person.name)\n";
    assert_eq!(stop.stderr, said);
    assert_eq!(decode().args(["--on-error", "stop"]).input(&*binary).run().stderr, said);
    let skip = decode().args(["--on-error", "skip"]).input(&*binary).run();
    assert_eq!(skip.code, 0);
    assert_eq!(skip.stdout, b"{\"name\":\"Bob\",\"age\":42}\n{}\n{\"name\":\"Bob\",\"age\":42}\n");
    assert_eq!(
        skip.stderr,
        "skipped: stdin: message 2 (at byte 9): a string is not UTF-8 (byte 1, in Person.name)\n\
         skipped: stdin: message 4 (at byte 14): a string is not UTF-8 (byte 1, in Person.name)\n\
         note: stdin: 2 of 5 messages were skipped\n"
    );
    let lines = "{\"name\":\"Bob\",\"age\":42}\n{\"age\":\n{}\n";
    let stop = encode().input(lines).run();
    assert_eq!((stop.code, stop.stdout), (1, stream(&[BOB])));
    assert!(stop.stderr.starts_with("error: stdin: message 2 (at byte 24): "), "{}", stop.stderr);
    let skip = encode().args(["--on-error", "skip"]).input(lines).run();
    assert_eq!((skip.code, skip.stdout), (0, stream(&[BOB, b""])));
}

#[test]
fn bad_frames() {
    for (tail, what) in [
        (&b"\x09\x0a"[..], "the stream ends inside a frame: 9 bytes were announced and 1 are there (byte 9)"),
        (b"\x80", "the stream ends inside the length of a frame (byte 8)"),
        (&[0xff; 12], "the length of a frame is no varint (byte 8)"),
        (b"\xff\xff\xff\xff\xff\xff\x7f", "the stream ends inside a frame"),
    ] {
        let binary = [&stream(&[BOB]), tail].concat();
        // There is no way on.
        for on_error in ["stop", "skip"] {
            let ended = decode().args(["--on-error", on_error]).input(&*binary).run();
            assert_eq!((ended.code, &*ended.stdout), (1, &b"{\"name\":\"Bob\",\"age\":42}\n"[..]));
            assert!(ended.stderr.starts_with(&format!("error: stdin: {what}")), "{}", ended.stderr);
        }
    }
}

#[test]
fn frames_over_the_limit() {
    let large = [b"\x0a\x90\x4e".to_vec(), vec![b'x'; 10_000]].concat();
    let binary = [&stream(&[BOB])[..], b"\x93\x4e", &large, &stream(&[BOB])].concat();
    let skip = decode().args(["--on-error", "skip", "--max-memory", "5000"]).input(&*binary).run();
    assert_eq!(skip.code, 0);
    assert_eq!(skip.stdout.iter().filter(|&&byte| byte == b'\n').count(), 2);
    assert!(skip.stderr.contains("message 2 (at byte 10): its 10003 bytes are more than --max-memory allows"));
    let stop = decode().args(["--max-memory", "5000"]).input(&*binary).run();
    assert_eq!(stop.code, 1);
}

fn spawn(run: Run) -> Child {
    run.into_command().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn a_message_comes_out_when_it_has_come_in() {
    let mut child = spawn(decode());
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for _ in 0..3 {
        stdin.write_all(&stream(&[BOB])).unwrap();
        assert_eq!(lines.next().unwrap().unwrap(), "{\"name\":\"Bob\",\"age\":42}");
    }
    drop(stdin);
    assert!(lines.next().is_none());
    assert!(child.wait().unwrap().success());
}

#[test]
fn closed_pipe() {
    let people = std::fs::read(example("payloads/people.stream")).unwrap();
    for run in [decode(), Run::hello("decode").args(["--delimited", "--to", "hex"])] {
        let mut child = spawn(run);
        let mut stdin = child.stdin.take().unwrap();
        let people = people.clone();
        // Writes until nobody reads any more.
        let writer = thread::spawn(move || while stdin.write_all(&people).is_ok() {});
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut [0; 100]).unwrap();
        drop(stdout);
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        assert_eq!((output.status.code(), &output.stderr[..]), (Some(0), &b""[..]));
    }
}

/// The most memory that a running process ever had, in bytes.
#[cfg(target_os = "linux")]
fn peak_memory(child: &Child) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse::<usize>().unwrap() << 10
}

/// Feeds a run with as many bytes of copies of `unit`, looks at its memory, and gives what it wrote.
#[cfg(target_os = "linux")]
fn feed(run: Run, unit: &[u8], bytes: usize) -> (usize, usize) {
    let mut child = spawn(run);
    let mut stdout = child.stdout.take().unwrap();
    let reader = thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()).unwrap() as usize);
    let mut stdin = child.stdin.take().unwrap();
    let block = unit.repeat((1 << 20) / unit.len());
    for _ in 0..bytes / block.len() {
        stdin.write_all(&block).unwrap();
    }
    let peak = peak_memory(&child);
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &output.stderr[..]), (Some(0), &b""[..]));
    (peak, reader.join().unwrap())
}

#[test]
#[cfg(target_os = "linux")]
fn huge_streams_take_little_memory() {
    let people = std::fs::read(example("payloads/people.stream")).unwrap();
    // PROTOJIT_TEST_STREAM_MIB=5120 for a stream of 5 GiB.
    let mib = std::env::var("PROTOJIT_TEST_STREAM_MIB").map_or(200, |mib| mib.parse().unwrap());
    let (decoded, written) = feed(decode().args(["--to", "binary"]), &people, mib << 20);
    println!("{mib} MiB of stream took {decoded} bytes");
    assert!(written > (mib - 10) << 20, "{written}");
    assert!(decoded < 64 << 20, "decode took {decoded} bytes");
    let lines = std::fs::read(example("payloads/people.jsonl")).unwrap();
    let (encoded, _) = feed(encode(), &lines, 20 << 20);
    assert!(encoded < 64 << 20, "encode took {encoded} bytes");
}
