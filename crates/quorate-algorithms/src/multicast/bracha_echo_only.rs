//! Bracha's broadcast without READY: a process delivers as soon as a quorum has echoed the message. A specimen that breaks
//! agreement.
//!
//! - **Source**: Bracha and Toueg, "Asynchronous Consensus and Broadcast Protocols", JACM 32(4), 1985: the echo broadcast,
//!   which promises less; here it is taken for a reliable broadcast.
//! - **Assumes**: links that lose nothing; at most f processes lie or crash, and n > 3f.
//! - **Guarantees**: claims validity, integrity and agreement and breaks agreement. No two correct processes deliver
//!   different contents, since two quorums of ECHOs have a correct process in common. But a sender that lies can give a
//!   quorum to some processes and withhold it from the others.
//! - **Costs**: (n - 1)(n + 1) messages; two message delays if f > 0.
//! - **Departs from the paper**: Bracha's READY is left out, by which processes that have seen a quorum convince the others.

use quorate_core::{Assumption, Layer, Profile, Property, Specimen};

use super::bracha::{DeliveryRule, EchoBroadcast};

/// One process of the specimen.
pub type BrachaEchoOnly = EchoBroadcast<EchoRule>;

/// The broken rule: a process delivers after a quorum of ECHOs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EchoRule;

impl DeliveryRule for EchoRule {
    const PROFILE: Profile = Profile {
        name: "bracha-echo-only",
        layer: Layer::Multicast,
        summary: "the same without READY: a quorum of echoes delivers",
        source: "Bracha and Toueg, JACM 32(4), 1985",
        specimen: Some(Specimen {
            breaks: Property::DeliveryAgreement,
            also_breaks: &[],
            why: "a sender that lies lets some processes see a quorum of echoes, and the others never",
        }),
        assumes: &[Assumption::NoLoss, Assumption::FewFaults, Assumption::LessThanAThird],
        guarantees: &[
            Property::DeliveryValidity,
            Property::DeliveryIntegrity,
            Property::DeliveryAgreement,
        ],
        cost: "(n - 1)(n + 1) messages per multicast",
        never_quiescent: false,
    };

    const SENDS_READY: bool = false;
}
