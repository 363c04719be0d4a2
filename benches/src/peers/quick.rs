//! quick-protobuf: generated messages that borrow strings and bytes of the input.

use std::hint::black_box;

use quick_protobuf::{BytesReader, MessageRead, MessageWrite, Writer};

use super::{Codec, Skip};
use crate::generated::quick as messages;
use crate::read::Read;
use crate::workloads::Workload;

/// A message type, whatever its lifetime.
trait Family: 'static {
    type Message<'a>: MessageRead<'a> + MessageWrite + Read;
}

macro_rules! families {
    ($name:expr, $payloads:expr, $($full_name:literal => $family:ident($message:ty),)*) => {{
        $(
            struct $family;
            impl Family for $family {
                type Message<'a> = $message;
            }
        )*
        match $name {
            $($full_name => Ok(Box::new(Quick::<$family>::new($payloads))),)*
            _ => Err(Skip::Cannot("its code was not generated")),
        }
    }};
}

pub(super) fn make(workload: &Workload) -> Result<Box<dyn Codec>, Skip> {
    match workload.message {
        "basic.BenchPayload" => return Err(Skip::Cannot("pb-rs does not read groups")),
        // It casts the bytes of the input to numbers where they lie.
        "packed.Packed" if workload.name.contains("/double/") || workload.name.contains("/fixed32/") => {
            return Err(Skip::Cannot("undefined behaviour: a slice of unaligned numbers"));
        }
        _ => {}
    }
    families! { workload.message, workload.payloads(),
        "hello.Person" => Person(messages::hello::Person<'a>),
        "scalars.Scalars" => Scalars(messages::scalars::Scalars),
        "packed.Packed" => Packed(messages::packed::Packed<'a>),
        "maps.Counters" => Counters(messages::maps::Counters<'a>),
        "maps.Inventory" => Inventory(messages::maps::Inventory<'a>),
        "tree.Node" => Node(messages::tree::Node),
        "logs.LogRecord" => LogRecord(messages::logs::LogRecord<'a>),
        "analytics.Batch" => Batch(messages::analytics::Batch<'a>),
        "ticks.Tick" => Tick(messages::ticks::Tick<'a>),
        "otel.TraceExport" => TraceExport(messages::otel::TraceExport<'a>),
        "unknown.Known" => Known(messages::unknown::Known<'a>),
        "texts.Document" => Document(messages::texts::Document<'a>),
    }
}

struct Quick<F: Family> {
    payloads: &'static [Vec<u8>],
    decoded: Vec<F::Message<'static>>,
    buffer: Vec<u8>,
}

impl<F: Family> Quick<F> {
    fn new(payloads: &'static [Vec<u8>]) -> Self {
        Quick { payloads, decoded: Vec::new(), buffer: Vec::new() }
    }

    #[inline]
    fn decode_one(payload: &'static [u8]) -> F::Message<'static> {
        let payload = black_box(payload);
        let mut reader = BytesReader::from_bytes(payload);
        F::Message::from_reader(&mut reader, payload).expect("payloads are valid")
    }
}

impl<F: Family> Codec for Quick<F> {
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
        let buffer = &mut self.buffer;
        let encode = |message: &F::Message<'static>| {
            buffer.clear();
            message.write_message(&mut Writer::new(&mut *buffer)).expect("a vector grows");
            black_box(&*buffer).len()
        };
        self.decoded.iter().map(encode).sum()
    }

    fn checksum(&mut self, payload: usize) -> u64 {
        Self::decode_one(&self.payloads[payload]).read()
    }

    fn encoded(&mut self, payload: usize) -> Vec<u8> {
        let mut out = Vec::new();
        self.decoded[payload].write_message(&mut Writer::new(&mut out)).expect("a vector grows");
        out
    }
}
