//! What compiled code refers to, checked before the linker of cranelift-jit sees it.
//!
//! That linker panics on a symbol it does not know, on a distance that does not fit,
//! and on kinds of references it has not learned. So every reference is written down
//! when its function is defined, and all are checked before linking starts.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use cranelift_codegen::binemit::Reloc;
use cranelift_codegen::ir::LibCall;
use cranelift_module::{DataId, FuncId, Linkage, ModuleDeclarations, ModuleReloc, ModuleRelocTarget};

use super::error::McodeError;

/// Addresses of this process that compiled code may refer to by name.
///
/// Cheap to clone, made once and used for every unit. It is the only source of
/// symbols: the process's dynamic symbols are not searched, so that a unit links the
/// same way in every program.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    addresses: Arc<HashMap<String, usize>>,
}

impl Symbols {
    /// A table of names and addresses; of two equal names the later one counts.
    pub fn new<N: Into<String>>(symbols: impl IntoIterator<Item = (N, *const u8)>) -> Self {
        let entries = symbols.into_iter();
        let entries = entries.map(|(name, address)| (name.into(), address.expose_provenance()));
        Self { addresses: Arc::new(entries.collect()) }
    }

    /// The address of a name.
    pub fn get(&self, name: &str) -> Option<*const u8> {
        let &address = self.addresses.get(name)?;
        Some(std::ptr::with_exposed_provenance(address))
    }
}

/// The references of one unit, and what it has defined so far.
#[derive(Default)]
pub(super) struct Links {
    references: Vec<(Reloc, ModuleRelocTarget)>,
    /// With the lengths of their code.
    functions: HashMap<FuncId, usize>,
    objects: HashSet<DataId>,
}

impl Links {
    pub(super) fn define_function(&mut self, id: FuncId, len: usize) {
        self.functions.insert(id, len);
    }

    pub(super) fn define_object(&mut self, id: DataId) {
        self.objects.insert(id);
    }

    /// The functions that were defined, with the lengths of their code.
    pub(super) fn functions(&self) -> impl ExactSizeIterator<Item = (FuncId, usize)> {
        self.functions.iter().map(|(&id, &len)| (id, len))
    }

    /// The data objects that were defined.
    pub(super) fn objects(&self) -> impl ExactSizeIterator<Item = DataId> {
        self.objects.iter().copied()
    }

    pub(super) fn refer(&mut self, references: impl IntoIterator<Item = ModuleReloc>) {
        let references = references.into_iter();
        self.references.extend(references.map(|reloc| (reloc.kind, reloc.name)));
    }

    /// Would the linker get through?
    ///
    /// `arena` is where the referring code lies.
    pub(super) fn check(
        &self,
        declarations: &ModuleDeclarations,
        symbols: &Symbols,
        libcall_name: impl Fn(LibCall) -> String,
        arena: Range<usize>,
    ) -> Result<(), McodeError> {
        let known = |name: &str| symbols.get(name).ok_or_else(|| McodeError::Unresolved { symbol: name.to_owned() });
        for (kind, target) in &self.references {
            let outside = match target {
                ModuleRelocTarget::User { .. } => match self.locate(declarations, target)? {
                    Place::Unit => None,
                    Place::Import(name) => Some(known(name)?),
                },
                ModuleRelocTarget::FunctionOffset(id, _) if self.functions.contains_key(id) => None,
                ModuleRelocTarget::LibCall(call) => Some(known(&libcall_name(*call))?),
                other => return Err(link_error(*kind, &format!("its target is {other:?}"))),
            };
            check_kind(*kind, outside, &arena)?;
        }
        Ok(())
    }

    fn locate<'a>(
        &self,
        declarations: &'a ModuleDeclarations,
        target: &ModuleRelocTarget,
    ) -> Result<Place<'a>, McodeError> {
        let (defined, linkage, name, fallback) = if ModuleDeclarations::is_function(target) {
            let id = FuncId::from_name(target);
            let declaration = declarations.get_function_decl(id);
            let defined = self.functions.contains_key(&id);
            (defined, declaration.linkage, &declaration.name, id.to_string())
        } else {
            let id = DataId::from_name(target);
            let declaration = declarations.get_data_decl(id);
            let defined = self.objects.contains(&id);
            (defined, declaration.linkage, &declaration.name, id.to_string())
        };
        match (linkage, name) {
            _ if defined => Ok(Place::Unit),
            (Linkage::Import, Some(name)) => Ok(Place::Import(name)),
            _ => Err(McodeError::Undefined { name: name.clone().unwrap_or(fallback) }),
        }
    }
}

/// Where the target of a reference is.
enum Place<'a> {
    /// In the unit that refers to it.
    Unit,
    /// In the process, under this name.
    Import(&'a str),
}

/// Can the linker write a reference of this kind to an address outside the arena
/// (`None`: to one inside)?
fn check_kind(kind: Reloc, outside: Option<*const u8>, arena: &Range<usize>) -> Result<(), McodeError> {
    match kind {
        // Absolute, or with a veneer that is.
        Reloc::Abs8 | Reloc::Arm64Call => Ok(()),
        // The low half of an address whose high half is checked below.
        Reloc::Aarch64AddAbsLo12Nc => Ok(()),
        Reloc::X86PCRel4 | Reloc::X86CallPCRel4 | Reloc::Aarch64AdrPrelPgHi21 => {
            /// What the linker's 32-bit signed distance spans, less what addends and
            /// instruction lengths may add.
            const REACH: usize = (1 << 31) - (1 << 20);
            let Some(target) = outside else {
                return Ok(());
            };
            let farthest = target.addr().abs_diff(arena.start).max(target.addr().abs_diff(arena.end));
            if farthest > REACH {
                return Err(link_error(kind, "its target is too far away"));
            }
            Ok(())
        }
        other => Err(link_error(other, "the linker does not know this kind")),
    }
}

fn link_error(kind: Reloc, problem: &str) -> McodeError {
    McodeError::Link { detail: format!("{kind}: {problem}") }
}
