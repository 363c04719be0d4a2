//! The codec under test.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;

use protojit::json::{self, JsonReadOptions, JsonWriteOptions};
use protojit::text::{self, TextReadOptions, TextWriteOptions};
use protojit::{Arena, Engine, EngineUsed, MessageRef, MessageType, Runtime, Schema};

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
        let mut served = Served::default();
        for program in &trace.programs {
            served.compiled += program.compiled_calls;
            served.interpreted += program.interpreted_calls;
            served.disagreements += program.disagreements;
            served.fallbacks += u64::from(program.engine != EngineUsed::Jit);
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
        if *format == Format::Protobuf {
            return match message_type.decode(payload, &self.arena) {
                Ok(message) => write(message_type, message, request),
                Err(error) => Outcome::ParseError(error.to_string()),
            };
        }
        let mut message = match message_type.new_in(&self.arena) {
            Ok(message) => message,
            Err(error) => return Outcome::RuntimeError(error.to_string()),
        };
        let read = match format {
            Format::Json => {
                let options = JsonReadOptions { ignore_unknown: request.ignore_unknown_json(), ..Default::default() };
                json::read(payload, &mut message, &options, &self.schema).map_err(|e| e.to_string())
            }
            Format::Text => {
                text::read(payload, &mut message, &TextReadOptions::default(), &self.schema).map_err(|e| e.to_string())
            }
            other => return Outcome::Skipped(format!("{other:?} input")),
        };
        match read {
            Ok(()) => write(message_type, message.as_ref(), request),
            Err(error) => Outcome::ParseError(error),
        }
    }
}

fn write(message_type: &MessageType, message: MessageRef<'_>, request: &Request) -> Outcome {
    let written = match request.output() {
        Format::Protobuf => message_type.encode_to_vec(message).map(Outcome::Protobuf).map_err(|e| e.to_string()),
        Format::Json => {
            let mut out = Vec::new();
            json::write(message, &JsonWriteOptions::default(), message_type.schema(), &mut out)
                .map(|()| Outcome::Json(out))
                .map_err(|e| e.to_string())
        }
        Format::Text => {
            let options = TextWriteOptions { unknown_fields: request.print_unknown_fields, ..Default::default() };
            let mut out = Vec::new();
            text::write(message, &options, message_type.schema(), &mut out)
                .map(|()| Outcome::Text(out))
                .map_err(|e| e.to_string())
        }
        other => Ok(Outcome::Skipped(format!("{other:?} output"))),
    };
    written.unwrap_or_else(Outcome::SerializeError)
}

/// What the trace says about a run.
#[derive(Debug, Default)]
pub struct Served {
    /// Decodes and encodes that compiled code served.
    compiled: u64,
    /// Decodes and encodes that the interpreter served.
    interpreted: u64,
    /// Inputs that the engines were found to disagree about.
    disagreements: u64,
    /// Programs that are not compiled: message types, each in one direction.
    fallbacks: u64,
}

impl fmt::Display for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Served { compiled, interpreted, disagreements, fallbacks } = self;
        write!(f, "{compiled} compiled {interpreted} interpreted {disagreements} disagreements {fallbacks} fallbacks")
    }
}
