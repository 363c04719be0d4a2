//! The pseudo-random numbers that payloads are made of: the same in every run, on every machine.

/// A SplitMix64 generator.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The generator of one payload: named by its workload, numbered by its variant, so that a payload does not change
    /// when others are added.
    pub fn of(name: &str, variant: usize) -> Rng {
        // FNV-1a of the name.
        let hash = name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        Rng(hash ^ (variant as u64).wrapping_mul(0xd6e8_feb8_6659_fd93))
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from `low` to `high`, both included.
    pub fn range(&mut self, low: u64, high: u64) -> u64 {
        assert!(low <= high, "an empty range");
        low + self.bits() % (high - low).saturating_add(1)
    }

    /// As [`Rng::range`], for counts.
    pub fn count(&mut self, low: usize, high: usize) -> usize {
        self.range(low as u64, high as u64) as usize
    }

    /// True once in `n` times, on average.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.bits().is_multiple_of(n)
    }

    /// One of these.
    pub fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.count(0, from.len() - 1)]
    }

    /// A number whose varint has this many bytes, from 1 to 10.
    pub fn of_width(&mut self, bytes: u32) -> u64 {
        let low = if bytes == 1 { 0 } else { 1u64 << (7 * (bytes - 1)) };
        let high = if bytes == 10 { u64::MAX } else { (1u64 << (7 * bytes)) - 1 };
        self.range(low, high)
    }

    /// A finite number with two decimals.
    pub fn decimal(&mut self, high: u64) -> f64 {
        self.range(1, high * 100) as f64 / 100.0
    }

    /// This many random bytes.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.bits() as u8).collect()
    }

    /// Letters and digits, `len` of them, a letter first.
    pub fn word(&mut self, len: usize) -> String {
        const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";
        (0..len)
            .map(|at| {
                let last = if at == 0 { 25 } else { LETTERS.len() - 1 };
                char::from(LETTERS[self.count(0, last)])
            })
            .collect()
    }

    /// Hexadecimal digits, `len` of them.
    pub fn hex(&mut self, len: usize) -> String {
        (0..len).map(|_| char::from(b"0123456789abcdef"[self.count(0, 15)])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_differ_and_repeat() {
        assert_eq!(Rng::of("a", 1).bits(), Rng::of("a", 1).bits());
        assert_ne!(Rng::of("a", 1).bits(), Rng::of("a", 2).bits());
        assert_ne!(Rng::of("a", 1).bits(), Rng::of("b", 1).bits());
    }

    #[test]
    fn widths_are_kept() {
        let mut rng = Rng::of("widths", 0);
        for width in 1..=10 {
            for _ in 0..50 {
                let mut writer = crate::wire::Writer::default();
                writer.varint(rng.of_width(width));
                assert_eq!(writer.into_bytes().len(), width as usize);
            }
        }
    }
}
