//! Multi-Paxos: a leader prepares its ballot once for all slots, and then needs one round trip for each command.
//!
//! - **Source**: Lamport, "Paxos Made Simple", ACM SIGACT News 32(4), 2001, section 3; van Renesse and Altinbuken, "Paxos Made
//!   Moderately Complex", ACM Computing Surveys 47(3), 2015.
//! - **Assumes**: fewer than half of the processes crash, n > 2f; a process that recovers remembers its state. Links may lose,
//!   duplicate and reorder messages. For liveness, delays are bounded from some time on.
//! - **Guarantees**: state machine safety, election safety (one leader per ballot) and integrity regardless of timing; liveness
//!   once delays are bounded and losses end.
//! - **Costs**: 3(n - 1) messages per command at the leader: ACCEPT, ACCEPTED and DECIDED, and one FORWARD from another process;
//!   two message delays until the leader applies it, three for the others. Besides, n - 1 messages per heartbeat and 2(n - 1)
//!   for each new leader. With each heartbeat before the decision come another ACCEPT and ACCEPTED, and another FORWARD.
//! - **Departs from the paper**: each process is replica, acceptor and leader at the same time; scouts and commanders are parts of
//!   the leader's state. A process that hears nothing of a leader for a timeout prepares a ballot of its own; in the paper
//!   leaders ping each other and back off. Timeouts are functions of the seed, the process and the ballot, and grow with
//!   the ballot. A promise leaves out the slots that the leader has applied. A process that is not the leader keeps the
//!   commands of its client and sends them to the leader, again with each heartbeat until they are applied; in the paper
//!   replicas propose slots themselves, and slots need not be filled in order. A command that is decided in two slots is
//!   applied in the first one; the other is a no-op, as in the paper.
//!
//! ```text
//!   Follower --no leader for a timeout, PREPARE--> Preparing --a majority of PROMISE--> Leading: ACCEPT for each slot
//!      ^                                               |                                   |
//!      +------------------- a higher ballot -----------+-----------------------------------+
//! ```
//!
//! Safety argument: that of Paxos for each slot. A majority of promises reports every value that may have been decided in any slot,
//! and the leader proposes the one with the highest ballot again.

use alloc::vec::Vec;

use quorate_core::agreement::Value;
use quorate_core::replication::{Command, Misuse, Output};
use quorate_core::{
    Assumption, Cost, Effects, Kind, Layer, Process, ProcessId, ProcessSet, Profile, Property,
    SortedMap, SortedSet,
};

use super::common::Timeouts;
use crate::{Algorithm, Setup, Sound};

/// The number of a ballot. Ballot b belongs to process b mod n. Ballot 0 is below all others.
type Ballot = u64;

/// The position of a command in the log, from 1 on.
type Slot = u64;

/// Maximum number of decisions that a leader sends at once to a process that lags behind.
const CATCH_UP_MOST: usize = 8;

/// One process, which is replica, acceptor and leader at the same time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MultiPaxos {
    id: ProcessId,
    n: usize,
    timeouts: Timeouts,
    /// Acceptor: it accepts nothing below this ballot.
    promised: Ballot,
    accepted: SortedMap<Slot, Proposal>,
    decided: SortedMap<Slot, Option<Value>>,
    /// Number of slots that the replica has applied.
    applied: Slot,
    /// The commands among them.
    performed: SortedSet<Value>,
    role: Role,
    /// Commands of this process's client that are not applied yet.
    pending: Vec<Value>,
}

/// A command, and the ballot in which it was proposed. `None` fills a slot for which the leader knows no command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Proposal {
    ballot: Ballot,
    command: Option<Value>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Role {
    Follower {
        leader: Option<ProcessId>,
    },
    /// Collects promises, and for each slot the proposal accepted with the highest ballot among them.
    Preparing {
        ballot: Ballot,
        promises: ProcessSet,
        highest: SortedMap<Slot, Proposal>,
    },
    /// Has proposed commands for some slots and counts the acceptors of those that are not decided.
    Leading {
        ballot: Ballot,
        next_slot: Slot,
        open: SortedMap<Slot, Open>,
    },
}

