//! Byzantine generals that, if votes are tied, obey the order that they received themselves: a
//! specimen that breaks agreement.
//!
//! - **Source**: the proof that three generals cannot agree, in Lamport, Shostak and Pease, "The Byzantine Generals
//!   Problem", ACM TOPLAS 4(3), 1982, and Coulouris et al., "Distributed Systems", 5th edition, section 15.5.
//! - **Assumes**: synchronous rounds; no message is lost; at most m generals lie or crash, and n > 3m.
//! - **Guarantees**: claims agreement, validity and termination and breaks agreement. With three generals, a lieutenant
//!   that receives two different values from the two others obeys the commander, as it must if the commander is loyal.
//!   If the commander is a traitor, the other lieutenant obeys the other order.
//! - **Costs**: (n - 1) + (n - 1)(n - 2) + .. + (n - 1)(n - 2)..(n - m - 1) messages; m + 1 rounds.
//! - **Departs from the paper**: in the handling of a tie. The paper takes a default value that all generals know.

use quorate_core::agreement::Value;
use quorate_core::{Assumption, Layer, Profile, Property, Specimen};

use super::byzantine_generals::{OralMessages, OutcomeRule, majority};

/// One general of the specimen.
pub type ByzantineGeneralsObedient = OralMessages<ObeyInDoubt>;

/// The broken rule: the value with more than half of the votes, and the lieutenant's own vote if there is none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObeyInDoubt;

impl OutcomeRule for ObeyInDoubt {
    const PROFILE: Profile = Profile {
        name: "byzantine-generals-obedient",
        layer: Layer::Agreement,
        summary: "the same, but in a tie a lieutenant obeys the order that it received itself",
        source: "Coulouris et al., Distributed Systems, 5th edition, section 15.5",
        specimen: Some(Specimen {
            breaks: Property::Agreement,
            also_breaks: &[],
            why: "a traitor that sends each lieutenant a different order is obeyed by all of them",
        }),
        assumes: &[
            Assumption::NoLoss,
            Assumption::FewFaults,
            Assumption::LessThanAThird,
            Assumption::Synchrony,
        ],
        guarantees: &[Property::Agreement, Property::Validity, Property::Termination],
        cost: "(n - 1) + (n - 1)(n - 2) + .. + (n - 1)(n - 2)..(n - m - 1) messages, m + 1 rounds",
        never_quiescent: false,
    };

    fn outcome(votes: &[Option<Value>]) -> Option<Value> {
        majority(votes).unwrap_or(votes.first().copied().flatten())
    }
}
