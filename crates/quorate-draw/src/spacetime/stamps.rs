//! Lamport and vector stamps beside the events of a picture.

use super::labels::Rect;
use super::picture::Picture;
use super::timeline::TracePoint;
use crate::svg::Anchor;

/// Maximum number of processes for which a vector is readable.
const PROCESSES_MOST: usize = 16;
/// Maximum number of events with stamps.
const EVENTS_MOST: usize = 5_000;
const SIZE: f64 = 10.0;

/// The stamps of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StampMark {
    pub(super) at: TracePoint,
    /// Lamport time and vector time.
    pub(super) text: String,
}

/// Whether the next event of a run of this size gets stamps.
pub(super) fn is_stamped(processes: usize, events: usize) -> bool {
    processes <= PROCESSES_MOST && events < EVENTS_MOST
}

impl Picture<'_> {
    /// Marks each event in the window with a dot, and places its stamps near it if there is room. The last of several
    /// events at one point knows most, so that its stamps come first; a tooltip has all of them.
    pub(super) fn draw_stamps(&mut self) {
        let mut at_one_point: Vec<(u32, f64, Vec<&str>)> = Vec::new();
        for mark in &self.timeline.stamps {
            if !self.plot.is_shown(mark.at.time) {
                continue;
            }
            let here = (mark.at.process, self.plot.x(mark.at));
            match at_one_point
                .iter_mut()
                .rev()
                .take(PROCESSES_MOST)
                .find(|(process, x, _)| (*process, *x) == here)
            {
                Some((.., texts)) => texts.push(&mark.text),
                None => at_one_point.push((here.0, here.1, vec![&mark.text])),
            }
        }
        for (process, x, texts) in at_one_point {
            let Some(y) = self.plot.y(process) else { continue };
            self.svg.open(format_args!("data-process=\"{process}\" class=\"stamp\""));
            self.svg.title(&texts.join(", "));
            self.svg.circle("solid", (x, y), 2.2);
            self.svg.close();
            let distance = self.plot.bar() / 2.0 + 7.0;
            for text in texts.into_iter().rev() {
                let half = crate::text::width(text, SIZE) / 2.0;
                let beside = x + half + 3.0;
                let places = [
                    (x, y + distance),
                    (x, y - distance),
                    (beside, y + distance),
                    (beside, y - distance),
                    (x - half - 3.0, y + distance),
                    (x, y + distance + 11.0),
                    (x, y - distance - 11.0),
                ];
                let areas = places.into_iter().map(|place| Rect::of_text(text, place, SIZE));
                if let Some(found) = self.occupied.place(areas, 1.0) {
                    let position = ((found.0 + found.2) / 2.0, found.3 - 2.0);
                    let class = "label stamp".to_owned();
                    self.labels.push((class, position, Anchor::Middle, text.to_owned()));
                }
            }
        }
    }
}
