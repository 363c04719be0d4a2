//! buffa's generated views, which borrow strings and bytes of the input.

use std::hint::black_box;

use buffa::{HasMessageView, MessageView, SizeCache, ViewEncode};

use super::{Codec, Skip, codec_of_name};
use crate::generated::buffa as messages;
use crate::read::Read;
use crate::workloads::Workload;

pub(super) fn make(workload: &Workload) -> Result<Box<dyn Codec>, Skip> {
    codec_of_name!(workload.message, BuffaView, workload.payloads(), Codec)
}

struct BuffaView<M: HasMessageView> {
    payloads: &'static [Vec<u8>],
    decoded: Vec<M::View<'static>>,
    sizes: SizeCache,
    buffer: Vec<u8>,
}

impl<M: HasMessageView> BuffaView<M> {
    fn new(payloads: &'static [Vec<u8>]) -> Self {
        BuffaView { payloads, decoded: Vec::new(), sizes: SizeCache::new(), buffer: Vec::new() }
    }

    #[inline]
    fn decode_one(payload: &'static [u8]) -> M::View<'static> {
        M::View::decode_view(black_box(payload)).expect("payloads are valid")
    }
}

impl<M: HasMessageView> Codec for BuffaView<M>
where
    M::View<'static>: Read + ViewEncode<'static>,
{
    fn decode(&mut self) {
        for payload in self.payloads {
            black_box(&Self::decode_one(payload));
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
        let encode = |message: &M::View<'static>| {
            buffer.clear();
            message.encode_with_cache(sizes, buffer);
            black_box(&*buffer).len()
        };
        self.decoded.iter().map(encode).sum()
    }

    fn checksum(&mut self, payload: usize) -> u64 {
        Self::decode_one(&self.payloads[payload]).read()
    }

    fn encoded(&mut self, payload: usize) -> Vec<u8> {
        let mut out = Vec::new();
        self.decoded[payload].encode(&mut out);
        out
    }
}
