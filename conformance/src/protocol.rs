//! The conformance protocol: what the runner asks, what the testee answers, and the
//! few wire rules that these two messages need.
//!
//! Written by hand, and not on protojit: a testee whose own mail went through the code
//! under test would report a broken decoder as a broken pipe.

use std::io::{self, Read, Write};

/// What the runner may ask to be read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The binary wire format.
    Protobuf,
    /// The JSON mapping.
    Json,
    /// Used inside Google only; always skipped.
    Jspb,
    /// The text format.
    Text,
    /// A number this testee does not know, or none.
    Other(u64),
}

impl From<u64> for Format {
    fn from(number: u64) -> Self {
        match number {
            1 => Format::Protobuf,
            2 => Format::Json,
            3 => Format::Jspb,
            4 => Format::Text,
            other => Format::Other(other),
        }
    }
}

/// `conformance.TestCategory.JSON_IGNORE_UNKNOWN_PARSING_TEST`.
const JSON_IGNORE_UNKNOWN: u64 = 3;

/// One `conformance.ConformanceRequest`.
///
/// Payloads are bytes in every format: some tests send JSON that is not UTF-8, and it
/// is the codec's business to refuse it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// The payload and the format it is in; `None` if the runner sent none.
    pub payload: Option<(Format, Vec<u8>)>,
    /// The format of the answer, as its number; see [`Request::output`].
    output: u64,
    /// The full name of the message type.
    pub message_type: String,
    /// The kind of test, as its number.
    category: u64,
    /// Whether text output is to show unknown fields.
    pub print_unknown_fields: bool,
}

impl Request {
    /// The format that the answer is wanted in.
    pub fn output(&self) -> Format {
        self.output.into()
    }

    /// Whether unknown names in JSON input are to be skipped instead of refused.
    pub fn ignore_unknown_json(&self) -> bool {
        self.category == JSON_IGNORE_UNKNOWN
    }

    /// Reads a request from its wire form.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut request = Request::default();
        let mut rest = Reader { rest: bytes };
        while let Some((number, value)) = rest.field()? {
            match (number, value) {
                (1, Value::Bytes(b)) => request.payload = Some((Format::Protobuf, b.to_vec())),
                (2, Value::Bytes(b)) => request.payload = Some((Format::Json, b.to_vec())),
                (7, Value::Bytes(b)) => request.payload = Some((Format::Jspb, b.to_vec())),
                (8, Value::Bytes(b)) => request.payload = Some((Format::Text, b.to_vec())),
                (3, Value::Varint(n)) => request.output = n,
                (4, Value::Bytes(b)) => request.message_type = utf8(b)?,
                (5, Value::Varint(n)) => request.category = n,
                (9, Value::Varint(n)) => request.print_unknown_fields = n != 0,
                _ => {}
            }
        }
        Ok(request)
    }
}

/// One `conformance.ConformanceResponse`: the oneof that it consists of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The payload is not valid.
    ParseError(String),
    /// The payload was read, but cannot be written in the format asked for.
    SerializeError(String),
    /// The testee itself failed; always a failed test.
    RuntimeError(String),
    /// The message in the binary format.
    Protobuf(Vec<u8>),
    /// The message as JSON.
    Json(Vec<u8>),
    /// The message in the text format.
    Text(Vec<u8>),
    /// Not supported.
    Skipped(String),
}

impl Outcome {
    /// The wire form of the response.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (number, value) = match self {
            Outcome::ParseError(s) => (1, s.as_bytes()),
            Outcome::RuntimeError(s) => (2, s.as_bytes()),
            Outcome::Protobuf(b) => (3, b.as_slice()),
            Outcome::Json(b) => (4, b.as_slice()),
            Outcome::Skipped(s) => (5, s.as_bytes()),
            Outcome::SerializeError(s) => (6, s.as_bytes()),
            Outcome::Text(b) => (8, b.as_slice()),
        };
        let mut out = vec![number << 3 | 2];
        let mut len = value.len();
        while len >= 0x80 {
            out.push(len as u8 | 0x80);
            len >>= 7;
        }
        out.push(len as u8);
        out.extend_from_slice(value);
        out
    }
}

/// A request that is no valid message.
#[derive(Debug, PartialEq, Eq)]
pub struct Malformed;

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the runner's request is malformed")
    }
}

impl std::error::Error for Malformed {}

fn utf8(bytes: &[u8]) -> Result<String, Malformed> {
    String::from_utf8(bytes.to_vec()).map_err(|_| Malformed)
}

