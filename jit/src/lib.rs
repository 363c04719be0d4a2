//! The Cranelift half of protojit: compiled decode functions, and the executable memory they live in.
//!
//! * [`mcode`] is the machine-code arena: executable memory reserved up front, never writable and executable.
//! * [`compile`] turns a unit of decode programs into one function per program.
//! * [`perf`] tells profilers the names of compiled functions.
//! * [`stubs`] and [`helpers`] are what compiled code calls: small compiled thunks, and the Rust behind them.
//!
//! Only this crate depends on Cranelift.

pub mod compile;
mod error;
pub mod helpers;
pub mod host;
pub mod mcode;
pub mod perf;
pub mod stubs;

pub use error::JitError;
