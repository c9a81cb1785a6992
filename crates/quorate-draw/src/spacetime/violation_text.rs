//! Text of violations, in the heading and beside the place where they are drawn.

use std::fmt::Display;

use quorate_core::Time;

use super::DiagramView;
use super::plot::Plot;
use super::timeline::{Timeline, ViolationMark};
use crate::text::{lines, shortened};
use crate::vocabulary::{Phrase, Vocabulary};

/// Line height of the heading.
pub(super) const LINE: f64 = 19.0;
/// Maximum number of violations listed in the heading.
pub(super) const LISTED_MOST: usize = 4;
/// Maximum number of lines per violation.
const HEADING_LINES_MOST: usize = 3;

/// Violations, wrapped to the width of the picture.
pub(super) fn violation_headings(
    timeline: &Timeline,
    view: &DiagramView,
    plot: &Plot,
) -> impl Iterator<Item = Vec<String>> {
    let most = (plot.width / 7.0) as usize;
    timeline.violations.iter().take(LISTED_MOST).map(move |violation| {
        let text =
            shortened(&violation_text(violation, &view.vocabulary), most * HEADING_LINES_MOST);
        let mut lines = lines(&text, most);
        lines.truncate(HEADING_LINES_MOST);
        lines
    })
}

pub(super) fn violation_text(violation: &ViolationMark, vocabulary: &Vocabulary) -> String {
    let values: [(&str, &dyn Display); 3] = [
        ("property", &violation.property),
        ("time", &Time(violation.time)),
        ("detail", &violation.detail),
    ];
    vocabulary.format(Phrase::Violated, &values)
}
