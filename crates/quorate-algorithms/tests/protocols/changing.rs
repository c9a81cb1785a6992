//! The same parties while the voters change: nodes choose configurations, and voters and candidates adopt them at any time.
//!
//! Messages about the chain of configurations arrive late, twice or with other numbers as well. Nodes restart with their state,
//! without their votes, or after they have lost everything.

use std::hash::Hash;

use quorate_algorithms::mutex::leased_quorum::{
    Chain, ChainEffect, ChainEffects, ChainMessage, ChainState, Configuration, Electorate, Memory,
    PeerMessage, RestartId, Terms, ToCandidate, ToVoter, Voter, Voters,
};
use quorate_core::quorum::AnyCoterie;
use quorate_core::{Drift, ProcessId, ProcessSet, Span, Time};
use quorate_sim::random::Random;

use super::{Envelope, Leases, TERMS, TTL};
use crate::lease_messages::change;

/// Number of runs, each with a seed of its own.
const SEEDS: u64 = 24;

/// Number of inputs of a run.
const INPUTS: usize = 1500;

const NODES: usize = 5;

/// Voters whose quorums are majorities.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Members {
    voters: ProcessSet,
    terms: Terms,
}

impl Voters for Members {
    fn electorate(&self, index: u64) -> Electorate {
        let coterie = AnyCoterie::by_name("majority", self.voters.len()).expect("a coterie");
        Electorate::stable(index, &self.voters, coterie)
    }

    fn terms(&self) -> Terms {
        self.terms
    }
}

fn first() -> Configuration<Members> {
    Configuration::first(Members { voters: ProcessSet::all(3), terms: TERMS })
}

/// Leases of voters that change, and all messages about the chain that were sent and not delivered.
struct Changing {
    leases: Leases,
    chains: Vec<Chain<Members>>,
    /// The durable state of each node.
    disks: Vec<ChainState<Members>>,
    messages: Vec<(ProcessId, ProcessId, ChainMessage<Members>)>,
}

impl Changing {
    fn new(seed: u64) -> Self {
        let leases = Leases::with_voters(seed, first().electorate(), NODES);
        // In some runs one node forgets its part when it stops.
        let state = |id: u64| {
            let volatile = seed % 9 == id;
            ChainState { volatile, ..ChainState::new(first(), true) }
        };
        let disks: Vec<_> = (0..NODES as u64).map(state).collect();
        let chains = ProcessId::all(NODES).zip(&disks);
        let chains = chains.map(|(id, state)| Chain::new(id, state.clone())).collect();
        Self { leases, chains, disks, messages: Vec::new() }
    }

    fn step(&mut self) {
        match self.leases.random.below(20) {
            0..=8 => self.leases.input(),
            9..=14 => self.deliver(),
            15 | 16 => self.tick(),
            17 => self.candidate_adopts(),
            18 => self.alter(),
            _ => self.command(),
        }
        if self.leases.random.chance(0.004) {
            self.restart();
        }
    }

    fn deliver(&mut self) {
        if self.messages.is_empty() {
            return;
        }
        let most = self.messages.len();
        let recent = if self.leases.random.chance(0.9) { most.min(12) } else { most };
        let index = most - 1 - self.leases.below(recent);
        let (from, to, message) = match self.leases.random.chance(0.9) {
            true => self.messages.remove(index),
            false => self.messages[index].clone(),
        };
        self.chain(to, |chain, out| chain.on_message(from, message, out));
    }

    /// Time passes, and nodes send what they send periodically.
    fn tick(&mut self) {
        self.leases.now = self.leases.now + Span(self.leases.random.below(TTL.0 / 6));
        let (at, now) = (self.leases.any_voter(), self.leases.now);
        self.leases.voter(at, |voter, out| {
            voter.wake(now, out);
            voter.gossip(out);
        });
        let voter = self.leases.nodes[at.index()].voter.clone();
        self.chain(at, |chain, out| chain.tick(&voter, now, out));
    }

