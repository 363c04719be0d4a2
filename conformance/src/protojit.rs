//! The codec under test.

use crate::codec::Codec;
use crate::protocol::{Outcome, Request};
use std::error::Error;

/// protojit on the test messages.
pub struct Protojit {}

impl Protojit {
    /// Registers the descriptors, to be run by the engine of that name.
    pub fn new(_descriptors: &[u8], _engine: &str) -> Result<Self, Box<dyn Error>> {
        Ok(Protojit {})
    }
}

impl Codec for Protojit {
    fn run(&mut self, _: &Request) -> Outcome {
        Outcome::Skipped("not implemented".into())
    }
}
