//! The two engines over one schema, held against each other.

use std::collections::BTreeMap;
use std::fmt::Write;

use protojit::{Arena, DecodeError, DecodeErrorKind, Engine, MessageRef, MessageType, Runtime, RuntimeBuilder, Schema};
use protojit_core::schema::model::MessageId;

use crate::dump::dump;
use crate::guard::{ChunkSize, Guarded, Pool};

/// One schema, registered for both engines.
pub struct Pair {
    /// Which schema.
    pub name: String,
    /// Decodes by compiled code.
    pub jit: Schema,
    /// Decodes by the interpreter.
    pub interp: Schema,
}

impl Pair {
    /// Registers a serialized set with both engines.
    pub fn new(name: impl Into<String>, set: &[u8]) -> Pair {
        Pair::with(name, set, Runtime::builder())
    }

    /// As [`Pair::new`], with these settings for both. Obeys `PROTOJIT_CPU` and `PROTOJIT_INSTRUMENT`, as [`Runtime::from_env`] does, so
    /// that the tests can be run once more as if the processor were a simpler one, and on code that counts.
    pub fn with(name: impl Into<String>, set: &[u8], builder: RuntimeBuilder) -> Pair {
        let name = name.into();
        let builder = match std::env::var("PROTOJIT_CPU") {
            Ok(cpu) => builder.cpu(cpu.parse().unwrap_or_else(|error| panic!("{error}"))),
            Err(_) => builder,
        };
        let builder = builder.instrument(std::env::var_os("PROTOJIT_INSTRUMENT").is_some_and(|value| value == "1"));
        let [jit, interp] = [Engine::Jit, Engine::Interp].map(|engine| {
            let runtime = builder.clone().engine(engine).build();
            runtime.register(set).unwrap_or_else(|error| panic!("{name}: {error}"))
        });
        Pair { name, jit, interp }
    }

    /// The message types of a message, in both engines. The one must be compiled.
    pub fn types(&self, full_name: &str) -> Types {
        let [jit, interp] = [&self.jit, &self.interp].map(|schema| schema.message(full_name).expect("a message"));
        if let Err(fallback) = jit.is_compiled() {
            panic!("{}: {full_name} is not compiled: {fallback}", self.name);
        }
        Types { context: format!("{}, {full_name}", self.name), jit, interp }
    }

    /// The messages that can stand for themselves: no map entries.
    pub fn messages(&self) -> Vec<(MessageId, String)> {
        let all = self.interp.descriptors().messages();
        all.filter(|message| !message.is_map_entry())
            .map(|message| (message.id(), message.full_name().to_owned()))
            .collect()
    }
}

/// One message type in both engines.
pub struct Types {
    /// Where it comes from, for reports.
    pub context: String,
    /// Compiled.
    pub jit: MessageType,
    /// Interpreted.
    pub interp: MessageType,
}

impl Types {
    /// With other options.
    pub fn map(self, change: impl Fn(MessageType) -> MessageType) -> Types {
        let types = Types { context: self.context, jit: change(self.jit), interp: change(self.interp) };
        if let Err(fallback) = types.jit.is_compiled() {
            panic!("{} is not compiled: {fallback}", types.context);
        }
        types
    }
}

/// What becomes of an input.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    /// A message, dumped, and what it is encoded to (or why it is not).
    Value {
        /// The dump.
        dump: String,
        /// The bytes.
        encoded: Result<Vec<u8>, String>,
    },
    /// An error.
    Error {
        /// Kind.
        kind: DecodeErrorKind,
        /// Offset.
        offset: usize,
        /// Path.
        path: String,
    },
}

impl Outcome {
    fn error(error: DecodeError) -> Outcome {
        Outcome::Error { kind: error.kind(), offset: error.offset(), path: error.path().to_string() }
    }

    fn value(ty: &MessageType, message: MessageRef<'_>) -> Outcome {
        Outcome::Value { dump: dump(message), encoded: ty.encode_to_vec(message).map_err(|error| error.to_string()) }
    }
}

/// Runs inputs through both engines in every way in, and counts.
pub struct Checker {
    end: Guarded,
    start: Guarded,
    arenas: [Arena; 4],
    pool: Pool,
    /// Inputs seen.
    pub cases: usize,
    /// Results of all of them, by what they were.
    pub seen: BTreeMap<String, usize>,
    /// Every so many cases arenas with the smallest chunks are used too; 0 for never.
    pub guard_arenas: usize,
}

impl Default for Checker {
    fn default() -> Self {
        Checker::new()
    }
}

impl Checker {
    /// A checker for inputs of up to two MiB.
    pub fn new() -> Checker {
        Checker {
            end: Guarded::new(2 << 20),
            start: Guarded::new(2 << 20),
            arenas: Default::default(),
            pool: Pool::new(),
            cases: 0,
            seen: BTreeMap::new(),
            guard_arenas: 16,
        }
    }

