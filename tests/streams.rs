//! Delimited streams, read at once and as they come in, by iterators and by the codec: all say the same.

use bytes::BytesMut;
use futures::{SinkExt, StreamExt};
use protojit::stream::{FrameError, Frames, StreamError};
use protojit::{Arena, DelimitedCodec, MessageType, Runtime, SendError};
use protojit_core::wire::push_varint;
use protojit_testing::dump::dump;
use protojit_testing::schemas::{descriptor_set, descriptor_set_of};
use tokio_util::codec::{Decoder, FramedRead, FramedWrite};

fn person() -> MessageType {
    Runtime::new().register(&descriptor_set("hello.proto")).unwrap().message("hello.Person").unwrap()
}

/// What becomes of each record: a dump, or what is wrong and whether it goes on.
fn told(record: Result<String, StreamError>) -> String {
    record.unwrap_or_else(|error| format!("{error}, goes on: {}", error.goes_on()))
}

/// Records short and long, two of them bad, one over the limit of 100,000 bytes.
fn stream() -> Vec<u8> {
    let (mut out, mut long) = (Vec::new(), b"\x42\x80\x20".to_vec());
    long.resize(3 + 4096, 5);
    let records: [&[u8]; 8] =
        [b"", b"\x0a\x03Ada", b"\x10", &long, b"\x0a\x02\xff\xff", b"\x10\x07", &[0; 100_001], b"\x0a\x01x"];
    for record in records {
        push_varint(record.len() as u64, &mut out);
        out.extend_from_slice(record);
    }
    out
}

fn by_iterator(stream: &[u8]) -> Vec<String> {
    let records = person().records_within(stream, 100_000);
    records.map(|record| told(record.map(|message| dump(message.as_ref())))).collect()
}

fn by_arena(stream: &[u8]) -> Vec<String> {
    let (mut records, mut arena, mut all) = (person().records_within(stream, 100_000), Arena::new(), Vec::new());
    while let Some(record) = records.next_in(&mut arena) {
        all.push(told(record.map(dump)));
    }
    all
}

/// Through the codec, so many bytes at a time.
fn by_codec(stream: &[u8], step: usize) -> Vec<String> {
    let (mut codec, mut buffer, mut all) = (DelimitedCodec::within(person(), 100_000), BytesMut::new(), Vec::new());
    let mut pieces = stream.chunks(step);
    loop {
        let piece = pieces.next();
        buffer.extend_from_slice(piece.unwrap_or_default());
        loop {
            let item = if piece.is_some() { codec.decode(&mut buffer) } else { codec.decode_eof(&mut buffer) };
            match item {
                Ok(Some(item)) => all.push(told(item.map(|message| dump(message.as_ref())))),
                Ok(None) => break,
                Err(error) => {
                    all.push(told(Err(error.into())));
                    return all;
                }
            }
        }
        if piece.is_none() {
            return all;
        }
    }
}

#[test]
fn all_ways_say_the_same() {
    let whole = stream();
    let all = by_iterator(&whole);
    assert_eq!(all.len(), 8);
    assert_eq!(all[1], "{1:s\"Ada\" }");
    assert!(all[2].starts_with("the record at byte 8: the bytes end inside a value") && all[2].ends_with("true"));
    assert!(all[6].contains("has 100001 bytes, more than the limit"));
    // Whole, and cut off at interesting places.
    for end in (0..40).chain(4100..4160).chain([104_000, whole.len() - 1, whole.len()]) {
        let stream = &whole[..end];
        let expected = by_iterator(stream);
        assert_eq!(by_arena(stream), expected, "{end}");
        let smallest = if end < 5_000 { 1 } else { 700 };
        for step in [smallest, 3 * smallest, 1 << 20] {
            let found = by_codec(stream, step);
            // Where a frame over the limit is cut off, the iterator tells of that alone.
            let cut_in_long = (4121..104_122).contains(&end);
            assert_eq!(found[..found.len().min(6)], expected[..expected.len().min(6)], "{end} {step}");
            assert!(cut_in_long || found == expected, "{end} {step}: {found:?}");
        }
    }
}

#[test]
fn a_bad_frame_ends_the_stream() {
    for (bytes, expected) in [
        (&b"\x02\x10\x07\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"[..], "no varint (byte 3)"),
        (b"\x02\x10\x07\x80", "ends inside the length of a frame (byte 3)"),
        (b"\x02\x10\x07\x05\x10", "5 bytes were announced and 1 are there (byte 4)"),
    ] {
        for all in [by_iterator(bytes), by_arena(bytes), by_codec(bytes, 1), by_codec(bytes, 100)] {
            assert_eq!(all.len(), 2, "{all:?}");
            assert!(all[1].contains(expected) && all[1].ends_with("goes on: false"), "{all:?}");
        }
    }
}

/// A source that cannot be read on.
struct Broken;

impl std::io::Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::Error::other("the line is dead"))
    }
}

#[test]
fn errors_of_the_source_end_it_too() {
    let all: Vec<_> = person().records(Broken).collect();
    assert!(
        matches!(&all[..], [Err(StreamError::Frame(FrameError::Io(error)))] if error.to_string() == "the line is dead")
    );
    assert!(Frames::new(Broken, 1).next().is_err());
}

#[test]
fn framed_over_a_pipe() {
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let person = person();
    let name = person.shape().str("name").unwrap();
    tokio.block_on(async {
        let (near, far) = tokio::io::duplex(64);
        let sender = person.clone();
        let sending = tokio.spawn(async move {
            let mut out = FramedWrite::new(near, DelimitedCodec::new(sender.clone()));
            for at in 0..200 {
                let mut message = sender.new_message();
                message.as_mut().set(name, &format!("{at:>width$}", width = at * 7)).unwrap();
                out.send(message).await.unwrap();
            }
        });
        let mut records = FramedRead::new(far, DelimitedCodec::new(person.clone()));
        let mut seen = 0;
        while let Some(record) = records.next().await {
            let message = record.unwrap().unwrap();
            assert_eq!(message.as_ref().get(name).to_str().unwrap().trim(), seen.to_string());
            seen += 1;
        }
        sending.await.unwrap();
        assert_eq!(seen, 200);
    });
    // What cannot be encoded is an error of the sink.
    let set = descriptor_set_of("syntax = \"proto2\"; message M { required int32 x = 1; }");
    let strict = Runtime::new().register(&set).unwrap().message("M").unwrap();
    tokio.block_on(async {
        let mut out = FramedWrite::new(tokio::io::sink(), DelimitedCodec::new(strict.clone()));
        assert!(matches!(out.send(strict.new_message()).await, Err(SendError::Encode(_))));
    });
}