/// A slot that is not decided yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Open {
    command: Option<Value>,
    acceptors: ProcessSet,
}

/// The messages of the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Phase 1: asks for the promise not to take part in lower ballots. The sender has applied this many slots.
    Prepare(Ballot, Slot),
    /// The promise, with the proposals that the sender has accepted in later slots.
    Promise(Ballot, Vec<(Slot, Proposal)>),
    /// Phase 2: asks to accept the command for a slot.
    Accept(Slot, Proposal),
    /// The sender has accepted the command of this ballot for the slot.
    Accepted(Ballot, Slot),
    /// The sender has promised this higher ballot.
    Refused(Ballot),
    /// The command of a slot is decided.
    Decided(Slot, Option<Value>),
    /// The owner of the ballot leads, and has applied this many slots.
    Heartbeat(Ballot, Slot),
    /// The sender has applied this many slots, fewer than the leader.
    Behind(Slot),
    /// A command of the sender's client, for the leader.
    Forward(Value),
}

/// The timers of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Timer {
    /// No leader was heard of for a timeout.
    Election,
    /// The leader has to send a heartbeat, and to repeat what was not answered.
    Heartbeat,
}

impl MultiPaxos {
    pub(super) fn new(n: usize, id: ProcessId, timeouts: Timeouts) -> Self {
        Self {
            id,
            n,
            timeouts,
            promised: 0,
            accepted: SortedMap::new(),
            decided: SortedMap::new(),
            applied: 0,
            performed: SortedSet::new(),
            role: Role::Follower { leader: None },
            pending: Vec::new(),
        }
    }

    fn majority(&self) -> usize {
        self.n / 2 + 1
    }

    fn owner(&self, ballot: Ballot) -> ProcessId {
        ProcessId::from_index((ballot % self.n as u64) as usize)
    }

    /// The lowest ballot of this process above all that it knows of.
    fn next_ballot(&self) -> Ballot {
        (self.promised / self.n as u64 + 1) * self.n as u64 + self.id.index() as u64
    }

    fn wait_for_leader(&self, out: &mut Effects<Self>) {
        let timeout = self.timeouts.election(self.id, self.promised / self.n as u64);
        out.set_timer(Timer::Election, timeout);
    }

    /// Promises a ballot, unless a higher one was promised. A lower ballot of its own is abandoned.
    fn promise(&mut self, ballot: Ballot, out: &mut Effects<Self>) -> bool {
        if ballot > self.promised {
            self.promised = ballot;
            if !matches!(self.role, Role::Follower { .. }) {
                out.cancel_timer(Timer::Heartbeat);
                self.wait_for_leader(out);
            }
            self.role = Role::Follower { leader: None };
            out.output(Output::Follows { term: ballot });
        }
        ballot == self.promised
    }

    /// Phase 1, for all slots at once.
    fn prepare(&mut self, out: &mut Effects<Self>) {
        let ballot = self.next_ballot();
        self.promise(ballot, out);
        let promises = ProcessSet::from_iter([self.id]);
        let highest = self.accepted_after(self.applied).into_iter().collect();
        self.role = Role::Preparing { ballot, promises, highest };
        out.send_to_others(Message::Prepare(ballot, self.applied));
        out.set_timer(Timer::Heartbeat, self.timeouts.heartbeat());
        self.wait_for_leader(out);
        self.lead_if_promised(out);
    }

    /// The accepted proposals of the slots after this one.
    fn accepted_after(&self, slot: Slot) -> Vec<(Slot, Proposal)> {
        let later = self.accepted.iter().filter(|(own, _)| **own > slot);
        later.map(|(slot, proposal)| (*slot, *proposal)).collect()
    }

    fn on_promise(
        &mut self,
        from: ProcessId,
        of: Ballot,
        accepted: Vec<(Slot, Proposal)>,
        out: &mut Effects<Self>,
    ) {
        match &mut self.role {
            Role::Preparing { ballot, promises, highest } if *ballot == of => {
                promises.insert(from);
                for (slot, proposal) in accepted {
                    let known = highest.entry(slot).or_insert_with(|| proposal);
                    if known.ballot < proposal.ballot {
                        *known = proposal;
                    }
                }
                self.lead_if_promised(out);
            }
            _ => out.ignored("a promise that is not needed"),
        }
    }

