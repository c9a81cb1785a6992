//! Exploration of every interleaving of a small world, by the algorithm's name.

mod allocation;
mod checkpoint;
mod observed;
mod replication;
mod report;
mod search;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use quorate_algorithms::{Algorithm, Setup};
use quorate_check::{
    Action, ActionKind, AgreementUsers, Bounds, Budget, Counterexample, ElectionUsers, End,
    ErasedFamily, Exploration, MulticastUsers, MutexUsers, PROCESSES_MOST, Progress, World,
};
use quorate_core::agreement::{self, Agreement};
use quorate_core::election::{self, Candidates, Election};
use quorate_core::multicast::{self, Multicast};
use quorate_core::mutex::{self, Mutex};
use quorate_core::{Assumption, Layer, ProcessId, ProcessSet, Profile, Property, Span};
use quorate_sim::fault::Traitor;
use quorate_sim::monitor::Status;
use quorate_sim::notation::ProcessSelector;
use quorate_sim::traitor::Strategy;
use quorate_sim::{Conditions, Expect, Scenario, proposals};

use crate::by_name::{entry, run};
use crate::erasure::ErasedAlgorithm;
use crate::error::CannotRun;
use crate::facts::Facts;
use crate::setup::setup;

use checkpoint::Stage;
use report::report;
use search::search;

pub(crate) use allocation::allocation;
pub(crate) use observed::{detection, snapshot};
pub(crate) use replication::replication;
pub use report::{CheckReport, CheckedProperty, ExpectedSize, SafetyReport, ValidatedForms};

/// Configuration of an exploration: the world of a scenario, without its times and without faults except traitors.
#[derive(Clone, Debug)]
pub struct CheckConfig {
    /// Scenario with the algorithm, the number of processes, the requesters, the quorum system, and whether links are FIFO.
    pub scenario: Scenario,
    /// Number of requests of each requester.
    pub requests: u8,
    /// Maximum number of faults of each kind.
    pub budget: Budget,
    /// Processes that may crash; `None` allows all.
    pub crashable: Option<ProcessSet>,
    /// Processes whose timers may expire, if timers may expire at any time; `None` allows all.
    pub expirable: Option<ProcessSet>,
    /// Duration of a lease in instants, if the algorithm has leases.
    pub lease: u8,
    /// Maximum number of renewals before a client gives up its lease; `None` for no limit.
    pub renewals: Option<u32>,
    /// Reductions that may be used.
    pub reductions: Reductions,
    /// The only property to check; `None` checks all properties.
    pub only: Option<Property>,
    /// Checks only safety, in a tenth of the memory; `None` checks everything.
    pub safety_only: Option<SafetyConfig>,
    /// Limits of the exploration.
    pub bounds: Bounds,
    /// Whether the canonical forms that the algorithm declares for its states are validated first, without reductions.
    pub validate: bool,
    /// Whether an incomplete exploration is acceptable. Otherwise a world that is far too large is refused.
    pub allow_partial: bool,
    /// Number of threads to use.
    pub threads: usize,
}

impl CheckConfig {
    /// One request of each requester, without faults, in one thread. Leases last three instants and are not renewed.
    pub fn new(scenario: Scenario, bounds: Bounds) -> Self {
        Self {
            scenario,
            requests: 1,
            budget: Budget::default(),
            crashable: None,
            expirable: None,
            lease: 3,
            renewals: Some(0),
            reductions: Reductions::USUAL,
            only: None,
            safety_only: None,
            bounds,
            validate: false,
            allow_partial: false,
            threads: 1,
        }
    }
}

/// Files of a search that checks only safety.
#[derive(Clone, Debug, Default)]
pub struct SafetyConfig {
    /// Directory for states that wait to be expanded, if memory is short.
    pub spill: Option<PathBuf>,
    /// File for checkpoints: one in every interval, and one if the search ends early.
    pub checkpoint: Option<(PathBuf, Duration)>,
    /// Checkpoint from which the search continues.
    pub resume: Option<PathBuf>,
}

/// Reductions that skip work without changing a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reductions {
    /// Explores deliveries that commute in one order only.
    pub partial_order: bool,
    /// Treats states that differ only by a renaming of processes as one.
    pub symmetry: bool,
    /// Treats states that differ only by the same amount in all logical clocks as one.
    pub clocks: bool,
    /// Treats states that differ only in values that no later step can read as one.
    pub dead_values: bool,
    /// Treats states that differ only in the order in which timers were set as one.
    pub timers: bool,
}

