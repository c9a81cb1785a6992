//! Trace validation by name: every step of a run is compared with the actions of a proved model.

use std::sync::OnceLock;

use quorate_algorithms::mutex::leased_quorum::OverLocks;
use quorate_algorithms::mutex::{LeasedQuorum, OverCoteries, OverViews, Quorum};
use quorate_algorithms::{Algorithm, Setup};
use quorate_check::conformance::{ConformanceReport, Model, follow_mutex};
use quorate_core::abstraction::Abstraction;
use quorate_core::mutex::Mutex;
use quorate_core::{Message, Process};
use quorate_sim::scenario::DetectorChoice;
use quorate_sim::{AlgorithmInfo, Conditions, Scenario};

use crate::by_name::entry;
use crate::error::CannotRun;
use crate::setup::{setup, with_defaults};

/// Whether there is a proved model of the algorithm with the quorums and the detector of the scenario.
pub fn has_model(scenario: &Scenario) -> Result<bool, CannotRun> {
    let facts = entry(scenario)?.facts();
    let setup = setup(scenario, facts)?;
    Ok(Modelled::new(facts.profile.name, scenario, &setup).is_some())
}

/// Runs a validated scenario once, and compares every step with the model of the algorithm.
pub fn conformance(
    scenario: &Scenario,
    conditions: Conditions,
) -> Result<ConformanceReport, CannotRun> {
    static COTERIES: OnceLock<Model> = OnceLock::new();
    static VIEWS: OnceLock<Model> = OnceLock::new();
    static LOCKS: OnceLock<Model> = OnceLock::new();
    let facts = entry(scenario)?.facts();
    let setup = setup(scenario, facts)?;
    let scenario = &with_defaults(scenario, facts);
    match Modelled::new(facts.profile.name, scenario, &setup) {
        Some(Modelled::Coteries(its)) => run(scenario, conditions, setup, its, &COTERIES),
        Some(Modelled::Views(its)) => run(scenario, conditions, setup, its, &VIEWS),
        Some(Modelled::Locks(its)) => run(scenario, conditions, setup, *its, &LOCKS),
        None => Err(CannotRun::NoModel { algorithm: facts.profile.name }),
    }
}

/// The abstraction of an algorithm to its model.
enum Modelled {
    Coteries(OverCoteries),
    Views(OverViews),
    Locks(Box<OverLocks>),
}

impl Modelled {
    /// Acknowledgements that ride on the answers of a detector are not part of a model, and neither are wrong suspicions. Of the
    /// locks, voters that have lost their memory are not covered.
    fn new(algorithm: &str, scenario: &Scenario, setup: &Setup) -> Option<Self> {
        if !matches!(scenario.detector, DetectorChoice::Oracle | DetectorChoice::None) {
            return None;
        }
        if algorithm == LeasedQuorum::PROFILE.name {
            let keep_memory = scenario.faults.recover.iter().all(|recovery| recovery.memory);
            return OverLocks::new(setup).filter(|_| keep_memory).map(Box::new).map(Self::Locks);
        }
        if algorithm != Quorum::PROFILE.name {
            return None;
        }
        let coteries = OverCoteries::new(&setup.quorums).map(Self::Coteries);
        coteries.or_else(|| OverViews::new(&setup.quorums).map(Self::Views))
    }
}

fn run<A>(
    scenario: &Scenario,
    conditions: Conditions,
    setup: Setup,
    abstraction: A,
    model: &'static OnceLock<Model>,
) -> Result<ConformanceReport, CannotRun>
where
    A: Abstraction,
    A::Process: Algorithm + Mutex + 'static,
{
    let model = model.get_or_init(|| Model::parse(A::MODEL).expect("a valid model was exported"));
    let info = AlgorithmInfo {
        profile: A::Process::profile(&setup),
        cost: A::Process::cost(&setup),
        kinds: <A::Process as Process>::Message::KINDS,
    };
    let make = move |id| A::Process::build(&setup, id);
    Ok(follow_mutex(scenario, &info, conditions, make, model, abstraction)?)
}
