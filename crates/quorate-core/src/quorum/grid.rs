//! The grid: a whole row and a whole column.
//!
//! Source: Maekawa, "A sqrt(N) Algorithm for Mutual Exclusion in Decentralized Systems", ACM TOCS 3(2), 1985.
//! Processes stand in rows of ceil(sqrt n); the last row may be short. Any row with any column meets any
//! other row with any other column: if both columns are long enough, where one's row crosses the other's
//! column; and a column that does not reach the last row is crossed by every other row.

use super::{Coterie, QuorumSystem};
use crate::{ProcessId, ProcessSet};

/// The grid without substitution: a failed member makes a process take another row or column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FixedGrid {
    n: usize,
    columns: usize,
}

impl FixedGrid {
    /// Of n processes.
    pub const fn new(n: usize) -> Self {
        let floor = n.isqrt();
        let columns = if floor * floor == n { floor } else { floor + 1 };
        Self { n, columns }
    }

    fn rows(&self) -> usize {
        self.n.div_ceil(self.columns.max(1))
    }

    /// A row, of which only the last may be short.
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

    /// One's own row and column, or the next ones without a failed member.
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
