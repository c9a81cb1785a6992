//! One lock whose voters change while processes hold it and wait for it, as a [`Process`].
//!
//! - **Source**: joint configurations after Ongaro and Ousterhout, "In Search of an Understandable Consensus Algorithm", USENIX
//!   ATC 2014; the next configuration is chosen by the voters of the present one, as in Lamport, Malkhi and Zhou, "Reconfiguring a
//!   State Machine", ACM SIGACT News 41(1), 2010. When a configuration is left is our own; `docs/membership.md` justifies it.
//! - **Assumes**: clocks whose drift is within the terms. Links may lose, duplicate, delay and reorder. Fewer than half of the voters
//!   of each configuration crash; they may restart with their memory.
//! - **Guarantees**: at most one client is valid inside the lock at any time (ME1), every later holder has a greater token
//!   (fencing), also across changes of all voters, and every live client that waits eventually enters (ME2).
//! - **Costs**: as `leased-quorum` while the voters stay. A change takes two round trips to a quorum of the voters, then the voters
//!   send each other their progress once in a beat interval, for about two times-to-live if sessions are in use.
//! - **Departs from the sources**: see the modules `chain` and `voter::changes`. Here, processes are operators themselves.
//!
//! Every process is a client with its own candidate, has a voter, and takes part in the chain of configurations. The voters of a
//! configuration are consecutive on the ring of all processes: at first processes 0, 1 and so on, half of all and at most five.
//! A voter whose client waits or is inside acts as an operator: a few times, it proposes other voters as soon as it knows that the
//! present configuration is settled. These are the voters on the opposite side of the ring, so that none of the present ones
//! stays, or those that are one process further in either direction. So several operators propose different voters at the same
//! time. They do not ask whether the new voters are up. A process that knows an old configuration learns of newer ones when it
//! sends messages to voters that know them, or receives messages of candidates that do.
//!
//! A ttl is a few message delays, so that a change may begin and end during one stay in the section.
//!
//! A process that recovers with its memory models a process that was killed and has read its files. The change that it was proposing
//! is given up, unless the voters have chosen it.

use alloc::boxed::Box;
use alloc::vec::Vec;

use quorate_core::mutex::{Command, Misuse, Output};
use quorate_core::quorum::{AnyCoterie, Majority};
use quorate_core::{
    Assumption, Belief, Cost, Drift, Effect, Effects, Kind, Layer, Message as CoreMessage, Process,
    ProcessId, ProcessSet, Profile, Property, Span,
};

use super::{Cluster, LeasedQuorum, Timer};
use crate::literature::{MutexFigure, Prediction};
use crate::mutex::leased_quorum::chain::{
    Chain, ChainEffect, ChainEffects, ChainMessage, ChainState, Configuration, Voters,
};
use crate::mutex::leased_quorum::electorate::Electorate;
use crate::mutex::leased_quorum::message::{ToCandidate, ToVoter};
use crate::mutex::leased_quorum::terms::Terms;
use crate::mutex::leased_quorum::voter::Voter;
use crate::mutex::leased_quorum::wire::Message;
use crate::{Algorithm, Setup, Shape, Sound};

/// Maximum number of voters.
const VOTERS_MOST: usize = 5;

/// Maximum number of changes that each process proposes. An explorer that limits the renewals of a lease has to limit the changes
/// too, because every change takes as long as a lease.
const CHANGES_MOST: u32 = 3;

/// Maximum time-to-live of a session in bounds on message delay. A round trip has to fit between two beats.
const TTL_MOST: u64 = 6;

/// One process: a client, a voter and an operator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LeasedQuorumChanging {
    lock: LeasedQuorum,
    chain: Chain<Members>,
    /// Number of all processes, voters or not.
    n: usize,
    /// Number of changes that the process may still propose.
    changes: u32,
    /// Bound on message delay.
    delay: Span,
    /// Whether the timer of the chain is set.
    is_ticking: bool,
}

/// The voters of a configuration. A quorum is a majority of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Members {
    voters: ProcessSet,
    /// Time-to-live of all sessions.
    ttl: Span,
    /// Maximum drift of any clock, in parts per billion.
    drift: i64,
}

/// A message between two processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ChangingMessage {
    /// A message about the lock.
    Lock(Message),
    /// A message about the chain of configurations.
    Chain(Box<ChainMessage<Members>>),
}

/// The timers of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangingTimer {
    /// A timer of the client or of the voter.
    Lock(Timer),
    /// The process sends its progress in a change, and repeats messages that may have been lost.
    Chain,
}

