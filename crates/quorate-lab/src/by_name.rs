//! Runs the algorithm that a scenario names.

use quorate_algorithms::catalogue::{self, Look, PROFILES, Visitor};
use quorate_algorithms::detector::{AnyDetector, Heartbeat, VcubeDiagnosis};
use quorate_algorithms::{Algorithm, Rides, Setup};
use quorate_core::detector::Detector;
use quorate_core::election::{Candidates, Election};
use quorate_core::multicast::Multicast;
use quorate_core::mutex::Mutex;
use quorate_core::quorum::{AnyCoterie, AnyPerView, AnySystem, Given, GivenPerView};
use quorate_core::{Cost, Either, Layer, Message, ProcessId, ProcessSet, Property, Stack};
use quorate_sim::notation::SpanText;
use quorate_sim::scenario::DetectorChoice;
use quorate_sim::trace::TraceSink;
use quorate_sim::{
    Conditions, Outcome, RunError, Scenario, Subject, run_detector, run_election, run_multicast,
    run_mutex,
};

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
        .unwrap_or_else(|| Err(LabError::UnknownAlgorithm { name: shortened(name) }))
}

/// Whether the algorithm exists and works over what the scenario wants.
pub fn check(scenario: &Scenario) -> Result<(), LabError> {
    struct Check<'a>(&'a Scenario);
    impl Look for Check<'_> {
        type Answer = Result<(), LabError>;
        fn look<A: Algorithm>(self) -> Self::Answer {
            let expected = self.0.expect.iter().flat_map(|expect| expect.by_kind.keys());
            let is_known =
                |kind: &&String| A::Message::KINDS.iter().any(|known| known.name == kind.as_str());
            if let Some(kind) = expected.into_iter().find(|kind| !is_known(kind)) {
                let (algorithm, kind) = (A::PROFILE.name, shortened(kind));
                return Err(LabError::UnknownKind { algorithm, kind });
            }
            setup::<A>(self.0).map(|_| ())
        }
    }
    look_at(scenario, Check(scenario))
}

/// What the scenario's algorithm promises to cost there, and the world as it is told of it.
pub(crate) fn promise(scenario: &Scenario) -> Result<(Cost, Setup), LabError> {
    struct Promise<'a>(&'a Scenario);
    impl Look for Promise<'_> {
        type Answer = Result<(Cost, Setup), LabError>;
        fn look<A: Algorithm>(self) -> Self::Answer {
            setup::<A>(self.0).map(|setup| (A::cost(&setup), setup))
        }
    }
    look_at(scenario, Promise(scenario))
}

fn look_at<T>(
    scenario: &Scenario,
    look: impl Look<Answer = Result<T, LabError>>,
) -> Result<T, LabError> {
    let name = scenario.algorithm.as_str();
    catalogue::look_at(name, look)
        .unwrap_or_else(|| Err(LabError::UnknownAlgorithm { name: shortened(name) }))
}

/// The known name that is most like this one, if one is.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let close = |candidate: &&str| strsim::jaro_winkler(name, candidate) > 0.7;
    known
        .into_iter()
        .filter(close)
        .max_by(|a, b| strsim::jaro_winkler(name, a).total_cmp(&strsim::jaro_winkler(name, b)))
}

/// `a mutual exclusion`, `an election`.
fn article(family: &str) -> &'static str {
    if family.starts_with(['a', 'e']) { "an" } else { "a" }
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

