//! Bully election as some lectures present it: ask all processes; if no greater one answers in time, lead and notify all.
//!
//! - **Source**: Garcia-Molina, "Elections in a Distributed Computing System", IEEE Transactions on Computers C-31(1),
//!   1982, as in lecture notes after Tanenbaum, "Distributed Systems".
//! - **Assumes**: synchrony, with a known bound on the time from sending a message to handling it; links that lose
//!   nothing; crashed processes do not recover. A perfect detector reports crashes, so that an election begins. A
//!   missing answer is detected by a timeout of two bounds.
//! - **Guarantees**: E1 and E2, with crashes at any moment; identifiers may change between elections.
//!   Wrong timeouts break E1.
//! - **Costs**: with h greater processes up and constant delays, (h + 1)(n - 1) ELECTION, h(h + 1)/2 ANSWER and n - 1
//!   COORDINATOR: 2(n - 1) messages if the process with the greatest identifier begins, (n - 1)(3n + 2)/2 if the one
//!   with the smallest does. ELECTION and COORDINATOR have 17 bytes, ANSWER 1.
//! - **Departs from the paper**: ELECTION carries the sender's identifier, so that no process has to know those of the
//!   others. Otherwise as `bully`: (2) to (6) there.

use quorate_core::election::Candidates;
use quorate_core::{Assumption, Cost, Layer, ProcessId, ProcessSet, Profile, Property};

use super::bully_common::{BullyElection, BullyPeers, CASES, ranks};
use crate::literature::{ElectionCosts, Order, Prediction, StarterRule, Starters};
use crate::{Algorithm, Setup, Sound};

/// A process that asks all others.
pub type BullyAll = BullyElection<Everybody>;

/// Peer selection of the variant: asks and notifies all other processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Everybody {
    others: ProcessSet,
}

impl BullyPeers for Everybody {
    const KNOWN: bool = false;

    fn new(n: usize, id: ProcessId, _: &Candidates) -> Self {
        Self { others: ProcessSet::others(n, id) }
    }

    fn challenged(&self) -> &ProcessSet {
        &self.others
    }

    fn notified(&self) -> &ProcessSet {
        &self.others
    }
}

impl Sound for BullyAll {}

impl Algorithm for BullyAll {
    const PROFILE: Profile = Profile {
        name: "bully-all",
        layer: Layer::Election,
        summary: "ask all processes; if no greater one answers in time, lead and notify all",
        source: "Garcia-Molina, IEEE Trans. Computers C-31(1), 1982; lecture notes after Tanenbaum",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::CrashStop,
            Assumption::PerfectDetector,
            Assumption::Synchrony,
            Assumption::Honesty,
        ],
        guarantees: &[Property::E1, Property::E2],
        cost: "2(n - 1) to (n - 1)(3n + 2)/2 messages",
        never_quiescent: false,
    };

    const ELECTION_COSTS: &'static [ElectionCosts] = &[ElectionCosts {
        rank_delay: false,
        cases: CASES,
        messages: |starters, order, n| {
            let n = n as f64;
            Some(match (starters, order) {
                (Starters::One, Order::Best) => Prediction::exact("2(n - 1)", 2.0 * (n - 1.0)),
                _ => Prediction::exact("(n - 1)(3n + 2)/2", (n - 1.0) * (3.0 * n + 2.0) / 2.0),
            })
        },
        rule: Some(StarterRule {
            formula: "(h + 1)(n - 1) + h(h + 1)/2 + n - 1",
            messages: |starter| {
                let (n, above) = (starter.n, starter.above);
                (above + 1.0) * (n - 1.0) + above * (above + 1.0) / 2.0 + n - 1.0
            },
        }),
        stores_lists: false,
    }];

    const DELAYS_BY_RANK: bool = true;
    const BYTES_PER_OTHER: u64 = 1;

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(setup, id)
    }

    fn cost(setup: &Setup) -> Cost {
        let n = setup.n as u64;
        let (least, most) = (2 * (n - 1), (n - 1) * (3 * n + 2) / 2);
        Cost::between("2(n - 1) to (n - 1)(3n + 2)/2", least, most)
            .with_delays(2..=ranks(setup).saturating_add(4), 0..=0)
            .without_delays_if_single(setup.n)
    }
}