    /// A majority has promised: every command that may be decided is proposed again, and gaps are filled with no-ops.
    fn lead_if_promised(&mut self, out: &mut Effects<Self>) {
        let Role::Preparing { ballot, promises, highest } = &self.role else { return };
        if promises.len() < self.majority() {
            return;
        }
        let (ballot, highest) = (*ballot, highest.clone());
        let last = highest.keys().copied().max().unwrap_or(0).max(self.applied);
        self.role = Role::Leading { ballot, next_slot: self.applied + 1, open: SortedMap::new() };
        out.output(Output::Leads { term: ballot });
        out.cancel_timer(Timer::Election);
        for slot in self.applied + 1..=last {
            let command = highest.get(&slot).and_then(|proposal| proposal.command);
            self.propose(command, out);
        }
        for command in self.pending.clone() {
            self.propose_once(command, out);
        }
        self.beat(out);
    }

    /// Proposes a client's command unless it is decided or proposed already.
    fn propose_once(&mut self, command: Value, out: &mut Effects<Self>) {
        let Role::Leading { open, .. } = &self.role else { return };
        let known = self.decided.values().chain(open.values().map(|open| &open.command));
        if !{ known }.any(|known| *known == Some(command)) {
            self.propose(Some(command), out);
        }
    }

    /// Phase 2 for the next slot.
    fn propose(&mut self, command: Option<Value>, out: &mut Effects<Self>) {
        let Role::Leading { ballot, next_slot, open } = &mut self.role else { return };
        let (slot, proposal) = (*next_slot, Proposal { ballot: *ballot, command });
        *next_slot += 1;
        open.insert(slot, Open { command, acceptors: ProcessSet::from_iter([self.id]) });
        self.accepted.insert(slot, proposal);
        out.send_to_others(Message::Accept(slot, proposal));
        self.decide_if_accepted(slot, out);
    }

    fn on_accepted(&mut self, from: ProcessId, of: Ballot, slot: Slot, out: &mut Effects<Self>) {
        match &mut self.role {
            Role::Leading { ballot, open, .. } if *ballot == of => {
                if let Some(open) = open.get_mut(&slot) {
                    open.acceptors.insert(from);
                }
                self.decide_if_accepted(slot, out);
            }
            _ => out.ignored("an acceptance that is not needed"),
        }
    }

    fn decide_if_accepted(&mut self, slot: Slot, out: &mut Effects<Self>) {
        let majority = self.majority();
        let Role::Leading { open, .. } = &mut self.role else { return };
        if open.get(&slot).is_none_or(|open| open.acceptors.len() < majority) {
            return;
        }
        let Some(Open { command, .. }) = open.remove(&slot) else { return };
        out.send_to_others(Message::Decided(slot, command));
        self.decide(slot, command, out);
    }

    /// Learns a decision, and applies all slots up to the first one that is not decided.
    fn decide(&mut self, slot: Slot, command: Option<Value>, out: &mut Effects<Self>) {
        self.decided.insert(slot, command);
        while let Some(command) = self.decided.get(&(self.applied + 1)).copied() {
            self.applied += 1;
            let command = command.filter(|command| self.performed.insert(*command));
            self.pending.retain(|pending| Some(*pending) != command);
            out.output(Output::Applied { index: self.applied, command });
        }
    }

    /// The leader is alive. Messages that were not answered are repeated, because they may be lost.
    fn beat(&self, out: &mut Effects<Self>) {
        if let Role::Leading { ballot, .. } = self.role {
            out.send_to_others(Message::Heartbeat(ballot, self.applied));
        }
        out.set_timer(Timer::Heartbeat, self.timeouts.heartbeat());
    }

    fn repeat(&self, out: &mut Effects<Self>) {
        match &self.role {
            Role::Follower { .. } => {}
            Role::Preparing { ballot, promises, .. } => {
                let silent = &ProcessSet::all(self.n) - promises;
                out.multicast(silent, Message::Prepare(*ballot, self.applied));
            }
            Role::Leading { ballot, open, .. } => {
                for (slot, Open { command, acceptors }) in open.iter() {
                    let proposal = Proposal { ballot: *ballot, command: *command };
                    let silent = &ProcessSet::all(self.n) - acceptors;
                    out.multicast(silent, Message::Accept(*slot, proposal));
                }
            }
        }
    }

