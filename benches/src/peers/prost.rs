//! prost: messages that own their contents, and the reference that the others are checked against.

use std::hint::black_box;

use prost::Message;

use super::{Codec, Skip, codec_of_name};
use crate::generated::prost as messages;
use crate::read::Read;
use crate::workloads::Workload;

pub(super) fn make(workload: &Workload) -> Result<Box<dyn Codec>, Skip> {
    Ok(reference(workload)?)
}

/// What the others are checked against.
pub(super) fn reference(workload: &Workload) -> Result<Box<dyn Reference>, Skip> {
    codec_of_name!(workload.message, Prost, workload.payloads(), Reference)
}

/// A codec that also compares.
pub(super) trait Reference: Codec {
    /// Whether both are valid, and equal once they are decoded.
    fn equal(&self, left: &[u8], right: &[u8]) -> bool;
}

struct Prost<M> {
    payloads: &'static [Vec<u8>],
    reused: M,
    decoded: Vec<M>,
    buffer: Vec<u8>,
}

impl<M: Message + Default> Prost<M> {
    fn new(payloads: &'static [Vec<u8>]) -> Self {
        Prost { payloads, reused: M::default(), decoded: Vec::new(), buffer: Vec::new() }
    }

    #[inline]
    fn decode_one(payload: &[u8]) -> M {
        M::decode(black_box(payload)).expect("payloads are valid")
    }
}

impl<M: Message + Default + Read> Codec for Prost<M> {
    fn decode(&mut self) {
        for payload in self.payloads {
            black_box(&Self::decode_one(payload));
        }
    }

    fn decode_reused(&mut self) {
        for payload in self.payloads {
            self.reused.clear();
            self.reused.merge(black_box(payload.as_slice())).expect("payloads are valid");
            black_box(&self.reused);
        }
    }

    fn decode_and_read_all(&mut self) -> u64 {
        self.payloads.iter().fold(0, |sum: u64, payload| sum.wrapping_add(Self::decode_one(payload).read()))
    }

    fn prepare_encode(&mut self) {
        self.decoded = self.payloads.iter().map(|payload| Self::decode_one(payload)).collect();
    }

    fn encode_reused(&mut self) -> usize {
        let buffer = &mut self.buffer;
        let encode = |message: &M| {
            buffer.clear();
            message.encode(buffer).expect("a vector grows");
            black_box(&*buffer).len()
        };
        self.decoded.iter().map(encode).sum()
    }

    fn reuses(&self) -> bool {
        true
    }

    fn checksum(&mut self, payload: usize) -> u64 {
        Self::decode_one(&self.payloads[payload]).read()
    }

    fn encoded(&mut self, payload: usize) -> Vec<u8> {
        self.decoded[payload].encode_to_vec()
    }
}

impl<M: Message + Default + Read + PartialEq> Reference for Prost<M> {
    fn equal(&self, left: &[u8], right: &[u8]) -> bool {
        match (M::decode(left), M::decode(right)) {
            (Ok(left), Ok(right)) => left == right,
            _ => false,
        }
    }
}
