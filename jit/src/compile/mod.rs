//! From decode programs to machine code.
//!
//! One function per program, one unit per strongly connected component of programs. A function has a *handler* block
//! per field. Handlers end with the limit check and a comparison with the tag expected next (the same field again
//! where it repeats, else the next by number); when that fails, a general dispatch by `br_table` follows. What is rare
//! (long varints, text that is not ASCII, growing lists, unknown fields, maps) leaves through stubs that preserve all
//! registers, so that the hot path holds everything in registers.
//!
//! * [`frame`](self) sets up a function, its dispatch and its ends; [`values`](self) reads varints, lengths and text;
//!   [`fields`](self) is the handlers.
//!
//! # Positions and limits
//!
//! `limit` is where the frame ends; lengths are checked against it. Dispatch compares with `edge`, the smaller of
//! `limit` and the context's `safe`: behind every position below `edge` at least
//! [`SLACK`](protojit_interp::decode::context::SLACK) bytes can be loaded, so that tags, varints and the first 32 bytes
//! of a string are loaded without further checks. A value that runs past the limit is noticed after it was read, before
//! the next tag. A frame that reaches `safe` before its limit is finished by the interpreter.

mod code;
mod fields;
mod frame;
mod values;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_module::FuncId;
use protojit_core::program::{DecodeProgram, Unit};

use crate::JitError;
use crate::mcode::{CodeUnit, MachineCodeArena, UnitBuilder};
use crate::stubs::Stubs;

/// Messages with more fields than this are interpreted: compile time grows with the number of fields.
pub const DEFAULT_FIELD_BOUND: usize = 4096;

/// Compiles units into one arena.
pub struct Compiler {
    isa: OwnedTargetIsa,
    arena: MachineCodeArena,
    stubs: Stubs,
    field_bound: usize,
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
    /// Time to build, compile and copy it.
    pub time: Duration,
}

/// The compiled code of one unit of programs. Its entries stay published until it is dropped.
pub struct CompiledUnit {
    programs: Arc<Unit<DecodeProgram>>,
    stats: Vec<FunctionStats>,
    seal_time: Duration,
    shim: *const (),
    code: CodeUnit,
    functions: Vec<FuncId>,
}

// SAFETY: `shim` is the address of code that outlives every unit (kept by the `Compiler` that the owner holds); the
// rest is `Send + Sync` by itself.
unsafe impl Send for CompiledUnit {}
// SAFETY: as above.
unsafe impl Sync for CompiledUnit {}

impl Compiler {
    /// A compiler for this host. Compiles the stubs.
    ///
    /// # Errors
    /// The host is not supported, or the stubs do not fit into the arena.
    pub fn new(arena: MachineCodeArena, verify: bool) -> Result<Compiler, JitError> {
        let isa = crate::host::native_isa(verify)?;
        let stubs = Stubs::compile(&arena, &isa)?;
        Ok(Compiler { isa, arena, stubs, field_bound: DEFAULT_FIELD_BOUND })
    }

    /// Interprets messages with more than `fields` fields.
    #[must_use]
    pub fn with_field_bound(mut self, fields: usize) -> Compiler {
        self.field_bound = fields;
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
    pub unsafe fn compile(&self, programs: &Arc<Unit<DecodeProgram>>) -> Result<CompiledUnit, JitError> {
        for program in programs.members() {
            if program.ops.len() > self.field_bound {
                return Err(JitError::TooLarge { fields: program.ops.len(), bound: self.field_bound });
            }
        }
        for callee in programs.deps().iter().flat_map(|dep| dep.members()) {
            // A callee that was compiled meanwhile keeps its entry.
            let _ = callee.entry.compare_exchange(
                std::ptr::null_mut(),
                self.stubs.shim().cast_mut(),
                Ordering::Release,
                Ordering::Relaxed,
            );
        }
        let mut unit = UnitBuilder::new(&self.arena, self.isa.clone(), self.stubs.symbols())?;
        let (functions, stats) = frame::define_unit(&mut unit, programs.members())?;
        let started = Instant::now();
        let code = unit.seal()?;
        let seal_time = started.elapsed();
        let compiled =
            CompiledUnit { programs: programs.clone(), stats, seal_time, shim: self.stubs.shim(), code, functions };
        for (program, &id) in programs.members().iter().zip(&compiled.functions) {
            if let Some(address) = compiled.code.address(id) {
                program.entry.store(address.cast_mut().cast(), Ordering::Release);
            }
        }
        Ok(compiled)
    }
}

impl CompiledUnit {
    /// The programs, in the order of [`CompiledUnit::stats`].
    pub fn programs(&self) -> &Arc<Unit<DecodeProgram>> {
        &self.programs
    }

    /// What each program was compiled to.
    pub fn stats(&self) -> &[FunctionStats] {
        &self.stats
    }

    /// Time to link and seal the unit.
    pub fn seal_time(&self) -> Duration {
        self.seal_time
    }

    /// The machine code of the program at this position.
    pub fn machine_code(&self, at: usize) -> Option<&[u8]> {
        self.functions.get(at).and_then(|&id| self.code.code(id))
    }
}

impl Drop for CompiledUnit {
    fn drop(&mut self) {
        for program in self.programs.members() {
            program.entry.store(self.shim.cast_mut(), Ordering::Release);
        }
    }
}

/// The intermediate representation of the function of the program at position `at`, as text.
///
/// # Errors
/// The host is not supported.
pub fn clif(unit: &Unit<DecodeProgram>, at: usize) -> Result<String, JitError> {
    let isa = crate::host::native_isa(false)?;
    Ok(frame::function_text(&isa, unit.members(), at))
}

impl std::fmt::Debug for Compiler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Compiler({}, {:?})", self.isa.triple(), self.arena.stats())
    }
}

impl std::fmt::Debug for CompiledUnit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.programs.members().iter().zip(&self.stats)).finish()
    }
}
