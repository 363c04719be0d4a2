//! Streams of messages, each behind its length as a varint.
//!
//! [`Frames`] finds the frames and looks into none; [`MessageType::records`] decodes them. The two ways in which a
//! stream can be bad are kept apart: a record that cannot be decoded is an item like any other, and the next one follows;
//! a frame that is none (a length that is no varint, or reaches beyond the end) ends the stream, since nobody knows where
//! the next would begin.
//!
//! ```
//! # let set = &protojit_source::ProtoSources::new().include("examples").compile(["hello.proto"])?;
//! # let person = protojit::Runtime::new().register(set)?.message("hello.Person")?;
//! use protojit::stream::StreamError;
//!
//! let name = person.shape().str("name")?;
//! let stream = &b"\x05\x0a\x03Ada\x02\x0a\x09\x05\x0a\x03Eve\x7f"[..];
//! let mut seen = Vec::new();
//! for record in person.records(stream) {
//!     seen.push(match record {
//!         Ok(message) => message.as_ref().get(name).to_str()?.to_owned(),
//!         Err(StreamError::Record { offset, .. }) => format!("bad record at {offset}"),
//!         Err(StreamError::Frame(error)) => error.to_string(),
//!         Err(error) => return Err(error.into()),
//!     });
//! }
//! let end = "the stream ends inside a frame: 127 bytes were announced and 0 are there (byte 16)";
//! assert_eq!(seen, ["Ada", "bad record at 7", "Eve", end]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! With the feature `codec` the same is there for asynchronous streams: `DelimitedCodec` works with `tokio_util`'s
//! `Framed`, `FramedRead` and `FramedWrite`.

use std::fmt;
use std::io::{self, ErrorKind, Read};

use protojit_core::error::DecodeError;
use protojit_core::memory::Arena;
use protojit_core::message::{Message, MessageRef};

use crate::message_type::MessageType;

/// What is read at once.
const CHUNK: usize = 64 << 10;

/// How long a frame may be where nothing else was said: 64 MiB.
pub const DEFAULT_FRAME_LIMIT: usize = 64 << 20;

/// Reads a stream frame by frame. Holds no more of it than one frame and what was read at once.
///
/// ```
/// use protojit::stream::Frames;
/// let mut frames = Frames::new(&b"\x02ab\x00\x01c"[..], 1024);
/// let mut lengths = Vec::new();
/// while let Some(frame) = frames.next()? {
///     lengths.push((frame.offset, frame.message.map(<[u8]>::len)));
/// }
/// assert_eq!(lengths, [(1, Ok(2)), (4, Ok(0)), (5, Ok(1))]);
/// # Ok::<(), protojit::stream::FrameError>(())
/// ```
#[derive(Debug)]
pub struct Frames<R> {
    source: R,
    buffer: Vec<u8>,
    /// What of the buffer is read but not consumed.
    start: usize,
    end: usize,
    /// Bytes of the stream before `start`.
    offset: u64,
    /// Frames may be as long as this.
    limit: usize,
    ended: bool,
}

/// One frame.
#[derive(PartialEq, Debug)]
pub struct Frame<'a> {
    /// Where in the stream its message begins.
    pub offset: u64,
    /// Its message, or its length where that is over the limit.
    pub message: Result<&'a [u8], u64>,
}

/// The stream is no stream of frames, or cannot be read. There is no way on.
#[derive(Debug)]
#[non_exhaustive]
pub enum FrameError {
    /// It cannot be read.
    Io(io::Error),
    /// No varint of at most 64 bits where a length should be.
    BadLength {
        /// Where in the stream.
        offset: u64,
    },
    /// The stream ends inside a frame.
    Truncated {
        /// Where in the stream the message begins, or the length where that is not whole.
        offset: u64,
        /// The message's length, `None` where that is not whole.
        length: Option<u64>,
        /// How many bytes are there.
        found: u64,
    },
}

