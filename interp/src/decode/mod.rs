//! Decoding.
pub mod context;
