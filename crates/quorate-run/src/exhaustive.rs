//! Every interleaving of a small world, by the algorithm's name.

use std::ops::ControlFlow;

use quorate_algorithms::Algorithm;
use quorate_algorithms::catalogue::{self, Visitor};
use quorate_check::{
    Action, AgreementUsers, Bounds, Budget, ElectionUsers, End, Exploration, Found, Happening,
    Model, MulticastUsers, MutexUsers, Progress, State, Users, World,
};
use quorate_core::agreement::Agreement;
use quorate_core::clock_sync::ClockSync;
use quorate_core::detector::Detector;
use quorate_core::election::{Candidates, Election};
use quorate_core::multicast::Multicast;
use quorate_core::mutex::Mutex;
use quorate_core::{Assumption, Layer, ProcessId, ProcessSet, Profile, Property, Span};
use quorate_sim::monitor::Status;
use quorate_sim::{Conditions, Expect, Scenario, proposals};
use serde::Serialize;

use crate::setup::{Facts, setup};
use crate::{CannotRun, run};

/// What is to be explored: the world of a scenario, without its times and faults.
#[derive(Clone, Debug)]
pub struct Question {
    /// The algorithm, how many processes, who asks, what it votes by, and whether links keep their order.
    pub scenario: Scenario,
    /// How often each requester asks.
    pub requests: u8,
    /// What may go wrong.
    pub budget: Budget,
    /// The processes that may crash, if not all.
    pub crashing: Option<ProcessSet>,
    /// Instants that a lease lasts, where the algorithm has leases.
    pub lease: u8,
    /// How often a client renews its lease before it gives up, if that is bounded.
    pub renewals: Option<u32>,
    /// What may be left out.
    pub reduce: Reductions,
    /// The property to look for, if not for all.
    pub only: Option<Property>,
    /// How far to go.
    pub bounds: Bounds,
    /// Whether it is known that not everything may be gone through; else a world that is far too large is refused.
    pub content_with_a_part: bool,
    /// On how many threads.
    pub threads: usize,
}

/// What may be left out without changing a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reductions {
    /// Deliveries that commute are gone through in one order only.
    pub order: bool,
    /// Worlds that differ only in who is who are taken for one.
    pub names: bool,
}

impl Reductions {
    /// As much as there is.
    pub const ALL: Self = Self { order: true, names: true };
    /// Nothing.
    pub const NONE: Self = Self { order: false, names: false };
}

/// What came of it: the JSON that `check` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckReport {
    /// The algorithm's name.
    pub algorithm: String,
    /// How many processes.
    pub processes: usize,
    /// `holds`, `violated` or `bounded`.
    pub verdict: &'static str,
    /// Distinct states visited.
    pub states: u64,
    /// Steps between them.
    pub steps: u64,
    /// The longest of the shortest ways to a state.
    pub depth: u32,
    /// What became of each property.
    pub properties: Vec<CheckedProperty>,
    /// The file that replays the counterexample, if one was written.
    pub counterexample: Option<String>,
    /// How many steps the counterexample has.
    pub counterexample_steps: Option<usize>,
    /// Why not every state was visited, if so: `memory`, `depth` or `stopped`.
    pub bounded_by: Option<&'static str>,
    /// The most bytes in use.
    pub bytes: u64,
    /// Assumptions of the algorithm that the budget of faults goes beyond.
    pub outside: Vec<&'static str>,
}

/// A property and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckedProperty {
    /// Its name.
    pub id: &'static str,
    /// Whether it held.
    pub status: Status,
    /// In a sentence.
    pub detail: String,
}

/// A report, and what to replay if something is broken.
#[derive(Clone, Debug)]
pub struct Checked {
    /// For programs.
    pub report: CheckReport,
    /// The counterexample as a scenario that expects what happens.
    pub scenario: Option<Scenario>,
    /// The steps of the counterexample, in words.
    pub story: Vec<String>,
}

/// Explores. `look` is told now and then how far it has come, and may stop it.
pub fn explore(
    question: &Question,
    mut look: impl FnMut(&Progress) -> ControlFlow<()> + Send,
) -> Result<Checked, CannotRun> {
    explore_with(question, &mut look)
}

/// Compiled here for every algorithm, and not again wherever somebody looks.
fn explore_with(question: &Question, look: Look<'_>) -> Result<Checked, CannotRun> {
    let name = question.scenario.algorithm.as_str();
    catalogue::visit(name, Explore { question, look })
        .unwrap_or_else(|| Err(CannotRun::UnknownAlgorithm { name: name.to_owned() }))
}

type Look<'a> = &'a mut (dyn FnMut(&Progress) -> ControlFlow<()> + Send);

struct Explore<'a> {
    question: &'a Question,
    look: Look<'a>,
}