    /// A message of the owner of a ballot. Returns whether this process follows it.
    fn follow(&mut self, from: ProcessId, ballot: Ballot, out: &mut Effects<Self>) -> bool {
        if from != self.owner(ballot) || !self.promise(ballot, out) {
            out.send(from, Message::Refused(self.promised));
            return false;
        }
        self.role = Role::Follower { leader: Some(from) };
        self.wait_for_leader(out);
        true
    }

    fn on_heartbeat(
        &mut self,
        from: ProcessId,
        ballot: Ballot,
        applied: Slot,
        out: &mut Effects<Self>,
    ) {
        if !self.follow(from, ballot, out) {
            return;
        }
        if self.applied < applied {
            out.send(from, Message::Behind(self.applied));
        }
        for command in &self.pending {
            out.send(from, Message::Forward(*command));
        }
    }

    fn catch_up(&self, from: ProcessId, applied: Slot, out: &mut Effects<Self>) {
        let later = self.decided.iter().filter(|(slot, _)| **slot > applied);
        for (slot, command) in later.take(CATCH_UP_MOST) {
            out.send(from, Message::Decided(*slot, *command));
        }
    }
}

impl Process for MultiPaxos {
    type Command = Command;
    type Message = Message;
    type Timer = Timer;
    type Output = Output;
    type Misuse = Misuse;

    fn on_start(&mut self, out: &mut Effects<Self>) {
        self.wait_for_leader(out);
    }

    fn on_command(
        &mut self,
        Command::Submit(command): Command,
        out: &mut Effects<Self>,
    ) -> Result<(), Misuse> {
        if self.pending.contains(&command) {
            return Err(Misuse::AlreadySubmitted);
        }
        self.pending.push(command);
        match self.role {
            Role::Leading { .. } => self.propose_once(command, out),
            Role::Follower { leader: Some(leader) } => {
                out.send(leader, Message::Forward(command));
            }
            _ => {}
        }
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        match message {
            Message::Prepare(ballot, applied) => {
                if self.follow(from, ballot, out) {
                    let accepted = self.accepted_after(applied);
                    out.send(from, Message::Promise(ballot, accepted));
                }
            }
            Message::Promise(ballot, accepted) => self.on_promise(from, ballot, accepted, out),
            Message::Accept(slot, proposal) => {
                if self.follow(from, proposal.ballot, out) {
                    self.accepted.insert(slot, proposal);
                    out.send(from, Message::Accepted(proposal.ballot, slot));
                }
            }
            Message::Accepted(ballot, slot) => self.on_accepted(from, ballot, slot, out),
            Message::Refused(ballot) if ballot > self.promised => {
                self.promise(ballot, out);
            }
            Message::Refused(_) => out.ignored("a ballot that is known"),
            Message::Decided(slot, command) => {
                if let Role::Leading { open, .. } = &mut self.role {
                    open.remove(&slot);
                }
                self.decide(slot, command, out);
            }
            Message::Heartbeat(ballot, applied) => self.on_heartbeat(from, ballot, applied, out),
            Message::Behind(applied) => self.catch_up(from, applied, out),
            Message::Forward(command) => self.propose_once(command, out),
        }
    }

    fn on_timer(&mut self, timer: Timer, out: &mut Effects<Self>) {
        match (timer, &self.role) {
            (Timer::Election, Role::Leading { .. }) => out.ignored("a leader waits for no other"),
            (Timer::Election, _) => self.prepare(out),
            (Timer::Heartbeat, Role::Follower { .. }) => {
                out.ignored("only leaders send heartbeats");
            }
            (Timer::Heartbeat, _) => {
                self.repeat(out);
                self.beat(out);
            }
        }
    }

    /// The role of a leader ends with a crash, because its successor may have changed slots meanwhile.
    fn on_recovery(&mut self, out: &mut Effects<Self>) {
        if matches!(self.role, Role::Leading { .. }) {
            out.output(Output::Follows { term: self.promised });
        }
        self.role = Role::Follower { leader: None };
        self.wait_for_leader(out);
    }

