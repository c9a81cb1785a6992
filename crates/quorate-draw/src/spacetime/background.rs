//! Background of a picture: partitions, times, rounds and the lanes of processes.

use std::collections::BTreeSet;
use std::fmt::Display;

use quorate_core::Time;

use super::captions::group_names;
use super::labels::Rect;
use super::picture::{LABEL, Picture};
use crate::svg::Anchor;
use crate::text::{shortened, width};
use crate::vocabulary::Phrase;

/// Distance by which the background of steps at one time is wider than these steps.
const INSTANT_MARGIN: f64 = 4.0;

impl<'s> Picture<'s> {
    pub(super) fn draw_partitions(&mut self) {
        let (top, high) = (self.plot.top, self.plot.bottom() - self.plot.top);
        for partition in &self.timeline.partitions {
            let to = partition.to.unwrap_or(self.plot.to);
            if !self.plot.overlaps(partition.from, to) {
                continue;
            }
            self.legend_items.partitions = true;
            let left = self.plot.x_of_time(partition.from).max(self.plot.left);
            let right = if partition.to.is_some() {
                self.plot.x_of_time(to).min(self.plot.right)
            } else {
                self.plot.right
            };
            self.svg.open(format_args!("class=\"partition\""));
            let (letters, all) = group_names(&partition.groups, &self.plot.shown);
            let vocabulary = &self.view.vocabulary;
            let until = partition
                .to
                .map_or(vocabulary.text(Phrase::TheEnd).to_owned(), |to| Time(to).to_string());
            let values: [(&str, &dyn Display); 3] =
                [("from", &Time(partition.from)), ("until", &until), ("groups", &all)];
            self.svg.title(&vocabulary.format(Phrase::PartitionTitle, &values));
            self.svg.rect("band", (left, top), (right - left, high));
            for (time, x) in [(Some(partition.from), left), (partition.to, right)] {
                if time.is_some_and(|time| self.plot.is_shown(time)) {
                    self.svg.line("edge", (x, top), (x, top + high));
                }
            }
            self.svg.close();
            let text = self.view.vocabulary.format(Phrase::PartitionShort, &[("groups", &all)]);
            let most = ((right - left).max(150.0) / 6.6) as usize;
            self.svg.text("small", (left + 3.0, top - 6.0), Anchor::Start, &shortened(&text, most));
            for (process, group_letter) in letters {
                if let Some(y) = self.plot.y(process) {
                    let position = (left + 10.0, y - self.plot.bar() / 2.0 - 6.0);
                    self.occupied.occupy(Rect::of_text(&group_letter, position, LABEL));
                    let position = (position.0, position.1 + 4.0);
                    self.labels.push((
                        "small label".to_owned(),
                        position,
                        Anchor::Middle,
                        group_letter,
                    ));
                }
            }
        }
    }

    pub(super) fn draw_times(&mut self) {
        let (top, bottom) = (self.plot.top, self.plot.bottom());
        let strip = if self.plot.has_strip(self.timeline) { 18.0 } else { 0.0 };
        self.svg.open(format_args!("class=\"times\" aria-hidden=\"true\""));
        let instants: Vec<(u64, f64, f64)> = self.plot.instants().collect();
        for (_, left, right) in instants {
            let (left, right) = (left - INSTANT_MARGIN, right + INSTANT_MARGIN);
            self.svg.rect("instant", (left, top), (right - left, bottom - top));
        }
        for (time, label) in self.plot.ticks() {
            let x = self.plot.x_of_time(time);
            self.svg.line("grid", (x, top), (x, bottom));
            self.svg.text("tick small", (x, top - 6.0 - strip), Anchor::Middle, &label);
        }
        let mut free_from = f64::NEG_INFINITY;
        for &(time, round) in self.timeline.rounds.keys() {
            if !self.plot.is_shown(time) {
                continue;
            }
            let x = self.plot.x_of_time(time);
            let text = self.view.vocabulary.format(Phrase::RoundEnds, &[("round", &round)]);
            let half = width(&text, LABEL) / 2.0;
            let middle = x.min(self.plot.width - half - 4.0);
            if middle - half > free_from && !self.legend_items.partitions {
                self.svg.line("round", (x, top), (x, bottom));
                self.svg.text("tick small", (middle, top - 6.0), Anchor::Middle, &text);
                free_from = middle + half + 6.0;
            }
        }
        self.svg.close();
    }

    pub(super) fn draw_lanes(&mut self) {
        let in_violation: BTreeSet<u32> = self
            .timeline
            .violations
            .iter()
            .flat_map(|violation| &violation.events)
            .map(|event| event.process)
            .collect();
        for (row, process) in self.plot.shown.clone().into_iter().enumerate() {
            let Some(y) = self.plot.y(process) else { continue };
            let is_in_violation = in_violation.contains(&process);
            let half = self.plot.bar() / 2.0;
            self.occupied.occupy(Rect(self.plot.left, y - half, self.plot.right, y + half));
            self.svg.open(format_args!("class=\"process\" data-process=\"{process}\""));
            self.svg.line("lane", (self.plot.left, y), (self.plot.right, y));
            let name = (self.plot.left - 8.0, y + 4.5);
            match is_in_violation {
                _ if !self.plot.is_named(row) => {}
                true => self.svg.text("name wrong", name, Anchor::End, &format!("! p{process}")),
                false => self.svg.text("name", name, Anchor::End, &format!("p{process}")),
            }
            self.svg.close();
        }
    }
}
