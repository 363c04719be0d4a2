//! The payloads under `examples/payloads` are made here, from fixed numbers, by an encoder that is not ours (prost).
//!
//! The test holds the files against what is made, and the command against both: what it decodes a payload to is the
//! JSON file beside it, and what it encodes that to is the payload. To make all files anew:
//!
//! ```text
//! PROTOJIT_WRITE_PAYLOADS=1 cargo test -p protojit-cli --test payloads
//! ```

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use common::{Run, example};
use prost::Message;
use protox::file::{FileResolver, GoogleFileResolver};

/// `hello.Address`.
#[derive(Clone, PartialEq, Message)]
struct Address {
    #[prost(string, tag = "1")]
    street: String,
    #[prost(string, tag = "2")]
    city: String,
    #[prost(int32, tag = "3")]
    zip: i32,
    #[prost(string, optional, tag = "4")]
    apartment: Option<String>,
}

/// `hello.Person`.
#[derive(Clone, PartialEq, Message)]
struct Person {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(int32, tag = "2")]
    age: i32,
    #[prost(string, repeated, tag = "3")]
    emails: Vec<String>,
    #[prost(int32, tag = "4")]
    status: i32,
    #[prost(message, optional, tag = "5")]
    address: Option<Address>,
    #[prost(message, repeated, tag = "6")]
    friends: Vec<Person>,
    #[prost(int32, repeated, tag = "7")]
    lucky_numbers: Vec<i32>,
    #[prost(bytes = "vec", tag = "8")]
    avatar: Vec<u8>,
    #[prost(fixed64, tag = "9")]
    user_id: u64,
    #[prost(sint32, tag = "10")]
    balance: i32,
    #[prost(double, tag = "11")]
    weight_kg: f64,
    #[prost(btree_map = "string, int32", tag = "12")]
    ages_by_nickname: BTreeMap<String, i32>,
}

/// `basic.BenchPayload.Inner`, and what a later version might add.
#[derive(Clone, PartialEq, Message)]
struct Inner {
    #[prost(string, required, tag = "1")]
    key: String,
    #[prost(int32, optional, tag = "2")]
    weight: Option<i32>,
    #[prost(string, optional, tag = "3")]
    note: Option<String>,
}

/// `basic.BenchPayload.Stats`.
#[derive(Clone, PartialEq, Message)]
struct Stats {
    #[prost(int64, optional, tag = "8")]
    latency_ns: Option<i64>,
    #[prost(int32, optional, tag = "9")]
    attempts: Option<i32>,
}

/// `basic.BenchPayload` with its extensions, and what a later version might add.
#[derive(Clone, PartialEq, Message)]
struct BenchPayload {
    #[prost(int32, required, tag = "1")]
    id: i32,
    #[prost(string, optional, tag = "2")]
    name: Option<String>,
    #[prost(int32, optional, tag = "3")]
    retries: Option<i32>,
    #[prost(int32, repeated, tag = "4")]
    lucky_numbers: Vec<i32>,
    #[prost(string, repeated, packed = "false", tag = "5")]
    tags: Vec<String>,
    #[prost(message, optional, tag = "6")]
    inner: Option<Inner>,
    #[prost(group, optional, tag = "7")]
    stats: Option<Stats>,
    #[prost(int32, optional, tag = "100")]
    priority: Option<i32>,
    #[prost(string, optional, tag = "101")]
    region: Option<String>,
    #[prost(uint64, optional, tag = "150")]
    unknown_varint: Option<u64>,
    #[prost(fixed32, optional, tag = "200")]
    unknown_fixed32: Option<u32>,
    #[prost(group, repeated, tag = "3000")]
    unknown_groups: Vec<Stats>,
    #[prost(bytes = "vec", repeated, tag = "536870911")]
    unknown_bytes: Vec<Vec<u8>>,
}

/// Numbers that look random and are the same each time.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        // The multiplier and increment of Knuth's MMIX; the high bits are the good ones.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len() as u64) as usize]
    }
}

