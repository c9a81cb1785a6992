//! What processes do and what happens to them: bars and signs on their lines.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use quorate_core::Time;

use super::labels::Area;
use super::legend;
use super::picture::{FAULTS_MOST, LABEL, Picture};
use super::sign::{Sign, SignKind, Stay, StayKind};
use crate::svg::Anchor;
use crate::text::{shortened, width};
use crate::vocabulary::Phrase;

impl<'s> Picture<'s> {
    pub(super) fn stays(&mut self) {
        for process in self.plot.shown.clone() {
            let Some(y) = self.plot.y(process) else { continue };
            let mut last: Option<(StayKind, f64)> = None;
            for stay in &self.story.stays[process as usize] {
                let to = stay.to.unwrap_or(u64::MAX);
                if !self.plot.meets(stay.from, to) {
                    continue;
                }
                let left = self.plot.x(stay.from).max(self.plot.left);
                let right = match stay.to {
                    Some(to) => self.plot.x(to).min(self.plot.right),
                    None => self.plot.right,
                };
                // What is narrower than a pixel and like what is already there adds nothing.
                if right - left < 1.0
                    && last.is_some_and(|(kind, x)| kind == stay.kind && x + 1.0 > left)
                {
                    continue;
                }
                self.stay(process, stay, (left, right.max(left + 1.0)), y);
                last = Some((stay.kind, right));
            }
        }
    }

    pub(super) fn stay(&mut self, process: u32, stay: &Stay, (left, right): (f64, f64), y: f64) {
        self.used.stays.insert(stay.kind);
        let words = &self.view.words;
        let until = stay.to.map_or(words.say(Phrase::TheEnd).to_owned(), |to| Time(to).to_string());
        let told: [(&str, &dyn Display); 4] = [
            ("who", &format_args!("p{process}")),
            ("what", &words.say(stay.kind.words())),
            ("from", &Time(stay.from)),
            ("until", &until),
        ];
        let title = words.fill(Phrase::StayTitle, &told);
        let label = stay.kind.label().map_or("", |phrase| words.say(phrase));
        self.svg.open(format_args!("data-process=\"{process}\" data-event=\"{}\"", stay.event));
        self.svg.title(&title);
        if stay.kind == StayKind::Down {
            self.svg.rect("paper", (left, y - 1.5), (right - left, 3.0));
            self.svg.line("down", (left, y), (right, y));
        } else {
            let thick = stay.kind.thickness(self.plot.bar());
            let guilty = self.is_guilty(process, stay);
            let class =
                format!("stay {}{}", stay.kind.class(), if guilty { " guilty" } else { "" });
            self.svg.rect(&class, (left, y - thick / 2.0), (right - left, thick));
            if thick >= 12.0 && right - left > width(label, 10.0) + 8.0 && !label.is_empty() {
                let class = "on-bar".to_owned();
                let place = ((left + right) / 2.0, y + 3.6);
                self.labels.push((class, place, Anchor::Middle, label.to_owned()));
            }
        }
        self.svg.close();
    }

    /// Whether a violation falls into a stay of one who led to it.
    pub(super) fn is_guilty(&self, process: u32, stay: &Stay) -> bool {
        stay.kind == StayKind::Inside
            && self.story.broken.iter().any(|broken| {
                let during = stay.from <= broken.time && stay.to.is_none_or(|to| to >= broken.time);
                during && broken.events.iter().any(|event| event.process == process)
            })
    }

