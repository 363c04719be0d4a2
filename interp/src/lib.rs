//! The table interpreter: decode and encode over programs.
pub mod decode;
