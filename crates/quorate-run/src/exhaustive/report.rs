//! Report of an exploration: the verdict, and the result for each property.

use quorate_check::{Budget, End};
use quorate_core::{Assumption, Property};
use quorate_sim::monitor::Status;
use serde::Serialize;

use super::search::Found;
use super::{CheckConfig, ExploredAlgorithm, NOT_EXPLORABLE, ROUNDS, is_safe_at_any_time};

/// Result of an exploration: the JSON that `check` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckReport {
    /// Name of the algorithm.
    pub algorithm: String,
    /// Number of processes in the world.
    pub processes: usize,
    /// Verdict: `holds`, `violated` or `bounded`.
    pub verdict: &'static str,
    /// Number of distinct states visited.
    pub states: u64,
    /// Number of steps between these states.
    pub steps: u64,
    /// Greatest distance of a state from the initial state.
    pub depth: u32,
    /// Result for each property.
    pub properties: Vec<CheckedProperty>,
    /// File that replays the counterexample, if one was written.
    pub counterexample: Option<String>,
    /// Number of steps of the counterexample, if there is one.
    pub counterexample_steps: Option<usize>,
    /// Reason why not every state was visited, if so: `memory`, `depth` or `stopped`.
    pub bounded_by: Option<&'static str>,
    /// Estimated number of all states as a power of ten, if the search ended early and paths are known to end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_magnitude: Option<u32>,
    /// Expected number of all states and length of the longest path, if the search ended early and paths are known to end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<ExpectedSize>,
    /// Peak memory use in bytes.
    pub bytes: u64,
    /// The validation of the canonical forms, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validated: Option<ValidatedForms>,
    /// Facts about a search that checks only safety, if it was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub safety_only: Option<SafetyReport>,
    /// Assumptions of the algorithm that the fault budget exceeds.
    pub outside: Vec<&'static str>,
}

/// Expected size of a world of which a part was explored. The range is wide, because it continues the part that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ExpectedSize {
    /// Number of all states, at least.
    pub states_least: u64,
    /// Number of all states, at most.
    pub states_most: u64,
    /// Length of the longest path, or slightly less.
    pub depth: u32,
}

/// The states in which the canonical forms of an algorithm were validated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ValidatedForms {
    /// Number of states, without reductions.
    pub states: u64,
    /// Whether these are all states of the world.
    pub all: bool,
}

/// Facts about a search that checks only safety.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SafetyReport {
    /// Upper bound on the probability that a state was missed because its fingerprint is that of another state.
    pub omission_probability: f64,
    /// Whether every run ends. Then processes that wait forever would have been found in its final state.
    pub every_run_ends: bool,
    /// Peak memory use in bytes for each state.
    pub bytes_per_state: f64,
}

/// A property and its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckedProperty {
    /// Name of the property.
    pub id: &'static str,
    /// Whether the property holds.
    pub status: Status,
    /// Explanation in one sentence.
    pub detail: String,
}

