//! From programs to machine code.
//!
//! One function per program, one unit per strongly connected component of programs. A function has a *handler* block
//! per field. Handlers end with the limit check and a comparison with the tag expected next (the same field again
//! where it repeats, else the next by number); when that fails, a general dispatch by `br_table` follows. What is rare
//! (long varints, text that is not ASCII, growing lists, unknown fields, maps) leaves through stubs that preserve all
//! registers, so that the hot path holds everything in registers.
//!
//! `frame` sets up a decode function, its dispatch and its ends; `values` reads varints, lengths and text; `fields` and
//! `maps` are the handlers; `skip` is what is dropped. `encode`, `encode_maps` and `copies` are the whole of an encode function. `code` is
//! what both are built with; `exits` counts in instrumented code, `timing` takes the time, `text` shows functions to people.
//!
//! # Positions and limits of decode
//!
//! `limit` is where the frame ends; lengths are checked against it. Dispatch compares with `edge`, the smaller of
//! `limit` and the context's `safe`: behind every position below `edge` at least
//! [`SLACK`](protojit_interp::decode::context::SLACK) bytes can be loaded, so that tags, varints and the first 32 bytes
//! of a string are loaded without further checks. A value that runs past the limit is noticed after it was read, before
//! the next tag. A frame that reaches `safe` before its limit goes on in a padded copy of the input's last bytes
//! ([`tail`](protojit_interp::decode::tail)); where the arena has no room for one the interpreter finishes it.

mod code;
mod copies;
mod encode;
mod encode_maps;
mod exits;
mod fields;
mod frame;
mod maps;
mod skip;
mod text;
mod timing;
mod values;

pub use exits::{Exit, ExitCounts};
pub use text::{asm, clif};
pub use timing::CompileTimes;

use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Instant;

use cranelift_codegen::ir::Function;
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_frontend::FunctionBuilderContext;
use cranelift_module::{FuncId, Linkage, Module};
use protojit_core::program::{DecodeProgram, EncodeProgram, Sabotage, Unit};
use protojit_core::schema::model::{FieldDef, MessageId, SchemaData};

use self::code::{Built, Names, Plan, c_signature};
use self::timing::AllocationClock;
use crate::JitError;
use crate::host::Cpu;
use crate::mcode::{CodeUnit, MachineCodeArena, McodeError, UnitBuilder};
use crate::perf::PerfMap;
use crate::stubs::{Saving, Stubs};

/// Messages with more fields than this are interpreted: compile time grows with the number of fields.
pub const DEFAULT_FIELD_BOUND: usize = 4096;

mod sealed {
    pub trait Sealed {}
    impl Sealed for protojit_core::program::DecodeProgram {}
    impl Sealed for protojit_core::program::EncodeProgram {}
}

/// What can be compiled: decode and encode programs.
pub trait Program: sealed::Sealed + Send + Sync + Sized + 'static {
    /// Parameters of a function, besides the context.
    #[doc(hidden)]
    const PARAMS: usize;

    /// For profilers.
    #[doc(hidden)]
    const DIRECTION_NAME: &'static str;

    /// The slot that callers in other units go through.
    #[doc(hidden)]
    fn entry(&self) -> &AtomicPtr<()>;

    /// Number of operations.
    #[doc(hidden)]
    fn fields(&self) -> usize;

    /// The field number of the operation at this position, 0 where there is none.
    #[doc(hidden)]
    fn number(&self, at: usize) -> u32;

    /// Full name of the message.
    fn message_name(&self) -> &str;

    #[doc(hidden)]
    fn schema(&self) -> (&SchemaData, MessageId);

    /// What stands in the entry slot of a program without compiled code.
    #[doc(hidden)]
    fn shim(stubs: &Stubs) -> *const ();

    #[doc(hidden)]
    fn build(&self, site: Site<'_>) -> Parts;
}

/// Where a function is built.
#[doc(hidden)]
pub struct Site<'s> {
    function: &'s mut Function,
    scratch: &'s mut FunctionBuilderContext,
    plan: Plan<'s>,
}

/// What a function was built to, and which part of it is what.
#[doc(hidden)]
pub struct Parts(Built);

