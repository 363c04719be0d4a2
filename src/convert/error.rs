//! Errors of reading and writing text forms.
//!
//! Inside of the readers and writers an error is a [`Fault`]: it knows what went wrong and where in the input, and
//! collects the path while it rises. At the top it becomes a [`ReadError`] or [`WriteError`].

use std::fmt;

use protojit_core::memory::ArenaFull;
use protojit_core::message::SetError;
use protojit_core::program::Layout;

use super::path::{PathStep, ValuePath};

/// Why a text (JSON or text format) was refused.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadErrorKind {
    /// The text does not follow the grammar.
    #[error("syntax error")]
    Syntax,
    /// The text, or a string in it, is not UTF-8.
    #[error("invalid UTF-8")]
    InvalidUtf8,
    /// A string has an escape that does not exist or stands for nothing, such as half of a surrogate pair.
    #[error("invalid escape in a string")]
    InvalidEscape,
    /// Nested deeper than the limit.
    #[error("nested deeper than the limit")]
    DepthLimit,
    /// The message has no such field, and no such extension is known.
    #[error("unknown field")]
    UnknownField,
    /// The enum has no such value.
    #[error("unknown enum value")]
    UnknownEnumValue,
    /// A field that may be given once is given again, also by another of its names.
    #[error("field given twice")]
    DuplicateField,
    /// A key of a map is given again.
    #[error("map key given twice")]
    DuplicateKey,
    /// Two members of one oneof are given.
    #[error("another member of the oneof is set")]
    OneofConflict,
    /// The value is of another type than the field.
    #[error("value of the wrong type")]
    WrongType,
    /// A `null` where there is no null value: in a list, in a map, or as the whole text.
    #[error("null is not allowed here")]
    NullNotAllowed,
    /// A number with a fraction where an integer is wanted.
    #[error("not an integer")]
    NotInteger,
    /// A number that the field's type cannot hold.
    #[error("number out of range")]
    OutOfRange,
    /// A `bytes` value that is not base64.
    #[error("invalid base64")]
    InvalidBase64,
    /// No timestamp of RFC 3339, or not between the years 1 and 9999.
    #[error("invalid timestamp")]
    InvalidTimestamp,
    /// No duration, or beyond 315,576,000,000 seconds.
    #[error("invalid duration")]
    InvalidDuration,
    /// A path of a field mask that is not in lowerCamelCase.
    #[error("invalid field mask")]
    InvalidFieldMask,
    /// An `Any` without a type, with a malformed one, or whose message could not be encoded.
    #[error("invalid Any")]
    InvalidAny,
    /// The type of an `Any` is not known.
    #[error("unknown type of an Any")]
    UnresolvedAny,
    /// A required field is missing.
    #[error("a required field is missing")]
    MissingRequired,
    /// The arena's limit is reached.
    #[error("the arena's memory limit is reached")]
    MemoryLimit,
}

/// Why a message could not be written as text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteErrorKind {
    /// A string that is not UTF-8.
    #[error("a string is not UTF-8")]
    InvalidUtf8,
    /// Nested deeper than the limit.
    #[error("nested deeper than the limit")]
    DepthLimit,
    /// Not between the years 1 and 9999, or with nanoseconds out of range.
    #[error("timestamp out of range")]
    InvalidTimestamp,
    /// Beyond 315,576,000,000 seconds, or with nanoseconds out of range or of the other sign.
    #[error("duration out of range")]
    InvalidDuration,
    /// A path of a field mask that would not come back from lowerCamelCase as it is.
    #[error("field mask without a JSON form")]
    InvalidFieldMask,
    /// A `google.protobuf.Value` that is not set, or a number in it that is not finite.
    #[error("google.protobuf.Value without a JSON form")]
    InvalidValue,
    /// An `Any` without a type or with a malformed one, or whose bytes are no such message.
    #[error("invalid Any")]
    InvalidAny,
    /// The type of an `Any` is not known.
    #[error("unknown type of an Any")]
    UnresolvedAny,
}

/// A text (JSON or text format) that could not be read: what is wrong, where in the text, and in which field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadError(Box<ReadErrorInner>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct ReadErrorInner {
    kind: ReadErrorKind,
    detail: Box<str>,
    offset: usize,
    line: usize,
    column: usize,
    path: ValuePath,
}

impl ReadError {
    /// What went wrong.
    pub fn kind(&self) -> ReadErrorKind {
        self.0.kind
    }

    /// The particulars, such as the unknown field's name; may be empty.
    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    /// Byte offset in the text.
    pub fn offset(&self) -> usize {
        self.0.offset
    }

    /// Line, counted from 1.
    pub fn line(&self) -> usize {
        self.0.line
    }

