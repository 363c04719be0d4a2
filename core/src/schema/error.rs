//! Why a descriptor set was refused.
//!
//! Linking stops at the first thing that is wrong and says where: the file, the full
//! name of the element, and what about it. One error is one pointer wide, so that the
//! happy path carries no weight.

use std::fmt;

/// A descriptor set that cannot be read or linked.
///
/// ```
/// use protojit_core::schema::{Schema, SchemaErrorKind};
///
/// let error = Schema::from_descriptor_set(&[0x0a, 0x05][..]).unwrap_err();
/// assert!(matches!(error.kind(), SchemaErrorKind::Malformed { .. }));
/// ```
#[derive(Debug)]
pub struct SchemaError(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: SchemaErrorKind,
    file: Box<str>,
    element: Box<str>,
}

impl SchemaError {
    pub(crate) fn new(file: &str, element: &str, kind: SchemaErrorKind) -> Self {
        Self(Box::new(Inner { kind, file: clip(file), element: clip(element) }))
    }

    /// What is wrong.
    pub fn kind(&self) -> &SchemaErrorKind {
        &self.0.kind
    }

    /// The `.proto` file, where the error lies within one.
    pub fn file(&self) -> Option<&str> {
        (!self.0.file.is_empty()).then_some(&*self.0.file)
    }

    /// The full name of the element, where the error lies within one.
    pub fn element(&self) -> Option<&str> {
        (!self.0.element.is_empty()).then_some(&*self.0.element)
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = self.file() {
            write!(f, "{file}: ")?;
        }
        if let Some(element) = self.element() {
            write!(f, "{element}: ")?;
        }
        self.0.kind.fmt(f)
    }
}

impl std::error::Error for SchemaError {}

/// What is wrong with a descriptor set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaErrorKind {
    /// The bytes are no Protobuf message.
    #[error("malformed descriptor at byte {offset}: {what}")]
    Malformed {
        /// Where, counted from the start of the descriptor set.
        offset: usize,
        /// What was found there.
        what: &'static str,
    },
    /// A name is not UTF-8.
    #[error("malformed descriptor at byte {offset}: a string that is not UTF-8")]
    NotUtf8 {
        /// Where the string begins, counted from the start of the descriptor set.
        offset: usize,
    },
    /// One of [`SchemaLimits`](super::SchemaLimits) was passed.
    #[error("over the limit {limit} of {max}")]
    LimitExceeded {
        /// The name of the limit.
        limit: &'static str,
        /// Its value.
        max: usize,
    },
    /// A syntax other than `proto2`, `proto3` and `editions`.
    #[error("unsupported syntax {syntax:?}")]
    UnsupportedSyntax {
        /// The syntax named.
        syntax: Box<str>,
    },
    /// An edition older than proto2 or newer than 2024, or one that contradicts the syntax.
    #[error("unsupported edition {edition}")]
    UnsupportedEdition {
        /// The number of `google.protobuf.Edition`.
        edition: i32,
    },
    /// A feature has a value that this library does not know.
    #[error("feature {feature} has the unknown value {value}")]
    UnknownFeature {
        /// The feature's name.
        feature: &'static str,
        /// Its value.
        value: i32,
    },
    /// Features are set in a proto2 or proto3 file.
    #[error("features are only valid under editions")]
    FeaturesOutsideEditions,
    /// Two different files of the same name.
    #[error("the set holds two different files of this name")]
    DuplicateFile,
    /// An import is not part of the set.
    #[error("import {import:?} is not part of the descriptor set")]
    MissingImport {
        /// The file that is missing.
        import: Box<str>,
    },
    /// A public or weak import names an import that does not exist.
    #[error("no import has the index {index}")]
    InvalidImportIndex {
        /// The index.
        index: i32,
    },
    /// A file imports itself, directly or not.
    #[error("the file imports itself, by way of {import:?}")]
    ImportCycle {
        /// The import that closes the cycle.
        import: Box<str>,
    },
    /// A name that is no identifier.
    #[error("{name:?} is not a valid identifier")]
    InvalidName {
        /// The name.
        name: Box<str>,
    },
    /// A name is taken.
    #[error("the name is declared twice")]
    DuplicateName,
    /// A field number that does not exist.
    #[error("{number} is not a field number")]
    InvalidNumber {
        /// The number.
        number: i32,
    },
    /// Two fields of a message, or two extensions of it, share a number.
    #[error("the number {number} is also used by {other}")]
    DuplicateNumber {
        /// The number.
        number: u32,
        /// The name of the other field.
        other: Box<str>,
    },
    /// A reserved or extension range that is empty or out of bounds.
    #[error("{start} to {end} (exclusive) is not a range of field numbers")]
    InvalidRange {
        /// First number.
        start: i32,
        /// One past the last.
        end: i32,
    },
    /// Two ranges of a message overlap.
    #[error("the reserved or extension ranges overlap at {number}")]
    OverlappingRanges {
        /// The first number in both.
        number: u32,
    },
    /// A field uses a reserved number.
    #[error("the number {number} is reserved")]
    ReservedNumber {
        /// The number.
        number: u32,
    },
    /// A field uses a reserved name.
    #[error("the name is reserved")]
    ReservedName,
    /// A field of the message itself has a number meant for extensions.
    #[error("the number {number} lies in an extension range")]
    NumberInExtensionRange {
        /// The number.
        number: u32,
    },
    /// An extension's number is not open to extensions.
    #[error("{extendee} has no extension range that holds {number}")]
    NotInExtensionRange {
        /// The number.
        number: u32,
        /// The message extended.
        extendee: Box<str>,
    },
    /// A name that stands for nothing in the set.
    #[error("{name:?} is not defined")]
    Unresolved {
        /// The name as written.
        name: Box<str>,
    },
    /// A name that stands for something else than needed here.
    #[error("{name:?} is not {expected}")]
    WrongType {
        /// The name as written.
        name: Box<str>,
        /// What would have been right.
        expected: &'static str,
    },
    /// A field whose type, label or their combination does not exist.
    #[error("invalid field: {what}")]
    InvalidField {
        /// What is wrong.
        what: &'static str,
    },
    /// A map entry that is not one.
    #[error("invalid map: {what}")]
    InvalidMap {
        /// What is wrong.
        what: &'static str,
    },
    /// A oneof without members, or a member that cannot be one.
    #[error("invalid oneof: {what}")]
    InvalidOneof {
        /// What is wrong.
        what: &'static str,
    },
    /// A message in MessageSet format with fields, or with an extension that is no message.
    #[error("invalid MessageSet: {what}")]
    InvalidMessageSet {
        /// What is wrong.
        what: &'static str,
    },
    /// An enum without values, or an open one that does not begin with zero.
    #[error("invalid enum: {what}")]
    InvalidEnum {
        /// What is wrong.
        what: &'static str,
    },
    /// A default that is no value of the field's type, or that cannot stand here.
    #[error("invalid default {text:?}: {what}")]
    InvalidDefault {
        /// The default as written.
        text: Box<str>,
        /// What is wrong.
        what: &'static str,
    },
}

impl SchemaErrorKind {
    pub(crate) fn unresolved(name: &str) -> Self {
        Self::Unresolved { name: clip(name) }
    }

    pub(crate) fn wrong_type(name: &str, expected: &'static str) -> Self {
        Self::WrongType { name: clip(name), expected }
    }
}

/// A copy of at most some 250 bytes: names in hostile descriptors can be megabytes long.
pub(crate) fn clip(text: &str) -> Box<str> {
    const MAX: usize = 250;
    if text.len() <= MAX {
        return text.into();
    }
    let mut end = MAX;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &text[..end]).into()
}
