//! Space-time diagrams: a line for each process, time from left to right, messages as arrows between the lines.
//!
//! A [`Diagram`] is made once of a trace; [`Diagram::svg`] draws a window of it. Elements carry `data-process`,
//! `data-event` and `data-message`, so that a page can find what belongs together, and a `<title>` each, which is
//! what a mouse over them shows.

mod arrow;
mod blame;
mod draft;
mod geometry;
mod ground;
mod labels;
mod legend;
mod life;
mod picture;
mod plot;
mod sign;
mod story;
mod thin;
mod traffic;
mod words;

use quorate_sim::trace::Record;

use crate::look::Theme;
use crate::vocabulary::Vocabulary;
pub use draft::{Draft, DraftBounds};
pub use geometry::{Geometry, Lane};
use picture::Picture;
use story::Story;

/// A run, ready to be drawn.
#[derive(Clone, Debug)]
pub struct Diagram {
    title: String,
    story: Story,
    left_out: u64,
}

/// What to draw of a run, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
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
    pub most: usize,
    /// Whether arrows and signs are labelled.
    pub labels: bool,
    /// Whether there are a heading, a legend and notes around the plot.
    pub legend: bool,
    /// In which language.
    pub words: Vocabulary,
}

impl Default for View {
    fn default() -> Self {
        Self {
            from: 0,
            to: None,
            width: 1280,
            theme: Theme::Auto,
            processes: Vec::new(),
            most: 400,
            labels: true,
            legend: true,
            words: Vocabulary::default(),
        }
    }
}

impl Diagram {
    /// The run of so many processes that these records tell of. Violations are among them.
    pub fn new(processes: usize, records: &[Record]) -> Self {
        let mut draft = Draft::new(processes, DraftBounds::default());
        records.iter().for_each(|record| draft.hear(record));
        draft.diagram()
    }

    /// With a heading: the algorithm, or the file.
    #[must_use]
    pub fn titled(self, title: impl Into<String>) -> Self {
        Self { title: title.into(), ..self }
    }

    /// How many processes there are.
    pub fn processes(&self) -> usize {
        self.story.processes
    }

    /// About how many bytes it takes.
    pub fn bytes(&self) -> usize {
        self.story.bytes()
    }

    /// When the last thing happens, in nanoseconds.
    pub fn end(&self) -> u64 {
        self.story.end
    }

    /// When properties were broken, in nanoseconds.
    pub fn violations(&self) -> impl Iterator<Item = u64> + '_ {
        self.story.broken.iter().map(|broken| broken.time)
    }

    /// Where things are in such a picture.
    pub fn geometry(&self, view: &View) -> Geometry {
        Picture::new(&self.title, &self.story, self.left_out, view).plot().into()
    }

    /// A window of the run as an SVG file.
    pub fn svg(&self, view: &View) -> String {
        Picture::new(&self.title, &self.story, self.left_out, view).draw()
    }
}
