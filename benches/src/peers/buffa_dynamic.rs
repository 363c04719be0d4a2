//! buffa's dynamic messages.

use std::hint::black_box;
use std::sync::Arc;

use buffa_descriptor::reflect::{DynamicMessage, MapKeyRef, ReflectCow, ReflectMessage, ValueRef};
use buffa_descriptor::{DescriptorPool, MessageIndex};

use super::{Codec, Skip};
use crate::read::{MESSAGE, Read, bytes, entry, weight};
use crate::workloads::{DESCRIPTOR_SET, Workload};

pub(super) fn make(workload: &Workload) -> Result<Box<dyn Codec>, Skip> {
    let pool = Arc::new(DescriptorPool::decode(DESCRIPTOR_SET).expect("the descriptors are valid"));
    let message = pool.message_index(workload.message).ok_or(Skip::Cannot("no such message"))?;
    let payloads = workload.payloads();
    Ok(Box::new(BuffaDynamic { payloads, pool, message, decoded: Vec::new(), buffer: Vec::new() }))
}

struct BuffaDynamic {
    payloads: &'static [Vec<u8>],
    pool: Arc<DescriptorPool>,
    message: MessageIndex,
    decoded: Vec<DynamicMessage>,
    buffer: Vec<u8>,
}

impl BuffaDynamic {
    #[inline]
    fn decode_one(&self, payload: &[u8]) -> DynamicMessage {
        DynamicMessage::decode(self.pool.clone(), self.message, black_box(payload)).expect("payloads are valid")
    }
}

/// Reads every field that is set, extensions excepted.
fn read_message(message: &dyn ReflectMessage) -> u64 {
    let mut sum = MESSAGE;
    let descriptor = message.message_descriptor();
    message.for_each_set(&mut |field, value| {
        if descriptor.field(field.number()).is_some() {
            sum = sum.wrapping_add(read_value(value).wrapping_mul(weight(field.number())));
        }
    });
    sum
}

fn read_value(value: ValueRef<'_>) -> u64 {
    match value {
        ValueRef::Bool(value) => value.read(),
        ValueRef::I32(value) | ValueRef::EnumNumber(value) => value.read(),
        ValueRef::I64(value) => value.read(),
        ValueRef::U32(value) => value.read(),
        ValueRef::U64(value) => value.read(),
        ValueRef::F32(value) => value.read(),
        ValueRef::F64(value) => value.read(),
        ValueRef::String(value) => value.read(),
        ValueRef::Bytes(value) => bytes(value),
        ValueRef::Message(ReflectCow::Borrowed(message)) => read_message(message),
        ValueRef::Message(ReflectCow::Owned(message)) => read_message(&*message),
        ValueRef::List(list) => {
            let mut sum = 0u64;
            list.for_each(&mut |value| sum = sum.wrapping_add(read_value(value)));
            sum
        }
        ValueRef::Map(map) => {
            let mut sum = 0u64;
            map.for_each(&mut |key, value| sum = sum.wrapping_add(entry(read_key(key), read_value(value))));
            sum
        }
    }
}

fn read_key(key: MapKeyRef<'_>) -> u64 {
    match key {
        MapKeyRef::Bool(key) => key.read(),
        MapKeyRef::I32(key) => key.read(),
        MapKeyRef::I64(key) => key.read(),
        MapKeyRef::U32(key) => key.read(),
        MapKeyRef::U64(key) => key.read(),
        MapKeyRef::String(key) => key.read(),
    }
}

impl Codec for BuffaDynamic {
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
            message.encode(buffer);
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