impl std::error::Error for FrameError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            FrameError::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for FrameError {
    fn from(error: io::Error) -> Self {
        FrameError::Io(error)
    }
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameError::Io(error) => error.fmt(f),
            FrameError::BadLength { offset } => write!(f, "the length of a frame is no varint (byte {offset})"),
            FrameError::Truncated { offset, length: Some(length), found } => write!(
                f,
                "the stream ends inside a frame: {length} bytes were announced and {found} are there (byte {offset})"
            ),
            FrameError::Truncated { offset, length: None, .. } => {
                write!(f, "the stream ends inside the length of a frame (byte {offset})")
            }
        }
    }
}

impl<R: Read> Frames<R> {
    /// Reads frames of at most `limit` bytes from `source`.
    pub fn new(source: R, limit: usize) -> Frames<R> {
        Frames { source, buffer: vec![0; CHUNK], start: 0, end: 0, offset: 0, limit, ended: false }
    }

    /// Whether the next frame is here in full, so that it takes no reading.
    pub fn is_ready(&self) -> bool {
        let unread = &self.buffer[self.start..self.end];
        matches!(parse_length(unread), Ok(Some((length, size))) if length <= (unread.len() - size) as u64)
    }

    /// The next frame, `None` at the end. (No `Iterator`: frames borrow the buffer.)
    ///
    /// # Errors
    /// There is no way on.
    #[expect(clippy::should_implement_trait, reason = "frames borrow the buffer")]
    pub fn next(&mut self) -> Result<Option<Frame<'_>>, FrameError> {
        let (length, size) = loop {
            match parse_length(&self.buffer[self.start..self.end]) {
                Ok(Some(found)) => break found,
                Ok(None) if self.fill(self.end - self.start + 1)? => {}
                Ok(None) if self.start == self.end => return Ok(None),
                Ok(None) => {
                    let found = (self.end - self.start) as u64;
                    return Err(FrameError::Truncated { offset: self.offset, length: None, found });
                }
                Err(()) => return Err(FrameError::BadLength { offset: self.offset }),
            }
        };
        self.consume(size);
        let offset = self.offset;
        if length > self.limit as u64 {
            self.skip(length)?;
            return Ok(Some(Frame { offset, message: Err(length) }));
        }
        let length = length as usize;
        if !self.fill(length)? {
            let found = (self.end - self.start) as u64;
            return Err(FrameError::Truncated { offset, length: Some(length as u64), found });
        }
        let at = self.start;
        self.consume(length);
        Ok(Some(Frame { offset, message: Ok(&self.buffer[at..at + length]) }))
    }

    fn consume(&mut self, bytes: usize) {
        self.start += bytes;
        self.offset += bytes as u64;
    }

    /// Makes `wanted` unread bytes available, false if the stream ends before. A length is a claim: memory is taken
    /// as the bytes come in.
    fn fill(&mut self, wanted: usize) -> Result<bool, FrameError> {
        while self.end - self.start < wanted {
            if self.ended {
                return Ok(false);
            }
            let unread = self.end - self.start;
            if self.start > 0 && self.buffer.len() - self.start < wanted {
                self.buffer.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, unread);
            }
            if self.end == self.buffer.len() {
                let larger = (self.buffer.len() * 2).min(wanted.max(CHUNK));
                self.buffer.resize(larger, 0);
            }
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(FrameError::Io(error)),
            }
        }
        Ok(true)
    }

    /// Reads on past bytes that nobody wants.
    fn skip(&mut self, length: u64) -> Result<(), FrameError> {
        let (offset, mut left) = (self.offset, length);
        while left > 0 {
            if self.start == self.end {
                (self.start, self.end) = (0, 0);
                if !self.fill(1)? {
                    return Err(FrameError::Truncated { offset, length: Some(length), found: length - left });
                }
            }
            let step = left.min((self.end - self.start) as u64);
            self.consume(step as usize);
            left -= step;
        }
        Ok(())
    }
}

