//! One direction of a message type: its program, and how that runs.

use std::sync::Arc;
#[cfg(feature = "jit")]
use std::sync::OnceLock;

use protojit_core::program::{DecodeProgram, EncodeProgram, Unit, UnitRef};

#[cfg(feature = "jit")]
use crate::engine::Fallback;
use crate::schema::SchemaInner;
use crate::trace::{Direction, EngineUsed, ProgramTrace};

/// A kind of program: decode or encode.
pub(crate) trait Side: SideCode {
    const DIRECTION: Direction;

    fn message_name(&self) -> &str;
}

impl Side for DecodeProgram {
    const DIRECTION: Direction = Direction::Decode;

    fn message_name(&self) -> &str {
        &self.schema.message(self.message).full_name
    }
}

impl Side for EncodeProgram {
    const DIRECTION: Direction = Direction::Encode;

    fn message_name(&self) -> &str {
        &self.schema.message(self.message).full_name
    }
}

#[cfg(feature = "jit")]
pub(crate) use with_jit::SideCode;

#[cfg(feature = "jit")]
mod with_jit {
    use protojit_core::program::{DecodeProgram, EncodeProgram};
    use protojit_jit::compile::Program;
    use protojit_jit::stubs::{EncodeThunk, EntryThunk, Stubs};

    use crate::schema::SchemaInner;
    use crate::trace::CodeCache;

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
}

impl<P: Side> Coder<P> {
    pub(crate) fn new(program: UnitRef<P>) -> Coder<P> {
        Coder {
            program,
            #[cfg(feature = "jit")]
            code: OnceLock::new(),
        }
    }

    /// The way into compiled code, or why there is none. Compiles on the first call.
    ///
    /// # Safety
    /// `schema` is the one whose programs this is about; it is kept alive as long as the thunk is used.
    #[cfg(feature = "jit")]
    #[inline]
    pub(crate) unsafe fn code(&self, schema: &SchemaInner) -> Result<P::Thunk, &Fallback> {
        // SAFETY: as promised to this function.
        self.code.get_or_init(|| unsafe { self.compile(schema) }).as_ref().copied()
    }

    #[cfg(feature = "jit")]
    #[cold]
    unsafe fn compile(&self, schema: &SchemaInner) -> Result<P::Thunk, Fallback> {
        let compiler = schema.runtime.inner.compiler().map_err(Clone::clone)?;
        // SAFETY: the cache and (through the runtime) the compiler belong to the schema; code runs only in calls of types
        // of this schema, which keep it alive.
        let outcome = unsafe { P::cache(schema).compile(compiler, &self.program) };
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
        #[cfg(feature = "jit")]
        match P::cache(schema).unit(unit) {
            Some(Ok(compiled)) => {
                row.engine = EngineUsed::Jit;
                if let Some(stats) = compiled.stats().get(at) {
                    row.code_bytes = stats.code_bytes;
                    row.blocks = stats.blocks;
                    row.helper_calls = stats.helper_calls;
                    row.compile_micros = stats.time.as_micros() as u64;
                }
            }
            Some(Err(fallback)) => row.fall_back(&fallback),
            None => match self.code.get() {
                Some(Err(fallback)) => row.fall_back(fallback),
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
