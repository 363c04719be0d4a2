//! Protobuf's text format, read and written straight from and to message memory.
//!
//! The format for people: configuration files, test data, logs. [`write()`] prints a message, [`read()`] reads all that
//! the text format's specification allows.
//!
//! ```
//! use protojit::text::{self, TextReadOptions, TextWriteOptions};
//! use protojit::Runtime;
//!
//! // syntax = "proto3"; message Tiny { string name = 1; }
//! let set = b"\x0a\x30\x0a\x0atiny.proto\
//!             \x22\x1a\x0a\x04Tiny\x12\x12\x0a\x04name\x18\x01\x20\x01\x28\x09\x52\x04name\
//!             \x62\x06proto3";
//! let schema = Runtime::new().register(set)?;
//! let mut message = schema.message("Tiny")?.new_message();
//!
//! text::read(b"name: 'Ada' # the first", &mut message.as_mut(), &TextReadOptions::default(), &schema)?;
//! let mut out = Vec::new();
//! text::write(message.as_ref(), &TextWriteOptions::default(), &schema, &mut out)?;
//! assert_eq!(out, b"name: \"Ada\"\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The message in an `Any` is printed in place, `[type.googleapis.com/acme.Order] { … }`, if the
//! [`AnyResolver`] finds its type.

mod entry;
mod lexer;
mod names;
mod read;
mod scalar;
mod string;
mod unknown;
mod write;

pub use crate::convert::any::{AnyResolver, AnyType, NoTypes, type_name};
pub use crate::convert::error::{ReadError, ReadErrorKind, WriteError, WriteErrorKind};
pub use crate::convert::path::{PathStep, ValuePath};
pub use read::{TextReadOptions, read};
pub use write::{TextWriteOptions, write};
