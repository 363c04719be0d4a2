//! How long the steps of a compile take.

use std::any::Any;
use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use cranelift_codegen::timing::{Pass, Profiler, set_thread_profiler};

/// Time that a function's compile took, by step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct CompileTimes {
    /// From the program to intermediate code.
    pub build: Duration,
    /// From there to machine code, without what is below: rewriting, selection and emission of instructions.
    pub optimise: Duration,
    /// Allocation of registers.
    pub allocate: Duration,
    /// Linking and making executable: the function's share of what its unit took.
    pub seal: Duration,
}

impl CompileTimes {
    /// All steps together.
    pub fn total(&self) -> Duration {
        self.build + self.optimise + self.allocate + self.seal
    }
}

/// Takes the time of register allocation on this thread as long as it lives. Another profiler of the thread's rests meanwhile.
pub(super) struct AllocationClock {
    spent: Rc<Cell<Duration>>,
    before: Option<Box<dyn Profiler>>,
}

impl AllocationClock {
    pub fn start() -> AllocationClock {
        let spent = Rc::default();
        let before = set_thread_profiler(Box::new(AllocationOnly(Rc::clone(&spent))));
        AllocationClock { spent, before: Some(before) }
    }

    /// The time since the last call.
    pub fn take(&self) -> Duration {
        self.spent.take()
    }
}

impl Drop for AllocationClock {
    fn drop(&mut self) {
        if let Some(before) = self.before.take() {
            set_thread_profiler(before);
        }
    }
}

struct AllocationOnly(Rc<Cell<Duration>>);

impl Profiler for AllocationOnly {
    fn start_pass(&self, pass: Pass) -> Box<dyn Any> {
        match pass {
            Pass::regalloc => Box::new(Running { since: Instant::now(), spent: self.0.clone() }),
            // Takes no memory.
            _ => Box::new(()),
        }
    }
}

struct Running {
    since: Instant,
    spent: Rc<Cell<Duration>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.spent.set(self.spent.get() + self.since.elapsed());
    }
}