/// What a scenario says must make sense for the algorithm's family: nothing is left out silently.
fn check_family<A: Algorithm>(scenario: &Scenario) -> Result<(), LabError> {
    let family = A::PROFILE.layer;
    let mismatch = |key, problem| {
        let (algorithm, family) = (A::PROFILE.name, family.family());
        Err(LabError::OtherFamily { algorithm, family, key, problem })
    };
    let known = |id: &&String| Property::of(family).any(|property| property.id() == id.as_str());
    let expected = scenario.expect.iter().flat_map(|expect| expect.properties.keys());
    let watched = scenario.watch.iter().map(|id| ("watch", id));
    let ids = watched.chain(expected.map(|id| ("expect.properties", id)));
    if let Some((key, id)) = ids.into_iter().find(|(_, id)| !known(id)) {
        let ids: Vec<&str> = Property::of(family).map(Property::id).collect();
        return mismatch(key, format!("it has no {}, it has {}", shortened(id), ids.join(", ")));
    }
    if family != Layer::Election {
        if !scenario.ids.is_empty() {
            return mismatch("ids", "it elects nobody".to_owned());
        }
        if !scenario.identify.is_empty() {
            return mismatch("identify", "it elects nobody".to_owned());
        }
    }
    if A::KNOWS_IDENTIFIERS && !scenario.identify.is_empty() {
        let problem = "all know the identifiers of all beforehand, so they cannot change; try bully-all or announce-all";
        return mismatch("identify", problem.to_owned());
    }
    if !A::DELAYS_BY_RANK && scenario.rank_delay != SpanText::default() {
        let problem = "nobody in it waits for those above; bully and bully-all can";
        return mismatch("rank-delay", problem.to_owned());
    }
    if family != Layer::Multicast && scenario.to.is_some() {
        return mismatch("to", "it multicasts nothing for its users".to_owned());
    }
    if family == Layer::Detector {
        if scenario.detector != DetectorChoice::default() {
            return mismatch("detector", "it needs no other detector below it".to_owned());
        }
        if scenario.detection.is_some() || !scenario.detection_pair.is_empty() {
            return mismatch("detection", "no oracle tells it anything".to_owned());
        }
        if !scenario.faults.suspect.is_empty() {
            return mismatch("faults.suspect", "no oracle misleads it".to_owned());
        }
    }
    Ok(())
}

/// The world that an algorithm is to live in, as the scenario describes it.
fn setup<A: Algorithm>(scenario: &Scenario) -> Result<Setup, LabError> {
    check_family::<A>(scenario)?;
    let n = scenario.processes;
    let unknown = |quorums: &str| LabError::UnknownQuorums {
        algorithm: A::PROFILE.name,
        quorums: shortened(quorums),
        known: match A::QUORUMS {
            [] => "it does not vote".to_owned(),
            known => format!("it works over {}", known.join(", ")),
        },
    };
    let given: Vec<ProcessSet> = scenario.quorum_sets.iter().map(|set| set.0.clone()).collect();
    let usual = A::QUORUMS.first().copied().unwrap_or("majority");
    let quorums = match (&scenario.quorums, given.as_slice()) {
        (Some(name), _) if !A::QUORUMS.contains(&name.as_str()) => return Err(unknown(name)),
        (None, [_, ..]) if A::QUORUMS.is_empty() => return Err(unknown("given sets")),
        (None, []) if !scenario.quorum_of.is_empty() => {
            if !A::QUORUMS.iter().any(|name| AnyPerView::NAMES.contains(name)) {
                return Err(unknown("quorums that change with views"));
            }
            let given = scenario.quorum_of.iter();
            let given = given.map(|q| (q.failed.clone(), q.process, q.members.clone()));
            AnySystem::PerView(AnyPerView::Given(GivenPerView::new(n, given)))
        }
        (None, [_, ..]) => AnySystem::Fixed(AnyCoterie::Given(Given(given))),
        (name, _) => {
            let name = name.as_deref().unwrap_or(usual);
            AnySystem::by_name(name, n).ok_or_else(|| unknown(name))?
        }
    };
    let tree = scenario.tree.clone().unwrap_or_default().0;
    let (server, to, tempo) = (ProcessId::new(scenario.server), scenario.group(), scenario.tempo());
    let (no_cancel, hand_over) = (scenario.no_cancel, scenario.hand_over);
    let clocks = scenario.clocks.clone();
    let (candidates, rank_delay) = (Candidates::new(n, &scenario.ids), scenario.rank_delay.0);
    Ok(Setup {
        n,
        server,
        tree,
        quorums,
        no_cancel,
        hand_over,
        clocks,
        to,
        tempo,
        candidates,
        rank_delay,
    })
}

