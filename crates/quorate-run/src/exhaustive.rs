//! Every interleaving of a small world, by the algorithm's name.

use std::ops::ControlFlow;

use quorate_algorithms::Algorithm;
use quorate_algorithms::catalogue::{self, Visitor};
use quorate_check::{Action, Bounds, Budget, End, Exploration, MutexUsers, Progress, World};
use quorate_core::agreement::Agreement;
use quorate_core::clock_sync::ClockSync;
use quorate_core::detector::Detector;
use quorate_core::election::Election;
use quorate_core::multicast::Multicast;
use quorate_core::mutex::Mutex;
use quorate_core::{Assumption, Property};
use quorate_sim::monitor::Status;
use quorate_sim::{Conditions, Expect, Scenario};
use serde::Serialize;

use crate::by_name::setup;
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
    /// Whether commuting deliveries are gone through in one order only.
    pub reduce: bool,
    /// How far to go.
    pub bounds: Bounds,
    /// On how many threads.
    pub threads: usize,
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
    look: impl FnMut(&Progress) -> ControlFlow<()> + Send,
) -> Result<Checked, CannotRun> {
    let name = question.scenario.algorithm.as_str();
    catalogue::visit(name, Explore { question, look })
        .unwrap_or_else(|| Err(CannotRun::UnknownAlgorithm { name: name.to_owned() }))
}

struct Explore<'q, L> {
    question: &'q Question,
    look: L,
}

impl<L: FnMut(&Progress) -> ControlFlow<()> + Send> Visitor for Explore<'_, L> {
    type Answer = Result<Checked, CannotRun>;

    fn mutex<A: Algorithm + Mutex + 'static>(self) -> Self::Answer {
        let Self { question, mut look } = self;
        let scenario = &question.scenario;
        let setup = setup::<A>(scenario)?;
        let n = scenario.processes;
        let mut requests = vec![0; n];
        for (process, _) in scenario.first_requests() {
            requests[process.index()] = question.requests;
        }
        let users = MutexUsers { requests };
        let mut world = World::new(n, |id| A::build(&setup, id), users);
        world.budget = question.budget;
        world.fifo = scenario.fifo;
        world.reduce = question.reduce;
        world.restless = A::PROFILE.restless;
        if A::PROFILE.assumes.contains(&Assumption::ServerUp) {
            world.immune = 1 << scenario.server;
        }
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(question.threads)
            .build()
            .map_err(|error| CannotRun::Option(format!("threads cannot be started: {error}")))?;
        let mut found = pool.install(|| quorate_check::explore(&world, question.bounds, &mut look));
        if matches!(found.end, End::Cyclic) {
            world.reduce = false;
            found = pool.install(|| quorate_check::explore(&world, question.bounds, &mut look));
        }
        if world.has_strayed() {
            return Err(CannotRun::Option(format!(
                "{} sets timers, and without time they cannot be explored; `quorate campaign` runs it in time",
                A::PROFILE.name
            )));
        }
        let profile = A::profile(&setup);
        let mut checked = Checked {
            report: report(question, &profile, &found),
            scenario: None,
            story: Vec::new(),
        };
        if let End::Broken(counterexample) = &found.end {
            let all: Vec<Action> =
                counterexample.steps.iter().chain(&counterexample.cycle).copied().collect();
            let mut story = Scenario { requesters: Default::default(), ..scenario.clone() };
            quorate_check::scenario_of(&world, &all, &mut story);
            story.watch = vec![];
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
                checked.scenario = Some(story);
            }
            checked.story = all.iter().map(Action::to_string).collect();
        }
        Ok(checked)
    }

    fn election<A: Algorithm + Election + 'static>(self) -> Self::Answer {
        Err(not_yet::<A>())
    }

    fn agreement<A: Algorithm + Agreement + 'static>(self) -> Self::Answer {
        Err(not_yet::<A>())
    }

    fn multicast<A: Algorithm + Multicast + 'static>(self) -> Self::Answer {
        Err(not_yet::<A>())
    }

    fn detector<A: Algorithm + Detector + 'static>(self) -> Self::Answer {
        Err(not_yet::<A>())
    }

    fn clock<A: Algorithm + ClockSync + 'static>(self) -> Self::Answer {
        Err(not_yet::<A>())
    }
}

fn not_yet<A: Algorithm>() -> CannotRun {
    CannotRun::OtherFamily {
        algorithm: A::PROFILE.name,
        family: A::PROFILE.layer.family(),
        key: "algorithm",
        problem: "only mutual exclusion can be explored; `quorate campaign` runs it at random"
            .to_owned(),
    }
}

fn report(
    question: &Question,
    profile: &quorate_core::Profile,
    found: &Exploration<Action>,
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
            (_, Property::ME3 | Property::ClockCondition) => {
                (Status::NotChecked, "not watched by the explorer".to_owned())
            }
            (End::Broken(broken), _) if broken.property == property => {
                (Status::Violated, format!("broken after {} steps", broken.steps.len()))
            }
            (End::Exhausted, _) => (Status::Holds, property.sentence().to_owned()),
            (End::Vacuous, _) => {
                (Status::Violated, "nobody ever enters, so nothing was shown".to_owned())
            }
            (End::Broken(_), _) => {
                (Status::NotChecked, "the search ended with the first violation".to_owned())
            }
            (_, Property::ME2) => (
                Status::NotChecked,
                format!("no deadlock to depth {depth}; starvation needs every state"),
            ),
            _ => (Status::NotChecked, format!("no violation to depth {depth}")),
        };
        CheckedProperty { id: property.id(), status, detail }
    };
    let outside = |(assumption, budget): &(Assumption, u8)| {
        *budget > 0 && profile.assumes.contains(assumption)
    };
    let beyond = [
        (Assumption::NoCrash, question.budget.crashes),
        (Assumption::NoLoss, question.budget.losses),
        (Assumption::PerfectDetector, question.budget.suspicions),
        (Assumption::Fifo, u8::from(!question.scenario.fifo)),
    ];
    CheckReport {
        algorithm: question.scenario.algorithm.clone(),
        processes: question.scenario.processes,
        verdict,
        states: found.progress.states,
        steps: found.progress.steps,
        depth,
        properties: [Property::ME1, Property::ME2, Property::ME3].map(judged).to_vec(),
        counterexample: None,
        counterexample_steps: broken.map(|broken| broken.steps.len()),
        bounded_by,
        bytes: found.bytes_most,
        outside: beyond.iter().filter(|pair| outside(pair)).map(|(a, _)| a.id()).collect(),
    }
}
