//! Whatever comes in, and wherever it goes: a line that says what is wrong, the right exit code, and everything before the fault
//! written.

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use common::{Ended, Run, Scratch, example};

/// Numbers that look random (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z ^ (z >> 29)
    }

    fn bytes(&mut self, most: usize) -> Vec<u8> {
        let len = self.next() as usize % (most + 1);
        (0..len).map(|_| self.next() as u8).collect()
    }

    /// A file with some bytes of it changed, and cut.
    fn damaged(&mut self, path: &Path) -> Vec<u8> {
        let mut bytes = fs::read(path).unwrap();
        for _ in 0..1 + self.next() % 4 {
            let at = self.next() as usize % bytes.len();
            bytes[at] = self.next() as u8;
        }
        if self.next().is_multiple_of(3) {
            bytes.truncate(self.next() as usize % bytes.len());
        }
        bytes
    }
}

/// It ended by itself, and said in one line what was wrong if anything was.
fn well_ended(ended: &Ended, codes: &[i32], what: &str) {
    assert!(codes.contains(&ended.code), "{what}: {ended:?}");
    let lines = ended.stderr.lines().count();
    assert_eq!(lines, usize::from(ended.code != 0), "{what}: {ended:?}");
    assert!(ended.code == 0 || ended.stderr.starts_with("error: "), "{what}: {ended:?}");
    assert!(ended.stderr.len() < 2000, "{what}: {} bytes", ended.stderr.len());
}

#[test]
fn garbage_as_input() {
    let mut random = Random(1);
    for turn in 0..12 {
        for (way, flags) in [
            ("decode", &[][..]),
            ("decode", &["--delimited"]),
            ("decode", &["--from", "hex"]),
            ("decode", &["--from", "base64", "--to", "text"]),
            ("encode", &[]),
            ("encode", &["--delimited"]),
            ("encode", &["--from", "text"]),
        ] {
            let input = match (turn % 3, way) {
                (0, _) => random.bytes(3000),
                (1, "decode") => random.damaged(&example("payloads/people.stream")),
                (1, _) => random.damaged(&example("payloads/people.jsonl")),
                _ => vec![random.next() as u8; 1 + random.next() as usize % 5000],
            };
            let engine = ["jit", "interp"][turn % 2];
            let ended = Run::hello(way).args(flags).args(["--engine", engine]).input(input).run();
            well_ended(&ended, &[0, 1], &format!("{way} {flags:?}, {turn}"));
        }
    }
}

#[test]
fn garbage_as_schema() {
    let (mut random, scratch) = (Random(2), Scratch::new("garbage"));
    let proto = example("hello.proto");
    for turn in 0..10 {
        let content = match turn % 2 {
            0 => random.bytes(2000),
            _ => random.damaged(&proto),
        };
        for name in ["schema.proto", "schema.binpb"] {
            let path = scratch.file(name, &content);
            for way in ["decode", "layout", "jit-trace"] {
                let ended = Run::new([way, "-m", "hello.Person", "-s"]).arg(&path).run();
                // A damaged comment is none of anybody's business.
                well_ended(&ended, &[0, 2], &format!("{way} {name}, {turn}"));
            }
        }
    }
}

/// A stream that ends anywhere: all messages that came whole, and what is missing of the next.
#[test]
fn streams_that_are_cut() {
    let one = b"\x07\x0a\x03Bob\x10\x2a";
    let stream = one.repeat(3);
    for cut in 0..=stream.len() {
        let ended = Run::hello("decode").args(["--delimited"]).input(&stream[..cut]).run();
        assert_eq!(ended.stdout, b"{\"name\":\"Bob\",\"age\":42}\n".repeat(cut / one.len()), "{cut}");
        let whole = cut.is_multiple_of(one.len());
        well_ended(&ended, &[if whole { 0 } else { 1 }], &format!("{cut}"));
        assert!(whole || ended.stderr.contains("the stream ends inside"), "{ended:?}");
    }
}

/// What can be written of a line is bounded by the memory that is allowed, also where it never ends.
#[test]
fn lines_without_an_end() {
    let ended = Run::hello("encode").args(["--delimited", "--max-memory", "100000"]).input(vec![b'['; 200_000]).run();
    well_ended(&ended, &[1], "a long line");
    assert!(ended.stderr.contains("longer than 100000 bytes"), "{ended:?}");
    let before = [&b"{\"name\":\"Bob\"}\n"[..], &[b' '; 200_000]].concat();
    let ended = Run::hello("encode").args(["--delimited", "--max-memory", "100000"]).input(before).run();
    assert_eq!(ended.stdout, b"\x05\x0a\x03Bob");
    well_ended(&ended, &[1], "a message, then a long line");
}

/// A disk that becomes full: here, a file that may not grow beyond 8 blocks.
#[test]
#[cfg(target_os = "linux")]
fn disks_that_become_full() {
    let scratch = Scratch::new("full");
    let stream = scratch.file("stream", b"\x07\x0a\x03Bob\x10\x2a".repeat(20_000));
    let out = scratch.path().join("out");
    for (flags, whole) in [("", &b"{\"name\":\"Bob\",\"age\":42}\n"[..]), ("--to binary", b"\x07\x0a\x03Bob\x10\x2a")] {
        let script = format!(
            "trap '' XFSZ; ulimit -f 8; exec \"$0\" decode -m hello.Person -s \"$1\" --delimited {flags} \"$2\" > \"$3\""
        );
        let output = Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_protojit")])
            .args([example("hello.proto"), stream.clone(), out.clone()])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.starts_with("error: the output cannot be written: ") && stderr.lines().count() == 1, "{stderr}");
        // Everything that there was room for.
        let written = fs::read(&out).unwrap();
        assert!([4096, 8192].contains(&written.len()), "{}", written.len());
        assert!(written.chunks(whole.len()).all(|chunk| whole.starts_with(chunk)));
    }
}

/// Files that can be opened but not read.
#[test]
#[cfg(target_os = "linux")]
fn files_that_cannot_be_read() {
    for (way, flags) in
        [("decode", &[][..]), ("decode", &["--delimited"]), ("encode", &[]), ("encode", &["--delimited"])]
    {
        for path in ["/proc/self/mem", "/proc/self"] {
            let ended = Run::hello(way).args(flags).arg(path).run();
            well_ended(&ended, &[1], path);
            assert!(ended.stderr.starts_with(&format!("error: {path}: ")), "{ended:?}");
        }
    }
    for path in ["/proc/self/mem", "/proc/self"] {
        let ended = Run::new(["layout", "-m", "a.B", "-s", path]).run();
        well_ended(&ended, &[2], path);
    }
}
