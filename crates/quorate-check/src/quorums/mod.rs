//! Analysis of a quorum system: its quorums under a view, whether they intersect, and the failures that they survive.
//!
//! A *view* is a set of processes believed to have failed. Five questions are kept apart:
//!
//! - the given view (`view.rs`): sizes, degrees, load, minimality, Maekawa's four conditions;
//! - within a view: do any two quorums of the same view intersect, for every possible view;
//! - across views: does every quorum of every view intersect every quorum of every other view. A quorum never has a member
//!   that its own view considers failed. So where two quorums intersect, they do so in a process alive in both views;
//! - monotone: does a quorum get new members only if one of its members fails. It is sufficient to check one further
//!   failure at a time ([`Monotone`](quorate_core::quorum::Monotone));
//! - survival: how many failures, whichever they are, leave every live process a quorum.
//!
//! With few processes all views are enumerated (`every_view.rs`), with more they are sampled (`sample.rs`).

mod disjoint;
mod every_view;
mod monotone;
mod sample;
mod survival;
mod view;

use quorate_core::quorum::{AnyCoterie, AnySystem, QuorumSystem};
use quorate_core::{ProcessId, ProcessSet};
use serde::Serialize;

pub use disjoint::{DisjointQuorums, ViewQuorumReport};
pub use monotone::NonMonotoneStep;
pub use survival::{Survival, SurvivalBySize};
pub use view::{Degrees, Maekawa, Nested, OwnQuorum, Sizes};

use every_view::EveryView;
use view::Survey;

/// Maximum number of processes that can be analysed.
pub const ANALYSED_MOST: usize = 1 << 16;

/// Maximum number of processes for which all quorums are listed. With more, a few are, spread evenly.
pub const LISTED_MOST: usize = 1 << 10;

/// Maximum number of processes for which all 2^n views are enumerated.
pub const EVERY_VIEW_MOST: usize = 16;

/// Analysis of a quorum system: the JSON that `quorum` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QuorumReport {
    /// Name of the system.
    pub system: &'static str,
    /// Number of processes in the system.
    pub processes: usize,
    /// The given view: the processes believed to have failed.
    pub failed: Vec<u32>,
    /// Each process's quorum under that view.
    pub quorums: Vec<OwnQuorum>,
    /// Number of processes that are not in that list because there are too many.
    pub quorums_left_out: usize,
    /// All paths of a tree that are sufficient under that view, or the left-most ones; empty for other systems.
    pub paths: Vec<Vec<u32>>,
    /// Whether there are more such paths.
    pub paths_left_out: bool,
    /// Number of quorums built for the following figures of the given view: all quorums, or some.
    pub quorums_built: usize,
    /// Live processes that were found to have no quorum.
    pub without_quorum: Vec<u32>,
    /// Sizes of the smallest and the largest quorum.
    pub size: Sizes,
    /// Numbers of quorums that the live processes are in.
    pub degree: Degrees,
    /// Share of the busiest process if all processes use their own quorums equally often.
    pub load: Option<f64>,
    /// Process with the greatest share.
    pub busiest: Option<u32>,
    /// Whether no quorum of the given view contains a different one.
    pub minimal: bool,
    /// Example of nested quorums, if there is one.
    pub nested: Option<Nested>,
    /// Maekawa's four conditions under the given view.
    pub maekawa: Maekawa,
    /// Whether any two quorums of the same view intersect.
    pub meets_within_view: bool,
    /// Whether any two quorums of any two views intersect.
    pub meets_across_views: bool,
    /// The same for two different processes, neither of which has failed in either view. A perfect
    /// failure detector allows this case.
    pub meets_across_views_of_live: bool,
    /// Whether the system is monotone: quorums of the same view intersect, and a quorum without failed
    /// members changes after a further failure only into a subset of itself.
    pub monotone: bool,
    /// Further failure after which a quorum changes in another way.
    pub not_monotone: Option<NonMonotoneStep>,
    /// Whether these answers come from all views and not from a sample.
    pub exhaustive: bool,
    /// Number of views examined.
    pub views: u64,
    /// Two quorums of one view that do not intersect.
    #[serde(rename = "apart_within_view")]
    pub disjoint_within_view: Option<DisjointQuorums>,
    /// Two quorums of different views that do not intersect, taken by live processes if there are such.
    #[serde(rename = "apart_across_views")]
    pub disjoint_across_views: Option<DisjointQuorums>,
    /// Two such quorums of live processes, the first taken when no process had failed. Its holder does
    /// nothing wrong, and others crash.
    #[serde(rename = "apart_after_crashes")]
    pub disjoint_after_crashes: Option<DisjointQuorums>,
    /// Failures that the system survives.
    pub survives: Survival,
}

/// Maximum number of paths of a tree that are listed.
const PATHS_MOST: usize = 32;

/// Analyses a system under the view that `failed` have failed. Views that are too many to enumerate are sampled with the
/// seed. If not all quorums can be listed, the one of `shown` is.
pub fn analyse(
    system: &AnySystem,
    failed: &ProcessSet,
    shown: ProcessId,
    seed: u64,
) -> QuorumReport {
    let n = system.processes();
    let survey = Survey::new(system, failed, shown);
    let nested = survey.nested();
    let exhaustive = n <= EVERY_VIEW_MOST;
    let (intersections, survives) = if exhaustive {
        let every = EveryView::new(system);
        (every.intersections(), survival::exact_survival(&every))
    } else {
        let mut sampler = sample::ViewSampler::new(system, seed);
        (sampler.intersections(), survival::estimated_survival(&mut sampler))
    };
    let mut paths = match system {
        AnySystem::Fixed(AnyCoterie::Tree(tree)) => tree.alternatives(failed, PATHS_MOST + 1),
        _ => Vec::new(),
    };
    let paths_left_out = paths.len() > PATHS_MOST;
    paths.truncate(PATHS_MOST);
    QuorumReport {
        paths: paths.iter().map(numbers).collect(),
        paths_left_out,
        system: system.name(),
        processes: n,
        failed: numbers(failed),
        quorums_left_out: n - survey.listed.len(),
        quorums_built: survey.built,
        without_quorum: survey.without_quorum.clone(),
        size: survey.sizes,
        degree: survey.degrees(),
        load: survey.load(),
        busiest: survey.busiest().map(|(process, _)| process),
        minimal: nested.is_none(),
        nested,
        maekawa: survey.maekawa(),
        meets_within_view: intersections.disjoint_within.is_none(),
        meets_across_views: intersections.disjoint_across.is_none()
            && intersections.disjoint_of_live.is_none(),
        meets_across_views_of_live: intersections.disjoint_of_live.is_none(),
        monotone: intersections.disjoint_within.is_none()
            && intersections.non_monotone_step.is_none(),
        not_monotone: intersections.non_monotone_step,
        exhaustive,
        views: intersections.views,
        disjoint_within_view: intersections.disjoint_within,
        disjoint_across_views: intersections.disjoint_of_live.or(intersections.disjoint_across),
        disjoint_after_crashes: intersections.disjoint_after_crashes,
        survives,
        quorums: survey.listed,
    }
}

/// Findings about the quorums of different processes and views.
struct Intersections {
    views: u64,
    disjoint_within: Option<DisjointQuorums>,
    disjoint_across: Option<DisjointQuorums>,
    disjoint_of_live: Option<DisjointQuorums>,
    disjoint_after_crashes: Option<DisjointQuorums>,
    non_monotone_step: Option<NonMonotoneStep>,
}

fn numbers(set: &ProcessSet) -> Vec<u32> {
    set.iter().map(ProcessId::number).collect()
}

#[cfg(test)]
mod tests;
