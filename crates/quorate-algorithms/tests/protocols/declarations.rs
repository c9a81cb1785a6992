//! Declarations of algorithms about themselves: profiles, costs, and the predictions of the literature, as readable text.

use std::fmt::Write as _;

use quorate_algorithms::catalogue::{Visitor, visit_all};
use quorate_algorithms::literature::{
    ElectionCosts, MutexFigure, Order, Prediction, StarterPosition, Starters,
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

/// Numbers of processes for which formulas are evaluated.
const SIZES: [usize; 4] = [2, 3, 5, 8];

/// Declarations as text, one section for each algorithm.
#[derive(Default)]
struct Declarations {
    costs: String,
    entries: String,
    elections: String,
}

impl Declarations {
    fn add<A: Algorithm>(&mut self) {
        let name = A::PROFILE.name;
        let _ = writeln!(self.costs, "{name}: {:?}", A::profile(&Setup::new(3)));
        for n in SIZES {
            for setup in setups::<A>(n) {
                let (tolerates, cost) = (A::tolerates(n), A::cost(&setup));
                let _ = writeln!(self.costs, "  {n}: tolerates {tolerates:?}, {cost:?}");
            }
        }
        for costs in A::ELECTION_COSTS {
            let _ = writeln!(self.elections, "{name}: rank delay {}", costs.rank_delay);
            self.add_election(costs);
        }
    }

    fn add_election(&mut self, costs: &ElectionCosts) {
        let _ = writeln!(self.elections, "  lists {}, cases {:?}", costs.stores_lists, costs.cases);
        for starters in [Starters::One, Starters::All] {
            for order in [Order::Any, Order::Best, Order::Worst, Order::Random] {
                for n in SIZES {
                    let Some(found) = (costs.messages)(starters, order, n) else { continue };
                    let case = format!("{} {} {n}", starters.name(), order.name());
                    let _ = writeln!(self.elections, "  {case}: {}", text(&found));
                }
            }
        }
        for (n, steps, above) in [(5.0, 2.0, 3.0), (8.0, 7.0, 0.0), (8.0, 0.0, 7.0)] {
            let Some(rule) = costs.rule else { continue };
            let position = StarterPosition { n, steps, above };
            let messages = (rule.messages)(position);
            let _ = writeln!(self.elections, "  {}: {position:?}: {messages}", rule.formula);
        }
    }

    fn add_mutex<A: Algorithm>(&mut self) {
        self.add::<A>();
        for n in SIZES {
            let processes = |numbers: &[u32]| -> Vec<ProcessId> {
                numbers.iter().filter(|it| **it < n as u32).map(|it| ProcessId::new(*it)).collect()
            };
            let requests = [processes(&[0, 1, 1, 4, 2]), processes(&[2, 7, 1, 0, 0, 1, 6])];
            for setup in setups::<A>(n) {
                for figure in MutexFigure::ALL {
                    let prediction = A::predict_entry(figure, &setup, &requests);
                    let name = A::PROFILE.name;
                    let _ = writeln!(self.entries, "{name} {n} {figure:?}: {}", text(&prediction));
                }
            }
        }
    }
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

fn text(prediction: &Prediction) -> String {
    let Prediction { formula, value, remark, difference } = prediction;
    format!("{formula} = {value:?}, {remark:?}, {difference:?}")
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
        let _ = writeln!(self.costs, "  round {round}");
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
