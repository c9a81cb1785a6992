//! Small worlds of real algorithms: states that reductions skip, and results that they must not change.

use std::ops::ControlFlow;

use quorate_algorithms::agreement::{SyncConsensus, SyncConsensusShort};
use quorate_algorithms::election::Bully;
use quorate_algorithms::mutex::{Central, Lamport, Maekawa, RicartAgrawala};
use quorate_algorithms::{Algorithm, Setup};
use quorate_check::{
    AgreementUsers, Bounds, Budget, ElectionUsers, End, Exploration, FairnessClass, Fingerprint,
    Model, MutexUsers, Successor, World, estimate, explore, fingerprint_of,
};
use quorate_core::agreement::{AgreementKind, Value};
use quorate_core::quorum::Majority;
use quorate_core::{ProcessId, ProcessSet, Property, Span};

fn explored(world: &impl Model) -> (u64, bool) {
    let bounds = Bounds { memory: 1 << 30, depth: u32::MAX };
    let Exploration { progress, end, .. } = explore(world, bounds, |_| ControlFlow::Continue(()));
    (progress.states, matches!(end, End::Exhausted))
}

fn users(n: usize, requests: u8) -> MutexUsers {
    MutexUsers { requests: vec![requests; n] }
}

fn central(n: usize, crashes: u8) -> World<'static> {
    let server = ProcessId::new(0);
    let mut world = World::new(n, move |id| Central::new(id, server), users(n, 1));
    world.budget = Budget { crashes, ..Budget::default() };
    world.immune = 1;
    world.partial_order_reduction = false;
    world
}

#[test]
fn clients_that_are_alike_are_one_world_and_not_several() {
    for crashes in [0, 2] {
        let mut named = central(4, crashes);
        named.symmetry_reduction = false;
        let (all, holds) = explored(&named);
        assert!(holds);
        let (few, holds) = explored(&central(4, crashes));
        assert!(holds);
        // Three clients have six permutations. States that are symmetric under some of them have fewer renamings.
        assert!(few * 4 < all && few * 6 >= all, "{few} of {all}");
    }
}

#[test]
fn names_that_mean_something_are_kept() {
    let world = |symmetry_reduction| {
        let mut world = World::new(3, |id| RicartAgrawala::new(3, id), users(3, 1));
        world.symmetry_reduction = symmetry_reduction;
        explored(&world)
    };
    assert_eq!(world(true), world(false));
}

#[test]
fn nothing_that_is_left_out_matters() {
    let coterie = Majority::new(3);
    let maekawa = |partial_order_reduction| {
        let mut world = World::new(3, |id| Maekawa::new(id, &coterie), users(3, 1));
        world.partial_order_reduction = partial_order_reduction;
        explored(&world)
    };
    let lamport = |partial_order_reduction| {
        let mut world = World::new(3, |id| Lamport::new(3, id), users(3, 1));
        world.partial_order_reduction = partial_order_reduction;
        explored(&world)
    };
    for (full, reduced) in [(maekawa(false), maekawa(true)), (lamport(false), lamport(true))] {
        assert!(full.1 && reduced.1 && reduced.0 < full.0, "{reduced:?} of {full:?}");
    }
}

#[test]
fn how_many_states_there_are_is_told_from_a_part_of_them() {
    let mut world = World::new(4, |id| RicartAgrawala::new(4, id), users(4, 1));
    world.partial_order_reduction = false;
    let bounds = Bounds { memory: 1 << 30, depth: 8 };
    let part = explore(&world, bounds, |_| ControlFlow::Continue(())).progress;
    let guess = estimate(&world, part.states, part.depth).expect("every way ends");
    // The exact number is 2,832,730.
    assert!((2e5..3e7).contains(&guess), "{guess} from {part:?}");
}

