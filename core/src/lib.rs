//! What both engines of protojit stand on: schemas, shapes and their layouts,
//! programs, message memory and the wire format.
//!
//! * [`schema`] takes descriptors and links them: names resolved, editions
//!   features settled, everything immutable afterwards.
//! * [`program`] turns a message into a shape (which fields, at which offsets) and
//!   into the engine-neutral list of operations that fill or write that shape.
//! * [`memory`] is where decoded messages live: the arena, and the views on it.
//! * [`message`] reads, builds and changes them.
//! * [`wire`] holds varints, tags and UTF-8.
//!
//! Nothing in here knows which engine runs.

#[cfg(not(all(target_pointer_width = "64", target_endian = "little")))]
compile_error!("protojit needs a 64-bit little-endian target");

pub mod error;
pub mod limits;
pub mod memory;
pub mod message;
pub mod program;
pub mod schema;
pub mod wire;