impl Reductions {
    /// Uses every reduction there is.
    pub const ALL: Self =
        Self { partial_order: true, symmetry: true, clocks: true, dead_values: true, timers: true };
    /// Uses no reduction at all.
    pub const NONE: Self = Self {
        partial_order: false,
        symmetry: false,
        clocks: false,
        dead_values: false,
        timers: false,
    };
    /// Uses the reductions on which the published numbers of states depend.
    pub const USUAL: Self = Self { partial_order: true, symmetry: true, ..Self::NONE };
}

/// A report, and the counterexample to replay if a property is violated.
#[derive(Clone, Debug)]
pub struct CheckOutcome {
    /// Report in machine-readable form.
    pub report: CheckReport,
    /// Counterexample as a scenario that expects the violation.
    pub scenario: Option<Scenario>,
    /// Steps of the counterexample, in words.
    pub steps: Vec<String>,
}

/// Explores the world of a scenario. `on_progress` is called regularly and may stop the exploration.
pub fn explore(
    config: &CheckConfig,
    mut on_progress: impl FnMut(&Progress) -> ControlFlow<()> + Send,
) -> Result<CheckOutcome, CannotRun> {
    explore_with(config, &mut on_progress)
}

/// Not generic over the callback, so that it is compiled here and not again in each calling crate.
fn explore_with(
    config: &CheckConfig,
    on_progress: ProgressCallback<'_>,
) -> Result<CheckOutcome, CannotRun> {
    let n = config.scenario.processes;
    if n > PROCESSES_MOST {
        let problem = format!(
            "worlds of at most {PROCESSES_MOST} processes can be explored, not of {n}; use a campaign"
        );
        return Err(CannotRun::Search(problem));
    }
    entry(&config.scenario)?.explore(config, on_progress)
}

/// Called regularly during an exploration, which it may stop.
pub(crate) type ProgressCallback<'a> = &'a mut (dyn FnMut(&Progress) -> ControlFlow<()> + Send);

/// Result of an exploration, or the reason why there is none.
type Explored = Result<CheckOutcome, CannotRun>;

/// Explores a mutual exclusion algorithm.
pub(crate) fn mutex<A: Algorithm + Mutex + 'static>(
    config: &CheckConfig,
    on_progress: ProgressCallback<'_>,
) -> Explored {
    explore_mutex(config, on_progress, const { &ErasedAlgorithm::of::<A>() })
}

fn explore_mutex(
    config: &CheckConfig,
    on_progress: ProgressCallback<'_>,
    algorithm: &ErasedAlgorithm<mutex::Command, mutex::Output, mutex::Misuse>,
) -> Explored {
    let users = MutexUsers { requests: config.requests() };
    explore_algorithm(config, on_progress, algorithm, users, "no process ever enters")
}

/// Explores an election among all processes.
pub(crate) fn election<A: Algorithm + Election + 'static>(
    config: &CheckConfig,
    on_progress: ProgressCallback<'_>,
) -> Explored {
    explore_election(config, on_progress, const { &ErasedAlgorithm::of::<A>() })
}

fn explore_election(
    config: &CheckConfig,
    on_progress: ProgressCallback<'_>,
    algorithm: &ErasedAlgorithm<election::Command, election::Output, election::Misuse>,
) -> Explored {
    let scenario = &config.scenario;
    let candidates = Candidates::new(scenario.processes, &scenario.ids);
    let users = ElectionUsers {
        requests: config.requests(),
        candidates: ProcessId::all(scenario.processes).map(|id| candidates.of(id)).collect(),
    };
    explore_algorithm(config, on_progress, algorithm, users, "no process is ever elected")
}

/// Explores an agreement on the proposals of a scenario.
pub(crate) fn agreement<A: Algorithm + Agreement + 'static>(
    config: &CheckConfig,
    on_progress: ProgressCallback<'_>,
) -> Explored {
    explore_agreement(config, on_progress, const { &ErasedAlgorithm::of::<A>() })
}

