//! Who can talk to whom, and whose permission is enough: the VCube with its clusters, grids, trees and rings, with
//! failed processes and a quorum in them.

mod layout;
mod paint;

use quorate_core::quorum::{AnyCoterie, AnyPerView, AnySystem, QuorumSystem};
use quorate_core::{ProcessId, ProcessSet, SpanningTree};

use crate::look::Theme;
use crate::vocabulary::{Phrase, Saying, Vocabulary};

/// Processes where they stand.
#[derive(Clone, Debug)]
pub struct Topology {
    title: Saying,
    words: Vocabulary,
    processes: usize,
    nodes: Vec<(f64, f64)>,
    edges: Vec<Edge>,
    groups: Vec<Group>,
    failed: ProcessSet,
    quorum: Option<Quorum>,
}

/// The processes whose permission somebody has.
#[derive(Clone, Debug)]
struct Quorum {
    of: ProcessId,
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
    name: Saying,
    members: Vec<usize>,
}

impl Topology {
    /// The most processes that are drawn; of more the first ones are, and a note says so.
    pub const DRAWN_MOST: usize = 256;

    /// A quorum system as one process sees it: where the processes stand, who has failed, and its quorum.
    pub fn quorum(system: &AnySystem, failed: &ProcessSet, of: ProcessId) -> Self {
        let n = system.processes();
        let drawn = match system {
            AnySystem::PerView(AnyPerView::VCubeHalves(_)) => Self::new(n).vcube(of),
            AnySystem::PerView(AnyPerView::Grid(_))
            | AnySystem::Fixed(AnyCoterie::FixedGrid(_)) => Self::new(n).grid(of),
            AnySystem::Fixed(AnyCoterie::Tree(_)) => Self::tree(n, &SpanningTree::Binary),
            _ => Self::new(n).circle(),
        };
        let members = if failed.contains(of) { None } else { system.quorum(of, failed) };
        let drawn = match &members {
            Some(members) if drawn.edges.is_empty() && drawn.groups.is_empty() => {
                drawn.asking(of, members)
            }
            _ => drawn,
        };
        let mut told = vec![("system", system.name().to_string()), ("who", of.to_string())];
        let phrase = match &members {
            Some(members) => {
                told.extend([("size", members.len().to_string()), ("all", n.to_string())]);
                Phrase::QuorumOf
            }
            None => Phrase::NoQuorumOf,
        };
        Self { title: Saying::Phrase(phrase, told), quorum: Some(Quorum { of, members }), ..drawn }
            .failing(failed)
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
        Self::new(n).around(centre)
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
        Self { title: Saying::Plain(title.into()), ..self }
    }

    /// With a heading that is said in the language of the picture.
    #[must_use]
    pub fn called(self, phrase: Phrase, holes: Vec<(&'static str, String)>) -> Self {
        Self { title: Saying::Phrase(phrase, holes), ..self }
    }

    /// In this language.
    #[must_use]
    pub fn in_words(self, words: Vocabulary) -> Self {
        Self { words, ..self }
    }

    /// Without anybody's quorum: only where the processes stand.
    #[must_use]
    pub fn without_quorum(self) -> Self {
        Self { quorum: None, ..self }
    }

    /// With these processes down.
    #[must_use]
    pub fn failing(self, failed: &ProcessSet) -> Self {
        Self { failed: failed.clone(), ..self }
    }

    /// The picture as an SVG file.
    pub fn svg(&self, theme: Theme) -> String {
        paint::draw(self, theme)
    }

    fn new(processes: usize) -> Self {
        Self {
            title: Saying::none(),
            words: Vocabulary::default(),
            processes,
            nodes: Vec::new(),
            edges: Vec::new(),
            groups: Vec::new(),
            failed: ProcessSet::new(),
            quorum: None,
        }
    }
}