    fn waits_for(&self) -> ProcessSet {
        match &self.role {
            Role::Follower { leader: Some(leader) } if !self.pending.is_empty() => {
                ProcessSet::from_iter([*leader])
            }
            // It waits for a majority of these.
            Role::Preparing { promises, .. } => &ProcessSet::all(self.n) - promises,
            _ => ProcessSet::new(),
        }
    }
}

impl quorate_core::Message for Message {
    const KINDS: &'static [Kind] = &[
        Kind::replication("PREPARE"),
        Kind::replication("PROMISE"),
        Kind::replication("ACCEPT"),
        Kind::replication("ACCEPTED"),
        Kind::replication("REFUSED"),
        Kind::replication("DECIDED"),
        Kind::replication("HEARTBEAT"),
        Kind::replication("BEHIND"),
        Kind::replication("FORWARD"),
    ];

    fn kind(&self) -> usize {
        match self {
            Self::Prepare(..) => 0,
            Self::Promise(..) => 1,
            Self::Accept(..) => 2,
            Self::Accepted(..) => 3,
            Self::Refused(_) => 4,
            Self::Decided(..) => 5,
            Self::Heartbeat(..) => 6,
            Self::Behind(_) => 7,
            Self::Forward(_) => 8,
        }
    }

    fn bytes(&self) -> Option<u64> {
        let command = |command: &Option<Value>| 1 + 8 * u64::from(command.is_some());
        Some(match self {
            Self::Prepare(..) | Self::Accepted(..) | Self::Heartbeat(..) => 17,
            Self::Promise(_, accepted) => {
                let proposal = |(_, it): &(Slot, Proposal)| 16 + command(&it.command);
                17 + accepted.iter().map(proposal).sum::<u64>()
            }
            Self::Accept(_, proposal) => 17 + command(&proposal.command),
            Self::Decided(_, decided) => 9 + command(decided),
            Self::Refused(_) | Self::Behind(_) | Self::Forward(_) => 9,
        })
    }

    /// A lying process changes commands, or conceals the proposals that it has accepted.
    fn forged(&self, choice: u64) -> Self {
        let lie = |command: Option<Value>| Value::forged_or_none(command, choice);
        match self.clone() {
            Self::Promise(ballot, _) if choice & 1 == 1 => Self::Promise(ballot, Vec::new()),
            Self::Accept(slot, Proposal { ballot, command }) => {
                Self::Accept(slot, Proposal { ballot, command: lie(command) })
            }
            Self::Decided(slot, command) => Self::Decided(slot, lie(command)),
            Self::Forward(command) => Self::Forward(command.forged(choice)),
            other => other,
        }
    }
}

impl Algorithm for MultiPaxos {
    const PROFILE: Profile = Profile {
        name: "multi-paxos",
        layer: Layer::Replication,
        summary: "a leader prepares its ballot once for all slots, and has each command accepted by a majority",
        source: "Lamport, SIGACT News 32(4), 2001; van Renesse and Altinbuken, ACM Computing Surveys 47(3), 2015",
        specimen: None,
        assumes: &[
            Assumption::FewCrashes,
            Assumption::LessThanAHalf,
            Assumption::Memory,
            Assumption::EventualSynchrony,
            Assumption::Honesty,
        ],
        guarantees: &[
            Property::ElectionSafety,
            Property::StateMachineSafety,
            Property::CommandIntegrity,
            Property::CommandLiveness,
        ],
        cost: "3(n - 1) messages per command, and one more if another process than the leader gets it; heartbeats",
        never_quiescent: true,
    };

    fn tolerates(n: usize) -> Option<usize> {
        Some((n - 1) / 2)
    }

