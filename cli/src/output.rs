//! Where results go.

use std::io::{self, BufWriter, Stdout, Write};

use crate::failure::{Failure, Outcome};

/// Buffered stdout. What fails ends the run, quietly where it is a closed pipe.
#[derive(Debug)]
pub struct Output(BufWriter<Stdout>);

impl Output {
    pub fn stdout() -> Output {
        Output(BufWriter::with_capacity(64 << 10, io::stdout()))
    }

    pub fn write(&mut self, bytes: &[u8]) -> Outcome {
        self.0.write_all(bytes).map_err(|error| Failure::output(&error))
    }

    pub fn flush(&mut self) -> Outcome {
        self.0.flush().map_err(|error| Failure::output(&error))
    }
}
