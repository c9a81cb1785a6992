//! Declarations of algorithms about themselves: profiles, costs, and the predictions of the literature.

use std::fmt::{Debug, Write as _};
use std::io::Write as _;

use quorate_algorithms::catalogue::{Visitor, visit_all};
use quorate_algorithms::literature::{
    ElectionCosts, MutexFigure, Order, StarterPosition, Starters,
};
use quorate_algorithms::{Algorithm, Setup};
use quorate_core::agreement::Agreement;
use quorate_core::allocation::Allocation;
use quorate_core::clock_sync::ClockSync;
use quorate_core::detection::Detection;
use quorate_core::detector::Detector;
use quorate_core::election::Election;
use quorate_core::multicast::Multicast;
use quorate_core::mutex::Mutex;
use quorate_core::quorum::AnySystem;
use quorate_core::replication::Replication;
use quorate_core::snapshot::Snapshot;
use quorate_core::{ProcessId, Span};

use crate::fnv::Fnv;

/// Numbers of processes for which formulas are evaluated.
const SIZES: [usize; 4] = [2, 3, 5, 8];

/// Declarations as text, with a digest for each number of processes.
#[derive(Default)]
struct Declarations {
    costs: String,
    entries: String,
    elections: String,
}

impl Declarations {
    fn add<A: Algorithm>(&mut self) {
        let name = A::PROFILE.name;
        let profile = digest(&[A::profile(&Setup::new(3))]);
        let costs = row(|n| {
            let cost = |setup| format!("{:?}, {:?}", A::tolerates(n), A::cost(setup));
            setups::<A>(n).iter().map(cost).collect()
        });
        let _ = writeln!(self.costs, "{name}: profile {profile}, costs{costs}");
        for costs in A::ELECTION_COSTS {
            self.add_election(name, costs);
        }
    }

    fn add_election(&mut self, name: &str, costs: &ElectionCosts) {
        let ElectionCosts { rank_delay, stores_lists, cases, .. } = costs;
        let name = format!("{name}, rank delay {rank_delay}");
        let _ = writeln!(self.elections, "{name}: {}", digest(&[(stores_lists, cases)]));
        for starters in [Starters::One, Starters::All] {
            for order in [Order::Any, Order::Best, Order::Worst, Order::Random] {
                let found = row(|n| (costs.messages)(starters, order, n).into_iter().collect());
                let case = format!("{} {}", starters.name(), order.name());
                let _ = writeln!(self.elections, "{name}, {case}:{found}");
            }
        }
        let Some(rule) = costs.rule else { return };
        let positions = [(5.0, 2.0, 3.0), (8.0, 7.0, 0.0), (8.0, 0.0, 7.0)];
        let messages =
            positions.map(|(n, steps, above)| (rule.messages)(StarterPosition { n, steps, above }));
        let _ = writeln!(self.elections, "{name}, {}: {messages:?}", rule.formula);
    }

    fn add_mutex<A: Algorithm>(&mut self) {
        self.add::<A>();
        for figure in MutexFigure::ALL {
            let predictions = row(|n| {
                let processes = |numbers: &[u32]| -> Vec<ProcessId> {
                    let present = numbers.iter().filter(|it| **it < n as u32);
                    present.map(|it| ProcessId::new(*it)).collect()
                };
                let requests = [processes(&[0, 1, 1, 4, 2]), processes(&[2, 7, 1, 0, 0, 1, 6])];
                let predict = |setup| A::predict_entry(figure, setup, &requests);
                setups::<A>(n).iter().map(predict).collect()
            });
            let _ = writeln!(self.entries, "{} {figure:?}:{predictions}", A::PROFILE.name);
        }
    }
}

/// A digest of the declarations for each number of processes, if there are any.
fn row<T: Debug>(declarations: impl Fn(usize) -> Vec<T>) -> String {
    let with_size = SIZES.map(|n| (n, declarations(n)));
    let present = with_size.iter().filter(|(_, found)| !found.is_empty());
    present.map(|(n, found)| format!(" {n}:{}", digest(found))).collect()
}

fn digest(declarations: &[impl Debug]) -> String {
    let mut digest = Fnv::new();
    write!(digest, "{declarations:?}").expect("a digest takes everything");
    digest.short()
}

/// The usual setup and those that an algorithm supports.
fn setups<A: Algorithm>(n: usize) -> Vec<Setup> {
    let tolerates = A::tolerates(n).unwrap_or(0);
    let usual = Setup { tolerates, server: ProcessId::from_index(n - 1), ..Setup::new(n) };
    let over = |name: &&str| {
        let quorums = AnySystem::by_name(name, n);
        Setup { quorums: quorums.expect("a system of the list"), ..usual.clone() }
    };
    let mut setups: Vec<Setup> = A::QUORUMS.iter().map(over).collect();
    if setups.is_empty() {
        setups.push(usual.clone());
    }
    if A::HANDS_OVER {
        setups.push(Setup { hand_over: true, ..usual.clone() });
    }
    if A::DELAYS_BY_RANK {
        setups.push(Setup { rank_delay: Span::from_millis(3), ..usual });
    }
    setups
}

impl Visitor for Declarations {
    fn mutex<A: Algorithm + Mutex + 'static>(&mut self) {
        self.add_mutex::<A>();
    }

    fn election<A: Algorithm + Election + 'static>(&mut self) {
        self.add::<A>();
    }

    fn agreement<A: Algorithm + Agreement + 'static>(&mut self) {
        self.add::<A>();
    }

    fn multicast<A: Algorithm + Multicast + 'static>(&mut self) {
        self.add::<A>();
    }

    fn detector<A: Algorithm + Detector + 'static>(&mut self) {
        self.add::<A>();
        let round = A::build(&Setup::new(5), ProcessId::new(0)).round();
        let _ = writeln!(self.costs, "{}: round {round}", A::PROFILE.name);
    }

    fn clock<A: Algorithm + ClockSync + 'static>(&mut self) {
        self.add::<A>();
    }

    fn allocation<A: Algorithm + Allocation + 'static>(&mut self) {
        self.add::<A>();
    }

    fn snapshot<A: Algorithm + Snapshot + 'static>(&mut self) {
        self.add::<A>();
    }

    fn detection<A: Algorithm + Detection + 'static>(&mut self) {
        self.add::<A>();
    }

    fn replication<A: Algorithm + Replication + 'static>(&mut self) {
        self.add::<A>();
    }
}

#[test]
fn profiles_and_costs() {
    let mut declarations = Declarations::default();
    visit_all(&mut declarations);
    insta::assert_snapshot!("profiles_and_costs", declarations.costs);
}

#[test]
fn predicted_entries() {
    let mut declarations = Declarations::default();
    visit_all(&mut declarations);
    insta::assert_snapshot!("predicted_entries", declarations.entries);
}

#[test]
fn costs_of_elections() {
    let mut declarations = Declarations::default();
    visit_all(&mut declarations);
    insta::assert_snapshot!("costs_of_elections", declarations.elections);
}
