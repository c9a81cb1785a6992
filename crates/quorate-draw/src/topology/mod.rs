//! Topologies and quorum systems: the VCube with its clusters, grids, trees and rings, with failed processes and a
//! quorum marked in them.

mod layout;
mod paint;

use quorate_core::quorum::{AnyCoterie, AnyMonotone, AnyPerView, AnySystem, QuorumSystem};
use quorate_core::{ProcessId, ProcessSet, SpanningTree};

use crate::theme::Theme;
use crate::vocabulary::{LocalizedText, Phrase, Vocabulary};

/// Picture of processes, their links, and optionally a quorum.
#[derive(Clone, Debug)]
pub struct Topology {
    title: LocalizedText,
    vocabulary: Vocabulary,
    processes: usize,
    nodes: Vec<(f64, f64)>,
    edges: Vec<Edge>,
    groups: Vec<Group>,
    failed: ProcessSet,
    quorum: Option<ShownQuorum>,
}

/// Quorum of one process; `members` is `None` if it has none.
#[derive(Clone, Debug)]
struct ShownQuorum {
    owner: ProcessId,
    members: Option<ProcessSet>,
}

/// Link between two processes. It may be bent, so that it does not cross a process between its ends.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Edge {
    from: usize,
    to: usize,
    bend: f64,
    directed: bool,
}

/// Named group of processes, such as a cluster or a row.
#[derive(Clone, Debug, PartialEq)]
struct Group {
    name: LocalizedText,
    members: Vec<usize>,
}

impl Topology {
    /// Maximum number of processes drawn. Of more, the first ones are drawn and a note reports it.
    pub const DRAWN_MOST: usize = 256;

    /// Quorum system as one process sees it: positions, failed processes, and the quorum of `owner`.
    pub fn quorum(system: &AnySystem, failed: &ProcessSet, owner: ProcessId) -> Self {
        let n = system.processes();
        let drawn = match system {
            AnySystem::PerView(AnyPerView::Monotone(AnyMonotone::VCubeHalves(_))) => {
                Self::new(n).vcube(owner)
            }
            AnySystem::PerView(AnyPerView::Monotone(AnyMonotone::Wall(wall))) => {
                Self::new(n).wall(wall, owner)
            }
            AnySystem::PerView(AnyPerView::Monotone(AnyMonotone::Grid(_)))
            | AnySystem::Fixed(AnyCoterie::FixedGrid(_)) => Self::new(n).grid(owner),
            AnySystem::Fixed(AnyCoterie::Tree(_)) => Self::tree(n, &SpanningTree::Binary),
            _ => Self::new(n).circle(),
        };
        let members = if failed.contains(owner) { None } else { system.quorum(owner, failed) };
        let drawn = match &members {
            Some(members) if drawn.edges.is_empty() && drawn.groups.is_empty() => {
                drawn.with_quorum_edges(owner, members)
            }
            _ => drawn,
        };
        let mut values = vec![("system", system.name().to_string()), ("who", owner.to_string())];
        let phrase = match &members {
            Some(members) => {
                values.extend([("size", members.len().to_string()), ("all", n.to_string())]);
                Phrase::QuorumOf
            }
            None => Phrase::NoQuorumOf,
        };
        Self {
            title: LocalizedText::Phrase(phrase, values),
            quorum: Some(ShownQuorum { owner, members }),
            ..drawn
        }
        .with_failed(failed)
    }

    /// Ring in which each process forwards to the next, and the last to the first.
    pub fn ring(n: usize) -> Self {
        Self::new(n).circle().linked(|process| Some((process + 1) % n).filter(|_| n > 1))
    }

    /// Spanning tree with process 0 at the top.
    pub fn tree(n: usize, tree: &SpanningTree) -> Self {
        Self::new(n).levels(tree)
    }

    /// Star in which every other process communicates with `centre`.
    pub fn star(n: usize, centre: ProcessId) -> Self {
        Self::new(n).star_around(centre)
    }

    /// Complete graph, in which every process communicates with every other.
    pub fn complete(n: usize) -> Self {
        let circle = Self::new(n).circle();
        let drawn = circle.nodes.len();
        let edges = (0..drawn).flat_map(|from| {
            (from + 1..drawn).map(move |to| Edge { from, to, bend: 0.0, directed: false })
        });
        // With more processes the edges would cover each other.
        let edges = if drawn <= 40 { edges.collect() } else { Vec::new() };
        Self { edges, ..circle }
    }

    /// Sets the heading of the picture.
    #[must_use]
    pub fn titled(self, title: impl Into<String>) -> Self {
        Self { title: LocalizedText::Plain(title.into()), ..self }
    }

    /// Sets a heading that is translated into the language of the picture.
    #[must_use]
    pub fn titled_phrase(self, phrase: Phrase, values: Vec<(&'static str, String)>) -> Self {
        Self { title: LocalizedText::Phrase(phrase, values), ..self }
    }

    /// Sets the language of all texts.
    #[must_use]
    pub fn with_vocabulary(self, vocabulary: Vocabulary) -> Self {
        Self { vocabulary, ..self }
    }

    /// Removes the quorum, so that only the processes and links are drawn.
    #[must_use]
    pub fn without_quorum(self) -> Self {
        Self { quorum: None, ..self }
    }

    /// Marks these processes as failed.
    #[must_use]
    pub fn with_failed(self, failed: &ProcessSet) -> Self {
        Self { failed: failed.clone(), ..self }
    }

    /// Renders the picture as an SVG file.
    pub fn svg(&self, theme: Theme) -> String {
        paint::draw(self, theme)
    }

    fn new(processes: usize) -> Self {
        Self {
            title: LocalizedText::empty(),
            vocabulary: Vocabulary::default(),
            processes,
            nodes: Vec::new(),
            edges: Vec::new(),
            groups: Vec::new(),
            failed: ProcessSet::new(),
            quorum: None,
        }
    }
}
