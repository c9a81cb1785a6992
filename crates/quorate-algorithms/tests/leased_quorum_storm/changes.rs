//! Changes of the voters: operators that propose them at any node and any time, and how nodes and clients learn of them.

use quorate_algorithms::mutex::leased_quorum::{
    CandidateId, ChainEffect, ChainEffects, ChainMessage, ChainState, Configuration, Electorate,
    Terms, ToCandidate, Voters,
};
use quorate_core::quorum::AnyCoterie;
use quorate_core::{Drift, ProcessId, ProcessSet, Span};

use crate::rng::{DRIFT, TTL};
use crate::world::{Endpoint, Message, Setup, Storm, terms};

/// Voters with their quorum system.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Members {
    pub(crate) voters: ProcessSet,
    system: &'static str,
    terms: Terms,
}

impl Voters for Members {
    fn electorate(&self, index: u64) -> Electorate {
        let coterie = AnyCoterie::by_name(self.system, self.voters.len()).expect("a coterie");
        Electorate::stable(index, &self.voters, coterie)
    }

    fn terms(&self) -> Terms {
        self.terms
    }
}

/// The chain as every node knows it at first.
pub(crate) fn first(setup: Setup) -> ChainState<Members> {
    let voters = ProcessSet::all(setup.voters);
    let members = Members { voters, system: setup.system, terms: terms() };
    ChainState::new(Configuration::first(members), true)
}

impl Storm {
    pub(crate) fn node_hears_of_chain(
        &mut self,
        at: usize,
        from: Endpoint,
        message: ChainMessage<Members>,
    ) {
        let Endpoint::Node(from) = from else { return };
        if self.nodes[at].voter.is_none() {
            return;
        }
        let mut out = Vec::new();
        self.nodes[at].chain.on_message(ProcessId::from_index(from), message, &mut out);
        self.apply_chain(at, out);
    }

    /// Sends this node's progress to the others.
    pub(crate) fn tick_chain(&mut self, at: usize) {
        let now = self.nodes[at].clock.local_time(self.now);
        let node = &mut self.nodes[at];
        let Some(voter) = &node.voter else { return };
        let mut out = Vec::new();
        node.chain.tick(voter, now, &mut out);
        self.apply_chain(at, out);
    }

    /// An operator wants other voters: at one node, or at two nodes at the same time.
    pub(crate) fn propose_change(&mut self) {
        for _ in 0..=self.rng.below(2) {
            let at = self.rng.index(self.nodes.len());
            // Without marks, a voter that has forgotten its votes needs a quorum of others that remember.
            // With an even number, two requests with records may wait for each other (docs/locks.md, Order).
            let sizes: &[usize] = if self.setup.marks { &[1, 3, 5] } else { &[3, 5] };
            let wanted = sizes[self.rng.index(sizes.len())];
            let mut voters = ProcessSet::new();
            while voters.len() < wanted {
                voters.insert(ProcessId::from_index(self.rng.index(self.nodes.len())));
            }
            // An operator proposes only voters that are ready.
            let ready = |voter: ProcessId| self.nodes[voter.index()].voter.is_some();
            if self.nodes[at].voter.is_some() && voters.iter().all(ready) {
                let (system, terms) = (self.setup.system, self.other_terms(at));
                let (members, mut out) = (Members { voters, system, terms }, Vec::new());
                let proposed = self.nodes[at].chain.propose(members, &mut out);
                self.counts.proposals += u64::from(proposed.is_ok());
                self.apply_chain(at, out);
            }
        }
    }

    /// Terms that a node may propose: sessions keep their times-to-live, and clocks drift as they did.
    fn other_terms(&mut self, at: usize) -> Terms {
        let ttl_most = self.nodes[at].chain.present().terms().ttl_most;
        Terms {
            ttl_least: Span(TTL),
            ttl_most: if self.rng.one_in(3) { Span(2 * TTL) } else { ttl_most },
            drift: Drift(if self.rng.one_in(2) { DRIFT } else { 2 * DRIFT }),
        }
    }

    fn apply_chain(&mut self, at: usize, effects: ChainEffects<Members>) {
        for effect in effects {
            match effect {
                ChainEffect::Persist => {}
                ChainEffect::Send(to, message) => {
                    let to = Endpoint::Node(to.index());
                    self.send(Endpoint::Node(at), to, Message::Chain(Box::new(message)));
                }
                ChainEffect::Adopted => self.adopt(at),
                ChainEffect::Settled => {
                    if let Some(voter) = &mut self.nodes[at].voter {
                        voter.settled();
                    }
                }
            }
        }
    }

    fn adopt(&mut self, at: usize) {
        let present = self.nodes[at].chain.present().clone();
        let index = present.index as usize;
        match self.chain.get(index) {
            Some(known) => assert_eq!(*known, present, "two configurations of index {index}"),
            None => {
                assert_eq!(self.chain.len(), index, "a configuration was left out");
                self.chain.push(present.clone());
            }
        }
        let (electorate, previous) = (present.electorate(), self.nodes[at].chain.previous());
        let stays_out = self.nodes[at].chain.stays_out();
        let (before, terms) = (previous.clone(), present.terms());
        self.with_voter(at, |voter, now, out| {
            voter.set_terms(terms);
            voter.stay_out(stays_out);
            voter.adopt(electorate, previous, now, out);
            voter.wake(now, out);
        });
        for candidate in self.nodes[at].relays.keys().copied().collect::<Vec<_>>() {
            let (electorate, previous) = (present.electorate(), before.clone());
            self.with_relay(at, candidate, |relay, out| relay.adopt(electorate, previous, out));
        }
    }

    /// Tells a candidate that knows too little the newest configuration.
    pub(crate) fn tell_of_chain(
        &mut self,
        at: usize,
        candidate: CandidateId,
        message: &ToCandidate<u8>,
    ) {
        if !matches!(message, ToCandidate::Outdated { .. }) {
            return;
        }
        let chain = &self.nodes[at].chain;
        let (present, settled) = (chain.present().clone(), chain.is_settled());
        let to = self.endpoint_of_candidate(candidate);
        let message = match to {
            Endpoint::Client(_) => Message::Configuration(Box::new(present)),
            Endpoint::Node(_) => Message::Chain(Box::new(ChainMessage::Present(present, settled))),
        };
        self.send(Endpoint::Node(at), to, message);
    }

    /// A node that a new client process reaches first, which need not know the newest configuration.
    pub(crate) fn first_node(&mut self) -> usize {
        match self.setup.spares {
            0 => 0,
            _ => self.rng.index(self.nodes.len()),
        }
    }
}
