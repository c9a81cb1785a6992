//! Runs the algorithm that a scenario names.

use quorate_algorithms::catalogue::{self, AlgorithmQuery, PROFILES, Visitor};
use quorate_algorithms::detector::{
    AdaptiveHeartbeat, AnyDetector, Heartbeat, HeartbeatRing, VcubeDiagnosis,
};
use quorate_algorithms::{Algorithm, Piggybacking, Sendable, Setup, Shape};
use quorate_core::agreement::Agreement;
use quorate_core::clock_sync::ClockSync;
use quorate_core::detector::Detector;
use quorate_core::election::Election;
use quorate_core::multicast::Multicast;
use quorate_core::mutex::Mutex;
use quorate_core::{
    Cost, Either, Erased, ErasedMessage, Message, Process, ProcessId, Profile, Stack,
};
use quorate_sim::scenario::DetectorChoice;
use quorate_sim::trace::TraceSink;
use quorate_sim::{
    AlgorithmInfo, ClockRoles, Conditions, Driver, MemoryFootprint, Outcome, ProcessFactory,
    RunError, Scenario, Wire, run_agreement, run_clock, run_detector, run_election, run_multicast,
    run_mutex,
};

use crate::setup::{AlgorithmConstants, setup, with_defaults};

/// Reason why a scenario could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CannotRun {
    /// No algorithm has that name.
    #[error("there is no algorithm `{name}`; {}", suggestion(name))]
    UnknownAlgorithm {
        /// Requested name of an algorithm.
        name: String,
    },
    /// The algorithm does not work over that quorum system.
    #[error("{algorithm} does not work over `{quorums}`; {known}")]
    UnknownQuorums {
        /// Name of the algorithm.
        algorithm: &'static str,
        /// Name of the requested quorum system.
        quorums: String,
        /// Sentence that names the supported quorum systems.
        known: String,
    },
    /// The algorithm has no messages of this kind.
    #[error("{algorithm} has no messages of the kind `{kind}`")]
    UnknownKind {
        /// Name of the algorithm.
        algorithm: &'static str,
        /// Kind of message that was expected.
        kind: String,
    },
    /// An option is not supported, or the run is impossible for the reason given.
    #[error("{0}")]
    Option(String),
    /// A run that was to be measured did not end as required.
    #[error("{algorithm} with {processes} processes and seed {seed} cannot be measured: {problem}")]
    Unmeasurable {
        /// Name of the algorithm.
        algorithm: String,
        /// Number of processes in the run.
        processes: usize,
        /// Seed of the run.
        seed: u64,
        /// Description of the problem.
        problem: String,
    },
    /// A key of the scenario does not fit the family of the algorithm.
    #[error("{algorithm} is {} {family} algorithm: {problem}", article(family))]
    OtherFamily {
        /// Name of the algorithm.
        algorithm: &'static str,
        /// Family of the algorithm.
        family: &'static str,
        /// Key of the scenario that does not fit.
        key: &'static str,
        /// Description of the mismatch.
        problem: String,
    },
    /// The run was cancelled, because no caller waits for its result any more.
    #[error("it was cancelled")]
    Cancelled,
    /// The run itself failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Runs a validated scenario once.
