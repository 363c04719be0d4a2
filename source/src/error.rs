//! Why text could not be compiled.

use std::fmt;

/// `.proto` text that could not be compiled. Displays as the compiler's own words, with file, line and column where it
/// gives them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceError(Box<(SourceErrorKind, String)>);

/// What kind of thing went wrong.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceErrorKind {
    /// A file, given or imported, was not found anywhere.
    #[error("a file was not found")]
    NotFound,
    /// The text breaks the rules of the language: its syntax, a name that is not defined, a number used twice.
    #[error("the text is not valid")]
    Invalid,
    /// A name that no file can have: empty, absolute, or with `.`, `..`, `\` or an empty part in it.
    #[error("a file's name is not valid")]
    InvalidName,
    /// A file uses editions and there is no `protoc` to compile it.
    #[error("a file uses editions, and there is no protoc")]
    NoProtoc,
    /// `protoc` could not be started, or it failed in another way than by refusing the text.
    #[error("protoc failed")]
    Protoc,
    /// A file could not be read or written.
    #[error("a file could not be read or written")]
    Io,
    /// The bytes given as a descriptor set are none.
    #[error("a descriptor set is not valid")]
    InvalidSet,
}

impl SourceError {
    pub(crate) fn new(kind: SourceErrorKind, what: impl Into<String>) -> SourceError {
        SourceError(Box::new((kind, what.into())))
    }

    /// What kind of thing went wrong.
    pub fn kind(&self) -> SourceErrorKind {
        self.0.0
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.1)
    }
}

impl std::error::Error for SourceError {}