#[test]
fn rounds_end_when_everything_has_arrived() {
    let values: Vec<_> = [3, 2, 1].map(|value| Some(Value(value))).into();
    let (agreement_kind, traitors) = (AgreementKind::Proposal, ProcessSet::new());
    let (binds_recovered, must_decide) = (true, true);
    let users = AgreementUsers { agreement_kind, values, binds_recovered, must_decide, traitors };
    let crashing = |crashes| Budget { crashes, ..Budget::default() };
    // Tolerating one crash takes two rounds.
    let mut long = World::new(3, |_| SyncConsensus::new(1), users.clone());
    long.budget = crashing(1);
    assert!(explored(&long).1);
    assert!(!long.needs_timing());
    let mut short = World::new(3, |_| SyncConsensusShort::new(1), users);
    short.budget = crashing(1);
    let bounds = Bounds { memory: 1 << 30, depth: u32::MAX };
    let found = explore(&short, bounds, |_| ControlFlow::Continue(()));
    let End::Broken(found) = found.end else { panic!("{:?}", found.end) };
    assert_eq!(found.property, Property::Agreement);
}

/// Three processes run the bully algorithm and the least one starts. A message takes up to `longer` times
/// the delay that they assume.
fn bullies(crashes: u8, longer: u64) -> Exploration<quorate_check::Action> {
    let setup = Setup::new(3);
    let users = ElectionUsers {
        requests: vec![1, 0, 0],
        candidates: ProcessId::all(3).map(|id| setup.candidates.of(id)).collect(),
    };
    let mut world = World::new(3, |id| Bully::build(&setup, id), users);
    world.budget = Budget { crashes, ..Budget::default() };
    let world = world.with_timers(Span(setup.delay_bounds.bound.0 * longer));
    let bounds = Bounds { memory: 1 << 30, depth: u32::MAX };
    explore(&world, bounds, |_| ControlFlow::Continue(()))
}

#[test]
fn a_timer_runs_out_after_what_has_to_arrive() {
    for (crashes, states) in [(0, 527), (1, 7_883), (2, 12_023)] {
        let found = bullies(crashes, 1);
        assert!(matches!(found.end, End::Exhausted), "{crashes}: {:?}", found.end);
        assert_eq!(found.progress.states, states, "{crashes} crashes");
    }
}

#[test]
fn a_timer_that_is_too_short_is_found_out() {
    let found = bullies(0, 3);
    let End::Broken(broken) = found.end else { panic!("{:?}", found.end) };
    assert_eq!((broken.property, broken.steps.len()), (Property::E1, 2));
}

/// A system of two states that recur, explored with a reduction.
struct Reduced {
    starvation: Option<Property>,
}

impl Model for Reduced {
    type State = bool;
    type Action = ();

    fn initial_states(&self) -> Vec<bool> {
        vec![false]
    }

    fn fingerprint(&self, state: &bool) -> Fingerprint {
        fingerprint_of(state)
    }

    fn successors(&self, state: &bool, successors: &mut Vec<Successor<bool, ()>>) {
        successors.push(Successor { action: (), class: Some(FairnessClass(0)), state: !state });
    }

    fn broken(&self, _: &bool) -> Option<Property> {
        None
    }

    fn broken_when_quiescent(&self, _: &bool) -> Option<Property> {
        None
    }

    fn waiting(&self, _: &bool) -> u8 {
        0
    }

    fn starvation_property(&self) -> Option<Property> {
        self.starvation
    }

    fn goals_reached(&self, _: &bool) -> u64 {
        0
    }

    fn goals(&self) -> u64 {
        0
    }

    fn is_reduced(&self) -> bool {
        true
    }

    fn bytes(&self, _: &bool) -> usize {
        1
    }
}

#[test]
fn states_that_recur_are_reported_even_if_only_safety_is_checked() {
    let bounds = Bounds { memory: 1 << 30, depth: u32::MAX };
    for starvation in [Some(Property::ME2), None] {
        let end = explore(&Reduced { starvation }, bounds, |_| ControlFlow::Continue(())).end;
        // The reduction might skip a step forever.
        assert!(matches!(end, End::Cyclic), "{starvation:?}");
    }
}
