//! Protobuf's JSON, read and written straight from and to message memory.
//!
//! The schema knows what comes next, so no tree of JSON values is ever built: [`write()`] walks a message and appends
//! text, [`read()`] pulls tokens from the text and sets fields. The mapping is the canonical one of the Protobuf
//! documentation, with all well-known types; the options are those that it leaves open.
//!
//! ```
//! use protojit::json::{self, JsonReadOptions, JsonWriteOptions};
//! use protojit::Runtime;
//!
//! // syntax = "proto3"; message Tiny { string name = 1; }
//! let set = b"\x0a\x30\x0a\x0atiny.proto\
//!             \x22\x1a\x0a\x04Tiny\x12\x12\x0a\x04name\x18\x01\x20\x01\x28\x09\x52\x04name\
//!             \x62\x06proto3";
//! let schema = Runtime::new().register(set)?;
//! let mut message = schema.message("Tiny")?.new_message();
//!
//! json::read(br#"{"name": "Ada"}"#, &mut message.as_mut(), &JsonReadOptions::default(), &schema)?;
//! let mut text = Vec::new();
//! json::write(message.as_ref(), &JsonWriteOptions::default(), &schema, &mut text)?;
//! assert_eq!(text, br#"{"name":"Ada"}"#);
//!
//! let error = json::read(b"{\n \"nme\": 1}", &mut message.as_mut(), &JsonReadOptions::default(), &schema).unwrap_err();
//! assert_eq!(error.to_string(), "unknown field: nme (line 2, column 2, in Tiny)");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The bytes in an `Any` are a message of some other type: an [`AnyResolver`] finds it, such as the
//! [`Schema`](crate::Schema).

mod base64;
mod escape;
mod field_mask;
mod read;
mod read_known;
mod scalar;
mod time;
mod tokenizer;
mod write;
mod write_known;

pub use crate::convert::any::{AnyResolver, AnyType, NoTypes, type_name};
pub use crate::convert::error::{ReadError, ReadErrorKind, WriteError, WriteErrorKind};
pub use crate::convert::path::{PathStep, ValuePath};
pub use read::{JsonReadOptions, read};
pub use write::{JsonWriteOptions, write};
