//! One direction of a message type: its program, and how that runs.

use std::sync::Arc;
#[cfg(feature = "jit")]
use std::sync::{
    OnceLock,
    atomic::{AtomicBool, Ordering},
};

use protojit_core::program::{DecodeProgram, EncodeProgram, Unit, UnitRef};

#[cfg(feature = "jit")]
use crate::engine::{CompileMode, Engine, Fallback};
use crate::schema::SchemaInner;
use crate::trace::{Direction, EngineUsed, ProgramTrace};

/// A kind of program: decode or encode.
pub(crate) trait Side: SideCode {
    const DIRECTION: Direction;

    fn message_name(&self) -> &str;

    /// Options that are not the default, by stable words.
    fn options(&self) -> Vec<&'static str>;
}

/// The words whose option is set.
fn words<const N: usize>(options: [(bool, &'static str); N]) -> Vec<&'static str> {
    options.into_iter().filter_map(|(set, word)| set.then_some(word)).collect()
}

impl Side for DecodeProgram {
    const DIRECTION: Direction = Direction::Decode;

    fn message_name(&self) -> &str {
        &self.schema.message(self.message).full_name
    }

    fn options(&self) -> Vec<&'static str> {
        words([
            (self.ops.len() < self.schema.fields_of(self.message).len(), "some-fields"),
            (!self.options.keep_unknown, "discard-unknown"),
            (!self.options.check_utf8, "unchecked-utf8"),
            (!self.options.check_required, "partial"),
        ])
    }
}

impl Side for EncodeProgram {
    const DIRECTION: Direction = Direction::Encode;

    fn message_name(&self) -> &str {
        &self.schema.message(self.message).full_name
    }

    fn options(&self) -> Vec<&'static str> {
        words([
            (self.ops.len() < self.schema.fields_of(self.message).len(), "some-fields"),
            (self.options.deterministic, "deterministic"),
            (!self.options.check_required, "partial"),
        ])
    }
}

#[cfg(feature = "jit")]
pub(crate) use with_jit::SideCode;

#[cfg(feature = "jit")]
mod with_jit {
    use protojit_core::program::{DecodeProgram, EncodeProgram};
    use protojit_jit::compile::Program;
    use protojit_jit::stubs::{EncodeThunk, EntryThunk, Stubs};

    use crate::code_cache::CodeCache;
    use crate::schema::SchemaInner;

    /// What compilation needs to know of a kind of program.
    pub(crate) trait SideCode: Program {
        /// The way into compiled code.
        type Thunk: Copy + std::fmt::Debug;

        fn cache(schema: &SchemaInner) -> &CodeCache<Self>;
        fn thunk(stubs: &Stubs) -> Self::Thunk;
    }

    impl SideCode for DecodeProgram {
        type Thunk = EntryThunk;

        fn cache(schema: &SchemaInner) -> &CodeCache<Self> {
            &schema.decode_code
        }

        fn thunk(stubs: &Stubs) -> EntryThunk {
            stubs.thunk()
        }
    }

    impl SideCode for EncodeProgram {
        type Thunk = EncodeThunk;

        fn cache(schema: &SchemaInner) -> &CodeCache<Self> {
            &schema.encode_code
        }

        fn thunk(stubs: &Stubs) -> EncodeThunk {
            stubs.encode_thunk()
        }
    }
}

/// What compilation needs to know of a kind of program: nothing, without a compiler.
#[cfg(not(feature = "jit"))]
pub(crate) trait SideCode: Send + Sync + Sized + 'static {}

#[cfg(not(feature = "jit"))]
impl SideCode for DecodeProgram {}
#[cfg(not(feature = "jit"))]
impl SideCode for EncodeProgram {}

/// One direction of a message type.
#[derive(Debug)]
pub(crate) struct Coder<P: Side> {
    pub(crate) program: UnitRef<P>,
    #[cfg(feature = "jit")]
    code: OnceLock<Result<P::Thunk, Fallback>>,
    /// In shadow mode the way is here, and `code` says that there is none: so that nothing is to be asked where it is off.
    #[cfg(feature = "jit")]
    shadowed: OnceLock<P::Thunk>,
    /// Another thread was asked to compile it.
    #[cfg(feature = "jit")]
    requested: AtomicBool,
}

/// What is said while another thread compiles.
#[cfg(feature = "jit")]
static NOT_READY: std::sync::LazyLock<Fallback> = std::sync::LazyLock::new(|| Fallback {
    reason: "not-yet-compiled",
    detail: "it is being compiled in the background".to_owned(),
});

impl<P: Side> Coder<P> {
    pub(crate) fn new(program: UnitRef<P>) -> Coder<P> {
        Coder {
            program,
            #[cfg(feature = "jit")]
            code: OnceLock::new(),
            #[cfg(feature = "jit")]
            shadowed: OnceLock::new(),
            #[cfg(feature = "jit")]
            requested: AtomicBool::new(false),
        }
    }

    /// The way into compiled code, or why there is none. Where nothing was compiled yet `request` is called, in
    /// background mode and once, else compiled now. In shadow mode there is none, but see [`Coder::shadowed`].
    ///
    /// # Safety
    /// As [`Coder::code`].
    #[cfg(feature = "jit")]
    #[inline]
    pub(crate) unsafe fn code_by_mode(
        &self,
        schema: &SchemaInner,
        request: impl FnOnce() -> std::io::Result<()>,
    ) -> Result<P::Thunk, &Fallback> {
        match self.code.get() {
            Some(code) => code.as_ref().copied(),
            // SAFETY: as promised to this function.
            None => unsafe { self.first_code(schema, request) },
        }
    }

    #[cfg(feature = "jit")]
    #[cold]
    unsafe fn first_code(
        &self,
        schema: &SchemaInner,
        request: impl FnOnce() -> std::io::Result<()>,
    ) -> Result<P::Thunk, &Fallback> {
        // Nothing is compiled there, so there is nothing to wait for.
        let runtime = &schema.runtime.inner;
        if runtime.options.mode != CompileMode::Background || runtime.options.engine == Engine::Interp {
            // SAFETY: as promised to this function.
            return unsafe { self.hot_code(schema) };
        }
        if !self.requested.swap(true, Ordering::Relaxed)
            && let Err(error) = request()
        {
            let detail = format!("no thread could be started to compile it: {error}");
            runtime.count_failure("no-thread", &detail);
            return self.code.get_or_init(|| Err(Fallback { reason: "no-thread", detail })).as_ref().copied();
        }
        Err(&NOT_READY)
    }

    /// The way into compiled code, or why there is none. Compiles on the first call.
    ///
    /// # Safety
    /// `schema` is the one whose programs this is about; it is kept alive as long as the thunk is used.
    #[cfg(feature = "jit")]
    #[inline]
    pub(crate) unsafe fn code(&self, schema: &SchemaInner) -> Result<P::Thunk, &Fallback> {
        // SAFETY: as promised to this function.
        unsafe { self.hot_code(schema) }.or_else(|fallback| self.shadowed().ok_or(fallback))
    }

    #[cfg(feature = "jit")]
    #[inline]
    unsafe fn hot_code(&self, schema: &SchemaInner) -> Result<P::Thunk, &Fallback> {
        let first = || {
            // SAFETY: as promised to this function.
            let thunk = unsafe { self.compile(schema) }?;
            if schema.runtime.inner.options.shadow == 0 {
                return Ok(thunk);
            }
            self.shadowed.get_or_init(|| thunk);
            Err(Fallback { reason: "shadow-mode", detail: "some calls go through both engines".to_owned() })
        };
        self.code.get_or_init(first).as_ref().copied()
    }

    /// The way into compiled code of a type in shadow mode.
    #[cfg(feature = "jit")]
    #[inline]
    pub(crate) fn shadowed(&self) -> Option<P::Thunk> {
        self.shadowed.get().copied()
    }

    #[cfg(feature = "jit")]
    #[cold]
    unsafe fn compile(&self, schema: &SchemaInner) -> Result<P::Thunk, Fallback> {
        let runtime = &schema.runtime.inner;
        let compiler = runtime.compiler().map_err(|fallback| {
            if fallback.reason != "engine-off" {
                runtime.count_failure(fallback.reason, &fallback.detail);
            }
            fallback.clone()
        })?;
        // SAFETY: the cache and (through the runtime) the compiler belong to the schema; code runs only in calls of types
        // of this schema, which keep it alive.
        let outcome = unsafe { P::cache(schema).compile(runtime, compiler, &self.program) };
        outcome.map(|_| P::thunk(compiler.stubs()))
    }

    /// Appends a row for this program and for each that it refers to, the program itself first. `seen` says what the rows that
    /// are there are about. Gives the position of this program's row.
    pub(crate) fn trace(
        &self,
        schema: &SchemaInner,
        rows: &mut Vec<ProgramTrace>,
        seen: &mut std::collections::HashMap<usize, usize>,
    ) -> usize {
        let mut row_of = |unit: &Arc<Unit<P>>, at: usize, rows: &mut Vec<ProgramTrace>| -> Option<usize> {
            let program = unit.members().get(at)?;
            Some(*seen.entry(std::ptr::from_ref(program).addr()).or_insert_with(|| {
                rows.push(self.row(schema, unit, at, program));
                rows.len() - 1
            }))
        };
        let root = row_of(self.program.unit(), self.program.index(), rows).unwrap_or(0);
        let (mut pending, mut units) = (vec![self.program.unit().clone()], std::collections::HashSet::new());
        while let Some(unit) = pending.pop() {
            if units.insert(Arc::as_ptr(&unit)) {
                for at in 0..unit.members().len() {
                    row_of(&unit, at, rows);
                }
                pending.extend(unit.deps().iter().cloned());
            }
        }
        root
    }

    fn row(&self, schema: &SchemaInner, unit: &Arc<Unit<P>>, at: usize, program: &P) -> ProgramTrace {
        let mut row = ProgramTrace::new(Side::message_name(program), P::DIRECTION);
        row.options = Side::options(program);
        #[cfg(feature = "jit")]
        match P::cache(schema).unit(unit) {
            Some(Ok(compiled)) => {
                row.engine = EngineUsed::Jit;
                if let Some(stats) = compiled.stats().get(at) {
                    row.code_bytes = stats.code_bytes;
                    row.blocks = stats.blocks;
                    row.helper_calls = stats.helper_calls;
                    let times = [stats.times.build, stats.times.optimise, stats.times.allocate, stats.times.seal];
                    [row.build_micros, row.optimise_micros, row.allocate_micros, row.seal_micros] =
                        times.map(|time| time.as_micros() as u64);
                    row.compile_micros = row.build_micros + row.optimise_micros + row.allocate_micros + row.seal_micros;
                }
                row.slow_exits = slow_exits(program, compiled.exits(at));
            }
            Some(Err(fallback)) => row.fall_back(&fallback),
            None => match self.code.get() {
                Some(Err(fallback)) => row.fall_back(fallback),
                _ if self.requested.load(Ordering::Relaxed) => row.fall_back(&NOT_READY),
                _ => row.fall_back(&Fallback {
                    reason: "not-yet-compiled",
                    detail: "it is compiled on first use".to_owned(),
                }),
            },
        }
        #[cfg(not(feature = "jit"))]
        {
            let _ = (unit, at, EngineUsed::Interp);
            row.fall_back(schema.runtime.inner.no_compiler());
        }
        row
    }
}

/// What was counted, under the names of the fields.
#[cfg(feature = "jit")]
fn slow_exits<P: Side>(program: &P, counts: Option<&protojit_jit::compile::ExitCounts>) -> Vec<crate::trace::SlowExit> {
    let Some(counts) = counts else { return Vec::new() };
    let (schema, message) = program.schema();
    let fields = schema.fields_of(message);
    let mut exits: Vec<_> = counts
        .taken()
        .map(|(at, exit, count)| {
            let number = at.map(|at| program.number(at));
            let field = number.and_then(|number| fields.iter().find(|(_, field)| field.number == number));
            let field = field.map(|(_, field)| field.name.to_string());
            crate::trace::SlowExit { field, number, exit: exit.name(), count }
        })
        .collect();
    exits.sort_by_key(|exit| std::cmp::Reverse(exit.count));
    exits
}
