//! Takes the time of calls.

use std::time::Instant;

/// Times calls, so many for each message.
pub struct Clock {
    iterations: u64,
    /// The times of the messages so far, in nanoseconds.
    times: Vec<f64>,
}

/// The calls for one message are timed in so many batches, of which the median counts: others use the machine, too.
const BATCHES: u64 = 11;

impl Clock {
    pub fn new(iterations: u64) -> Clock {
        Clock { iterations, times: Vec::new() }
    }

    /// All calls but one, of which the first is not timed: it may compile, and finds the caches cold.
    pub fn all_but_last(&mut self, mut work: impl FnMut()) {
        if self.iterations > 1 {
            work();
        }
        let calls = self.iterations.saturating_sub(2);
        let batches = calls.min(BATCHES);
        let mut means: Vec<f64> = (0..batches)
            .map(|batch| {
                let calls = calls * (batch + 1) / batches - calls * batch / batches;
                let start = Instant::now();
                for _ in 0..calls {
                    work();
                }
                start.elapsed().as_nanos() as f64 / calls as f64
            })
            .collect();
        means.sort_by(f64::total_cmp);
        self.times.extend(means.get(means.len() / 2));
    }

    /// The last call, the one whose result is wanted. Its time counts where there is no other.
    pub fn last<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        if self.iterations <= 2 {
            self.times.push(start.elapsed().as_nanos() as f64);
        }
        result
    }

    /// Nanoseconds for a call, all messages counted alike.
    pub fn mean(&self) -> f64 {
        self.times.iter().sum::<f64>() / self.times.len().max(1) as f64
    }
}
