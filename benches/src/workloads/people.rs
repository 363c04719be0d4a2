//! `hello.Person` from 10 bytes to 100 KB, and `basic.BenchPayload`.
//!
//! | size | make-up |
//! |---|---|
//! | 10 B | name (4–6 letters) and age |
//! | 100 B | name, age, two e-mails of about 25 bytes, status, city and zip, user id |
//! | 1 KB | all fields: a full address, 2 friends of 50 B, 8 lucky numbers, a 32-byte avatar, 4 nicknames; the rest e-mails |
//! | 10 KB | 5 friends of 100 B, 20 lucky numbers, a 64-byte avatar, 10 nicknames; the rest (some 330) e-mails |
//! | 100 KB | 20 friends of 100 B, 50 lucky numbers, a 256-byte avatar, 20 nicknames; the rest (some 3,500) e-mails |
//!
//! One name in eight is not ASCII, e-mails all are.
//!
//! `min` of BenchPayload is an id and a name; `mid` has all that the schema offers: 8 lucky numbers, 4 tags, the inner
//! message, the group, and both extensions (which prost and buffa's generated code do not read).

use super::{LEAST_VARIANTS, SMALL_VARIANTS, Workload};
use crate::rng::Rng;
use crate::wire::{Writer, zigzag};

pub(super) fn workloads() -> Vec<Workload> {
    let person = |name, variants, plan: Plan| {
        Workload::new(name, "hello.Person", variants, move |rng| person(rng, plan).into_bytes())
    };
    vec![
        person("person/10B", SMALL_VARIANTS, Plan::Tiny),
        person("person/100B", SMALL_VARIANTS, Plan::Small),
        person("person/1KB", 32, Plan::Full { bytes: 1_000, friends: (2, Plan50), lucky: 8, avatar: 32, nicknames: 4 }),
        person(
            "person/10KB",
            LEAST_VARIANTS,
            Plan::Full { bytes: 10_000, friends: (5, Plan100), lucky: 20, avatar: 64, nicknames: 10 },
        ),
        person(
            "person/100KB",
            LEAST_VARIANTS,
            Plan::Full { bytes: 100_000, friends: (20, Plan100), lucky: 50, avatar: 256, nicknames: 20 },
        ),
        Workload::new("bench_payload/min", "basic.BenchPayload", SMALL_VARIANTS, payload_min),
        Workload::new("bench_payload/mid", "basic.BenchPayload", SMALL_VARIANTS, payload_mid),
    ]
}

/// What a person is made of.
#[derive(Clone, Copy)]
enum Plan {
    Tiny,
    Fifty,
    Small,
    Full { bytes: usize, friends: (usize, FriendPlan), lucky: usize, avatar: usize, nicknames: usize },
}

/// What friends are made of.
#[derive(Clone, Copy)]
enum FriendPlan {
    Plan50,
    Plan100,
}
use FriendPlan::{Plan50, Plan100};

const NAMES: [&str; 16] = [
    "Ada", "Grace", "Alan", "Edsger", "Barbara", "Donald", "Tony", "Frances", "Niklaus", "Margaret", "Dennis", "Ken",
    "Jean", "Zoë", "John", "Łucja",
];
const SHORT_NAMES: [&str; 16] = [
    "Adam", "Brian", "Carla", "Dora", "Emil", "Fiona", "Gustav", "Helga", "Ingo", "Jonas", "Karla", "Lea", "Moritz",
    "Zoë", "Otto", "Paula",
];
const STREETS: [&str; 6] = ["Main Street", "Elm Avenue", "Station Road", "Mill Lane", "Königsallee", "High Street"];
const CITIES: [&str; 8] = ["Boston", "Köln", "Lisbon", "Oslo", "Nairobi", "Quito", "Osaka", "Perth"];
const DOMAINS: [&str; 4] = ["example.com", "example.org", "mail.example", "post.example"];

fn email(rng: &mut Rng) -> String {
    let (first, last) = (rng.count(3, 6), rng.count(5, 9));
    format!("{}.{}@{}", rng.word(first), rng.word(last), rng.pick(&DOMAINS))
}

fn full_name(rng: &mut Rng) -> String {
    let last = rng.count(5, 9);
    format!("{} {}", rng.pick(&NAMES), rng.word(last))
}

