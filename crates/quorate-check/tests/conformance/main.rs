//! Trace validation: every step of random runs is a sequence of actions of a proved model.
//!
//! `QUORATE_STORMS` is the number of runs of each test over quorums. Runs of the locks take longer, so there are
//! a twentieth of it. `cargo xtask mutants --conformance` runs these tests on broken variants of the code.

mod scenarios;

use quorate_algorithms::mutex::leased_quorum::OverLocks;
use quorate_algorithms::mutex::{LeasedQuorum, OverCoteries, OverViews, Quorum};
use quorate_algorithms::{Algorithm, Setup};
use quorate_check::conformance::{ConformanceReport, Model, Statistics, follow_mutex};
use quorate_core::abstraction::Abstraction;
use quorate_core::mutex::Mutex;
use quorate_core::quorum::{AnyMonotone, AnySystem, GivenMonotone, GivenPerView};
use quorate_core::{Message, Process, ProcessId, ProcessSet};
use quorate_sim::{AlgorithmInfo, Conditions, Scenario};

/// Number of runs of a test.
fn runs(default: u64) -> u64 {
    let number = std::env::var("QUORATE_STORMS").ok();
    number.and_then(|number| number.parse().ok()).unwrap_or(default)
}

/// Runs over quorums in the time of a run of the locks.
const RUNS_PER_RUN_OF_LOCKS: u64 = 20;

/// Follows a run in the model.
fn follow<A>(scenario: &Scenario, setup: &Setup, model: &Model, abstraction: A) -> ConformanceReport
where
    A: Abstraction,
    A::Process: Algorithm + Mutex + 'static,
{
    let info = AlgorithmInfo {
        profile: A::Process::profile(setup),
        cost: A::Process::cost(setup),
        kinds: <A::Process as Process>::Message::KINDS,
    };
    let (setup, conditions) = (setup.clone(), Conditions::default());
    let make = move |id| A::Process::build(&setup, id);
    let report = follow_mutex(scenario, &info, conditions, make, model, abstraction);
    report.expect("a scenario that can be run")
}

/// Follows runs over these quorum systems in turn, one for each seed. Fails at the first step that the model does not allow.
fn follow_over<A>(
    model: &Model,
    systems: &[&dyn Fn(usize) -> AnySystem],
    scenario: impl Fn(u64) -> Scenario,
    abstraction: impl Fn(&AnySystem) -> Option<A>,
) -> Statistics
where
    A: Abstraction,
    A::Process: Algorithm + Mutex + 'static,
{
    let setup = |scenario: &Scenario| {
        let system = systems[scenario.seed as usize % systems.len()](scenario.processes);
        scenarios::setup(scenario, system)
    };
    follow_all(model, runs(120), scenario, setup, |setup| abstraction(&setup.quorums))
}

/// Follows a run for each seed. Fails at the first step that the model does not allow.
fn follow_all<A>(
    model: &Model,
    runs: u64,
    scenario: impl Fn(u64) -> Scenario,
    setup: impl Fn(&Scenario) -> Setup,
    abstraction: impl Fn(&Setup) -> Option<A>,
) -> Statistics
where
    A: Abstraction,
    A::Process: Algorithm + Mutex + 'static,
{
    let mut total = Statistics::default();
    for seed in 0..runs {
        let scenario = scenario(seed);
        scenario.validate().expect("a valid scenario");
        let setup = setup(&scenario);
        let abstraction = abstraction(&setup).expect("quorums of the model");
        let report = follow(&scenario, &setup, model, abstraction);
        if let Some(divergence) = report.divergence {
            panic!("after {} runs: {divergence}{scenario:?}", seed + 1);
        }
        total.add(&report.statistics);
    }
    total
}

fn never_taken<'m>(model: &'m Model, total: &Statistics) -> Vec<&'m str> {
    model.actions().filter(|action| !total.actions.contains_key(*action)).collect()
}

fn over_views() -> Model {
    Model::parse(OverViews::MODEL).expect("the proof has exported a valid model")
}

