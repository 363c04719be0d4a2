//! Descriptors, linked.
pub mod model;
