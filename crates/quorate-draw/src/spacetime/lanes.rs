//! Activities, markers and fault flags on the lanes of processes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use quorate_core::Time;

use super::labels::Rect;
use super::lane_items::{Activity, ActivityKind, EventMarker, MarkerKind};
use super::legend;
use super::picture::{FAULTS_MOST, LABEL, Picture};
use crate::svg::Anchor;
use crate::text::{shortened, width};
use crate::vocabulary::Phrase;

impl<'s> Picture<'s> {
    pub(super) fn draw_activities(&mut self) {
        for process in self.plot.shown.clone() {
            let Some(y) = self.plot.y(process) else { continue };
            let mut last: Option<(ActivityKind, f64)> = None;
            for activity in &self.timeline.activities[process as usize] {
                if !activity.overlaps(self.plot.from, self.plot.to) {
                    continue;
                }
                let left = self.plot.x(activity.from).max(self.plot.left);
                let right = match activity.to {
                    Some(to) => self.plot.x(to).min(self.plot.right),
                    None => self.plot.right,
                };
                // A bar narrower than a pixel adds nothing to an adjacent bar of the same kind.
                if right - left < 1.0
                    && last.is_some_and(|(kind, x)| kind == activity.kind && x + 1.0 > left)
                {
                    continue;
                }
                self.draw_activity(process, activity, (left, right.max(left + 1.0)), y);
                last = Some((activity.kind, right));
            }
        }
    }

    pub(super) fn draw_activity(
        &mut self,
        process: u32,
        activity: &Activity,
        (left, right): (f64, f64),
        y: f64,
    ) {
        self.legend_items.activities.insert(activity.kind);
        let vocabulary = &self.view.vocabulary;
        let until = activity
            .to
            .map_or(vocabulary.text(Phrase::TheEnd).to_owned(), |to| Time(to.time).to_string());
        let values: [(&str, &dyn Display); 4] = [
            ("who", &format_args!("p{process}")),
            ("what", &vocabulary.text(activity.kind.phrase())),
            ("from", &Time(activity.from.time)),
            ("until", &until),
        ];
        let title = vocabulary.format(Phrase::ActivityTitle, &values);
        let label = activity.kind.label().map_or("", |phrase| vocabulary.text(phrase));
        self.svg.open(format_args!(
            "data-process=\"{process}\" data-event=\"{}\"",
            activity.from.event
        ));
        self.svg.title(&title);
        if activity.kind == ActivityKind::Down {
            self.svg.rect("paper", (left, y - 1.5), (right - left, 3.0));
            self.svg.line("down", (left, y), (right, y));
        } else {
            let thick = activity.kind.thickness(self.plot.bar());
            let in_violation = self.is_in_violation(process, activity);
            let class = format!(
                "stay {}{}",
                activity.kind.class(),
                if in_violation { " guilty" } else { "" }
            );
            self.svg.rect(&class, (left, y - thick / 2.0), (right - left, thick));
            if thick >= 12.0 && right - left > width(label, 10.0) + 8.0 && !label.is_empty() {
                let class = "on-bar".to_owned();
                let position = ((left + right) / 2.0, y + 3.6);
                self.labels.push((class, position, Anchor::Middle, label.to_owned()));
            }
        }
        self.svg.close();
    }

    /// Whether a violation occurs during this stay in the critical section and an event of the process led to it.
    pub(super) fn is_in_violation(&self, process: u32, activity: &Activity) -> bool {
        activity.kind == ActivityKind::Inside
            && self.timeline.violations.iter().any(|violation| {
                activity.overlaps(violation.time, violation.time)
                    && violation.events.iter().any(|event| event.process == process)
            })
    }

