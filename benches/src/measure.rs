//! Times: all engines interleaved in one run, medians over rounds.
//!
//! A cell is an engine doing one thing to one workload. Each cell is calibrated to so many passes that a sample takes
//! about the wanted time; then every round takes one sample of each cell, in an order that moves on by one each round,
//! so that whatever disturbs the machine meets all of them alike. What counts is the median over the rounds.

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::peers::{Codec, Op};

/// How much is measured.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Effort {
    /// Samples of each cell.
    pub rounds: usize,
    /// The least duration of a sample.
    pub sample: Duration,
}

/// Nanoseconds per message.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Timing {
    /// The median.
    pub median: f64,
    /// The fastest round.
    pub min: f64,
    /// The slowest round.
    pub max: f64,
}

impl Timing {
    /// Of nanoseconds per message, one for each round.
    ///
    /// # Panics
    /// There are none.
    pub fn of(mut samples: Vec<f64>) -> Timing {
        samples.sort_unstable_by(f64::total_cmp);
        let (min, max) = (samples[0], samples[samples.len() - 1]);
        let middle = samples.len() / 2;
        let median =
            if samples.len() % 2 == 1 { samples[middle] } else { (samples[middle - 1] + samples[middle]) / 2.0 };
        Timing { median, min, max }
    }

    /// The distance between the fastest and the slowest round, as a part of the median.
    pub fn spread(&self) -> f64 {
        (self.max - self.min) / self.median
    }
}

/// Measures `cells`, each the position of a codec and what it does; `messages` are taken in a pass.
///
/// # Panics
/// A codec cannot do what is asked for.
pub fn measure(codecs: &mut [Box<dyn Codec>], cells: &[(usize, Op)], messages: usize, effort: Effort) -> Vec<Timing> {
    let passes: Vec<_> = cells.iter().map(|&(codec, op)| calibrate(&mut *codecs[codec], op, effort.sample)).collect();
    let mut samples = vec![Vec::with_capacity(effort.rounds); cells.len()];
    for round in 0..effort.rounds {
        for step in 0..cells.len() {
            let at = (round + step) % cells.len();
            let (codec, op) = cells[at];
            let time = run(&mut *codecs[codec], op, passes[at]);
            samples[at].push(time.as_secs_f64() * 1e9 / (passes[at] * messages) as f64);
        }
    }
    samples.into_iter().map(Timing::of).collect()
}

/// How many passes take as long as a sample should. Warms up on the way.
fn calibrate(codec: &mut dyn Codec, op: Op, sample: Duration) -> usize {
    let mut passes = 1;
    loop {
        let time = run(codec, op, passes).max(Duration::from_nanos(1));
        if time >= sample / 4 {
            let wanted = sample.as_secs_f64() / time.as_secs_f64();
            return ((passes as f64 * wanted).ceil() as usize).max(1);
        }
        passes *= 4;
    }
}

fn run(codec: &mut dyn Codec, op: Op, passes: usize) -> Duration {
    // The first pass of a sample finds the caches as the cell before left them, which is not what is measured.
    codec.pass(op);
    let start = Instant::now();
    for _ in 0..passes {
        codec.pass(op);
    }
    start.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(Timing::of(vec![3.0, 1.0, 2.0]), Timing { median: 2.0, min: 1.0, max: 3.0 });
        assert_eq!(Timing::of(vec![4.0, 1.0, 2.0, 3.0]).median, 2.5);
        assert_eq!(Timing::of(vec![2.0, 1.0, 3.0]).spread(), 1.0);
    }
}
