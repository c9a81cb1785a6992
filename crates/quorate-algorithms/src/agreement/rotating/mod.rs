//! The rotating coordinator of Chandra and Toueg, for values of any type. `chandra-toueg` uses it to agree on a number,
//! `total-from-consensus` to agree on the next messages.

use core::convert::Infallible;

use quorate_core::agreement::Misuse;
use quorate_core::{Belief, Data, Effects, Kind, Process, ProcessId, ProcessSet, SortedMap};

/// One process of the rotating coordinator. The command is the proposed value, and the output is the decided one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rotating<V> {
    id: ProcessId,
    n: usize,
    suspected: ProcessSet,
    /// The value that this process would decide, and the round in which it adopted the value; 0 for its own proposal.
    estimate: Option<Estimate<V>>,
    phase: Phase,
    /// The current round, from 1 on; 0 before the first.
    round: u64,
    /// The messages received for the current round and later ones.
    heard: SortedMap<u64, Round<V>>,
}

/// A value, and the round in which it was adopted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Estimate<V> {
    value: V,
    taken: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// Has not proposed a value yet.
    Idle,
    /// Waits for the coordinator's proposal.
    AwaitsProposal,
    /// Has answered the proposal and waits for the outcome of the round.
    AwaitsOutcome,
    Decided,
}

/// The messages received for a round.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Round<V> {
    /// As coordinator: the estimates received.
    estimates: SortedMap<ProcessId, Estimate<V>>,
    proposal: Option<V>,
    /// As coordinator: the processes that have adopted the proposal. The processes that have refused are in `nacks`.
    acks: ProcessSet,
    nacks: ProcessSet,
    /// Whether the coordinator has abandoned the round.
    over: bool,
}

impl<V> Default for Round<V> {
    fn default() -> Self {
        Self {
            estimates: SortedMap::new(),
            proposal: None,
            acks: ProcessSet::new(),
            nacks: ProcessSet::new(),
            over: false,
        }
    }
}

/// The messages of the protocol, with the round that they belong to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message<V> {
    /// To the coordinator: the sender's estimate.
    Estimate(u64, Estimate<V>),
    /// From the coordinator: proposes a value to adopt.
    Propose(u64, V),
    /// To the coordinator: the sender has adopted the proposal.
    Ack(u64),
    /// To the coordinator: the sender suspects it and has not adopted a proposal.
    Nack(u64),
    /// From the coordinator: too few processes have adopted the proposal; the next round begins.
    Next(u64),
    /// This value is decided. It has no round.
    Decide(V),
}

impl<V: Data> Rotating<V> {
    /// Creates process `id` of `n`.
    pub fn new(n: usize, id: ProcessId) -> Self {
        Self {
            id,
            n,
            suspected: ProcessSet::new(),
            estimate: None,
            phase: Phase::Idle,
            round: 0,
            heard: SortedMap::new(),
        }
    }

    fn majority(&self) -> usize {
        self.n / 2 + 1
    }

    fn coordinator(&self) -> ProcessId {
        let place = self.round.saturating_sub(1) % self.n as u64;
        ProcessId::from_index(place as usize)
    }

    fn current(&mut self) -> &mut Round<V> {
        self.heard.entry(self.round).or_default()
    }

    /// Begins the next round by sending the estimate to its coordinator.
    fn enter_next(&mut self, out: &mut Effects<Self>) {
        self.round += 1;
        self.phase = Phase::AwaitsProposal;
        let round = self.round;
        self.heard.retain(|heard, _| *heard >= round);
        let (id, coordinator) = (self.id, self.coordinator());
        let Some(estimate) = self.estimate.clone() else { return };
        if coordinator == id {
            self.current().estimates.insert(id, estimate);
        } else {
            out.send(coordinator, Message::Estimate(round, estimate));
        }
    }

    /// Makes all transitions that the received messages and suspicions allow.
    fn advance(&mut self, out: &mut Effects<Self>) {
        while !matches!(self.phase, Phase::Idle | Phase::Decided) {
            let coordinates = self.coordinator() == self.id;
            if coordinates {
                self.propose(out);
            }
            let suspects = self.suspected.contains(self.coordinator()) && !coordinates;
            match (self.phase, self.current().proposal.clone()) {
                (Phase::AwaitsProposal, Some(value)) => {
                    self.estimate = Some(Estimate { value, taken: self.round });
                    self.phase = Phase::AwaitsOutcome;
                    self.reply(true, out);
                }
                (Phase::AwaitsProposal, None) if suspects => {
                    self.reply(false, out);
                    self.enter_next(out);
                }
                (Phase::AwaitsOutcome, proposal) if coordinates => {
                    let majority = self.majority();
                    let round = self.current();
                    if round.acks.len() + round.nacks.len() < majority {
                        return;
                    }
                    match proposal {
                        Some(value) if round.nacks.is_empty() => return self.decide(value, out),
                        _ => {
                            out.send_to_others(Message::Next(self.round));
                            self.enter_next(out);
                        }
                    }
                }
                (Phase::AwaitsOutcome, _) if suspects || self.current().over => {
                    self.enter_next(out);
                }
                _ => return,
            }
        }
    }

