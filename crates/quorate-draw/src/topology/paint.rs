//! Rendering of a topology.

use std::fmt::Display;

use quorate_core::ProcessId;

use super::{Edge, Topology};
use crate::svg::{Anchor, Px, Svg};
use crate::text::{shortened, width};
use crate::theme::Theme;
use crate::vocabulary::{LocalizedText, Phrase};

const RADIUS: f64 = 21.0;
const MARGIN: f64 = 50.0;

const RULES: &str = "
text{font-size:12px}
.title{font-size:17px;font-weight:600}
.note{fill:$faint}
.link{stroke:$line;stroke-width:1.3;fill:none}
.head{fill:$line}
.group{fill:none;stroke:$edge;stroke-width:1.6;stroke-dasharray:7 4}
.group-name{font-size:11px;fill:$faint;stroke:$paper;stroke-width:3px;paint-order:stroke}
.node{fill:$paper;stroke:$ink;stroke-width:1.6}
.member .node{fill:$inside;stroke:$inside}
.member text{fill:$paper;font-weight:700}
.failed .node{stroke:$bad;stroke-dasharray:3 3}
.failed text{fill:$bad}
.cross{stroke:$bad;stroke-width:3}
.self{fill:none;stroke:$ink;stroke-width:2.2}
.number{font-size:15px}
";

pub(super) fn draw(topology: &Topology, theme: Theme) -> String {
    let (origin, inner) = bounds(topology);
    // Bent links need room at the top.
    let bend = topology.edges.iter().map(|edge| edge.bend).fold(0.0, f64::max);
    let title = topology.title.text(&topology.vocabulary);
    let heading = bend * 0.5 + if title.is_empty() { 8.0 } else { 36.0 };
    let title_width = width(&title, 17.0).min(900.0) + 40.0;
    let wide = (inner.0 + 2.0 * MARGIN).max(title_width).max(430.0);
    let shift = ((wide - inner.0) / 2.0 - origin.0, heading + MARGIN - origin.1);
    let position = |process: usize| {
        let (x, y) = topology.nodes[process];
        (x + shift.0, y + shift.1)
    };
    let mut svg = Svg::default();
    if !title.is_empty() {
        svg.text("title", (16.0, 26.0), Anchor::Start, &shortened(&title, 110));
    }
    for group in &topology.groups {
        let group_name = group.name.text(&topology.vocabulary);
        let name = format!("{group_name}: {}", names(group.members.iter().copied()));
        let corners: Vec<(f64, f64)> =
            group.members.iter().map(|member| position(*member)).collect();
        let least = |coordinate: fn(&(f64, f64)) -> f64| {
            corners.iter().map(coordinate).fold(f64::MAX, f64::min)
        };
        let most = |coordinate: fn(&(f64, f64)) -> f64| {
            corners.iter().map(coordinate).fold(f64::MIN, f64::max)
        };
        let (left, top, right, bottom) =
            (least(|p| p.0), least(|p| p.1), most(|p| p.0), most(|p| p.1));
        let (x, y) = (left - RADIUS - 8.0, top - RADIUS - 8.0);
        let size = (right - left + 2.0 * RADIUS + 16.0, bottom - top + 2.0 * RADIUS + 16.0);
        svg.open(format_args!("class=\"cluster\""));
        svg.title(&shortened(&name, 200));
        svg.raw(format_args!(
            "<rect class=\"group\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"14\"/>",
            Px(x),
            Px(y),
            Px(size.0),
            Px(size.1)
        ));
        // The name of a column is below it, where no row name can be.
        let below = matches!(group.name, LocalizedText::Phrase(Phrase::Column, _));
        let at = if below { (x + 4.0, y + size.1 + 12.0) } else { (x + 4.0, y - 4.0) };
        svg.text("group-name", at, Anchor::Start, &group_name);
        svg.close();
    }
    for edge in &topology.edges {
        link(&mut svg, edge, position(edge.from), position(edge.to));
    }
    for process in 0..topology.nodes.len() {
        node(&mut svg, topology, process, position(process));
    }
    let bottom = heading + inner.1 + 2.0 * MARGIN;
    let height = legend(&mut svg, topology, wide, bottom);
    let title = if title.is_empty() {
        topology.vocabulary.text(Phrase::Topology).to_owned()
    } else {
        title
    };
    svg.finish((wide, height), (&title, &description(topology)), theme, RULES)
}

