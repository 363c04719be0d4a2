//! The record of what was compiled, how large it is, which engine ran, and why not where it did not.

use std::collections::{BTreeMap, HashMap};
use std::sync::PoisonError;

use crate::engine::Fallback;
use crate::runtime::Runtime;

/// What a runtime compiled and ran. A snapshot; arenas pass their counts on when they are reset (now and then) or
/// dropped.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
#[non_exhaustive]
pub struct Trace {
    /// The engine choice.
    pub engine: &'static str,
    /// The machine-code arena, `None` where there is none.
    pub arena: Option<ArenaTrace>,
    /// Why there is no compiler, where there is none.
    pub no_compiler: Option<String>,
    /// How often programs could not be compiled since the runtime was made, by reason.
    pub failures: BTreeMap<&'static str, u64>,
    /// The registered schemas.
    pub schemas: Vec<SchemaTrace>,
    /// The message types that were asked for, and what they refer to.
    pub programs: Vec<ProgramTrace>,
}

/// The machine-code arena.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[non_exhaustive]
pub struct ArenaTrace {
    /// Bytes of address space reserved.
    pub reserved: usize,
    /// Bytes of it in chunks that are taken.
    pub in_use: usize,
    /// The most that `in_use` has been.
    pub high_water: usize,
    /// Bytes of machine code.
    pub code_bytes: usize,
}

/// A registered schema.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
#[non_exhaustive]
pub struct SchemaTrace {
    /// Messages, nested ones and map entries included.
    pub messages: usize,
    /// Bytes of the descriptor set.
    pub descriptor_bytes: usize,
    /// Time to parse and link it, in microseconds.
    pub register_micros: u64,
}

/// Decode or encode.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Wire to memory.
    Decode,
    /// Memory to wire.
    Encode,
}

/// The engine that a program runs on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineUsed {
    /// Compiled code.
    Jit,
    /// The interpreter.
    Interp,
}

/// One program: a message type in one direction.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
#[non_exhaustive]
pub struct ProgramTrace {
    /// Full name of the message.
    pub message: String,
    /// Decode or encode.
    pub direction: Direction,
    /// In which options it differs from the default, by stable words: `some-fields` (a projection or another version's
    /// shape), `discard-unknown`, `unchecked-utf8`, `partial`, `deterministic`.
    pub options: Vec<&'static str>,
    /// The engine it runs on.
    pub engine: EngineUsed,
    /// A stable word for why it is not compiled.
    pub reason: Option<&'static str>,
    /// The whole story, for people.
    pub detail: Option<String>,
    /// Bytes of machine code.
    pub code_bytes: usize,
    /// Blocks of the function.
    pub blocks: usize,
    /// Calls of helpers in the function.
    pub helper_calls: usize,
    /// Time to compile it, in microseconds: the sum of the four that follow.
    pub compile_micros: u64,
    /// From the descriptors' tables to the compiler's intermediate code.
    pub build_micros: u64,
    /// From there to machine code, without allocation of registers.
    pub optimise_micros: u64,
    /// Allocation of registers.
    pub allocate_micros: u64,
    /// Linking and making executable; of what is done for several programs at once this one's share.
    pub seal_micros: u64,
    /// Whether it was asked for by name; the others are what those refer to.
    pub root: bool,
    /// Root calls that compiled code served.
    pub compiled_calls: u64,
    /// Root calls that the interpreter served.
    pub interpreted_calls: u64,
    /// Bytes that the interpreter finished for compiled code.
    pub finished_bytes: u64,
    /// Root calls of compiled code that shadow mode compared with the interpreter.
    pub shadowed_calls: u64,
    /// Inputs that the engines disagreed about.
    pub disagreements: u64,
    /// Where compiled code left its fast path, the most frequent first; counted only where the runtime is
    /// [instrumented](crate::RuntimeBuilder::instrument).
    pub slow_exits: Vec<SlowExit>,
}

/// A place where compiled code leaves its fast path, and how often it did. All calls of the function count, also those that come
/// from the code of other messages. Unknown fields in a row are one exit.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
#[non_exhaustive]
pub struct SlowExit {
    /// The field's name, `None` where it is not a known field's.
    pub field: Option<String>,
    /// The field's number.
    pub number: Option<u32>,
    /// A stable word for the reason: `long-varint`, `non-ascii`, `out-of-order`, `unknown`, `chunk-growth` and so on.
    pub exit: &'static str,
    /// How often.
    pub count: u64,
}

impl ProgramTrace {
    pub(crate) fn new(message: &str, direction: Direction) -> ProgramTrace {
        ProgramTrace {
            message: message.to_owned(),
            direction,
            options: Vec::new(),
            engine: EngineUsed::Interp,
            reason: None,
            detail: None,
            code_bytes: 0,
            blocks: 0,
            helper_calls: 0,
            compile_micros: 0,
            build_micros: 0,
            optimise_micros: 0,
            allocate_micros: 0,
            seal_micros: 0,
            root: false,
            compiled_calls: 0,
            interpreted_calls: 0,
            finished_bytes: 0,
            shadowed_calls: 0,
            disagreements: 0,
            slow_exits: Vec::new(),
        }
    }

    pub(crate) fn fall_back(&mut self, fallback: &Fallback) {
        self.reason = Some(fallback.reason);
        self.detail = Some(fallback.detail.clone());
    }
}

impl Trace {
    /// Programs that run on compiled code.
    pub fn compiled(&self) -> impl Iterator<Item = &ProgramTrace> {
        self.programs.iter().filter(|program| program.engine == EngineUsed::Jit)
    }

    /// Programs of this direction that are interpreted although compiled code was wanted.
    pub fn fallbacks(&self, direction: Direction) -> impl Iterator<Item = &ProgramTrace> {
        self.programs
            .iter()
            .filter(move |program| program.direction == direction && program.engine == EngineUsed::Interp)
    }

    pub(crate) fn collect(runtime: &Runtime) -> Trace {
        let (mut programs, mut schemas) = (Vec::new(), Vec::new());
        // Schemas share programs. All of them live until the end, so that no address is that of two programs.
        let (live, mut seen) = (runtime.live_schemas(), HashMap::new());
        for schema in &live {
            let data = schema.descriptors.data();
            schemas.push(SchemaTrace {
                messages: data.messages.len(),
                descriptor_bytes: data.raw.len(),
                register_micros: schema.register_time.as_micros() as u64,
            });
            let types = schema.types.lock().unwrap_or_else(PoisonError::into_inner).live();
            for found in types {
                found.trace(&mut programs, &mut seen);
            }
        }
        #[cfg(feature = "jit")]
        let (arena, no_compiler) = match runtime.inner.existing_compiler() {
            Some(Ok(compiler)) => {
                let stats = compiler.arena().stats();
                let arena = ArenaTrace {
                    reserved: stats.reserved,
                    in_use: stats.in_use,
                    high_water: stats.high_water,
                    code_bytes: stats.code_bytes,
                };
                (Some(arena), None)
            }
            Some(Err(fallback)) => (None, Some(fallback.detail.clone())),
            None => (None, None),
        };
        #[cfg(not(feature = "jit"))]
        let (arena, no_compiler) = (None, Some(runtime.inner.no_compiler().detail.clone()));
        Trace {
            engine: runtime.engine().name(),
            arena,
            no_compiler,
            failures: runtime.inner.failures(),
            schemas,
            programs,
        }
    }
}
