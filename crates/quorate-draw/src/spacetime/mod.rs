//! Space-time diagrams: a line for each process, time from left to right, messages as arrows between the lines.
//!
//! A [`Diagram`] is built once from a trace. [`Diagram::svg`] draws a window of it. Elements carry `data-process`,
//! `data-event` and `data-message`, so that a page can find related elements. Each element has a `<title>` as its
//! tooltip.

mod arrow;
mod background;
mod builder;
mod captions;
mod draw;
mod geometry;
mod labels;
mod lane_items;
mod lanes;
mod legend;
mod messages;
mod picture;
mod plot;
mod selection;
mod stamps;
mod timeline;
mod violation_text;
mod violations;

use quorate_sim::trace::Record;

use crate::theme::Theme;
use crate::vocabulary::Vocabulary;
pub use builder::{DiagramBounds, DiagramBuilder};
pub use geometry::{Geometry, Lane, StepColumn};
use picture::Picture;
use timeline::Timeline;

/// Space-time diagram of a run, ready to be drawn.
#[derive(Clone, Debug)]
pub struct Diagram {
    title: String,
    timeline: Timeline,
    left_out: u64,
}

/// Part of a run to draw, and drawing options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiagramView {
    /// Start of the window, in nanoseconds.
    pub from: u64,
    /// End of the window, in nanoseconds; `None` is the end of the run.
    pub to: Option<u64>,
    /// Width of the picture, in pixels.
    pub width: u32,
    /// Light, dark, or the reader's preference.
    pub theme: Theme,
    /// Processes to draw, in this order. If empty, all are drawn, or the most active ones if there are too many.
    pub processes: Vec<u32>,
    /// Maximum number of arrows. Of more, an even selection is drawn and a note reports it.
    pub max_arrows: usize,
    /// Whether arrows and markers have labels.
    pub labels: bool,
    /// Whether events have their Lamport and vector stamps beside them, where there is room.
    pub stamps: bool,
    /// Whether each step has a column of its own. Otherwise columns are proportional to time, so that steps at one time
    /// share a column.
    pub spread: bool,
    /// Height of all lanes together, in pixels; by default it depends on their number.
    pub lanes_height: Option<u32>,
    /// Whether a heading, a legend and notes surround the plot.
    pub legend: bool,
    /// Language of all texts.
    pub vocabulary: Vocabulary,
}

impl Default for DiagramView {
    fn default() -> Self {
        Self {
            from: 0,
            to: None,
            width: 1280,
            theme: Theme::Auto,
            processes: Vec::new(),
            max_arrows: 400,
            labels: true,
            stamps: false,
            spread: false,
            lanes_height: None,
            legend: true,
            vocabulary: Vocabulary::default(),
        }
    }
}

impl Diagram {
    /// Builds a diagram of a run of `processes` processes from its records, which include violations.
    pub fn new(processes: usize, records: &[Record]) -> Self {
        let mut builder = DiagramBuilder::new(processes, DiagramBounds::default());
        records.iter().for_each(|record| builder.observe(record));
        builder.build()
    }

    /// Sets the heading, such as the name of the algorithm or the file.
    #[must_use]
    pub fn titled(self, title: impl Into<String>) -> Self {
        Self { title: title.into(), ..self }
    }

    /// Number of processes in the run.
    pub fn processes(&self) -> usize {
        self.timeline.processes
    }

    /// Approximate memory use in bytes.
    pub fn bytes(&self) -> usize {
        self.timeline.bytes()
    }

    /// Time of the last record, in nanoseconds.
    pub fn end(&self) -> u64 {
        self.timeline.end
    }

    /// Times of violations, in nanoseconds.
    pub fn violations(&self) -> impl Iterator<Item = u64> + '_ {
        self.timeline.violations.iter().map(|violation| violation.time)
    }

    /// Positions of lanes and times in the picture that [`Diagram::svg`] draws for `view`.
    pub fn geometry(&self, view: &DiagramView) -> Geometry {
        Picture::new(&self.title, &self.timeline, self.left_out, view).plot().into()
    }

    /// Renders a window of the run as an SVG file.
    pub fn svg(&self, view: &DiagramView) -> String {
        Picture::new(&self.title, &self.timeline, self.left_out, view).draw()
    }
}
