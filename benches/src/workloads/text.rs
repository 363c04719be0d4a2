//! One string of a megabyte: ASCII words, and words of which one in four has letters of two and three bytes.

use super::{LEAST_VARIANTS, Workload};
use crate::rng::Rng;
use crate::wire::Writer;

pub(super) fn workloads() -> Vec<Workload> {
    vec![
        Workload::new("text/1MB/ascii", "texts.Document", LEAST_VARIANTS, |rng| document(rng, false)),
        Workload::new("text/1MB/mixed", "texts.Document", LEAST_VARIANTS, |rng| document(rng, true)),
    ]
}

const FOREIGN: [&str; 8] = ["Straße", "Łódź", "naïve", "größer", "日本語", "Ελλάδα", "мир", "señor"];

fn document(rng: &mut Rng, mixed: bool) -> Vec<u8> {
    let mut out = Writer::default();
    out.bytes(1, rng.word(20));
    let mut body = String::with_capacity(1_000_020);
    while body.len() < 1_000_000 {
        if mixed && rng.one_in(4) {
            body.push_str(rng.pick(&FOREIGN));
        } else {
            let len = rng.count(2, 10);
            body.push_str(&rng.word(len));
        }
        body.push(' ');
    }
    out.bytes(2, body);
    out.into_bytes()
}
