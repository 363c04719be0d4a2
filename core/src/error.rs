//! Errors: what went wrong, at which byte, in which field.

use std::fmt;
use std::sync::Arc;

use crate::schema::model::{FieldKey, FieldKind, MessageId, SchemaData};

/// Why bytes were refused.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// The input or the frame ends inside a tag or a value.
    #[error("the bytes end inside a value")]
    Truncated,
    /// A varint of more than ten bytes, or of more than 64 bits.
    #[error("a varint is longer than ten bytes or 64 bits")]
    MalformedVarint,
    /// A tag of more than 32 bits, a field number 0, or wire type 6 or 7.
    #[error("a tag has field number 0, an unknown wire type, or more than 32 bits")]
    InvalidTag,
    /// A length that reaches beyond the frame it stands in, or beyond 2^31-1.
    #[error("a length reaches beyond its message")]
    LengthOutOfBounds,
    /// A packed field whose length is no multiple of its element's width.
    #[error("a packed field ends inside an element")]
    PackedLength,
    /// A string that is not UTF-8, where the schema asks for the check.
    #[error("a string is not UTF-8")]
    InvalidUtf8,
    /// An end-group tag that closes no group, or another group than the open one.
    #[error("an end-group tag does not match an open group")]
    UnmatchedEndGroup,
    /// A group that its frame ends before.
    #[error("a group is not closed")]
    UnclosedGroup,
    /// Messages or groups nested deeper than the limit.
    #[error("messages are nested deeper than the limit")]
    DepthLimit,
    /// The arena's limit is reached.
    #[error("the arena's memory limit is reached")]
    MemoryLimit,
    /// More unknown fields, or more bytes of them, than the limit.
    #[error("the limit of unknown fields is reached")]
    UnknownFieldLimit,
    /// The message is larger than the limit.
    #[error("the message is larger than the limit")]
    MessageTooLarge,
    /// A required field is missing.
    #[error("a required field is missing")]
    MissingRequired,
    /// The message to merge into is of another type.
    #[error("the message is of another type")]
    WrongType,
    /// Compiled code refused what the interpreter accepts: a fault of this library, please report it.
    #[error("the engines disagree about this input")]
    EngineDisagreement,
}

/// Why a message could not be written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeErrorKind {
    /// A required field is not set.
    #[error("a required field is not set")]
    MissingRequired,
    /// Messages are nested deeper than the limit.
    #[error("messages are nested deeper than the limit")]
    DepthLimit,
    /// The message, or a part of it, is larger than the limit (at most 2^31-1 bytes).
    #[error("the message is larger than the limit")]
    MessageTooLarge,
    /// The slice to write into is too small; so many bytes are needed.
    #[error("the buffer is too small, {needed} bytes are needed")]
    BufferTooSmall {
        /// Bytes needed.
        needed: usize,
    },
    /// A string that is not UTF-8, where the schema asks for the check.
    #[error("a string is not UTF-8")]
    InvalidUtf8,
    /// The allocator refused.
    #[error("out of memory")]
    OutOfMemory,
    /// The message is not of the type that was to be written.
    #[error("the message is of another type")]
    WrongType,
}

/// Which field: the message the operation began with, and the way down from there.
#[derive(Clone)]
pub struct FieldPath {
    schema: Arc<SchemaData>,
    root: MessageId,
    fields: Vec<FieldKey>,
}

impl FieldPath {
    /// The path that `numbers` of fields lead along below the message `root`, outermost first. On the way through a map stand
    /// the map's number and that of the entry's key (1) or value (2). It ends at a number that is not there.
    pub fn new(schema: Arc<SchemaData>, root: MessageId, numbers: impl IntoIterator<Item = u32>) -> FieldPath {
        let (mut fields, mut message) = (Vec::new(), Some(root));
        for number in numbers {
            let Some(key) = message.and_then(|id| schema.field_by_number(id, number)) else { break };
            message = match schema.field(key).kind {
                FieldKind::Message(id) => Some(id),
                _ => None,
            };
            fields.push(key);
        }
        FieldPath { schema, root, fields }
    }

    /// The fields below the root message, outermost first.
    pub fn fields(&self) -> &[FieldKey] {
        &self.fields
    }
}

/// Such as `Person.address.zip`; an extension as `Person.[acme.priority]`.
impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let root = self.schema.message(self.root);
        f.write_str(root.full_name.get(root.name_at as usize..).unwrap_or(&root.full_name))?;
        for &key in &self.fields {
            match key {
                FieldKey::Field(..) => write!(f, ".{}", self.schema.field(key).name)?,
                FieldKey::Extension(id) => write!(f, ".[{}]", self.schema.extensions[id.index()].full_name)?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

impl PartialEq for FieldPath {
    fn eq(&self, other: &Self) -> bool {
        self.root == other.root && self.fields == other.fields && Arc::ptr_eq(&self.schema, &other.schema)
    }
}

/// Bytes that could not be decoded.
///
/// The offset counts from the first byte of the input, and points to where the tag or value begins that could
/// not be read; for limits and missing fields, to where that was found.
#[derive(Clone, PartialEq, Debug)]
pub struct DecodeError(Box<DecodeErrorInner>);

#[derive(Clone, PartialEq, Debug)]
struct DecodeErrorInner {
    kind: DecodeErrorKind,
    offset: usize,
    path: FieldPath,
}

impl DecodeError {
    /// An error of this kind at this offset and field.
    pub fn new(kind: DecodeErrorKind, offset: usize, path: FieldPath) -> DecodeError {
        DecodeError(Box::new(DecodeErrorInner { kind, offset, path }))
    }

    /// What went wrong.
    pub fn kind(&self) -> DecodeErrorKind {
        self.0.kind
    }

    /// Byte offset in the input.
    pub fn offset(&self) -> usize {
        self.0.offset
    }

    /// The field, or the message where it is between fields.
    pub fn path(&self) -> &FieldPath {
        &self.0.path
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (byte {}, in {})", self.0.kind, self.0.offset, self.0.path)
    }
}

impl std::error::Error for DecodeError {}

/// A message that could not be encoded.
#[derive(Clone, PartialEq, Debug)]
pub struct EncodeError(Box<(EncodeErrorKind, FieldPath)>);

impl EncodeError {
    /// An error of this kind at this field.
    pub fn new(kind: EncodeErrorKind, path: FieldPath) -> EncodeError {
        EncodeError(Box::new((kind, path)))
    }

    /// What went wrong.
    pub fn kind(&self) -> EncodeErrorKind {
        self.0.0
    }

    /// The field, or the message where it is no field.
    pub fn path(&self) -> &FieldPath {
        &self.0.1
    }
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (in {})", self.kind(), self.path())
    }
}

impl std::error::Error for EncodeError {}
