//! Accidents: what happens to bytes on their way.

use crate::rng::Rng;

/// Bytes that mean much where they come: ends and continuations of varints, tags of groups, lengths.
const TELLING: [u8; 16] =
    [0x00, 0x01, 0x07, 0x08, 0x0a, 0x0b, 0x0c, 0x13, 0x14, 0x7f, 0x80, 0x81, 0x8a, 0xf4, 0xfb, 0xff];

/// A copy with one to four accidents; `other` is what is spliced in.
pub fn mutate(rng: &mut Rng, bytes: &[u8], other: &[u8]) -> Vec<u8> {
    let mut out = bytes.to_vec();
    for _ in 0..*rng.pick(&[1, 1, 1, 1, 2, 4]) {
        accident(rng, &mut out, other);
    }
    out
}

fn accident(rng: &mut Rng, out: &mut Vec<u8>, other: &[u8]) {
    let len = out.len();
    let at = rng.below(len + 1);
    match rng.below(11) {
        0 if len > 0 => out.truncate(at),
        1 | 2 if at < len => out[at] ^= 1 << rng.below(8),
        3 if at < len => out[at] = *rng.pick(&TELLING),
        4 if at < len => out[at] = rng.bits() as u8,
        // Lengths, mostly.
        5 if at < len => out[at] = out[at].wrapping_add(*rng.pick(&[1, 2, 8, 0xff, 0xfe, 0xf8])),
        6 => {
            let more: Vec<u8> = (0..=rng.below(6)).map(|_| *rng.pick(&TELLING)).collect();
            out.splice(at..at, more);
        }
        7 if at < len => {
            let end = at + 1 + rng.below((len - at).min(8));
            out.drain(at..end);
        }
        8 if at < len => {
            let end = at + 1 + rng.below(len - at);
            let part = out[at..end].to_vec();
            out.splice(at..at, part);
        }
        9 if !other.is_empty() => {
            let from = rng.below(other.len());
            let to = from + rng.below(other.len() - from + 1);
            let until = at + rng.below(len - at + 1);
            out.splice(at..until, other[from..to].iter().copied());
        }
        _ => {
            // A varint that goes on.
            let more = vec![*rng.pick(&[0x80, 0xff]); 1 + rng.below(10)];
            out.splice(at..at, more);
        }
    }
    out.truncate(1 << 20);
}
