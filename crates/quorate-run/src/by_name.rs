//! Runs the algorithm that a scenario names.

use quorate_algorithms::agreement::PublicKeys;
use quorate_algorithms::catalogue::{self, Look, PROFILES, Visitor};
use quorate_algorithms::detector::{
    AdaptiveHeartbeat, AnyDetector, Heartbeat, HeartbeatRing, VcubeDiagnosis,
};
use quorate_algorithms::{Algorithm, ClockSetup, Rides, Sendable, Setup, Shape};
use quorate_core::agreement::{Agreement, Matter};
use quorate_core::clock_sync::{self, ClockSync};
use quorate_core::detector::Detector;
use quorate_core::election::{Candidates, Election};
use quorate_core::multicast::Multicast;
use quorate_core::mutex::Mutex;
use quorate_core::quorum::{AnyCoterie, AnyPerView, AnySystem, Given, GivenPerView};
use quorate_core::{
    Cost, Either, Layer, Message, Process, ProcessId, ProcessSet, Property, Span, Stack,
};
use quorate_sim::notation::{SpanText, Who};
use quorate_sim::scenario::{DetectorChoice, Requesters};
use quorate_sim::trace::TraceSink;
use quorate_sim::{
    Cast, ClockRoles, Conditions, Driver, Outcome, RunError, Scenario, Subject, Timing, Wire,
    run_agreement, run_clock, run_detector, run_election, run_multicast, run_mutex,
};

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
            setup::<A>(self.0).map(|_| ())
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
            setup::<A>(self.0).map(|setup| (A::cost(&setup), setup))
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
            setup::<A>(self.0).map(|setup| (A::SHAPE, setup))
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

fn shortened(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(60).collect()
}

