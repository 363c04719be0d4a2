//! Messages made of random bytes: every byte string is one, and shorter strings are smaller messages.

use protojit::MessageMut;
use protojit_core::message::{KeyRef, Value};
use protojit_core::program::{FieldSlot, Layout};
use protojit_core::schema::model::{FieldKind, WellKnown};

use super::message_type;

pub(super) struct Entropy<'b> {
    pub(super) rest: &'b [u8],
    /// Negative zeros, infinities and NaN are among the floats.
    pub(super) odd_floats: bool,
}

impl Entropy<'_> {
    fn byte(&mut self) -> u8 {
        let (&byte, rest) = self.rest.split_first().unwrap_or((&0, &[]));
        self.rest = rest;
        byte
    }

    fn below(&mut self, limit: u8) -> u8 {
        self.byte() % limit
    }

    /// Often an edge, else anything.
    fn bits(&mut self) -> u64 {
        match self.below(8) {
            0 => 0,
            1 => u64::MAX,
            2 => 1 << 63,
            3 => 1 << 31,
            4 => u64::from(u32::MAX),
            5 => 1,
            _ => u64::from_le_bytes(std::array::from_fn(|_| self.byte())),
        }
    }

    fn double(&mut self) -> f64 {
        let value = match self.below(8) {
            0 => f64::NAN,
            1 => f64::INFINITY,
            2 => f64::NEG_INFINITY,
            3 => -0.0,
            4 => f64::from(self.byte()) / 8.0,
            _ => f64::from_bits(self.bits()),
        };
        self.number(value)
    }

    fn float(&mut self) -> f32 {
        let value = f32::from_bits(self.bits() as u32);
        self.number(value.into()) as f32
    }

    fn number(&self, value: f64) -> f64 {
        match value {
            _ if value.is_nan() => {
                if self.odd_floats {
                    f64::NAN
                } else {
                    0.0
                }
            }
            _ if !self.odd_floats && (value == 0.0 || value.is_infinite()) => 0.0,
            value => value,
        }
    }

    fn text(&mut self) -> String {
        let len = self.below(12);
        let pieces = [
            "a",
            "\"",
            "\\",
            "\n",
            "\u{0}",
            "é",
            "\u{1f601}",
            "/",
            "x'y",
            "\u{2028}",
            " ",
            "\u{7f}",
            "plain text of some length",
        ];
        (0..len).map(|_| pieces[usize::from(self.below(pieces.len() as u8))]).collect()
    }

    fn bytes(&mut self) -> Vec<u8> {
        let len = self.below(9);
        (0..len).map(|_| self.byte()).collect()
    }
}

/// A value to be set, and what it borrows.
enum Owned {
    Plain(Value<'static>),
    Str(String),
    Bytes(Vec<u8>),
}

impl Owned {
    fn value(&self) -> Value<'_> {
        match self {
            Owned::Plain(value) => *value,
            Owned::Str(text) => Value::Str(text),
            Owned::Bytes(bytes) => Value::Bytes(bytes),
        }
    }
}

fn scalar(layout: &Layout, kind: FieldKind, entropy: &mut Entropy<'_>) -> Owned {
    use FieldKind::*;
    Owned::Plain(match kind {
        Int32 | Sint32 | Sfixed32 => Value::I32(entropy.bits() as i32),
        Int64 | Sint64 | Sfixed64 => Value::I64(entropy.bits() as i64),
        Uint32 | Fixed32 => Value::U32(entropy.bits() as u32),
        Uint64 | Fixed64 => Value::U64(entropy.bits()),
        Float => Value::F32(entropy.float()),
        Double => Value::F64(entropy.double()),
        Bool => Value::Bool(entropy.below(2) == 1),
        String => return Owned::Str(entropy.text()),
        Bytes => return Owned::Bytes(entropy.bytes()),
        Enum(id) => {
            let def = layout.schema.enum_(id);
            let known = &def.values[usize::from(entropy.below(def.values.len() as u8))];
            let unknown = !def.closed && &*def.full_name != "google.protobuf.NullValue" && entropy.below(4) == 0;
            Value::Enum(if unknown { entropy.bits() as i32 } else { known.number })
        }
        Message(_) => unreachable!("no scalar"),
    })
}