    pub(super) fn flags(&mut self) {
        // Of several at one place there is one flag, with all their numbers.
        let mut flags: BTreeMap<(u32, i64), Vec<usize>> = BTreeMap::new();
        for (place, trouble) in self.story.troubles.iter().enumerate() {
            if self.plot.is_shown(trouble.time) {
                let column = (self.plot.x(trouble.time) / 8.0).round() as i64;
                flags.entry((trouble.process, column)).or_default().push(place);
            }
        }
        for ((process, _), places) in flags {
            let Some(y) = self.plot.y(process) else { continue };
            self.used.flags = true;
            let x = self.plot.x(self.story.troubles[places[0]].time);
            let listed = places.iter().filter(|place| **place < FAULTS_MOST);
            let numbers: Vec<String> = listed.map(|place| (place + 1).to_string()).collect();
            let numbers = numbers.join(",");
            let told = |place: &usize| {
                let trouble = &self.story.troubles[*place];
                format!("{}: {}", Time(trouble.time), trouble.what)
            };
            let words: Vec<String> = places.iter().take(FAULTS_MOST).map(told).collect();
            self.svg.open(format_args!("data-process=\"{process}\""));
            self.svg.title(&shortened(&words.join("; "), 400));
            legend::flag(&mut self.svg, (x, y - self.plot.bar() / 2.0), &numbers);
            self.svg.close();
            let top = y - self.plot.bar() / 2.0 - 14.0;
            self.room.take(Area(x, top, x + 11.0 + width(&numbers, LABEL), top + 14.0));
        }
    }

    /// The signs that are drawn: of several at one place and of one kind, one.
    pub(super) fn sign_labels(&mut self) -> Vec<&'s Sign> {
        let mut seen = BTreeSet::new();
        let mut drawn = Vec::new();
        for sign in &self.story.signs {
            let Some(y) = self.plot.y(sign.process).filter(|_| self.plot.is_shown(sign.time))
            else {
                continue;
            };
            let x = self.plot.x(sign.time);
            if !seen.insert((sign.process, sign.kind, (x * 0.5).round() as i64, &sign.says)) {
                continue;
            }
            drawn.push((x, y, sign));
        }
        // The most telling come first, and of those that are left out nothing is lost but small print.
        drawn.sort_by_key(|(.., sign)| sign.kind);
        drawn.truncate(self.view.most.saturating_mul(4));
        for (x, y, sign) in &drawn {
            self.used.signs.insert(sign.kind);
            // Of a timer the mark is enough: there are many, and few matter.
            let told = !sign.says.is_empty() && sign.kind != SignKind::Timer;
            if self.view.labels && told && self.plot.lane >= 19.0 {
                self.sign_label((*x, *y), sign);
            }
        }
        // In the front what matters most.
        drawn.into_iter().rev().map(|(.., sign)| sign).collect()
    }

    pub(super) fn sign_label(&mut self, (x, y): (f64, f64), sign: &Sign) {
        let words = shortened(&self.says(sign), 18);
        let off = self.plot.bar().max(2.0 * self.plot.sign()) / 2.0 + 8.0;
        let half = width(&words, LABEL) / 2.0;
        let beside = half + self.plot.sign() + 2.0;
        let places = [(x, y - off), (x, y + off), (x + beside, y - off), (x + beside, y + off)];
        let areas = places.map(|place| Area::of_text(&words, place, LABEL));
        if let Some(area) = self.room.place(areas.into_iter(), 1.0) {
            let place = ((area.0 + area.2) / 2.0, area.3 - 2.2);
            self.labels.push(("small label".to_owned(), place, Anchor::Middle, words));
        }
    }

    /// More about it, as it is written.
    fn says(&self, sign: &Sign) -> String {
        match sign.kind {
            // The trace says it in one word, and not as text.
            SignKind::Returns if !sign.says.is_empty() => {
                self.view.words.say(Phrase::NoMemory).to_owned()
            }
            _ => sign.says.clone(),
        }
    }

    pub(super) fn signs(&mut self, signs: &[&Sign]) {
        for sign in signs {
            let Some(y) = self.plot.y(sign.process) else { continue };
            let words = &self.view.words;
            let what = format!("{} {}", words.say(sign.kind.words()), self.says(sign));
            let told: [(&str, &dyn Display); 3] = [
                ("who", &format_args!("p{}", sign.process)),
                ("what", &what.trim_end()),
                ("time", &Time(sign.time)),
            ];
            let words = words.fill(Phrase::SignTitle, &told);
            self.svg.open(format_args!(
                "data-process=\"{}\" data-event=\"{}\"",
                sign.process, sign.event
            ));
            self.svg.title(&shortened(&words, 200));
            sign.kind.draw(&mut self.svg, (self.plot.x(sign.time), y), self.plot.sign());
            self.svg.close();
        }
    }
}
