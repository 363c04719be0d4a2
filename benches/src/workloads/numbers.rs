//! Twenty scalars, and packed lists.
//!
//! Scalars are of the kinds and sizes that such fields have: small counters, timestamps, hashes, ratios; `half` has
//! another random half of them in each payload. Packed lists come in two widths: `small` values take one byte each,
//! `mixed` ones take one to five bytes (one to ten for 64 bits), each width equally often, and one `int32` in sixteen is
//! negative, which takes ten.

use super::{LEAST_VARIANTS, SMALL_VARIANTS, Workload};
use crate::rng::Rng;
use crate::wire::{Writer, zigzag};

pub(super) fn workloads() -> Vec<Workload> {
    let mut all = vec![
        Workload::new("scalars/all", "scalars.Scalars", SMALL_VARIANTS, |rng| scalars(rng, false)),
        Workload::new("scalars/half", "scalars.Scalars", SMALL_VARIANTS, |rng| scalars(rng, true)),
    ];
    for (kind, name, mixed) in [
        (Kind::Int32, "int32", false),
        (Kind::Int32, "int32", true),
        (Kind::Sint32, "sint32", false),
        (Kind::Sint32, "sint32", true),
        (Kind::Int64, "int64", false),
        (Kind::Int64, "int64", true),
        (Kind::Bool, "bool", false),
        (Kind::Double, "double", false),
        (Kind::Fixed32, "fixed32", false),
    ] {
        let width = match (kind, mixed) {
            (Kind::Int32 | Kind::Sint32 | Kind::Int64, true) => "/mixed",
            (Kind::Int32 | Kind::Sint32 | Kind::Int64, false) => "/small",
            _ => "",
        };
        for count in [10, 1_000, 100_000] {
            let variants = if count == 10 { SMALL_VARIANTS } else { LEAST_VARIANTS };
            let name = format!("packed/{name}/{count}{width}");
            all.push(Workload::new(name, "packed.Packed", variants, move |rng| packed(rng, kind, count, mixed)));
        }
    }
    all
}

fn scalars(rng: &mut Rng, half: bool) -> Vec<u8> {
    let present = if half { exactly_half(rng) } else { u32::MAX };
    let mut out = Writer::default();
    for number in (1..=20).filter(|number| present >> number & 1 == 1) {
        match number {
            1 => out.int(number, rng.range(1, 20) as i64),
            2 => out.int(number, rng.range(1, 1 << 40) as i64),
            3 => out.uint(number, rng.range(1_024, 65_535)),
            4 => out.uint(number, rng.range(1, 1 << 28)),
            5 => out.uint(number, zigzag(rng.range(1, 2_000) as i64 - 2_001)),
            6 => out.uint(number, zigzag(rng.range(1, 1 << 30) as i64)),
            7 | 9 => out.fixed32(number, rng.bits() as u32 | 1),
            8 | 10 => out.fixed64(number, rng.bits() | 1),
            11 => out.float(number, rng.range(1, 1_000) as f32 / 1_000.0),
            12 | 18 => out.double(number, rng.decimal(10_000)),
            13 | 14 => out.uint(number, true),
            15 => out.int(number, rng.range(1, 255) as i64),
            16 => out.int(number, rng.range(1_700_000_000_000, 1_800_000_000_000) as i64),
            17 => out.uint(number, rng.range(1, 1 << 12)),
            19 => out.uint(number, zigzag(rng.range(1, 200_000) as i64 - 100_000)),
            _ => out.uint(number, rng.range(1, 1 << 50)),
        }
    }
    out.into_bytes()
}

/// A set of ten of the numbers from 1 to 20.
fn exactly_half(rng: &mut Rng) -> u32 {
    let mut set = 0u32;
    while set.count_ones() < 10 {
        set |= 1 << rng.range(1, 20);
    }
    set
}

#[derive(Clone, Copy)]
enum Kind {
    Int32,
    Sint32,
    Int64,
    Bool,
    Double,
    Fixed32,
}

fn packed(rng: &mut Rng, kind: Kind, count: usize, mixed: bool) -> Vec<u8> {
    let mut out = Writer::default();
    let width = |rng: &mut Rng, most: u64| if mixed { rng.range(1, most) as u32 } else { 1 };
    match kind {
        Kind::Int32 => {
            let values = (0..count).map(|_| {
                if mixed && rng.one_in(16) {
                    return -(rng.range(1, 1 << 30) as i64) as u64;
                }
                let width = width(rng, 5);
                rng.of_width(width).min(i32::MAX as u64)
            });
            out.packed(1, values);
        }
        Kind::Sint32 => {
            let values = (0..count).map(|_| {
                let width = width(rng, 5);
                rng.of_width(width).min(u64::from(u32::MAX))
            });
            out.packed(2, values);
        }
        Kind::Int64 => {
            let values = (0..count).map(|_| {
                let width = width(rng, 10);
                rng.of_width(width)
            });
            out.packed(3, values);
        }
        Kind::Bool => out.packed(4, (0..count).map(|_| u64::from(rng.one_in(2)))),
        Kind::Double => out.bytes(5, (0..count).flat_map(|_| rng.decimal(1_000_000).to_le_bytes()).collect::<Vec<_>>()),
        Kind::Fixed32 => out.bytes(6, (0..count).flat_map(|_| (rng.bits() as u32).to_le_bytes()).collect::<Vec<_>>()),
    }
    out.into_bytes()
}