const FIRST: [&str; 12] = [
    "Ada",
    "Bj\u{f6}rn",
    "Chlo\u{e9}",
    "Dmitri",
    "Emeka",
    "Fatima",
    "Grace",
    "Hiro",
    "In\u{ea}s",
    "\u{674e}\u{5a1c}",
    "Katherine",
    "Linus",
];
const LAST: [&str; 8] = ["Byron", "Hopper", "Johnson", "K\u{131}l\u{131}\u{e7}", "Moreau", "Okafor", "Sato", "Turing"];
const STREETS: [&str; 5] = ["Harbour Road", "Lindenstra\u{df}e", "Mill Lane", "Rue des Lilas", "Station Street"];
const CITIES: [&str; 6] = ["Bergen", "Lagos", "Lyon", "London", "Osaka", "Z\u{fc}rich"];

/// A person with `friends` friends, each of whom has `depth` levels of friends below, and `bytes` of avatar.
fn person(numbers: &mut Numbers, friends: usize, depth: u32, bytes: usize) -> Person {
    let (first, last) = (numbers.pick(&FIRST), numbers.pick(&LAST));
    let user = |number: u64| format!("{}.{number}", last.to_ascii_lowercase().replace(|c: char| !c.is_ascii(), "-"));
    let emails = (0..1 + numbers.below(2)).map(|_| format!("{}@example.org", user(numbers.below(1000)))).collect();
    let friends_made: Vec<Person> = (0..friends)
        .map(|_| {
            let below = if depth > 0 { numbers.below(3) as usize } else { 0 };
            person(numbers, below, depth.saturating_sub(1), 0)
        })
        .collect();
    Person {
        name: format!("{first} {last}"),
        age: 18 + numbers.below(60) as i32,
        emails,
        status: numbers.below(4) as i32,
        address: Some(Address {
            street: format!("{} {}", numbers.below(200), numbers.pick(&STREETS)),
            city: numbers.pick(&CITIES).to_owned(),
            zip: 1000 + numbers.below(90_000) as i32,
            apartment: (numbers.below(2) == 0).then(|| format!("{}b", numbers.below(30))),
        }),
        ages_by_nickname: friends_made
            .iter()
            .take(6)
            .map(|friend| (friend.name.chars().take(3).collect::<String>().to_lowercase(), friend.age))
            .collect(),
        friends: friends_made,
        lucky_numbers: (0..numbers.below(6)).map(|at| numbers.below(10 << (6 * at)) as i32 - 3).collect(),
        avatar: (0..bytes).map(|_| numbers.below(256) as u8).collect(),
        user_id: numbers.next() << 31 | numbers.next(),
        balance: numbers.below(200_000) as i32 - 100_000,
        weight_kg: 50.0 + numbers.below(500) as f64 / 10.0,
    }
}

fn small_person() -> Person {
    Person { name: "Adam".to_owned(), age: 36, status: 1, ..Person::default() }
}

fn medium_person() -> Person {
    Person {
        name: "Grace Hopper".to_owned(),
        age: 85,
        emails: vec!["grace@example.org".to_owned()],
        status: 2,
        address: Some(Address {
            street: "1 Navy Yard".to_owned(),
            city: "Arlington".to_owned(),
            zip: 22_202,
            apartment: Some(String::new()),
        }),
        lucky_numbers: vec![7, 1906, -1],
        user_id: 0x1234_5678_9abc_def0,
        balance: -4200,
        weight_kg: 52.5,
        ..Person::default()
    }
}

fn bench_payload() -> BenchPayload {
    BenchPayload {
        id: 42,
        name: Some("checkout".to_owned()),
        retries: Some(0),
        lucky_numbers: vec![0, 1, 127, 128, 16_384, i32::MAX, -1, i32::MIN],
        tags: vec!["eu".to_owned(), String::new(), "pr\u{e9}mium".to_owned()],
        inner: Some(Inner { key: "cart".to_owned(), weight: Some(-7), note: None }),
        stats: Some(Stats { latency_ns: Some(1_250_000_000_000), attempts: Some(2) }),
        priority: Some(9),
        region: Some("eu-west".to_owned()),
        ..BenchPayload::default()
    }
}