    /// Column in characters, counted from 1.
    pub fn column(&self) -> usize {
        self.0.column
    }

    /// The field.
    pub fn path(&self) -> &ValuePath {
        &self.0.path
    }

    /// Of a fault in `text` while a message `root` was read.
    pub(crate) fn of(fault: Fault<ReadErrorKind>, text: &[u8], root: &str) -> ReadError {
        let before = &text[..fault.offset.min(text.len())];
        let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        // Continuation bytes do not begin a character.
        let characters = before[line_start..].iter().filter(|&&byte| byte & 0xc0 != 0x80).count();
        ReadError(Box::new(ReadErrorInner {
            kind: fault.kind,
            detail: fault.detail,
            offset: before.len(),
            line: 1 + before.iter().filter(|&&byte| byte == b'\n').count(),
            column: 1 + characters,
            path: ValuePath::from_innermost(root, fault.steps),
        }))
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = &self.0;
        write!(f, "{}", error.kind)?;
        if !error.detail.is_empty() {
            write!(f, ": {}", error.detail)?;
        }
        write!(f, " (line {}, column {}, in {})", error.line, error.column, error.path)
    }
}

impl std::error::Error for ReadError {}

/// A message that could not be written as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WriteError(Box<(WriteErrorKind, Box<str>, ValuePath)>);

impl WriteError {
    /// What went wrong.
    pub fn kind(&self) -> WriteErrorKind {
        self.0.0
    }

    /// The particulars; may be empty.
    pub fn detail(&self) -> &str {
        &self.0.1
    }

    /// The field.
    pub fn path(&self) -> &ValuePath {
        &self.0.2
    }

    pub(crate) fn of(fault: Fault<WriteErrorKind>, root: &str) -> WriteError {
        WriteError(Box::new((fault.kind, fault.detail, ValuePath::from_innermost(root, fault.steps))))
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind())?;
        if !self.detail().is_empty() {
            write!(f, ": {}", self.detail())?;
        }
        write!(f, " (in {})", self.path())
    }
}

impl std::error::Error for WriteError {}

/// An error on its way up.
#[derive(Debug)]
pub(crate) struct Fault<K> {
    pub(crate) kind: K,
    detail: Box<str>,
    offset: usize,
    /// Innermost first.
    pub(crate) steps: Vec<PathStep>,
}

pub(crate) type ReadFault = Box<Fault<ReadErrorKind>>;
pub(crate) type WriteFault = Box<Fault<WriteErrorKind>>;

impl<K> Fault<K> {
    #[cold]
    pub(crate) fn at(kind: K, offset: usize, detail: impl Into<Box<str>>) -> Box<Fault<K>> {
        Box::new(Fault { kind, detail: detail.into(), offset, steps: Vec::new() })
    }
}

impl Fault<ReadErrorKind> {
    /// Of a message that did not take a value.
    #[cold]
    pub(crate) fn of_set(error: SetError, offset: usize) -> ReadFault {
        let kind = match error {
            SetError::ArenaFull(_) => ReadErrorKind::MemoryLimit,
            SetError::InvalidUtf8 => ReadErrorKind::InvalidUtf8,
            SetError::EnumNumber(_) => ReadErrorKind::UnknownEnumValue,
            _ => ReadErrorKind::WrongType,
        };
        let detail = if kind == ReadErrorKind::UnknownEnumValue { error.to_string() } else { String::new() };
        Fault::at(kind, offset, detail)
    }

    #[cold]
    pub(crate) fn of_arena(_: ArenaFull, offset: usize) -> ReadFault {
        Fault::at(ReadErrorKind::MemoryLimit, offset, "")
    }
}

impl Fault<WriteErrorKind> {
    #[cold]
    pub(crate) fn write(kind: WriteErrorKind, detail: impl Into<Box<str>>) -> WriteFault {
        Fault::at(kind, 0, detail)
    }
}

/// Adds the step that an error passes on its way up.
pub(crate) trait Within<T> {
    /// The error was in a field of this layout.
    fn in_field(self, layout: &Layout, slot: &protojit_core::program::FieldSlot) -> Self;
    /// The error was below this step.
    fn within(self, step: impl FnOnce() -> PathStep) -> Self;
}

impl<T, K> Within<T> for Result<T, Box<Fault<K>>> {
    #[inline]
    fn in_field(self, layout: &Layout, slot: &protojit_core::program::FieldSlot) -> Self {
        self.within(|| PathStep::Field(super::fields::display_name(layout, slot.key)))
    }

    #[inline]
    fn within(self, step: impl FnOnce() -> PathStep) -> Self {
        self.map_err(|mut fault| {
            fault.steps.push(step());
            fault
        })
    }
}