impl Visitor for Explore<'_> {
    type Answer = Result<Checked, CannotRun>;

    fn mutex<A: Algorithm + Mutex + 'static>(self) -> Self::Answer {
        let users = MutexUsers { requests: self.question.requests() };
        self.explore::<A, _>(users, "nobody ever enters")
    }

    fn election<A: Algorithm + Election + 'static>(self) -> Self::Answer {
        let scenario = &self.question.scenario;
        let candidates = Candidates::new(scenario.processes, &scenario.ids);
        let users = ElectionUsers {
            requests: self.question.requests(),
            candidates: ProcessId::all(scenario.processes).map(|id| candidates.of(id)).collect(),
        };
        self.explore::<A, _>(users, "nobody is ever elected")
    }

    fn agreement<A: Algorithm + Agreement + 'static>(self) -> Self::Answer {
        let scenario = &self.question.scenario;
        if self.question.requests != 1 {
            return Err(refused(&A::PROFILE, "requests", "an agreement is made once"));
        }
        let mut values = vec![None; scenario.processes];
        for (process, _, value) in proposals(scenario, A::MATTER) {
            values[process.index()] = Some(value);
        }
        self.explore::<A, _>(AgreementUsers { matter: A::MATTER, values }, "nobody ever decides")
    }

    fn multicast<A: Algorithm + Multicast + 'static>(self) -> Self::Answer {
        let users = MulticastUsers {
            requests: self.question.requests(),
            to: self.question.scenario.group(),
            promised: Property::ALL
                .into_iter()
                .filter(|property| self.question.judges(&A::PROFILE, *property))
                .collect(),
        };
        self.explore::<A, _>(users, "nothing is ever delivered")
    }

    fn detector<A: Algorithm + Detector + 'static>(self) -> Self::Answer {
        Err(refused(&A::PROFILE, "algorithm", TIMELESS))
    }

    fn clock<A: Algorithm + ClockSync + 'static>(self) -> Self::Answer {
        Err(refused(&A::PROFILE, "algorithm", TIMELESS))
    }
}

/// Why detectors and clocks are not explored.
const TIMELESS: &str = "in a world without time nobody is late and no clock is wrong, so there is nothing to explore; \
                        `quorate campaign` runs it in time";

/// What depends on more than a state: on the order of requests, or on every event and its stamp.
const UNWATCHED: [Property; 2] = [Property::ME3, Property::ClockCondition];

fn refused(profile: &Profile, key: &'static str, problem: &str) -> CannotRun {
    CannotRun::OtherFamily {
        algorithm: profile.name,
        family: profile.layer.family(),
        key,
        problem: problem.to_owned(),
    }
}

impl Question {
    /// Whether a property is judged that users can judge: it is promised, or to be watched all the same.
    fn judges(&self, profile: &Profile, property: Property) -> bool {
        let family = property.layer() == Some(profile.layer);
        profile.guarantees.contains(&property) || (family && self.scenario.watches(property))
    }

    /// How often each process is asked for something.
    fn requests(&self) -> Vec<u8> {
        let mut requests = vec![0; self.scenario.processes];
        for (process, _) in self.scenario.first_requests() {
            requests[process.index()] = self.requests;
        }
        requests
    }
}

impl Explore<'_> {
    /// Explores the world of an algorithm with these users. Where none of them is ever pleased, nothing is shown: that
    /// is said with `vacuous`. This is compiled for every algorithm; what does not depend on it is below.
    fn explore<A, U>(self, users: U, vacuous: &str) -> Result<Checked, CannotRun>
    where
        A: Algorithm + 'static,
        U: Users<Command = A::Command, Output = A::Output>,
    {
        let Self { question, look } = self;
        let mut setup = setup(&question.scenario, &Facts::of::<A>())?;
        setup.lease = Span(setup.tempo.bound.0.saturating_mul(question.lease.into()));
        setup.renewals = question.renewals;
        let profile = A::profile(&setup);
        let world = World::new(setup.n, |id| A::build(&setup, id), users);
        let promised = Promised { profile, bears: setup.bears, bound: setup.tempo.bound, vacuous };
        explore_world(question, world, promised, look)
    }
}

/// What is known of an algorithm whose world is explored.
struct Promised<'a> {
    profile: Profile,
    bears: usize,
    /// The longest that a message takes.
    bound: Span,
    vacuous: &'a str,
}