fn newer_bench_payload() -> BenchPayload {
    BenchPayload {
        inner: Some(Inner { key: "cart".to_owned(), weight: None, note: Some("not known to inner".to_owned()) }),
        unknown_varint: Some(u64::MAX),
        unknown_fixed32: Some(0xdead_beef),
        unknown_groups: vec![Stats { latency_ns: Some(-1), attempts: None }, Stats::default()],
        unknown_bytes: vec![b"known to nobody".to_vec(), Vec::new()],
        ..bench_payload()
    }
}

/// `descriptor.proto` as compiled, alone in its set.
fn descriptor_set() -> Vec<u8> {
    let file = GoogleFileResolver::new().open_file("google/protobuf/descriptor.proto").unwrap();
    prost_types::FileDescriptorSet { file: vec![file.file_descriptor_proto().clone()] }.encode_to_vec()
}

/// A payload: the name of its files, its schema, its message, its bytes, and whether JSON can say all of it.
struct Payload {
    name: &'static str,
    schema: &'static str,
    message: &'static str,
    bytes: Vec<u8>,
    json_is_complete: bool,
}

fn payloads() -> Vec<Payload> {
    let payload = |name, schema, message, bytes| Payload { name, schema, message, bytes, json_is_complete: true };
    let hello = |name, person: Person| payload(name, "hello.proto", "hello.Person", person.encode_to_vec());
    let basic =
        |name, bench: BenchPayload| payload(name, "proto2_basic.proto", "basic.BenchPayload", bench.encode_to_vec());
    vec![
        hello("person_10", small_person()),
        hello("person_100", medium_person()),
        hello("person_1k", person(&mut Numbers(1), 5, 0, 300)),
        hello("person_10k", person(&mut Numbers(2), 23, 2, 512)),
        basic("bench_min", BenchPayload { id: 1, ..BenchPayload::default() }),
        basic("bench_mid", bench_payload()),
        Payload { json_is_complete: false, ..basic("bench_unknown", newer_bench_payload()) },
        payload("descriptor", "payloads/descriptor.binpb", "google.protobuf.FileDescriptorSet", descriptor_set()),
    ]
}

/// A stream of people, each behind its length.
fn people() -> Vec<u8> {
    let mut numbers = Numbers(3);
    (0..20).flat_map(|_| person(&mut numbers, 1, 0, 0).encode_length_delimited_to_vec()).collect()
}

fn file(name: &str) -> PathBuf {
    example("payloads").join(name)
}

/// Compares with the file, or writes it where that was asked for.
fn hold(name: &str, made: &[u8]) {
    if std::env::var_os("PROTOJIT_WRITE_PAYLOADS").is_some() {
        fs::write(file(name), made).unwrap();
    }
    let held = fs::read(file(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(held == made, "{name} is not what is made; see the top of this test");
}

#[test]
fn sizes() {
    for payload in payloads() {
        let wanted = match payload.name {
            "person_10" => 10..=10,
            "person_100" => 90..=130,
            "person_1k" => 900..=1200,
            "person_10k" => 9000..=12_000,
            _ => continue,
        };
        assert!(wanted.contains(&payload.bytes.len()), "{}: {} bytes", payload.name, payload.bytes.len());
    }
}

#[test]
fn payloads_and_json() {
    for payload in payloads() {
        let (binary, json) = (format!("{}.binpb", payload.name), format!("{}.json", payload.name));
        hold(&binary, &payload.bytes);
        let run = |way: &str| Run::new([way, "-m", payload.message]).arg("-s").arg(example(payload.schema));
        let decoded = run("decode").arg(file(&binary)).ok();
        hold(&json, &decoded);
        let encoded = run("encode").arg(file(&json)).ok();
        if payload.json_is_complete {
            assert_eq!(encoded, payload.bytes, "{}", payload.name);
        }
        // What comes back from memory is what went in, unknown fields included.
        assert_eq!(run("decode").args(["--to", "binary"]).arg(file(&binary)).ok(), payload.bytes, "{}", payload.name);
    }
}

#[test]
fn stream() {
    hold("people.stream", &people());
    let run = |way: &str| Run::new([way, "--delimited", "-m", "Person"]).arg("-s").arg(example("hello.proto"));
    let decoded = run("decode").arg(file("people.stream")).ok();
    hold("people.jsonl", &decoded);
    assert_eq!(run("encode").arg(file("people.jsonl")).ok(), people());
}