    /// A candidate learns of the configuration of a node.
    fn candidate_adopts(&mut self) {
        let chain = &self.chains[self.leases.any_voter().index()];
        let (present, previous) = (chain.present().clone(), chain.previous());
        let (electorate, terms) = (present.electorate(), present.terms());
        let of = self.leases.below(self.leases.relays.len() + self.leases.direct.len());
        let Some(direct) = of.checked_sub(self.leases.relays.len()) else {
            self.leases.relay(of, |it, out| it.adopt(electorate, previous.clone(), out));
            let later = self.leases.relays[of].clone().after(previous);
            later.hash(&mut self.leases.digest);
            let requests: Vec<_> = later.reports().map(|report| report.request).collect();
            let recorded: Vec<_> = requests.iter().map(|it| later.recorded_before(*it)).collect();
            self.leases.add(&(later.echoed_to_confirm(), recorded));
            return;
        };
        self.leases.direct(direct, |it, now, out| it.adopt(electorate, terms, now, out));
    }

    /// Changes a message on its way.
    fn alter(&mut self) {
        let random = &mut self.leases.random;
        if random.chance(0.5)
            && let Some((from, _, message)) = self.messages.last_mut()
        {
            return alter_chain(from, message, random);
        }
        for envelope in self.leases.messages.iter_mut().rev().take(3) {
            alter_configuration(envelope, random);
        }
    }

    /// An operator wants other voters or terms, or a node asks another one.
    fn command(&mut self) {
        let (at, other) = (self.leases.any_voter(), self.leases.any_voter());
        let random = &mut self.leases.random;
        match random.below(8) {
            0..=3 => {
                let wanted = 1 + random.below(4) as usize;
                let mut voters = ProcessSet::new();
                while voters.len() < wanted {
                    voters.insert(ProcessId::from_index(random.below(NODES as u64) as usize));
                }
                let ttl_most = if random.chance(0.3) { Span(2 * TTL.0) } else { TTL };
                let drift = if random.chance(0.3) { Drift(Drift::ONE / 50) } else { Drift::NONE };
                let terms = Terms { ttl_most, drift, ..TERMS };
                let mut proposed = None;
                self.chain(at, |chain, out| {
                    proposed = Some(chain.propose(Members { voters, terms }, out));
                });
                self.leases.add(&proposed);
            }
            4 => self.chain(at, |chain, _| chain.give_up()),
            5 => self.chain(at, |chain, out| chain.ask(other, out)),
            _ => {
                let known = &self.chains[other.index()];
                let (present, settled) = (known.present().clone(), known.is_settled());
                self.chain(at, |chain, out| chain.hear_of(present, settled, out));
            }
        }
    }

    fn restart(&mut self) {
        let (at, kind, now) =
            (self.leases.any_voter(), self.leases.random.below(4), self.leases.now);
        let disk = self.disks[at.index()].clone();
        let state = match kind {
            0 => ChainState { volatile: disk.volatile, ..ChainState::after_loss(first()) },
            _ if disk.volatile => ChainState { volatile: true, ..ChainState::new(first(), true) },
            _ => disk,
        };
        let chain = Chain::new(at, state);
        let node = &mut self.leases.nodes[at.index()];
        node.restarts += 1;
        let number = node.restarts;
        let (electorate, terms) = (chain.present().electorate(), chain.present().terms());
        let new = Voter::new(at, electorate.clone(), terms).with_ballots_most(1);
        let forgotten = |mark| Memory { incarnation: number, mark };
        let voter = match kind {
            0 => new.forgotten(forgotten(None), now),
            1 => new.forgotten(forgotten(Some(60)), now).with_ceiling(1 << 21),
            _ => {
                let id = RestartId { incarnation: 0, number };
                new.restored(id, node.file.clone(), now).with_ceiling(1 << 21)
            }
        };
        if kind < 2 {
            node.file.clear();
        }
        node.voter = voter.in_configuration(electorate, chain.previous(), now);
        node.voter.stay_out(chain.stays_out());
        node.voter.hash(&mut self.leases.digest);
        self.disks[at.index()] = chain.state().clone();
        self.chains[at.index()] = chain;
    }

