//! Reading, building and changing messages, seen from outside.
//!
//! The schema comes from a fixture, so that the tests also run where compiling it takes too long (Miri).

mod handles;
mod kinds;
mod merge;
#[cfg(not(miri))]
mod model;
mod owned;
mod read;
mod schema;
