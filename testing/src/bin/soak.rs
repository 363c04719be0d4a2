//! Holds the engines against each other for as long as it is told: `soak [SECONDS [FIRST_SEED [ROUNDS]]]`.

use std::time::Duration;

use protojit_testing::soak::soak;

fn main() {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse().expect("a number"));
    let mut next = |default| numbers.next().unwrap_or(default);
    let (seconds, first, rounds) = (next(60), next(0), next(u64::MAX));
    let tally = soak(first, rounds, Duration::from_secs(seconds));
    println!("from seed {first} on: {tally:?}");
    std::process::exit(i32::from(!tally.failed.is_empty()));
}
