//! Quorums of one view.

use quorate_core::quorum::QuorumSystem;
use quorate_core::{ProcessId, ProcessSet};
use serde::Serialize;

use super::{LISTED_MOST, numbers};

/// Approximate maximum number of steps for building every quorum. If it takes more, only a few are built.
const STEPS_MOST: usize = 1 << 26;

/// Approximate maximum number of members of these few quorums together.
const SAMPLED_MEMBERS_MOST: usize = 1 << 20;

/// A process and its quorum.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OwnQuorum {
    /// Process that owns the quorum.
    pub process: u32,
    /// Members of the quorum; `None` if the process has failed or has no quorum left.
    pub members: Option<Vec<u32>>,
}

/// Sizes of the smallest and the largest quorum; zero if there is no quorum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sizes {
    /// Size of the smallest quorum.
    pub min: usize,
    /// Size of the largest quorum.
    pub max: usize,
}

/// Numbers of quorums that the live processes are in; `None` if only some quorums were built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Degrees {
    /// Least number over the live processes.
    pub min: Option<usize>,
    /// Greatest number over the live processes.
    pub max: Option<usize>,
}

/// Two processes of which one's quorum is a proper subset of the other's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Nested {
    /// Owner of the smaller quorum.
    pub inner: u32,
    /// Owner of the larger quorum.
    pub outer: u32,
}

/// Maekawa's four conditions on the quorums of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Maekawa {
    /// Whether any two quorums intersect.
    pub every_two_meet: bool,
    /// Whether every process is in its own quorum.
    pub own_contains_oneself: bool,
    /// Whether all quorums have the same size.
    pub equal_sizes: bool,
    /// Whether all live processes are in equally many quorums; `None` if only some quorums were built.
    pub equal_degrees: Option<bool>,
    /// Number of quorums that were compared with each other.
    pub compared: usize,
}

/// Facts about the quorums of one view.
pub(super) struct Survey {
    pub(super) listed: Vec<OwnQuorum>,
    pub(super) built: usize,
    pub(super) sizes: Sizes,
    pub(super) without_quorum: Vec<u32>,
    live: ProcessSet,
    /// Number of built quorums that contain their owner.
    own: usize,
    /// Number of quorums that each process is in, if every quorum was built.
    degrees: Option<Vec<usize>>,
    /// Quorums to compare with each other, without duplicates.
    distinct: Vec<ProcessSet>,
}

impl Survey {
    pub(super) fn new(system: &impl QuorumSystem, failed: &ProcessSet, shown: ProcessId) -> Self {
        let n = system.processes();
        let live = &ProcessSet::all(n) - failed;
        let listed = listed(n, shown);
        let of = |process: ProcessId| {
            if live.contains(process) { system.quorum(process, failed) } else { None }
        };
        // With failures, a quorum may have to be searched for among all processes.
        let size = live.first().and_then(of).map_or(1, |quorum| quorum.len());
        let steps = if failed.is_empty() { size } else { n };
        let all = n.saturating_mul(steps) <= STEPS_MOST;
        let mut survey = Self {
            listed: Vec::new(),
            built: 0,
            sizes: Sizes::default(),
            without_quorum: Vec::new(),
            live: live.clone(),
            own: 0,
            degrees: all.then(|| vec![0; n]),
            distinct: Vec::new(),
        };
        let build: Box<dyn Iterator<Item = ProcessId>> =
            if all { Box::new(ProcessId::all(n)) } else { Box::new(listed.iter()) };
        for process in build {
            let quorum = of(process);
            survey.count(process, quorum.as_ref());
            if listed.contains(process) {
                let members = quorum.as_ref().map(numbers);
                survey.listed.push(OwnQuorum { process: process.number(), members });
                survey.distinct.extend(quorum);
            }
        }
        survey.distinct.sort_unstable();
        survey.distinct.dedup();
        survey
    }

    fn count(&mut self, process: ProcessId, quorum: Option<&ProcessSet>) {
        let Some(quorum) = quorum else {
            if self.live.contains(process) {
                self.without_quorum.push(process.number());
            }
            return;
        };
        let size = quorum.len();
        let least = if self.built == 0 { size } else { self.sizes.min.min(size) };
        self.sizes = Sizes { min: least, max: self.sizes.max.max(size) };
        self.built += 1;
        self.own += usize::from(quorum.contains(process));
        if let Some(degrees) = &mut self.degrees {
            quorum.iter().for_each(|member| degrees[member.index()] += 1);
        }
    }

    pub(super) fn degrees(&self) -> Degrees {
        let Some(degrees) = &self.degrees else { return Degrees { min: None, max: None } };
        let of_live = || self.live.iter().map(|process| degrees[process.index()]);
        Degrees { min: of_live().min().or(Some(0)), max: of_live().max().or(Some(0)) }
    }

    /// The process in the most quorums, the first one if there are several, and the number of these quorums.
    pub(super) fn busiest(&self) -> Option<(u32, usize)> {
        let degrees = self.degrees.as_ref().filter(|_| self.built > 0)?;
        let most = degrees.iter().copied().max()?;
        let place = degrees.iter().position(|degree| *degree == most)?;
        Some((ProcessId::from_index(place).number(), most))
    }

    pub(super) fn load(&self) -> Option<f64> {
        self.busiest().map(|(_, most)| most as f64 / self.built as f64)
    }

    /// Owners of two nested quorums, if there are any.
    pub(super) fn nested(&self) -> Option<Nested> {
        let pairs = self.distinct.iter().flat_map(|a| self.distinct.iter().map(move |b| (a, b)));
        let (inner, outer) = pairs.into_iter().find(|(a, b)| a != b && a.is_subset(b))?;
        let owner = |set: &ProcessSet| {
            let members = Some(numbers(set));
            self.listed.iter().find(|own| own.members == members).map(|own| own.process)
        };
        Some(Nested { inner: owner(inner)?, outer: owner(outer)? })
    }

    pub(super) fn maekawa(&self) -> Maekawa {
        let disjoint = |(place, set): (usize, &ProcessSet)| {
            self.distinct[place..].iter().any(|other| other.is_disjoint(set))
        };
        let Degrees { min, max } = self.degrees();
        Maekawa {
            every_two_meet: !self.distinct.iter().enumerate().any(disjoint),
            own_contains_oneself: self.own == self.built,
            equal_sizes: self.sizes.min == self.sizes.max,
            equal_degrees: self.degrees.is_some().then_some(min == max),
            compared: self.listed.iter().filter(|own| own.members.is_some()).count(),
        }
    }
}

/// Processes whose quorums are listed: all of them, or a few spread evenly and `shown`.
fn listed(n: usize, shown: ProcessId) -> ProcessSet {
    if n <= LISTED_MOST {
        return ProcessSet::all(n);
    }
    let few = (SAMPLED_MEMBERS_MOST / n).clamp(8, 64);
    let spread = (0..few).map(|place| ProcessId::from_index(place * n / few));
    spread.chain([shown]).collect()
}
