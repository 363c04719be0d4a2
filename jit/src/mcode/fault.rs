//! Failing on purpose.
//!
//! Each step at which the operating system can refuse something passes here first.
//! A test hands a [`FaultPlan`] to the arena and so reaches every failure path,
//! which no real machine produces on demand.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// A step of the arena that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// Reserving the address range.
    Reserve,
    /// Making chunks writable.
    Unlock,
    /// Clearing the instruction cache for a range.
    ClearCache,
    /// Making a range executable or read-only.
    Seal,
    /// Flushing the pipelines of all processors.
    Flush,
    /// Making returned chunks inaccessible.
    Lock,
    /// Giving the memory of returned chunks back to the operating system.
    Decommit,
}

const STEPS: usize = 7;

impl Step {
    fn index(self) -> usize {
        self as usize
    }
}

#[derive(Clone, Copy, Debug)]
struct Fault {
    step: Step,
    first: u64,
    count: u64,
}

/// Which steps fail, and when. The default plan lets everything pass.
#[derive(Clone, Debug, Default)]
pub struct FaultPlan {
    faults: Vec<Fault>,
}

impl FaultPlan {
    /// A plan in which nothing fails.
    pub fn none() -> Self {
        Self::default()
    }

    /// Lets `step` fail `count` times, beginning with its `first` occurrence (counted from 0).
    #[must_use]
    pub fn fail(mut self, step: Step, first: u64, count: u64) -> Self {
        self.faults.push(Fault { step, first, count });
        self
    }

    /// Lets every occurrence of `step` fail.
    #[must_use]
    pub fn fail_always(self, step: Step) -> Self {
        self.fail(step, 0, u64::MAX)
    }
}

/// A plan, and how often each step has been reached.
#[derive(Debug)]
pub(super) struct Injector {
    plan: FaultPlan,
    reached: [AtomicU64; STEPS],
}

impl Injector {
    pub(super) fn new(plan: FaultPlan) -> Self {
        Self { plan, reached: Default::default() }
    }

    /// Called before `step`; an error stands for the step's own failure.
    pub(super) fn pass(&self, step: Step) -> io::Result<()> {
        if self.plan.faults.is_empty() {
            return Ok(());
        }
        let now = self.reached[step.index()].fetch_add(1, Ordering::Relaxed);
        let hit = |fault: &Fault| fault.step == step && now >= fault.first && now - fault.first < fault.count;
        if self.plan.faults.iter().any(hit) {
            return Err(io::Error::other("injected by a test"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_hit_exactly_the_planned_occurrences() {
        let plan = FaultPlan::none().fail(Step::Seal, 1, 2).fail_always(Step::Flush);
        let injector = Injector::new(plan);
        let seals: Vec<bool> = (0..5).map(|_| injector.pass(Step::Seal).is_ok()).collect();
        assert_eq!(seals, [true, false, false, true, true]);
        assert!((0..3).all(|_| injector.pass(Step::Flush).is_err()));
        assert!((0..3).all(|_| injector.pass(Step::Lock).is_ok()));
    }
}
