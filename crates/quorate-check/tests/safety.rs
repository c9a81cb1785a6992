//! The search for safety visits exactly the states of the search that keeps every edge.

use std::fmt::Debug;
use std::ops::ControlFlow;

use quorate_algorithms::agreement::{SyncConsensus, SyncConsensusShort};
use quorate_algorithms::election::{Bully, ChangRoberts};
use quorate_algorithms::mutex::{Central, Lamport, Maekawa, RicartAgrawala};
use quorate_algorithms::{Algorithm, Setup};
use quorate_check::{
    AgreementUsers, Bounds, Budget, ElectionUsers, End, FairnessClass, Fingerprint, Model,
    MutexUsers, PackedModel, Progress, SafetyExploration, Successor, World, explore,
    explore_safety, fingerprint_of,
};
use quorate_core::agreement::{AgreementKind, Value};
use quorate_core::quorum::Majority;
use quorate_core::{ProcessId, ProcessSet, Property, Span};

const BOUNDS: Bounds = Bounds { memory: 1 << 30, depth: u32::MAX };

fn on_threads<M: PackedModel>(
    threads: usize,
    model: &M,
    bounds: Bounds,
) -> SafetyExploration<M::Action> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    pool.install(|| explore_safety(model, bounds, |_| ControlFlow::Continue(())))
}

/// The end of a search in comparable form. The search for safety does not see cycles.
fn ending<A: Debug>(end: &End<A>) -> String {
    match end {
        End::Cyclic | End::Exhausted => "exhausted".to_owned(),
        End::Broken(found) if !found.cycle.is_empty() => "exhausted".to_owned(),
        other => format!("{other:?}"),
    }
}

/// Explores a model in both ways and checks that the results are equal. Returns the number of states, and whether the search
/// for safety found that every run ends.
fn same<M: PackedModel>(make: impl Fn() -> M, bounds: Bounds) -> (u64, bool) {
    let full = explore(&make(), bounds, |_| ControlFlow::Continue(()));
    let is_cyclic = match &full.end {
        End::Broken(found) => !found.cycle.is_empty(),
        end => matches!(end, End::Cyclic),
    };
    let mut is_acyclic = Vec::new();
    for threads in [1, 3] {
        let safety = on_threads(threads, &make(), bounds);
        let found = safety.exploration;
        let (own, progress) = (Progress { bytes: 0, ..found.progress }, full.progress);
        assert_eq!(own, Progress { bytes: 0, ..progress }, "on {threads} threads");
        assert_eq!(ending(&found.end), ending(&full.end), "on {threads} threads");
        assert!(!(is_cyclic && safety.is_acyclic), "a cycle was not noticed");
        is_acyclic.push(safety.is_acyclic);
    }
    assert_eq!(is_acyclic[0], is_acyclic[1]);
    (full.progress.states, is_acyclic[0])
}

fn users(n: usize, requests: u8) -> MutexUsers {
    MutexUsers { requests: vec![requests; n] }
}

fn crashes(crashes: u8) -> Budget {
    Budget { crashes, ..Budget::default() }
}

#[test]
fn every_way_to_reduce_a_world_gives_the_same_states() {
    let coterie = Majority::new(3);
    for reduced in [false, true] {
        let lamport = || {
            let mut world = World::new(3, |id| Lamport::new(3, id), users(3, 1));
            world.partial_order_reduction = reduced;
            world
        };
        let maekawa = || {
            let mut world = World::new(3, |id| Maekawa::new(id, &coterie), users(3, 1));
            world.partial_order_reduction = reduced;
            world
        };
        let central = || {
            let server = ProcessId::new(0);
            let mut world = World::new(4, move |id| Central::new(id, server), users(4, 1));
            (world.budget, world.immune) = (crashes(2), 1);
            (world.partial_order_reduction, world.symmetry_reduction) = (reduced, reduced);
            world
        };
        assert!(same(lamport, BOUNDS).0 > 1_000);
        assert!(same(maekawa, BOUNDS).0 > 100);
        assert!(same(central, BOUNDS).0 > 1_000);
    }
}

#[test]
fn links_without_order_losses_and_recoveries_give_the_same_states() {
    let server = ProcessId::new(0);
    let world = |fifo, budget| {
        move || {
            let mut world = World::new(3, move |id| Central::new(id, server), users(3, 2));
            (world.fifo, world.immune, world.budget) = (fifo, 1, budget);
            world
        }
    };
    let budget = Budget { losses: 1, suspicions: 1, ..crashes(1) };
    same(world(false, budget), BOUNDS);
    same(world(true, Budget { recoveries: 1, ..crashes(1) }), BOUNDS);
    same(world(false, crashes(1)), BOUNDS);
}