pub fn run(
    scenario: &Scenario,
    conditions: Conditions,
    trace: Option<&mut (dyn TraceSink + '_)>,
) -> Result<Outcome, CannotRun> {
    let name = scenario.algorithm.as_str();
    catalogue::visit(name, Simulate { scenario, conditions, trace, driver: None })
        .unwrap_or_else(|| Err(CannotRun::UnknownAlgorithm { name: shortened(name) }))
}

/// Runs a validated scenario once with an external driver, so that its processes may run elsewhere.
pub fn run_driven(
    scenario: &Scenario,
    conditions: Conditions,
    trace: Option<&mut (dyn TraceSink + '_)>,
    driver: &mut dyn Driver,
) -> Result<Outcome, CannotRun> {
    let name = scenario.algorithm.as_str();
    catalogue::visit(name, Simulate { scenario, conditions, trace, driver: Some(driver) })
        .unwrap_or_else(|| Err(CannotRun::UnknownAlgorithm { name: shortened(name) }))
}

/// Checks that the algorithm exists and supports what the scenario requires.
pub fn check(scenario: &Scenario) -> Result<(), CannotRun> {
    struct CheckQuery<'a>(&'a Scenario);
    impl AlgorithmQuery for CheckQuery<'_> {
        type Answer = Result<(), CannotRun>;
        fn query<A: Algorithm>(self) -> Self::Answer {
            let expected = self.0.expect.iter().flat_map(|expect| expect.by_kind.keys());
            let is_known =
                |kind: &&String| A::Message::KINDS.iter().any(|known| known.name == kind.as_str());
            if let Some(kind) = expected.into_iter().find(|kind| !is_known(kind)) {
                let (algorithm, kind) = (A::PROFILE.name, shortened(kind));
                return Err(CannotRun::UnknownKind { algorithm, kind });
            }
            setup(self.0, &AlgorithmConstants::of::<A>()).map(|_| ())
        }
    }
    query_algorithm(scenario, CheckQuery(scenario))
}

/// Promised cost of the scenario's algorithm, and the setup that the algorithm receives.
pub fn promised_cost(scenario: &Scenario) -> Result<(Cost, Setup), CannotRun> {
    struct CostQuery<'a>(&'a Scenario);
    impl AlgorithmQuery for CostQuery<'_> {
        type Answer = Result<(Cost, Setup), CannotRun>;
        fn query<A: Algorithm>(self) -> Self::Answer {
            setup(self.0, &AlgorithmConstants::of::<A>()).map(|setup| (A::cost(&setup), setup))
        }
    }
    query_algorithm(scenario, CostQuery(scenario))
}

/// Communication topology of the scenario's algorithm, and the setup that the algorithm receives.
pub fn shape(scenario: &Scenario) -> Result<(Shape, Setup), CannotRun> {
    struct ShapeQuery<'a>(&'a Scenario);
    impl AlgorithmQuery for ShapeQuery<'_> {
        type Answer = Result<(Shape, Setup), CannotRun>;
        fn query<A: Algorithm>(self) -> Self::Answer {
            setup(self.0, &AlgorithmConstants::of::<A>()).map(|setup| (A::SHAPE, setup))
        }
    }
    query_algorithm(scenario, ShapeQuery(scenario))
}

fn query_algorithm<T>(
    scenario: &Scenario,
    query: impl AlgorithmQuery<Answer = Result<T, CannotRun>>,
) -> Result<T, CannotRun> {
    let name = scenario.algorithm.as_str();
    catalogue::query_algorithm(name, query)
        .unwrap_or_else(|| Err(CannotRun::UnknownAlgorithm { name: shortened(name) }))
}

/// The known name that is most similar to this one, if any is similar enough.
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

fn article(family: &str) -> &'static str {
    if family.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}

pub(crate) fn shortened(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(60).collect()
}

/// Constructor of the failure detector that every process runs itself, if it runs one.
fn detector_builder(choice: DetectorChoice) -> Option<fn(&Setup, ProcessId) -> AnyDetector> {
    match choice {
        DetectorChoice::Oracle | DetectorChoice::None => None,
        DetectorChoice::Heartbeat => {
            Some(|setup, id| Either::First(Either::First(Heartbeat::build(setup, id))))
        }
        DetectorChoice::Vcube => {
            Some(|setup, id| Either::First(Either::Second(VcubeDiagnosis::build(setup, id))))
        }
        DetectorChoice::HeartbeatRing => {
            Some(|setup, id| Either::Second(Either::First(HeartbeatRing::build(setup, id))))
        }
        DetectorChoice::AdaptiveHeartbeat => {
            Some(|setup, id| Either::Second(Either::Second(AdaptiveHeartbeat::build(setup, id))))
        }
    }
}

