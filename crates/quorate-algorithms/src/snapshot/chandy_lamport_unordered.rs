//! Chandy and Lamport's snapshot over links that do not keep the order of messages. A specimen: markers and messages overtake each
//! other, and the recorded cut is not consistent.
//!
//! - **Source**: Chandy and Lamport, "Distributed Snapshots: Determining Global States of Distributed Systems", ACM Transactions on
//!   Computer Systems 3(1), 1985, whose assumption about the order of messages is dropped.
//! - **Assumes**: links that lose nothing and duplicate nothing; no crashes. Any order of messages on a link.
//! - **Guarantees**: claims consistent-cut, channel-state and completion, and keeps completion only. A message that is sent after the
//!   marker and overtakes it is received before the cut, although it is sent after it. A message that the marker overtakes is missing
//!   in the recorded channel.
//! - **Costs**: n(n - 1) markers per snapshot.
//! - **Departs from the paper**: links need not keep the order of messages.

use quorate_core::{Assumption, Layer, Profile, Property, Specimen};

use super::chandy_lamport::{LinkOrder, MarkerSnapshot};

/// One process of the specimen.
pub type ChandyLamportUnordered = MarkerSnapshot<UnorderedLinks>;

/// Links on which messages overtake each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UnorderedLinks;

impl LinkOrder for UnorderedLinks {
    const PROFILE: Profile = Profile {
        name: "chandy-lamport-unordered",
        layer: Layer::Snapshot,
        summary: "markers on links that do not keep the order of messages",
        source: "Chandy and Lamport, ACM TOCS 3(1), 1985, without their assumption about links",
        specimen: Some(Specimen {
            breaks: Property::ConsistentCut,
            also_breaks: &[Property::ChannelState],
            why: "a message that overtakes the marker is received before the cut and sent after it",
        }),
        assumes: &[
            Assumption::NoLoss,
            Assumption::NoDuplication,
            Assumption::NoCrash,
            Assumption::Honesty,
        ],
        guarantees: &[
            Property::ConsistentCut,
            Property::ChannelState,
            Property::SnapshotTermination,
        ],
        cost: "n(n - 1) markers per snapshot, beside the messages of the computation",
        never_quiescent: false,
    };
}