    pub(super) fn draw_fault_flags(&mut self) {
        // Faults at the same position share one flag that lists all their numbers.
        let mut flags: BTreeMap<(u32, i64), Vec<usize>> = BTreeMap::new();
        for (index, fault) in self.timeline.other_faults.iter().enumerate() {
            if self.plot.is_shown(fault.time) {
                let column = (self.plot.x_of_time(fault.time) / 8.0).round() as i64;
                flags.entry((fault.process, column)).or_default().push(index);
            }
        }
        for ((process, _), indices) in flags {
            let Some(y) = self.plot.y(process) else { continue };
            self.legend_items.flags = true;
            let x = self.plot.x_of_time(self.timeline.other_faults[indices[0]].time);
            let listed = indices.iter().filter(|index| **index < FAULTS_MOST);
            let numbers: Vec<String> = listed.map(|index| (index + 1).to_string()).collect();
            let numbers = numbers.join(",");
            let describe = |index: &usize| {
                let fault = &self.timeline.other_faults[*index];
                format!("{}: {}", Time(fault.time), fault.description)
            };
            let descriptions: Vec<String> =
                indices.iter().take(FAULTS_MOST).map(describe).collect();
            self.svg.open(format_args!("data-process=\"{process}\""));
            self.svg.title(&shortened(&descriptions.join("; "), 400));
            legend::flag(&mut self.svg, (x, y - self.plot.bar() / 2.0), &numbers);
            self.svg.close();
            let top = y - self.plot.bar() / 2.0 - 14.0;
            self.occupied.occupy(Rect(x, top, x + 11.0 + width(&numbers, LABEL), top + 14.0));
        }
    }

    /// Places the labels of markers and returns the markers to draw. Equal markers at the same position are drawn once.
    pub(super) fn place_marker_labels(&mut self) -> Vec<&'s EventMarker> {
        let mut seen = BTreeSet::new();
        let mut drawn = Vec::new();
        for marker in &self.timeline.markers {
            let shown = self.plot.y(marker.at.process);
            let Some(y) = shown.filter(|_| self.plot.is_shown(marker.at.time)) else { continue };
            let x = self.plot.x(marker.at);
            if !seen.insert((
                marker.at.process,
                marker.kind,
                (x * 0.5).round() as i64,
                &marker.detail,
            )) {
                continue;
            }
            drawn.push((x, y, marker));
        }
        // The most important kinds come first, so only the least important ones are truncated.
        drawn.sort_by_key(|(.., marker)| marker.kind);
        drawn.truncate(self.view.max_arrows.saturating_mul(4));
        for (x, y, marker) in &drawn {
            self.legend_items.markers.insert(marker.kind);
            // Timers get no label: there are many, and few matter.
            let labelled = !marker.detail.is_empty() && marker.kind != MarkerKind::Timer;
            if self.view.labels && labelled && self.plot.lane >= 19.0 {
                self.place_marker_label((*x, *y), marker);
            }
        }
        // The most important markers are drawn last, in front of the others.
        drawn.into_iter().rev().map(|(.., marker)| marker).collect()
    }

    pub(super) fn place_marker_label(&mut self, (x, y): (f64, f64), marker: &EventMarker) {
        let text = shortened(&self.detail_text(marker), 18);
        let off = self.plot.bar().max(2.0 * self.plot.marker_size()) / 2.0 + 8.0;
        let half = width(&text, LABEL) / 2.0;
        let beside = half + self.plot.marker_size() + 2.0;
        let positions = [(x, y - off), (x, y + off), (x + beside, y - off), (x + beside, y + off)];
        let candidates = positions.map(|position| Rect::of_text(&text, position, LABEL));
        if let Some(found) = self.occupied.place(candidates.into_iter(), 1.0) {
            let position = ((found.0 + found.2) / 2.0, found.3 - 2.2);
            self.labels.push(("small label".to_owned(), position, Anchor::Middle, text));
        }
    }

    /// Detail of a marker in the language of the picture.
    fn detail_text(&self, marker: &EventMarker) -> String {
        match marker.kind {
            // The trace stores this detail as a fixed word that has to be translated.
            MarkerKind::Recovers if !marker.detail.is_empty() => {
                self.view.vocabulary.text(Phrase::NoMemory).to_owned()
            }
            _ => marker.detail.clone(),
        }
    }

    pub(super) fn draw_markers(&mut self, markers: &[&EventMarker]) {
        for marker in markers {
            let Some(y) = self.plot.y(marker.at.process) else { continue };
            let vocabulary = &self.view.vocabulary;
            let what =
                format!("{} {}", vocabulary.text(marker.kind.phrase()), self.detail_text(marker));
            let values: [(&str, &dyn Display); 3] = [
                ("who", &format_args!("p{}", marker.at.process)),
                ("what", &what.trim_end()),
                ("time", &Time(marker.at.time)),
            ];
            let title = vocabulary.format(Phrase::MarkerTitle, &values);
            self.svg.open(format_args!(
                "data-process=\"{}\" data-event=\"{}\"",
                marker.at.process, marker.at.event
            ));
            self.svg.title(&shortened(&title, 200));
            marker.kind.draw(&mut self.svg, (self.plot.x(marker.at), y), self.plot.marker_size());
            self.svg.close();
        }
    }
}
