//! Delimited streams for `tokio_util`.

use std::io;

use bytes::{Buf, BufMut, BytesMut};
use protojit_core::error::EncodeError;
use protojit_core::message::{Message, MessageRef};
use protojit_interp::encode::EncodeBuffer;
use tokio_util::codec::{Decoder, Encoder};

use crate::message_type::MessageType;
use crate::stream::{DEFAULT_FRAME_LIMIT, FrameError, StreamError, parse_length};

/// A codec of messages that stand behind their length as a varint, for `tokio_util`'s `Framed`, `FramedRead` and
/// `FramedWrite`. (Feature `codec`.)
///
/// A record that cannot be decoded is an item, [`StreamError::Record`], and the stream goes on; a frame that is none
/// is an error of the stream, and ends it. Long messages point into the buffer that was read; a
/// [compact](Message::compact) copy lets go of it.
///
/// ```
/// # let set = &protojit_source::ProtoSources::new().include("examples").compile(["hello.proto"])?;
/// # let person = protojit::Runtime::new().register(set)?.message("hello.Person")?;
/// use bytes::BytesMut;
/// use protojit::DelimitedCodec;
/// use tokio_util::codec::{Decoder, Encoder};
///
/// let mut codec = DelimitedCodec::new(person.clone());
/// let mut buffer = BytesMut::new();
/// codec.encode(&person.decode_owned(b"\x10\x24")?, &mut buffer)?;
/// assert_eq!(&buffer[..], b"\x02\x10\x24");
/// buffer.extend_from_slice(b"\x05\x10"); // and the beginning of the next
/// let message = codec.decode(&mut buffer)?.ok_or("not yet")??;
/// assert_eq!(message.as_ref().get(person.shape().i32("age")?), 36);
/// assert!(codec.decode(&mut buffer)?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DelimitedCodec {
    ty: MessageType,
    limit: usize,
    encoded: EncodeBuffer,
    /// Bytes of a frame over the limit that are still to come.
    skip: u64,
    /// Bytes of the stream before what is in the buffer.
    offset: u64,
}

/// A message could not be sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// It cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It cannot be encoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
}

impl DelimitedCodec {
    /// A codec of messages of this type, of at most [`DEFAULT_FRAME_LIMIT`] bytes each.
    pub fn new(ty: MessageType) -> DelimitedCodec {
        DelimitedCodec::within(ty, DEFAULT_FRAME_LIMIT)
    }

    /// As [`DelimitedCodec::new`], with messages of at most `limit` bytes; longer ones are passed over, and errors.
    pub fn within(ty: MessageType, limit: usize) -> DelimitedCodec {
        DelimitedCodec { ty, limit, encoded: EncodeBuffer::new(), skip: 0, offset: 0 }
    }

    fn consume(&mut self, buffer: &mut BytesMut, bytes: usize) {
        buffer.advance(bytes);
        self.offset += bytes as u64;
    }

    fn skip_some(&mut self, buffer: &mut BytesMut) {
        let now = self.skip.min(buffer.len() as u64);
        self.consume(buffer, now as usize);
        self.skip -= now;
    }
}

impl Decoder for DelimitedCodec {
    type Item = Result<Message, StreamError>;
    type Error = FrameError;

    fn decode(&mut self, buffer: &mut BytesMut) -> Result<Option<Self::Item>, FrameError> {
        self.skip_some(buffer);
        let offset = self.offset;
        let (length, size) = match parse_length(buffer) {
            Ok(Some(found)) if self.skip == 0 => found,
            Ok(_) => return Ok(None),
            Err(()) => return Err(FrameError::BadLength { offset }),
        };
        if length > self.limit as u64 {
            self.consume(buffer, size);
            let offset = self.offset;
            self.skip = length;
            self.skip_some(buffer);
            return Ok(Some(Err(StreamError::TooLong { offset, length })));
        }
        let whole = size + length as usize;
        if buffer.len() < whole {
            // A length is a claim: memory is taken as the bytes come in.
            buffer.reserve((whole - buffer.len()).min(64 << 10));
            return Ok(None);
        }
        let frame = buffer.split_to(whole).freeze().slice(size..);
        self.offset += whole as u64;
        let offset = offset + size as u64;
        Ok(Some(self.ty.decode_bytes(frame).map_err(|error| StreamError::Record { offset, error })))
    }

    fn decode_eof(&mut self, buffer: &mut BytesMut) -> Result<Option<Self::Item>, FrameError> {
        if let Some(item) = self.decode(buffer)? {
            return Ok(Some(item));
        }
        if self.skip > 0 {
            let found = buffer.len() as u64;
            return Err(FrameError::Truncated { offset: self.offset, length: Some(self.skip), found });
        }
        match parse_length(buffer) {
            _ if buffer.is_empty() => Ok(None),
            Ok(Some((length, size))) => Err(FrameError::Truncated {
                offset: self.offset + size as u64,
                length: Some(length),
                found: (buffer.len() - size) as u64,
            }),
            _ => Err(FrameError::Truncated { offset: self.offset, length: None, found: buffer.len() as u64 }),
        }
    }
}

impl Encoder<MessageRef<'_>> for DelimitedCodec {
    type Error = SendError;

    fn encode(&mut self, message: MessageRef<'_>, out: &mut BytesMut) -> Result<(), SendError> {
        out.put_slice(self.ty.encode_delimited_into(message, &mut self.encoded)?);
        Ok(())
    }
}

impl Encoder<&Message> for DelimitedCodec {
    type Error = SendError;

    fn encode(&mut self, message: &Message, out: &mut BytesMut) -> Result<(), SendError> {
        self.encode(message.as_ref(), out)
    }
}

impl Encoder<Message> for DelimitedCodec {
    type Error = SendError;

    fn encode(&mut self, message: Message, out: &mut BytesMut) -> Result<(), SendError> {
        self.encode(message.as_ref(), out)
    }
}
