//! A trace export in the manner of OpenTelemetry's, 50 to 100 KB.
//!
//! 3 resources with 8 attributes, 2 scopes each, 20 to 40 spans per scope. A span has ids of 16 and 8 bytes, a parent in
//! seven of eight, a name, kind, two timestamps, 4 to 10 attributes (six of ten strings, else integers, bools, doubles,
//! lists), an event in one of three, a link in one of eight, a status in one of four.

use super::{LEAST_VARIANTS, Workload};
use crate::rng::Rng;
use crate::wire::Writer;

pub(super) fn workloads() -> Vec<Workload> {
    vec![Workload::new("otel/export", "otel.TraceExport", LEAST_VARIANTS, export)]
}

const KEYS: [&str; 20] = [
    "http.request.method",
    "http.response.status_code",
    "url.path",
    "url.scheme",
    "server.address",
    "server.port",
    "client.address",
    "user_agent.original",
    "network.protocol.version",
    "db.system.name",
    "db.namespace",
    "db.query.text",
    "messaging.system",
    "messaging.destination.name",
    "rpc.service",
    "rpc.method",
    "thread.id",
    "thread.name",
    "code.function.name",
    "error.type",
];

fn word(rng: &mut Rng, low: usize, high: usize) -> String {
    let len = rng.count(low, high);
    rng.word(len)
}

fn export(rng: &mut Rng) -> Vec<u8> {
    let mut out = Writer::default();
    for _ in 0..3 {
        out.message(1, |resource_spans| {
            resource_spans.message(1, |resource| attributes(rng, resource, 1, 8));
            for _ in 0..2 {
                resource_spans.message(2, |scope_spans| write_scope_spans(rng, scope_spans));
            }
            resource_spans.bytes(3, "https://schemas.example/1.30.0");
        });
    }
    out.into_bytes()
}

fn write_scope_spans(rng: &mut Rng, scope_spans: &mut Writer) {
    scope_spans.message(1, |scope| {
        scope.bytes(1, format!("{}.{}", word(rng, 5, 9), word(rng, 6, 12)));
        scope.bytes(2, format!("{}.{}.0", rng.range(0, 3), rng.range(0, 60)));
    });
    let trace_id = rng.bytes(16);
    for _ in 0..rng.count(20, 40) {
        scope_spans.message(2, |span| write_span(rng, span, &trace_id));
    }
}

fn write_span(rng: &mut Rng, span: &mut Writer, trace_id: &[u8]) {
    let start = rng.range(1_700_000_000_000_000_000, 1_800_000_000_000_000_000);
    let end = start + rng.range(10_000, 2_000_000_000);
    span.bytes(1, trace_id);
    span.bytes(2, rng.bytes(8));
    if rng.one_in(16) {
        span.bytes(3, format!("vendor={}", rng.hex(12)));
    }
    if !rng.one_in(8) {
        span.bytes(4, rng.bytes(8));
    }
    span.bytes(
        5,
        format!("{} /{}/{}", rng.pick(&["GET", "POST", "SELECT", "publish"]), word(rng, 3, 8), word(rng, 4, 9)),
    );
    span.int(6, rng.range(1, 5) as i64);
    span.fixed64(7, start);
    span.fixed64(8, end);
    let count = rng.count(4, 10);
    attributes(rng, span, 9, count);
    if rng.one_in(32) {
        span.uint(10, rng.range(1, 4));
    }
    if rng.one_in(3) {
        span.message(11, |event| {
            event.fixed64(1, rng.range(start, end));
            event.bytes(2, rng.pick(&["exception", "retry", "message"]));
            attributes(rng, event, 3, 2);
        });
    }
    if rng.one_in(8) {
        span.message(13, |link| {
            link.bytes(1, rng.bytes(16));
            link.bytes(2, rng.bytes(8));
            attributes(rng, link, 4, 1);
        });
    }
    if rng.one_in(4) {
        span.message(15, |status| {
            if rng.one_in(2) {
                status.bytes(2, format!("{} failed", word(rng, 4, 12)));
            }
            status.int(3, rng.range(1, 2) as i64);
        });
    }
    span.fixed32(16, 257);
}

fn attributes(rng: &mut Rng, out: &mut Writer, number: u32, count: usize) {
    let first = rng.count(0, KEYS.len() - 1);
    for at in 0..count {
        out.message(number, |attribute| {
            attribute.bytes(1, KEYS[(first + at * 7) % KEYS.len()]);
            attribute.message(2, |value| write_value(rng, value));
        });
    }
}

/// A value is never the zero of its kind: those who keep no presence could not tell it from none.
fn write_value(rng: &mut Rng, value: &mut Writer) {
    match rng.range(0, 9) {
        0..=5 => value.bytes(1, word(rng, 4, 28)),
        6 => value.uint(2, true),
        7 => value.int(3, rng.range(1, 70_000) as i64),
        8 => value.double(4, rng.decimal(1_000)),
        _ => value.message(5, |array| {
            for _ in 0..rng.count(1, 3) {
                array.message(1, |element| element.bytes(1, word(rng, 3, 10)));
            }
        }),
    }
}
