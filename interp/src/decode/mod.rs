//! Decoding.
//!
//! [`decode`] and [`merge`] take an input to a message; [`decode_with`] does the same with another engine's frame function. That
//! engine finishes frames by [`decode_frame`], and leaves fields to [`decode_next`], [`decode_unknown`] and [`decode_packed`]. All of them work on messages
//! that are partly filled, and keep their state in the message and in [`DecodeCtx`] alone.
//!
//! The main loop is fast where at least [`SLACK`] bytes can be read beyond a position. The last bytes of an input that has no padding
//! are copied to where they have ([`tail`]); only without memory for that they are read field by field. Nothing ever reads beyond the
//! input.

mod cell;
pub mod context;
mod driver;
mod field;
mod frame;
mod map;
mod message_set;
mod packed;
mod place;
mod read;
mod required;
pub mod tail;
mod unknown;
mod varints;

pub use context::{CLOSED_BY_GROUP, DecodeCtx, SLACK};
pub use driver::{
    COMPILED_CALLS, DISAGREEMENTS, FINISHED_BYTES, INTERPRETED_CALLS, Input, SMALL_INPUT, decode, decode_with, merge,
};
pub use field::decode_next;
pub use frame::{decode_frame, finish};
pub use packed::decode_packed;
pub use required::find_missing;
pub use unknown::decode_unknown;
