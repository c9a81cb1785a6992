//! Legend of a picture. It explains only the marks that occur in the picture.

use std::collections::BTreeSet;

use super::arrow::{cross, head};
use super::lane_items::{ActivityKind, MarkerKind};
use super::plot::Plot;
use super::timeline::Kind;
use crate::svg::{Anchor, Svg};
use crate::text::{shortened, width};
use crate::vocabulary::{Phrase, Vocabulary};

const ROW: f64 = 22.0;
const SIZE: f64 = 12.0;
const SAMPLE: f64 = 34.0;

/// Marks that the legend explains.
#[derive(Debug, Default)]
pub(super) struct LegendItems {
    pub(super) kinds: BTreeSet<usize>,
    pub(super) activities: BTreeSet<ActivityKind>,
    pub(super) markers: BTreeSet<MarkerKind>,
    pub(super) lost: bool,
    pub(super) in_flight: bool,
    pub(super) partitions: bool,
    pub(super) flags: bool,
    pub(super) violations: bool,
}

enum LegendEntry {
    Kind(usize),
    Activity(ActivityKind),
    Marker(MarkerKind),
    Lost,
    InFlight,
    Partition,
    Flag,
    Violation,
    ViolationCause,
}

/// Draws the legend below `top` and returns its lower edge.
pub(super) fn draw(
    svg: &mut Svg,
    items: &LegendItems,
    kinds: &[Kind],
    vocabulary: &Vocabulary,
    plot: &Plot,
    top: f64,
) -> f64 {
    let mut entries: Vec<(LegendEntry, String)> = Vec::new();
    let layers: BTreeSet<&str> =
        items.kinds.iter().map(|kind| kinds[*kind].layer.as_str()).collect();
    for &kind in &items.kinds {
        let Kind { name, layer, count: all } = &kinds[kind];
        let layer =
            if layers.len() > 1 { format!(" ({})", shortened(layer, 20)) } else { String::new() };
        let name = format!("{}{layer} ×{}", shortened(name, 24), vocabulary.count(*all));
        entries.push((LegendEntry::Kind(kind), name));
    }
    let mut push = |is_used: bool, entry: LegendEntry, phrase: Phrase| {
        if is_used {
            entries.push((entry, vocabulary.text(phrase).to_owned()));
        }
    };
    push(items.lost, LegendEntry::Lost, Phrase::Lost);
    push(items.in_flight, LegendEntry::InFlight, Phrase::InFlight);
    for kind in ActivityKind::ALL {
        push(items.activities.contains(&kind), LegendEntry::Activity(kind), kind.phrase());
    }
    for kind in MarkerKind::ALL {
        push(items.markers.contains(&kind), LegendEntry::Marker(kind), kind.phrase());
    }
    push(items.partitions, LegendEntry::Partition, Phrase::Partition);
    push(items.flags, LegendEntry::Flag, Phrase::Flag);
    push(items.violations, LegendEntry::Violation, Phrase::Violation);
    push(items.violations, LegendEntry::ViolationCause, Phrase::ViolationCause);
    if entries.is_empty() {
        return top;
    }
    svg.open(format_args!("class=\"legend\""));
    let (mut x, mut y) = (plot.left, top + ROW / 2.0);
    for (entry, text) in entries {
        let wide = SAMPLE + 6.0 + width(&text, SIZE) + 20.0;
        if x + wide > plot.width - 8.0 && x > plot.left {
            (x, y) = (plot.left, y + ROW);
        }
        sample(svg, &entry, (x, y), plot);
        svg.text("entry", (x + SAMPLE + 6.0, y + 4.0), Anchor::Start, &text);
        x += wide;
    }
    svg.close();
    y + ROW / 2.0
}

fn sample(svg: &mut Svg, entry: &LegendEntry, (x, y): (f64, f64), plot: &Plot) {
    let (middle, end) = (x + SAMPLE / 2.0, x + SAMPLE);
    match entry {
        LegendEntry::Kind(kind) => {
            svg.open(format_args!("class=\"message k{kind}\""));
            svg.line("way", (x, y), (end - 4.0, y));
            svg.path("head", &head((x, y), (end, y)));
            svg.close();
        }
        LegendEntry::Lost => {
            svg.open(format_args!("class=\"message lost\""));
            svg.line("way", (x, y), (end - 6.0, y));
            svg.path("cross", &cross((end - 6.0, y), 4.0));
            svg.close();
        }
        LegendEntry::InFlight => {
            svg.open(format_args!("class=\"message open\""));
            svg.line("way", (x, y), (end, y));
            svg.close();
        }
        LegendEntry::Activity(ActivityKind::Down) => svg.line("down", (x, y), (end, y)),
        LegendEntry::Activity(kind) => {
            let thick = kind.thickness(12.0);
            svg.line("lane", (x, y), (end, y));
            svg.rect(
                &format!("stay {}", kind.class()),
                (x + 3.0, y - thick / 2.0),
                (SAMPLE - 6.0, thick),
            );
        }
        LegendEntry::Marker(kind) => kind.draw(svg, (middle, y), plot.marker_size().max(4.5)),
        LegendEntry::Partition => {
            svg.rect("band", (x, y - 8.0), (SAMPLE, 16.0));
            svg.line("edge", (x, y - 8.0), (x, y + 8.0));
            svg.line("edge", (end, y - 8.0), (end, y + 8.0));
        }
        LegendEntry::Flag => flag(svg, (middle, y), ""),
        LegendEntry::Violation => svg.line("moment", (middle, y - 9.0), (middle, y + 9.0)),
        LegendEntry::ViolationCause => svg.circle("ring", (middle, y), 7.0),
    }
}

/// Draws a numbered flag on the lane of a process.
pub(super) fn flag(svg: &mut Svg, (x, y): (f64, f64), number: &str) {
    use crate::svg::Px;
    let (pole, top) = (Px(x), Px(y - 13.0));
    svg.path(
        "flag",
        &format!(
            "M{pole} {}L{pole} {top}L{} {}L{pole} {}",
            Px(y),
            Px(x + 9.0),
            Px(y - 10.0),
            Px(y - 7.0)
        ),
    );
    if !number.is_empty() {
        svg.text("small label", (x + 10.0, y - 7.0), Anchor::Start, number);
    }
}