/// Returns `true` if the message of a candidate tells that it knows a later configuration than this one.
fn is_of_later(message: &Message, index: u64) -> bool {
    match message {
        Message::ToVoter(ToVoter::Beat { session, .. } | ToVoter::Request { session, .. }) => {
            session.config > index
        }
        _ => false,
    }
}

/// The voters of the first configuration among `n` processes.
fn first_voters(n: usize) -> ProcessSet {
    ProcessId::all((n / 2).clamp(1, VOTERS_MOST)).collect()
}

/// The voters that process `proposer` of `n` wants in place of these ones: those on the opposite side of the ring, or neighbours
/// of the present ones.
fn wanted(voters: &ProcessSet, n: usize, proposer: ProcessId, changes: u32) -> ProcessSet {
    let steps = match (proposer.number() + changes) % 3 {
        0 => n.div_ceil(2),
        1 => n - 1,
        _ => 1,
    };
    voters.iter().map(|voter| ProcessId::from_index((voter.index() + steps) % n)).collect()
}

impl Voters for Members {
    fn electorate(&self, index: u64) -> Electorate {
        Electorate::stable(
            index,
            &self.voters,
            AnyCoterie::Majority(Majority::new(self.voters.len())),
        )
    }

    fn terms(&self) -> Terms {
        Terms::fixed(self.ttl, Drift(self.drift))
    }
}

impl LeasedQuorumChanging {
    fn new(setup: &Setup, id: ProcessId) -> Self {
        let delay = setup.delay_bounds.bound;
        let ttl = setup.lease.min(Span(delay.0.saturating_mul(TTL_MOST)));
        let drift = setup.clock.limits.drift.0;
        let first = Configuration::first(Members { voters: first_voters(setup.n), ttl, drift });
        let cluster = Cluster {
            first: 0,
            voters_most: setup.n as u32,
            electorate: first.electorate(),
            previous: None,
            terms: first.terms(),
            renewals: setup.renewals,
        };
        let changes = setup.renewals.map_or(CHANGES_MOST, |most| CHANGES_MOST.min(most + 1));
        let chain = Chain::new(id, ChainState::new(first, true));
        let lock = LeasedQuorum::new(cluster, id);
        Self { lock, chain, n: setup.n, changes, delay, is_ticking: false }
    }

    /// Proposes other voters, if the process is a voter with a request and no change is in progress as far as it knows.
    fn propose_if_settled(&mut self, out: &mut Effects<Self>) {
        if self.changes == 0 || self.lock.request.is_none() || self.chain.proposes() {
            return;
        }
        let present = &self.chain.present().voters;
        let voters = wanted(&present.voters, self.n, self.lock.id, self.changes);
        let wanted = Members { voters, ..present.clone() };
        let mut has_begun = false;
        self.with_chain(out, |chain, _, effects| {
            has_begun = chain.propose(wanted, effects).is_ok();
        });
        self.changes -= u32::from(has_begun);
    }

    fn with_lock<T>(
        &mut self,
        out: &mut Effects<Self>,
        input: impl FnOnce(&mut LeasedQuorum, &mut Effects<LeasedQuorum>) -> T,
    ) -> T {
        let mut effects = Effects::new(out.now());
        let result = input(&mut self.lock, &mut effects);
        for effect in effects {
            let outdated = match &effect {
                Effect::Send {
                    to,
                    message: Message::ToCandidate(ToCandidate::Outdated { .. }),
                } => Some(*to).filter(|to| *to != self.lock.id),
                _ => None,
            };
            match effect.embed(ChangingMessage::Lock, ChangingTimer::Lock) {
                Ok(effect) => out.push(effect),
                Err(output) => {
                    let token = self.lock.client.client().held().next().map(|(.., token)| token);
                    if let Some(token) = token.filter(|_| output == Output::Entered) {
                        out.output(Output::Token(token));
                    }
                    out.output(output);
                }
            }
            // The process of a candidate that knows too little learns the configuration, not only its index.
            if let Some(to) = outdated {
                let (present, settled) = (self.chain.present().clone(), self.chain.is_settled());
                out.send(to, ChangingMessage::of_chain(ChainMessage::Present(present, settled)));
            }
        }
        result
    }

    fn with_chain(
        &mut self,
        out: &mut Effects<Self>,
        input: impl FnOnce(&mut Chain<Members>, &Voter<()>, &mut ChainEffects<Members>),
    ) {
        let Some(voter) = &self.lock.voter else { return };
        let mut effects = Vec::new();
        input(&mut self.chain, voter, &mut effects);
        for effect in effects {
            match effect {
                // The process keeps its memory.
                ChainEffect::Persist => {}
                ChainEffect::Send(to, message) => out.send(to, ChangingMessage::of_chain(message)),
                ChainEffect::Adopted => {
                    let (electorate, previous) =
                        (self.chain.present().electorate(), self.chain.previous());
                    self.with_lock(out, |lock, out| lock.adopt(electorate, previous, out));
                }
                ChainEffect::Settled => self.lock.settled(),
            }
        }
        self.tick_later(out);
    }

