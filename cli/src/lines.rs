//! Text by the line.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};

/// Reads lines, without their ends. Holds one line at a time.
#[derive(Debug)]
pub struct Lines<R> {
    source: BufReader<R>,
    line: Vec<u8>,
    limit: usize,
    skip_blank: bool,
    offset: u64,
}

impl<R: Read> Lines<R> {
    /// Reads lines of at most `limit` bytes from `source`, blank ones if they are not to be skipped.
    pub fn new(source: R, limit: usize, skip_blank: bool) -> Lines<R> {
        Lines { source: BufReader::with_capacity(64 << 10, source), line: Vec::new(), limit, skip_blank, offset: 0 }
    }

    /// Whether the next line is here in full, so that it takes no reading.
    pub fn is_ready(&self) -> bool {
        self.source.buffer().contains(&b'\n')
    }

    /// The next line and its offset in the stream, `None` at the end.
    pub fn next(&mut self) -> io::Result<Option<(u64, &[u8])>> {
        loop {
            let start = self.offset;
            self.line.clear();
            let read = self.source.by_ref().take(self.limit as u64 + 1).read_until(b'\n', &mut self.line)?;
            if read == 0 {
                return Ok(None);
            }
            self.offset += read as u64;
            while let Some(b'\n' | b'\r') = self.line.last() {
                self.line.pop();
            }
            if self.line.len() > self.limit {
                let text = format!("a line is longer than {} bytes (byte {start})", self.limit);
                return Err(io::Error::new(ErrorKind::InvalidData, text));
            }
            if !self.skip_blank || !self.line.trim_ascii().is_empty() {
                return Ok(Some((start, &self.line)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let mut lines = Lines::new(&b"\n{}\r\n \n\n{1}\n\xff"[..], 10, true);
        assert_eq!(lines.next().unwrap(), Some((1, &b"{}"[..])));
        assert!(lines.is_ready());
        assert_eq!(lines.next().unwrap(), Some((8, &b"{1}"[..])));
        assert!(!lines.is_ready());
        assert_eq!(lines.next().unwrap(), Some((12, &b"\xff"[..])));
        assert_eq!(lines.next().unwrap(), None);
        assert_eq!(lines.next().unwrap(), None);
    }

    #[test]
    fn blank_lines() {
        let mut lines = Lines::new(&b"\n\r\na\n"[..], 10, false);
        for wanted in [&b""[..], b"", b"a"] {
            assert_eq!(lines.next().unwrap().unwrap().1, wanted);
        }
        assert_eq!(lines.next().unwrap(), None);
    }

    #[test]
    fn too_long() {
        assert!(Lines::new(&b"12345\n"[..], 5, true).next().is_ok());
        assert!(Lines::new(&b"123456\n"[..], 5, true).next().is_err());
    }
}