/// A length and the size of its varint, if it is here in full.
pub(crate) fn parse_length(bytes: &[u8]) -> Result<Option<(u64, usize)>, ()> {
    let mut value = 0;
    for (at, &byte) in bytes.iter().take(10).enumerate() {
        if at == 9 && byte > 1 {
            return Err(());
        }
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte < 0x80 {
            return Ok(Some((value, at + 1)));
        }
    }
    Ok(None)
}

/// Why a stream has no message here.
#[derive(Debug)]
#[non_exhaustive]
pub enum StreamError {
    /// The record cannot be decoded. The stream goes on behind it.
    Record {
        /// Where in the stream the record's bytes begin.
        offset: u64,
        /// What is wrong with it.
        error: DecodeError,
    },
    /// The record is longer than the limit of frames, and was passed over. The stream goes on behind it.
    TooLong {
        /// Where in the stream the record's bytes begin.
        offset: u64,
        /// How many there are.
        length: u64,
    },
    /// The stream cannot be read on.
    Frame(FrameError),
}

impl StreamError {
    /// Whether there may be another record behind this one.
    pub fn goes_on(&self) -> bool {
        !matches!(self, StreamError::Frame(_))
    }
}

impl fmt::Display for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StreamError::Record { offset, error } => write!(f, "the record at byte {offset}: {error}"),
            StreamError::TooLong { offset, length } => {
                write!(f, "the record at byte {offset} has {length} bytes, more than the limit")
            }
            StreamError::Frame(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for StreamError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            StreamError::Record { error, .. } => Some(error),
            StreamError::TooLong { .. } => None,
            StreamError::Frame(error) => Some(error),
        }
    }
}

impl From<FrameError> for StreamError {
    fn from(error: FrameError) -> Self {
        StreamError::Frame(error)
    }
}

impl MessageType {
    /// The records of a delimited stream, as messages that own their memory. See [`stream`](crate::stream) for an example.
    pub fn records<R: Read>(&self, source: R) -> Records<R> {
        self.records_within(source, DEFAULT_FRAME_LIMIT)
    }

    /// As [`MessageType::records`], with frames of at most `limit` bytes; longer ones are passed over, and errors.
    pub fn records_within<R: Read>(&self, source: R, limit: usize) -> Records<R> {
        Records { ty: self.clone(), frames: Frames::new(source, limit), ended: false }
    }
}

/// The records of a delimited stream: see [`MessageType::records`].
#[derive(Debug)]
pub struct Records<R> {
    ty: MessageType,
    frames: Frames<R>,
    ended: bool,
}

impl<R: Read> Records<R> {
    /// The next record, in an arena, which is reset first: for streams that are worked off one by one.
    ///
    /// ```
    /// # let set = &protojit_source::ProtoSources::new().include("examples").compile(["hello.proto"])?;
    /// # let person = protojit::Runtime::new().register(set)?.message("hello.Person")?;
    /// let age = person.shape().i32("age")?;
    /// let (mut arena, mut sum) = (protojit::Arena::new(), 0);
    /// let mut records = person.records(&b"\x02\x10\x20\x02\x10\x04"[..]);
    /// while let Some(record) = records.next_in(&mut arena) {
    ///     sum += record?.get(age);
    /// }
    /// assert_eq!(sum, 36);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn next_in<'a>(&'a mut self, arena: &'a mut Arena) -> Option<Result<MessageRef<'a>, StreamError>> {
        let Records { ty, frames, ended } = self;
        arena.reset();
        let arena = &*arena;
        next_frame(frames, ended, |offset, bytes| {
            ty.decode(bytes, arena).map_err(|error| StreamError::Record { offset, error })
        })
    }
}

fn next_frame<'a, R: Read, T>(
    frames: &'a mut Frames<R>,
    ended: &mut bool,
    decode: impl FnOnce(u64, &'a [u8]) -> Result<T, StreamError>,
) -> Option<Result<T, StreamError>> {
    if *ended {
        return None;
    }
    match frames.next() {
        Ok(Some(Frame { offset, message: Ok(bytes) })) => Some(decode(offset, bytes)),
        Ok(Some(Frame { offset, message: Err(length) })) => Some(Err(StreamError::TooLong { offset, length })),
        Ok(None) => {
            *ended = true;
            None
        }
        Err(error) => {
            *ended = true;
            Some(Err(error.into()))
        }
    }
}

