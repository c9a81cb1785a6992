//! State of a picture while it is drawn, and the layout of its parts.

use std::collections::BTreeSet;

use super::DiagramView;
use super::labels::{OccupiedAreas, Rect};
use super::legend::LegendItems;
use super::plot::Plot;
use super::timeline::Timeline;
use super::violation_text::{LINE, violation_headings};
use crate::svg::{Anchor, Svg};

pub(super) const LABEL: f64 = 11.0;
pub(super) const FAULTS_MOST: usize = 8;

/// State of a picture while it is drawn.
pub(super) struct Picture<'s> {
    pub(super) title: &'s str,
    pub(super) timeline: &'s Timeline,
    pub(super) left_out: u64,
    pub(super) view: &'s DiagramView,
    pub(super) plot: Plot,
    pub(super) occupied: OccupiedAreas,
    pub(super) svg: Svg,
    pub(super) legend_items: LegendItems,
    /// Labels, drawn last above everything else: class, position, anchor and text.
    pub(super) labels: Vec<(String, (f64, f64), Anchor, String)>,
    /// Events that led to a violation.
    pub(super) violation_events: BTreeSet<u64>,
}

impl<'s> Picture<'s> {
    pub(super) fn new(
        title: &'s str,
        timeline: &'s Timeline,
        left_out: u64,
        view: &'s DiagramView,
    ) -> Self {
        let mut plot = Plot::new(timeline, view);
        let mut top = 10.0;
        if view.legend {
            top += if title.is_empty() { 0.0 } else { 26.0 };
            top += LINE
                * violation_headings(timeline, view, &plot).map(|lines| lines.len()).sum::<usize>()
                    as f64;
        }
        top += 20.0;
        if plot.has_strip(timeline) {
            top += 18.0;
        }
        plot.top = top;
        let bounds = Rect(plot.left, plot.top - 2.0, plot.right, plot.bottom() + 2.0);
        let violation_events = timeline.violations.iter().flat_map(|violation| &violation.events);
        Self {
            title,
            timeline,
            left_out,
            view,
            occupied: OccupiedAreas::within(bounds),
            svg: Svg::default(),
            legend_items: LegendItems::default(),
            labels: Vec::new(),
            violation_events: violation_events.map(|event| event.event).collect(),
            plot,
        }
    }

    pub(super) fn plot(&self) -> &Plot {
        &self.plot
    }
}
