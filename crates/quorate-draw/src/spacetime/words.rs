//! What a picture says in words: its heading, its notes, and its description.

use std::collections::BTreeMap;

use quorate_core::Time;

use super::legend;
use super::picture::{FAULTS_MOST, Picture, TOLD_MOST};
use super::sign::StayKind;
use super::story::Broken;
use super::thin::Thinned;
use crate::svg::{Anchor, Svg};
use crate::text::{count, counted, shortened};

impl<'s> Picture<'s> {
    /// The legend, the faults that have no sign of their own, and what was left out.
    pub(super) fn below(&mut self, thinned: &Thinned<'_>, top: f64) -> f64 {
        let mut y = legend::draw(&mut self.svg, &self.used, &self.story.kinds, &self.plot, top);
        let most = (self.plot.width / 6.6) as usize;
        let mut note = |svg: &mut Svg, class: &str, words: &str| {
            y += 17.0;
            svg.text(class, (16.0, y), Anchor::Start, &shortened(words, most));
        };
        if self.used.flags {
            for (place, trouble) in self.story.troubles.iter().take(FAULTS_MOST).enumerate() {
                let words = format!("{}. At {}: {}", place + 1, Time(trouble.time), trouble.what);
                note(&mut self.svg, "small", &words);
            }
            let more = self.story.troubles.len().saturating_sub(FAULTS_MOST);
            if more > 0 {
                note(
                    &mut self.svg,
                    "small",
                    &format!("and {}", counted(more, "more fault", "more faults")),
                );
            }
        }
        for words in self.notes(thinned) {
            note(&mut self.svg, "note small", &words);
        }
        y
    }

    /// What is not in the picture.
    pub(super) fn notes(&self, thinned: &Thinned<'_>) -> Vec<String> {
        let mut notes = Vec::new();
        let story = self.story;
        if self.plot.from > 0 || self.plot.to < story.end {
            let (from, to, end) = (Time(self.plot.from), Time(self.plot.to), Time(story.end));
            notes.push(format!("The window from {from} to {to} of a run that ends at {end}."));
        }
        if thinned.drawn.len() < thinned.all {
            notes.push(format!(
                "{} of {} messages are drawn: all that were lost or led to a violation as far as there is room, and an \
                 even choice of the others; a shorter window shows more.",
                count(thinned.drawn.len()),
                count(thinned.all)
            ));
        }
        if self.plot.shown.len() < story.processes {
            notes.push(format!(
                "{} of {} processes are drawn; {} to or from the others {} not.",
                count(self.plot.shown.len()),
                count(story.processes),
                counted(thinned.hidden, "message", "messages"),
                if thinned.hidden == 1 { "is" } else { "are" }
            ));
        }
        if thinned.to_self > 0 {
            let messages = counted(thinned.to_self, "message", "messages");
            notes.push(format!("{messages} to oneself, which take no time, are not drawn."));
        }
        if story.unsent > 0 {
            let messages = counted(story.unsent, "message", "messages");
            notes.push(format!(
                "{messages} arrived that the trace does not know to have been sent."
            ));
        }
        if self.left_out > 0 {
            let records = counted(self.left_out as usize, "later record", "later records");
            notes.push(format!("The run goes on: {records} of its trace are not in the picture."));
        }
        notes
    }

    /// The picture in words, for whoever cannot see it.
    pub(super) fn description(&self, thinned: &Thinned<'_>) -> String {
        let story = self.story;
        let mut words = vec![format!(
            "{} and {} from {} to {}, time from left to right.",
            counted(story.processes, "process", "processes"),
            counted(story.messages.len(), "message", "messages"),
            Time(self.plot.from),
            Time(self.plot.to)
        )];
        let mut signs: BTreeMap<&str, usize> = BTreeMap::new();
        for sign in &story.signs {
            *signs.entry(sign.kind.words()).or_default() += 1;
        }
        let entries =
            story.stays.iter().flatten().filter(|stay| stay.kind == StayKind::Inside).count();
        if entries > 0 {
            words.push(format!(
                "{} into the critical section.",
                counted(entries, "entry", "entries")
            ));
        }
        if !signs.is_empty() {
            let signs: Vec<String> =
                signs.iter().map(|(what, times)| format!("{what} ×{}", count(*times))).collect();
            words.push(format!("Processes: {}.", signs.join(", ")));
        }
        words.extend(story.bands.iter().take(TOLD_MOST).map(|band| {
            format!("At {} a partition into {}.", Time(band.from), groups(&band.groups, &[]).1)
        }));
        words.extend(story.broken.iter().map(|broken| format!("{}.", told(broken))));
        words.extend(self.notes(thinned));
        shortened(&words.join(" "), 2_000)
    }

    pub(super) fn heading(&mut self) {
        let mut y = 10.0;
        if !self.title.is_empty() {
            y += 18.0;
            let most = (self.plot.width / 9.5) as usize;
            self.svg.text("title", (16.0, y), Anchor::Start, &shortened(self.title, most));
            y += 8.0;
        }
        for broken in self.story.broken.iter().take(TOLD_MOST) {
            y += 14.0;
            let most = (self.plot.width / 7.0) as usize;
            let told = shortened(&told(broken), most);
            self.svg.text("wrong", (16.0, y), Anchor::Start, &told);
            y += 5.0;
        }
    }
}

pub(super) fn told(broken: &Broken) -> String {
    format!("{} violated at {}: {}", broken.property, Time(broken.time), broken.detail)
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
