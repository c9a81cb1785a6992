//! Ring election with a list of identifiers, whose outcome is announced to all processes directly: the list travels round the
//! ring as in `list-ring`, and the process to which it returns sends the outcome to every other process.
//!
//! - **Source**: the ring algorithm of Tanenbaum, "Distributed Systems", in the variant of lecture notes on leader election that
//!   informs everyone directly.
//! - **Assumes**: a ring in the order of the processes, which all know; links between all processes that lose nothing, in any
//!   order; a perfect detector, which determines the next operational neighbour; crashed processes do not recover.
//! - **Guarantees**: E1 and E2, with crashes of any process at any moment, including the starter of the election.
//! - **Costs**: 2n - 1 messages for each starter: n for the lap of the list and n - 1 announcements. The outcome is known one
//!   message delay after the list has returned, instead of after another lap. If the announcing process crashes, each
//!   survivor repeats the announcement: m(m - 1) messages for m survivors.
//! - **Departs from the paper**: as `list-ring` does. In addition, the announcing process may crash before it has informed all.
//!   Processes that know the outcome then send it to all others.

use quorate_core::{Assumption, Cost, Layer, Profile, Property};

use super::list_ring::{Announcement, ListElection};
use crate::literature::{ElectionCosts, IN_ANY_ORDER, Prediction, Starters};

/// One process of the ring.
pub type ListRingDirect = ListElection<ToEveryone>;

/// The announcing process sends the outcome to every other process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ToEveryone;

impl Announcement for ToEveryone {
    const PROFILE: Profile = Profile {
        name: "list-ring-direct",
        layer: Layer::Election,
        summary: "a list of identifiers goes round a ring, and the greatest on it is announced to all directly; survives crashes",
        source: "Tanenbaum, Distributed Systems; lecture notes on leader election",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::CrashStop,
            Assumption::PerfectDetector,
            Assumption::Honesty,
        ],
        guarantees: &[Property::E1, Property::E2],
        cost: "2n - 1 messages for each starter, 8n(n + 1) + 58n - 41 bytes",
        never_quiescent: false,
    };

    const IS_DIRECT: bool = true;

    const ELECTION_COSTS: &'static [ElectionCosts] = &[ElectionCosts {
        rank_delay: false,
        cases: IN_ANY_ORDER,
        messages: |starters, _, n| {
            let n = n as f64;
            Some(match starters {
                Starters::One => Prediction::exact("2n - 1", 2.0 * n - 1.0),
                Starters::All => Prediction::exact("n(2n - 1)", n * (2.0 * n - 1.0)),
            })
        },
        rule: None,
        stores_lists: true,
    }];

    fn cost(n: u64) -> Cost {
        Cost::exact("2n - 1", 2 * n - 1).with_delays(n..=n, 0..=0)
    }
}
