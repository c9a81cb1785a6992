//! Operations on the algorithm that a scenario names.

use quorate_algorithms::{Setup, Shape};
use quorate_core::{Cost, Profile, Span};
use quorate_sim::trace::TraceSink;
use quorate_sim::{Conditions, Driver, Outcome, Scenario};

use crate::catalogue::{Entry, catalogue};
use crate::error::{CannotRun, shortened};
use crate::setup::setup;
use crate::simulate::Simulation;

/// Runs a validated scenario once.
pub fn run(
    scenario: &Scenario,
    conditions: Conditions,
    trace: Option<&mut (dyn TraceSink + '_)>,
) -> Result<Outcome, CannotRun> {
    entry(scenario)?.simulate(Simulation { scenario, conditions, trace, driver: None })
}

/// Runs a validated scenario once with an external driver, so that its processes may run elsewhere.
pub fn run_driven(
    scenario: &Scenario,
    conditions: Conditions,
    trace: Option<&mut (dyn TraceSink + '_)>,
    driver: &mut dyn Driver,
) -> Result<Outcome, CannotRun> {
    entry(scenario)?.simulate(Simulation { scenario, conditions, trace, driver: Some(driver) })
}

/// Checks that the algorithm exists and supports what the scenario requires.
pub fn check(scenario: &Scenario) -> Result<(), CannotRun> {
    let facts = entry(scenario)?.facts();
    let expected = scenario.expect.iter().flat_map(|expect| expect.by_kind.keys());
    let is_known = |kind: &&String| facts.kinds.iter().any(|known| known.name == kind.as_str());
    if let Some(kind) = expected.into_iter().find(|kind| !is_known(kind)) {
        let (algorithm, kind) = (facts.profile.name, shortened(kind));
        return Err(CannotRun::UnknownKind { algorithm, kind });
    }
    setup(scenario, facts).map(|_| ())
}

/// Profile of the scenario's algorithm with the quorums of the scenario.
pub fn profile(scenario: &Scenario) -> Result<Profile, CannotRun> {
    let facts = entry(scenario)?.facts();
    setup(scenario, facts).map(|setup| (facts.profile_of)(&setup))
}

/// Promised cost of the scenario's algorithm, and the setup that the algorithm receives.
pub fn promised_cost(scenario: &Scenario) -> Result<(Cost, Setup), CannotRun> {
    let facts = entry(scenario)?.facts();
    setup(scenario, facts).map(|setup| ((facts.cost)(&setup), setup))
}

/// Communication topology of the scenario's algorithm, and the setup that the algorithm receives.
pub fn shape(scenario: &Scenario) -> Result<(Shape, Setup), CannotRun> {
    let facts = entry(scenario)?.facts();
    setup(scenario, facts).map(|setup| (facts.shape, setup))
}

/// Duration of a round of the scenario's failure detector. `None` if the algorithm is not a failure detector.
pub fn detector_round(scenario: &Scenario) -> Result<Option<Span>, CannotRun> {
    let entry = entry(scenario)?;
    setup(scenario, entry.facts()).map(|setup| entry.detector_round(&setup))
}

/// The entry of the scenario's algorithm.
pub(crate) fn entry(scenario: &Scenario) -> Result<&'static Entry, CannotRun> {
    let name = scenario.algorithm.as_str();
    catalogue().get(name).ok_or_else(|| CannotRun::UnknownAlgorithm { name: shortened(name) })
}
