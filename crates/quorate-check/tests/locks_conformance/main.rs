//! Trace validation of the lock service: every step of voters, candidates and clients in storms is a sequence of actions of the
//! proved model.
//!
//! The storms are those of quorate-algorithms, with losses, restarts, drift, force releases, relays and voters that forget.
//! `QUORATE_STORMS` is the number of runs of the quorum mutex in the same time, so a twentieth of it is the number of storms.

#[path = "../../../quorate-algorithms/tests/leased_quorum_storm/changes.rs"]
mod changes;
#[path = "../../../quorate-algorithms/tests/leased_quorum_storm/clients.rs"]
mod clients;
#[path = "../../../quorate-algorithms/tests/leased_quorum_storm/faults.rs"]
mod faults;
#[path = "../../../quorate-algorithms/tests/leased_quorum_storm/followed.rs"]
mod followed;
mod follower;
#[path = "../../../quorate-algorithms/tests/leased_quorum_storm/nodes.rs"]
mod nodes;
#[path = "../../../quorate-algorithms/tests/leased_quorum_storm/rng.rs"]
mod rng;
#[path = "../../../quorate-algorithms/tests/leased_quorum_storm/world.rs"]
mod world;

use std::cell::RefCell;
use std::rc::Rc;

use quorate_algorithms::mutex::leased_quorum::FollowedLock;
use quorate_check::conformance::{Model, Statistics};

use follower::StormFollower;
use world::{Counts, Name, Setup, Storm};

/// Runs over quorums in the time of a storm.
const RUNS_PER_STORM: u64 = 20;

/// Number of storms by default.
const STORMS: u64 = 80;

/// Voters, with and without marks of their numbers. Storms take them in turn.
const WORLDS: [(&str, usize, bool); 4] =
    [("majority", 3, true), ("majority", 3, false), ("grid-fixed", 4, true), ("majority", 3, true)];

#[expect(clippy::print_stderr, reason = "a log that a person has asked for")]
fn eprintln_of(text: &str) {
    eprintln!("{text}");
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

#[test]
fn every_step_of_leased_quorum_in_storms_is_one_of_the_model() {
    let model =
        Model::parse(FollowedLock::<Name>::MODEL).expect("the proof has exported a valid model");
    let model: &'static Model = Box::leak(Box::new(model));
    let storms = number("QUORATE_STORMS").map_or(STORMS, |runs| runs / RUNS_PER_STORM);
    let first = number("QUORATE_STORMS_FROM").unwrap_or(0);
    let total = Rc::new(RefCell::new(Statistics::default()));
    let mut counts = Counts::default();
    // Number of actions that were taken, and of storms after which they were.
    let mut taken = (0, 0);
    for seed in first..first + storms {
        let (system, voters, marks) = WORLDS[seed as usize % WORLDS.len()];
        let setup = Setup { system, voters, marks, spares: 0, followed: true };
        let run = format!("after {} runs: ", seed - first + 1);
        let follower = StormFollower::new(model, setup, run, &total);
        counts.add(Storm::new(seed, setup, Some(Box::new(follower))).run());
        let number = total.borrow().actions.len();
        if number > taken.0 {
            taken = (number, seed - first + 1);
        }
    }
    let total = total.borrow();
    eprintln_of(&format!("{taken:?} {counts:?} {total:?}"));
    let is_taken = |action: &&str| total.actions.contains_key(*action);
    let never: Vec<&str> = model.actions().filter(|action| !is_taken(action)).collect();
    assert!(never.is_empty(), "never taken: {never:?}; {total:?}");
}
