//! JSON and the text format, seen from outside.

mod json_known;
mod json_read;
mod json_write;
mod random;
mod round_trips;
mod text_read;
mod text_write;

use std::sync::OnceLock;

use protojit::json::{self, JsonReadOptions, JsonWriteOptions, ReadError, ReadErrorKind, WriteError, WriteErrorKind};
use protojit::{Engine, Message, MessageType, Runtime, Schema};

/// `three.proto` and `two.proto`, on the interpreter: formats know nothing of engines.
fn schema() -> &'static Schema {
    static SCHEMA: OnceLock<Schema> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/formats");
        let files = ["three.proto", "two.proto"].map(|file| format!("{dir}/{file}"));
        let set = prost::Message::encode_to_vec(&protox::compile(files, [dir]).unwrap());
        Runtime::builder().engine(Engine::Interp).build().register(&set).unwrap()
    })
}

fn message_type(name: &str) -> MessageType {
    schema().message(name).unwrap()
}

fn read_with(name: &str, text: &str, options: &JsonReadOptions) -> Result<Message, ReadError> {
    let mut message = message_type(name).new_message();
    json::read(text.as_bytes(), &mut message.as_mut(), options, schema())?;
    Ok(message)
}

fn read(name: &str, text: &str) -> Result<Message, ReadError> {
    read_with(name, text, &JsonReadOptions::default())
}

fn write_with(message: &Message, options: &JsonWriteOptions) -> Result<String, WriteError> {
    let mut out = b"before".to_vec();
    let done = json::write(message.as_ref(), options, schema(), &mut out);
    let text = String::from_utf8(out).unwrap();
    let text = text.strip_prefix("before").unwrap().to_owned();
    if done.is_err() {
        assert_eq!(text, "", "what was written before an error is taken back");
    }
    done.map(|()| text)
}

fn write(message: &Message) -> Result<String, WriteError> {
    write_with(message, &JsonWriteOptions::default())
}

/// Reads and writes again.
#[track_caller]
fn again(name: &str, text: &str) -> String {
    write(&read(name, text).unwrap_or_else(|error| panic!("{text}: {error}"))).unwrap()
}

/// Both texts mean the same message, and the second is how it is written.
#[track_caller]
fn same(name: &str, text: &str, canonical: &str) {
    assert_eq!(again(name, text), canonical, "{text}");
    assert_eq!(again(name, canonical), canonical);
}

#[track_caller]
fn refused(name: &str, text: &str, kind: ReadErrorKind) -> ReadError {
    match read(name, text) {
        Ok(message) => panic!("{text} is accepted as {message:?}"),
        Err(error) => {
            assert_eq!(error.kind(), kind, "{text}: {error}");
            error
        }
    }
}

/// The message with these wire bytes has no JSON form.
#[track_caller]
fn unwritable(name: &str, bytes: &[u8], kind: WriteErrorKind) -> WriteError {
    let message = message_type(name).decode_owned(bytes).unwrap();
    let error = write(&message).unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    error
}
