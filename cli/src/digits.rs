//! Bytes as text: hexadecimal and base64, both ways, in any quantity.

use std::io::{self, BufRead, ErrorKind, Read};

/// Digits that bytes are written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Digits {
    Hex,
    Base64,
}

impl Digits {
    fn bits(self) -> u32 {
        match self {
            Digits::Hex => 4,
            Digits::Base64 => 6,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Digits::Hex => "hexadecimal",
            Digits::Base64 => "base64",
        }
    }

    fn value(self, digit: u8) -> Option<u32> {
        let value = match (self, digit) {
            (Digits::Hex, b'0'..=b'9') => digit - b'0',
            (Digits::Hex, b'a'..=b'f') => digit - b'a' + 10,
            (Digits::Hex, b'A'..=b'F') => digit - b'A' + 10,
            (Digits::Base64, b'A'..=b'Z') => digit - b'A',
            (Digits::Base64, b'a'..=b'z') => digit - b'a' + 26,
            (Digits::Base64, b'0'..=b'9') => digit - b'0' + 52,
            (Digits::Base64, b'+' | b'-') => 62,
            (Digits::Base64, b'/' | b'_') => 63,
            _ => return None,
        };
        Some(value.into())
    }

    /// Appends these bytes in digits.
    pub fn write(self, bytes: &[u8], out: &mut Vec<u8>) {
        match self {
            Digits::Hex => {
                const DIGITS: &[u8; 16] = b"0123456789abcdef";
                out.extend(bytes.iter().flat_map(|&byte| [byte >> 4, byte & 15].map(|at| DIGITS[usize::from(at)])));
            }
            Digits::Base64 => {
                const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
                for group in bytes.chunks(3) {
                    let three = [0, 1, 2].map(|at| u32::from(group.get(at).copied().unwrap_or(0)));
                    let bits = three[0] << 16 | three[1] << 8 | three[2];
                    let digits = [18, 12, 6, 0].map(|shift| DIGITS[(bits >> shift & 63) as usize]);
                    out.extend_from_slice(&digits[..=group.len()]);
                    out.extend(std::iter::repeat_n(b'=', 3 - group.len()));
                }
            }
        }
    }
}

/// Reads the bytes behind digits. White space does not matter, nor does base64's padding.
#[derive(Debug)]
pub struct DigitReader<R> {
    source: R,
    digits: Digits,
    bits: u32,
    held: u32,
    /// Padding was seen since the last digit.
    padded: bool,
    /// Bytes of text read.
    at: u64,
}

impl<R: BufRead> DigitReader<R> {
    pub fn new(source: R, digits: Digits) -> DigitReader<R> {
        DigitReader { source, digits, bits: 0, held: 0, padded: false, at: 0 }
    }

    fn error(&self, what: impl std::fmt::Display) -> io::Error {
        let text = format!("{what} in the {} text (byte {})", self.digits.name(), self.at);
        io::Error::new(ErrorKind::InvalidData, text)
    }

    /// A group of digits ends here: what is left over may not be a byte begun.
    fn end_group(&mut self) -> io::Result<()> {
        if self.held >= self.digits.bits() {
            return Err(self.error("a byte is incomplete"));
        }
        self.held = 0;
        Ok(())
    }
}

impl<R: BufRead> Read for DigitReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let (digits, mut written) = (self.digits, 0);
        while written == 0 && !out.is_empty() {
            let text = self.source.fill_buf()?;
            if text.is_empty() {
                self.end_group()?;
                return Ok(0);
            }
            let (mut used, mut bad) = (0, None);
            let mut end_group = false;
            for &digit in text {
                if written == out.len() || end_group {
                    break;
                }
                match digits.value(digit) {
                    Some(value) => {
                        self.padded = false;
                        self.bits = self.bits << digits.bits() | value;
                        self.held += digits.bits();
                        if self.held >= 8 {
                            self.held -= 8;
                            out[written] = (self.bits >> self.held) as u8;
                            written += 1;
                        }
                    }
                    None if digit.is_ascii_whitespace() => {}
                    None if digit == b'=' && digits == Digits::Base64 => {
                        end_group = !self.padded;
                        self.padded = true;
                    }
                    None => {
                        bad = Some(digit);
                        break;
                    }
                }
                used += 1;
            }
            self.source.consume(used);
            self.at += used as u64;
            if let Some(bad) = bad {
                return Err(self.error(format_args!("{:?} is no digit", char::from(bad))));
            }
            if end_group {
                self.end_group()?;
            }
        }
        Ok(written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(digits: Digits, text: &str) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        // A small buffer, so that its border is met.
        let source = io::BufReader::with_capacity(3, text.as_bytes());
        match DigitReader::new(source, digits).read_to_end(&mut bytes) {
            Ok(_) => Ok(bytes),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn round_trip() {
        for digits in [Digits::Hex, Digits::Base64] {
            for length in 0..70u8 {
                let bytes: Vec<u8> = (0..length).map(|at| at.wrapping_mul(151).wrapping_add(length)).collect();
                let mut text = Vec::new();
                digits.write(&bytes, &mut text);
                assert_eq!(read(digits, std::str::from_utf8(&text).unwrap()), Ok(bytes));
            }
        }
    }

    #[test]
    fn known() {
        let write = |digits: Digits, bytes: &[u8]| {
            let mut text = Vec::new();
            digits.write(bytes, &mut text);
            String::from_utf8(text).unwrap()
        };
        assert_eq!(write(Digits::Hex, b"\x00\xffZ"), "00ff5a");
        assert_eq!(write(Digits::Base64, b"light work."), "bGlnaHQgd29yay4=");
        assert_eq!(read(Digits::Hex, " 0A\n0b\tfF "), Ok(vec![10, 11, 255]));
        assert_eq!(read(Digits::Base64, "-_-_"), read(Digits::Base64, "+/+/"));
        assert_eq!(read(Digits::Base64, "bGln\naHQ"), Ok(b"light".to_vec()));
        // One after the other, each padded.
        assert_eq!(read(Digits::Base64, "YQ==\nYg==\nYw="), Ok(b"abc".to_vec()));
    }

    #[test]
    fn bad() {
        assert_eq!(read(Digits::Hex, "0"), Err("a byte is incomplete in the hexadecimal text (byte 1)".to_owned()));
        assert_eq!(read(Digits::Hex, "00 0x"), Err("'x' is no digit in the hexadecimal text (byte 4)".to_owned()));
        assert!(read(Digits::Hex, "00=").is_err());
        assert!(read(Digits::Base64, "Y").is_err());
        assert!(read(Digits::Base64, "Y=").is_err());
        assert!(read(Digits::Base64, "YQ*").is_err());
    }
}
