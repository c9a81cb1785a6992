//! When a property is broken, and what led there.

use std::fmt::Display;

use quorate_core::Time;

use super::picture::{LABEL, Picture};
use super::words::told;
use crate::svg::Anchor;
use crate::text::{shortened, width};
use crate::vocabulary::Phrase;

impl<'s> Picture<'s> {
    pub(super) fn violations(&mut self) {
        let (top, bottom) = (self.plot.top, self.plot.bottom());
        for broken in &self.story.broken {
            if self.plot.is_shown(broken.time) {
                self.used.broken = true;
                let x = self.plot.x(broken.time);
                self.svg.open(format_args!("class=\"violation\""));
                self.svg.title(&told(broken, &self.view.words));
                self.svg.line("moment", (x, top), (x, bottom + 4.0));
                let half = width(&broken.property, LABEL) / 2.0 + 2.0;
                let x = x.clamp(self.plot.left + half, self.plot.right - half);
                let property = shortened(&broken.property, 24);
                self.svg.text("small wrong", (x, bottom + 15.0), Anchor::Middle, &property);
                self.svg.close();
            }
            for event in broken.events.iter().filter(|event| self.plot.is_shown(event.time)) {
                let Some(y) = self.plot.y(event.process) else { continue };
                self.used.broken = true;
                let (process, number) = (event.process, event.event);
                self.svg.open(format_args!("data-process=\"{process}\" data-event=\"{number}\""));
                let told: [(&str, &dyn Display); 3] = [
                    ("who", &format_args!("p{process}")),
                    ("what", &event.what),
                    ("time", &Time(event.time)),
                ];
                let words = self.view.words.fill(Phrase::SignTitle, &told);
                self.svg.title(&shortened(&words, 200));
                self.svg.circle("ring", (self.plot.x(event.time), y), self.plot.sign() + 4.0);
                self.svg.close();
            }
        }
    }
}