impl Program for DecodeProgram {
    const PARAMS: usize = 4;
    const DIRECTION_NAME: &'static str = "decode";

    fn entry(&self) -> &AtomicPtr<()> {
        &self.entry
    }

    fn fields(&self) -> usize {
        self.ops.len()
    }

    fn number(&self, at: usize) -> u32 {
        self.ops.get(at).map_or(0, |op| op.number)
    }

    fn message_name(&self) -> &str {
        &self.schema.message(self.message).full_name
    }

    fn schema(&self) -> (&SchemaData, MessageId) {
        (&self.schema, self.message)
    }

    fn shim(stubs: &Stubs) -> *const () {
        stubs.shim()
    }

    fn build(&self, site: Site<'_>) -> Parts {
        Parts(frame::build(site.function, site.scratch, self, site.plan))
    }
}

impl Program for EncodeProgram {
    const PARAMS: usize = 3;
    const DIRECTION_NAME: &'static str = "encode";

    fn entry(&self) -> &AtomicPtr<()> {
        &self.entry
    }

    fn fields(&self) -> usize {
        self.ops.len()
    }

    fn number(&self, at: usize) -> u32 {
        self.ops.get(at).map_or(0, |op| op.number)
    }

    fn message_name(&self) -> &str {
        &self.schema.message(self.message).full_name
    }

    fn schema(&self) -> (&SchemaData, MessageId) {
        (&self.schema, self.message)
    }

    fn shim(stubs: &Stubs) -> *const () {
        stubs.encode_shim()
    }

    fn build(&self, site: Site<'_>) -> Parts {
        Parts(encode::build(site.function, site.scratch, self, site.plan))
    }
}

/// Compiles units into one arena.
pub struct Compiler {
    isa: OwnedTargetIsa,
    arena: MachineCodeArena,
    stubs: Stubs,
    field_bound: usize,
    refuse: Option<fn(&FieldDef) -> bool>,
    instrument: bool,
    perf_map: Option<PerfMap>,
    sabotage: Option<fn(&FieldDef) -> Sabotage>,
}

/// What one program was compiled to.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FunctionStats {
    /// Bytes of machine code.
    pub code_bytes: usize,
    /// Blocks of the function.
    pub blocks: usize,
    /// Calls of helpers.
    pub helper_calls: usize,
    /// How long that took.
    pub times: CompileTimes,
}

/// The compiled code of one unit of programs. Its entries stay published until it is dropped.
pub struct CompiledUnit<P: Program> {
    programs: Arc<Unit<P>>,
    stats: Vec<FunctionStats>,
    exits: Vec<ExitCounts>,
    shim: *const (),
    code: CodeUnit,
    functions: Vec<FuncId>,
}

// SAFETY: `shim` is the address of code that outlives every unit (kept by the `Compiler` that the owner holds); the
// rest is `Send + Sync` by itself.
unsafe impl<P: Program> Send for CompiledUnit<P> {}
// SAFETY: as above.
unsafe impl<P: Program> Sync for CompiledUnit<P> {}

impl Compiler {
    /// A compiler for this host. Compiles the stubs.
    ///
    /// # Errors
    /// The host is not supported, or the stubs do not fit into the arena.
    pub fn new(arena: MachineCodeArena, verify: bool) -> Result<Compiler, JitError> {
        Compiler::for_cpu(Cpu::Host, arena, verify)
    }

    /// As [`Compiler::new`], for other features of the processor.
    ///
    /// # Errors
    /// As [`Compiler::new`].
    pub fn for_cpu(cpu: Cpu, arena: MachineCodeArena, verify: bool) -> Result<Compiler, JitError> {
        let isa = crate::host::native_isa(cpu, verify)?;
        let stubs = Stubs::compile(&arena, &isa)?;
        Ok(Compiler {
            isa,
            arena,
            stubs,
            field_bound: DEFAULT_FIELD_BOUND,
            refuse: None,
            instrument: false,
            perf_map: None,
            sabotage: None,
        })
    }

    /// Interprets messages with more than `fields` fields.
    #[must_use]
    pub fn with_field_bound(mut self, fields: usize) -> Compiler {
        self.field_bound = fields;
        self
    }

