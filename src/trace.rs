//! The record of what was compiled, how large it is, which engine ran, and why not where it did not.

#[cfg(feature = "jit")]
pub(crate) use cache::CodeCache;

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
    /// Time to build and compile it, in microseconds.
    pub compile_micros: u64,
    /// Whether it was asked for by name; the others are what those refer to.
    pub root: bool,
    /// Root calls that compiled code served.
    pub compiled_calls: u64,
    /// Root calls that the interpreter served.
    pub interpreted_calls: u64,
    /// Bytes that the interpreter finished for compiled code.
    pub finished_bytes: u64,
    /// Inputs that the engines disagreed about.
    pub disagreements: u64,
}

impl ProgramTrace {
    pub(crate) fn new(message: &str, direction: Direction) -> ProgramTrace {
        ProgramTrace {
            message: message.to_owned(),
            direction,
            engine: EngineUsed::Interp,
            reason: None,
            detail: None,
            code_bytes: 0,
            blocks: 0,
            helper_calls: 0,
            compile_micros: 0,
            root: false,
            compiled_calls: 0,
            interpreted_calls: 0,
            finished_bytes: 0,
            disagreements: 0,
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
        for schema in runtime.live_schemas() {
            let data = schema.descriptors.data();
            schemas.push(SchemaTrace {
                messages: data.messages.len(),
                descriptor_bytes: data.raw.len(),
                register_micros: schema.register_time.as_micros() as u64,
            });
            let types = schema.types.lock().unwrap_or_else(PoisonError::into_inner).live();
            let mut seen = HashMap::new();
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

#[cfg(feature = "jit")]
mod cache {
    use std::collections::HashMap;
    use std::sync::{Arc, Mutex, OnceLock, PoisonError};

    use protojit_core::program::{Unit, UnitRef};
    use protojit_jit::compile::{CompiledUnit, Compiler, Program};

    use crate::engine::Fallback;
    use crate::runtime::RuntimeInner;

    type Address = usize;

    /// What became of a unit.
    pub(crate) type Outcome<P> = Result<Arc<CompiledUnit<P>>, Fallback>;

    /// The compiled units of one schema in one direction.
    pub(crate) struct CodeCache<P: Program> {
        /// Whoever comes first to a unit compiles it, without the lock; others wait for that unit only.
        units: Mutex<HashMap<Address, Arc<OnceLock<Outcome<P>>>>>,
    }

    impl<P: Program> Default for CodeCache<P> {
        fn default() -> Self {
            CodeCache { units: Mutex::default() }
        }
    }

    impl<P: Program> std::fmt::Debug for CodeCache<P> {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.debug_struct("CodeCache").finish_non_exhaustive()
        }
    }

    impl<P: Program> CodeCache<P> {
        /// Compiles a program's unit and all that it refers to, as far as that was not done before.
        ///
        /// # Safety
        /// The caller keeps `compiler` alive as long as this cache, and this cache as long as any of its code runs.
        pub(crate) unsafe fn compile(
            &self,
            runtime: &RuntimeInner,
            compiler: &Compiler,
            root: &UnitRef<P>,
        ) -> Outcome<P> {
            // Children before parents, without recursion: chains can be long.
            let mut pending = vec![(root.unit().clone(), false)];
            while let Some((unit, children_done)) = pending.pop() {
                if self.cell(&unit).get().is_some() {
                    continue;
                }
                if !children_done {
                    pending.push((unit.clone(), true));
                    pending.extend(unit.deps().iter().map(|dep| (dep.clone(), false)));
                    continue;
                }
                // SAFETY: the caller keeps the compiler alive as long as this cache, which owns the unit.
                let compile = || unsafe { compiler.compile(&unit) }.map(Arc::new);
                // Units refer to each other in one direction only, so that waiting ends.
                self.cell(&unit).get_or_init(|| {
                    compile().map_err(|error| {
                        let names: Vec<_> = unit.members().iter().take(3).map(P::message_name).collect();
                        let detail = error.to_string();
                        runtime.count_failure(error.reason(), &format!("{}: {detail}", names.join(", ")));
                        Fallback { reason: error.reason(), detail }
                    })
                });
            }
            match self.cell(root.unit()).get() {
                Some(outcome) => outcome.clone(),
                None => Err(Fallback { reason: "not-yet-compiled", detail: "it was not compiled".to_owned() }),
            }
        }

        fn cell(&self, unit: &Arc<Unit<P>>) -> Arc<OnceLock<Outcome<P>>> {
            let mut units = self.units.lock().unwrap_or_else(PoisonError::into_inner);
            units.entry(address(unit)).or_default().clone()
        }

        /// What became of a program's unit, `None` if it was never asked for.
        pub(crate) fn unit(&self, unit: &Arc<Unit<P>>) -> Option<Outcome<P>> {
            let units = self.units.lock().unwrap_or_else(PoisonError::into_inner);
            units.get(&address(unit)).and_then(|cell| cell.get().cloned())
        }
    }

    fn address<P>(unit: &Arc<Unit<P>>) -> Address {
        Arc::as_ptr(unit).addr()
    }
}