fn explore_world(
    question: &Question,
    mut world: World<'_>,
    promised: Promised<'_>,
    look: Look<'_>,
) -> Result<Checked, CannotRun> {
    let (scenario, profile) = (&question.scenario, &promised.profile);
    if let Some(id) = UNWATCHED.into_iter().find(|property| scenario.watches(*property)) {
        let problem = format!("the explorer cannot watch {id}, but `quorate sim` can");
        return Err(refused(profile, "watch", &problem));
    }
    if question.budget.recoveries > 0 && profile.layer != Layer::Mutex {
        let problem = "only mutual exclusion is explored with processes that come back";
        return Err(refused(profile, "recoveries", problem));
    }
    world.budget = question.budget;
    world.fifo = scenario.fifo;
    (world.reduce, world.nameless) = (question.reduce.order, question.reduce.names);
    world.only = question.only;
    world.restless = profile.restless;
    if profile.assumes.contains(&Assumption::ServerUp) {
        world.immune = 1 << scenario.server;
    }
    if let Some(crashing) = &question.crashing {
        let spared = ProcessId::all(scenario.processes).filter(|it| !crashing.contains(*it));
        world.immune |= spared.fold(0, |bits, process| bits | 1 << process.index());
    }
    let mut found = search(question, &world, question.bounds, look)?;
    // Only who sets timers minds how long a message takes.
    let is_timed = world.has_strayed();
    if is_timed {
        world = world.in_time(promised.bound);
        found = search(question, &world, question.bounds, look)?;
    }
    if matches!(found.end, End::Cyclic) {
        world = world.in_full();
        found = search(question, &world, question.bounds, look)?;
    }
    // A shortest way is wanted, and the order that was kept may be a longer one.
    if let End::Broken(counterexample) = &found.end
        && counterexample.cycle.is_empty()
        && world.has_skipped()
    {
        let depth = counterexample.steps.len() as u32;
        world = world.in_full();
        let full = search(question, &world, Bounds { depth, ..question.bounds }, look)?;
        if matches!(full.end, End::Broken(_)) {
            found = full;
        }
    }
    let mut checked = Checked {
        report: report(question, profile, promised.bears, &found, promised.vacuous),
        scenario: None,
        story: Vec::new(),
    };
    if let End::Broken(counterexample) = &found.end {
        let all: Vec<Action> =
            counterexample.steps.iter().chain(&counterexample.cycle).copied().collect();
        // Who asks, and when, is part of the story.
        let (requesters, request) = Default::default();
        let mut story = Scenario { requesters, request, ..scenario.clone() };
        checked.story = all.iter().map(Action::to_string).collect();
        // Instants leave open when within one something happens, which a scenario has to say; and a scenario has one delay
        // for word of a crash and of a return.
        let returns = all.iter().any(|step| matches!(step.what, Happening::Recover(_)));
        if !is_timed && !returns {
            quorate_check::scenario_of(&world, &all, &mut story);
            checked.keep(counterexample, story)?;
        }
    }
    Ok(checked)
}

/// Every algorithm's world has the same states, so that the search is compiled once for all.
type AnyWorld<'w> = &'w dyn Model<State = State, Action = Action>;

fn search(
    question: &Question,
    world: AnyWorld<'_>,
    bounds: Bounds,
    look: &mut (dyn FnMut(&Progress) -> ControlFlow<()> + Send),
) -> Result<Exploration<Action>, CannotRun> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(question.threads)
        .build()
        .map_err(|error| CannotRun::Option(format!("threads cannot be started: {error}")))?;
    let mut sizing = Sizing { done: question.content_with_a_part, too_large: None };
    let found = pool.install(|| {
        quorate_check::explore(world, bounds, |progress| {
            if world.is_void() {
                return ControlFlow::Break(());
            }
            sizing.look(world, bounds.memory, progress)?;
            look(progress)
        })
    });
    match sizing.too_large {
        Some(problem) => Err(CannotRun::Option(problem)),
        None => Ok(found),
    }
}

impl Checked {
    /// Keeps a counterexample, after it has broken the same property in the simulator.
    fn keep(
        &mut self,
        counterexample: &Found<Action>,
        mut story: Scenario,
    ) -> Result<(), CannotRun> {
        let outcome = run(&story, Conditions::default(), None)?;
        let id = counterexample.property.id();
        let same = outcome.report.properties.iter().find(|property| property.id == id);
        let same = same.is_some_and(|property| property.status == Status::Violated);
        if counterexample.cycle.is_empty() && !same {
            return Err(CannotRun::Option(format!(
                "the counterexample to {id} does not replay; this is a mistake of quorate's own"
            )));
        }
        if same {
            story.expect = Some(Expect::from_report(&outcome.report));
            self.scenario = Some(story);
        }
        Ok(())
    }
}

/// Looks once, when enough is known, whether a world is far too large.
struct Sizing {
    done: bool,
    too_large: Option<String>,
}

/// After so many states a guess at the rest is worth something.
const SIZED_AFTER: u64 = 300_000;

