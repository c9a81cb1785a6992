//! Bully election: ask the processes with greater identifiers; if none of them answers in time, lead and notify the others.
//!
//! - **Source**: Garcia-Molina, "Elections in a Distributed Computing System", IEEE Transactions on Computers C-31(1),
//!   1982, as in Coulouris et al., "Distributed Systems", section 15.3.
//! - **Assumes**: synchrony, with a known bound on the time from sending a message to handling it; links that lose nothing;
//!   all processes know all identifiers; crashed processes do not recover. A perfect detector reports the crash of the
//!   leader and of processes above, so that an election begins. A missing answer is detected by a timeout of two bounds.
//! - **Guarantees**: E1 and E2, with crashes at any moment. Wrong timeouts break E1. A process that replaces a crashed one
//!   under the same identifier may break E1 too: its announcement and that of the next in rank may arrive in any order.
//! - **Costs**: n - 1 messages if the process with the greatest identifier begins; h(h + 1) + n - 1 if the starter
//!   has h processes above itself, all up, with constant delays: n^2 - 1 in the worst case. After the leader's crash
//!   n - 2 at best, (n - 1)(n - 2) + n - 2 if all processes detect it at the same time. ELECTION and COORDINATOR have
//!   17 bytes, ANSWER 1.
//! - **Departs from the paper**: (1) As the textbook does, it leaves out the reorganisation of work. (2) Processes that the
//!   detector has reported are not asked: the cost after the leader's crash, n - 2, is counted so. (3) A process that has
//!   just learned the leader answers without starting another election. (4) An ELECTION from a greater process counts as an
//!   ANSWER. (5) A process that is told of a smaller leader starts an election, and one that receives no COORDINATOR
//!   in time starts again. (6) With a delay by rank (`--rank-delay`), a process waits that long for each process above it
//!   before it asks, so that the one with the greatest identifier is first.
//!
//! Beliefs about processes below have no effect: a process only has to monitor those above it.

use quorate_core::election::Candidates;
use quorate_core::{Assumption, Cost, Layer, ProcessId, ProcessSet, Profile, Property};

use super::bully_common::{BullyElection, BullyPeers, CASES, ranks};
use crate::literature::{ElectionCosts, Order, Prediction, StarterRule, Starters};
use crate::{Algorithm, Setup, Sound};

/// A process that asks only the processes above it.
pub type Bully = BullyElection<Above>;

/// Peer selection of the original algorithm: asks the processes above and notifies those below.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Above {
    above: ProcessSet,
    below: ProcessSet,
}

impl BullyPeers for Above {
    const KNOWN: bool = true;

    fn new(n: usize, id: ProcessId, candidates: &Candidates) -> Self {
        let above = candidates.above(id);
        let below = &ProcessSet::others(n, id) - &above;
        Self { above, below }
    }

    fn challenged(&self) -> &ProcessSet {
        &self.above
    }

    fn notified(&self) -> &ProcessSet {
        &self.below
    }
}

impl Sound for Bully {}

impl Algorithm for Bully {
    const PROFILE: Profile = Profile {
        name: "bully",
        layer: Layer::Election,
        summary: "ask those with greater identifiers; if none answers in time, lead",
        source: "Garcia-Molina, IEEE Trans. Computers C-31(1), 1982; Coulouris et al., section 15.3",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::CrashStop,
            Assumption::PerfectDetector,
            Assumption::Synchrony,
            Assumption::Honesty,
        ],
        guarantees: &[Property::E1, Property::E2],
        cost: "n - 1 to n^2 - 1 messages; n - 2 to n(n - 2) after the leader's crash",
        never_quiescent: false,
    };

    const ELECTION_COSTS: &'static [ElectionCosts] = &[
        ElectionCosts {
            rank_delay: false,
            cases: CASES,
            messages: |starters, order, n| {
                let n = n as f64;
                Some(match (starters, order) {
                    (Starters::One, Order::Best) => Prediction::exact("n - 1", n - 1.0),
                    _ => Prediction::exact("n^2 - 1", n * n - 1.0),
                })
            },
            rule: Some(StarterRule {
                formula: "h(h + 1) + n - 1",
                messages: |starter| starter.above * (starter.above + 1.0) + starter.n - 1.0,
            }),
            stores_lists: false,
        },
        ElectionCosts {
            rank_delay: true,
            cases: CASES,
            messages: |starters, order, n| {
                let n = n as f64;
                match (starters, order) {
                    (Starters::One, Order::Best) | (Starters::All, _) => {
                        Some(Prediction::exact("n - 1", n - 1.0))
                    }
                    (Starters::One, Order::Worst) => {
                        Some(Prediction::exact("3(n - 1)", 3.0 * (n - 1.0)))
                    }
                    (Starters::One, _) => None,
                }
            },
            rule: Some(StarterRule {
                formula: "2h + n - 1",
                messages: |starter| 2.0 * starter.above + starter.n - 1.0,
            }),
            stores_lists: false,
        },
    ];

    const KNOWS_IDENTIFIERS: bool = true;
    const DELAYS_BY_RANK: bool = true;
    const BYTES_PER_OTHER: u64 = 1;

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(setup, id)
    }

    fn cost(setup: &Setup) -> Cost {
        let n = setup.n as u64;
        Cost::between("n - 1 to n^2 - 1", n - 1, n * n - 1)
            .with_delays(0..=ranks(setup).saturating_add(2), 0..=0)
    }
}