    /// Sets the timer while a change is in progress.
    fn tick_later(&mut self, out: &mut Effects<Self>) {
        if !self.is_ticking && (!self.chain.is_settled() || self.chain.proposes()) {
            self.is_ticking = true;
            // Earlier than a ttl: after one ttl, all voters are closed in any case.
            let delays = if self.chain.proposes() { 1 } else { 2 };
            out.set_timer(ChangingTimer::Chain, Span(self.delay.0.saturating_mul(delays)));
        }
    }

    fn tick(&mut self, out: &mut Effects<Self>) {
        self.is_ticking = false;
        let now = out.now();
        self.with_chain(out, |chain, voter, effects| chain.tick(voter, now, effects));
        self.with_lock(out, |lock, out| {
            lock.with_voter(now, out, |voter, _, effects| {
                if !voter.has_learned() {
                    voter.gossip(effects);
                }
            });
        });
    }
}

impl Process for LeasedQuorumChanging {
    type Command = Command;
    type Message = ChangingMessage;
    type Timer = ChangingTimer;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        self.with_lock(out, |lock, out| lock.on_command(command, out))?;
        self.propose_if_settled(out);
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: ChangingMessage, out: &mut Effects<Self>) {
        match message {
            ChangingMessage::Lock(message) => {
                if is_of_later(&message, self.chain.present().index) {
                    self.with_chain(out, |chain, _, effects| chain.ask(from, effects));
                }
                self.with_lock(out, |lock, out| lock.on_message(from, message, out));
            }
            ChangingMessage::Chain(message) => {
                self.with_chain(out, |chain, _, effects| chain.on_message(from, *message, effects));
            }
        }
        self.propose_if_settled(out);
    }

    fn on_timer(&mut self, timer: ChangingTimer, out: &mut Effects<Self>) {
        match timer {
            ChangingTimer::Lock(timer) => {
                self.with_lock(out, |lock, out| lock.on_timer(timer, out));
            }
            ChangingTimer::Chain => self.tick(out),
        }
        self.propose_if_settled(out);
    }

    fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
        self.with_lock(out, |lock, out| lock.on_belief(belief, out));
        self.propose_if_settled(out);
    }

    fn on_recovery(&mut self, out: &mut Effects<Self>) {
        self.chain = Chain::new(self.lock.id, self.chain.state().clone());
        self.with_lock(out, LeasedQuorum::on_recovery);
        self.is_ticking = false;
        self.tick_later(out);
    }

    fn visit_shift_invariant(&mut self, show: &mut dyn FnMut(&mut u64)) {
        self.lock.visit_shift_invariant(show);
    }

    fn waits_for(&self) -> ProcessSet {
        self.lock.waits_for()
    }
}

impl ChangingMessage {
    fn of_chain(message: ChainMessage<Members>) -> Self {
        Self::Chain(Box::new(message))
    }
}

/// The kinds of messages about the chain.
const CHAIN_KINDS: [Kind; 7] = [
    Kind::mutex("PROGRESS"),
    Kind::mutex("PRESENT"),
    Kind::mutex("PREPARE"),
    Kind::mutex("PROMISE"),
    Kind::mutex("ACCEPT"),
    Kind::mutex("ACCEPTED"),
    Kind::mutex("REJECTED"),
];

const LOCK_KINDS: usize = Message::KINDS.len();

const fn all_kinds() -> [Kind; LOCK_KINDS + CHAIN_KINDS.len()] {
    let mut kinds = [CHAIN_KINDS[0]; LOCK_KINDS + CHAIN_KINDS.len()];
    let mut at = 0;
    while at < kinds.len() {
        let is_lock = at < LOCK_KINDS;
        kinds[at] = if is_lock { Message::KINDS[at] } else { CHAIN_KINDS[at - LOCK_KINDS] };
        at += 1;
    }
    kinds
}

impl CoreMessage for ChangingMessage {
    const KINDS: &'static [Kind] = &all_kinds();

    fn kind(&self) -> usize {
        let of_chain = match self {
            Self::Lock(message) => return message.kind(),
            Self::Chain(message) => match **message {
                ChainMessage::Progress { .. } => 0,
                ChainMessage::Present(..) => 1,
                ChainMessage::Prepare(..) => 2,
                ChainMessage::Promise(..) => 3,
                ChainMessage::Accept(..) => 4,
                ChainMessage::Accepted(..) => 5,
                ChainMessage::Refused(..) => 6,
            },
        };
        LOCK_KINDS + of_chain
    }

