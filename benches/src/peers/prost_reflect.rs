//! prost-reflect: dynamic messages, a tree of values.

use std::hint::black_box;

use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MapKey, MessageDescriptor, Value};

use super::{Codec, Skip};
use crate::read::{MESSAGE, Read, bytes, entry, weight};
use crate::workloads::{DESCRIPTOR_SET, Workload};

pub(super) fn make(workload: &Workload) -> Result<Box<dyn Codec>, Skip> {
    let pool = DescriptorPool::decode(DESCRIPTOR_SET).expect("the descriptors are valid");
    let descriptor = pool.get_message_by_name(workload.message).ok_or(Skip::Cannot("no such message"))?;
    Ok(Box::new(ProstReflect { payloads: workload.payloads(), descriptor, decoded: Vec::new(), buffer: Vec::new() }))
}

struct ProstReflect {
    payloads: &'static [Vec<u8>],
    descriptor: MessageDescriptor,
    decoded: Vec<DynamicMessage>,
    buffer: Vec<u8>,
}

impl ProstReflect {
    #[inline]
    fn decode_one(&self, payload: &[u8]) -> DynamicMessage {
        DynamicMessage::decode(self.descriptor.clone(), black_box(payload)).expect("payloads are valid")
    }
}

/// Reads every field that is set, extensions excepted.
fn read_message(message: &DynamicMessage) -> u64 {
    let fields = message.fields();
    fields.fold(MESSAGE, |sum, (field, value)| sum.wrapping_add(read_value(value).wrapping_mul(weight(field.number()))))
}

fn read_value(value: &Value) -> u64 {
    match value {
        Value::Bool(value) => value.read(),
        Value::I32(value) | Value::EnumNumber(value) => value.read(),
        Value::I64(value) => value.read(),
        Value::U32(value) => value.read(),
        Value::U64(value) => value.read(),
        Value::F32(value) => value.read(),
        Value::F64(value) => value.read(),
        Value::String(value) => value.read(),
        Value::Bytes(value) => bytes(value),
        Value::Message(message) => read_message(message),
        Value::List(list) => list.iter().fold(0, |sum, value| sum.wrapping_add(read_value(value))),
        Value::Map(map) => {
            map.iter().fold(0, |sum, (key, value)| sum.wrapping_add(entry(read_key(key), read_value(value))))
        }
    }
}

fn read_key(key: &MapKey) -> u64 {
    match key {
        MapKey::Bool(key) => key.read(),
        MapKey::I32(key) => key.read(),
        MapKey::I64(key) => key.read(),
        MapKey::U32(key) => key.read(),
        MapKey::U64(key) => key.read(),
        MapKey::String(key) => key.read(),
    }
}

impl Codec for ProstReflect {
    fn decode(&mut self) {
        for payload in self.payloads {
            black_box(&self.decode_one(payload));
        }
    }

    fn decode_and_read_all(&mut self) -> u64 {
        let read = |sum: u64, payload: &Vec<u8>| sum.wrapping_add(read_message(&self.decode_one(payload)));
        self.payloads.iter().fold(0, read)
    }

    fn prepare_encode(&mut self) {
        self.decoded = self.payloads.iter().map(|payload| self.decode_one(payload)).collect();
    }

    fn encode_reused(&mut self) -> usize {
        let buffer = &mut self.buffer;
        let encode = |message: &DynamicMessage| {
            buffer.clear();
            message.encode(buffer).expect("a vector grows");
            black_box(&*buffer).len()
        };
        self.decoded.iter().map(encode).sum()
    }

    fn checksum(&mut self, payload: usize) -> u64 {
        read_message(&self.decode_one(&self.payloads[payload]))
    }

    fn encoded(&mut self, payload: usize) -> Vec<u8> {
        self.decoded[payload].encode_to_vec()
    }
}
