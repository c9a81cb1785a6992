//! Arrows of messages and their labels.

use std::collections::{BTreeMap, BTreeSet};

use super::arrow::Arrow;
use super::labels::Rect;
use super::lane_items::EventMarker;
use super::picture::{LABEL, Picture};
use super::selection::MessageSelection;
use super::timeline::{DeliveryStatus, TracedMessage};
use crate::svg::Anchor;
use crate::text::{shortened, width};

/// With more arrows than this, not every arrow is labelled.
const DENSE: usize = 70;
/// Distance between arrows on the same route.
const OFFSET: f64 = 3.5;
const OFFSETS_MOST: usize = 3;

impl<'s> Picture<'s> {
    pub(super) fn draw_arrows(
        &mut self,
        selection: &MessageSelection<'s>,
        markers: &[&EventMarker],
    ) {
        let marked: BTreeSet<u64> = markers.iter().map(|marker| marker.at.event).collect();
        let new = |message: &&'s TracedMessage| {
            let ends_at_marker = matches!(&message.delivery, DeliveryStatus::Arrives(at) if marked.contains(&at.event));
            let distance = if ends_at_marker { self.plot.marker_size() + 2.0 } else { 1.0 };
            Arrow::new(message, self.timeline, &self.plot, distance)
        };
        let mut arrows: Vec<Arrow<'s>> = selection.drawn.iter().filter_map(new).collect();
        separate_overlapping(&mut arrows);
        for arrow in &arrows {
            let message = arrow.message;
            self.legend_items.kinds.insert(message.kind as usize);
            self.legend_items.lost |= matches!(message.delivery, DeliveryStatus::Lost { .. });
            self.legend_items.in_flight |= message.delivery == DeliveryStatus::InFlight;
            let led_to_violation = match &message.delivery {
                DeliveryStatus::Arrives(at) => self.violation_events.contains(&at.event),
                _ => false,
            };
            arrow.draw(&mut self.svg, self.timeline, &self.view.vocabulary, led_to_violation);
        }
        if self.view.labels {
            self.place_arrow_labels(&arrows);
        }
    }

    /// Places a label for each kind first, then for each multicast, then for other arrows where room is left.
    pub(super) fn place_arrow_labels(&mut self, arrows: &[Arrow<'s>]) {
        let mut groups: BTreeMap<(u64, u32), Vec<&Arrow<'s>>> = BTreeMap::new();
        for arrow in arrows {
            let message = arrow.message;
            groups.entry((message.sent.event, message.kind)).or_default().push(arrow);
        }
        let mut kinds = BTreeSet::new();
        let (first, others): (Vec<_>, Vec<_>) =
            groups.into_iter().partition(|((_, kind), _)| kinds.insert(*kind));
        // With many arrows, labels on steep ones would hide more than they explain.
        let dense = arrows.len() > DENSE;
        let mut rest: Vec<&Arrow<'s>> = Vec::new();
        for ((_, kind), members) in first.into_iter().chain(others) {
            let width = width(&self.kind_label(kind), LABEL);
            let may_label = |arrow: &Arrow<'s>| {
                kinds.contains(&kind) || !dense || !arrow.is_steeper_than(width)
            };
            let found = members
                .iter()
                .position(|arrow| may_label(arrow) && self.place_arrow_label(arrow, 2.0));
            if found.is_some() {
                kinds.remove(&kind);
            }
            rest.extend(members.into_iter().skip(found.map_or(usize::MAX, |index| index + 1)));
        }
        if !dense {
            for arrow in rest {
                self.place_arrow_label(arrow, 9.0);
            }
        }
    }

    fn kind_label(&self, kind: u32) -> String {
        shortened(&self.timeline.kinds[kind as usize].name, 14)
    }

    pub(super) fn place_arrow_label(&mut self, arrow: &Arrow<'s>, gap: f64) -> bool {
        let kind = arrow.message.kind;
        let text = self.kind_label(kind);
        let positions = arrow.label_positions(&self.plot);
        let candidates =
            positions.into_iter().map(|position| Rect::of_text(&text, position, LABEL));
        let Some(found) = self.occupied.place(candidates, gap) else { return false };
        let position = ((found.0 + found.2) / 2.0, found.3 - 2.2);
        self.labels.push((format!("label t{kind}"), position, Anchor::Middle, text));
        true
    }
}

/// Shifts arrows of different kinds that would cover each other.
fn separate_overlapping(arrows: &mut [Arrow<'_>]) {
    let mut routes: BTreeMap<[i64; 4], Vec<u32>> = BTreeMap::new();
    for arrow in arrows {
        let route = [arrow.start.0, arrow.start.1, arrow.end.0, arrow.end.1];
        let kinds = routes.entry(route.map(|coordinate| coordinate.round() as i64)).or_default();
        let kind = arrow.message.kind;
        let index = kinds.iter().position(|known| *known == kind).unwrap_or_else(|| {
            kinds.push(kind);
            kinds.len() - 1
        });
        let offset = index.min(OFFSETS_MOST) as f64 * OFFSET;
        arrow.start.0 += offset;
        arrow.end.0 += offset;
    }
}