#[test]
fn over_views_every_step_is_one_of_the_model() {
    let model = over_views();
    let named = |name| move |n| AnySystem::by_name(name, n).expect("a known system");
    let (vcube, grid) = (named("vcube"), named("grid"));
    let (wall, majority) = (named("wall"), named("majority-live"));
    let systems: [&dyn Fn(usize) -> AnySystem; 4] = [&vcube, &grid, &wall, &majority];
    let scenario = |seed| scenarios::crashes(Quorum::PROFILE.name, seed, 2..=7);
    let total = follow_over(&model, &systems, scenario, OverViews::new);
    // A process always has a quorum, and it ends a request before it makes another one.
    assert_eq!(never_taken(&model, &total), ["give_up", "supersede"], "{total:?}");
}

#[test]
fn over_coteries_every_step_is_one_of_the_model() {
    let model = Model::parse(OverCoteries::MODEL).expect("the proof has exported a valid model");
    let named = |name| move |n| AnySystem::by_name(name, n).expect("a known system");
    let (grid, tree, majority) = (named("grid-fixed"), named("tree"), named("majority"));
    let systems: [&dyn Fn(usize) -> AnySystem; 3] = [&grid, &tree, &majority];
    let scenario = |seed| scenarios::recoveries(Quorum::PROFILE.name, seed, 2..=6);
    let total = follow_over(&model, &systems, scenario, OverCoteries::new);
    assert_eq!(never_taken(&model, &total), [] as [&str; 0], "{total:?}");
}

/// Actions of the locks that are not about direct clients.
const RELAYS: &[&str] = &[
    "propose",
    "propose_inside",
    "grant_recorded",
    "grant_listed",
    "confirm_recorded",
    "withdraw",
    "receive_withdraw",
    "withdraw_untold",
    "receive_withdraw_untold",
    "record",
];

/// Force releases are commands of operators, which the simulator does not have.
const FORCE: &[&str] = &["force", "thaw"];

/// Voters of the simulator have their vote file when they recover.
const FORGETTING: &[&str] = &[
    "forget_votes",
    "forget_all",
    "vote_with_mark",
    "begin_learning",
    "answer",
    "vote_after_learning",
];

#[test]
fn every_step_of_leased_quorum_is_one_of_the_model() {
    let model = Model::parse(OverLocks::MODEL).expect("the proof has exported a valid model");
    let runs = runs(30 * RUNS_PER_RUN_OF_LOCKS) / RUNS_PER_RUN_OF_LOCKS;
    let scenario = |seed| scenarios::leases(LeasedQuorum::PROFILE.name, seed, 2..=6);
    let total = follow_all(&model, runs, scenario, scenarios::lease_setup, OverLocks::new);
    assert_eq!(never_taken(&model, &total), [RELAYS, FORCE, FORGETTING].concat(), "{total:?}");
}

/// Listed quorums: p0 gives all votes, and p1 does after the crash of p3. Two quorums of one view intersect, but not those of
/// different views.
fn not_monotone() -> GivenPerView {
    let set =
        |members: &[u32]| -> ProcessSet { members.iter().copied().map(ProcessId::new).collect() };
    let (before, after) = (ProcessId::all(4), ProcessId::all(3));
    let before = before.map(|id| (set(&[]), id, set(&[0])));
    GivenPerView::new(4, before.chain(after.map(|id| (set(&[3]), id, set(&[1])))))
}

#[test]
fn quorums_that_are_not_monotone_do_not_satisfy_the_axioms() {
    // They are refused, so that no process can be built over them. A mutant accepts them.
    let Ok(system) = GivenMonotone::new(not_monotone()) else { return };
    let given = move |_| AnySystem::monotone(AnyMonotone::Given(system.clone()));
    let scenario = |seed| scenarios::crashes(Quorum::PROFILE.name, seed, 4..=4);
    follow_over(&over_views(), &[&given], scenario, OverViews::new);
}
