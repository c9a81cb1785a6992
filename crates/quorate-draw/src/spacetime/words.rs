//! What a picture says in words: its heading, its notes, and its description.

use std::collections::BTreeMap;
use std::fmt::Display;

use quorate_core::Time;

use super::View;
use super::legend;
use super::picture::{FAULTS_MOST, LINE, Picture, TOLD_MOST};
use super::plot::Plot;
use super::sign::StayKind;
use super::story::{Broken, Story};
use super::thin::Thinned;
use crate::svg::{Anchor, Svg};
use crate::text::{lines, shortened};
use crate::vocabulary::{Phrase, Vocabulary};

/// A violation is told in no more lines than this.
const HEADING_LINES_MOST: usize = 3;

impl<'s> Picture<'s> {
    /// The legend, the faults that have no sign of their own, and what was left out.
    pub(super) fn below(&mut self, thinned: &Thinned<'_>, top: f64) -> f64 {
        let words = &self.view.words;
        let mut y =
            legend::draw(&mut self.svg, &self.used, &self.story.kinds, words, &self.plot, top);
        let most = (self.plot.width / 6.6) as usize;
        let mut note = |svg: &mut Svg, class: &str, words: &str| {
            for line in lines(words, most) {
                y += 17.0;
                svg.text(class, (16.0, y), Anchor::Start, &line);
            }
        };
        if self.used.flags {
            for (place, trouble) in self.story.troubles.iter().take(FAULTS_MOST).enumerate() {
                let told: [(&str, &dyn Display); 3] = [
                    ("number", &(place + 1)),
                    ("time", &Time(trouble.time)),
                    ("what", &shortened(&trouble.what, 400)),
                ];
                note(&mut self.svg, "small", &words.fill(Phrase::Fault, &told));
            }
            let more = self.story.troubles.len().saturating_sub(FAULTS_MOST);
            if more > 0 {
                note(&mut self.svg, "small", &words.fill_many(Phrase::MoreFaults, more, &[]));
            }
        }
        for words in notes(self, thinned) {
            note(&mut self.svg, "note small", &words);
        }
        y
    }

    /// The picture in words, for whoever cannot see it.
    pub(super) fn description(&self, thinned: &Thinned<'_>) -> String {
        let (story, words) = (self.story, &self.view.words);
        let whole: [(&str, &dyn Display); 4] = [
            ("processes", &words.fill_many(Phrase::Processes, story.processes, &[])),
            ("messages", &words.fill_many(Phrase::Messages, story.messages.len(), &[])),
            ("from", &Time(self.plot.from)),
            ("to", &Time(self.plot.to)),
        ];
        let mut told = vec![words.fill(Phrase::InWords, &whole)];
        let mut signs: BTreeMap<&str, usize> = BTreeMap::new();
        for sign in &story.signs {
            *signs.entry(words.say(sign.kind.words())).or_default() += 1;
        }
        let entries =
            story.stays.iter().flatten().filter(|stay| stay.kind == StayKind::Inside).count();
        if entries > 0 {
            told.push(words.fill_many(Phrase::Entries, entries, &[]));
        }
        if !signs.is_empty() {
            let counted =
                |(what, times): (&&str, &usize)| format!("{what} ×{}", words.count(*times));
            let signs: Vec<String> = signs.iter().map(counted).collect();
            told.push(words.fill(Phrase::Deeds, &[("what", &signs.join(", "))]));
        }
        told.extend(story.bands.iter().take(TOLD_MOST).map(|band| {
            let groups = groups(&band.groups, &[]).1;
            words.fill(Phrase::PartitionTold, &[("time", &Time(band.from)), ("groups", &groups)])
        }));
        told.extend(story.broken.iter().map(|broken| format!("{}.", self::told(broken, words))));
        told.extend(notes(self, thinned));
        shortened(&told.join(" "), 2_000)
    }

    pub(super) fn heading(&mut self) {
        let mut y = 10.0;
        if !self.title.is_empty() {
            y += 18.0;
            let most = (self.plot.width / 9.5) as usize;
            self.svg.text("title", (16.0, y), Anchor::Start, &shortened(self.title, most));
            y += 8.0;
        }
        for line in headings(self.story, self.view, &self.plot).flatten() {
            self.svg.text("wrong", (16.0, y + 14.0), Anchor::Start, &line);
            y += LINE;
        }
    }
}

/// What was broken, in lines that fit.
pub(super) fn headings(
    story: &Story,
    view: &View,
    plot: &Plot,
) -> impl Iterator<Item = Vec<String>> {
    let most = (plot.width / 7.0) as usize;
    story.broken.iter().take(TOLD_MOST).map(move |broken| {
        let told = shortened(&told(broken, &view.words), most * HEADING_LINES_MOST);
        let mut lines = lines(&told, most);
        lines.truncate(HEADING_LINES_MOST);
        lines
    })
}

/// What is not in the picture.
fn notes(picture: &Picture<'_>, thinned: &Thinned<'_>) -> Vec<String> {
    let (story, plot, words) = (picture.story, &picture.plot, &picture.view.words);
    let mut notes = Vec::new();
    if plot.from > 0 || plot.to < story.end {
        let told: [(&str, &dyn Display); 3] =
            [("from", &Time(plot.from)), ("to", &Time(plot.to)), ("end", &Time(story.end))];
        notes.push(words.fill(Phrase::Window, &told));
    }
    if thinned.drawn.len() < thinned.all {
        let (drawn, all) = (words.count(thinned.drawn.len()), words.count(thinned.all));
        notes.push(words.fill(Phrase::SomeMessages, &[("drawn", &drawn), ("all", &all)]));
    }
    if plot.shown.len() < story.processes {
        let (drawn, all) = (words.count(plot.shown.len()), words.count(story.processes));
        let told: [(&str, &dyn Display); 2] = [("drawn", &drawn), ("all", &all)];
        notes.push(words.fill_many(Phrase::SomeProcesses, thinned.hidden, &told));
    }
    let mut many = |phrase: Phrase, count: usize| {
        if count > 0 {
            notes.push(words.fill_many(phrase, count, &[]));
        }
    };
    many(Phrase::ToOneself, thinned.to_self);
    many(Phrase::Unsent, story.unsent);
    many(Phrase::LeftOut, picture.left_out as usize);
    notes
}

pub(super) fn told(broken: &Broken, words: &Vocabulary) -> String {
    let told: [(&str, &dyn Display); 3] =
        [("property", &broken.property), ("time", &Time(broken.time)), ("detail", &broken.detail)];
    words.fill(Phrase::Violated, &told)
}

/// The letter of the group of each process that is drawn, and all groups in words. Whoever is in none of them is with
/// the others left out.
pub(super) fn groups(groups: &[Vec<u32>], shown: &[u32]) -> (Vec<(u32, String)>, String) {
    let letter = |place: usize| char::from(b'A' + (place % 26) as u8).to_string();
    let group_of = |process: &u32| groups.iter().position(|group| group.contains(process));
    let letters =
        shown.iter().map(|process| (*process, letter(group_of(process).unwrap_or(groups.len()))));
    let words: Vec<String> = groups
        .iter()
        .enumerate()
        .map(|(place, group)| {
            let names: Vec<String> =
                group.iter().take(8).map(|process| format!("p{process}")).collect();
            let more = if group.len() > 8 { " .." } else { "" };
            format!("{} = {}{more}", letter(place), names.join(" "))
        })
        .collect();
    (letters.collect(), shortened(&words.join(", "), 200))
}