/// What a scenario says must make sense for the algorithm's family: nothing is left out silently.
fn check_family<A: Algorithm>(scenario: &Scenario) -> Result<(), CannotRun> {
    let family = A::PROFILE.layer;
    let mismatch = |key, problem| {
        let (algorithm, family) = (A::PROFILE.name, family.family());
        Err(CannotRun::OtherFamily { algorithm, family, key, problem })
    };
    let known = |id: &&String| Property::of(family).any(|property| property.id() == id.as_str());
    let expected = scenario.expect.iter().flat_map(|expect| expect.properties.keys());
    let watched = scenario.watch.iter().map(|id| ("watch", id));
    let ids = watched.chain(expected.map(|id| ("expect.properties", id)));
    if let Some((key, id)) = ids.into_iter().find(|(_, id)| !known(id)) {
        let ids: Vec<&str> = Property::of(family).map(Property::id).collect();
        return mismatch(key, format!("it has no {}, it has {}", shortened(id), ids.join(", ")));
    }
    if family != Layer::Mutex && !scenario.section_of.is_empty() {
        return mismatch("section-of", "nobody enters anything".to_owned());
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
    if scenario.to.is_some() && !A::GROUPS {
        return mismatch("to", "it delivers to everybody, not to a group".to_owned());
    }
    if !A::ASKS_SERVERS {
        let asks = [
            ("servers", scenario.servers.is_some()),
            ("replies", scenario.replies != 1),
            ("probes", scenario.probes != 1),
        ];
        if let Some((key, _)) = asks.into_iter().find(|(_, said)| *said) {
            return mismatch(key, "it asks no time servers".to_owned());
        }
    }
    if !A::AVERAGES_CLOCKS && scenario.outlier.is_some() {
        return mismatch("outlier", "it averages no clocks".to_owned());
    }
    if family == Layer::Agreement {
        check_agreement::<A>(scenario).or_else(|(key, problem)| mismatch(key, problem))?;
    } else if !scenario.values.is_empty() {
        return mismatch("values", "nothing is proposed".to_owned());
    }
    if scenario.bears.is_some() && A::bears(scenario.processes).is_none() {
        return mismatch("bears", "it is not built for a number of faults".to_owned());
    }
    if A::IN_ROUNDS {
        check_rounds(scenario).or_else(|(key, problem)| mismatch(key, problem))?;
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

/// Everybody takes part in an agreement, once.
fn check_agreement<A: Algorithm>(scenario: &Scenario) -> Result<(), (&'static str, String)> {
    if scenario.repeat != 1 {
        return Err(("repeat", "an agreement is made once".to_owned()));
    }
    if let Some(odd) = scenario.values.iter().find(|vote| A::MATTER == Matter::Vote && **vote > 1) {
        return Err(("values", format!("a vote is 0 to abort or 1 to commit, not {odd}")));
    }
    // All is whoever has something to propose.
    if !matches!(scenario.requesters, Requesters::One | Requesters::All) {
        let problem = match A::MATTER {
            Matter::Order => "only the commander gives an order",
            _ => "everybody proposes something",
        };
        return Err(("requesters", format!("{problem}; leave it out")));
    }
    let commander = Who::Process(ProcessId::new(scenario.server));
    let odd = scenario.request.iter().find(|request| request.who != commander);
    match odd.filter(|_| A::MATTER == Matter::Order) {
        Some(odd) => {
            let problem = format!("process {commander} is the commander, not {}", odd.who);
            Err(("request", problem))
        }
        None => Ok(()),
    }
}

/// Rounds take as long as a message may.
fn check_rounds(scenario: &Scenario) -> Result<(), (&'static str, String)> {
    let ways_out = "it works in rounds";
    match scenario.timing {
        Some(Timing::Rounds(_)) => {}
        Some(timing) => {
            let problem = format!("{ways_out}, not with {timing}; say rounds:1ms or nothing");
            return Err(("timing", problem));
        }
        None if scenario.delay_bound().is_none() => {
            return Err(("delay", format!("{ways_out}, and {} has no bound", scenario.delay)));
        }
        None if scenario.delay_bound() == Some(Span::ZERO) => {
            return Err(("delay", format!("{ways_out}, and rounds take time")));
        }
        None => {}
    }
    if !scenario.link_delay.is_empty() {
        return Err(("link-delay", format!("{ways_out}, and every message takes one")));
    }
    if scenario.handling.0 > Span::ZERO {
        let problem = format!("{ways_out}, and what arrives in a round is handled in it");
        return Err(("handling", problem));
    }
    Ok(())
}

/// The scenario with what the algorithm decides where nothing is said.
fn settled<A: Algorithm>(scenario: &Scenario) -> Scenario {
    let mut settled = scenario.clone();
    settled.bears = scenario.bears.or_else(|| A::bears(scenario.processes));
    if A::IN_ROUNDS {
        settled.timing = scenario.timing.or(scenario.delay_bound().map(Timing::Rounds));
    }
    settled
}

/// The world that an algorithm is to live in, as the scenario describes it.
pub(crate) fn setup<A: Algorithm>(scenario: &Scenario) -> Result<Setup, CannotRun> {
    check_family::<A>(scenario)?;
    let scenario = &settled::<A>(scenario);
    let n = scenario.processes;
    let unknown = |quorums: &str| CannotRun::UnknownQuorums {
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
    let clock = ClockSetup {
        servers: scenario.time_servers(),
        replies: scenario.replies as usize,
        probes: scenario.probes,
        outlier: scenario.outlier.map_or(Span::from_millis(1_000), |outlier| outlier.0),
        limits: clock_sync::Limits {
            delay_least: scenario.delay_least(),
            drift: scenario.local_clocks().drift,
        },
    };
    let (candidates, rank_delay) = (Candidates::new(n, &scenario.ids), scenario.rank_delay.0);
    let bears = scenario.bears.unwrap_or(0);
    let keys = if A::SIGNS { PublicKeys::simulated(n) } else { PublicKeys::default() };
    Ok(Setup {
        n,
        server,
        tree,
        quorums,
        no_cancel,
        hand_over,
        clocks,
        bears,
        keys,
        to,
        tempo,
        candidates,
        rank_delay,
        clock,
    })
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
    let wire = Wire {
        encode: |message| postcard::to_stdvec(message).expect("messages are plain data"),
        decode: |bytes| postcard::from_bytes(bytes).ok(),
    };
    Cast::simulated(make).driven(wire, driver)
}

impl Visitor for Simulate<'_, '_, '_, '_> {
    type Answer = Result<Outcome, CannotRun>;

    fn mutex<A: Algorithm + Mutex + 'static>(self) -> Self::Answer {
        let Self { scenario, conditions, trace, driver } = self;
        let setup = setup::<A>(scenario)?;
        let subject = Subject { profile: A::profile(&setup), cost: A::cost(&setup) };
        let outcome = match detector_below(scenario.detector) {
            None => {
                let cast = cast(move |id| A::build(&setup, id), driver);
                run_mutex(scenario, &subject, conditions, cast, trace)
            }
            Some(below) => {
                let cast =
                    cast(move |id| Stack::new(A::build(&setup, id), below(&setup, id)), driver);
                run_mutex(scenario, &subject, conditions, cast, trace)
            }
        };
        Ok(outcome?)
    }

    fn riding_mutex<A: Rides + Mutex + 'static>(self) -> Self::Answer {
        if self.scenario.detector != DetectorChoice::Vcube {
            return self.mutex::<A>();
        }
        let Self { scenario, conditions, trace, driver } = self;
        let setup = setup::<A>(scenario)?;
        let subject = Subject { profile: A::profile(&setup), cost: A::cost(&setup) };
        let cast = cast(move |id| A::build_riding(&setup, id), driver);
        Ok(run_mutex(scenario, &subject, conditions, cast, trace)?)
    }

    fn election<A: Algorithm + Election + 'static>(self) -> Self::Answer {
        let Self { scenario, conditions, trace, driver } = self;
        let setup = setup::<A>(scenario)?;
        let subject = Subject { profile: A::PROFILE, cost: A::cost(&setup) };
        let outcome = match detector_below(scenario.detector) {
            None => {
                let cast = cast(move |id| A::build(&setup, id), driver);
                run_election(scenario, &subject, A::BYTES_PER_OTHER, conditions, cast, trace)
            }
            Some(below) => {
                let cast =
                    cast(move |id| Stack::new(A::build(&setup, id), below(&setup, id)), driver);
                run_election(scenario, &subject, A::BYTES_PER_OTHER, conditions, cast, trace)
            }
        };
        Ok(outcome?)
    }
    fn agreement<A: Algorithm + Agreement + 'static>(self) -> Self::Answer {
        let Self { scenario, conditions, trace, driver } = self;
        let setup = setup::<A>(scenario)?;
        let scenario = &settled::<A>(scenario);
        let subject = Subject { profile: A::profile(&setup), cost: A::cost(&setup) };
        let outcome = match detector_below(scenario.detector) {
            None => {
                let cast = cast(move |id| A::build(&setup, id), driver);
                run_agreement(scenario, &subject, A::MATTER, conditions, cast, trace)
            }
            Some(below) => {
                let cast =
                    cast(move |id| Stack::new(A::build(&setup, id), below(&setup, id)), driver);
                run_agreement(scenario, &subject, A::MATTER, conditions, cast, trace)
            }
        };
        Ok(outcome?)
    }

    fn multicast<A: Algorithm + Multicast + 'static>(self) -> Self::Answer {
        let Self { scenario, conditions, trace, driver } = self;
        let setup = setup::<A>(scenario)?;
        let scenario = &settled::<A>(scenario);
        let subject = Subject { profile: A::PROFILE, cost: A::cost(&setup) };
        let outcome = match detector_below(scenario.detector) {
            None => {
                let cast = cast(move |id| A::build(&setup, id), driver);
                run_multicast(scenario, &subject, conditions, cast, trace)
            }
            Some(below) => {
                let cast =
                    cast(move |id| Stack::new(A::build(&setup, id), below(&setup, id)), driver);
                run_multicast(scenario, &subject, conditions, cast, trace)
            }
        };
        Ok(outcome?)
    }

    fn clock<A: Algorithm + ClockSync + 'static>(self) -> Self::Answer {
        let Self { scenario, conditions, trace, driver } = self;
        let setup = setup::<A>(scenario)?;
        let subject = Subject { profile: A::profile(&setup), cost: A::cost(&setup) };
        let roles = if A::ASKS_SERVERS { ClockRoles::Servers } else { ClockRoles::Master };
        let outcome = match detector_below(scenario.detector) {
            None => {
                let cast = cast(move |id| A::build(&setup, id), driver);
                run_clock(scenario, &subject, roles, conditions, cast, trace)
            }
            Some(below) => {
                let cast =
                    cast(move |id| Stack::new(A::build(&setup, id), below(&setup, id)), driver);
                run_clock(scenario, &subject, roles, conditions, cast, trace)
            }
        };
        Ok(outcome?)
    }

    fn detector<A: Algorithm + Detector + 'static>(self) -> Self::Answer {
        let Self { scenario, conditions, trace, driver } = self;
        let setup = setup::<A>(scenario)?;
        let subject = Subject { profile: A::PROFILE, cost: A::cost(&setup) };
        let cast = cast(move |id| A::build(&setup, id), driver);
        Ok(run_detector(scenario, &subject, conditions, cast, trace)?)
    }
}
