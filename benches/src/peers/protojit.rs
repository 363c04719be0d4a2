//! protojit itself: compiled and interpreted.

use std::error::Error;
use std::hint::black_box;
use std::sync::OnceLock;

use protojit::{Arena, DecodeOptions, EncodeBuffer, Engine, Message, MessageRef, MessageType, Runtime, Schema, Shape};

use super::{Codec, Skip};
use crate::generated::handles::{Handles, Reader, reader};
use crate::workloads::{DESCRIPTOR_SET, Workload};

pub(super) fn make_jit(workload: &Workload) -> Result<Box<dyn Codec>, Skip> {
    make(workload, Engine::Jit, true)
}

pub(super) fn make_jit_discard(workload: &Workload) -> Result<Box<dyn Codec>, Skip> {
    make(workload, Engine::Jit, false)
}

pub(super) fn make_interp(workload: &Workload) -> Result<Box<dyn Codec>, Skip> {
    make(workload, Engine::Interp, true)
}

pub(super) fn make_interp_discard(workload: &Workload) -> Result<Box<dyn Codec>, Skip> {
    make(workload, Engine::Interp, false)
}

fn make(workload: &Workload, engine: Engine, keep_unknown: bool) -> Result<Box<dyn Codec>, Skip> {
    if !keep_unknown && !workload.has_unknown {
        return Err(Skip::Same);
    }
    let registered = registered(engine);
    let message = registered.schema.message(workload.message).map_err(|_| Skip::Cannot("no such message"))?;
    let message = message.with_decode_options(DecodeOptions { keep_unknown, ..DecodeOptions::default() });
    if engine == Engine::Jit && message.is_compiled().is_err() {
        return Err(Skip::Cannot("it was not compiled"));
    }
    Ok(Box::new(Protojit {
        payloads: workload.payloads(),
        message,
        handles: &registered.handles,
        reader: reader(workload.message).ok_or(Skip::Cannot("its reader was not generated"))?,
        arena: Arena::new(),
        decoded: Vec::new(),
        buffer: EncodeBuffer::new(),
    }))
}

/// The schema of all workloads, registered and compiled once per engine.
struct Registered {
    schema: Schema,
    handles: Handles,
}

fn registered(engine: Engine) -> &'static Registered {
    static JIT: OnceLock<Registered> = OnceLock::new();
    static INTERP: OnceLock<Registered> = OnceLock::new();
    let register = || -> Result<Registered, Box<dyn Error>> {
        let schema = Runtime::builder().engine(engine).build().register(DESCRIPTOR_SET)?;
        let handles = Handles::new::<Box<dyn Error>>(|name| Ok(Shape::clone(schema.message(name)?.shape())))?;
        Ok(Registered { schema, handles })
    };
    let slot = if engine == Engine::Jit { &JIT } else { &INTERP };
    slot.get_or_init(|| register().expect("the descriptors are valid"))
}

struct Protojit {
    payloads: &'static [Vec<u8>],
    message: MessageType,
    handles: &'static Handles,
    reader: Reader,
    arena: Arena,
    decoded: Vec<Message>,
    buffer: EncodeBuffer,
}

impl Protojit {
    #[inline]
    fn decode_one(&mut self, payload: &'static [u8]) -> MessageRef<'_> {
        self.arena.reset();
        self.message.decode(black_box(payload), &self.arena).expect("payloads are valid")
    }

    #[inline]
    fn read_one(&mut self, payload: &'static [u8]) -> u64 {
        let (reader, handles) = (self.reader, self.handles);
        reader(handles, self.decode_one(payload))
    }
}

impl Codec for Protojit {
    fn decode(&mut self) {
        for payload in self.payloads {
            black_box(&self.decode_one(payload));
        }
    }

    fn decode_and_read_all(&mut self) -> u64 {
        let payloads = self.payloads;
        payloads.iter().fold(0, |sum: u64, payload| sum.wrapping_add(self.read_one(payload)))
    }

    fn prepare_encode(&mut self) {
        let decode = |payload: &Vec<u8>| self.message.decode_owned(payload).expect("payloads are valid");
        self.decoded = self.payloads.iter().map(decode).collect();
    }

    fn encode_reused(&mut self) -> usize {
        let buffer = &mut self.buffer;
        let encode = |message: &Message| {
            let bytes = self.message.encode_into(message.as_ref(), buffer).expect("the messages are complete");
            black_box(bytes).len()
        };
        self.decoded.iter().map(encode).sum()
    }

    fn checksum(&mut self, payload: usize) -> u64 {
        self.read_one(&self.payloads[payload])
    }

    fn encoded(&mut self, payload: usize) -> Vec<u8> {
        self.message.encode_to_vec(self.decoded[payload].as_ref()).expect("the messages are complete")
    }

    fn arena_bytes(&mut self) -> Option<f64> {
        let payloads = self.payloads;
        // Twice: the first decode of each may leave unused tails behind, where the arena had to grow.
        let mut used = 0;
        for _ in 0..2 {
            used = 0;
            for payload in payloads {
                self.decode_one(payload);
                used += self.arena.used();
            }
        }
        Some(used as f64 / payloads.len() as f64)
    }
}
