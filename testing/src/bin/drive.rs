//! Where there is no libFuzzer: the fuzz targets' first inputs with accidents upon accidents, for as long as it is told.
//! `drive TARGET [SECONDS [SEED]]`.

use std::panic;
use std::time::{Duration, Instant};

use protojit_testing::bodies;
use protojit_testing::mutate::mutate;
use protojit_testing::pair::hex;
use protojit_testing::rng::Rng;

fn main() {
    let mut words = std::env::args().skip(1);
    let target = words.next().expect("a target");
    let mut number = |default: u64| words.next().map_or(default, |word| word.parse().expect("a number"));
    let (seconds, seed) = (number(60), number(0));
    let (_, body) = *bodies::ALL.iter().find(|(name, _)| *name == target).expect("a target");
    let (mut rng, mut pool, mut count, mut failed) = (Rng::new(seed), bodies::seeds(&target), 0u64, 0);
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(seconds) {
        let (one, other) = (rng.pick(&pool), rng.pick(&pool));
        let mut input = mutate(&mut rng.clone(), one, other);
        rng.bits();
        input.truncate(4096);
        count += 1;
        if panic::catch_unwind(|| body(&input)).is_err() {
            println!("input: {}", hex(&input));
            failed += 1;
        }
        // Some of them are begun with again.
        if rng.chance(20) {
            let at = rng.below(pool.len());
            if pool.len() < 4000 {
                pool.push(input);
            } else {
                pool[at] = input;
            }
        }
    }
    println!("{target}: {count} inputs from seed {seed} on, {failed} failed");
    std::process::exit(i32::from(failed != 0));
}
