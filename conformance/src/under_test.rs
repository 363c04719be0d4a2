//! The codec under test.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;

use protojit::{Arena, Direction, Engine, MessageRef, MessageType, Runtime, Schema};

use crate::codec::Codec;
use crate::protocol::{Format, Outcome, Request};

/// protojit on the test messages.
pub struct Protojit {
    arena: Arena,
    types: HashMap<String, MessageType>,
    schema: Schema,
    runtime: Runtime,
}

impl Protojit {
    /// Registers the descriptors, to be run by one engine.
    pub fn new(descriptors: &[u8], engine: Engine) -> Result<Self, Box<dyn Error>> {
        let runtime = Runtime::builder().engine(engine).build();
        let schema = runtime.register(descriptors)?;
        Ok(Protojit { arena: Arena::new(), types: HashMap::new(), schema, runtime })
    }

    /// Which engine served the requests so far.
    pub fn served(&self) -> Served {
        self.arena.flush_counts();
        let trace = self.runtime.trace();
        let mut served = Served { fallbacks: trace.fallbacks(Direction::Decode).count(), ..Served::default() };
        for program in &trace.programs {
            served.compiled += program.compiled_calls;
            served.interpreted += program.interpreted_calls;
            served.disagreements += program.disagreements;
        }
        served
    }
}

impl Codec for Protojit {
    fn run(&mut self, request: &Request) -> Outcome {
        let message_type = match self.types.get(&request.message_type) {
            Some(message_type) => message_type,
            None => match self.schema.message(&request.message_type) {
                Ok(found) => self.types.entry(request.message_type.clone()).or_insert(found),
                Err(error) => return Outcome::RuntimeError(error.to_string()),
            },
        };
        let Some((format, payload)) = &request.payload else {
            return Outcome::RuntimeError("a request without a payload".into());
        };
        self.arena.reset();
        let message = match format {
            Format::Protobuf => message_type.decode(payload, &self.arena).map_err(|e| e.to_string()),
            other => return Outcome::Skipped(format!("{other:?} input")),
        };
        match message {
            Ok(message) => write(message_type, message, request),
            Err(error) => Outcome::ParseError(error),
        }
    }
}

fn write(message_type: &MessageType, message: MessageRef<'_>, request: &Request) -> Outcome {
    match request.output() {
        Format::Protobuf => match message_type.encode_to_vec(message) {
            Ok(bytes) => Outcome::Protobuf(bytes),
            Err(error) => Outcome::SerializeError(error.to_string()),
        },
        other => Outcome::Skipped(format!("{other:?} output")),
    }
}

/// What the trace says about a run.
#[derive(Debug, Default)]
pub struct Served {
    /// Decodes that compiled code served.
    compiled: u64,
    /// Decodes that the interpreter served.
    interpreted: u64,
    /// Inputs that the engines were found to disagree about.
    disagreements: u64,
    /// Message types that are not compiled.
    fallbacks: usize,
}

impl fmt::Display for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Served { compiled, interpreted, disagreements, fallbacks } = self;
        write!(f, "{compiled} compiled {interpreted} interpreted {disagreements} disagreements {fallbacks} fallbacks")
    }
}
