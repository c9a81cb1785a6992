//! Space-time diagrams: a line for each process, time from left to right, messages as arrows between the lines.
//!
//! A [`Diagram`] is made once of a trace; [`Diagram::svg`] draws a window of it. Elements carry `data-process`,
//! `data-event` and `data-message`, so that a page can find what belongs together, and a `<title>` each, which is
//! what a mouse over them shows.

mod arrow;
mod background;
mod builder;
mod captions;
mod geometry;
mod labels;
mod lane_items;
mod lanes;
mod legend;
mod messages;
mod picture;
mod plot;
mod selection;
mod timeline;
mod violations;

use quorate_sim::trace::Record;

use crate::theme::Theme;
use crate::vocabulary::Vocabulary;
pub use builder::{DiagramBounds, DiagramBuilder};
pub use geometry::{Geometry, Lane};
use picture::Picture;
use timeline::Timeline;

/// A run, ready to be drawn.
#[derive(Clone, Debug)]
pub struct Diagram {
    title: String,
    timeline: Timeline,
    left_out: u64,
}

/// What to draw of a run, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiagramView {
    /// From this time on, in nanoseconds.
    pub from: u64,
    /// Until this time; to the end if none.
    pub to: Option<u64>,
    /// How wide the picture is, in pixels.
    pub width: u32,
    /// On which ground.
    pub theme: Theme,
    /// Whose lines are drawn, in this order; if nobody is named, everybody's, or of many those with most to tell.
    pub processes: Vec<u32>,
    /// The most arrows; of more an even choice is drawn, and a note says so.
    pub max_arrows: usize,
    /// Whether arrows and signs are labelled.
    pub labels: bool,
    /// Whether there are a heading, a legend and notes around the plot.
    pub legend: bool,
    /// In which language.
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
            legend: true,
            vocabulary: Vocabulary::default(),
        }
    }
}

impl Diagram {
    /// The run of so many processes that these records tell of. Violations are among them.
    pub fn new(processes: usize, records: &[Record]) -> Self {
        let mut builder = DiagramBuilder::new(processes, DiagramBounds::default());
        records.iter().for_each(|record| builder.observe(record));
        builder.build()
    }

    /// With a heading: the algorithm, or the file.
    #[must_use]
    pub fn titled(self, title: impl Into<String>) -> Self {
        Self { title: title.into(), ..self }
    }

    /// How many processes there are.
    pub fn processes(&self) -> usize {
        self.timeline.processes
    }

    /// About how many bytes it takes.
    pub fn bytes(&self) -> usize {
        self.timeline.bytes()
    }

    /// When the last thing happens, in nanoseconds.
    pub fn end(&self) -> u64 {
        self.timeline.end
    }

    /// When properties were broken, in nanoseconds.
    pub fn violations(&self) -> impl Iterator<Item = u64> + '_ {
        self.timeline.violations.iter().map(|violation| violation.time)
    }

    /// Where things are in such a picture.
    pub fn geometry(&self, view: &DiagramView) -> Geometry {
        Picture::new(&self.title, &self.timeline, self.left_out, view).plot().into()
    }

    /// A window of the run as an SVG file.
    pub fn svg(&self, view: &DiagramView) -> String {
        Picture::new(&self.title, &self.timeline, self.left_out, view).draw()
    }
}
