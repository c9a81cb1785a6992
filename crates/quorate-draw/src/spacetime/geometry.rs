//! Where things are in a picture, for whoever draws into it or is clicked on it.

use serde::Serialize;

use super::plot::Plot;

/// The plot of a picture: pixels from its upper left corner, and nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Geometry {
    /// The first moment.
    pub from: u64,
    /// The last one.
    pub to: u64,
    /// The column of the first moment.
    pub left: f64,
    /// The column of the last one; between the two time is even.
    pub right: f64,
    /// The upper edge of the first line's place.
    pub top: f64,
    /// The lower edge of the last line's place.
    pub bottom: f64,
    /// The lines from top to bottom.
    pub lanes: Vec<Lane>,
}

/// The line of a process.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Lane {
    /// Whose it is.
    pub process: u32,
    /// How far down it is.
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
