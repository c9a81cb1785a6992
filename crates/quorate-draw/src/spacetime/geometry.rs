//! Positions in a picture, for pages that draw over it or handle clicks.

use serde::Serialize;

use super::plot::Plot;
use super::timeline::TracePoint;

/// Plot area of a picture, in pixels from its upper left corner and in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Geometry {
    /// First time shown, in nanoseconds.
    pub from: u64,
    /// Last time shown, in nanoseconds.
    pub to: u64,
    /// Column of `from`, in pixels.
    pub left: f64,
    /// Column of `to`. Time is linear between `left` and `right`, unless steps are spread.
    pub right: f64,
    /// Columns of the steps in the window, from left to right, if they are spread. Time is linear between two of them.
    pub steps: Vec<StepColumn>,
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

/// Column of one step of a spread picture.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StepColumn {
    /// Number of the event.
    pub event: u64,
    /// Process that takes the step.
    pub process: u32,
    /// Time of the event, in nanoseconds.
    pub time: u64,
    /// Column of the step, in pixels from the left edge.
    pub x: f64,
}

impl From<&Plot> for Geometry {
    fn from(plot: &Plot) -> Self {
        let lane = |(row, process): (usize, &u32)| Lane { process: *process, y: plot.row(row) };
        let column = |step: &TracePoint| {
            let TracePoint { event, process, time } = *step;
            StepColumn { event, process, time, x: plot.x(*step) }
        };
        Self {
            from: plot.from,
            to: plot.to,
            left: plot.x_of_time(plot.from),
            right: plot.x_after(plot.to),
            steps: plot.steps.iter().map(column).collect(),
            top: plot.top,
            bottom: plot.bottom(),
            lanes: plot.shown.iter().enumerate().map(lane).collect(),
        }
    }
}
