//! The C ABI of protojit.
//!
//! Handles are opaque. A function that makes one hands it to the caller, who frees it with the function named next to
//! it; handles keep alive what they were made from, so that they may be freed in any order. A function that can fail
//! gives null or false and, where `error` is not null, stores an error there, to be freed with `pj_error_free`;
//! `*error` is written on failure only. Panics are caught and become errors.
//!
//! Handles are checked: null, a handle of another type, one that was freed and any other number are told from a live
//! one, and give errors. What else is passed by address (inputs, and messages in arenas) cannot be
//! checked.
//!
//! There are two ways to a message. `pj_decode` makes one that owns its memory. `pj_decode_in` decodes into an arena,
//! which is used again, and gives the message's address; the caller reads it by the offsets of
//! `pj_message_type_table` without a call per field, and may build one in the same way for `pj_encode_at`.
//!
//! Runtimes, schemas and message types may be shared between threads. A message may be read by many threads at once.
//! Arenas and buffers are for one thread at a time.

#![warn(clippy::undocumented_unsafe_blocks)]

mod arena;
mod buffer;
mod check;
mod error;
mod handles;
mod layout;
mod message;
mod runtime;

pub use arena::*;
pub use buffer::*;
pub use error::*;
pub use layout::*;
pub use message::*;
pub use runtime::*;
