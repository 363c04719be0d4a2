//! Field number to position.

/// A table from field numbers to positions: an array where numbers are dense, else a sorted list.
#[derive(Clone, Debug, Default)]
pub struct NumberTable {
    /// Position plus one by number, 0 for none.
    dense: Box<[u16]>,
    /// What the array does not cover, ascending.
    sparse: Box<[(u32, u32)]>,
}

impl NumberTable {
    /// A table that maps the n-th number to n. Numbers ascend.
    pub fn new(numbers: impl Iterator<Item = u32>) -> NumberTable {
        let all: Vec<(u32, u32)> = numbers.zip(0..).collect();
        // The longest prefix that fills at least a quarter of its array.
        let fits = |&(number, at): &(u32, u32)| number < (at + 1) * 4 + 16 && at < u32::from(u16::MAX);
        let covered = all.iter().rposition(fits).map_or(0, |at| at + 1);
        let (dense_part, sparse) = all.split_at(covered);
        let mut dense = vec![0u16; dense_part.last().map_or(0, |&(number, _)| number as usize + 1)];
        for &(number, at) in dense_part {
            dense[number as usize] = at as u16 + 1;
        }
        NumberTable { dense: dense.into(), sparse: sparse.into() }
    }

    /// The position of `number`.
    #[inline]
    pub fn get(&self, number: u32) -> Option<u32> {
        match self.dense.get(number as usize) {
            Some(0) => None,
            Some(&at) => Some(u32::from(at) - 1),
            None if self.sparse.is_empty() => None,
            None => self.search(number),
        }
    }

    #[cold]
    fn search(&self, number: u32) -> Option<u32> {
        self.sparse.binary_search_by_key(&number, |entry| entry.0).ok().map(|at| self.sparse[at].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_found_and_no_other() {
        for numbers in [
            vec![],
            vec![1, 2, 3],
            vec![1, 2, 100, 101, 5000, (1 << 29) - 1],
            vec![536_870_911],
            (1..70_000).collect(),
            (1..70_000).map(|n| n * 7).collect(),
        ] {
            let table = NumberTable::new(numbers.iter().copied());
            for (at, &number) in numbers.iter().enumerate() {
                assert_eq!(table.get(number), Some(at as u32));
                if numbers.binary_search(&(number + 1)).is_err() {
                    assert_eq!(table.get(number + 1), None);
                }
            }
            assert_eq!(table.get(0), None);
            assert!(table.dense.len() <= numbers.len() * 4 + 17);
        }
    }
}
