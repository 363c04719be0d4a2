//! What JSON and the text format have in common: errors, paths, numbers, and the way from an `Any` to its message.

pub(crate) mod any;
pub(crate) mod error;
pub(crate) mod fields;
pub(crate) mod number;
pub(crate) mod path;
