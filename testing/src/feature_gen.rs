//! Random features of editions, on files, messages, enums, oneofs and fields. prost-types does not know them, so they are written into
//! the encoded descriptor: what is appended to a message is merged into it.

use prost::Message as _;
use prost_types::FieldDescriptorProto;
use prost_types::field_descriptor_proto::{Label, Type};
use protojit_core::wire::{WireType, push_varint, read_varint, tag};

use crate::rng::Rng;

/// Field presence, enum type, repeated encoding, UTF-8 check, message encoding: numbers in `FeatureSet`.
const PRESENCE: (u64, &[u64]) = (1, &[1, 2]);
const PRESENCE_OR_REQUIRED: (u64, &[u64]) = (1, &[1, 2, 3]);
const ENUM_TYPE: (u64, &[u64]) = (2, &[1, 2]);
const REPEATED: (u64, &[u64]) = (3, &[1, 2]);
const UTF8: (u64, &[u64]) = (4, &[2, 3]);
const ENCODING: (u64, &[u64]) = (5, &[1, 2]);

/// A file descriptor of edition 2023 with random features everywhere they may stand.
pub fn with_features(rng: &mut Rng, file: &[u8]) -> Vec<u8> {
    let mut out = rewritten(rng, file, |rng, number, content| match number {
        4 => Some(message(rng, content)),
        5 => Some(enumeration(rng, content)),
        7 => Some(field(rng, content)),
        _ => None,
    });
    push_varint(tag(14, WireType::Varint).into(), &mut out);
    push_varint(1000, &mut out);
    options(rng, &mut out, 8, 50, 70, &[PRESENCE, ENUM_TYPE, REPEATED, UTF8, ENCODING]);
    out
}

fn message(rng: &mut Rng, descriptor: &[u8]) -> Vec<u8> {
    let mut out = rewritten(rng, descriptor, |rng, number, content| match number {
        2 | 6 => Some(field(rng, content)),
        3 => Some(message(rng, content)),
        4 => Some(enumeration(rng, content)),
        8 => {
            let mut oneof = content.to_vec();
            options(rng, &mut oneof, 2, 1, 10, &[UTF8, ENCODING]);
            Some(oneof)
        }
        _ => None,
    });
    options(rng, &mut out, 7, 12, 10, &[PRESENCE, ENUM_TYPE, REPEATED, UTF8, ENCODING]);
    out
}

fn enumeration(rng: &mut Rng, descriptor: &[u8]) -> Vec<u8> {
    let mut out = descriptor.to_vec();
    options(rng, &mut out, 3, 7, 40, &[ENUM_TYPE]);
    out
}

fn field(rng: &mut Rng, descriptor: &[u8]) -> Vec<u8> {
    let mut out = descriptor.to_vec();
    let Ok(field) = FieldDescriptorProto::decode(descriptor) else { return out };
    let alone = field.label() == Label::Optional && field.oneof_index.is_none() && field.extendee.is_none();
    let mut able = Vec::new();
    if alone {
        able.push(if rng.chance(15) { PRESENCE_OR_REQUIRED } else { PRESENCE });
    }
    match field.r#type() {
        Type::Message => able.push(ENCODING),
        Type::String => able.push(UTF8),
        Type::Bytes => {}
        _ if field.label() == Label::Repeated => able.push(REPEATED),
        _ => {}
    }
    options(rng, &mut out, 8, 21, 30, &able);
    out
}

/// What becomes of a field with this number and content; `None` where it stays.
type Change = fn(&mut Rng, u32, &[u8]) -> Option<Vec<u8>>;

/// A copy whose length-prefixed fields are what `change` makes of them.
fn rewritten(rng: &mut Rng, message: &[u8], change: Change) -> Vec<u8> {
    let (mut out, mut at) = (Vec::new(), 0);
    while at < message.len() {
        let begin = at;
        let key = read_varint(message, &mut at).expect("an encoded descriptor") as u32;
        let value = read_varint(message, &mut at).expect("descriptors have varints and lengths only");
        if WireType::of_tag(key) == Some(WireType::Len) {
            let content = &message[at..at + value as usize];
            at += content.len();
            if let Some(changed) = change(rng, key >> 3, content) {
                push_varint(key.into(), &mut out);
                push_varint(changed.len() as u64, &mut out);
                out.extend_from_slice(&changed);
                continue;
            }
        }
        out.extend_from_slice(&message[begin..at]);
    }
    out
}

/// Appends options (field `number` of the descriptor) with features (field `features` of the options).
fn options(rng: &mut Rng, out: &mut Vec<u8>, number: u32, features: u32, percent: u32, able: &[(u64, &[u64])]) {
    let mut set = Vec::new();
    for (feature, values) in able {
        if rng.chance(percent) {
            push_varint(feature << 3, &mut set);
            push_varint(*rng.pick(values), &mut set);
        }
    }
    if !set.is_empty() {
        let mut inner = Vec::new();
        len_field(features, &set, &mut inner);
        len_field(number, &inner, out);
    }
}

fn len_field(number: u32, content: &[u8], out: &mut Vec<u8>) {
    push_varint(tag(number, WireType::Len).into(), out);
    push_varint(content.len() as u64, out);
    out.extend_from_slice(content);
}
