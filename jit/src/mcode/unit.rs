//! From functions in Cranelift's IR to code that runs: one compile unit.

use std::collections::HashMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use cranelift_codegen::binemit::Reloc;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir;
use cranelift_codegen::isa::{OwnedTargetIsa, TargetIsa};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{
    DataDescription, DataId, FuncId, Init, Linkage, Module, ModuleDeclarations, ModuleReloc, ModuleResult,
    default_libcall_names,
};

use super::arena::{Inner, MachineCodeArena};
use super::error::McodeError;
use super::links::{Links, Symbols};
use super::space::{ArenaProvider, SharedSpace};

/// Compiles functions into an arena, as one unit that lives and dies together.
///
/// It is a [`Module`] of Cranelift: declare and define functions through that trait.
/// Then [`seal`](Self::seal) turns it into a [`CodeUnit`]. A builder that is dropped
/// instead, for whatever reason, gives all its memory back.
///
/// A panic of the compiler is caught and becomes [`McodeError::Panic`]; the builder
/// accepts nothing after it.
pub struct UnitBuilder {
    module: JITModule,
    space: SharedSpace,
    arena: Arc<Inner>,
    symbols: Symbols,
    links: Links,
    broken: bool,
}

impl UnitBuilder {
    /// Begins a unit. It takes no memory yet.
    ///
    /// # Errors
    ///
    /// [`McodeError::Target`] when the code would not run in this process, or was to
    /// be position-independent, which the linker does not do.
    pub fn new(arena: &MachineCodeArena, isa: OwnedTargetIsa, symbols: &Symbols) -> Result<Self, McodeError> {
        check_target(&*isa)?;
        let space = SharedSpace::new(Arc::clone(&arena.inner));
        let mut builder = JITBuilder::with_isa(isa, default_libcall_names());
        let table = symbols.clone();
        builder
            .symbol_lookup_fn(Box::new(move |name| table.get(name)))
            .memory_provider(Box::new(ArenaProvider::new(space.clone())));
        Ok(Self {
            module: JITModule::new(builder),
            space,
            arena: Arc::clone(&arena.inner),
            symbols: symbols.clone(),
            links: Links::default(),
            broken: false,
        })
    }

    /// Bytes of machine code so far, alignment included.
    pub fn code_bytes(&self) -> usize {
        self.space.lock().code_bytes()
    }

    /// Links the unit, takes the write permission from its pages and makes its code
    /// executable, in the order that the [module's documentation](super) gives.
    ///
    /// # Errors
    ///
    /// Whatever stands in the way; the unit's memory has then been given back.
    pub fn seal(mut self) -> Result<CodeUnit, McodeError> {
        self.check_whole()?;
        let base = self.arena.base().addr();
        let names = default_libcall_names();
        self.links.check(self.module.declarations(), &self.symbols, names, base..base + self.arena.len())?;
        self.guard(|this| Ok(this.module.finalize_definitions()?))?;

        let place = |start: *const u8, len| Place { offset: start.addr() - base, len };
        let functions = self.links.functions();
        let functions = functions.map(|(id, len)| (id, place(self.module.get_finalized_function(id), len))).collect();
        let objects = self.links.objects().map(|id| {
            let (start, len) = self.module.get_finalized_data(id);
            (id, place(start, len))
        });
        let objects = objects.collect();
        self.space.lock().set_alive();
        // The module goes here, with the compiler's records; the space stays.
        Ok(CodeUnit { functions, objects, arena: self.arena, space: self.space })
    }

    fn check_whole(&self) -> Result<(), McodeError> {
        if self.broken {
            return Err(McodeError::Panic { detail: "an earlier step of this unit".to_owned() });
        }
        Ok(())
    }

    /// Runs a step of the compiler and turns a panic into an error.
    fn guard<T>(&mut self, step: impl FnOnce(&mut Self) -> Result<T, McodeError>) -> Result<T, McodeError> {
        self.check_whole()?;
        // Unwind safety: after a panic the module is not used again, only dropped.
        match catch_unwind(AssertUnwindSafe(|| step(self))) {
            Ok(result) => result,
            Err(payload) => {
                self.broken = true;
                let text = payload
                    .downcast_ref::<&str>()
                    .map(|text| (*text).to_owned())
                    .or_else(|| payload.downcast_ref::<String>().cloned());
                Err(McodeError::Panic { detail: text.unwrap_or_else(|| "without a message".to_owned()) })
            }
        }
    }
}

fn check_target(isa: &dyn TargetIsa) -> Result<(), McodeError> {
    let host = target_lexicon::Triple::host();
    let target = isa.triple();
    let detail = if target.architecture != host.architecture {
        format!("it is for {target}, this process is {host}")
    } else if isa.flags().is_pic() {
        "position-independent code cannot be linked here".to_owned()
    } else {
        return Ok(());
    };
    Err(McodeError::Target { detail })
}

/// The module would panic.
fn refuse_thread_local(tls: bool) -> Result<(), McodeError> {
    if !tls {
        return Ok(());
    }
    let detail = "thread-local data has no place in a unit".to_owned();
    Err(McodeError::Link { detail })
}

/// Cranelift's way to declare and define what the unit consists of.
///
/// Errors of the arena travel inside `ModuleError`; `McodeError::from` recovers them.
impl Module for UnitBuilder {
    fn isa(&self) -> &dyn TargetIsa {
        self.module.isa()
    }

