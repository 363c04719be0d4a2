//! Nested messages: a balanced tree of 511 nodes, and a chain of 60.
//!
//! Each node has a value, mostly of one byte. Links of the chain go left or right at random.

use super::{LEAST_VARIANTS, Workload};
use crate::rng::Rng;
use crate::wire::Writer;

pub(super) fn workloads() -> Vec<Workload> {
    vec![
        Workload::new("tree/511", "tree.Node", LEAST_VARIANTS, |rng| tree(rng, 9)),
        Workload::new("chain/60", "tree.Node", 32, |rng| chain(rng, 60)),
    ]
}

fn value(rng: &mut Rng, out: &mut Writer) {
    let most = if rng.one_in(4) { 16_383 } else { 127 };
    out.int(1, rng.range(1, most) as i64);
}

fn tree(rng: &mut Rng, levels: u32) -> Vec<u8> {
    let mut out = Writer::default();
    value(rng, &mut out);
    if levels > 1 {
        out.element(2, tree(rng, levels - 1));
        out.element(3, tree(rng, levels - 1));
    }
    out.into_bytes()
}

fn chain(rng: &mut Rng, links: usize) -> Vec<u8> {
    let mut inner: Option<Vec<u8>> = None;
    for _ in 0..links {
        let mut out = Writer::default();
        value(rng, &mut out);
        if let Some(inner) = inner {
            out.element(if rng.one_in(2) { 2 } else { 3 }, inner);
        }
        inner = Some(out.into_bytes());
    }
    inner.unwrap_or_default()
}