fn person(rng: &mut Rng, plan: Plan) -> Writer {
    let mut out = Writer::default();
    match plan {
        Plan::Tiny => {
            out.bytes(1, rng.pick(&SHORT_NAMES));
            out.int(2, rng.range(18, 99) as i64);
        }
        Plan::Fifty => {
            out.bytes(1, full_name(rng));
            out.int(2, rng.range(18, 99) as i64);
            out.element(3, email(rng));
            out.int(4, 1);
        }
        Plan::Small => {
            out.bytes(1, full_name(rng));
            out.int(2, rng.range(18, 99) as i64);
            out.element(3, email(rng));
            out.element(3, email(rng));
            out.int(4, rng.range(1, 3) as i64);
            out.message(5, |address| {
                address.bytes(2, rng.pick(&CITIES));
                address.int(3, rng.range(10_000, 99_999) as i64);
            });
            out.fixed64(9, rng.bits());
        }
        Plan::Full { bytes, friends, lucky, avatar, nicknames } => {
            let rest = full_rest(rng, friends, lucky, avatar, nicknames);
            out.bytes(1, full_name(rng));
            out.int(2, rng.range(18, 99) as i64);
            while out.len() + rest.len() + 15 < bytes {
                out.element(3, email(rng));
            }
            out = Writer::joined(out, rest);
        }
    }
    out
}

/// What comes after the e-mails in a full person.
fn full_rest(rng: &mut Rng, friends: (usize, FriendPlan), lucky: usize, avatar: usize, nicknames: usize) -> Writer {
    let mut out = Writer::default();
    out.int(4, rng.range(1, 3) as i64);
    out.message(5, |address| {
        address.bytes(1, format!("{} {}", rng.range(1, 250), rng.pick(&STREETS)));
        address.bytes(2, rng.pick(&CITIES));
        address.int(3, rng.range(10_000, 99_999) as i64);
        if rng.one_in(2) {
            address.bytes(4, format!("Apt. {}", rng.range(1, 99)));
        }
    });
    for _ in 0..friends.0 {
        let plan = match friends.1 {
            Plan50 => Plan::Fifty,
            Plan100 => Plan::Small,
        };
        let friend = person(rng, plan);
        out.element(6, friend.into_bytes());
    }
    out.packed(7, (0..lucky).map(|_| rng.range(1, 999)));
    out.bytes(8, rng.bytes(avatar));
    out.fixed64(9, rng.bits());
    out.uint(10, zigzag(rng.range(1, 200_000) as i64 - 100_000));
    out.double(11, rng.decimal(120));
    for at in 0..nicknames {
        out.message(12, |entry| {
            // The number keeps keys apart.
            let len = rng.count(3, 7);
            entry.bytes(1, format!("{}{at}", rng.word(len)));
            entry.int(2, rng.range(18, 99) as i64);
        });
    }
    out
}

fn payload_min(rng: &mut Rng) -> Vec<u8> {
    let mut out = Writer::default();
    out.int(1, rng.range(1, 100_000) as i64);
    let len = rng.count(5, 9);
    out.bytes(2, rng.word(len));
    out.into_bytes()
}

fn payload_mid(rng: &mut Rng) -> Vec<u8> {
    let mut out = Writer::default();
    out.int(1, rng.range(1, 10_000_000) as i64);
    out.bytes(2, full_name(rng));
    out.int(3, rng.range(1, 9) as i64);
    out.packed(4, (0..8).map(|_| rng.range(1, 9_999)));
    for _ in 0..4 {
        let len = rng.count(4, 12);
        out.element(5, rng.word(len));
    }
    out.message(6, |inner| {
        let len = rng.count(6, 14);
        inner.bytes(1, rng.word(len));
        inner.int(2, rng.range(1, 1_000) as i64);
    });
    out.group(7, |stats| {
        stats.int(8, rng.range(1_000, 50_000_000) as i64);
        stats.int(9, rng.range(1, 5) as i64);
    });
    out.int(100, rng.range(1, 9) as i64);
    out.bytes(101, rng.pick(&["eu-west-1", "us-east-2", "ap-south-1"]));
    out.into_bytes()
}
