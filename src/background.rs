//! Work that is done while the interpreter serves.
//!
//! Jobs wait in a queue of the runtime. Threads are started when there is work and end when there is none, so that a
//! runtime without work has no threads and nothing has to be stopped when it is dropped.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// More threads than this never compile at once.
const MOST_THREADS: usize = 4;

type Job = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    threads: usize,
}

/// The queue of one runtime.
#[derive(Default)]
pub(crate) struct Background {
    state: Arc<Mutex<State>>,
}

impl std::fmt::Debug for Background {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Background").field("threads", &lock(&self.state).threads).finish_non_exhaustive()
    }
}

impl Background {
    /// Has `job` done by another thread, in the order of the calls; `Err` where no thread could be started.
    pub(crate) fn run(&self, job: Job) -> std::io::Result<()> {
        let mut state = lock(&self.state);
        state.jobs.push_back(job);
        if state.threads >= threads() {
            return Ok(());
        }
        state.threads += 1;
        drop(state);
        let shared = self.state.clone();
        let started =
            std::thread::Builder::new().name("protojit-compile".to_owned()).spawn(move || work(Working(shared)));
        started.map(drop).or_else(|error| {
            let mut state = lock(&self.state);
            state.threads -= 1;
            // Another thread will get to it.
            if state.threads > 0 {
                return Ok(());
            }
            state.jobs.clear();
            Err(error)
        })
    }
}

/// How many threads compile at once, at most.
pub(crate) fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(MOST_THREADS)
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    // Jobs do not run under this lock.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A thread that was counted, until it has found the queue empty.
struct Working(Arc<Mutex<State>>);

fn work(working: Working) {
    loop {
        let mut state = lock(&working.0);
        let Some(job) = state.jobs.pop_front() else {
            // Under the lock that found it empty: whoever adds a job next starts a thread.
            state.threads -= 1;
            return;
        };
        drop(state);
        // Jobs report what goes wrong themselves; a panic must not take the thread from the queue.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn jobs_are_done_by_other_threads_which_then_end() {
        let (background, (done, found)) = (Background::default(), channel());
        background.run(Box::new(|| panic!("a job that fails"))).unwrap();
        for number in 0..100 {
            let done = done.clone();
            background.run(Box::new(move || done.send((number, std::thread::current().id())).unwrap())).unwrap();
        }
        let mut numbers: Vec<i32> = found
            .iter()
            .take(100)
            .map(|(number, thread)| {
                assert_ne!(thread, std::thread::current().id());
                number
            })
            .collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..100).collect::<Vec<_>>());
        while lock(&background.state).threads > 0 {
            std::thread::yield_now();
        }
    }
}
