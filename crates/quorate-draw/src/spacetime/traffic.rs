//! Messages and their labels.

use std::collections::{BTreeMap, BTreeSet};

use super::arrow::Arrow;
use super::labels::Area;
use super::picture::{LABEL, Picture};
use super::sign::Sign;
use super::story::{Fate, Passage};
use super::thin::Thinned;
use crate::svg::Anchor;
use crate::text::{shortened, width};

/// With more arrows than this not every one is labelled.
const DENSE: usize = 70;
/// How far from each other arrows on the same way are, and how many are moved.
const ASIDE: f64 = 3.5;
const ASIDE_MOST: usize = 3;

impl<'s> Picture<'s> {
    pub(super) fn arrows(&mut self, thinned: &Thinned<'s>, signs: &[&Sign]) {
        let marked: BTreeSet<u64> = signs.iter().map(|sign| sign.event).collect();
        let new = |message: &&'s Passage| {
            let under_a_sign =
                matches!(&message.fate, Fate::Arrives(at) if marked.contains(&at.event));
            let distance = if under_a_sign { self.plot.sign() + 2.0 } else { 1.0 };
            Arrow::new(message, self.story, &self.plot, distance)
        };
        let mut arrows: Vec<Arrow<'s>> = thinned.drawn.iter().filter_map(new).collect();
        apart(&mut arrows);
        for arrow in &arrows {
            let message = arrow.message;
            self.used.kinds.insert(message.kind as usize);
            self.used.lost |= matches!(message.fate, Fate::Lost { .. });
            self.used.open |= message.fate == Fate::UnderWay;
            let guilty = match &message.fate {
                Fate::Arrives(at) => self.culprits.contains(&at.event),
                _ => false,
            };
            arrow.draw(&mut self.svg, self.story, &self.view.words, guilty);
        }
        if self.view.labels {
            self.arrow_labels(&arrows);
        }
    }

    /// A label for each kind first, then for each multicast, then for each other arrow where there is room left.
    pub(super) fn arrow_labels(&mut self, arrows: &[Arrow<'s>]) {
        let mut groups: BTreeMap<(u64, u32), Vec<&Arrow<'s>>> = BTreeMap::new();
        for arrow in arrows {
            let message = arrow.message;
            groups.entry((message.sent.event, message.kind)).or_default().push(arrow);
        }
        let mut kinds = BTreeSet::new();
        let (first, others): (Vec<_>, Vec<_>) =
            groups.into_iter().partition(|((_, kind), _)| kinds.insert(*kind));
        // Where arrows are many, labels on the steep ones would hide more than they tell.
        let dense = arrows.len() > DENSE;
        let mut rest: Vec<&Arrow<'s>> = Vec::new();
        for ((_, kind), members) in first.into_iter().chain(others) {
            let width = width(&self.kind_label(kind), LABEL);
            let may = |arrow: &Arrow<'s>| {
                kinds.contains(&kind) || !dense || !arrow.is_steeper_than(width)
            };
            let found = members.iter().position(|arrow| may(arrow) && self.arrow_label(arrow, 2.0));
            if found.is_some() {
                kinds.remove(&kind);
            }
            rest.extend(members.into_iter().skip(found.map_or(usize::MAX, |place| place + 1)));
        }
        if !dense {
            for arrow in rest {
                self.arrow_label(arrow, 9.0);
            }
        }
    }

    fn kind_label(&self, kind: u32) -> String {
        shortened(&self.story.kinds[kind as usize].name, 14)
    }

    pub(super) fn arrow_label(&mut self, arrow: &Arrow<'s>, gap: f64) -> bool {
        let kind = arrow.message.kind;
        let words = self.kind_label(kind);
        let places = arrow.label_places(&self.plot);
        let areas = places.into_iter().map(|place| Area::of_text(&words, place, LABEL));
        let Some(area) = self.room.place(areas, gap) else { return false };
        let place = ((area.0 + area.2) / 2.0, area.3 - 2.2);
        self.labels.push((format!("label t{kind}"), place, Anchor::Middle, words));
        true
    }
}

/// Arrows of different kinds that would lie on each other are drawn beside each other.
fn apart(arrows: &mut [Arrow<'_>]) {
    let mut ways: BTreeMap<[i64; 4], Vec<u32>> = BTreeMap::new();
    for arrow in arrows {
        let way = [arrow.start.0, arrow.start.1, arrow.end.0, arrow.end.1];
        let kinds = ways.entry(way.map(|place| place.round() as i64)).or_default();
        let kind = arrow.message.kind;
        let place = kinds.iter().position(|known| *known == kind).unwrap_or_else(|| {
            kinds.push(kind);
            kinds.len() - 1
        });
        let aside = place.min(ASIDE_MOST) as f64 * ASIDE;
        arrow.start.0 += aside;
        arrow.end.0 += aside;
    }
}
