//! Interactive consistency from Byzantine generals: every process commands an agreement on its own value, and all
//! decide the same vector.
//!
//! - **Source**: Pease, Shostak and Lamport, "Reaching Agreement in the Presence of Faults", Journal of the ACM 27(2),
//!   1980; the reduction as in Coulouris et al., "Distributed Systems", 5th edition, section 15.5.
//! - **Assumes**: synchronous rounds; no message is lost; at most m processes lie or crash, and n > 3m.
//! - **Guarantees**: agreement on the vector and termination; validity: the entry of a correct process is its proposal.
//!   An entry is empty if the generals agree on no value for that process.
//! - **Costs**: n times the cost of the generals; m + 1 rounds.
//! - **Departs from the paper**: nowhere; the n agreements run in parallel, in the same rounds.

use quorate_core::agreement::AgreementKind;
use quorate_core::{Assumption, Cost, Layer, ProcessId, Profile, Property};

use super::byzantine_generals::{ByzantineGenerals, oral_messages};
use super::reduction::PerCommander;
use crate::{Algorithm, Setup, Sound};

/// One process: a general in each of n agreements.
pub type InteractiveConsistency = PerCommander<ByzantineGenerals>;

impl Algorithm for InteractiveConsistency {
    const PROFILE: Profile = Profile {
        name: "interactive-consistency",
        layer: Layer::Agreement,
        summary: "every process commands an agreement of generals on its own value; all decide the vector",
        source: "Pease, Shostak and Lamport, Journal of the ACM 27(2), 1980",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::FewFaults,
            Assumption::LessThanAThird,
            Assumption::Synchrony,
        ],
        guarantees: &[Property::Agreement, Property::Validity, Property::Termination],
        cost: "n times the messages of byzantine-generals, m + 1 rounds",
        never_quiescent: false,
    };

    const IN_ROUNDS: bool = true;

    const AGREEMENT_KIND: AgreementKind = AgreementKind::Vector;

    fn tolerates(n: usize) -> Option<usize> {
        ByzantineGenerals::tolerates(n)
    }

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(setup, id)
    }

    fn cost(setup: &Setup) -> Cost {
        let one = oral_messages(setup.n, setup.tolerates);
        let (all, rounds) = (one.saturating_mul(setup.n as u64), setup.tolerates as u64 + 1);
        Cost::exact("n ((n - 1) + (n - 1)(n - 2) + .. + (n - 1)(n - 2)..(n - m - 1))", all)
            .with_delays(rounds..=rounds, 0..=0)
            .with_stored_messages_max(all)
    }
}

impl Sound for InteractiveConsistency {}
