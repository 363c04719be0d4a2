//! Inputs of all kinds for one message type: valid in every form, damaged, spliced from two, short and long.

use protojit_core::schema::model::{MessageId, SchemaData};

use crate::mutate::mutate;
use crate::rng::Rng;
use crate::wire_gen::{Style, WireGen};

/// Longer than what any engine copies whatever the caller says.
const LONG: usize = 512;

/// A source of inputs.
pub struct Inputs<'s> {
    wire: WireGen<'s>,
    message: MessageId,
    rng: Rng,
    last: Vec<u8>,
}

impl<'s> Inputs<'s> {
    /// Inputs for this message.
    pub fn new(data: &'s SchemaData, message: MessageId, rng: &mut Rng) -> Inputs<'s> {
        Inputs { wire: WireGen::new(data, rng.fork()), message, rng: rng.fork(), last: Vec::new() }
    }

    fn valid(&mut self) -> Vec<u8> {
        let style = *self.rng.pick(&[Style::PLAIN, Style::ODD, Style::MIXED]);
        let budget = *self.rng.pick(&[2, 10, 40, 120]);
        self.wire.message(self.message, style, budget)
    }

    /// So long that it is read in place. The bytes given come last, or amid others.
    fn lengthened(&mut self, bytes: &[u8]) -> Vec<u8> {
        let wanted = LONG + self.rng.below(300);
        let mut out = Vec::new();
        while out.len() + bytes.len() < wanted {
            match self.rng.below(3) {
                0 => out.extend(self.wire.unknown_field(Style::PLAIN)),
                _ => out.extend(self.wire.message(self.message, Style::MIXED, 40).into_iter().take(1 << 19)),
            }
            if out.is_empty() {
                out.extend(self.wire.unknown_field(Style::PLAIN));
            }
        }
        out.extend_from_slice(bytes);
        if self.rng.chance(20) {
            out.extend(self.wire.unknown_field(Style::PLAIN));
        }
        out
    }

    /// The next input, of at most about a MiB.
    pub fn fresh(&mut self) -> Vec<u8> {
        let mut bytes = self.valid();
        bytes.truncate(1 << 20);
        if self.rng.chance(50) {
            let mutated = mutate(&mut self.rng, &bytes, &self.last);
            self.last = std::mem::replace(&mut bytes, mutated);
        }
        if self.rng.chance(25) && bytes.len() < 1 << 20 { self.lengthened(&bytes) } else { bytes }
    }
}
