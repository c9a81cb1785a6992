//! The grid: a whole row and a whole column.
//!
//! Source: Maekawa, "A sqrt(N) Algorithm for Mutual Exclusion in Decentralized Systems", ACM TOCS 3(2), 1985. Processes
//! are arranged in rows of ceil(sqrt n); the last row may be short. Any two quorums (row r1, column c1) and (row r2,
//! column c2) intersect. Row r1 crosses column c2, unless r1 is the last row and c2 does not reach it. Then either r2
//! is the last row too, and the quorums share it, or r2 is a full row and crosses c1.

use alloc::vec::Vec;

use super::{Coterie, Monotone, PerView, QuorumSystem, next_live};
use crate::{ProcessId, ProcessSet};

/// Number of columns and rows for n processes, in both grids. A row without any process does not exist.
pub const fn columns_and_rows(n: usize) -> (usize, usize) {
    let floor = n.isqrt();
    let columns = if floor * floor == n { floor } else { floor + 1 };
    (columns, if columns == 0 { 0 } else { n.div_ceil(columns) })
}

/// The grid with substitution, as in the monograph: the row and the column of the process. The next live process,
/// cyclically, substitutes for a failed process and for a vacant position of the last row. Quorums of different
/// views need not intersect.
///
/// Two quorums of one view intersect: one contains the row of the first process and the other the column of the second,
/// and at the position where these cross both have the same process. The system is monotone: the process at a position
/// is the first live one of a sequence that begins there, so it does not change until it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Grid {
    n: usize,
}

impl Grid {
    /// Creates the grid over n processes.
    pub const fn new(n: usize) -> Self {
        Self { n }
    }

    /// The process at a position, or its substitute.
    fn member(&self, place: usize, failed: &ProcessSet) -> Option<ProcessId> {
        // A vacant position has no process. The search continues with the position after it, cyclically.
        let start = if place < self.n { place } else { (place + 1) % self.n };
        next_live(start, self.n, failed)
    }
}

impl QuorumSystem for Grid {
    fn name(&self) -> &'static str {
        "grid"
    }

    fn processes(&self) -> usize {
        self.n
    }

    fn quorum(&self, process: ProcessId, failed: &ProcessSet) -> Option<ProcessSet> {
        if failed.contains(process) {
            return None;
        }
        let (columns, rows) = columns_and_rows(self.n);
        let (row, column) = (process.index() / columns, process.index() % columns);
        let along = (0..columns).map(|column| row * columns + column);
        let down = (0..rows).map(|row| row * columns + column);
        along.chain(down).map(|place| self.member(place, failed)).collect()
    }
}

impl PerView for Grid {}
impl Monotone for Grid {}

/// The grid of the live processes, arranged anew after each failure: the row and the column of the process.
///
/// Two quorums of one view intersect, as in any grid. The system is not monotone: one failure moves processes to other
/// positions, and a quorum without any failed member gets new members. A mutex that relies on settled crashes refuses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RebuiltGrid {
    n: usize,
}

impl RebuiltGrid {
    /// Creates the grid over n processes.
    pub const fn new(n: usize) -> Self {
        Self { n }
    }
}

impl QuorumSystem for RebuiltGrid {
    fn name(&self) -> &'static str {
        "grid-rebuilt"
    }

    fn processes(&self) -> usize {
        self.n
    }

    fn quorum(&self, process: ProcessId, failed: &ProcessSet) -> Option<ProcessSet> {
        let live = ProcessId::all(self.n).filter(|member| !failed.contains(*member));
        let live: Vec<ProcessId> = live.collect();
        let place = live.binary_search(&process).ok()?;
        let grid = FixedGrid::new(live.len());
        let members = &grid.row(place / grid.columns) | &grid.column(place % grid.columns);
        Some(members.iter().map(|member| live[member.index()]).collect())
    }
}

impl PerView for RebuiltGrid {}

/// The grid without substitution. If a member has failed, the process uses another row or column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FixedGrid {
    n: usize,
    columns: usize,
}

impl FixedGrid {
    /// Creates the grid over n processes.
    pub const fn new(n: usize) -> Self {
        Self { n, columns: columns_and_rows(n).0 }
    }

    const fn rows(&self) -> usize {
        columns_and_rows(self.n).1
    }

    /// The processes of a row. Only the last row may be short.
    fn row(&self, row: usize) -> ProcessSet {
        let start = row * self.columns;
        (start..self.n.min(start + self.columns)).map(ProcessId::from_index).collect()
    }

    fn column(&self, column: usize) -> ProcessSet {
        (column..self.n).step_by(self.columns.max(1)).map(ProcessId::from_index).collect()
    }
}

impl QuorumSystem for FixedGrid {
    fn name(&self) -> &'static str {
        "grid-fixed"
    }

    fn processes(&self) -> usize {
        self.n
    }

    /// The row and the column of the process, or the next ones without a failed member.
    fn quorum(&self, process: ProcessId, failed: &ProcessSet) -> Option<ProcessSet> {
        let (row, column) = (process.index() / self.columns, process.index() % self.columns);
        let whole = |set: &ProcessSet| set.is_disjoint(failed);
        let row = (0..self.rows()).map(|step| self.row((row + step) % self.rows())).find(whole)?;
        let column = (0..self.columns)
            .map(|step| self.column((column + step) % self.columns))
            .find(whole)?;
        Some(&row | &column)
    }
}

impl Coterie for FixedGrid {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quorum::tests::set;

    #[test]
    fn the_next_live_process_stands_in() {
        let grid = Grid::new(8);
        let quorum = |process, failed: &[u32]| grid.quorum(ProcessId::new(process), &set(failed));
        assert_eq!(quorum(7, &[]), Some(set(&[1, 4, 6, 7])));
        assert_eq!(quorum(2, &[]), Some(set(&[0, 1, 2, 5])));
        assert_eq!(quorum(2, &[1]), Some(set(&[0, 2, 5])));
        assert_eq!(quorum(2, &[0, 1, 3, 4, 5, 6, 7]), Some(set(&[2])));
    }

    #[test]
    fn sizes_are_those_of_the_monograph() {
        let size =
            |n| Grid::new(n).quorum(ProcessId::new(0), &ProcessSet::new()).map(|q| 3 * q.len());
        let found = [8, 16, 32, 64, 128, 256, 512].map(|n| size(n).unwrap_or(0));
        assert_eq!(found, [15, 21, 33, 45, 66, 93, 135]);
    }

    #[test]
    fn any_row_with_any_column_meets_any_other() {
        for n in 1..=40 {
            let grid = FixedGrid::new(n);
            let pairs = || {
                (0..grid.rows()).flat_map(|row| (0..grid.columns).map(move |column| (row, column)))
            };
            for (row, column) in pairs() {
                let one = &grid.row(row) | &grid.column(column);
                for (row, column) in pairs() {
                    let other = &grid.row(row) | &grid.column(column);
                    assert!(!one.is_disjoint(&other), "n = {n}");
                }
            }
        }
    }
}