fn explore_agreement(
    config: &CheckConfig,
    on_progress: ProgressCallback<'_>,
    algorithm: &ErasedAlgorithm<agreement::Command, agreement::Output, agreement::Misuse>,
) -> Explored {
    let (scenario, facts) = (&config.scenario, &algorithm.facts);
    if config.requests != 1 {
        return Err(refused(&facts.profile, "requests", "an agreement is made once"));
    }
    let mut values = vec![None; scenario.processes];
    for (process, _, value) in proposals(scenario, facts.agreement_kind) {
        values[process.index()] = Some(value);
    }
    let profile = (facts.profile_of)(&check_setup(config, facts)?);
    let must_decide = config.judges(&profile, Property::Termination);
    let binds_recovered = profile.assumes.contains(&Assumption::Memory);
    let agreement_kind = facts.agreement_kind;
    let traitors = config.traitors();
    let users = AgreementUsers { agreement_kind, values, binds_recovered, must_decide, traitors };
    explore_algorithm(config, on_progress, algorithm, users, "no process ever decides")
}

/// Explores a multicast within a group.
pub(crate) fn multicast<A: Algorithm + Multicast + 'static>(
    config: &CheckConfig,
    on_progress: ProgressCallback<'_>,
) -> Explored {
    explore_multicast(config, on_progress, const { &ErasedAlgorithm::of::<A>() })
}

fn explore_multicast(
    config: &CheckConfig,
    on_progress: ProgressCallback<'_>,
    algorithm: &ErasedAlgorithm<multicast::Command, multicast::Output, multicast::Misuse>,
) -> Explored {
    let users = MulticastUsers {
        requests: config.requests(),
        to: config.scenario.group(),
        promised: config.judged(&algorithm.facts.profile),
        traitors: config.traitors(),
    };
    explore_algorithm(config, on_progress, algorithm, users, "nothing is ever delivered")
}

/// Refuses an algorithm about which a world without time tells nothing.
pub(crate) fn timeless<A: Algorithm>(_: &CheckConfig, _: ProgressCallback<'_>) -> Explored {
    Err(refused(&A::PROFILE, "algorithm", TIMELESS))
}

/// Reason why detectors and clocks are not explored.
const TIMELESS: &str = "in a world without time no message is late and no clock is wrong, so there is nothing to \
                        explore; `quorate campaign` runs the algorithm in virtual time";

/// Properties that depend on more than a state: on the order of requests, or on every event and its stamp.
const NOT_EXPLORABLE: [Property; 2] = [Property::ME3, Property::ClockCondition];

fn refused(profile: &Profile, key: &'static str, problem: &str) -> CannotRun {
    CannotRun::OtherFamily {
        algorithm: profile.name,
        family: profile.layer.family(),
        key,
        problem: problem.to_owned(),
    }
}

impl CheckConfig {
    /// Whether users check a property: the algorithm promises it, or the scenario watches it in any case.
    fn judges(&self, profile: &Profile, property: Property) -> bool {
        let family = property.layer() == Some(profile.layer);
        profile.guarantees.contains(&property) || (family && self.scenario.watches(property))
    }

    /// The properties that users check.
    fn judged(&self, profile: &Profile) -> Vec<Property> {
        Property::ALL.into_iter().filter(|property| self.judges(profile, *property)).collect()
    }

    /// Byzantine processes with their strategies. Fails if the explorer cannot use one of them.
    fn strategies(&self, profile: &Profile) -> Result<Vec<(ProcessId, Strategy)>, CannotRun> {
        let traitors = &self.scenario.faults.traitor;
        let lies = [Layer::Agreement, Layer::Multicast, Layer::Replication];
        if !traitors.is_empty() && !lies.contains(&profile.layer) {
            let problem = "only agreement, multicast and replication are explored with traitors; leave them out";
            return Err(refused(profile, "faults.traitor", problem));
        }
        let fixed = |traitor: &Traitor| match (traitor.process, traitor.strategy) {
            (ProcessSelector::Process(process), strategy) if strategy != Strategy::Random => {
                Ok((process, strategy))
            }
            _ => {
                let problem = "a search draws no random numbers; name the process and a strategy \
                               other than random";
                Err(refused(profile, "faults.traitor", problem))
            }
        };
        traitors.iter().map(fixed).collect()
    }

    /// The Byzantine processes that the scenario names.
    fn traitors(&self) -> ProcessSet {
        let traitors = self.scenario.faults.traitor.iter();
        let named = traitors.filter_map(|traitor| match traitor.process {
            ProcessSelector::Process(process) => Some(process),
            ProcessSelector::Any => None,
        });
        named.collect()
    }