/// Upper left corner of the bounding box of all processes, and its size.
fn bounds(topology: &Topology) -> ((f64, f64), (f64, f64)) {
    let Some(&first) = topology.nodes.first() else { return ((0.0, 0.0), (0.0, 0.0)) };
    let (mut low, mut high) = (first, first);
    for &(x, y) in &topology.nodes {
        low = (low.0.min(x), low.1.min(y));
        high = (high.0.max(x), high.1.max(y));
    }
    (low, (high.0 - low.0, high.1 - low.1))
}

fn link(svg: &mut Svg, edge: &Edge, from: (f64, f64), to: (f64, f64)) {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx.hypot(dy).max(1.0);
    let (ux, uy) = (dx / length, dy / length);
    svg.open(format_args!("class=\"edge-of\" data-from=\"{}\" data-to=\"{}\"", edge.from, edge.to));
    svg.title(&format!("p{} {} p{}", edge.from, if edge.directed { "→" } else { "—" }, edge.to));
    if edge.bend == 0.0 {
        let start = (from.0 + ux * RADIUS, from.1 + uy * RADIUS);
        let end = (to.0 - ux * (RADIUS + 2.0), to.1 - uy * (RADIUS + 2.0));
        svg.line("link", start, end);
        if edge.directed {
            let corner = |side: f64| {
                (end.0 - 9.0 * ux - side * 4.0 * uy, end.1 - 9.0 * uy + side * 4.0 * ux)
            };
            let (a, b) = (corner(1.0), corner(-1.0));
            let points = [end, a, b].map(|(x, y)| format!("{} {}", Px(x), Px(y)));
            svg.path("head", &format!("M{}Z", points.join("L")));
        }
    } else {
        let middle = (
            (from.0 + to.0) / 2.0 + uy * 2.0 * edge.bend,
            (from.1 + to.1) / 2.0 - ux * 2.0 * edge.bend,
        );
        let (x, y) = (Px(middle.0), Px(middle.1));
        svg.path(
            "link",
            &format!("M{} {}Q{x} {y} {} {}", Px(from.0), Px(from.1), Px(to.0), Px(to.1)),
        );
    }
    svg.close();
}

fn node(svg: &mut Svg, topology: &Topology, process: usize, (x, y): (f64, f64)) {
    let id = ProcessId::from_index(process);
    let failed = topology.failed.contains(id);
    let quorum = topology.quorum.as_ref();
    let member =
        quorum.is_some_and(|quorum| quorum.members.as_ref().is_some_and(|set| set.contains(id)));
    let itself = quorum.is_some_and(|quorum| quorum.owner == id);
    let class = match (member, failed) {
        (true, _) => "member",
        (false, true) => "failed",
        (false, false) => "other",
    };
    svg.open(format_args!("class=\"{class}\" data-process=\"{process}\""));
    let who: [(&str, &dyn Display); 1] = [("who", &format_args!("p{process}"))];
    let title = match (member, failed) {
        (_, true) => topology.vocabulary.format(Phrase::HasFailed, &who),
        (true, _) => topology.vocabulary.format(Phrase::IsInQuorum, &who),
        _ => format!("p{process}"),
    };
    svg.title(&title);
    svg.circle("node", (x, y), RADIUS);
    if member {
        // A square repeats what the colour means.
        let (half, side) = (RADIUS + 3.5, 2.0 * RADIUS + 7.0);
        svg.raw(format_args!(
            "<rect class=\"self\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\" stroke-width=\"1.4\"/>",
            Px(x - half),
            Px(y - half),
            Px(side),
            Px(side)
        ));
    }
    if itself {
        svg.circle("self", (x, y), RADIUS - 4.0);
    }
    svg.text("number", (x, y + 5.5), Anchor::Middle, &process.to_string());
    if failed {
        // The cross is at the corner, so that the number stays readable.
        let (x, y, r) = (x + RADIUS * 0.8, y - RADIUS * 0.8, 6.0);
        svg.line("cross", (x - r, y - r), (x + r, y + r));
        svg.line("cross", (x - r, y + r), (x + r, y - r));
    }
    svg.close();
}