/// Judges the properties by the end of a search.
pub(super) fn report(
    config: &CheckConfig,
    algorithm: &ExploredAlgorithm<'_>,
    Found { exploration: found, safety_only }: &Found,
) -> CheckReport {
    let (profile, vacuous) = (&algorithm.profile, algorithm.vacuous);
    let (verdict, bounded_by) = match &found.end {
        End::Exhausted => ("holds", None),
        End::Broken(_) | End::Vacuous => ("violated", None),
        End::Cyclic => unreachable!("without reductions cycles are analysed"),
        End::Memory => ("bounded", Some("memory")),
        End::Depth => ("bounded", Some("depth")),
        End::Stopped => ("bounded", Some("stopped")),
    };
    let broken = match &found.end {
        End::Broken(broken) => Some(broken),
        _ => None,
    };
    let depth = found.progress.depth;
    let is_limited = profile != &algorithm.unlimited;
    let limit = match is_safe_at_any_time(profile) {
        true => {
            let names = config.expirable.iter().flatten().map(|process| format!(" {process}"));
            let of: String = names.collect();
            let of = if of.is_empty() { of } else { format!(" of{of}") };
            format!("at most {} timers{of} expire", config.budget.timeouts)
        }
        false => format!("the search ends after {ROUNDS} rounds"),
    };
    let judged = |property: Property| {
        let (status, detail) = match (&found.end, property) {
            (_, not_explorable) if NOT_EXPLORABLE.contains(&not_explorable) => {
                (Status::NotChecked, "not watched by the explorer".to_owned())
            }
            (End::Broken(broken), _) if broken.property == property => {
                (Status::Violated, format!("broken after {} steps", broken.steps.len()))
            }
            _ if !config.judges(profile, property)
                && algorithm.unlimited.guarantees.contains(&property) =>
            {
                (Status::NotChecked, limit.clone())
            }
            // Users check only what the algorithm promises or the scenario watches.
            _ if !config.judges(profile, property) => {
                let ask = format!(
                    "not promised by this algorithm; `--watch {property}` checks it anyway"
                );
                (Status::NotChecked, ask)
            }
            _ if config.only.is_some_and(|only| only != property) => {
                (Status::NotChecked, "not checked in this search".to_owned())
            }
            (End::Exhausted, property)
                if is_liveness(property) && safety_only.is_some_and(|it| !it.every_run_ends) =>
            {
                let detail = "no deadlock; only safety was checked, and a run may go on forever";
                (Status::NotChecked, detail.to_owned())
            }
            (End::Exhausted, _) if is_limited && is_safe_at_any_time(profile) => {
                (Status::Holds, format!("{}, while {limit}", property.sentence()))
            }
            (End::Exhausted, _) if is_limited => {
                (Status::Holds, format!("{}, in the first {ROUNDS} rounds", property.sentence()))
            }
            (End::Exhausted, _) => (Status::Holds, property.sentence().to_owned()),
            (End::Vacuous, _) => (Status::Violated, format!("{vacuous}, so nothing was verified")),
            (End::Broken(_), _) => {
                (Status::NotChecked, "the search ended with the first violation".to_owned())
            }
            (_, property) if is_liveness(property) => (
                Status::NotChecked,
                format!("no deadlock to depth {depth}; starvation needs every state"),
            ),
            _ => (Status::NotChecked, format!("no violation to depth {depth}")),
        };
        CheckedProperty { id: property.id(), status, detail }
    };
    let outside =
        |(assumption, beyond): &(Assumption, bool)| *beyond && profile.assumes.contains(assumption);
    let Budget { crashes, recoveries, losses, suspicions, .. } = config.budget;
    let n = config.scenario.processes;
    let tolerates = algorithm.tolerates;
    let traitors = config.scenario.faults.traitor.len();
    let too_many = usize::from(crashes) + traitors > tolerates;
    let beyond = [
        (Assumption::NoCrash, crashes > 0),
        (Assumption::CrashStop, recoveries > 0),
        (Assumption::NoLoss, losses > 0),
        (Assumption::PerfectDetector, suspicions > 0),
        (Assumption::Fifo, !config.scenario.fifo),
        (Assumption::Honesty, traitors > 0),
        (Assumption::FewCrashes, too_many),
        (Assumption::FewFaults, too_many),
        (Assumption::LessThanAHalf, n <= tolerates.saturating_mul(2)),
        (Assumption::LessThanAThird, n <= tolerates.saturating_mul(3)),
    ];
    let listed = Property::of(profile.layer)
        .filter(|property| !property.is_rare() || profile.guarantees.contains(property));
    CheckReport {
        algorithm: config.scenario.algorithm.clone(),
        processes: config.scenario.processes,
        verdict,
        states: found.progress.states,
        steps: found.progress.steps,
        depth,
        properties: listed.map(judged).collect(),
        counterexample: None,
        counterexample_steps: broken.map(|broken| broken.steps.len()),
        bounded_by,
        estimated_magnitude: None,
        expected: found.progress.expected.filter(|_| found.end.is_early()).map(|it| ExpectedSize {
            states_least: it.states_least,
            states_most: it.states_most,
            depth: it.depth,
        }),
        validated: None,
        bytes: found.bytes_most,
        safety_only: *safety_only,
        outside: beyond.iter().filter(|pair| outside(pair)).map(|(a, _)| a.id()).collect(),
    }
}

/// Whether a property says that something happens eventually.
fn is_liveness(property: Property) -> bool {
    matches!(
        property,
        Property::ME2
            | Property::E2
            | Property::Termination
            | Property::NoStarvation
            | Property::SnapshotTermination
            | Property::EventualDetection
            | Property::CommandLiveness
    )
}