    /// Number of requests of each process.
    fn requests(&self) -> Vec<u8> {
        let mut requests = vec![0; self.scenario.processes];
        for (process, _) in self.scenario.first_requests() {
            requests[process.index()] = self.requests;
        }
        requests
    }
}

/// Explores the world of an algorithm with these users. If no user ever reaches its goal, nothing is shown;
/// `vacuous` is the message for that case. This is compiled for every family. Code that does not depend
/// on the family is below. An input to a process is computed only once, so its type is hardly worth knowing.
fn explore_algorithm<U: ErasedFamily>(
    config: &CheckConfig,
    on_progress: ProgressCallback<'_>,
    algorithm: &ErasedAlgorithm<U::Command, U::Output, U::Misuse>,
    users: U,
    vacuous: &str,
) -> Explored {
    let setup = check_setup(config, &algorithm.facts)?;
    let build = algorithm.alone.build;
    let mut world = users.world(setup.n, Box::new(|id| build(&setup, id)));
    world.counter_window = algorithm.facts.counter_window.map(|window| window(setup.n));
    let algorithm = ExploredAlgorithm {
        profile: (algorithm.facts.profile_of)(&setup),
        unlimited: (algorithm.facts.profile_of)(&Setup { rounds: None, ..setup.clone() }),
        tolerates: setup.tolerates,
        bound: setup.delay_bounds.bound,
        vacuous,
    };
    explore_world(config, world, algorithm, on_progress)
}

/// Whether the safety of an algorithm with timers does not depend on time. Bounds on delays are for its liveness alone, and it
/// relies on no clock. Then its timers may expire at any time.
fn is_safe_at_any_time(profile: &Profile) -> bool {
    let assumes = |assumption| profile.assumes.contains(&assumption);
    assumes(Assumption::EventualSynchrony) && !assumes(Assumption::BoundedDrift)
}

/// Number of rounds of a randomised algorithm. In the second one all processes must follow a decision of the first.
const ROUNDS: u32 = 2;

/// The setup of the processes to explore.
fn check_setup(config: &CheckConfig, facts: &Facts) -> Result<Setup, CannotRun> {
    let mut setup = setup(&config.scenario, facts)?;
    setup.lease = Span(setup.delay_bounds.bound.0.saturating_mul(config.lease.into()));
    setup.renewals = config.renewals;
    setup.rounds = Some(ROUNDS);
    Ok(setup)
}

/// Facts about the algorithm whose world is explored.
struct ExploredAlgorithm<'a> {
    profile: Profile,
    /// The profile of the algorithm without a limit on its rounds.
    unlimited: Profile,
    tolerates: usize,
    /// Maximum delay of a message.
    bound: Span,
    vacuous: &'a str,
}

