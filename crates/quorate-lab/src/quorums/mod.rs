//! What a quorum system is worth: its quorums under a view, whether they meet, and what they survive.
//!
//! A *view* is a set of processes believed to have failed. Four things are kept apart:
//!
//! - of the given view (`view.rs`): sizes, degrees, load, minimality, Maekawa's four conditions;
//! - within a view: do any two quorums of the same view meet, for every view there is;
//! - across views: does every quorum of every view meet every quorum of every other view. A quorum never has a
//!   member that its own view calls failed, so where two quorums meet, they meet in a process alive in both views;
//! - survival: how many failures, whichever they are, leave every live process a quorum.
//!
//! With few processes all views are gone through (`every_view.rs`), with more some are drawn (`sample.rs`).

mod disjoint;
mod every_view;
mod sample;
mod survival;
mod view;

use quorate_core::quorum::QuorumSystem;
use quorate_core::{ProcessId, ProcessSet};
use serde::Serialize;

pub use disjoint::{DisjointQuorums, ViewQuorumReport};
pub use survival::{Survival, SurvivalBySize};
pub use view::{Degrees, Maekawa, Nested, OwnQuorum, Sizes};

use every_view::EveryView;
use view::Survey;

/// More processes than this are not analysed.
pub const ANALYSED_MOST: usize = 1 << 16;

/// All quorums are listed up to this many processes; of more, a few spread evenly.
pub const LISTED_MOST: usize = 1 << 10;

/// All 2^n views are gone through up to this many processes.
pub const EVERY_VIEW_MOST: usize = 16;

/// What is known of a quorum system: the JSON that `quorum` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QuorumReport {
    /// The system's name.
    pub system: &'static str,
    /// How many processes it is over.
    pub processes: usize,
    /// The given view: who is believed to have failed.
    pub failed: Vec<u32>,
    /// Each process's quorum under that view.
    pub quorums: Vec<OwnQuorum>,
    /// How many processes are not in that list, because there are too many.
    pub quorums_left_out: usize,
    /// How many quorums were built to say what follows of the given view; all there are, or some.
    pub quorums_built: usize,
    /// Live processes that were found to have no quorum.
    pub without_quorum: Vec<u32>,
    /// The smallest and the largest quorum.
    pub size: Sizes,
    /// In how many quorums the live processes are.
    pub degree: Degrees,
    /// The share of the busiest process if everyone uses its own quorum equally often.
    pub load: Option<f64>,
    /// Who that is.
    pub busiest: Option<u32>,
    /// Whether no quorum of the given view contains a different one.
    pub minimal: bool,
    /// If not, an example.
    pub nested: Option<Nested>,
    /// Maekawa's four conditions under the given view.
    pub maekawa: Maekawa,
    /// Whether any two quorums of the same view meet.
    pub meets_within_view: bool,
    /// Whether any two quorums of any two views meet.
    pub meets_across_views: bool,
    /// The same for two different processes, neither of which has failed in either view: what a perfect failure
    /// detector lets happen.
    pub meets_across_views_of_live: bool,
    /// Whether these answers come from all views, and not from some that were drawn.
    pub exhaustive: bool,
    /// How many views were looked at.
    pub views: u64,
    /// Two quorums of one view that do not meet.
    #[serde(rename = "apart_within_view")]
    pub disjoint_within_view: Option<DisjointQuorums>,
    /// Two quorums of different views that do not meet, taken by live processes if there are such.
    #[serde(rename = "apart_across_views")]
    pub disjoint_across_views: Option<DisjointQuorums>,
    /// Two such quorums of live processes, the first taken when nobody had failed: its holder does nothing wrong,
    /// and others crash.
    #[serde(rename = "apart_after_crashes")]
    pub disjoint_after_crashes: Option<DisjointQuorums>,
    /// What it survives.
    pub survives: Survival,
}

/// Analyses a system under the view that `failed` have failed. What is too much to go through is drawn from the
/// seed; among quorums that are too many to be listed, that of `shown` is.
pub fn analyse(
    system: &impl QuorumSystem,
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
    QuorumReport {
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
        exhaustive,
        views: intersections.views,
        disjoint_within_view: intersections.disjoint_within,
        disjoint_across_views: intersections.disjoint_of_live.or(intersections.disjoint_across),
        disjoint_after_crashes: intersections.disjoint_after_crashes,
        survives,
        quorums: survey.listed,
    }
}

/// What was found about quorums that should meet.
struct Intersections {
    views: u64,
    disjoint_within: Option<DisjointQuorums>,
    disjoint_across: Option<DisjointQuorums>,
    disjoint_of_live: Option<DisjointQuorums>,
    disjoint_after_crashes: Option<DisjointQuorums>,
}

fn numbers(set: &ProcessSet) -> Vec<u32> {
    set.iter().map(ProcessId::number).collect()
}

#[cfg(test)]
mod tests;
