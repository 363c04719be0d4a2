//! Which chunks are free: arithmetic only, no memory is touched here.
//!
//! The arena is divided into equal chunks, counted from 0. A [`Run`] is a stretch of
//! neighbouring chunks. Runs are not `Clone`: whoever holds one is the only owner of
//! its chunks, and everything `unsafe` in this module's neighbours leans on that.

use std::collections::BTreeMap;

/// Neighbouring chunks that belong to whoever holds this value.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Run {
    start: usize,
    len: usize,
}

impl Run {
    /// Index of the first chunk.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// Number of chunks, never zero.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    fn end(&self) -> usize {
        self.start + self.len
    }

    /// Takes in `next`, which must begin where this run ends.
    pub(super) fn append(&mut self, next: Run) {
        assert_eq!(self.end(), next.start, "runs must be neighbours");
        self.len += next.len;
    }
}

/// The free runs, by their first chunk; neighbours are always joined.
#[derive(Debug)]
pub(super) struct ChunkMap {
    free: BTreeMap<usize, usize>,
}

impl ChunkMap {
    /// All of `count` chunks are free.
    pub(super) fn new(count: usize) -> Self {
        Self { free: BTreeMap::from([(0, count)]) }
    }

    /// Takes `count` neighbouring chunks from the lowest place that has them.
    ///
    /// First fit keeps code together at the bottom: calls stay short, and the sealed
    /// runs of neighbouring units need few kernel mappings.
    pub(super) fn take(&mut self, count: usize) -> Option<Run> {
        debug_assert!(count > 0);
        let (&start, &len) = self.free.iter().find(|&(_, &len)| len >= count)?;
        Some(self.cut(start, len, count))
    }

    /// Takes the `count` chunks that directly follow `run`, if they are free.
    pub(super) fn take_after(&mut self, run: &Run, count: usize) -> Option<Run> {
        debug_assert!(count > 0);
        let start = run.end();
        let len = *self.free.get(&start)?;
        (len >= count).then(|| self.cut(start, len, count))
    }

    fn cut(&mut self, start: usize, len: usize, count: usize) -> Run {
        self.free.remove(&start);
        if len > count {
            self.free.insert(start + count, len - count);
        }
        Run { start, len: count }
    }

    /// Makes the chunks of `run` free again and joins them with free neighbours.
    pub(super) fn give_back(&mut self, run: Run) {
        let (mut start, mut len) = (run.start, run.len);
        if let Some(after) = self.free.remove(&run.end()) {
            len += after;
        }
        if let Some((&before, &before_len)) = self.free.range(..start).next_back() {
            debug_assert!(before + before_len <= start, "chunks were free already");
            if before + before_len == start {
                start = before;
                len += before_len;
            }
        }
        self.free.insert(start, len);
    }

    /// Length of the longest free run.
    pub(super) fn largest(&self) -> usize {
        self.free.values().copied().max().unwrap_or(0)
    }

    #[cfg(test)]
    fn total(&self) -> usize {
        self.free.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_fit_takes_from_the_bottom() {
        let mut map = ChunkMap::new(8);
        let a = map.take(2).unwrap();
        let b = map.take(3).unwrap();
        assert_eq!((a.start(), a.len()), (0, 2));
        assert_eq!((b.start(), b.len()), (2, 3));
        map.give_back(a);
        assert_eq!(map.largest(), 3);
        assert_eq!(map.take(1).unwrap().start(), 0);
        assert_eq!(map.take(3).unwrap().start(), 5);
        assert!(map.take(2).is_none());
    }

    #[test]
    fn returned_runs_join_on_both_sides() {
        let mut map = ChunkMap::new(6);
        let (a, b, c) = (map.take(2).unwrap(), map.take(2).unwrap(), map.take(2).unwrap());
        assert_eq!(map.largest(), 0);
        map.give_back(a);
        map.give_back(c);
        assert_eq!(map.largest(), 2);
        map.give_back(b);
        assert_eq!(map.largest(), 6);
        assert_eq!(map.free.len(), 1);
    }

    #[test]
    fn a_run_grows_only_into_what_follows_it() {
        let mut map = ChunkMap::new(4);
        let mut a = map.take(1).unwrap();
        assert!(map.take_after(&a, 4).is_none());
        let more = map.take_after(&a, 2).unwrap();
        a.append(more);
        assert_eq!((a.start(), a.len()), (0, 3));
        let b = map.take(1).unwrap();
        assert!(map.take_after(&a, 1).is_none());
        assert!(map.take_after(&b, 1).is_none());
        map.give_back(a);
        map.give_back(b);
        assert_eq!(map.largest(), 4);
    }

    /// Random traffic against a plain array of who owns what.
    #[test]
    fn random_traffic_neither_loses_nor_shares_a_chunk() {
        const CHUNKS: usize = 61;
        let mut map = ChunkMap::new(CHUNKS);
        let mut owned = [false; CHUNKS];
        let mut held: Vec<Run> = Vec::new();
        let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = |below: usize| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            usize::try_from(seed % below as u64).unwrap()
        };
        for _ in 0..20_000 {
            let wanted = 1 + random(5);
            let taken = match random(3) {
                0 => map.take(wanted),
                1 if !held.is_empty() => map.take_after(&held[random(held.len())], wanted),
                _ => None,
            };
            if let Some(run) = taken {
                for slot in &mut owned[run.start()..run.end()] {
                    assert!(!*slot, "a chunk was handed out twice");
                    *slot = true;
                }
                held.push(run);
            } else if !held.is_empty() {
                let run = held.swap_remove(random(held.len()));
                owned[run.start()..run.end()].fill(false);
                map.give_back(run);
            }
            assert_eq!(map.total(), owned.iter().filter(|&&used| !used).count());
        }
        held.into_iter().for_each(|run| map.give_back(run));
        assert_eq!(map.free, BTreeMap::from([(0, CHUNKS)]));
    }
}
