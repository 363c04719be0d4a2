//! Wire bytes to JSON and back, in one call each.

use protojit_core::error::{DecodeError, EncodeError};
use protojit_core::memory::Arena;

use crate::json::{self, JsonReadOptions, JsonWriteOptions, ReadError, WriteError};
use crate::message_type::MessageType;

/// Why a message was not turned into JSON, or JSON into a message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TranscodeError {
    /// The wire bytes are no valid message.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The message has no JSON form.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The JSON is no message of this type.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The message cannot be encoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
}

impl MessageType {
    /// Appends a message to `out` as JSON. Types in an `Any` are looked up in the type's schema.
    ///
    /// ```
    /// # let set = &protojit_source::ProtoSources::new().include("examples").compile(["hello.proto"])?;
    /// # let person = protojit::Runtime::new().register(set)?.message("hello.Person")?;
    /// let (mut out, options) = (b"person: ".to_vec(), Default::default());
    /// person.wire_to_json(b"\x0a\x03Ada\x10\x24", &options, &mut out)?;
    /// assert_eq!(out, br#"person: {"name":"Ada","age":36}"#);
    ///
    /// person.wire_to_json(b"\x0a\x03Ada\x0a", &options, &mut out).unwrap_err();
    /// assert_eq!(out, br#"person: {"name":"Ada","age":36}"#); // as it was
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The bytes are no valid message, or it has no JSON form. Then `out` is as it was.
    pub fn wire_to_json(
        &self,
        input: &[u8],
        options: &JsonWriteOptions,
        out: &mut Vec<u8>,
    ) -> Result<(), TranscodeError> {
        let arena = Arena::with_capacity(input.len() + 512);
        let message = self.decode(input, &arena)?;
        json::write(message, options, self.schema(), out)?;
        Ok(())
    }

    /// Appends the wire bytes of a message that is written as JSON.
    ///
    /// ```
    /// # let set = &protojit_source::ProtoSources::new().include("examples").compile(["hello.proto"])?;
    /// # let person = protojit::Runtime::new().register(set)?.message("hello.Person")?;
    /// let (mut out, options) = (Vec::new(), Default::default());
    /// person.json_to_wire(br#"{"name": "Ada", "age": 36}"#, &options, &mut out)?;
    /// assert_eq!(out, b"\x0a\x03Ada\x10\x24");
    ///
    /// let error = person.json_to_wire(br#"{"age": "old"}"#, &options, &mut out).unwrap_err();
    /// assert!(error.to_string().contains("line 1"), "{error}");
    /// assert_eq!(out, b"\x0a\x03Ada\x10\x24"); // as it was
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The text is no message of this type, or that cannot be encoded. Then `out` is as it was.
    pub fn json_to_wire(
        &self,
        input: &[u8],
        options: &JsonReadOptions,
        out: &mut Vec<u8>,
    ) -> Result<(), TranscodeError> {
        let mut message = self.new_message();
        json::read(input, &mut message.as_mut(), options, self.schema())?;
        self.append_to(message.as_ref(), out)?;
        Ok(())
    }
}
