//! Records: maps, a log line, analytics events, and a stream of short messages.
//!
//! * `map/string-int32/N`: keys of 6 to 16 letters, in random order, none twice;
//! * `map/int32-message/N`: random positive keys, an item with label, quantity and price;
//! * `log/record`: some 400 bytes: fixed timestamp, severity, logger, a message of 8 to 16 words, source, host, trace id,
//!   3 tags, a request in two of three, an exception in one of eight, 6 labels (a map of strings);
//! * `analytics/batch`: 10 events of four kinds, nested up to seven levels: visitor, device, system, version; clicks
//!   with the elements around the one that was hit; purchases with lines and products;
//! * `ticks/30B`: 1,000 messages of some 30 bytes, each different, with fields present at random.

use super::{LEAST_VARIANTS, SMALL_VARIANTS, Workload};
use crate::rng::Rng;
use crate::wire::Writer;

/// The map workloads.
pub(super) fn maps() -> Vec<Workload> {
    let mut all = Vec::new();
    for count in [1, 10, 200] {
        let variants = if count == 200 { LEAST_VARIANTS } else { SMALL_VARIANTS };
        all.push(Workload::new(format!("map/string-int32/{count}"), "maps.Counters", variants, move |rng| {
            counters(rng, count)
        }));
    }
    for count in [1, 10, 200] {
        let variants = if count == 200 { LEAST_VARIANTS } else { SMALL_VARIANTS };
        all.push(Workload::new(format!("map/int32-message/{count}"), "maps.Inventory", variants, move |rng| {
            inventory(rng, count)
        }));
    }
    all
}

/// The others.
pub(super) fn workloads() -> Vec<Workload> {
    vec![
        Workload::new("log/record", "logs.LogRecord", SMALL_VARIANTS, log_record),
        Workload::new("analytics/batch", "analytics.Batch", LEAST_VARIANTS, batch),
        Workload::new("ticks/30B", "ticks.Tick", 1_000, tick),
    ]
}

fn word(rng: &mut Rng, low: usize, high: usize) -> String {
    let len = rng.count(low, high);
    rng.word(len)
}

fn counters(rng: &mut Rng, count: usize) -> Vec<u8> {
    let mut out = Writer::default();
    for at in 0..count {
        out.message(1, |entry| {
            // The number keeps keys apart.
            entry.bytes(1, format!("{}{at}", word(rng, 5, 13)));
            entry.int(2, rng.range(1, 100_000) as i64);
        });
    }
    out.into_bytes()
}

fn inventory(rng: &mut Rng, count: usize) -> Vec<u8> {
    let mut out = Writer::default();
    for at in 0..count as u64 {
        out.message(1, |entry| {
            entry.int(1, (rng.range(0, 5_000) * 256 + at + 1) as i64);
            entry.message(2, |item| {
                item.bytes(1, word(rng, 6, 14));
                item.int(2, rng.range(1, 500) as i64);
                item.double(3, rng.decimal(1_000));
            });
        });
    }
    out.into_bytes()
}

const VERBS: [&str; 6] = ["accepted", "started", "rejected", "finished", "retried", "forwarded"];
const TAGS: [&str; 8] = ["edge", "canary", "batch", "tenant-a", "tenant-b", "ipv6", "slow", "cached"];
const LABELS: [&str; 10] =
    ["region", "zone", "cluster", "namespace", "pod", "container", "team", "release", "shard", "tier"];
const METHODS: [&str; 4] = ["GET", "POST", "PUT", "DELETE"];

fn time(rng: &mut Rng) -> u64 {
    rng.range(1_700_000_000_000_000_000, 1_800_000_000_000_000_000)
}

fn log_record(rng: &mut Rng) -> Vec<u8> {
    let mut out = Writer::default();
    out.fixed64(1, time(rng));
    out.int(2, rng.range(1, 4) as i64);
    out.bytes(3, format!("{}.{}", word(rng, 4, 8), word(rng, 5, 10)));
    let words = rng.count(8, 16);
    let text: Vec<_> =
        (0..words).map(|at| if at == 1 { rng.pick(&VERBS).to_owned() } else { word(rng, 2, 9) }).collect();
    out.bytes(4, text.join(" "));
    out.message(5, |source| {
        source.bytes(1, format!("src/{}/{}.rs", word(rng, 4, 8), word(rng, 4, 10)));
        source.uint(2, rng.range(1, 2_000));
        source.bytes(3, word(rng, 6, 14));
    });
    if rng.one_in(8) {
        out.bytes(6, format!("Timeout: {} after {} ms", word(rng, 5, 9), rng.range(100, 30_000)));
    }
    out.bytes(7, format!("node-{}.{}.internal", rng.range(1, 400), word(rng, 3, 6)));
    out.int(8, rng.range(100, 60_000) as i64);
    out.bytes(9, rng.bytes(16));
    if !rng.one_in(3) {
        out.message(10, |request| {
            request.bytes(1, rng.pick(&METHODS));
            request.bytes(2, format!("/api/v{}/{}/{}", rng.range(1, 3), word(rng, 5, 10), rng.range(1, 99_999)));
            request.int(3, *rng.pick(&[&200, &201, &204, &404, &500]));
            request.int(4, rng.range(1, 200_000) as i64);
            request.double(5, rng.decimal(800));
            request.bytes(6, format!("{}/{}.{}", word(rng, 5, 9), rng.range(1, 20), rng.range(0, 99)));
        });
    }
    for _ in 0..3 {
        out.element(11, rng.pick(&TAGS));
    }
    let first = rng.count(0, LABELS.len() - 1);
    for at in 0..6 {
        out.message(12, |entry| {
            entry.bytes(1, LABELS[(first + at * 3) % LABELS.len()]);
            entry.bytes(2, word(rng, 4, 14));
        });
    }
    out.into_bytes()
}

