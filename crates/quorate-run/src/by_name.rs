//! Runs the algorithm that a scenario names.

use quorate_algorithms::catalogue::{self, Look, PROFILES, Visitor};
use quorate_algorithms::detector::{
    AdaptiveHeartbeat, AnyDetector, Heartbeat, HeartbeatRing, VcubeDiagnosis,
};
use quorate_algorithms::{Algorithm, Rides, Sendable, Setup, Shape};
use quorate_core::agreement::Agreement;
use quorate_core::clock_sync::ClockSync;
use quorate_core::detector::Detector;
use quorate_core::election::Election;
use quorate_core::multicast::Multicast;
use quorate_core::mutex::Mutex;
use quorate_core::{
    Cost, Either, Message, Process, ProcessId, Profile, Stack, Veiled, VeiledMessage,
};
use quorate_sim::scenario::DetectorChoice;
use quorate_sim::trace::TraceSink;
use quorate_sim::{
    Cast, ClockRoles, Conditions, Driver, Outcome, RunError, Scenario, Subject, Weight, Wire,
    run_agreement, run_clock, run_detector, run_election, run_multicast, run_mutex,
};

use crate::setup::{Facts, settled, setup};

/// Why a scenario could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CannotRun {
    /// No algorithm has that name.
    #[error("there is no algorithm `{name}`; {}", suggestion(name))]
    UnknownAlgorithm {
        /// What was asked for.
        name: String,
    },
    /// The algorithm does not work over that quorum system.
    #[error("{algorithm} does not work over `{quorums}`; {known}")]
    UnknownQuorums {
        /// The algorithm.
        algorithm: &'static str,
        /// What was asked for.
        quorums: String,
        /// What it works over.
        known: String,
    },
    /// The algorithm has no such messages.
    #[error("{algorithm} has no messages of the kind `{kind}`")]
    UnknownKind {
        /// The algorithm.
        algorithm: &'static str,
        /// What was expected.
        kind: String,
    },
    /// An experiment does not take such an option.
    #[error("{0}")]
    Option(String),
    /// A run that was to be measured did not go as it had to.
    #[error("{algorithm} with {processes} processes and seed {seed} cannot be measured: {problem}")]
    Unmeasurable {
        /// The algorithm.
        algorithm: String,
        /// How many processes.
        processes: usize,
        /// The seed.
        seed: u64,
        /// What went wrong.
        problem: String,
    },
    /// The algorithm is of another family than what the scenario says.
    #[error("{algorithm} is {} {family} algorithm: {problem}", article(family))]
    OtherFamily {
        /// The algorithm.
        algorithm: &'static str,
        /// Its family.
        family: &'static str,
        /// The key of the scenario.
        key: &'static str,
        /// What does not go together.
        problem: String,
    },
    /// Nobody waits for it any more.
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

/// Runs a validated scenario once, driven from outside: its processes may live elsewhere.
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

/// Whether the algorithm exists and works over what the scenario wants.
pub fn check(scenario: &Scenario) -> Result<(), CannotRun> {
    struct Check<'a>(&'a Scenario);
    impl Look for Check<'_> {
        type Answer = Result<(), CannotRun>;
        fn look<A: Algorithm>(self) -> Self::Answer {
            let expected = self.0.expect.iter().flat_map(|expect| expect.by_kind.keys());
            let is_known =
                |kind: &&String| A::Message::KINDS.iter().any(|known| known.name == kind.as_str());
            if let Some(kind) = expected.into_iter().find(|kind| !is_known(kind)) {
                let (algorithm, kind) = (A::PROFILE.name, shortened(kind));
                return Err(CannotRun::UnknownKind { algorithm, kind });
            }
            setup(self.0, &Facts::of::<A>()).map(|_| ())
        }
    }
    look_at(scenario, Check(scenario))
}

/// What the scenario's algorithm promises to cost there, and the world as it is told of it.
pub fn promise(scenario: &Scenario) -> Result<(Cost, Setup), CannotRun> {
    struct Promise<'a>(&'a Scenario);
    impl Look for Promise<'_> {
        type Answer = Result<(Cost, Setup), CannotRun>;
        fn look<A: Algorithm>(self) -> Self::Answer {
            setup(self.0, &Facts::of::<A>()).map(|setup| (A::cost(&setup), setup))
        }
    }
    look_at(scenario, Promise(scenario))
}

