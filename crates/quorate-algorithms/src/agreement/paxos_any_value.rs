//! Paxos in which a proposer ignores the values of the promises: a specimen that decides twice.
//!
//! - **Source**: Lamport, "Paxos Made Simple", ACM SIGACT News 32(4), 2001, section 2.2: condition P2c, left out.
//! - **Assumes**: the same as `paxos`.
//! - **Guarantees**: claims agreement, validity and termination and breaks agreement: a majority has accepted the value of
//!   the first ballot, and its owner decides it. A process that suspects this owner conducts a higher ballot with a
//!   value of its own, which a majority accepts as well.
//! - **Costs**: 5(n - 1) messages if no process is suspected.
//! - **Departs from the paper**: only in the choice of the value, besides the departures of `paxos`.

use quorate_core::agreement::Value;
use quorate_core::{Layer, Profile, Property, Specimen};

use super::paxos::{ASSUMES, ChoiceRule, SingleDecree};

/// One process of the specimen.
pub type PaxosAnyValue = SingleDecree<OwnValue>;

/// The broken rule: always the proposer's own value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OwnValue;

impl ChoiceRule for OwnValue {
    const PROFILE: Profile = Profile {
        name: "paxos-any-value",
        layer: Layer::Agreement,
        summary: "the same, but a proposer always proposes its own value",
        source: "Lamport, SIGACT News 32(4), 2001, without condition P2c",
        specimen: Some(Specimen {
            breaks: Property::Agreement,
            also_breaks: &[],
            why: "a later proposer ignores that a majority may have accepted another value, which is decided",
        }),
        assumes: ASSUMES,
        guarantees: &[Property::Agreement, Property::Validity, Property::Termination],
        cost: "5(n - 1) messages if no process is suspected",
        never_quiescent: false,
    };

    fn choose(own: Value, _: Option<Value>) -> Value {
        own
    }
}
