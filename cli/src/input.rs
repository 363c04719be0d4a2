//! Where bytes come from.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Read};
use std::path::{Path, PathBuf};

use crate::args::WireText;
use crate::digits::{DigitReader, Digits};
use crate::failure::{Failure, Outcome, say};

/// The largest message: what lengths on the wire can say.
pub const MOST_BYTES: usize = i32::MAX as usize;

/// An opened input.
pub struct Input {
    /// What errors call it.
    pub name: InputName,
    pub reader: Box<dyn Read>,
    /// How long it is, where that is known.
    pub length: Option<u64>,
}

/// What errors call an input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InputName(Option<PathBuf>);

impl fmt::Display for InputName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(path) => path.display().fmt(f),
            None => f.write_str("stdin"),
        }
    }
}

impl Input {
    /// Opens a file, or stdin where the path is `-`.
    pub fn open(path: &Path) -> Outcome<Input> {
        if path == Path::new("-") {
            let stdin = io::stdin();
            if stdin.is_terminal() {
                say("note", "reading from the terminal; Ctrl-D ends the input");
            }
            return Ok(Input { name: InputName(None), reader: Box::new(stdin.lock()), length: None });
        }
        let name = InputName(Some(path.to_owned()));
        let file = File::open(path).map_err(|error| Failure::input(&name, error))?;
        let length = file.metadata().ok().filter(|data| data.is_file()).map(|data| data.len());
        Ok(Input { name, reader: Box::new(file), length })
    }

    /// The wire bytes that the input's text stands for.
    pub fn decoded(self, from: WireText) -> Input {
        let digits = match from {
            WireText::Binary => return self,
            WireText::Hex => Digits::Hex,
            WireText::Base64 => Digits::Base64,
        };
        let text = BufReader::with_capacity(64 << 10, self.reader);
        // So many bytes at most: good enough for progress, which is what it is for.
        let length = self.length.map(|length| match digits {
            Digits::Hex => length / 2,
            Digits::Base64 => length / 4 * 3,
        });
        Input { name: self.name, reader: Box::new(DigitReader::new(text, digits)), length }
    }

    /// Reads all of it.
    pub fn read_all(mut self) -> Outcome<Vec<u8>> {
        let mut bytes = Vec::new();
        let room = self.length.unwrap_or(0).min(MOST_BYTES as u64) as usize + 1;
        bytes.try_reserve(room).map_err(|error| Failure::input(&self.name, error))?;
        let read = self.reader.by_ref().take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|error| Failure::input(&self.name, error))?;
        if bytes.len() > MOST_BYTES {
            return Err(Failure::input(&self.name, "larger than 2 GiB, which no message can be"));
        }
        Ok(bytes)
    }
}