/// How the detector is built that a process brings with it, if it brings one.
fn detector_below(choice: DetectorChoice) -> Option<fn(&Setup, ProcessId) -> AnyDetector> {
    match choice {
        DetectorChoice::Oracle | DetectorChoice::None => None,
        DetectorChoice::Heartbeat => {
            Some(|setup, id| Either::First(Heartbeat::paced(setup.n, id, setup.tempo)))
        }
        DetectorChoice::Vcube => {
            Some(|setup, id| Either::Second(VcubeDiagnosis::paced(setup.n, id, setup.tempo)))
        }
    }
}

/// Simulates whatever it visits.
struct Simulate<'a, 't, 's> {
    scenario: &'a Scenario,
    conditions: Conditions,
    trace: Option<&'t mut (dyn TraceSink + 's)>,
}

impl Visitor for Simulate<'_, '_, '_> {
    type Answer = Result<Outcome, LabError>;

    fn mutex<A: Algorithm + Mutex + 'static>(self) -> Self::Answer {
        let Self { scenario, conditions, trace } = self;
        let setup = setup::<A>(scenario)?;
        let subject = Subject { profile: A::profile(&setup), cost: A::cost(&setup) };
        let outcome = match detector_below(scenario.detector) {
            None => {
                let make = move |id| A::build(&setup, id);
                run_mutex(scenario, &subject, conditions, make, trace)
            }
            Some(below) => {
                let make = move |id| Stack::new(A::build(&setup, id), below(&setup, id));
                run_mutex(scenario, &subject, conditions, make, trace)
            }
        };
        Ok(outcome?)
    }

    fn riding_mutex<A: Rides + Mutex + 'static>(self) -> Self::Answer {
        if self.scenario.detector != DetectorChoice::Vcube {
            return self.mutex::<A>();
        }
        let Self { scenario, conditions, trace } = self;
        let setup = setup::<A>(scenario)?;
        let subject = Subject { profile: A::profile(&setup), cost: A::cost(&setup) };
        let make = move |id| A::build_riding(&setup, id);
        Ok(run_mutex(scenario, &subject, conditions, make, trace)?)
    }

    fn election<A: Algorithm + Election + 'static>(self) -> Self::Answer {
        let Self { scenario, conditions, trace } = self;
        let setup = setup::<A>(scenario)?;
        let subject = Subject { profile: A::PROFILE, cost: A::cost(&setup) };
        let outcome = match detector_below(scenario.detector) {
            None => {
                let make = move |id| A::build(&setup, id);
                run_election(scenario, &subject, conditions, make, trace)
            }
            Some(below) => {
                let make = move |id| Stack::new(A::build(&setup, id), below(&setup, id));
                run_election(scenario, &subject, conditions, make, trace)
            }
        };
        Ok(outcome?)
    }

    fn multicast<A: Algorithm + Multicast + 'static>(self) -> Self::Answer {
        let Self { scenario, conditions, trace } = self;
        let setup = setup::<A>(scenario)?;
        let subject = Subject { profile: A::PROFILE, cost: A::cost(&setup) };
        let outcome = match detector_below(scenario.detector) {
            None => {
                let make = move |id| A::build(&setup, id);
                run_multicast(scenario, &subject, conditions, make, trace)
            }
            Some(below) => {
                let make = move |id| Stack::new(A::build(&setup, id), below(&setup, id));
                run_multicast(scenario, &subject, conditions, make, trace)
            }
        };
        Ok(outcome?)
    }

    fn detector<A: Algorithm + Detector + 'static>(self) -> Self::Answer {
        let Self { scenario, conditions, trace } = self;
        let setup = setup::<A>(scenario)?;
        let subject = Subject { profile: A::PROFILE, cost: A::cost(&setup) };
        let make = move |id| A::build(&setup, id);
        Ok(run_detector(scenario, &subject, conditions, make, trace)?)
    }
}