/// Simulates the algorithm that it visits.
struct Simulate<'a, 't, 's, 'd> {
    scenario: &'a Scenario,
    conditions: Conditions,
    trace: Option<&'t mut (dyn TraceSink + 's)>,
    driver: Option<&'d mut dyn Driver>,
}

/// Factory of processes made by `make`, whose messages can be sent over a wire.
fn factory<'d, P: Process<Message: Sendable> + 'static>(
    make: impl Fn(ProcessId) -> P + 'static,
    driver: Option<&'d mut dyn Driver>,
) -> ProcessFactory<'d, P> {
    let wire = Wire { encode: to_bytes, decode: |bytes| postcard::from_bytes(bytes).ok() };
    ProcessFactory::simulated(make).driven(wire, driver)
}

/// The same with type-erased processes. All processes of a family are driven by the same code, and the encoding
/// of messages does not change.
fn erased_factory<'d, P: Process<Message: Sendable> + 'static>(
    make: impl Fn(ProcessId) -> P + 'static,
    driver: Option<&'d mut dyn Driver>,
) -> ProcessFactory<'d, ErasedProcess<P>> {
    let wire = Wire {
        encode: |message: &ErasedMessage| {
            message.downcast_ref::<P::Message>().map_or_else(Vec::new, to_bytes)
        },
        decode: |bytes| postcard::from_bytes::<P::Message>(bytes).ok().map(ErasedMessage::new),
    };
    ProcessFactory::simulated(move |id| Erased::new(make(id)))
        .with_footprint(MemoryFootprint::of::<P>())
        .driven(wire, driver)
}

type ErasedProcess<P> =
    Erased<<P as Process>::Command, <P as Process>::Output, <P as Process>::Misuse>;

/// An algorithm above its own failure detector, of any kind.
type OverDetector<A> = Stack<A, AnyDetector>;

fn to_bytes<M: Sendable>(message: &M) -> Vec<u8> {
    postcard::to_stdvec(message).expect("messages are plain data")
}

/// Description of an algorithm, with or without a detector below it.
fn algorithm_info<A: Algorithm, P: Process>(profile: Profile, setup: &Setup) -> AlgorithmInfo {
    AlgorithmInfo { profile, cost: A::cost(setup), kinds: P::Message::KINDS }
}

impl Visitor for Simulate<'_, '_, '_, '_> {
    type Answer = Result<Outcome, CannotRun>;

