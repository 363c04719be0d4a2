//! What is written is read again as the same message, by protojit and (as far as it goes) by prost-reflect.

use std::sync::OnceLock;

use proptest::prelude::*;
use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage, SerializeOptions};
use protojit::Message;
use protojit::json::{self, JsonReadOptions, JsonWriteOptions};
use protojit::text::{self, TextReadOptions, TextWriteOptions};

use super::random::{Entropy, fill};
use super::{message_type, schema};

const DEPTH: u32 = 3;

fn random(name: &str, bytes: &[u8]) -> Message {
    random_with(name, Entropy { rest: bytes, odd_floats: true })
}

/// prost-reflect takes a negative zero for an absent one, and writes NaN in wrappers as null.
fn random_for_reflect(name: &str, bytes: &[u8]) -> Message {
    random_with(name, Entropy { rest: bytes, odd_floats: false })
}

fn random_with(name: &str, mut entropy: Entropy<'_>) -> Message {
    let mut message = message_type(name).new_message();
    fill(&mut message.as_mut(), &mut entropy, DEPTH);
    message
}

fn json_of(message: &Message, options: &JsonWriteOptions) -> String {
    let mut out = Vec::new();
    json::write(message.as_ref(), options, schema(), &mut out).unwrap_or_else(|error| panic!("{error}: {message:?}"));
    String::from_utf8(out).unwrap()
}

fn of_json(name: &str, text: &str) -> Message {
    let mut message = message_type(name).new_message();
    json::read(text.as_bytes(), &mut message.as_mut(), &JsonReadOptions::default(), schema())
        .unwrap_or_else(|error| panic!("{error}: {text}"));
    message
}

fn text_of(message: &Message, options: &TextWriteOptions) -> String {
    let mut out = Vec::new();
    text::write(message.as_ref(), options, schema(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn of_text(name: &str, source: &str) -> Message {
    let mut message = message_type(name).new_message();
    text::read(source.as_bytes(), &mut message.as_mut(), &TextReadOptions::default(), schema())
        .unwrap_or_else(|error| panic!("{error}: {source}"));
    message
}

fn pool() -> &'static DescriptorPool {
    static POOL: OnceLock<DescriptorPool> = OnceLock::new();
    POOL.get_or_init(|| DescriptorPool::decode(schema().descriptors().descriptor_set()).unwrap())
}

fn to_reflect(name: &str, message: &Message) -> DynamicMessage {
    let bytes = message_type(name).encode_to_vec(message.as_ref()).unwrap();
    DynamicMessage::decode(pool().get_message_by_name(name).unwrap(), &bytes[..]).unwrap()
}

fn of_reflect(name: &str, message: &DynamicMessage) -> Message {
    message_type(name).decode_owned(&message.encode_to_vec()).unwrap()
}

#[track_caller]
fn assert_same(found: &Message, expected: &Message, text: &str) {
    assert!(found.as_ref().same_as(expected.as_ref()), "{text}\nread as {found:?}\ninstead of {expected:?}");
}

fn types() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("t.All"), Just("t2.Two")]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn json_comes_back(name in types(), bytes in prop::collection::vec(any::<u8>(), 0..600), flags in any::<u8>()) {
        let message = random(name, &bytes);
        let options = JsonWriteOptions {
            proto_field_names: flags & 1 != 0,
            emit_defaults: flags & 2 != 0,
            enums_as_integers: flags & 4 != 0,
            int64_as_numbers: flags & 8 != 0,
            pretty: flags & 16 != 0,
            ..JsonWriteOptions::default()
        };
        let text = json_of(&message, &options);
        let back = of_json(name, &text);
        assert_same(&back, &message, &text);
        prop_assert_eq!(&json_of(&back, &options), &text);
        // Any JSON reader takes it.
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_same(&of_json(name, &value.to_string()), &message, &text);
    }

    #[test]
    fn the_text_format_comes_back(name in types(), bytes in prop::collection::vec(any::<u8>(), 0..600), flags in any::<u8>()) {
        let message = random(name, &bytes);
        let options = TextWriteOptions {
            single_line: flags & 1 != 0,
            expand_any: flags & 2 != 0,
            ascii: flags & 4 != 0,
            ..TextWriteOptions::default()
        };
        let source = text_of(&message, &options);
        prop_assert!(flags & 1 == 0 || !source.contains('\n'));
        let back = of_text(name, &source);
        assert_same(&back, &message, &source);
        prop_assert_eq!(text_of(&back, &options), source);
    }

    #[test]
    fn prost_reflect_agrees_about_json(name in types(), bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let message = random_for_reflect(name, &bytes);
        let text = json_of(&message, &JsonWriteOptions::default());
        let descriptor = pool().get_message_by_name(name).unwrap();
        let mut deserializer = serde_json::Deserializer::from_str(&text);
        let theirs = DynamicMessage::deserialize(descriptor, &mut deserializer).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_same(&of_reflect(name, &theirs), &message, &text);

        let mut out = serde_json::Serializer::new(Vec::new());
        let options = SerializeOptions::new().skip_default_fields(true);
        to_reflect(name, &message).serialize_with_options(&mut out, &options).unwrap();
        let theirs = String::from_utf8(out.into_inner()).unwrap();
        assert_same(&of_json(name, &theirs), &message, &theirs);
    }

    #[test]
    fn prost_reflect_agrees_about_the_text_format(name in types(), bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let message = random_for_reflect(name, &bytes);
        let source = text_of(&message, &TextWriteOptions::default());
        let descriptor = pool().get_message_by_name(name).unwrap();
        let theirs = DynamicMessage::parse_text_format(descriptor, &source).unwrap_or_else(|error| panic!("{error}: {source}"));
        assert_same(&of_reflect(name, &theirs), &message, &source);
        let theirs = to_reflect(name, &message).to_text_format();
        assert_same(&of_text(name, &theirs), &message, &theirs);
    }
}
