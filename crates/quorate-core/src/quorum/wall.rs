//! Crumbling walls: a whole row, and one process of each row below it.
//!
//! Source: Peleg and Wool, "Crumbling walls: a class of practical and efficient quorum systems", Distributed Computing
//! 10(2), 1997; here the triangle (Lovász), with the substitution of the monograph's grid: the next live process,
//! cyclically, substitutes for a failed one. Row r of d rows has r positions, and the lowest rows have one more if n is not
//! a triangular number. A quorum without failures has about sqrt(2n) members, where one of the grid has 2 sqrt(n).
//!
//! Two quorums of one view intersect: if both are of one row, they share it. Otherwise the upper one has a position in the
//! row of the lower one, and at this position both have the same process. The system is monotone: the process at a
//! position is the first live one of a sequence that begins there, so it does not change until it fails.

use super::{Monotone, PerView, QuorumSystem, next_live};
use crate::{ProcessId, ProcessSet};

/// The wall over n processes, with substitution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Wall {
    n: usize,
}

impl Wall {
    /// Creates the wall over n processes.
    pub const fn new(n: usize) -> Self {
        Self { n }
    }

    /// The rows from top to bottom: the first position of each, and its width.
    pub fn rows(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let rows = ((8 * self.n + 1).isqrt() - 1) / 2;
        let surplus = self.n - rows * (rows + 1) / 2;
        let first_wide = rows - surplus;
        (0..rows).map(move |row| {
            let start = row * (row + 1) / 2 + row.saturating_sub(first_wide);
            (start, row + 1 + usize::from(row >= first_wide))
        })
    }
}

impl QuorumSystem for Wall {
    fn name(&self) -> &'static str {
        "wall"
    }

    fn processes(&self) -> usize {
        self.n
    }

    /// The row of the process, and in each row below it the position in the same column.
    fn quorum(&self, process: ProcessId, failed: &ProcessSet) -> Option<ProcessSet> {
        if failed.contains(process) {
            return None;
        }
        let place = process.index();
        let mut rows = self.rows().skip_while(|(start, width)| place >= start + width);
        let (start, width) = rows.next()?;
        let below = rows.map(|(below, _)| below + place - start);
        let positions = (start..start + width).chain(below);
        positions.map(|position| next_live(position, self.n, failed)).collect()
    }
}

impl PerView for Wall {}
impl Monotone for Wall {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quorum::tests::set;
    use std::vec::Vec;

    #[test]
    fn rows_are_one_wider_than_the_one_above_and_hold_everyone() {
        assert_eq!(Wall::new(10).rows().collect::<Vec<_>>(), [(0, 1), (1, 2), (3, 3), (6, 4)]);
        assert_eq!(Wall::new(12).rows().collect::<Vec<_>>(), [(0, 1), (1, 2), (3, 4), (7, 5)]);
        for n in 1..200 {
            let end = Wall::new(n).rows().try_fold(0, |end, (start, width)| {
                (start == end && width > 0).then_some(start + width)
            });
            assert_eq!(end, Some(n));
        }
    }

    #[test]
    fn a_quorum_is_a_row_and_one_of_each_row_below() {
        let wall = Wall::new(10);
        let quorum = |process, failed: &[u32]| wall.quorum(ProcessId::new(process), &set(failed));
        assert_eq!(quorum(0, &[]), Some(set(&[0, 1, 3, 6])));
        assert_eq!(quorum(2, &[]), Some(set(&[1, 2, 4, 7])));
        assert_eq!(quorum(9, &[]), Some(set(&[6, 7, 8, 9])));
        assert_eq!(quorum(2, &[4]), Some(set(&[1, 2, 5, 7])));
        assert_eq!(quorum(9, &[6, 7, 8]), Some(set(&[9])));
        assert_eq!(quorum(4, &[4]), None);
    }

    #[test]
    fn quorums_are_smaller_than_those_of_the_grid() {
        let size = |n| {
            let quorums = ProcessId::all(n).map(|p| Wall::new(n).quorum(p, &ProcessSet::new()));
            quorums.map(|quorum| quorum.map_or(0, |quorum| quorum.len())).max()
        };
        assert_eq!(
            [8, 16, 32, 64, 128, 256, 512].map(|n| size(n).unwrap_or(0)),
            [4, 6, 8, 11, 16, 23, 32]
        );
    }
}
