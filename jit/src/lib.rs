//! The compiler of protojit: native codecs made with Cranelift, and the memory they run in.

pub mod mcode;
