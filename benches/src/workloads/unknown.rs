//! Input of which half is unknown: a newer writer's records, read by an older schema.
//!
//! Known and unknown fields are alike in kind and number (proto/unknown.proto lists them); a writer that sorts its fields
//! by number, as most do, puts the unknown ones last.

use super::{SMALL_VARIANTS, Workload};
use crate::rng::Rng;
use crate::wire::Writer;

pub(super) fn workloads() -> Vec<Workload> {
    let mut workload = Workload::new("unknown/half", "unknown.Known", SMALL_VARIANTS, |rng| {
        let mut out = Writer::default();
        write_known(rng, &mut out);
        write_unknown(rng, &mut out);
        out.into_bytes()
    });
    workload.has_unknown = true;
    vec![workload]
}

fn word(rng: &mut Rng, low: usize, high: usize) -> String {
    let len = rng.count(low, high);
    rng.word(len)
}

fn write_known(rng: &mut Rng, out: &mut Writer) {
    out.bytes(1, rng.hex(12));
    out.int(2, rng.range(1, 500) as i64);
    for _ in 0..3 {
        out.element(3, word(rng, 4, 14));
    }
    out.message(4, |origin| three(rng, origin));
    out.fixed64(5, rng.bits() | 1);
    out.double(6, rng.decimal(900));
    out.packed(7, (0..6).map(|_| rng.range(1, 4_000)));
    for _ in 0..3 {
        out.message(8, |step| two(rng, step));
    }
    out.uint(9, true);
    out.bytes(10, rng.bytes(20));
}

fn write_unknown(rng: &mut Rng, out: &mut Writer) {
    out.bytes(11, rng.hex(12));
    out.int(12, rng.range(1, 500) as i64);
    for _ in 0..3 {
        out.element(13, word(rng, 4, 14));
    }
    out.message(14, |origin| three(rng, origin));
    out.fixed64(15, rng.bits() | 1);
    out.double(16, rng.decimal(900));
    out.packed(17, (0..6).map(|_| rng.range(1, 4_000)));
    for _ in 0..3 {
        out.message(18, |step| two(rng, step));
    }
    out.uint(19, true);
    out.bytes(20, rng.bytes(20));
}

fn three(rng: &mut Rng, out: &mut Writer) {
    out.bytes(1, word(rng, 6, 12));
    out.int(2, rng.range(1, 1 << 34) as i64);
    out.double(3, rng.decimal(1));
}

fn two(rng: &mut Rng, out: &mut Writer) {
    out.bytes(1, word(rng, 5, 12));
    out.int(2, rng.range(1, 30_000) as i64);
}
