//! From an `Any` to its message.
//!
//! An `Any` holds a message as wire bytes and names its type by a URL. To write it as text the bytes must be decoded,
//! to read it the message must be encoded. JSON and the text format know neither engines nor other schemas: they ask
//! an [`AnyResolver`].

use protojit_core::error::{DecodeError, EncodeError};
use protojit_core::memory::Arena;
use protojit_core::message::MessageRef;
use protojit_core::program::Shape;

use crate::{MessageType, Schema};

/// Finds the message types that `Any`s name.
pub trait AnyResolver {
    /// The type of this URL, such as `type.googleapis.com/acme.Order`; `None` if it is not known. [`type_name`] gives
    /// the message's name.
    fn resolve(&self, type_url: &str) -> Option<Box<dyn AnyType + '_>>;
}

/// A message type that an `Any` can hold.
pub trait AnyType {
    /// The shape that [`AnyType::decode`] gives and [`AnyType::encode`] takes.
    fn shape(&self) -> &Shape;

    /// Decodes the bytes in an `Any`.
    ///
    /// # Errors
    /// The bytes are no such message.
    fn decode<'a>(&'a self, bytes: &'a [u8], arena: &'a Arena) -> Result<MessageRef<'a>, DecodeError>;

    /// Encodes a message for an `Any`.
    ///
    /// # Errors
    /// The message lacks a required field, or exceeds a limit.
    fn encode(&self, message: MessageRef<'_>) -> Result<Vec<u8>, EncodeError>;
}

/// Knows no types: every `Any` that is not empty is an error (JSON) or stays bytes (text format).
#[derive(Clone, Copy, Default, Debug)]
pub struct NoTypes;

impl AnyResolver for NoTypes {
    fn resolve(&self, _: &str) -> Option<Box<dyn AnyType + '_>> {
        None
    }
}

/// The full name in a type URL: what follows the last slash. `None` where there is no slash or nothing behind it.
///
/// ```
/// use protojit::json::type_name;
/// assert_eq!(type_name("type.googleapis.com/acme.Order"), Some("acme.Order"));
/// assert_eq!(type_name("acme.Order"), None);
/// ```
pub fn type_name(type_url: &str) -> Option<&str> {
    type_url.rsplit_once('/').map(|(_, name)| name).filter(|name| !name.is_empty())
}

/// Knows the messages of the schema, whatever stands before the last slash of the URL.
impl AnyResolver for Schema {
    fn resolve(&self, type_url: &str) -> Option<Box<dyn AnyType + '_>> {
        let found = self.message(type_name(type_url)?).ok()?;
        Some(Box::new(found))
    }
}

impl AnyType for MessageType {
    fn shape(&self) -> &Shape {
        MessageType::shape(self)
    }

    fn decode<'a>(&'a self, bytes: &'a [u8], arena: &'a Arena) -> Result<MessageRef<'a>, DecodeError> {
        MessageType::decode(self, bytes, arena)
    }

    fn encode(&self, message: MessageRef<'_>) -> Result<Vec<u8>, EncodeError> {
        self.encode_to_vec(message)
    }
}
