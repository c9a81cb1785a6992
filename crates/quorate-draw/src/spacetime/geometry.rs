//! Positions in a picture, for pages that draw over it or handle clicks.

use serde::Serialize;

use super::plot::Plot;

/// Plot area of a picture, in pixels from its upper left corner and in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Geometry {
    /// First time shown, in nanoseconds.
    pub from: u64,
    /// Last time shown, in nanoseconds.
    pub to: u64,
    /// Column of `from`, in pixels.
    pub left: f64,
    /// Column of `to`. Time is linear between `left` and `right`.
    pub right: f64,
    /// Upper edge of the first lane.
    pub top: f64,
    /// Lower edge of the last lane.
    pub bottom: f64,
    /// Lanes from top to bottom.
    pub lanes: Vec<Lane>,
}

/// Horizontal line of one process.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Lane {
    /// Process that the lane belongs to.
    pub process: u32,
    /// Vertical centre of the lane.
    pub y: f64,
}

impl From<&Plot> for Geometry {
    fn from(plot: &Plot) -> Self {
        let lane = |(row, process): (usize, &u32)| Lane { process: *process, y: plot.row(row) };
        Self {
            from: plot.from,
            to: plot.to,
            left: plot.x(plot.from),
            right: plot.x(plot.to),
            top: plot.top,
            bottom: plot.bottom(),
            lanes: plot.shown.iter().enumerate().map(lane).collect(),
        }
    }
}
