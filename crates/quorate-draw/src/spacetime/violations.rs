//! Marks of violations: the time, and the events that led there.

use std::fmt::Display;

use quorate_core::Time;

use super::picture::{LABEL, Picture};
use super::violation_text::violation_text;
use crate::svg::Anchor;
use crate::text::{shortened, width};
use crate::vocabulary::Phrase;

impl<'s> Picture<'s> {
    pub(super) fn draw_violations(&mut self) {
        let (top, bottom) = (self.plot.top, self.plot.bottom());
        for violation in &self.timeline.violations {
            if self.plot.is_shown(violation.time) {
                self.legend_items.violations = true;
                let x = self.plot.x_after(violation.time);
                self.svg.open(format_args!("class=\"violation\""));
                self.svg.title(&violation_text(violation, &self.view.vocabulary));
                self.svg.line("moment", (x, top), (x, bottom + 4.0));
                let half = width(&violation.property, LABEL) / 2.0 + 2.0;
                let x = x.clamp(self.plot.left + half, self.plot.right - half);
                let property = shortened(&violation.property, 24);
                self.svg.text("small wrong", (x, bottom + 15.0), Anchor::Middle, &property);
                self.svg.close();
            }
            for event in violation.events.iter().filter(|event| self.plot.is_shown(event.time)) {
                let Some(y) = self.plot.y(event.process) else { continue };
                self.legend_items.violations = true;
                let (process, number) = (event.process, event.event);
                self.svg.open(format_args!("data-process=\"{process}\" data-event=\"{number}\""));
                let values: [(&str, &dyn Display); 3] = [
                    ("who", &format_args!("p{process}")),
                    ("what", &event.description),
                    ("time", &Time(event.time)),
                ];
                let title = self.view.vocabulary.format(Phrase::MarkerTitle, &values);
                self.svg.title(&shortened(&title, 200));
                self.svg.circle(
                    "ring",
                    (self.plot.x(event.into()), y),
                    self.plot.marker_size() + 4.0,
                );
                self.svg.close();
            }
        }
    }
}
