//! The ground of a picture: partitions, times, rounds and the lines of processes.

use std::collections::BTreeSet;
use std::fmt::Display;

use quorate_core::Time;

use super::labels::Area;
use super::picture::{LABEL, Picture};
use super::plot::Plot;
use super::story::Story;
use super::words::groups;
use crate::svg::Anchor;
use crate::text::{shortened, width};
use crate::vocabulary::Phrase;

impl<'s> Picture<'s> {
    pub(super) fn bands(&mut self) {
        let (top, high) = (self.plot.top, self.plot.bottom() - self.plot.top);
        for band in &self.story.bands {
            let to = band.to.unwrap_or(self.plot.to);
            if !self.plot.meets(band.from, to) {
                continue;
            }
            self.used.bands = true;
            let left = self.plot.x(band.from).max(self.plot.left);
            let right = if band.to.is_some() {
                self.plot.x(to).min(self.plot.right)
            } else {
                self.plot.right
            };
            self.svg.open(format_args!("class=\"partition\""));
            let (groups, all) = groups(&band.groups, &self.plot.shown);
            let words = &self.view.words;
            let until =
                band.to.map_or(words.say(Phrase::TheEnd).to_owned(), |to| Time(to).to_string());
            let told: [(&str, &dyn Display); 3] =
                [("from", &Time(band.from)), ("until", &until), ("groups", &all)];
            self.svg.title(&words.fill(Phrase::PartitionTitle, &told));
            self.svg.rect("band", (left, top), (right - left, high));
            for (time, x) in [(Some(band.from), left), (band.to, right)] {
                if time.is_some_and(|time| self.plot.is_shown(time)) {
                    self.svg.line("edge", (x, top), (x, top + high));
                }
            }
            self.svg.close();
            let words = self.view.words.fill(Phrase::PartitionShort, &[("groups", &all)]);
            let most = ((right - left).max(150.0) / 6.6) as usize;
            self.svg.text(
                "small",
                (left + 3.0, top - 6.0),
                Anchor::Start,
                &shortened(&words, most),
            );
            for (process, letter) in groups {
                if let Some(y) = self.plot.y(process) {
                    let place = (left + 10.0, y - self.plot.bar() / 2.0 - 6.0);
                    self.room.take(Area::of_text(&letter, place, LABEL));
                    let place = (place.0, place.1 + 4.0);
                    self.labels.push(("small label".to_owned(), place, Anchor::Middle, letter));
                }
            }
        }
    }

    pub(super) fn times(&mut self) {
        let (top, bottom) = (self.plot.top, self.plot.bottom());
        let strip = if has_strip(self.story, &self.plot) { 18.0 } else { 0.0 };
        self.svg.open(format_args!("class=\"times\" aria-hidden=\"true\""));
        for (time, words) in self.plot.ticks() {
            let x = self.plot.x(time);
            self.svg.line("grid", (x, top), (x, bottom));
            self.svg.text("tick small", (x, top - 6.0 - strip), Anchor::Middle, &words);
        }
        let mut free_from = f64::NEG_INFINITY;
        for &(time, round) in self.story.rounds.keys() {
            if !self.plot.is_shown(time) {
                continue;
            }
            let x = self.plot.x(time);
            let words = self.view.words.fill(Phrase::RoundEnds, &[("round", &round)]);
            let half = width(&words, LABEL) / 2.0;
            let middle = x.min(self.plot.width - half - 4.0);
            if middle - half > free_from && !self.used.bands {
                self.svg.line("round", (x, top), (x, bottom));
                self.svg.text("tick small", (middle, top - 6.0), Anchor::Middle, &words);
                free_from = middle + half + 6.0;
            }
        }
        self.svg.close();
    }

    pub(super) fn lanes(&mut self) {
        let guilty: BTreeSet<u32> = self
            .story
            .broken
            .iter()
            .flat_map(|broken| &broken.events)
            .map(|event| event.process)
            .collect();
        for process in self.plot.shown.clone() {
            let Some(y) = self.plot.y(process) else { continue };
            let half = self.plot.bar() / 2.0;
            self.room.take(Area(self.plot.left, y - half, self.plot.right, y + half));
            self.svg.open(format_args!("class=\"process\" data-process=\"{process}\""));
            self.svg.line("lane", (self.plot.left, y), (self.plot.right, y));
            let name = (self.plot.left - 8.0, y + 4.5);
            match guilty.contains(&process) {
                true => self.svg.text("name wrong", name, Anchor::End, &format!("! p{process}")),
                false => self.svg.text("name", name, Anchor::End, &format!("p{process}")),
            }
            self.svg.close();
        }
    }
}

/// Whether there is something to be written between the times and the first line.
pub(super) fn has_strip(story: &Story, plot: &Plot) -> bool {
    story.bands.iter().any(|band| plot.meets(band.from, band.to.unwrap_or(u64::MAX)))
        || story.rounds.keys().any(|(time, _)| plot.is_shown(*time))
}
