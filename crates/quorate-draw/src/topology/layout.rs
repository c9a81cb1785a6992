//! Positions of processes.

use std::f64::consts::TAU;

use quorate_core::quorum::{Wall, columns_and_rows};
use quorate_core::{ProcessId, ProcessSet, SpanningTree, VCube};

use super::{Edge, Group, Topology};
use crate::vocabulary::{LocalizedText, Phrase};

/// Distance between the centres of neighbours.
const STEP: f64 = 92.0;

impl Topology {
    fn drawn_count(&self) -> usize {
        self.processes.min(Self::DRAWN_MOST)
    }

    /// Places the processes on a circle, with process 0 at the top.
    pub(super) fn circle(self) -> Self {
        let n = self.drawn_count();
        let radius = (STEP * 0.8 * n as f64 / TAU).max(if n > 1 { 110.0 } else { 0.0 });
        let position = |process: usize| {
            let angle = TAU * process as f64 / n as f64;
            (radius * angle.sin(), -radius * angle.cos())
        };
        Self { nodes: (0..n).map(position).collect(), ..self }
    }

    /// Adds an edge from each process to `next(process)`, if that is drawn.
    pub(super) fn linked(self, next: impl Fn(usize) -> Option<usize>) -> Self {
        let n = self.drawn_count();
        let edge = |from: usize| {
            let to = next(from).filter(|to| *to < n)?;
            Some(Edge { from, to, bend: 0.0, directed: true })
        };
        Self { edges: (0..n).filter_map(edge).collect(), ..self }
    }

    /// Adds an edge from the owner of a quorum to each other member.
    pub(super) fn with_quorum_edges(mut self, owner: ProcessId, members: &ProcessSet) -> Self {
        let n = self.drawn_count();
        let others = members
            .iter()
            .filter(|member| *member != owner && member.index() < n && owner.index() < n);
        self.edges.extend(others.map(|member| {
            let (from, to) = (owner.index(), member.index());
            Edge { from, to, bend: 0.0, directed: true }
        }));
        self
    }

    /// Places the processes on a circle around `centre`.
    pub(super) fn star_around(self, centre: ProcessId) -> Self {
        let n = self.drawn_count();
        let centre = centre.index().min(n.saturating_sub(1));
        let mut star = self.circle();
        let others = n.saturating_sub(1).max(1) as f64;
        let radius = (STEP * 0.8 * others / TAU).max(130.0);
        for (index, process) in (0..n).filter(|process| *process != centre).enumerate() {
            let angle = TAU * index as f64 / others;
            star.nodes[process] = (radius * angle.sin(), -radius * angle.cos());
            star.edges.push(Edge { from: process, to: centre, bend: 0.0, directed: false });
        }
        if let Some(middle) = star.nodes.get_mut(centre) {
            *middle = (0.0, 0.0);
        }
        star
    }

    /// Places the processes in rows, and groups the row and the column of one process.
    pub(super) fn grid(self, owner: ProcessId) -> Self {
        let n = self.drawn_count();
        let columns = columns_and_rows(self.processes).0.max(1);
        let position =
            |process: usize| ((process % columns) as f64 * STEP, (process / columns) as f64 * STEP);
        let alike =
            |same: &dyn Fn(usize) -> bool| (0..n).filter(|process| same(*process)).collect();
        let groups = row_and_column(
            alike(&|process| process / columns == owner.index() / columns),
            alike(&|process| process % columns == owner.index() % columns),
        );
        Self { nodes: (0..n).map(position).collect(), groups, ..self }
    }

    /// Places the processes in the rows of a wall, and groups the row of one process and its column from there down.
    pub(super) fn wall(self, wall: &Wall, owner: ProcessId) -> Self {
        let n = self.drawn_count();
        let rows: Vec<(usize, usize)> = wall.rows().collect();
        let places = rows.iter().enumerate().flat_map(|(row, (_, width))| {
            (0..*width).map(move |column| (column as f64 * STEP, row as f64 * STEP))
        });
        let own = rows.iter().position(|(start, width)| owner.index() < start + width);
        let below = own.map_or(&[][..], |own| &rows[own..]);
        let (start, width) = below.first().copied().unwrap_or_default();
        let column = owner.index().saturating_sub(start);
        let row = (start..start + width).filter(|member| *member < n);
        let down = below.iter().map(|(start, _)| start + column).filter(|member| *member < n);
        let groups = row_and_column(row.collect(), down.collect());
        Self { nodes: places.take(n).collect(), groups, ..self }
    }

