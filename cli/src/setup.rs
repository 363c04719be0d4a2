//! The library, set up as the command line asks.

use protojit::descriptors::MessageDescriptor;
use protojit::{CompileMode, DecodeOptions, Engine, Limits, MessageType, Runtime, RuntimeBuilder, Schema};

use crate::args::{RuntimeArgs, SchemaArgs};
use crate::failure::{Failure, Outcome};
use crate::schema;

/// Stack that a level of nesting is granted; the engines take half of it at most.
const LEVEL: usize = 4 << 10;

/// Stack that everything else takes.
const BASE: usize = 2 << 20;

impl RuntimeArgs {
    /// A runtime with this engine. It compiles what is used, when it is used.
    pub fn runtime(&self, engine: Engine) -> Runtime {
        self.builder(engine).build()
    }

    /// The settings of such a runtime.
    pub fn builder(&self, engine: Engine) -> RuntimeBuilder {
        let defaults = Limits::default();
        let limits = Limits {
            max_depth: self.max_depth,
            stack_bytes: defaults.stack_bytes.max(self.max_depth as usize * LEVEL),
            ..defaults
        };
        let builder = Runtime::builder().engine(engine).compile_mode(CompileMode::Lazy).limits(limits);
        match self.arena {
            Some(bytes) => builder.code_arena(bytes),
            None => builder,
        }
    }

    /// How messages are decoded.
    pub fn decode_options(&self) -> DecodeOptions {
        DecodeOptions { keep_unknown: !self.discard_unknown, ..DecodeOptions::default() }
    }

    /// A message type of this schema.
    pub fn message_type(&self, schema: &Schema, message: &MessageDescriptor) -> Outcome<MessageType> {
        let whole = schema.message_type(message).with_decode_options(self.decode_options());
        if self.project.is_empty() {
            return Ok(whole);
        }
        let usage = |error: &dyn std::fmt::Display| Failure::Usage(format!("--project: {error}"));
        let shape = whole.project(&self.project).map_err(|error| usage(&error))?;
        whole.bind(&shape).map_err(|error| usage(&error))
    }

    /// The message type that the command line names.
    pub fn load(&self, args: &SchemaArgs, message: Option<&str>) -> Outcome<MessageType> {
        let loaded = schema::load(args)?;
        let message = loaded.message(message)?;
        let schema = self.runtime(self.engine).register_descriptors(loaded.descriptors);
        self.message_type(&schema, &message)
    }

    /// Runs `work` with as much stack as the nesting asked for may take.
    pub fn with_stack<F: FnOnce() -> Outcome + Send>(&self, work: F) -> Outcome {
        let needed = BASE + 4 * LEVEL * self.max_depth as usize;
        if needed <= 6 << 20 {
            return work();
        }
        std::thread::scope(|scope| {
            let spawned = std::thread::Builder::new().stack_size(needed).spawn_scoped(scope, work);
            let spawned =
                spawned.map_err(|error| Failure::Usage(format!("--max-depth {}: {error}", self.max_depth)))?;
            spawned.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}