    /// In a search only a limited number of timers expire, so that commands need not be applied.
    fn profile(setup: &Setup) -> Profile {
        let safety =
            &[Property::ElectionSafety, Property::StateMachineSafety, Property::CommandIntegrity];
        match setup.rounds {
            Some(_) => Profile { guarantees: safety, ..Self::PROFILE },
            None => Self::PROFILE,
        }
    }

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(setup.n, id, Timeouts::new(setup.delay_bounds.bound, setup.seed))
    }

    fn cost(setup: &Setup) -> Cost {
        let others = setup.n as u64 - 1;
        Cost::between("3(n - 1)", 3 * others, 3 * others + 1)
            .with_delays(2..=4, 0..=0)
            .without_delays_if_single(setup.n)
    }
}

impl Sound for MultiPaxos {}

#[cfg(test)]
mod tests {
    use super::super::common::cluster::Cluster;
    use super::*;
    use quorate_core::Span;

    fn cluster(n: usize) -> Cluster<MultiPaxos> {
        let timeouts = Timeouts::new(Span::from_millis(1), 0);
        Cluster::new(ProcessId::all(n).map(|id| MultiPaxos::new(n, id, timeouts)).collect())
    }

    fn elect(cluster: &mut Cluster<MultiPaxos>, process: usize) {
        cluster.expire(process, Timer::Election);
        cluster.deliver();
    }

    #[test]
    fn a_leader_prepares_once_and_has_each_command_accepted() {
        let mut three = cluster(3);
        three.submit(1, 7);
        elect(&mut three, 0);
        three.submit(0, 8);
        three.submit(2, 9);
        three.deliver();
        for process in 0..3 {
            let mut applied = three.applied(process);
            applied.sort_unstable();
            assert_eq!(applied, [7, 8, 9], "p{process}");
        }
        assert_eq!(three.led(0), [3], "the first ballot of p0 among three");
    }

    #[test]
    fn a_new_leader_adopts_what_may_be_decided() {
        let mut three = cluster(3);
        elect(&mut three, 0);
        three.submit(0, 7);
        // p1 accepts the command, and no process learns of the decision.
        three.isolate(&[2]);
        three.deliver_first(1);
        three.isolate(&[0]);
        three.deliver();
        three.submit(2, 8);
        elect(&mut three, 2);
        assert_eq!(three.applied(2), [7, 8]);
        assert_eq!(three.applied(1), [7, 8]);
    }

    #[test]
    fn a_lower_ballot_is_refused() {
        let mut three = cluster(3);
        elect(&mut three, 2);
        three.isolate(&[2]);
        elect(&mut three, 1);
        three.submit(2, 7);
        three.isolate(&[]);
        three.deliver();
        assert_eq!(three.applied(0), [] as [u64; 0], "a majority has promised the ballot of p1");
        three.expire(2, Timer::Heartbeat);
        three.deliver();
        three.expire(1, Timer::Heartbeat);
        three.deliver();
        assert_eq!(three.applied(0), [7], "p2 has sent it to p1");
    }

    #[test]
    fn of_two_accepted_commands_that_of_the_higher_ballot_is_proposed() {
        for order in [[1, 2], [2, 1]] {
            let mut five = cluster(5);
            five.expire(0, Timer::Election);
            let leader = &mut five.replicas[0];
            let Role::Preparing { ballot, .. } = leader.role else { panic!("{leader:?}") };
            let mut out = Effects::default();
            for number in order {
                let proposal = Proposal { ballot: number, command: Some(Value(number)) };
                let promise = Message::Promise(ballot, [(1, proposal)].into());
                leader.on_message(ProcessId::new(number as u32), promise, &mut out);
            }
            let Role::Leading { open, .. } = &leader.role else { panic!("{leader:?}") };
            assert_eq!(open.get(&1).and_then(|open| open.command), Some(Value(2)), "{order:?}");
        }
    }

    #[test]
    fn a_command_that_is_decided_twice_is_applied_once() {
        let mut one = cluster(1);
        elect(&mut one, 0);
        let mut out = Effects::default();
        for slot in [1, 2] {
            one.replicas[0].decide(slot, Some(Value(7)), &mut out);
        }
        let applied = |index, command| Output::Applied { index, command };
        let outputs: Vec<Output> = out
            .into_iter()
            .filter_map(|effect| match effect {
                quorate_core::Effect::Output(output) => Some(output),
                _ => None,
            })
            .collect();
        assert_eq!(outputs, [applied(1, Some(Value(7))), applied(2, None)]);
    }
}
