//! Messages on their way out as wire bytes, plain or in digits.

use protojit::{EncodeBuffer, EncodeError, MessageRef, MessageType};
use protojit_core::wire::push_varint;

use crate::args::WireText;
use crate::digits::Digits;

/// Encodes messages in one format.
pub struct WireWriter {
    to: WireText,
    delimited: bool,
    encoded: EncodeBuffer,
    frame: Vec<u8>,
}

impl WireWriter {
    /// Messages are written as bytes or digits, in a stream each behind its length. Digits end in a line break.
    pub fn new(to: WireText, delimited: bool) -> WireWriter {
        WireWriter { to, delimited, encoded: EncodeBuffer::new(), frame: Vec::new() }
    }

    /// Appends the message to `out`.
    pub fn write(
        &mut self,
        message_type: &MessageType,
        message: MessageRef<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let bytes = message_type.encode_into(message, &mut self.encoded)?;
        let digits = match self.to {
            WireText::Binary => {
                if self.delimited {
                    push_varint(bytes.len() as u64, out);
                }
                out.extend_from_slice(bytes);
                return Ok(());
            }
            WireText::Hex => Digits::Hex,
            WireText::Base64 => Digits::Base64,
        };
        self.frame.clear();
        if self.delimited {
            push_varint(bytes.len() as u64, &mut self.frame);
        }
        self.frame.extend_from_slice(bytes);
        digits.write(&self.frame, out);
        out.push(b'\n');
        Ok(())
    }
}
