//! Text of a picture: heading, notes and description.

use std::collections::BTreeMap;
use std::fmt::Display;

use quorate_core::Time;

use super::lane_items::ActivityKind;
use super::legend;
use super::picture::{FAULTS_MOST, Picture};
use super::selection::MessageSelection;
use super::violation_text::{LINE, LISTED_MOST, violation_headings, violation_text};
use crate::svg::{Anchor, Svg};
use crate::text::{lines, shortened};
use crate::vocabulary::Phrase;

impl<'s> Picture<'s> {
    /// Draws the legend, the faults without a marker, and the notes on omitted items.
    pub(super) fn draw_footer(&mut self, selection: &MessageSelection<'_>, top: f64) -> f64 {
        let vocabulary = &self.view.vocabulary;
        let mut y = legend::draw(
            &mut self.svg,
            &self.legend_items,
            &self.timeline.kinds,
            vocabulary,
            &self.plot,
            top,
        );
        let most = (self.plot.width / 6.6) as usize;
        let mut note = |svg: &mut Svg, class: &str, text: &str| {
            for line in lines(text, most) {
                y += 17.0;
                svg.text(class, (16.0, y), Anchor::Start, &line);
            }
        };
        if self.legend_items.flags {
            for (index, fault) in self.timeline.other_faults.iter().take(FAULTS_MOST).enumerate() {
                let values: [(&str, &dyn Display); 3] = [
                    ("number", &(index + 1)),
                    ("time", &Time(fault.time)),
                    ("what", &shortened(&fault.description, 400)),
                ];
                note(&mut self.svg, "small", &vocabulary.format(Phrase::Fault, &values));
            }
            let more = self.timeline.other_faults.len().saturating_sub(FAULTS_MOST);
            if more > 0 {
                note(
                    &mut self.svg,
                    "small",
                    &vocabulary.format_count(Phrase::MoreFaults, more, &[]),
                );
            }
        }
        for text in notes(self, selection) {
            note(&mut self.svg, "note small", &text);
        }
        y
    }

    /// Text alternative for readers who cannot see the picture.
    pub(super) fn description(&self, selection: &MessageSelection<'_>) -> String {
        let (timeline, vocabulary) = (self.timeline, &self.view.vocabulary);
        let whole: [(&str, &dyn Display); 4] = [
            ("processes", &vocabulary.format_count(Phrase::Processes, timeline.processes, &[])),
            ("messages", &vocabulary.format_count(Phrase::Messages, timeline.messages.len(), &[])),
            ("from", &Time(self.plot.from)),
            ("to", &Time(self.plot.to)),
        ];
        let mut sentences = vec![vocabulary.format(Phrase::Description, &whole)];
        let mut markers: BTreeMap<&str, usize> = BTreeMap::new();
        for marker in &timeline.markers {
            *markers.entry(vocabulary.text(marker.kind.phrase())).or_default() += 1;
        }
        let entries = timeline
            .activities
            .iter()
            .flatten()
            .filter(|activity| activity.kind == ActivityKind::Inside)
            .count();
        if entries > 0 {
            sentences.push(vocabulary.format_count(Phrase::Entries, entries, &[]));
        }
        if !markers.is_empty() {
            let counted =
                |(what, times): (&&str, &usize)| format!("{what} ×{}", vocabulary.count(*times));
            let markers: Vec<String> = markers.iter().map(counted).collect();
            sentences
                .push(vocabulary.format(Phrase::ProcessEvents, &[("what", &markers.join(", "))]));
        }
        sentences.extend(timeline.partitions.iter().take(LISTED_MOST).map(|partition| {
            let groups = group_names(&partition.groups, &[]).1;
            vocabulary.format(
                Phrase::PartitionDescription,
                &[("time", &Time(partition.from)), ("groups", &groups)],
            )
        }));
        sentences.extend(
            timeline
                .violations
                .iter()
                .map(|violation| format!("{}.", violation_text(violation, vocabulary))),
        );
        sentences.extend(notes(self, selection));
        shortened(&sentences.join(" "), 2_000)
    }

    pub(super) fn draw_heading(&mut self) {
        let mut y = 10.0;
        if !self.title.is_empty() {
            y += 18.0;
            let most = (self.plot.width / 9.5) as usize;
            self.svg.text("title", (16.0, y), Anchor::Start, &shortened(self.title, most));
            y += 8.0;
        }
        for line in violation_headings(self.timeline, self.view, &self.plot).flatten() {
            self.svg.text("wrong", (16.0, y + 14.0), Anchor::Start, &line);
            y += LINE;
        }
    }
}

/// Notes on items that are not drawn.
fn notes(picture: &Picture<'_>, selection: &MessageSelection<'_>) -> Vec<String> {
    let (timeline, plot, vocabulary) = (picture.timeline, &picture.plot, &picture.view.vocabulary);
    let mut notes = Vec::new();
    if plot.from > 0 || plot.to < timeline.end {
        let values: [(&str, &dyn Display); 3] =
            [("from", &Time(plot.from)), ("to", &Time(plot.to)), ("end", &Time(timeline.end))];
        notes.push(vocabulary.format(Phrase::Window, &values));
    }
    if selection.drawn.len() < selection.all {
        let (drawn, all) =
            (vocabulary.count(selection.drawn.len()), vocabulary.count(selection.all));
        notes.push(vocabulary.format(Phrase::SomeMessages, &[("drawn", &drawn), ("all", &all)]));
    }
    if plot.shown.len() < timeline.processes {
        let (drawn, all) =
            (vocabulary.count(plot.shown.len()), vocabulary.count(timeline.processes));
        let values: [(&str, &dyn Display); 2] = [("drawn", &drawn), ("all", &all)];
        notes.push(vocabulary.format_count(Phrase::SomeProcesses, selection.hidden, &values));
    }
    let mut note_count = |phrase: Phrase, count: usize| {
        if count > 0 {
            notes.push(vocabulary.format_count(phrase, count, &[]));
        }
    };
    note_count(Phrase::ToSelf, selection.to_self);
    note_count(Phrase::Unsent, timeline.unsent);
    note_count(Phrase::LeftOut, picture.left_out as usize);
    notes
}

/// Returns the group letter of each drawn process, and a description of all groups. Processes that no group names
/// share the next letter.
pub(super) fn group_names(groups: &[Vec<u32>], shown: &[u32]) -> (Vec<(u32, String)>, String) {
    let group_letter = |index: usize| char::from(b'A' + (index % 26) as u8).to_string();
    let group_of = |process: &u32| groups.iter().position(|group| group.contains(process));
    let group_letters = shown
        .iter()
        .map(|process| (*process, group_letter(group_of(process).unwrap_or(groups.len()))));
    let descriptions: Vec<String> = groups
        .iter()
        .enumerate()
        .map(|(index, group)| {
            let names: Vec<String> =
                group.iter().take(8).map(|process| format!("p{process}")).collect();
            let more = if group.len() > 8 { " .." } else { "" };
            format!("{} = {}{more}", group_letter(index), names.join(" "))
        })
        .collect();
    (group_letters.collect(), shortened(&descriptions.join(", "), 200))
}