/// Fills an empty message with what has a form as text.
pub(super) fn fill(message: &mut MessageMut<'_>, entropy: &mut Entropy<'_>, depth: u32) {
    let layout = message.layout();
    match layout.def().well_known {
        None | Some(WellKnown::Empty | WellKnown::Struct | WellKnown::ListValue | WellKnown::Wrapper) => {
            for slot in &layout.fields {
                // Few fields of the many.
                if !entropy.rest.is_empty() && entropy.below(if layout.fields.len() > 8 { 6 } else { 2 }) == 0 {
                    field(message, slot, entropy, depth);
                }
            }
        }
        Some(WellKnown::Value) => {
            let numbers: &[u32] = if depth == 0 { &[1, 3, 4] } else { &[1, 2, 3, 4, 5, 6] };
            let slot = layout.slot(numbers[usize::from(entropy.below(numbers.len() as u8))]).unwrap();
            if slot.number == 2 {
                let number = Some(entropy.double()).filter(|value| value.is_finite()).unwrap_or(0.5);
                message.set_slot(slot, number).unwrap();
            } else {
                field(message, slot, entropy, depth);
            }
        }
        Some(WellKnown::Timestamp) => {
            let seconds = (entropy.bits() % 315_537_897_600) as i64 - 62_135_596_800;
            message.set_slot(layout.slot(1).unwrap(), seconds).unwrap();
            message.set_slot(layout.slot(2).unwrap(), nanos(entropy)).unwrap();
        }
        Some(WellKnown::Duration) => {
            let (seconds, sign) = ((entropy.bits() % 315_576_000_001) as i64, i64::from(entropy.below(2)) * 2 - 1);
            message.set_slot(layout.slot(1).unwrap(), seconds * sign).unwrap();
            message.set_slot(layout.slot(2).unwrap(), nanos(entropy) * sign as i32).unwrap();
        }
        Some(WellKnown::FieldMask) => {
            for _ in 0..entropy.below(3) {
                let path = ["a", "foo_bar.baz", "x1.y_z"][usize::from(entropy.below(3))];
                message.push(layout.slot(1).unwrap(), path).unwrap();
            }
        }
        Some(WellKnown::Any) => {
            let ty = message_type("t.Inner");
            let mut payload = ty.new_message();
            fill(&mut payload.as_mut(), entropy, 1);
            let bytes = ty.encode_to_vec(payload.as_ref()).unwrap();
            message.set_slot(layout.slot(1).unwrap(), "type.googleapis.com/t.Inner").unwrap();
            message.set_slot(layout.slot(2).unwrap(), &bytes).unwrap();
        }
        Some(other) => unreachable!("{other:?}"),
    }
}

fn nanos(entropy: &mut Entropy<'_>) -> i32 {
    let nanos = (entropy.bits() % 1_000_000_000) as i32;
    let unit = [1, 1_000, 1_000_000, 1_000_000_000][usize::from(entropy.below(4))];
    nanos / unit * unit
}

fn field(message: &mut MessageMut<'_>, slot: &FieldSlot, entropy: &mut Entropy<'_>, depth: u32) {
    let layout = message.layout();
    let def = layout.field_def(slot);
    let is_message = matches!(slot.kind, FieldKind::Message(_));
    if is_message && depth == 0 {
        return;
    }
    if let (FieldKind::Message(entry), true) = (slot.kind, def.is_map) {
        let fields = &layout.schema.message(entry).fields;
        let (key_kind, value_kind) = (fields[0].kind, fields[1].kind);
        let mut map = message.map(slot).unwrap();
        for _ in 0..entropy.below(4) {
            let key = scalar(layout, key_kind, entropy);
            let key = match key.value() {
                Value::Bool(key) => KeyRef::from(key),
                Value::I32(key) => KeyRef::from(key),
                Value::I64(key) => KeyRef::from(key),
                Value::U32(key) => KeyRef::from(key),
                Value::U64(key) => KeyRef::from(key),
                Value::Str(key) => KeyRef::from(key),
                other => unreachable!("{other:?}"),
            };
            match value_kind {
                FieldKind::Message(_) => fill(&mut map.insert_message(key).unwrap(), entropy, depth - 1),
                kind => map.insert(key, scalar(layout, kind, entropy).value()).unwrap(),
            }
        }
    } else if !slot.is_singular() {
        for _ in 0..entropy.below(4) {
            match slot.kind {
                FieldKind::Message(_) => fill(&mut message.push_message(slot).unwrap(), entropy, depth - 1),
                kind => message.push(slot, scalar(layout, kind, entropy).value()).unwrap(),
            }
        }
    } else if is_message {
        fill(&mut message.mutable(slot).unwrap(), entropy, depth - 1);
    } else {
        message.set_slot(slot, scalar(layout, slot.kind, entropy).value()).unwrap();
    }
}