    fn declarations(&self) -> &ModuleDeclarations {
        self.module.declarations()
    }

    fn declare_function(&mut self, name: &str, linkage: Linkage, signature: &ir::Signature) -> ModuleResult<FuncId> {
        self.module.declare_function(name, linkage, signature)
    }

    fn declare_anonymous_function(&mut self, signature: &ir::Signature) -> ModuleResult<FuncId> {
        self.module.declare_anonymous_function(signature)
    }

    fn declare_data(&mut self, name: &str, linkage: Linkage, writable: bool, tls: bool) -> ModuleResult<DataId> {
        refuse_thread_local(tls)?;
        self.module.declare_data(name, linkage, writable, tls)
    }

    fn declare_anonymous_data(&mut self, writable: bool, tls: bool) -> ModuleResult<DataId> {
        refuse_thread_local(tls)?;
        self.module.declare_anonymous_data(writable, tls)
    }

    fn define_function_with_control_plane(
        &mut self,
        id: FuncId,
        context: &mut cranelift_codegen::Context,
        plane: &mut ControlPlane,
    ) -> ModuleResult<()> {
        self.guard(|this| {
            this.module.define_function_with_control_plane(id, context, plane)?;
            let code = context.compiled_code().expect("the module compiled it just now");
            let relocs = code.buffer.relocs().iter();
            this.links.refer(relocs.map(|reloc| ModuleReloc::from_mach_reloc(reloc, &context.func, id)));
            this.links.define_function(id, code.code_buffer().len());
            Ok(())
        })?;
        Ok(())
    }

    fn define_function_bytes(
        &mut self,
        id: FuncId,
        alignment: u64,
        bytes: &[u8],
        relocs: &[ModuleReloc],
    ) -> ModuleResult<()> {
        self.guard(|this| {
            this.module.define_function_bytes(id, alignment, bytes, relocs)?;
            this.links.refer(relocs.iter().cloned());
            this.links.define_function(id, bytes.len());
            Ok(())
        })?;
        Ok(())
    }

    fn define_data(&mut self, id: DataId, data: &DataDescription) -> ModuleResult<()> {
        if matches!(data.init, Init::Uninitialized) {
            let detail = "a data object without contents".to_owned();
            return Err(McodeError::Link { detail }.into());
        }
        self.guard(|this| {
            this.module.define_data(id, data)?;
            this.links.refer(data.all_relocs(Reloc::Abs8));
            this.links.define_object(id);
            Ok(())
        })?;
        Ok(())
    }
}

impl fmt::Debug for UnitBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnitBuilder")
            .field("functions", &self.links.functions().len())
            .field("code_bytes", &self.code_bytes())
            .field("broken", &self.broken)
            .finish_non_exhaustive()
    }
}

/// Where a function or data object is, relative to the arena's first address.
#[derive(Clone, Copy)]
struct Place {
    offset: usize,
    len: usize,
}

/// Sealed code that can be run.
///
/// Dropping it gives its memory back, so whoever runs its code holds it (as a rule in
/// an `Arc`) while doing so, and whoever stores one of its addresses stores it as well.
pub struct CodeUnit {
    functions: HashMap<FuncId, Place>,
    objects: HashMap<DataId, Place>,
    arena: Arc<Inner>,
    space: SharedSpace,
}

impl CodeUnit {
    /// The entry of a function; `None` if the unit does not define it.
    ///
    /// The address is valid, and its contents stay the same, until the unit is
    /// dropped. Calling it is `unsafe` for the usual reasons, and for this one.
    pub fn address(&self, function: FuncId) -> Option<*const u8> {
        self.functions.get(&function).map(|place| self.at(place))
    }

    /// The machine code of a function, to be disassembled or measured.
    pub fn code(&self, function: FuncId) -> Option<&[u8]> {
        let place = self.functions.get(&function)?;
        // SAFETY: the function was written in full before the unit was sealed, its
        // pages are readable and never written again (invariant of `UnitSpace`), and
        // the borrow keeps the unit, hence the pages.
        Some(unsafe { std::slice::from_raw_parts(self.at(place), place.len) })
    }

    /// Address and length of a data object, valid until the unit is dropped.
    pub fn data(&self, object: DataId) -> Option<(*const u8, usize)> {
        let place = self.objects.get(&object)?;
        Some((self.at(place), place.len))
    }

    /// All functions with the lengths of their code, in no particular order.
    pub fn functions(&self) -> impl Iterator<Item = (FuncId, usize)> {
        self.functions.iter().map(|(&id, place)| (id, place.len))
    }

    /// Bytes of machine code, alignment included.
    pub fn code_bytes(&self) -> usize {
        self.space.lock().code_bytes()
    }

    fn at(&self, place: &Place) -> *const u8 {
        // SAFETY: the place was inside the arena when it was noted in `seal`, and the
        // mapping lives as long as `self.arena`.
        unsafe { self.arena.base().add(place.offset) }
    }
}

impl fmt::Debug for CodeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CodeUnit")
            .field("functions", &self.functions.len())
            .field("code_bytes", &self.code_bytes())
            .finish_non_exhaustive()
    }
}

/// Units are shared by every thread that decodes; this fails to compile should a
/// field ever forbid it.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<CodeUnit>();
    shared::<MachineCodeArena>();
    shared::<Symbols>();
};