    /// Decodes `input` by both engines, borrowed directly before an unmapped page and copied from directly behind one, now
    /// and then into arenas between such pages. Panics where anything differs.
    pub fn check(&mut self, types: &Types, input: &[u8]) -> Outcome {
        match self.outcomes(types, input) {
            Ok(outcome) => {
                self.count(&outcome);
                outcome
            }
            Err(difference) => {
                let (input, difference) = reduce(input, difference, |shorter| self.outcomes(types, shorter).err());
                panic!("{}\n{}", types.context, report(&input, &difference));
            }
        }
    }

    /// Decodes `input` by both engines into arenas of at most `limit` bytes: the same value or the same error.
    ///
    /// # Panics
    /// They differ.
    pub fn check_in_memory(&mut self, types: &Types, input: &[u8], limit: usize) {
        match self.outcome_in_memory(types, input, limit) {
            Ok(outcome) => self.count(&outcome),
            Err(difference) => {
                let (input, difference) =
                    reduce(input, difference, |shorter| self.outcome_in_memory(types, shorter, limit).err());
                panic!("{}, in {limit} bytes of memory\n{}", types.context, report(&input, &difference));
            }
        }
    }

    fn outcome_in_memory(&mut self, types: &Types, input: &[u8], limit: usize) -> Result<Outcome, String> {
        let at_end = self.end.at_end(input);
        let [interp, jit] = [&types.interp, &types.jit].map(|ty| {
            let arena = Arena::with_limit(limit);
            ty.decode(at_end, &arena).map_or_else(Outcome::error, |message| Outcome::value(ty, message))
        });
        match interp == jit {
            true => Ok(interp),
            false => Err(format!("interp: {interp:?}\njit: {jit:?}")),
        }
    }

    fn count(&mut self, outcome: &Outcome) {
        self.cases += 1;
        let word = match outcome {
            Outcome::Value { encoded: Ok(_), .. } => "value".to_owned(),
            Outcome::Value { encoded: Err(_), .. } => "value that is not encoded".to_owned(),
            Outcome::Error { kind, .. } => format!("{kind:?}"),
        };
        *self.seen.entry(word).or_default() += 1;
    }

    /// Bytes that the interpreter took for the last input checked.
    pub fn last_used(&self) -> usize {
        self.arenas[0].used()
    }

    fn outcomes(&mut self, types: &Types, input: &[u8]) -> Result<Outcome, String> {
        let Checker { end, start, arenas, pool, .. } = self;
        arenas.iter_mut().for_each(Arena::reset);
        let (at_end, at_start) = (end.at_end(input), start.at_start(input));
        let run = |ty: &MessageType, copied: bool, arena: &Arena| {
            let message = if copied { ty.decode_copied(at_start, arena) } else { ty.decode(at_end, arena) };
            message.map_or_else(Outcome::error, |message| Outcome::value(ty, message))
        };
        let first = run(&types.interp, false, &arenas[0]);
        let same = |what: &str, other: Outcome| match other == first {
            true => Ok(()),
            false => Err(format!("interp, borrowed: {first:?}\n{what}: {other:?}")),
        };
        same("jit, borrowed", run(&types.jit, false, &arenas[1]))?;
        same("interp, copied", run(&types.interp, true, &arenas[2]))?;
        same("jit, copied", run(&types.jit, true, &arenas[3]))?;
        if self.guard_arenas != 0 && self.cases.is_multiple_of(self.guard_arenas) {
            let turn = self.cases / self.guard_arenas;
            let size = ChunkSize { least: turn % 64 * 8, at_end: !turn.is_multiple_of(3) };
            for (what, ty) in [("interp", &types.interp), ("jit", &types.jit)] {
                for copied in [false, true] {
                    let arena = pool.arena(1 << 30, size);
                    same(&format!("{what}, copied: {copied}, {size:?}"), run(ty, copied, &arena))?;
                }
            }
        }
        if let Outcome::Value { dump, encoded: Ok(bytes) } = &first {
            // What was written reads as the same message.
            arenas[0].reset();
            let again = types.interp.decode(bytes, &arenas[0]).map(crate::dump::dump);
            if again.as_ref().ok() != Some(dump) {
                return Err(format!("first: {dump}\nencoded: {}\nread again: {again:?}", hex(bytes)));
            }
        }
        Ok(first)
    }
}

/// A shorter input that differs too.
fn reduce(input: &[u8], mut difference: String, mut differs: impl FnMut(&[u8]) -> Option<String>) -> (Vec<u8>, String) {
    let mut input = input.to_vec();
    let mut step = input.len() / 2;
    while step > 0 {
        let mut at = 0;
        while at + step <= input.len() {
            let mut shorter = input.clone();
            shorter.drain(at..at + step);
            match differs(&shorter) {
                Some(found) => (input, difference) = (shorter, found),
                None => at += step,
            }
        }
        step /= 2;
    }
    (input, difference)
}

/// For people: not more than a screenful.
fn report(input: &[u8], difference: &str) -> String {
    let shown: String = difference.chars().take(4000).collect();
    format!("{} bytes of input: {}\n{shown}", input.len(), hex(&input[..input.len().min(1000)]))
}

/// Bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}