fn batch(rng: &mut Rng) -> Vec<u8> {
    let mut out = Writer::default();
    out.bytes(1, word(rng, 6, 12));
    for _ in 0..10 {
        out.message(2, |event| write_event(rng, event));
    }
    out.into_bytes()
}

fn write_event(rng: &mut Rng, event: &mut Writer) {
    event.fixed64(1, time(rng));
    event.bytes(2, word(rng, 5, 14));
    event.message(3, |visitor| write_visitor(rng, visitor));
    match rng.range(0, 7) {
        0..=2 => event.message(4, |view| {
            view.bytes(1, format!("https://shop.example/{}/{}", word(rng, 4, 10), word(rng, 6, 20)));
            view.bytes(2, format!("https://{}.example/", word(rng, 4, 9)));
            view.uint(3, rng.range(20, 4_000));
        }),
        3..=5 => event.message(5, |click| {
            click.sint(1, rng.range(1, 2_000) as i64 - 100);
            click.sint(2, rng.range(1, 4_000) as i64 - 100);
            let depth = rng.count(1, 4);
            click.message(3, |element| write_element(rng, element, depth));
        }),
        6 => event.message(6, |purchase| {
            purchase.bytes(1, rng.hex(12));
            for _ in 0..rng.count(1, 4) {
                purchase.message(2, |line| {
                    line.message(1, |product| {
                        product.bytes(1, rng.hex(8));
                        product.bytes(2, word(rng, 5, 10));
                        product.int(3, rng.range(99, 99_999) as i64);
                    });
                    line.uint(2, rng.range(1, 5));
                });
            }
            purchase.bytes(3, rng.pick(&["EUR", "USD", "JPY"]));
        }),
        _ => event.bytes(7, word(rng, 10, 40)),
    }
    let experiments = rng.count(0, 5);
    event.packed(8, (0..experiments).map(|_| rng.range(1, 3_000)));
}

fn write_element(rng: &mut Rng, element: &mut Writer, depth: usize) {
    element.bytes(1, rng.pick(&["div", "button", "a", "section", "nav"]));
    if rng.one_in(2) {
        element.bytes(2, word(rng, 4, 16));
    }
    if depth > 1 {
        element.message(3, |parent| write_element(rng, parent, depth - 1));
    }
}

fn write_visitor(rng: &mut Rng, visitor: &mut Writer) {
    visitor.bytes(1, rng.hex(16));
    if rng.one_in(2) {
        visitor.int(2, rng.range(1, 1 << 33) as i64);
    }
    visitor.message(3, |device| {
        device.bytes(1, format!("{} {}", word(rng, 5, 8), rng.range(5, 20)));
        device.message(2, |system| {
            system.bytes(1, rng.pick(&["Linux", "Android", "Windows"]));
            system.message(2, |version| {
                version.uint(1, rng.range(1, 20));
                version.uint(2, rng.range(0, 9));
                version.uint(3, rng.range(0, 3_000));
            });
        });
        device.message(3, |screen| {
            screen.uint(1, rng.range(320, 3_840));
            screen.uint(2, rng.range(480, 2_160));
            screen.float(3, rng.range(4, 14) as f32 / 4.0);
        });
    });
    if !rng.one_in(4) {
        visitor.message(4, |place| {
            place.bytes(1, rng.pick(&["DE", "US", "JP", "BR"]));
            place.bytes(2, rng.pick(&["Köln", "Boston", "Osaka", "São Paulo"]));
            place.double(3, rng.decimal(90));
            place.double(4, rng.decimal(180));
        });
    }
}

fn tick(rng: &mut Rng) -> Vec<u8> {
    let mut out = Writer::default();
    out.bytes(1, word(rng, 3, 5).to_uppercase());
    out.fixed64(2, time(rng));
    out.int(3, rng.range(100, 5_000_000) as i64);
    if !rng.one_in(4) {
        out.sint(4, rng.range(1, 4_000) as i64 - 2_000);
    }
    out.uint(5, rng.range(1, 200_000));
    out.uint(6, rng.one_in(8));
    if !rng.one_in(3) {
        out.bytes(7, word(rng, 3, 7).to_uppercase());
    }
    if rng.one_in(2) {
        out.int(8, rng.range(1, 1_000) as i64);
    }
    out.into_bytes()
}
