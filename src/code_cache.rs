//! Compiled units: whose they are, and how long they stay.
//!
//! A unit of programs can be used by several schemas, and so can its compiled code. Each schema holds on to all that its
//! own types call; the runtime knows what is there, and lets go of what no schema holds.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use protojit_core::program::{Unit, UnitRef};
use protojit_jit::compile::{CompiledUnit, Compiler, Program};

use crate::engine::Fallback;
use crate::runtime::RuntimeInner;

/// What became of a unit.
pub(crate) type Outcome<P> = Result<Arc<CompiledUnit<P>>, Fallback>;

/// Whoever comes first to a unit compiles it, without a lock; others wait for that unit only.
type Cell<P> = Arc<OnceLock<Outcome<P>>>;

/// Cells by the address of the unit, which whoever holds the cell keeps alive.
type Cells<P> = HashMap<usize, Cell<P>>;

/// The compiled units of one runtime in one direction.
///
/// Invariant: a cell is in here exactly as long as a [`CodeCache`] has it. It goes under the lock, so that nobody
/// compiles a unit whose code is just being taken away.
pub(crate) struct SharedCode<P: Program> {
    cells: Mutex<Cells<P>>,
}

impl<P: Program> Default for SharedCode<P> {
    fn default() -> Self {
        SharedCode { cells: Mutex::default() }
    }
}

impl<P: Program> std::fmt::Debug for SharedCode<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedCode").finish_non_exhaustive()
    }
}

/// The compiled units that one schema uses in one direction.
pub(crate) struct CodeCache<P: Program> {
    shared: Arc<SharedCode<P>>,
    units: Mutex<Cells<P>>,
}

impl<P: Program> std::fmt::Debug for CodeCache<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CodeCache").finish_non_exhaustive()
    }
}

impl<P: Program> CodeCache<P> {
    /// Uses what is compiled for other schemas.
    pub(crate) fn sharing(shared: Arc<SharedCode<P>>) -> CodeCache<P> {
        CodeCache { shared, units: Mutex::default() }
    }

    /// Compiles a program's unit and all that it refers to, as far as that was not done before.
    ///
    /// # Safety
    /// The caller keeps `compiler` alive as long as this cache, and this cache and the programs as long as any of the code
    /// runs.
    pub(crate) unsafe fn compile(&self, runtime: &RuntimeInner, compiler: &Compiler, root: &UnitRef<P>) -> Outcome<P> {
        // Children before parents, without recursion: chains can be long.
        let mut pending = vec![(root.unit().clone(), false)];
        while let Some((unit, children_done)) = pending.pop() {
            // Also where another schema has it compiled, its children are to be held by this one.
            if !children_done {
                if self.holds(&unit) {
                    continue;
                }
                pending.push((unit.clone(), true));
                pending.extend(unit.deps().iter().map(|dep| (dep.clone(), false)));
                continue;
            }
            // SAFETY: the caller keeps the compiler alive as long as this cache, which holds the unit's code and that of
            // all that it calls.
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

    fn lock(&self) -> MutexGuard<'_, Cells<P>> {
        self.units.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn holds(&self, unit: &Arc<Unit<P>>) -> bool {
        self.lock().get(&address(unit)).is_some_and(|cell| cell.get().is_some())
    }

    fn cell(&self, unit: &Arc<Unit<P>>) -> Cell<P> {
        let found = |cells: &Cells<P>| cells.get(&address(unit)).cloned();
        if let Some(cell) = found(&self.lock()) {
            return cell;
        }
        let mut shared = self.shared.cells.lock().unwrap_or_else(PoisonError::into_inner);
        let cell = shared.entry(address(unit)).or_default();
        self.lock().entry(address(unit)).or_insert_with(|| cell.clone()).clone()
    }

    /// What became of a program's unit, `None` if it was never asked for.
    pub(crate) fn unit(&self, unit: &Arc<Unit<P>>) -> Option<Outcome<P>> {
        self.lock().get(&address(unit)).and_then(|cell| cell.get().cloned())
    }
}

impl<P: Program> Drop for CodeCache<P> {
    fn drop(&mut self) {
        let mut shared = self.shared.cells.lock().unwrap_or_else(PoisonError::into_inner);
        let own = std::mem::take(self.units.get_mut().unwrap_or_else(PoisonError::into_inner));
        for (address, cell) in own {
            drop(cell);
            // Clones are made under the lock, or by those who have another one.
            if shared.get(&address).is_some_and(|cell| Arc::strong_count(cell) == 1) {
                shared.remove(&address);
            }
        }
    }
}

fn address<P>(unit: &Arc<Unit<P>>) -> usize {
    Arc::as_ptr(unit).addr()
}
