//! protojit beside prost-reflect and prost.
//!
//! A program that has a `DescriptorPool` registers it ([`RuntimeExt`]) and keeps its own types at its borders:
//! messages become `DynamicMessage`s and the reverse, and so do generated `prost::Message` types ([`MessageTypeExt`]).
//! Values cross by way of wire bytes, the one form that both sides agree on, unknown fields included.
//!
//! ```
//! use prost_reflect::DescriptorPool;
//! use protojit::Runtime;
//! use protojit_prost_reflect::{MessageTypeExt, RuntimeExt};
//!
//! # let set = protox::compile(["hello.proto"], ["../examples"])?;
//! let pool = DescriptorPool::from_file_descriptor_set(set)?;
//! let descriptor = pool.get_message_by_name("hello.Person").ok_or("no such message")?;
//! let person = Runtime::new().register_message(&descriptor)?;
//!
//! let message = person.decode_owned(b"\x0a\x03Ada")?;
//! let dynamic = person.to_dynamic(message.as_ref(), &descriptor)?;
//! assert_eq!(dynamic.get_field_by_name("name").unwrap().as_str(), Some("Ada"));
//! assert_eq!(person.read_dynamic(&dynamic)?, message);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor};
use protojit::json::{JsonReadOptions, JsonWriteOptions};
use protojit::{DecodeError, EncodeError, Message, MessageRef, MessageType, RegisterError, Runtime, Schema};

/// A message was not brought to the other side.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// protojit could not encode it.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// prost could not decode it: it is of another type there.
    #[error(transparent)]
    Decode(#[from] prost::DecodeError),
}

/// Registering what prost-reflect holds.
pub trait RuntimeExt {
    /// Registers the files of a pool.
    ///
    /// # Errors
    /// As [`Runtime::register`].
    fn register_pool(&self, pool: &DescriptorPool) -> Result<Schema, RegisterError>;

    /// Registers the pool of a message, and gives its type. Whoever wants several messages of a pool registers the pool.
    ///
    /// # Errors
    /// As [`Runtime::register`].
    fn register_message(&self, message: &MessageDescriptor) -> Result<MessageType, RegisterError>;
}

impl RuntimeExt for Runtime {
    fn register_pool(&self, pool: &DescriptorPool) -> Result<Schema, RegisterError> {
        self.register(&pool.encode_to_vec())
    }

    fn register_message(&self, message: &MessageDescriptor) -> Result<MessageType, RegisterError> {
        self.register_pool(message.parent_pool())?.message(message.full_name())
    }
}

/// Messages on their way to prost and prost-reflect, and back.
pub trait MessageTypeExt {
    /// The message as prost-reflect's.
    ///
    /// # Errors
    /// It cannot be encoded, or the descriptor is that of another message.
    fn to_dynamic(
        &self,
        message: MessageRef<'_>,
        descriptor: &MessageDescriptor,
    ) -> Result<DynamicMessage, ConvertError>;

    /// prost-reflect's message as protojit's.
    ///
    /// # Errors
    /// It is of another type.
    fn read_dynamic(&self, message: &DynamicMessage) -> Result<Message, DecodeError>;

    /// The message as one of a generated type.
    ///
    /// ```
    /// # let mut set = protox::compile(["google/protobuf/timestamp.proto"], ["."])?;
    /// # let set = prost::Message::encode_to_vec(&set);
    /// use protojit_prost_reflect::MessageTypeExt;
    ///
    /// let ty = protojit::Runtime::new().register(&set)?.message("google.protobuf.Timestamp")?;
    /// let message = ty.read_prost(&prost_types::Timestamp { seconds: 7, nanos: 9 })?;
    /// assert_eq!(message.as_ref().get(ty.shape().i64("seconds")?), 7);
    /// let again: prost_types::Timestamp = ty.to_prost(message.as_ref())?;
    /// assert_eq!((again.seconds, again.nanos), (7, 9));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// It cannot be encoded, or the generated type is that of another message.
    fn to_prost<M: prost::Message + Default>(&self, message: MessageRef<'_>) -> Result<M, ConvertError>;

    /// A message of a generated type as protojit's.
    ///
    /// # Errors
    /// It is of another type.
    fn read_prost<M: prost::Message>(&self, message: &M) -> Result<Message, DecodeError>;
}

impl MessageTypeExt for MessageType {
    fn to_dynamic(
        &self,
        message: MessageRef<'_>,
        descriptor: &MessageDescriptor,
    ) -> Result<DynamicMessage, ConvertError> {
        Ok(DynamicMessage::decode(descriptor.clone(), &self.encode_to_vec(message)?[..])?)
    }