    /// Counts slow exits: code that is compiled from here on is larger and slower, and tells
    /// [how often it left its fast path](CompiledUnit::exits).
    #[must_use]
    pub fn instrumented(mut self) -> Compiler {
        self.instrument = true;
        self
    }

    /// Compiles such fields wrongly: for tests of what finds that.
    #[doc(hidden)]
    #[must_use]
    pub fn with_sabotaged_fields(mut self, sabotage: fn(&FieldDef) -> Sabotage) -> Compiler {
        self.sabotage = Some(sabotage);
        self
    }

    /// Interprets messages that have such a field, as if the compiler did not know the construct: for tests of what
    /// watches over compilation.
    #[doc(hidden)]
    #[must_use]
    pub fn with_refused_fields(mut self, refuse: fn(&FieldDef) -> bool) -> Compiler {
        self.refuse = Some(refuse);
        self
    }

    /// Tells profilers the names of what is compiled from now on.
    #[must_use]
    pub fn with_perf_map(mut self, map: PerfMap) -> Compiler {
        self.perf_map = Some(map);
        self
    }

    /// The arena.
    pub fn arena(&self) -> &MachineCodeArena {
        &self.arena
    }

    /// The stubs.
    pub fn stubs(&self) -> &Stubs {
        &self.stubs
    }

    /// Compiles a unit and publishes its entries. Programs of other units that it calls and that have no compiled code
    /// get the interpreter shim as their entry.
    ///
    /// # Errors
    /// A message is too large, the compiler refused, or the arena has no room. Nothing is published then.
    ///
    /// # Safety
    /// The caller keeps this compiler alive as long as the unit, and the unit as long as any code that calls it:
    /// its own callers and the compiled units of other programs that refer to these.
    pub unsafe fn compile<P: Program>(&self, programs: &Arc<Unit<P>>) -> Result<CompiledUnit<P>, JitError> {
        for program in programs.members() {
            if program.fields() > self.field_bound {
                return Err(JitError::TooLarge { fields: program.fields(), bound: self.field_bound });
            }
        }
        // A schema of thousands of messages must not be compiled for an arena that has no place for it.
        self.arena.check_room()?;
        let shim = P::shim(&self.stubs);
        for callee in programs.deps().iter().flat_map(|dep| dep.members()) {
            // A callee that was compiled meanwhile keeps its entry.
            let _ = callee.entry().compare_exchange(
                std::ptr::null_mut(),
                shim.cast_mut(),
                Ordering::Release,
                Ordering::Relaxed,
            );
        }
        let mut unit = UnitBuilder::new(&self.arena, self.isa.clone(), self.stubs.symbols())?;
        // Building is guarded like the compiler that it feeds: a panic costs this unit only, which is dropped unsealed.
        let exits: Vec<ExitCounts> = match self.instrument {
            true => programs.members().iter().map(|program| ExitCounts::new(program.fields())).collect(),
            false => Vec::new(),
        };
        let build = std::panic::AssertUnwindSafe(|| {
            self.check_refused(programs.members())?;
            define_unit(&mut unit, programs.members(), &exits, self.sabotage)
        });
        let (functions, mut stats) = std::panic::catch_unwind(build).unwrap_or_else(|payload| {
            let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let detail = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
            Err(JitError::Mcode(McodeError::Panic { detail }))
        })?;
        let started = Instant::now();
        let code = unit.seal()?;
        let share = started.elapsed() / stats.len().max(1) as u32;
        stats.iter_mut().for_each(|stats| stats.times.seal = share);
        let compiled = CompiledUnit { programs: programs.clone(), stats, exits, shim, code, functions };
        for (program, &id) in programs.members().iter().zip(&compiled.functions) {
            if let Some(address) = compiled.code.address(id) {
                program.entry().store(address.cast_mut().cast(), Ordering::Release);
            }
            if let (Some(map), Some(code)) = (&self.perf_map, compiled.code.code(id)) {
                map.add(code, &format!("protojit::{}::{}", P::DIRECTION_NAME, program.message_name()));
            }
        }
        Ok(compiled)
    }

