//! Changes of the members: operators that want them at any node and at any time, and the links between the nodes.

use quorate_algorithms::mutex::leased_quorum::{ChainState, Configuration};
use quorate_core::ProcessId;
use quorate_protocol::{
    Call, ClientMessage, ClusterTerms, Member, MemberChange, Members, SessionKey, TermsChange,
};

use super::world::World;
use crate::core::CallerId;
use crate::core::testing::members_of;

/// Maximum number of members. It is odd, as all numbers of members are here: with an even number two requests with records
/// may wait for each other.
const MEMBERS_MOST: usize = 5;

/// Maximum time-to-live at first, and after changes that make it longer.
pub(super) const TTL_MOST_MS: u32 = 5_000;
const LONGER_MS: u32 = 8_000;

/// Drift of the clocks (`DRIFT`), in parts per million.
const DRIFT_PPM: u32 = 50_000;

fn terms() -> ClusterTerms {
    ClusterTerms::new(1_000, TTL_MOST_MS, DRIFT_PPM)
}

impl World {
    /// The members as a node knows them at first. A spare node has not joined the cluster yet.
    pub(super) fn first_members(&self, at: usize) -> ChainState<Members> {
        match at < self.setup.nodes {
            true => members_of(self.setup.nodes, terms()),
            false => ChainState::new(Configuration::first(Members::none()), true),
        }
    }

    /// Takes note of the peers that a node wants to be connected to.
    pub(super) fn set_peers(&mut self, at: usize, peers: impl Iterator<Item = ProcessId>) {
        let peers: Vec<usize> = peers.map(ProcessId::index).filter(|peer| *peer != at).collect();
        let before = self.nodes[at].peers.replace(peers.clone()).unwrap_or_default();
        if self.setup.spares == 0 {
            return;
        }
        for peer in peers.iter().filter(|peer| !before.contains(peer)) {
            self.connect(at, *peer);
        }
        for peer in before.into_iter().filter(|peer| !peers.contains(peer)) {
            self.break_link(at, peer, 0);
        }
    }

    /// Returns whether a link between two nodes may exist: each of them wants it, or has not joined the cluster yet.
    pub(super) fn may_connect(&self, a: usize, b: usize) -> bool {
        let wants = |one: usize, other: usize| {
            let peers = self.nodes[one].peers.as_ref().filter(|peers| !peers.is_empty());
            peers.is_none_or(|peers| peers.contains(&other))
        };
        self.setup.spares == 0 || (wants(a, b) && wants(b, a))
    }

    /// One or two operators replace members by nodes that have never been members.
    pub(super) fn change_members(&mut self) {
        for _ in 0..=self.rng.below(3) / 2 {
            let at = self.rng.index(self.nodes.len());
            let Some(core) = &self.nodes[at].core else { continue };
            let members = core.membership.chain.present().target().clone();
            if members.nodes.is_empty() {
                continue;
            }
            let unused = (members.unused as usize..self.nodes.len()).collect::<Vec<_>>();
            let added = self.rng.index(3).min(unused.len());
            let mut left = members.nodes.len() + added;
            let mut removed = Vec::new();
            while left > MEMBERS_MOST || left.is_multiple_of(2) || (left > 3 && self.rng.one_in(3))
            {
                let gone = members.nodes[self.rng.index(members.nodes.len())].node;
                if !removed.contains(&gone) {
                    removed.push(gone);
                    left -= 1;
                }
            }
            let add = unused.into_iter().take(added).map(|node| Member {
                node: node as u32,
                address: format!("127.0.0.1:{}", node + 1),
            });
            let (add, terms) = (add.collect(), self.other_terms());
            let change = MemberChange { add, remove: removed, quorums: None, terms };
            self.log(|| format!("an operator wants {change:?} at node {at}"));
            let call = Call::ChangeMembers(change);
            let message = ClientMessage { number: 0, sent: 0, call };
            self.with_core(at, |core, now| {
                core.on_call(CallerId::Node, message, || SessionKey(0), now);
            });
        }
    }

    /// Other terms in most changes. Clocks never drift more than any of them permits.
    fn other_terms(&mut self) -> TermsChange {
        if self.rng.one_in(3) {
            return TermsChange::default();
        }
        let mut one_of = |values: &[u32]| Some(values[self.rng.index(values.len())]);
        TermsChange {
            ttl_least_ms: one_of(&[500, 1_000]),
            ttl_most_ms: one_of(&[TTL_MOST_MS, LONGER_MS, LONGER_MS]),
            drift_ppm: one_of(&[DRIFT_PPM, 2 * DRIFT_PPM]),
        }
    }
}