    fn visit_shift_invariant(&mut self, show: &mut dyn FnMut(&mut u64)) {
        if let Self::Lock(message) = self {
            message.visit_shift_invariant(show);
        }
    }
}

impl Sound for LeasedQuorumChanging {}

impl Algorithm for LeasedQuorumChanging {
    const PROFILE: Profile = Profile {
        name: "leased-quorum-changing",
        layer: Layer::Mutex,
        summary: "votes are leases; the voters change while locks are held",
        source: "after Ongaro and Ousterhout, USENIX ATC 2014; Lamport, Malkhi and Zhou, 2010",
        specimen: None,
        assumes: &[
            Assumption::BoundedDrift,
            Assumption::EventualSynchrony,
            Assumption::Memory,
            Assumption::FewCrashes,
            Assumption::Honesty,
        ],
        guarantees: &[Property::ME1, Property::ME2, Property::Fencing],
        cost: "3K to 5K messages per entry without rivals and changes, K the size of a quorum; while waiting or inside, 2 per voter each third of a ttl",
        never_quiescent: true,
    };

    const SHAPE: Shape = Shape::Everybody;

    const LONG_STAYS: bool = true;

    /// A minority of the voters, whichever processes these are.
    fn tolerates(n: usize) -> Option<usize> {
        Some((first_voters(n).len() - 1) / 2)
    }

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(setup, id)
    }

    fn cost(setup: &Setup) -> Cost {
        let quorum = first_voters(setup.n).len() as u64 / 2 + 1;
        Cost::between("3K to 5K", 3 * quorum, 5 * quorum).with_delays(0..=2, 0..=2)
    }

    fn predict_entry(figure: MutexFigure, setup: &Setup, _: &[Vec<ProcessId>]) -> Prediction {
        let cost = Self::cost(setup);
        let promised = Prediction::of_cost(figure, &cost);
        match figure {
            MutexFigure::Light | MutexFigure::Saturated => {
                let least = *cost.messages.start() as f64;
                Prediction::between("3K to infinity", least, f64::INFINITY).with_remark(
                    "a waiting process sends beats and repeats its request each third of a ttl, and while the voters \
                     change, they send each other their progress",
                )
            }
            MutexFigure::Synchronisation | MutexFigure::Client => {
                promised.with_difference("more while the voters change: requests are sent again")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use quorate_core::Time;

    use super::*;

    fn set<const N: usize>(voters: [u32; N]) -> ProcessSet {
        voters.into_iter().map(ProcessId::new).collect()
    }

    #[test]
    fn operators_replace_all_voters_or_one() {
        assert_eq!(first_voters(2), set([0]));
        assert_eq!(first_voters(5), set([0, 1]));
        assert_eq!(first_voters(16), set([0, 1, 2, 3, 4]));
        let operator = ProcessId::new(1);
        assert_eq!(wanted(&set([0, 1, 2]), 7, operator, 2), set([4, 5, 6]));
        assert_eq!(wanted(&set([4, 5, 6]), 7, operator, 2), set([1, 2, 3]));
        assert_eq!(wanted(&set([0, 1, 2]), 7, operator, 3), set([0, 1, 6]));
        assert_eq!(wanted(&set([0, 1, 2]), 7, operator, 1), set([1, 2, 3]));
        for n in 2..20 {
            let opposite = wanted(&first_voters(n), n, operator, 2);
            assert!(opposite.is_disjoint(&first_voters(n)), "{n}");
        }
    }

    #[test]
    fn a_voter_whose_client_waits_proposes_other_voters() {
        let (mut out, zero) = (Effects::new(Time::ZERO), ProcessId::new(0));
        let mut process = LeasedQuorumChanging::new(&Setup::new(2), zero);
        let answer = ChainMessage::Progress { index: 0, settled: true, progress: None };
        process.on_message(ProcessId::new(1), ChangingMessage::of_chain(answer), &mut out);
        assert_eq!(process.chain.present().index, 0, "it has no request");
        process.on_command(Command::Acquire, &mut out).expect("it is idle");
        let present = process.chain.present();
        assert_eq!((present.index, &present.target().voters), (1, &set([1])));
        assert_eq!(process.changes, CHANGES_MOST - 1);
        assert_eq!(process.lock.client.candidate().electorate().index(), 1);
        let mut other = LeasedQuorumChanging::new(&Setup::new(2), ProcessId::new(1));
        other.on_command(Command::Acquire, &mut out).expect("it is idle");
        assert_eq!((other.chain.present().index, other.changes), (0, CHANGES_MOST), "no voter");
    }
}