    /// Fails as a construct would that the compiler does not know.
    fn check_refused<P: Program>(&self, programs: &[P]) -> Result<(), JitError> {
        let Some(refuse) = self.refuse else { return Ok(()) };
        for program in programs {
            let (schema, message) = program.schema();
            if let Some((_, field)) = schema.fields_of(message).into_iter().find(|(_, field)| refuse(field)) {
                return Err(JitError::Refused { field: field.name.clone() });
            }
        }
        Ok(())
    }
}

/// What is to be done to each operation.
fn sabotaged<P: Program>(program: &P, sabotage: fn(&FieldDef) -> Sabotage) -> Vec<Sabotage> {
    let (schema, message) = program.schema();
    let fields = schema.fields_of(message);
    let of = |at| fields.iter().find(|(_, field)| field.number == program.number(at));
    (0..program.fields()).map(|at| of(at).map_or(Sabotage::None, |(_, field)| sabotage(field))).collect()
}

/// Defines one function per program.
fn define_unit<P: Program>(
    unit: &mut UnitBuilder,
    programs: &[P],
    exits: &[ExitCounts],
    sabotage: Option<fn(&FieldDef) -> Sabotage>,
) -> Result<(Vec<FuncId>, Vec<FunctionStats>), JitError> {
    let call = unit.isa().default_call_conv();
    let mut names = Names { programs: Default::default(), stubs: Vec::new() };
    for stub in Saving::ALL {
        names.stubs.push(unit.declare_function(stub.name(), Linkage::Import, &stub.signature())?.as_u32());
    }
    let mut ids = Vec::new();
    for (at, program) in programs.iter().enumerate() {
        let id = unit.declare_function(&format!("program_{at}"), Linkage::Export, &c_signature(call, P::PARAMS))?;
        names.programs.insert(std::ptr::from_ref(program).addr(), id.as_u32());
        ids.push(id);
    }
    let config = unit.target_config();
    let (mut scratch, mut stats) = (FunctionBuilderContext::new(), Vec::new());
    let clock = AllocationClock::start();
    for (at, (program, &id)) in programs.iter().zip(&ids).enumerate() {
        let started = Instant::now();
        let mut context = unit.make_context();
        let sabotage = sabotage.map_or(Vec::new(), |sabotage| sabotaged(program, sabotage));
        let plan = Plan { names: &names, call, config, exits: exits.get(at), sabotage: &sabotage };
        let helper_calls =
            program.build(Site { function: &mut context.func, scratch: &mut scratch, plan }).0.helper_calls;
        let build = started.elapsed();
        let blocks = context.func.layout.blocks().count();
        unit.define_function(id, &mut context)?;
        let allocate = clock.take();
        let optimise = started.elapsed().saturating_sub(build + allocate);
        let code_bytes = context.compiled_code().map_or(0, |code| code.code_buffer().len());
        let times = CompileTimes { build, optimise, allocate, ..CompileTimes::default() };
        stats.push(FunctionStats { code_bytes, blocks, helper_calls, times });
    }
    Ok((ids, stats))
}

impl<P: Program> CompiledUnit<P> {
    /// The programs, in the order of [`CompiledUnit::stats`].
    pub fn programs(&self) -> &Arc<Unit<P>> {
        &self.programs
    }

    /// What each program was compiled to.
    pub fn stats(&self) -> &[FunctionStats] {
        &self.stats
    }

    /// The slow exits of the program at this position, `None` unless the compile was instrumented.
    pub fn exits(&self, at: usize) -> Option<&ExitCounts> {
        self.exits.get(at)
    }

    /// The machine code of the program at this position.
    pub fn machine_code(&self, at: usize) -> Option<&[u8]> {
        self.functions.get(at).and_then(|&id| self.code.code(id))
    }
}

impl<P: Program> Drop for CompiledUnit<P> {
    fn drop(&mut self) {
        for program in self.programs.members() {
            program.entry().store(self.shim.cast_mut(), Ordering::Release);
        }
    }
}

impl std::fmt::Debug for Compiler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Compiler({}, {:?})", self.isa.triple(), self.arena.stats())
    }
}

impl<P: Program + std::fmt::Debug> std::fmt::Debug for CompiledUnit<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.programs.members().iter().zip(&self.stats)).finish()
    }
}