    fn chain(
        &mut self,
        at: ProcessId,
        input: impl FnOnce(&mut Chain<Members>, &mut ChainEffects<Members>),
    ) {
        let mut out = Vec::new();
        input(&mut self.chains[at.index()], &mut out);
        for effect in out {
            self.leases.add(&effect);
            match effect {
                ChainEffect::Persist => {
                    self.disks[at.index()] = self.chains[at.index()].state().clone();
                }
                ChainEffect::Send(to, message) => self.messages.push((at, to, message)),
                ChainEffect::Adopted => self.voter_adopts(at),
                ChainEffect::Settled => self.leases.voter(at, |voter, _| voter.settled()),
            }
        }
        let chain = &self.chains[at.index()];
        chain.hash(&mut self.leases.digest);
        let waits_for: Vec<_> = chain.waits_for().collect();
        let flags = (chain.is_settled(), chain.proposes(), chain.stays_out(), chain.previous());
        let present = chain.present();
        let terms = (present.terms(), present.target().clone(), present.is_joint());
        let (voter, now) = (&self.leases.nodes[at.index()].voter, self.leases.now);
        let closed = [now, now + TTL, Time(0)].map(|time| voter.is_closed(time));
        let learned = (voter.has_learned(), voter.learned_floor(), voter.next_wake());
        self.leases.add(&(waits_for, flags, terms, closed, learned));
    }

    fn voter_adopts(&mut self, at: ProcessId) {
        let (chain, now) = (&self.chains[at.index()], self.leases.now);
        let (present, previous) = (chain.present().clone(), chain.previous());
        let stays_out = chain.stays_out();
        self.leases.voter(at, |voter, out| {
            voter.set_terms(present.terms());
            voter.stay_out(stays_out);
            voter.adopt(present.electorate(), previous, now, out);
            voter.wake(now, out);
        });
    }
}

fn alter_chain(from: &mut ProcessId, message: &mut ChainMessage<Members>, random: &mut Random) {
    match (random.below(3), message) {
        (0, _) => *from = ProcessId::from_index(random.below(NODES as u64) as usize),
        (1, ChainMessage::Progress { index, .. }) => change(index, random),
        (_, ChainMessage::Progress { settled, progress, .. }) => match progress {
            Some(progress) if random.chance(0.5) => {
                progress.lost = random.chance(0.5);
                progress.closed = random.chance(0.5);
                progress.learned = random.chance(0.5);
            }
            _ => *settled = !*settled,
        },
        (_, ChainMessage::Present(_, settled)) => *settled |= random.chance(0.2),
        (
            1,
            ChainMessage::Prepare(index, _)
            | ChainMessage::Promise(index, ..)
            | ChainMessage::Accept(index, ..)
            | ChainMessage::Accepted(index, _)
            | ChainMessage::Refused(index, _),
        ) => change(index, random),
        (
            _,
            ChainMessage::Prepare(_, round)
            | ChainMessage::Promise(_, round, _)
            | ChainMessage::Accept(_, round, _)
            | ChainMessage::Accepted(_, round)
            | ChainMessage::Refused(_, round),
        ) => change(&mut round.0, random),
    }
}

fn alter_configuration(envelope: &mut Envelope, random: &mut Random) {
    match envelope {
        Envelope::Voter(_, _, ToVoter::Beat { session, .. } | ToVoter::Request { session, .. }) => {
            change(&mut session.config, random)
        }
        Envelope::Candidate(_, _, message) => match message {
            ToCandidate::Vote { config, recorded_in, floor, .. } => match random.below(3) {
                0 => change(config, random),
                1 => change(recorded_in, random),
                _ => *floor = random.below(6),
            },
            ToCandidate::Raised { recorded_in, .. } => change(recorded_in, random),
            ToCandidate::Echo { entries, .. } => {
                entries.iter_mut().for_each(|entry| change(&mut entry.recorded_in, random));
            }
            _ => {}
        },
        Envelope::Peer(_, _, PeerMessage::Learn { config, .. }) => change(config, random),
        Envelope::Peer(_, _, PeerMessage::Known { config, floor, .. }) => match random.below(2) {
            0 => change(config, random),
            _ => *floor = random.below(2_000_000),
        },
        _ => {}
    }
}

#[test]
fn in_disorder_while_the_voters_change() {
    let (mut row, mut greatest) = (String::new(), 0);
    for seed in 0..SEEDS {
        let mut changing = Changing::new(seed);
        (0..INPUTS).for_each(|_| changing.step());
        row += &format!(" {seed}:{}", changing.leases.digest.short());
        let indices = changing.chains.iter().map(|chain| chain.present().index);
        greatest = indices.fold(greatest, u64::max);
    }
    assert!(greatest >= 6, "three changes in the longest chain: {greatest}");
    insta::assert_snapshot!("leases_of_changing_voters", row);
}