#[test]
fn rounds_and_timers_give_the_same_states() {
    let values: Vec<_> = [3, 2, 1].map(|value| Some(Value(value))).into();
    let users = || AgreementUsers {
        agreement_kind: AgreementKind::Proposal,
        values: values.clone(),
        binds_recovered: true,
        must_decide: true,
        traitors: ProcessSet::new(),
    };
    let long = || {
        let mut world = World::new(3, |_| SyncConsensus::new(1), users());
        world.budget = crashes(1);
        world
    };
    let short = || {
        let mut world = World::new(3, |_| SyncConsensusShort::new(1), users());
        world.budget = crashes(1);
        world
    };
    assert!(same(long, BOUNDS).0 > 100);
    same(short, BOUNDS);
    let setup = Setup::new(3);
    let bullies = |longer: u64| {
        let setup = &setup;
        move || {
            let candidates = ProcessId::all(3).map(|id| setup.candidates.of(id)).collect();
            let users = ElectionUsers { requests: vec![1, 0, 0], candidates };
            let mut world = World::new(3, |id| Bully::build(setup, id), users);
            world.budget = crashes(1);
            world.with_timers(Span(setup.delay_bounds.bound.0 * longer))
        }
    };
    assert_eq!(same(bullies(1), BOUNDS).0, 7_883);
    same(bullies(3), BOUNDS);
}

#[test]
fn a_search_that_ends_early_ends_at_the_same_state() {
    let world = || World::new(3, |id| RicartAgrawala::new(3, id), users(3, 2));
    for depth in [0, 1, 7] {
        same(world, Bounds { depth, ..BOUNDS });
    }
    // A process that crashes leaves the others waiting: a final state in which a property is violated.
    let crashing = || {
        let mut world = world();
        world.budget = crashes(1);
        world
    };
    for depth in [3, u32::MAX] {
        same(crashing, Bounds { depth, ..BOUNDS });
    }
    let little = Bounds { memory: 50_000, ..BOUNDS };
    let end = on_threads(1, &world(), little).exploration.end;
    assert!(matches!(end, End::Memory), "{end:?}");
    let stopped = explore_safety(&world(), BOUNDS, |_| ControlFlow::Break(()));
    assert!(matches!(stopped.exploration.end, End::Stopped));
}

#[test]
fn a_state_takes_at_most_32_bytes() {
    let mut world = World::new(4, |id| RicartAgrawala::new(4, id), users(4, 1));
    world.partial_order_reduction = false;
    let bounds = Bounds { depth: 14, ..BOUNDS };
    let SafetyExploration { exploration, omission_probability, is_acyclic } =
        explore_safety(&world, bounds, |_| ControlFlow::Continue(()));
    let states = exploration.progress.states;
    let each = exploration.bytes_most as f64 / states as f64;
    assert!(states > 200_000 && each <= 32.0, "{each} bytes for each of {states} states");
    assert!(is_acyclic, "every process requests entry once");
    let pairs = states as f64 * (states as f64 - 1.0) / 2.0;
    assert!((omission_probability / (pairs / 2_f64.powi(69)) - 1.0).abs() < 1e-9);
}

/// A counter that goes round, and an action that may be left out in every state.
struct Round {
    /// Whether the action violates a property.
    is_broken: bool,
}

/// Position of the counter, and whether the action was taken.
type RoundState = (u8, bool);

/// Length of the round.
const ROUND: u8 = 5;

impl Model for Round {
    type State = RoundState;
    type Action = &'static str;

    fn initial_states(&self) -> Vec<RoundState> {
        vec![(0, false)]
    }

    fn fingerprint(&self, state: &RoundState) -> Fingerprint {
        fingerprint_of(state)
    }

    fn successors(
        &self,
        state: &RoundState,
        successors: &mut Vec<Successor<RoundState, &'static str>>,
    ) {
        self.successors_and_omission(state, successors);
    }

    fn broken(&self, (_, acted): &RoundState) -> Option<Property> {
        (self.is_broken && *acted).then_some(Property::ME1)
    }

    fn broken_when_quiescent(&self, _: &RoundState) -> Option<Property> {
        None
    }

    fn waiting(&self, _: &RoundState) -> u8 {
        0
    }

    fn starvation_property(&self) -> Option<Property> {
        None
    }

    fn goals_reached(&self, _: &RoundState) -> u64 {
        0
    }

