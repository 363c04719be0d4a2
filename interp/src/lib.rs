//! The table interpreter: decode and encode over programs.
//!
//! It is the reference that compiled code is held against, what finishes what compiled code hands back, and the engine where
//! nothing is compiled. It needs no executable memory.

mod bytes;
pub mod decode;
pub mod encode;
mod host;
pub mod presence;
