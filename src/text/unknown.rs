//! Unknown fields, as far as the wire tells what they are.

use protojit_core::message::{UnknownField, UnknownValue, read_unknown};

use super::string::push_quoted;
use super::write::{Done, Writer};
use crate::convert::number::push_integer;

/// How deep bytes are taken for messages.
const MOST_LEVELS: u32 = 10;

impl Writer<'_> {
    pub(super) fn unknown(&mut self, field: UnknownField<'_>) -> Done {
        self.unknown_at(field, MOST_LEVELS.min(self.left))
    }

    /// `left` levels may still be nested; what lies deeper is shown as bytes.
    fn unknown_at(&mut self, field: UnknownField<'_>, left: u32) -> Done {
        self.word("");
        push_integer(self.out, field.number);
        let inner = match field.value {
            UnknownValue::Group(bytes) if left > 0 => fields(bytes),
            UnknownValue::Len(bytes) if !bytes.is_empty() && left > 0 => fields(bytes),
            _ => None,
        };
        if let Some(inner) = inner {
            return self.nested(|writer| inner.into_iter().try_for_each(|field| writer.unknown_at(field, left - 1)));
        }
        self.literal(": ");
        match field.value {
            UnknownValue::Varint(value) => push_integer(self.out, value),
            UnknownValue::Fixed32(value) => self.literal(&format!("0x{value:08x}")),
            UnknownValue::Fixed64(value) => self.literal(&format!("0x{value:016x}")),
            UnknownValue::Len(bytes) | UnknownValue::Group(bytes) => push_quoted(self.out, bytes, false),
        }
        self.end();
        Ok(())
    }
}

/// The fields that bytes consist of, `None` if they are no message.
fn fields(bytes: &[u8]) -> Option<Vec<UnknownField<'_>>> {
    let (mut at, mut found) = (0, Vec::new());
    while at < bytes.len() {
        found.push(read_unknown(bytes, &mut at)?);
    }
    Some(found)
}