impl Sizing {
    fn look(&mut self, world: AnyWorld<'_>, memory: u64, progress: &Progress) -> ControlFlow<()> {
        if self.done || progress.states < SIZED_AFTER {
            return ControlFlow::Continue(());
        }
        self.done = true;
        let Some(states) = quorate_check::estimate(world, progress.states, progress.depth) else {
            return ControlFlow::Continue(());
        };
        let gib = |bytes: f64| bytes / f64::from(1 << 30);
        let bytes = states * (progress.bytes as f64 / progress.states as f64);
        // It is a guess: what would fit if it were a few times too high is tried.
        if gib(bytes) < 4.0 * gib(memory as f64) {
            return ControlFlow::Continue(());
        }
        // A number of a hundred digits says less than how many they are.
        let needed = match gib(bytes) {
            few @ ..10_000.0 => format!("{few:.0}"),
            many => format!("10^{:.0}", many.log10()),
        };
        self.too_large = Some(format!(
            "this world has very roughly 10^{:.0} states, which would take {needed} GiB of memory, and {:.0} GiB are free; \
             ask for less (fewer processes, --requesters 2, --requests 1, fewer --crashes), \
             or look at a part of it with --depth {} or --memory {:.0}GiB",
            states.log10(),
            gib(memory as f64),
            progress.depth + 2,
            gib(memory as f64).max(1.0)
        ));
        ControlFlow::Break(())
    }
}

fn report(
    question: &Question,
    profile: &Profile,
    bears: usize,
    found: &Exploration<Action>,
    vacuous: &str,
) -> CheckReport {
    let (verdict, bounded_by) = match &found.end {
        End::Exhausted => ("holds", None),
        End::Broken(_) | End::Vacuous => ("violated", None),
        End::Cyclic => unreachable!("without reductions a cycle is looked into"),
        End::Memory => ("bounded", Some("memory")),
        End::Depth => ("bounded", Some("depth")),
        End::Stopped => ("bounded", Some("stopped")),
    };
    let broken = match &found.end {
        End::Broken(broken) => Some(broken),
        _ => None,
    };
    let depth = found.progress.depth;
    let judged = |property: Property| {
        let (status, detail) = match (&found.end, property) {
            (_, unwatched) if UNWATCHED.contains(&unwatched) => {
                (Status::NotChecked, "not watched by the explorer".to_owned())
            }
            (End::Broken(broken), _) if broken.property == property => {
                (Status::Violated, format!("broken after {} steps", broken.steps.len()))
            }
            // What a family's users look for is what its algorithms promise.
            _ if !question.judges(profile, property) => {
                let ask = format!(
                    "not promised by this algorithm; `--watch {property}` judges it all the same"
                );
                (Status::NotChecked, ask)
            }
            _ if question.only.is_some_and(|only| only != property) => {
                (Status::NotChecked, "not looked for".to_owned())
            }
            (End::Exhausted, _) => (Status::Holds, property.sentence().to_owned()),
            (End::Vacuous, _) => (Status::Violated, format!("{vacuous}, so nothing was shown")),
            (End::Broken(_), _) => {
                (Status::NotChecked, "the search ended with the first violation".to_owned())
            }
            (_, Property::ME2 | Property::E2 | Property::Termination) => (
                Status::NotChecked,
                format!("no deadlock to depth {depth}; starvation needs every state"),
            ),
            _ => (Status::NotChecked, format!("no violation to depth {depth}")),
        };
        CheckedProperty { id: property.id(), status, detail }
    };
    let outside =
        |(assumption, beyond): &(Assumption, bool)| *beyond && profile.assumes.contains(assumption);
    let Budget { crashes, recoveries, losses, suspicions } = question.budget;
    let n = question.scenario.processes;
    let too_many = usize::from(crashes) > bears;
    let beyond = [
        (Assumption::NoCrash, crashes > 0),
        (Assumption::CrashStop, recoveries > 0),
        (Assumption::NoLoss, losses > 0),
        (Assumption::PerfectDetector, suspicions > 0),
        (Assumption::Fifo, !question.scenario.fifo),
        (Assumption::FewCrashes, too_many),
        (Assumption::FewFaults, too_many),
        (Assumption::LessThanAHalf, n <= bears.saturating_mul(2)),
        (Assumption::LessThanAThird, n <= bears.saturating_mul(3)),
    ];
    // Logical clocks are told of where there are any.
    let listed = Property::of(profile.layer).filter(|property| {
        *property != Property::ClockCondition || profile.guarantees.contains(property)
    });
    CheckReport {
        algorithm: question.scenario.algorithm.clone(),
        processes: question.scenario.processes,
        verdict,
        states: found.progress.states,
        steps: found.progress.steps,
        depth,
        properties: listed.map(judged).collect(),
        counterexample: None,
        counterexample_steps: broken.map(|broken| broken.steps.len()),
        bounded_by,
        bytes: found.bytes_most,
        outside: beyond.iter().filter(|pair| outside(pair)).map(|(a, _)| a.id()).collect(),
    }
}