fn explore_world(
    config: &CheckConfig,
    mut world: World<'_>,
    algorithm: ExploredAlgorithm<'_>,
    on_progress: ProgressCallback<'_>,
) -> Result<CheckOutcome, CannotRun> {
    let (scenario, profile) = (&config.scenario, &algorithm.profile);
    if let Some(id) = NOT_EXPLORABLE.into_iter().find(|property| scenario.watches(*property)) {
        let problem = format!("the explorer cannot watch {id}, but `quorate sim` can");
        return Err(refused(profile, "watch", &problem));
    }
    if config.budget.recoveries > 0 && profile.layer == Layer::Multicast {
        let problem = "multicasts are not explored with recoveries; leave them out";
        return Err(refused(profile, "recoveries", problem));
    }
    // Only timers that may expire at any time are limited in number.
    world.budget = Budget { timeouts: 0, ..config.budget };
    world.fifo = scenario.fifo;
    let Reductions { partial_order, symmetry, clocks, dead_values, timers } = config.reductions;
    (world.partial_order_reduction, world.symmetry_reduction) = (partial_order, symmetry);
    (world.clock_reduction, world.dead_value_reduction) = (clocks, dead_values);
    world.timer_reduction = timers;
    world.only = config.only;
    world.never_quiescent = profile.never_quiescent;
    if profile.assumes.contains(&Assumption::ServerUp) {
        world.immune = 1 << scenario.server;
    }
    world.immune |= all_but(scenario.processes, config.crashable.as_ref());
    world.never_expiring = all_but(scenario.processes, config.expirable.as_ref());
    world = world.with_traitors(&config.strategies(profile)?);
    checkpoint::check_resumed(config)?;
    let validated = config.validate.then(|| validated(&world, profile.name)).transpose()?;
    let mut found = search(config, &world, config.bounds, Some(Stage::Untimed), on_progress)?;
    // Only a process that sets timers depends on the delay of messages.
    let is_timed = world.needs_timing();
    if is_timed {
        world = match is_safe_at_any_time(profile) {
            true => {
                world.budget.timeouts = config.budget.timeouts;
                world.with_timeouts()
            }
            false => world.with_timers(algorithm.bound),
        };
        found = search(config, &world, config.bounds, Some(Stage::Timed), on_progress)?;
    }
    if matches!(found.exploration.end, End::Cyclic) {
        world = world.without_reductions();
        found = search(config, &world, config.bounds, None, on_progress)?;
    }
    // A shortest counterexample is wanted, and the order that was explored may be longer.
    if let End::Broken(counterexample) = &found.exploration.end
        && counterexample.cycle.is_empty()
        && world.has_skipped()
    {
        let depth = counterexample.steps.len() as u32;
        world = world.without_reductions();
        let full = search(config, &world, Bounds { depth, ..config.bounds }, None, on_progress)?;
        if matches!(full.exploration.end, End::Broken(_)) {
            found = full;
        }
    }
    let Exploration { progress, end, .. } = &found.exploration;
    let (states, depth) = (progress.states, progress.depth);
    let estimate = end.is_early().then(|| quorate_check::estimate(&world, states, depth)).flatten();
    let estimated_magnitude = estimate.map(|states| states.log10().round() as u32);
    let mut checked = CheckOutcome {
        report: CheckReport {
            estimated_magnitude,
            validated,
            ..report(config, &algorithm, &found)
        },
        scenario: None,
        steps: Vec::new(),
    };
    if let End::Broken(counterexample) = end {
        let all: Vec<Action> =
            counterexample.steps.iter().chain(&counterexample.cycle).copied().collect();
        // The counterexample defines the requesters and the times of their requests.
        let (requesters, request) = Default::default();
        let mut replay = Scenario { requesters, request, ..scenario.clone() };
        checked.steps = all.iter().map(Action::to_string).collect();
        // Instants leave open when an event happens within one, but a scenario must tell. And a scenario has only one delay
        // for the notices of a crash and of a recovery.
        let returns = all.iter().any(|step| matches!(step.kind, ActionKind::Recover(_)));
        if !is_timed && !returns {
            quorate_check::scenario_of(&world, &all, &mut replay);
            checked.keep(counterexample, replay)?;
        }
    }
    Ok(checked)
}

/// Maximum number of states in which canonical forms are validated.
const VALIDATED_MOST: usize = 2_000_000;

/// Validates the canonical forms of an algorithm.
fn validated(world: &World<'_>, name: &str) -> Result<ValidatedForms, CannotRun> {
    match world.validate(VALIDATED_MOST) {
        Ok((states, all)) => Ok(ValidatedForms { states: states as u64, all }),
        Err(problem) => Err(CannotRun::Search(format!(
            "{name} declares canonical forms that change what it does: {problem}"
        ))),
    }
}

/// Bit set of the processes that are not among the given ones. Without a set there are none.
fn all_but(n: usize, set: Option<&ProcessSet>) -> u64 {
    let others = |set: &ProcessSet| {
        let others = ProcessId::all(n).filter(|process| !set.contains(*process));
        others.fold(0, |bits, process| bits | 1 << process.index())
    };
    set.map_or(0, others)
}

impl CheckOutcome {
    /// Keeps a counterexample if it violates the same property in the simulator. Fails if a counterexample
    /// without a cycle does not.
    fn keep(
        &mut self,
        counterexample: &Counterexample<Action>,
        mut replay: Scenario,
    ) -> Result<(), CannotRun> {
        let outcome = run(&replay, Conditions::default(), None)?;
        let id = counterexample.property.id();
        let same = outcome.report.properties.iter().find(|property| property.id == id);
        let same = same.is_some_and(|property| property.status == Status::Violated);
        if counterexample.cycle.is_empty() && !same {
            return Err(CannotRun::Search(format!(
                "the counterexample to {id} does not replay; this is a bug in quorate"
            )));
        }
        if same {
            replay.expect = Some(Expect::from_report(&outcome.report));
            self.scenario = Some(replay);
        }
        Ok(())
    }
}