impl<R: Read> Iterator for Records<R> {
    type Item = Result<Message, StreamError>;

    fn next(&mut self) -> Option<Self::Item> {
        let Records { ty, frames, ended } = self;
        next_frame(frames, ended, |offset, bytes| {
            ty.decode_owned(bytes).map_err(|error| StreamError::Record { offset, error })
        })
    }
}

#[cfg(test)]
mod tests {
    use protojit_core::wire::push_varint;

    use super::*;

    /// Gives a few bytes at a time.
    struct Drip<'a>(&'a [u8], usize);

    impl Read for Drip<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let step = self.1.min(self.0.len()).min(out.len());
            out[..step].copy_from_slice(&self.0[..step]);
            self.0 = &self.0[step..];
            Ok(step)
        }
    }

    fn stream(sizes: &[usize]) -> Vec<u8> {
        let mut stream = Vec::new();
        for (at, &size) in sizes.iter().enumerate() {
            push_varint(size as u64, &mut stream);
            stream.extend(std::iter::repeat_n(at as u8, size));
        }
        stream
    }

    #[test]
    fn round_trip() {
        let sizes = [0, 1, 127, 128, 70_000, 0, 3, CHUNK, CHUNK - 1, 200_000, 5];
        let stream = stream(&sizes);
        for drip in [1, 7, 4096, usize::MAX] {
            let mut frames = Frames::new(Drip(&stream, drip), usize::MAX);
            for (at, &size) in sizes.iter().enumerate() {
                let frame = frames.next().unwrap().unwrap();
                assert_eq!(frame.message, Ok(&vec![at as u8; size][..]));
            }
            assert_eq!(frames.next().unwrap(), None);
            assert_eq!(frames.offset, stream.len() as u64);
        }
    }

    #[test]
    fn too_large_is_skipped() {
        let stream = stream(&[5, 100_000, 6]);
        let mut frames = Frames::new(Drip(&stream, 1000), 10);
        assert_eq!(frames.next().unwrap(), Some(Frame { offset: 1, message: Ok(&[0; 5]) }));
        assert_eq!(frames.next().unwrap(), Some(Frame { offset: 9, message: Err(100_000) }));
        assert_eq!(frames.next().unwrap(), Some(Frame { offset: 100_010, message: Ok(&[2; 6]) }));
        assert_eq!(frames.next().unwrap(), None);
        assert!(frames.buffer.len() <= CHUNK);
    }

    #[test]
    fn bad_frames() {
        let fail = |stream: &[u8]| Frames::new(Drip(stream, 3), 1 << 40).next().unwrap_err();
        assert!(matches!(fail(&[0xff; 10]), FrameError::BadLength { offset: 0 }));
        assert!(matches!(fail(&[0xff; 11]), FrameError::BadLength { offset: 0 }));
        assert!(matches!(fail(&[0x80]), FrameError::Truncated { offset: 0, length: None, found: 1 }));
        assert!(matches!(fail(&[2, 0]), FrameError::Truncated { offset: 1, length: Some(2), found: 1 }));
        // A gigabyte announced costs nothing.
        let mut frames = Frames::new(&[0x80, 0x80, 0x80, 0x80, 4, 0][..], 1 << 40);
        assert!(matches!(frames.next(), Err(FrameError::Truncated { .. })));
        assert!(frames.buffer.capacity() <= 2 * CHUNK);
    }

    #[test]
    fn ready() {
        let mut frames = Frames::new(&[1, 0, 2, 0][..], 10);
        assert!(!frames.is_ready());
        frames.next().unwrap();
        assert!(!frames.is_ready());
        let mut frames = Frames::new(&[1, 0, 1, 0][..], 10);
        frames.next().unwrap();
        assert!(frames.is_ready());
    }
}
