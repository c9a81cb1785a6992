//! Label placement without overlaps. A label that finds no room is left out.

use crate::text::width;

/// Rectangle as left, top, right, bottom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rect(pub(super) f64, pub(super) f64, pub(super) f64, pub(super) f64);

impl Rect {
    /// Returns the bounds of a text centred at a point.
    pub(super) fn of_text(text: &str, (x, y): (f64, f64), size: f64) -> Self {
        let half = width(text, size) / 2.0;
        Self(x - half, y - size * 0.55, x + half, y + size * 0.55)
    }

    fn overlaps(&self, other: &Self, gap: f64) -> bool {
        self.0 - gap < other.2
            && other.0 - gap < self.2
            && self.1 - gap / 2.0 < other.3
            && other.1 - gap / 2.0 < self.3
    }
}

/// Occupied areas, indexed by the cells of a coarse grid, so that thousands of areas stay fast.
#[derive(Debug, Default)]
pub(super) struct OccupiedAreas {
    cells: std::collections::BTreeMap<(i32, i32), Vec<Rect>>,
    bounds: Option<Rect>,
}

const CELL: f64 = 64.0;

impl OccupiedAreas {
    /// Accepts only areas within `bounds`.
    pub(super) fn within(bounds: Rect) -> Self {
        Self { bounds: Some(bounds), ..Self::default() }
    }

    /// Marks an area as occupied, even if it overlaps another.
    pub(super) fn occupy(&mut self, area: Rect) {
        for cell in cells(area) {
            self.cells.entry(cell).or_default().push(area);
        }
    }

    /// Occupies the first candidate that is free with this gap around it.
    pub(super) fn place(
        &mut self,
        candidates: impl Iterator<Item = Rect>,
        gap: f64,
    ) -> Option<Rect> {
        let free = |area: &Rect| {
            let inside = self.bounds.is_none_or(|bounds| {
                area.0 >= bounds.0 && area.1 >= bounds.1 && area.2 <= bounds.2 && area.3 <= bounds.3
            });
            let wider = Rect(area.0 - gap, area.1 - gap, area.2 + gap, area.3 + gap);
            inside
                && cells(wider).all(|cell| {
                    self.cells
                        .get(&cell)
                        .is_none_or(|taken| taken.iter().all(|other| !area.overlaps(other, gap)))
                })
        };
        let found = candidates.into_iter().find(free)?;
        self.occupy(found);
        Some(found)
    }
}

fn cells(area: Rect) -> impl Iterator<Item = (i32, i32)> {
    let cell = |coordinate: f64| (coordinate / CELL).floor() as i32;
    let (left, right) = (cell(area.0), cell(area.2));
    (cell(area.1)..=cell(area.3))
        .flat_map(move |row| (left..=right).map(move |column| (column, row)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_do_not_cover_each_other() {
        let mut occupied = OccupiedAreas::within(Rect(0.0, 0.0, 100.0, 100.0));
        let at = |x: f64| Rect(x, 10.0, x + 20.0, 20.0);
        assert_eq!(occupied.place([at(0.0)].into_iter(), 2.0), Some(at(0.0)));
        assert_eq!(occupied.place([at(5.0), at(30.0)].into_iter(), 2.0), Some(at(30.0)));
        assert_eq!(occupied.place([at(21.0), at(90.0)].into_iter(), 2.0), None);
    }
}
