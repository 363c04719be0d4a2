//! buffa's generated messages that own their contents.

use std::hint::black_box;

use buffa::{Message, SizeCache};

use super::{Codec, Skip, codec_of_name};
use crate::generated::buffa as messages;
use crate::read::Read;
use crate::workloads::Workload;

pub(super) fn make(workload: &Workload) -> Result<Box<dyn Codec>, Skip> {
    codec_of_name!(workload.message, BuffaOwned, workload.payloads(), Codec)
}

struct BuffaOwned<M> {
    payloads: &'static [Vec<u8>],
    reused: M,
    decoded: Vec<M>,
    sizes: SizeCache,
    buffer: Vec<u8>,
}

impl<M: Message> BuffaOwned<M> {
    fn new(payloads: &'static [Vec<u8>]) -> Self {
        let (decoded, sizes, buffer) = (Vec::new(), SizeCache::new(), Vec::new());
        BuffaOwned { payloads, reused: M::default(), decoded, sizes, buffer }
    }

    #[inline]
    fn decode_one(payload: &[u8]) -> M {
        M::decode_from_slice(black_box(payload)).expect("payloads are valid")
    }
}

impl<M: Message + Read> Codec for BuffaOwned<M> {
    fn decode(&mut self) {
        for payload in self.payloads {
            black_box(&Self::decode_one(payload));
        }
    }

    fn decode_reused(&mut self) {
        for payload in self.payloads {
            self.reused.clear();
            self.reused.merge_from_slice(black_box(payload)).expect("payloads are valid");
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
        let (buffer, sizes) = (&mut self.buffer, &mut self.sizes);
        let encode = |message: &M| {
            buffer.clear();
            message.encode_with_cache(sizes, buffer);
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