/// Draws the legend below `top` and returns the height of the picture.
fn legend(svg: &mut Svg, topology: &Topology, wide: f64, top: f64) -> f64 {
    let mut y = top + 4.0;
    let (mut x, half) = (16.0, 8.0);
    let mut entry =
        |svg: &mut Svg, class: &str, phrase: Phrase, draw: &dyn Fn(&mut Svg, (f64, f64))| {
            let text = topology.vocabulary.text(phrase);
            let long = 40.0 + width(text, 12.0);
            if x > 16.0 && x + long > wide {
                (x, y) = (16.0, y + 24.0);
            }
            svg.open(format_args!("class=\"{class}\""));
            draw(svg, (x + 12.0, y));
            svg.close();
            svg.text("entry", (x + 28.0, y + 4.0), Anchor::Start, text);
            x += long;
        };
    if let Some(quorum) = &topology.quorum {
        if quorum.members.is_some() {
            entry(svg, "member", Phrase::InQuorum, &|svg, (x, y)| {
                svg.circle("node", (x, y), half);
                svg.rect(
                    "self",
                    (x - half - 2.0, y - half - 2.0),
                    (2.0 * half + 4.0, 2.0 * half + 4.0),
                );
            });
        }
        entry(svg, "other", Phrase::QuorumOwner, &|svg, (x, y)| {
            svg.circle("node", (x, y), half);
            svg.circle("self", (x, y), half - 3.5);
        });
        entry(svg, "other", Phrase::NotInQuorum, &|svg, at| svg.circle("node", at, half));
    }
    if !topology.failed.is_empty() {
        entry(svg, "failed", Phrase::Failed, &|svg, (x, y)| {
            svg.circle("node", (x, y), half);
            let (x, y, r) = (x + half * 0.8, y - half * 0.8, 4.0);
            svg.line("cross", (x - r, y - r), (x + r, y + r));
            svg.line("cross", (x - r, y + r), (x + r, y - r));
        });
    }
    if topology.nodes.len() < topology.processes {
        y += 24.0;
        let (drawn, all) = (topology.nodes.len(), topology.processes);
        let note =
            topology.vocabulary.format(Phrase::SomeNodes, &[("drawn", &drawn), ("all", &all)]);
        svg.text("note", (16.0, y + 4.0), Anchor::Start, &note);
    }
    y + 22.0
}

fn description(topology: &Topology) -> String {
    let vocabulary = &topology.vocabulary;
    let mut sentences =
        vec![vocabulary.format_count(Phrase::TopologyDescription, topology.processes, &[])];
    if !topology.failed.is_empty() {
        let who = names(topology.failed.iter().map(ProcessId::index));
        sentences.push(vocabulary.format(Phrase::FailedDescription, &[("who", &who)]));
    }
    match &topology.quorum {
        Some(quorum) if quorum.members.is_none() => sentences
            .push(vocabulary.format(Phrase::NoQuorumDescription, &[("who", &quorum.owner)])),
        Some(quorum) => {
            let members = quorum.members.iter().flat_map(|members| members.iter());
            let members = names(members.map(ProcessId::index));
            let values: [(&str, &dyn Display); 2] = [("who", &quorum.owner), ("members", &members)];
            sentences.push(vocabulary.format(Phrase::QuorumDescription, &values));
        }
        None => {}
    }
    for group in &topology.groups {
        let name = group.name.text(vocabulary);
        sentences.push(format!("{name}: {}.", names(group.members.iter().copied())));
    }
    shortened(&sentences.join(" "), 2_000)
}

fn names(processes: impl Iterator<Item = usize>) -> String {
    let names: Vec<String> = processes.map(|process| format!("p{process}")).collect();
    shortened(&names.join(", "), 400)
}
