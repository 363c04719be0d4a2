//! protojit