    /// Places the processes in levels by their distance from process 0, each centred above its children.
    pub(super) fn levels(self, tree: &SpanningTree) -> Self {
        let n = self.drawn_count();
        let mut children = vec![Vec::new(); n];
        let mut edges = Vec::new();
        for process in ProcessId::all(n).skip(1) {
            let (from, to) = (process.index(), tree.towards_root(self.processes, process).index());
            if to < n && to != from {
                children[to].push(from);
                edges.push(Edge { from, to, bend: 0.0, directed: false });
            }
        }
        // Leaves stand side by side, in depth-first order.
        let mut nodes = vec![(0.0, 0.0); n];
        let mut next_leaf = 0.0;
        let mut walk = vec![(0, 0, false)];
        while let Some((process, depth, done)) = walk.pop() {
            if process >= n {
                break;
            }
            let below: &[usize] = &children[process];
            match (below.first(), below.last()) {
                (Some(first), Some(last)) if done => {
                    nodes[process] =
                        ((nodes[*first].0 + nodes[*last].0) / 2.0, f64::from(depth) * STEP);
                }
                (Some(_), _) => {
                    walk.push((process, depth, true));
                    walk.extend(below.iter().rev().map(|child| (*child, depth + 1, false)));
                }
                _ => {
                    nodes[process] = (next_leaf, f64::from(depth) * STEP);
                    next_leaf += STEP * 0.72;
                }
            }
        }
        Self { nodes, edges, ..self }
    }

    /// Places the processes as a hypercube, where neighbours differ in one bit. The groups are the clusters of `owner`.
    pub(super) fn vcube(self, owner: ProcessId) -> Self {
        let n = self.drawn_count();
        let vcube = VCube::new(self.processes);
        // Each bit moves to the right or down, higher bits further, so that sub-cubes stay apart.
        let mut step = [0.0; usize::BITS as usize];
        let (mut wide, mut high) = (0.0, 0.0);
        for (bit, step) in step.iter_mut().enumerate().take(10) {
            let gap = STEP + 12.0 * bit as f64;
            let side = if bit % 2 == 0 { &mut wide } else { &mut high };
            *step = *side + gap;
            *side += *step;
        }
        let position = |process: usize| {
            let along = |first: usize| -> f64 {
                (first..10)
                    .step_by(2)
                    .filter(|bit| process >> bit & 1 == 1)
                    .map(|bit| step[bit])
                    .sum()
            };
            (along(0), along(1))
        };
        let mut edges = Vec::new();
        for from in 0..n {
            for bit in 0..vcube.dimension() {
                let to = from ^ (1 << bit);
                if from < to && to < n {
                    let bend = if bit < 2 { 0.0 } else { 13.0 + 9.0 * f64::from(bit) };
                    edges.push(Edge { from, to, bend, directed: false });
                }
            }
        }
        let cluster = |s: u32| {
            let members =
                vcube.cluster(owner, s).map(ProcessId::index).filter(|member| *member < n);
            let values = vec![("number", s.to_string()), ("who", owner.to_string())];
            Group {
                name: LocalizedText::Phrase(Phrase::Cluster, values),
                members: members.collect(),
            }
        };
        let groups = vcube.clusters().map(cluster).filter(|group| !group.members.is_empty());
        Self { nodes: (0..n).map(position).collect(), edges, groups: groups.collect(), ..self }
    }
}

/// The groups of a row and a column, unless none of their processes is drawn.
fn row_and_column(row: Vec<usize>, column: Vec<usize>) -> Vec<Group> {
    let named = [(Phrase::Row, row), (Phrase::Column, column)];
    let drawn = named.into_iter().filter(|(_, members)| !members.is_empty());
    let group = |(name, members)| Group { name: LocalizedText::Phrase(name, Vec::new()), members };
    drawn.map(group).collect()
}