    /// As coordinator: proposes the estimate that was adopted last, once a majority has sent estimates.
    fn propose(&mut self, out: &mut Effects<Self>) {
        let majority = self.majority();
        let round = self.current();
        if round.proposal.is_some() || round.estimates.len() < majority {
            return;
        }
        let mut best: Option<&Estimate<V>> = None;
        for estimate in round.estimates.values() {
            if best.is_none_or(|best| estimate.taken > best.taken) {
                best = Some(estimate);
            }
        }
        let Some(value) = best.map(|best| best.value.clone()) else { return };
        round.proposal = Some(value.clone());
        out.send_to_others(Message::Propose(self.round, value));
    }

    fn reply(&mut self, takes_over: bool, out: &mut Effects<Self>) {
        let (id, coordinator, round) = (self.id, self.coordinator(), self.round);
        if coordinator == id {
            self.current().acks.insert(id);
        } else if takes_over {
            out.send(coordinator, Message::Ack(round));
        } else {
            out.send(coordinator, Message::Nack(round));
        }
    }

    /// Forwards the decision before deciding, so that all live processes decide if one does.
    fn decide(&mut self, value: V, out: &mut Effects<Self>) {
        if self.phase != Phase::Decided {
            self.phase = Phase::Decided;
            self.heard.clear();
            out.send_to_others(Message::Decide(value.clone()));
            out.output(value);
        }
    }
}

impl<V: Data> Process for Rotating<V> {
    type Command = V;
    type Message = Message<V>;
    type Timer = Infallible;
    type Output = V;
    type Misuse = Misuse;

    fn on_command(&mut self, value: V, out: &mut Effects<Self>) -> Result<(), Misuse> {
        if self.estimate.is_some() {
            return Err(Misuse::AlreadyProposed);
        }
        self.estimate = Some(Estimate { value, taken: 0 });
        if self.phase == Phase::Idle {
            self.enter_next(out);
            self.advance(out);
        }
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message<V>, out: &mut Effects<Self>) {
        let round = match &message {
            Message::Decide(value) => return self.decide(value.clone(), out),
            Message::Estimate(round, _)
            | Message::Propose(round, _)
            | Message::Ack(round)
            | Message::Nack(round)
            | Message::Next(round) => *round,
        };
        if self.phase == Phase::Decided || round < self.round {
            return out.ignored("a word of an earlier round");
        }
        let heard = self.heard.entry(round).or_default();
        match message {
            Message::Estimate(_, estimate) => {
                heard.estimates.insert(from, estimate);
            }
            Message::Propose(_, value) => heard.proposal = Some(value),
            Message::Ack(_) => {
                heard.acks.insert(from);
            }
            Message::Nack(_) => {
                heard.nacks.insert(from);
            }
            Message::Next(_) => heard.over = true,
            Message::Decide(_) => {}
        }
        self.advance(out);
    }

    fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
        match belief {
            Belief::Crashed(process) => {
                self.suspected.insert(process);
                self.advance(out);
            }
            Belief::Alive(process) => {
                self.suspected.remove(process);
            }
        }
    }

    fn waits_for(&self) -> ProcessSet {
        let coordinator = self.coordinator();
        match self.phase {
            Phase::Idle | Phase::Decided => ProcessSet::new(),
            _ if coordinator != self.id => ProcessSet::from_iter([coordinator]),
            // As coordinator it waits for a majority of these.
            _ => {
                let mut silent = ProcessSet::others(self.n, self.id);
                if let Some(round) = self.heard.get(&self.round) {
                    match round.proposal {
                        None => round.estimates.keys().for_each(|from| {
                            silent.remove(*from);
                        }),
                        Some(_) => silent = &(&silent - &round.acks) - &round.nacks,
                    }
                }
                silent
            }
        }
    }
}

impl<V: Data> quorate_core::Message for Message<V> {
    const KINDS: &'static [Kind] = &[
        Kind::agreement("ESTIMATE"),
        Kind::agreement("PROPOSE"),
        Kind::agreement("ACK"),
        Kind::agreement("NACK"),
        Kind::agreement("NEXT"),
        Kind::agreement("DECIDE"),
    ];

    fn kind(&self) -> usize {
        match self {
            Self::Estimate(..) => 0,
            Self::Propose(..) => 1,
            Self::Ack(_) => 2,
            Self::Nack(_) => 3,
            Self::Next(_) => 4,
            Self::Decide(_) => 5,
        }
    }

    /// A lying process changes the round of its estimate, or sends NACK for ACK and vice versa.
    fn forged(&self, choice: u64) -> Self {
        match self.clone() {
            Self::Estimate(round, Estimate { value, .. }) => {
                Self::Estimate(round, Estimate { value, taken: choice % 8 })
            }
            Self::Ack(round) => Self::Nack(round),
            Self::Nack(round) => Self::Ack(round),
            other => other,
        }
    }
}