enum Value<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
    Fixed,
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.rest.split_first().ok_or(Malformed)?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed)
    }

    fn take(&mut self, len: u64) -> Result<&'a [u8], Malformed> {
        let len = usize::try_from(len).map_err(|_| Malformed)?;
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(Malformed)?;
        self.rest = rest;
        Ok(taken)
    }

    fn field(&mut self) -> Result<Option<(u64, Value<'a>)>, Malformed> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => Value::Varint(self.varint()?),
            1 => self.take(8).map(|_| Value::Fixed)?,
            2 => {
                let len = self.varint()?;
                Value::Bytes(self.take(len)?)
            }
            5 => self.take(4).map(|_| Value::Fixed)?,
            _ => return Err(Malformed),
        };
        Ok(Some((tag >> 3, value)))
    }
}

/// Reads one frame: four bytes of length, little-endian, and as many bytes. `None` at
/// a clean end of the stream.
pub fn read_frame(from: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut len = [0; 4];
    let mut have = 0;
    while have < len.len() {
        match from.read(&mut len[have..]) {
            Ok(0) if have == 0 => return Ok(None),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => have += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    let len = u32::from_le_bytes(len);
    let mut frame = Vec::new();
    from.take(u64::from(len)).read_to_end(&mut frame)?;
    if frame.len() < len as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(frame))
}

/// Writes one frame, in one piece.
pub fn write_frame(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    let len = u32::try_from(bytes.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut frame = Vec::with_capacity(4 + bytes.len());
    frame.extend_from_slice(&len.to_le_bytes());
    frame.extend_from_slice(bytes);
    to.write_all(&frame)?;
    to.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `TestAllTypesProto3` in JSON, binary wanted, unknown names ignored.
    const REQUEST: &[u8] = b"\x12\x03{}\xff\x18\x01\x22\x05a.b.C\x28\x03\x32\x02\x08\x01\x48\x01";

    #[test]
    fn a_request_is_read() {
        let request = Request::parse(REQUEST).unwrap();
        assert_eq!(request.payload, Some((Format::Json, b"{}\xff".to_vec())));
        assert_eq!(request.output(), Format::Protobuf);
        assert_eq!(request.message_type, "a.b.C");
        assert!(request.ignore_unknown_json());
        assert!(request.print_unknown_fields);
    }

    #[test]
    fn an_empty_payload_is_a_payload() {
        assert_eq!(Request::parse(b"\x0a\x00").unwrap().payload, Some((Format::Protobuf, vec![])));
        assert_eq!(Request::parse(b"").unwrap().payload, None);
    }

    #[test]
    fn a_cut_request_is_refused_or_shorter() {
        let whole = Request::parse(REQUEST).unwrap();
        for end in 0..REQUEST.len() {
            if let Ok(request) = Request::parse(&REQUEST[..end]) {
                assert_ne!(request, whole, "{end}");
            }
        }
    }

    #[test]
    fn responses_have_their_numbers() {
        let s = || "x".to_string();
        for (outcome, tag) in [
            (Outcome::ParseError(s()), 0x0a),
            (Outcome::RuntimeError(s()), 0x12),
            (Outcome::Protobuf(b"x".to_vec()), 0x1a),
            (Outcome::Json(b"x".to_vec()), 0x22),
            (Outcome::Skipped(s()), 0x2a),
            (Outcome::SerializeError(s()), 0x32),
            (Outcome::Text(b"x".to_vec()), 0x42),
        ] {
            assert_eq!(outcome.to_bytes(), [tag, 1, b'x']);
        }
        let long = Outcome::Protobuf(vec![7; 300]).to_bytes();
        assert_eq!(long[..3], [0x1a, 0xac, 0x02]);
        assert_eq!(long.len(), 303);
    }

    #[test]
    fn frames_come_back() {
        let mut stream = Vec::new();
        write_frame(&mut stream, b"").unwrap();
        write_frame(&mut stream, b"abc").unwrap();
        let mut from = stream.as_slice();
        assert_eq!(read_frame(&mut from).unwrap(), Some(vec![]));
        assert_eq!(read_frame(&mut from).unwrap(), Some(b"abc".to_vec()));
        assert_eq!(read_frame(&mut from).unwrap(), None);
        assert!(read_frame(&mut &stream[..6]).is_ok());
        assert!(read_frame(&mut &stream[4..6]).is_err());
        assert!(read_frame(&mut &stream[4..9]).is_err());
    }
}