/// Who talks to whom in the scenario's algorithm, and the world as it is told of it.
pub fn shape(scenario: &Scenario) -> Result<(Shape, Setup), CannotRun> {
    struct Shaped<'a>(&'a Scenario);
    impl Look for Shaped<'_> {
        type Answer = Result<(Shape, Setup), CannotRun>;
        fn look<A: Algorithm>(self) -> Self::Answer {
            setup(self.0, &Facts::of::<A>()).map(|setup| (A::SHAPE, setup))
        }
    }
    look_at(scenario, Shaped(scenario))
}

fn look_at<T>(
    scenario: &Scenario,
    look: impl Look<Answer = Result<T, CannotRun>>,
) -> Result<T, CannotRun> {
    let name = scenario.algorithm.as_str();
    catalogue::look_at(name, look)
        .unwrap_or_else(|| Err(CannotRun::UnknownAlgorithm { name: shortened(name) }))
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

fn article(family: &str) -> &'static str {
    if family.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}

pub(crate) fn shortened(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(60).collect()
}

/// How the detector is built that a process brings with it, if it brings one.
fn detector_below(choice: DetectorChoice) -> Option<fn(&Setup, ProcessId) -> AnyDetector> {
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

/// Simulates whatever it visits.
struct Simulate<'a, 't, 's, 'd> {
    scenario: &'a Scenario,
    conditions: Conditions,
    trace: Option<&'t mut (dyn TraceSink + 's)>,
    driver: Option<&'d mut dyn Driver>,
}

/// Processes made like this, whose messages can be sent over a wire.
fn cast<'d, P: Process<Message: Sendable> + 'static>(
    make: impl Fn(ProcessId) -> P + 'static,
    driver: Option<&'d mut dyn Driver>,
) -> Cast<'d, P> {
    let wire = Wire { encode: to_bytes, decode: |bytes| postcard::from_bytes(bytes).ok() };
    Cast::simulated(make).driven(wire, driver)
}

/// The same behind a veil: all processes of a family are driven by the same code, and their bytes are what they were.
fn veiled_cast<'d, P: Process<Message: Sendable> + 'static>(
    make: impl Fn(ProcessId) -> P + 'static,
    driver: Option<&'d mut dyn Driver>,
) -> Cast<'d, VeilOf<P>> {
    let wire = Wire {
        encode: |message: &VeiledMessage| {
            message.lifted::<P::Message>().map_or_else(Vec::new, to_bytes)
        },
        decode: |bytes| postcard::from_bytes::<P::Message>(bytes).ok().map(VeiledMessage::new),
    };
    Cast::simulated(move |id| Veiled::new(make(id)))
        .weighing(Weight::of::<P>())
        .driven(wire, driver)
}

type VeilOf<P> = Veiled<<P as Process>::Command, <P as Process>::Output, <P as Process>::Misuse>;

/// An algorithm over a detector of its own, whichever that is.
type Stacked<A> = Stack<A, AnyDetector>;

fn to_bytes<M: Sendable>(message: &M) -> Vec<u8> {
    postcard::to_stdvec(message).expect("messages are plain data")
}

/// What an algorithm is, over a detector or not.
fn subject<A: Algorithm, P: Process>(profile: Profile, setup: &Setup) -> Subject {
    Subject { profile, cost: A::cost(setup), kinds: P::Message::KINDS }
}

impl Visitor for Simulate<'_, '_, '_, '_> {
    type Answer = Result<Outcome, CannotRun>;