    fn goals(&self) -> u64 {
        0
    }

    fn is_reduced(&self) -> bool {
        true
    }

    fn bytes(&self, _: &RoundState) -> usize {
        2
    }
}

impl PackedModel for Round {
    fn pack(&self, (position, acted): &RoundState, bytes: &mut Vec<u8>) {
        bytes.extend([*position, u8::from(*acted)]);
    }

    fn unpack(&self, bytes: &mut &[u8]) -> RoundState {
        let [position, acted, rest @ ..] = bytes else { panic!("a state has two bytes") };
        let state = (*position, *acted != 0);
        *bytes = rest;
        state
    }

    fn successors_and_omission(
        &self,
        (position, acted): &RoundState,
        successors: &mut Vec<Successor<RoundState, &'static str>>,
    ) -> bool {
        let (class, state) = (Some(FairnessClass(0)), ((position + 1) % ROUND, *acted));
        successors.push(Successor { action: "advance", class, state });
        true
    }

    fn all_successors(
        &self,
        state: &RoundState,
        successors: &mut Vec<Successor<RoundState, &'static str>>,
    ) {
        self.successors_and_omission(state, successors);
        if !state.1 {
            let (class, state) = (Some(FairnessClass(1)), (state.0, true));
            successors.push(Successor { action: "act", class, state });
        }
    }
}

#[test]
fn no_action_is_postponed_forever_if_states_recur() {
    let sound = on_threads(1, &Round { is_broken: false }, BOUNDS);
    assert!(matches!(sound.exploration.end, End::Exhausted) && !sound.is_acyclic);
    assert_eq!(sound.exploration.progress.states, 2 * u64::from(ROUND));
    let End::Broken(found) = on_threads(1, &Round { is_broken: true }, BOUNDS).exploration.end
    else {
        panic!("the action was postponed forever");
    };
    assert_eq!(found.steps, ["advance", "advance", "advance", "advance", "act"]);
}

/// Steps that skip states: 0 to 1 and 2, 1 to 2, and so on to the last one, from which a step may lead back to the first.
struct Skipping {
    recurs: bool,
}

impl Model for Skipping {
    type State = u8;
    type Action = &'static str;

    fn initial_states(&self) -> Vec<u8> {
        vec![0]
    }

    fn fingerprint(&self, state: &u8) -> Fingerprint {
        fingerprint_of(state)
    }

    fn successors(&self, state: &u8, successors: &mut Vec<Successor<u8, &'static str>>) {
        let mut push = |action, state| {
            successors.push(Successor { action, class: Some(FairnessClass(0)), state });
        };
        match *state {
            ..8 => {
                push("step", state + 1);
                push("skip", state + 2);
            }
            8 => push("step", 9),
            _ if self.recurs => push("again", 0),
            _ => {}
        }
    }

    fn broken(&self, _: &u8) -> Option<Property> {
        None
    }

    fn broken_when_quiescent(&self, _: &u8) -> Option<Property> {
        None
    }

    fn waiting(&self, _: &u8) -> u8 {
        0
    }

    fn starvation_property(&self) -> Option<Property> {
        Some(Property::ME2)
    }

    fn goals_reached(&self, _: &u8) -> u64 {
        0
    }

    fn goals(&self) -> u64 {
        0
    }

    fn is_reduced(&self) -> bool {
        false
    }

    fn bytes(&self, _: &u8) -> usize {
        1
    }
}

impl PackedModel for Skipping {
    fn pack(&self, state: &u8, bytes: &mut Vec<u8>) {
        bytes.push(*state);
    }

    fn unpack(&self, bytes: &mut &[u8]) -> u8 {
        let (state, rest) = bytes.split_first().expect("a state has one byte");
        *bytes = rest;
        *state
    }
}

/// State 2 is found before state 1 is expanded, which leads to it as well. That is no cycle, and the second pass tells.
#[test]
fn runs_of_different_lengths_may_lead_to_one_state_and_end() {
    assert_eq!(same(|| Skipping { recurs: false }, BOUNDS), (10, true));
    assert_eq!(same(|| Skipping { recurs: true }, BOUNDS), (10, false));
    let elections = || {
        let setup = Setup::new(3);
        let candidates = ProcessId::all(3).map(|id| setup.candidates.of(id)).collect();
        let users = ElectionUsers { requests: vec![1; 3], candidates };
        World::new(3, move |id| ChangRoberts::build(&setup, id), users)
    };
    let (states, every_run_ends) = same(elections, BOUNDS);
    assert!(states > 100 && every_run_ends, "{states} states");
}
