//! What the marks mean: only of those that are in the picture.

use std::collections::BTreeSet;

use super::arrow::{cross, head};
use super::plot::Plot;
use super::sign::{SignKind, StayKind};
use super::story::Kind;
use crate::svg::{Anchor, Svg};
use crate::text::{shortened, width};
use crate::vocabulary::{Phrase, Vocabulary};

const ROW: f64 = 22.0;
const SIZE: f64 = 12.0;
const SAMPLE: f64 = 34.0;

/// What there is to be explained.
#[derive(Debug, Default)]
pub(super) struct Used {
    pub(super) kinds: BTreeSet<usize>,
    pub(super) stays: BTreeSet<StayKind>,
    pub(super) signs: BTreeSet<SignKind>,
    pub(super) lost: bool,
    pub(super) open: bool,
    pub(super) bands: bool,
    pub(super) flags: bool,
    pub(super) broken: bool,
}

enum Entry {
    Kind(usize),
    Stay(StayKind),
    Sign(SignKind),
    Lost,
    Open,
    Band,
    Flag,
    Broken,
    Culprit,
}

/// Draws the legend below a height; tells how far down it reaches.
pub(super) fn draw(
    svg: &mut Svg,
    used: &Used,
    kinds: &[Kind],
    words: &Vocabulary,
    plot: &Plot,
    top: f64,
) -> f64 {
    let mut entries: Vec<(Entry, String)> = Vec::new();
    let layers: BTreeSet<&str> =
        used.kinds.iter().map(|kind| kinds[*kind].layer.as_str()).collect();
    for &kind in &used.kinds {
        let Kind { name, layer, count: all } = &kinds[kind];
        let layer =
            if layers.len() > 1 { format!(" ({})", shortened(layer, 20)) } else { String::new() };
        let name = format!("{}{layer} ×{}", shortened(name, 24), words.count(*all));
        entries.push((Entry::Kind(kind), name));
    }
    let mut push = |is_used: bool, entry: Entry, phrase: Phrase| {
        if is_used {
            entries.push((entry, words.say(phrase).to_owned()));
        }
    };
    push(used.lost, Entry::Lost, Phrase::Lost);
    push(used.open, Entry::Open, Phrase::Open);
    for kind in StayKind::ALL {
        push(used.stays.contains(&kind), Entry::Stay(kind), kind.words());
    }
    for kind in SignKind::ALL {
        push(used.signs.contains(&kind), Entry::Sign(kind), kind.words());
    }
    push(used.bands, Entry::Band, Phrase::Partition);
    push(used.flags, Entry::Flag, Phrase::Flag);
    push(used.broken, Entry::Broken, Phrase::Broken);
    push(used.broken, Entry::Culprit, Phrase::Culprit);
    if entries.is_empty() {
        return top;
    }
    svg.open(format_args!("class=\"legend\""));
    let (mut x, mut y) = (plot.left, top + ROW / 2.0);
    for (entry, words) in entries {
        let wide = SAMPLE + 6.0 + width(&words, SIZE) + 20.0;
        if x + wide > plot.width - 8.0 && x > plot.left {
            (x, y) = (plot.left, y + ROW);
        }
        sample(svg, &entry, (x, y), plot);
        svg.text("entry", (x + SAMPLE + 6.0, y + 4.0), Anchor::Start, &words);
        x += wide;
    }
    svg.close();
    y + ROW / 2.0
}

fn sample(svg: &mut Svg, entry: &Entry, (x, y): (f64, f64), plot: &Plot) {
    let (middle, end) = (x + SAMPLE / 2.0, x + SAMPLE);
    match entry {
        Entry::Kind(kind) => {
            svg.open(format_args!("class=\"message k{kind}\""));
            svg.line("way", (x, y), (end - 4.0, y));
            svg.path("head", &head((x, y), (end, y)));
            svg.close();
        }
        Entry::Lost => {
            svg.open(format_args!("class=\"message lost\""));
            svg.line("way", (x, y), (end - 6.0, y));
            svg.path("cross", &cross((end - 6.0, y), 4.0));
            svg.close();
        }
        Entry::Open => {
            svg.open(format_args!("class=\"message open\""));
            svg.line("way", (x, y), (end, y));
            svg.close();
        }
        Entry::Stay(StayKind::Down) => svg.line("down", (x, y), (end, y)),
        Entry::Stay(kind) => {
            let thick = kind.thickness(12.0);
            svg.line("lane", (x, y), (end, y));
            svg.rect(
                &format!("stay {}", kind.class()),
                (x + 3.0, y - thick / 2.0),
                (SAMPLE - 6.0, thick),
            );
        }
        Entry::Sign(kind) => kind.draw(svg, (middle, y), plot.sign().max(4.5)),
        Entry::Band => {
            svg.rect("band", (x, y - 8.0), (SAMPLE, 16.0));
            svg.line("edge", (x, y - 8.0), (x, y + 8.0));
            svg.line("edge", (end, y - 8.0), (end, y + 8.0));
        }
        Entry::Flag => flag(svg, (middle, y), ""),
        Entry::Broken => svg.line("moment", (middle, y - 9.0), (middle, y + 9.0)),
        Entry::Culprit => svg.circle("ring", (middle, y), 7.0),
    }
}

/// A flag on the line of a process, with a number.
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
