//! Bully election: ask those with greater identifiers; if none of them answers in time, lead and tell the others.
//!
//! - **Source**: Garcia-Molina, "Elections in a Distributed Computing System", IEEE Transactions on Computers C-31(1), 1982, as
//!   in Coulouris et al., "Distributed Systems", section 15.3.
//! - **Assumes**: synchrony, with a bound on the time from sending to handling that all know; links that lose nothing; the
//!   identifiers of all are known to all; the crashed stay away. A perfect detector tells of the crash of the leader and
//!   of those above, so that an election begins; that an answer does not come is told by a timeout of two bounds.
//! - **Guarantees**: E1 and E2, with crashes at any moment. Wrong timeouts break E1, and so may one who takes the place and the
//!   identifier of a crashed process: its announcement and that of the next in rank may arrive in any order.
//! - **Costs**: n - 1 messages if the greatest begins; h(h + 1) + n - 1 if one begins that has h above itself, all up, with
//!   constant delays: n^2 - 1 in the worst case. After the leader's crash n - 2 at best, (n - 1)(n - 2) + n - 2 if all
//!   notice at once. ELECTION and COORDINATOR have 17 bytes, ANSWER 1.
//! - **Departs from the paper**: as the textbook does, which leaves out the reorganisation of work. With a delay by rank
//!   (`--rank-delay`), a process waits that long for each one above it before it asks, so that the greatest is first. Who has
//!   just heard who leads answers without another election.
//!
//! A process ignores what its detector says of those below it: it only has to watch those above.

use quorate_core::election::Candidates;
use quorate_core::{Assumption, Cost, Layer, ProcessId, ProcessSet, Profile, Property};

use super::bully_common::{BullyElection, BullyPeers, ranks};
use crate::{Algorithm, Setup, Sound};

/// One bully that asks those above it.
pub type Bully = BullyElection<Above>;

/// Those above are asked, those below told.
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
