//! Runs the algorithm that a scenario names.

use quorate_algorithms::catalogue::{self, PROFILES, Visitor};
use quorate_algorithms::detector::Heartbeat;
use quorate_algorithms::{Algorithm, Setup};
use quorate_core::mutex::Mutex;
use quorate_core::{ProcessId, Stack};
use quorate_sim::scenario::DetectorChoice;
use quorate_sim::trace::TraceSink;
use quorate_sim::{Conditions, Outcome, RunError, Scenario, Subject, run_mutex};

/// Why a scenario could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// No algorithm has that name.
    #[error("there is no algorithm `{name}`; {}", suggestion(name))]
    UnknownAlgorithm {
        /// What was asked for.
        name: String,
    },
    /// The run itself failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Runs a validated scenario once.
pub fn run(
    scenario: &Scenario,
    conditions: Conditions,
    trace: Option<&mut (dyn TraceSink + '_)>,
) -> Result<Outcome, LabError> {
    let name = scenario.algorithm.as_str();
    catalogue::visit(name, Simulate { scenario, conditions, trace })
        .ok_or_else(|| LabError::UnknownAlgorithm { name: shortened(name) })?
        .map_err(LabError::from)
}

/// The known name that is most like this one, if one is.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let close = |candidate: &&str| strsim::jaro_winkler(name, candidate) > 0.7;
    known
        .into_iter()
        .filter(close)
        .max_by(|a, b| strsim::jaro_winkler(name, a).total_cmp(&strsim::jaro_winkler(name, b)))
}

fn suggestion(name: &str) -> String {
    match nearest(name, PROFILES.iter().map(|profile| profile.name)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`quorate list` names them all".to_owned(),
    }
}

fn shortened(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(60).collect()
}

/// Simulates whatever it visits.
struct Simulate<'a, 't, 's> {
    scenario: &'a Scenario,
    conditions: Conditions,
    trace: Option<&'t mut (dyn TraceSink + 's)>,
}

impl Visitor for Simulate<'_, '_, '_> {
    type Answer = Result<Outcome, RunError>;

    fn mutex<A: Algorithm + Mutex + 'static>(self) -> Self::Answer {
        let Self { scenario, conditions, trace } = self;
        let setup = Setup { n: scenario.processes, server: ProcessId::new(scenario.server) };
        let subject = Subject { profile: A::PROFILE, cost: A::cost(&setup) };
        match scenario.detector {
            DetectorChoice::Oracle | DetectorChoice::None => {
                run_mutex(scenario, &subject, conditions, move |id| A::build(&setup, id), trace)
            }
            DetectorChoice::Heartbeat => {
                let (period, timeout) = scenario.heartbeat();
                let make = move |id| {
                    Stack::new(A::build(&setup, id), Heartbeat::new(setup.n, id, period, timeout))
                };
                run_mutex(scenario, &subject, conditions, make, trace)
            }
        }
    }
}