    fn mutex<A: Algorithm + Mutex + 'static>(self) -> Self::Answer {
        let Self { scenario, conditions, trace, driver } = self;
        let setup = setup(scenario, &AlgorithmConstants::of::<A>())?;
        let profile = A::profile(&setup);
        Ok(match detector_builder(scenario.detector) {
            None => {
                let info = algorithm_info::<A, A>(profile, &setup);
                let factory = factory(move |id| A::build(&setup, id), driver);
                run_mutex(scenario, &info, conditions, factory, trace)
            }
            Some(below) => {
                let info = algorithm_info::<A, OverDetector<A>>(profile, &setup);
                let make = move |id| Stack::new(A::build(&setup, id), below(&setup, id));
                run_mutex(scenario, &info, conditions, erased_factory(make, driver), trace)
            }
        }?)
    }

    fn piggybacking_mutex<A: Piggybacking + Mutex + 'static>(self) -> Self::Answer {
        if self.scenario.detector != DetectorChoice::Vcube {
            return self.mutex::<A>();
        }
        let Self { scenario, conditions, trace, driver } = self;
        let setup = setup(scenario, &AlgorithmConstants::of::<A>())?;
        let info = algorithm_info::<A, A::WithDiagnosis>(A::profile(&setup), &setup);
        let factory = erased_factory(move |id| A::build_piggybacking(&setup, id), driver);
        Ok(run_mutex(scenario, &info, conditions, factory, trace)?)
    }

    fn election<A: Algorithm + Election + 'static>(self) -> Self::Answer {
        let Self { scenario, conditions, trace, driver } = self;
        let setup = setup(scenario, &AlgorithmConstants::of::<A>())?;
        let profile = A::PROFILE;
        Ok(match detector_builder(scenario.detector) {
            None => {
                let info = algorithm_info::<A, A>(profile, &setup);
                let factory = factory(move |id| A::build(&setup, id), driver);
                run_election(scenario, &info, A::BYTES_PER_OTHER, conditions, factory, trace)
            }
            Some(below) => {
                let info = algorithm_info::<A, OverDetector<A>>(profile, &setup);
                let make = move |id| Stack::new(A::build(&setup, id), below(&setup, id));
                run_election(
                    scenario,
                    &info,
                    A::BYTES_PER_OTHER,
                    conditions,
                    erased_factory(make, driver),
                    trace,
                )
            }
        }?)
    }

    fn agreement<A: Algorithm + Agreement + 'static>(self) -> Self::Answer {
        let Self { scenario, conditions, trace, driver } = self;
        let setup = setup(scenario, &AlgorithmConstants::of::<A>())?;
        let scenario = &with_defaults(scenario, &AlgorithmConstants::of::<A>());
        let profile = A::profile(&setup);
        Ok(match detector_builder(scenario.detector) {
            None => {
                let info = algorithm_info::<A, A>(profile, &setup);
                let factory = factory(move |id| A::build(&setup, id), driver);
                run_agreement(scenario, &info, A::AGREEMENT_KIND, conditions, factory, trace)
            }
            Some(below) => {
                let info = algorithm_info::<A, OverDetector<A>>(profile, &setup);
                let make = move |id| Stack::new(A::build(&setup, id), below(&setup, id));
                run_agreement(
                    scenario,
                    &info,
                    A::AGREEMENT_KIND,
                    conditions,
                    erased_factory(make, driver),
                    trace,
                )
            }
        }?)
    }

    fn multicast<A: Algorithm + Multicast + 'static>(self) -> Self::Answer {
        let Self { scenario, conditions, trace, driver } = self;
        let setup = setup(scenario, &AlgorithmConstants::of::<A>())?;
        let scenario = &with_defaults(scenario, &AlgorithmConstants::of::<A>());
        let profile = A::PROFILE;
        Ok(match detector_builder(scenario.detector) {
            None => {
                let info = algorithm_info::<A, A>(profile, &setup);
                let factory = factory(move |id| A::build(&setup, id), driver);
                run_multicast(scenario, &info, conditions, factory, trace)
            }
            Some(below) => {
                let info = algorithm_info::<A, OverDetector<A>>(profile, &setup);
                let make = move |id| Stack::new(A::build(&setup, id), below(&setup, id));
                run_multicast(scenario, &info, conditions, erased_factory(make, driver), trace)
            }
        }?)
    }

    fn clock<A: Algorithm + ClockSync + 'static>(self) -> Self::Answer {
        let Self { scenario, conditions, trace, driver } = self;
        let setup = setup(scenario, &AlgorithmConstants::of::<A>())?;
        let roles = if A::ASKS_SERVERS { ClockRoles::Servers } else { ClockRoles::Master };
        let profile = A::profile(&setup);
        Ok(match detector_builder(scenario.detector) {
            None => {
                let info = algorithm_info::<A, A>(profile, &setup);
                let factory = factory(move |id| A::build(&setup, id), driver);
                run_clock(scenario, &info, roles, conditions, factory, trace)
            }
            Some(below) => {
                let info = algorithm_info::<A, OverDetector<A>>(profile, &setup);
                let make = move |id| Stack::new(A::build(&setup, id), below(&setup, id));
                run_clock(scenario, &info, roles, conditions, erased_factory(make, driver), trace)
            }
        }?)
    }

    fn detector<A: Algorithm + Detector + 'static>(self) -> Self::Answer {
        let Self { scenario, conditions, trace, driver } = self;
        let setup = setup(scenario, &AlgorithmConstants::of::<A>())?;
        let info = algorithm_info::<A, A>(A::PROFILE, &setup);
        let factory = factory(move |id| A::build(&setup, id), driver);
        Ok(run_detector(scenario, &info, conditions, factory, trace)?)
    }
}
