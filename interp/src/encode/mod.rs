//! Encoding, back to front.
//!
//! A message is written from its end: unknown fields first, then the fields by falling number, each list from its last element. So the
//! length of everything is known when its prefix is written; there is no pass for sizes, and the cost is linear at any nesting.
//!
//! The bytes grow downwards from the end of a [`Target`]'s room. [`EncodeCtx`] holds the room's bounds; the position travels through the
//! functions, which return the new one, or null after an error. When the room is used up [`EncodeCtx::grow`] moves what is
//! written to the end of a larger one: distances from the end stay the same, positions do not.
//!
//! [`encode`], [`encode_to_slice`] and [`append`] are the ways in; [`encode_with`] is the same with another engine's frame function, which
//! hands single fields back through [`encode_field`].

mod context;
mod driver;
mod frame;
mod len;
mod map;
mod varints;
mod write;

pub use context::{EncodeBuffer, EncodeCtx, ROOM};
pub use driver::{Framing, Target, append, encode, encode_framed, encode_to_slice, encode_with};
pub use frame::{encode_field, encode_frame, encode_packed, unknown_fields};
pub use len::encoded_len;
pub use write::put_bytes;
