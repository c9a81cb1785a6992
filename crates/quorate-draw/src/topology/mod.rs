//! Who can talk to whom, and whose permission is enough: the VCube with its clusters, grids, trees and rings, with
//! failed processes and a quorum in them.

mod layout;
mod paint;

use quorate_core::quorum::{AnyCoterie, AnyPerView, AnySystem, QuorumSystem};
use quorate_core::{ProcessId, ProcessSet, SpanningTree};

use crate::theme::Theme;
use crate::vocabulary::{LocalizedText, Phrase, Vocabulary};

/// Processes where they stand.
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

/// The processes whose permission somebody has.
#[derive(Clone, Debug)]
struct ShownQuorum {
    owner: ProcessId,
    members: Option<ProcessSet>,
}

/// A link. It may be bent, so that it does not run through a process between its ends.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Edge {
    from: usize,
    to: usize,
    bend: f64,
    directed: bool,
}

/// Processes that belong together: a cluster, a row.
#[derive(Clone, Debug, PartialEq)]
struct Group {
    name: LocalizedText,
    members: Vec<usize>,
}

impl Topology {
    /// The most processes that are drawn; of more the first ones are, and a note says so.
    pub const DRAWN_MOST: usize = 256;

    /// A quorum system as one process sees it: where the processes stand, who has failed, and its quorum.
    pub fn quorum(system: &AnySystem, failed: &ProcessSet, owner: ProcessId) -> Self {
        let n = system.processes();
        let drawn = match system {
            AnySystem::PerView(AnyPerView::VCubeHalves(_)) => Self::new(n).vcube(owner),
            AnySystem::PerView(AnyPerView::Grid(_))
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

    /// A ring: each process hands on to the next, the last to the first.
    pub fn ring(n: usize) -> Self {
        Self::new(n).circle().linked(|process| Some((process + 1) % n).filter(|_| n > 1))
    }

    /// A spanning tree, with process 0 on top.
    pub fn tree(n: usize, tree: &SpanningTree) -> Self {
        Self::new(n).levels(tree)
    }

    /// One in the middle that all others talk to.
    pub fn star(n: usize, centre: ProcessId) -> Self {
        Self::new(n).star_around(centre)
    }

    /// Everybody talks to everybody.
    pub fn complete(n: usize) -> Self {
        let circle = Self::new(n).circle();
        let drawn = circle.nodes.len();
        let edges = (0..drawn).flat_map(|from| {
            (from + 1..drawn).map(move |to| Edge { from, to, bend: 0.0, directed: false })
        });
        // Beyond this they would be a blot.
        let edges = if drawn <= 40 { edges.collect() } else { Vec::new() };
        Self { edges, ..circle }
    }

    /// With a heading.
    #[must_use]
    pub fn titled(self, title: impl Into<String>) -> Self {
        Self { title: LocalizedText::Plain(title.into()), ..self }
    }

    /// With a heading that is said in the language of the picture.
    #[must_use]
    pub fn titled_phrase(self, phrase: Phrase, values: Vec<(&'static str, String)>) -> Self {
        Self { title: LocalizedText::Phrase(phrase, values), ..self }
    }

    /// In this language.
    #[must_use]
    pub fn with_vocabulary(self, vocabulary: Vocabulary) -> Self {
        Self { vocabulary, ..self }
    }

    /// Without anybody's quorum: only where the processes stand.
    #[must_use]
    pub fn without_quorum(self) -> Self {
        Self { quorum: None, ..self }
    }

    /// With these processes down.
    #[must_use]
    pub fn with_failed(self, failed: &ProcessSet) -> Self {
        Self { failed: failed.clone(), ..self }
    }

    /// The picture as an SVG file.
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