    fn mutex<A: Algorithm + Mutex + 'static>(self) -> Self::Answer {
        let Self { scenario, conditions, trace, driver } = self;
        let setup = setup(scenario, &Facts::of::<A>())?;
        let profile = A::profile(&setup);
        Ok(match detector_below(scenario.detector) {
            None => {
                let subject = subject::<A, A>(profile, &setup);
                let cast = cast(move |id| A::build(&setup, id), driver);
                run_mutex(scenario, &subject, conditions, cast, trace)
            }
            Some(below) => {
                let subject = subject::<A, Stacked<A>>(profile, &setup);
                let make = move |id| Stack::new(A::build(&setup, id), below(&setup, id));
                run_mutex(scenario, &subject, conditions, veiled_cast(make, driver), trace)
            }
        }?)
    }

    fn riding_mutex<A: Rides + Mutex + 'static>(self) -> Self::Answer {
        if self.scenario.detector != DetectorChoice::Vcube {
            return self.mutex::<A>();
        }
        let Self { scenario, conditions, trace, driver } = self;
        let setup = setup(scenario, &Facts::of::<A>())?;
        let subject = subject::<A, A::Riding>(A::profile(&setup), &setup);
        let cast = veiled_cast(move |id| A::build_riding(&setup, id), driver);
        Ok(run_mutex(scenario, &subject, conditions, cast, trace)?)
    }

    fn election<A: Algorithm + Election + 'static>(self) -> Self::Answer {
        let Self { scenario, conditions, trace, driver } = self;
        let setup = setup(scenario, &Facts::of::<A>())?;
        let profile = A::PROFILE;
        Ok(match detector_below(scenario.detector) {
            None => {
                let subject = subject::<A, A>(profile, &setup);
                let cast = cast(move |id| A::build(&setup, id), driver);
                run_election(scenario, &subject, A::BYTES_PER_OTHER, conditions, cast, trace)
            }
            Some(below) => {
                let subject = subject::<A, Stacked<A>>(profile, &setup);
                let make = move |id| Stack::new(A::build(&setup, id), below(&setup, id));
                run_election(
                    scenario,
                    &subject,
                    A::BYTES_PER_OTHER,
                    conditions,
                    veiled_cast(make, driver),
                    trace,
                )
            }
        }?)
    }

    fn agreement<A: Algorithm + Agreement + 'static>(self) -> Self::Answer {
        let Self { scenario, conditions, trace, driver } = self;
        let setup = setup(scenario, &Facts::of::<A>())?;
        let scenario = &settled(scenario, &Facts::of::<A>());
        let profile = A::profile(&setup);
        Ok(match detector_below(scenario.detector) {
            None => {
                let subject = subject::<A, A>(profile, &setup);
                let cast = cast(move |id| A::build(&setup, id), driver);
                run_agreement(scenario, &subject, A::MATTER, conditions, cast, trace)
            }
            Some(below) => {
                let subject = subject::<A, Stacked<A>>(profile, &setup);
                let make = move |id| Stack::new(A::build(&setup, id), below(&setup, id));
                run_agreement(
                    scenario,
                    &subject,
                    A::MATTER,
                    conditions,
                    veiled_cast(make, driver),
                    trace,
                )
            }
        }?)
    }

    fn multicast<A: Algorithm + Multicast + 'static>(self) -> Self::Answer {
        let Self { scenario, conditions, trace, driver } = self;
        let setup = setup(scenario, &Facts::of::<A>())?;
        let scenario = &settled(scenario, &Facts::of::<A>());
        let profile = A::PROFILE;
        Ok(match detector_below(scenario.detector) {
            None => {
                let subject = subject::<A, A>(profile, &setup);
                let cast = cast(move |id| A::build(&setup, id), driver);
                run_multicast(scenario, &subject, conditions, cast, trace)
            }
            Some(below) => {
                let subject = subject::<A, Stacked<A>>(profile, &setup);
                let make = move |id| Stack::new(A::build(&setup, id), below(&setup, id));
                run_multicast(scenario, &subject, conditions, veiled_cast(make, driver), trace)
            }
        }?)
    }

    fn clock<A: Algorithm + ClockSync + 'static>(self) -> Self::Answer {
        let Self { scenario, conditions, trace, driver } = self;
        let setup = setup(scenario, &Facts::of::<A>())?;
        let roles = if A::ASKS_SERVERS { ClockRoles::Servers } else { ClockRoles::Master };
        let profile = A::profile(&setup);
        Ok(match detector_below(scenario.detector) {
            None => {
                let subject = subject::<A, A>(profile, &setup);
                let cast = cast(move |id| A::build(&setup, id), driver);
                run_clock(scenario, &subject, roles, conditions, cast, trace)
            }
            Some(below) => {
                let subject = subject::<A, Stacked<A>>(profile, &setup);
                let make = move |id| Stack::new(A::build(&setup, id), below(&setup, id));
                run_clock(scenario, &subject, roles, conditions, veiled_cast(make, driver), trace)
            }
        }?)
    }

    fn detector<A: Algorithm + Detector + 'static>(self) -> Self::Answer {
        let Self { scenario, conditions, trace, driver } = self;
        let setup = setup(scenario, &Facts::of::<A>())?;
        let subject = subject::<A, A>(A::PROFILE, &setup);
        let cast = cast(move |id| A::build(&setup, id), driver);
        Ok(run_detector(scenario, &subject, conditions, cast, trace)?)
    }
}