    fn read_dynamic(&self, message: &DynamicMessage) -> Result<Message, DecodeError> {
        self.decode_owned(&message.encode_to_vec())
    }

    fn to_prost<M: prost::Message + Default>(&self, message: MessageRef<'_>) -> Result<M, ConvertError> {
        Ok(M::decode(&self.encode_to_vec(message)?[..])?)
    }

    fn read_prost<M: prost::Message>(&self, message: &M) -> Result<Message, DecodeError> {
        self.decode_owned(&message.encode_to_vec())
    }
}

/// How JSON is written, by prost-reflect's names and with its defaults.
///
/// ```
/// use protojit::json::JsonWriteOptions;
/// use protojit_prost_reflect::SerializeOptions;
///
/// let options: JsonWriteOptions = SerializeOptions::new().use_proto_field_name(true).skip_default_fields(false).into();
/// assert!(options.proto_field_names && options.emit_defaults && !options.int64_as_numbers);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SerializeOptions(JsonWriteOptions);

impl Default for SerializeOptions {
    fn default() -> Self {
        SerializeOptions::new()
    }
}

impl SerializeOptions {
    /// prost-reflect's defaults, which are protojit's.
    pub fn new() -> SerializeOptions {
        SerializeOptions(JsonWriteOptions::default())
    }

    /// 64-bit integers as strings; default true.
    #[must_use]
    pub fn stringify_64_bit_integers(mut self, yes: bool) -> Self {
        self.0.int64_as_numbers = !yes;
        self
    }

    /// Enum values as numbers; default false.
    #[must_use]
    pub fn use_enum_numbers(mut self, yes: bool) -> Self {
        self.0.enums_as_integers = yes;
        self
    }

    /// Declared field names instead of JSON names; default false.
    #[must_use]
    pub fn use_proto_field_name(mut self, yes: bool) -> Self {
        self.0.proto_field_names = yes;
        self
    }

    /// Leave out fields that hold their default; default true.
    #[must_use]
    pub fn skip_default_fields(mut self, yes: bool) -> Self {
        self.0.emit_defaults = !yes;
        self
    }
}

impl From<SerializeOptions> for JsonWriteOptions {
    fn from(options: SerializeOptions) -> Self {
        options.0
    }
}

/// How JSON is read, by prost-reflect's names and with its defaults.
///
/// ```
/// use protojit::json::JsonReadOptions;
/// use protojit_prost_reflect::DeserializeOptions;
///
/// let options: JsonReadOptions = DeserializeOptions::new().deny_unknown_fields(false).into();
/// assert!(options.ignore_unknown);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct DeserializeOptions(JsonReadOptions);

impl Default for DeserializeOptions {
    fn default() -> Self {
        DeserializeOptions::new()
    }
}

impl DeserializeOptions {
    /// prost-reflect's defaults, which are protojit's.
    pub fn new() -> DeserializeOptions {
        DeserializeOptions(JsonReadOptions::default())
    }

    /// Refuse fields that the message does not have; default true.
    #[must_use]
    pub fn deny_unknown_fields(mut self, yes: bool) -> Self {
        self.0.ignore_unknown = !yes;
        self
    }
}

impl From<DeserializeOptions> for JsonReadOptions {
    fn from(options: DeserializeOptions) -> Self {
        options.0
    }
}
