//! Raft: a majority elects a leader for each term, and the leader replicates its log to the others.
//!
//! - **Source**: Ongaro and Ousterhout, "In Search of an Understandable Consensus Algorithm", USENIX ATC 2014: leader
//!   election and log replication (sections 5.1 to 5.4), and the no-op of section 8.
//! - **Assumes**: fewer than half of the processes crash, n > 2f; a process that recovers remembers its term, vote and log.
//!   Links may lose, duplicate and reorder messages. For liveness, delays are bounded from some time on.
//! - **Guarantees**: election safety, leader append-only, log matching, leader completeness, state machine safety and
//!   integrity regardless of timing; liveness once delays are bounded and losses end.
//! - **Costs**: 2(n - 1) messages per command at the leader: APPEND-ENTRIES and APPEND-REPLY, and one FORWARD from another
//!   process; two message delays until the leader applies it. The others apply it with the next message of the leader.
//!   Besides, 2(n - 1) messages per heartbeat and per election, and another FORWARD with each heartbeat that overtakes the entry.
//! - **Departs from the paper**: no snapshots, no membership changes and no reads. A message carries at most one entry, which the
//!   paper permits. A process that is not the leader keeps the commands of its client, sends them to the leader that it
//!   knows, and again with each heartbeat until they are in its log; in the paper the client finds the leader. A leader
//!   ignores a command that is in its log, so that none is applied twice. Election timeouts are functions of the seed, the
//!   process and the term instead of random, so that runs can be repeated. They grow with the term, because the bound on
//!   delays need not be known. A reply that refuses an entry tells the length of the log, so that a leader skips the
//!   entries that a follower lacks. The index of the last applied entry survives a crash, as that of a durable state machine.
//!
//! ```text
//!   Follower --no leader for an election timeout--> Candidate --votes of a majority--> Leader
//!      ^                                              |  ^                               |
//!      |                                              |  +- election timeout, new term   |
//!      +------- a leader of this term, or a later term-+---------- a later term ---------+
//! ```
//!
//! Safety argument: a majority has each committed entry of the leader's own term. A later leader needs the vote of one of its
//! members, which votes only for logs that are at least as up to date as its own. Entries of earlier terms are committed only
//! together with one of the leader's own term, because a majority that has such an entry does not yet protect it (figure 8).

use alloc::vec;
use alloc::vec::Vec;
use core::fmt::Debug;
use core::hash::Hash;
use core::marker::PhantomData;
use core::mem;

use quorate_core::agreement::Value;
use quorate_core::replication::{Command, Entry, Misuse, Output};
use quorate_core::{
    Assumption, Cost, Effects, Kind, Layer, Process, ProcessId, ProcessSet, Profile, Property,
};

use super::common::Timeouts;
use crate::{Algorithm, Setup, Sound};

/// One server of Raft.
pub type Raft = Server<OwnTerm>;

/// The rule by which a leader commits entries. The algorithm and its broken variant differ in it.
pub trait CommitRule: Clone + Eq + Hash + Debug + Send + Sync {
    /// The profile of the algorithm with this rule.
    const PROFILE: Profile;

    /// Whether a leader of term `current` may commit an entry of term `of` because a majority has it.
    fn commits(of: u64, current: u64) -> bool;
}

/// The rule of the paper: only entries of the leader's own term are committed by counting replicas.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OwnTerm;

/// A server, with the names of figure 2 of the paper.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Server<R> {
    id: ProcessId,
    n: usize,
    timeouts: Timeouts,
    current_term: u64,
    voted_for: Option<ProcessId>,
    /// The log. The entry with index 1 comes first.
    log: Vec<Entry>,
    /// Index of the last committed entry. All committed entries are applied at once.
    commit_index: u64,
    role: Role,
    /// Commands of this server's client that are not applied yet.
    pending: Vec<Value>,
    rule: PhantomData<R>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Role {
    Follower {
        leader: Option<ProcessId>,
    },
    Candidate {
        votes: ProcessSet,
    },
    /// By process: the index of the next entry to send, and the highest index known to be replicated.
    Leader {
        next_index: Vec<u64>,
        match_index: Vec<u64>,
    },
}

/// The messages of the protocol: the two remote procedure calls of the paper, their answers, and commands for the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// A candidate asks for a vote in a term. Its log ends with an entry of `last_term` at `last_index`.
    RequestVote {
        /// The term in which the candidate stands.
        term: u64,
        /// Index of the last entry of the candidate's log.
        last_index: u64,
        /// Term of that entry.
        last_term: u64,
    },
    /// The answer to a candidate.
    Vote {
        /// The present term of the voter.
        term: u64,
        /// Whether the candidate gets the vote.
        granted: bool,
    },
    /// A leader sends the entry after `prev_index`, or none as a heartbeat.
    AppendEntries {
        /// The term that the sender leads.
        term: u64,
        /// Index of the entry before the new one.
        prev_index: u64,
        /// Term of the entry before the new one.
        prev_term: u64,
        /// The new entry, if the follower lacks one.
        entry: Option<Entry>,
        /// The leader's commit index.
        commit: u64,
    },
    /// The follower's log matches the leader's up to `index`.
    Replicated {
        /// The present term of the follower.
        term: u64,
        /// Index of the last entry that is known to match.
        index: u64,
    },
    /// The follower has no entry of `prev_term` at `prev_index`, or is in a later term.
    Refused {
        /// The present term of the follower.
        term: u64,
        /// The index at which the logs differ.
        prev_index: u64,
        /// Number of entries in the follower's log.
        length: u64,
    },
    /// A command of the sender's client, for the leader.
    Forward(Value),
}

/// The timers of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Timer {
    /// No leader was heard of for an election timeout.
    Election,
    /// The leader has to send a heartbeat.
    Heartbeat,
}

impl<R: CommitRule> Server<R> {
    pub(super) fn new(n: usize, id: ProcessId, timeouts: Timeouts) -> Self {
        Self {
            id,
            n,
            timeouts,
            current_term: 0,
            voted_for: None,
            log: Vec::new(),
            commit_index: 0,
            role: Role::Follower { leader: None },
            pending: Vec::new(),
            rule: PhantomData,
        }
    }

    fn majority(&self) -> usize {
        self.n / 2 + 1
    }

    fn last_index(&self) -> u64 {
        self.log.len() as u64
    }

    /// The entry at an index, which starts with 1.
    fn entry(&self, index: u64) -> Option<Entry> {
        let position = usize::try_from(index.checked_sub(1)?).ok()?;
        self.log.get(position).copied()
    }

    /// The term of the entry at an index; 0 before the first entry.
    fn term_at(&self, index: u64) -> Option<u64> {
        if index == 0 { Some(0) } else { self.entry(index).map(|entry| entry.term) }
    }

    fn has(&self, command: Value) -> bool {
        self.log.iter().any(|entry| entry.command == Some(command))
    }

    fn wait_for_leader(&self, out: &mut Effects<Self>) {
        let timeout = self.timeouts.election(self.id, self.current_term);
        out.set_timer(Timer::Election, timeout);
    }

    /// All servers: a later term ends every role of the present one.
    fn observe_term(&mut self, term: u64, out: &mut Effects<Self>) {
        if term <= self.current_term {
            return;
        }
        (self.current_term, self.voted_for) = (term, None);
        self.follow(None, out);
        out.output(Output::Follows { term });
    }

    fn follow(&mut self, leader: Option<ProcessId>, out: &mut Effects<Self>) {
        if matches!(self.role, Role::Leader { .. }) {
            out.cancel_timer(Timer::Heartbeat);
            self.wait_for_leader(out);
        }
        self.role = Role::Follower { leader };
    }

    /// Candidates: start an election in the next term.
    fn stand(&mut self, out: &mut Effects<Self>) {
        self.current_term += 1;
        self.voted_for = Some(self.id);
        self.role = Role::Candidate { votes: ProcessSet::from_iter([self.id]) };
        out.output(Output::Follows { term: self.current_term });
        let (term, last_index) = (self.current_term, self.last_index());
        let last_term = self.term_at(last_index).unwrap_or(0);
        out.send_to_others(Message::RequestVote { term, last_index, last_term });
        self.wait_for_leader(out);
        self.lead_if_elected(out);
    }

    fn on_request_vote(
        &mut self,
        from: ProcessId,
        (term, last_index, last_term): (u64, u64, u64),
        out: &mut Effects<Self>,
    ) {
        let own_last = (self.term_at(self.last_index()).unwrap_or(0), self.last_index());
        let up_to_date = (last_term, last_index) >= own_last;
        let free = self.voted_for.is_none_or(|candidate| candidate == from);
        let granted = term == self.current_term && free && up_to_date;
        if granted {
            self.voted_for = Some(from);
            self.wait_for_leader(out);
        }
        out.send(from, Message::Vote { term: self.current_term, granted });
    }

    fn on_vote(&mut self, from: ProcessId, term: u64, granted: bool, out: &mut Effects<Self>) {
        match &mut self.role {
            Role::Candidate { votes } if term == self.current_term && granted => {
                votes.insert(from);
                self.lead_if_elected(out);
            }
            _ => out.ignored("a vote that is not needed"),
        }
    }

    /// Leaders: a majority has voted. The no-op lets the leader commit entries of earlier terms without a new command.
    fn lead_if_elected(&mut self, out: &mut Effects<Self>) {
        let Role::Candidate { votes } = &self.role else { return };
        if votes.len() < self.majority() {
            return;
        }
        let next = self.last_index() + 1;
        self.role = Role::Leader { next_index: vec![next; self.n], match_index: vec![0; self.n] };
        out.output(Output::Leads { term: self.current_term });
        out.cancel_timer(Timer::Election);
        out.set_timer(Timer::Heartbeat, self.timeouts.heartbeat());
        self.append(Entry { term: self.current_term, command: None }, out);
        for command in self.pending.clone() {
            self.append_command(command, out);
        }
        ProcessId::all(self.n).for_each(|other| self.replicate(other, out));
        self.commit_replicated(out);
    }

    fn append(&mut self, entry: Entry, out: &mut Effects<Self>) {
        self.log.push(entry);
        out.output(Output::Appended { index: self.last_index(), entry });
    }

    /// Leaders: appends a client's command unless the log has it. Returns whether it did.
    fn append_command(&mut self, command: Value, out: &mut Effects<Self>) -> bool {
        let is_new = !self.has(command);
        if is_new {
            let entry = Entry { term: self.current_term, command: Some(command) };
            self.append(entry, out);
        }
        is_new
    }

    /// Leaders: appends a command and sends it to the followers that lack nothing else. The others get it after the entries
    /// before it.
    fn propose(&mut self, command: Value, out: &mut Effects<Self>) {
        if !self.append_command(command, out) {
            return;
        }
        let Role::Leader { next_index, .. } = &self.role else { return };
        let last = self.last_index();
        let waiting: ProcessSet =
            ProcessId::all(self.n).filter(|other| next_index[other.index()] == last).collect();
        waiting.iter().for_each(|other| self.replicate(other, out));
        self.commit_replicated(out);
    }

    /// Leaders: sends the next entry to a follower, or a heartbeat if it lacks none.
    fn replicate(&self, to: ProcessId, out: &mut Effects<Self>) {
        let Role::Leader { next_index, .. } = &self.role else { return };
        if to == self.id {
            return;
        }
        let next = next_index[to.index()];
        let (prev_index, entry) = (next - 1, self.entry(next));
        let prev_term = self.term_at(prev_index).unwrap_or(0);
        let (term, commit) = (self.current_term, self.commit_index);
        out.send(to, Message::AppendEntries { term, prev_index, prev_term, entry, commit });
    }

    /// Followers: takes over the entry of a leader if the logs match before it.
    fn on_append_entries(
        &mut self,
        from: ProcessId,
        (prev_index, prev_term): (u64, u64),
        entry: Option<Entry>,
        commit: u64,
        out: &mut Effects<Self>,
    ) {
        self.follow(Some(from), out);
        self.wait_for_leader(out);
        let term = self.current_term;
        if self.term_at(prev_index) != Some(prev_term) {
            let length = self.last_index();
            return out.send(from, Message::Refused { term, prev_index, length });
        }
        let index = prev_index + u64::from(entry.is_some());
        if let Some(entry) = entry {
            self.take_over(index, entry, out);
        }
        out.send(from, Message::Replicated { term, index });
        self.commit_to(commit.min(index), out);
        if entry.is_none() {
            self.forward(out);
        }
    }

    /// Followers: an entry that conflicts with a new one is deleted together with all that follow it.
    fn take_over(&mut self, index: u64, entry: Entry, out: &mut Effects<Self>) {
        match self.term_at(index) {
            Some(term) if term == entry.term => return,
            Some(_) => {
                self.log.truncate(index as usize - 1);
                out.output(Output::Truncated { from: index });
            }
            None => {}
        }
        self.append(entry, out);
    }

    /// Sends the commands of the client to the leader, if it is known, until they are in the log.
    fn forward(&self, out: &mut Effects<Self>) {
        let Role::Follower { leader: Some(leader) } = self.role else { return };
        for command in self.pending.iter().filter(|command| !self.has(**command)) {
            out.send(leader, Message::Forward(*command));
        }
    }

    fn on_replicated(&mut self, from: ProcessId, index: u64, out: &mut Effects<Self>) {
        let last = self.last_index();
        let Role::Leader { next_index, match_index } = &mut self.role else {
            return out.ignored("an answer to a former leader");
        };
        let matched = &mut match_index[from.index()];
        if index > *matched {
            *matched = index.min(last);
        }
        let next = &mut next_index[from.index()];
        let is_news = index >= *next;
        *next = (*next).max(index.min(last) + 1);
        if is_news && *next <= last {
            self.replicate(from, out);
        }
        self.commit_replicated(out);
    }

    fn on_refused(
        &mut self,
        from: ProcessId,
        prev_index: u64,
        length: u64,
        out: &mut Effects<Self>,
    ) {
        let Role::Leader { next_index, match_index } = &mut self.role else {
            return out.ignored("an answer to a former leader");
        };
        let next = &mut next_index[from.index()];
        // An older refusal, which has been answered already.
        if prev_index + 1 != *next || prev_index <= match_index[from.index()] {
            return out.ignored("an answer that is out of date");
        }
        *next = prev_index.min(length + 1).max(1);
        self.replicate(from, out);
    }

    /// Leaders: commits the last entry that a majority has and that the rule admits, and all entries before it.
    fn commit_replicated(&mut self, out: &mut Effects<Self>) {
        let Role::Leader { match_index, .. } = &self.role else { return };
        let replicated = |index: u64| {
            let has_it =
                |other: &ProcessId| *other == self.id || match_index[other.index()] >= index;
            ProcessId::all(self.n).filter(has_it).count() >= self.majority()
        };
        let commits = |index: &u64| {
            let term = self.term_at(*index).unwrap_or(0);
            R::commits(term, self.current_term) && replicated(*index)
        };
        let uncommitted = self.commit_index + 1..=self.last_index();
        if let Some(index) = uncommitted.rev().find(commits) {
            self.commit_to(index, out);
        }
    }

    /// Applies all entries up to a commit index.
    fn commit_to(&mut self, index: u64, out: &mut Effects<Self>) {
        while self.commit_index < index.min(self.last_index()) {
            self.commit_index += 1;
            let command = self.entry(self.commit_index).and_then(|entry| entry.command);
            self.pending.retain(|pending| Some(*pending) != command);
            out.output(Output::Applied { index: self.commit_index, command });
        }
    }
}

impl<R: CommitRule> Process for Server<R> {
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
            Role::Leader { .. } => self.propose(command, out),
            Role::Follower { leader: Some(leader) } if !self.has(command) => {
                out.send(leader, Message::Forward(command));
            }
            _ => {}
        }
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        let term = match message {
            Message::RequestVote { term, .. }
            | Message::Vote { term, .. }
            | Message::AppendEntries { term, .. }
            | Message::Replicated { term, .. }
            | Message::Refused { term, .. } => term,
            Message::Forward(command) => {
                return match self.role {
                    Role::Leader { .. } => self.propose(command, out),
                    _ => out.ignored("a command for a former leader"),
                };
            }
        };
        self.observe_term(term, out);
        match message {
            Message::RequestVote { term, last_index, last_term } => {
                self.on_request_vote(from, (term, last_index, last_term), out);
            }
            Message::Vote { term, granted } => self.on_vote(from, term, granted, out),
            Message::AppendEntries { term, prev_index, .. } if term < self.current_term => {
                let (term, length) = (self.current_term, self.last_index());
                out.send(from, Message::Refused { term, prev_index, length });
            }
            Message::AppendEntries { prev_index, prev_term, entry, commit, .. } => {
                self.on_append_entries(from, (prev_index, prev_term), entry, commit, out);
            }
            _ if term < self.current_term => out.ignored("an answer of an earlier term"),
            Message::Replicated { index, .. } => self.on_replicated(from, index, out),
            Message::Refused { prev_index, length, .. } => {
                self.on_refused(from, prev_index, length, out);
            }
            Message::Forward(_) => {}
        }
    }

    fn on_timer(&mut self, timer: Timer, out: &mut Effects<Self>) {
        match (timer, &self.role) {
            (Timer::Election, Role::Leader { .. }) => out.ignored("a leader waits for no other"),
            (Timer::Election, _) => self.stand(out),
            (Timer::Heartbeat, Role::Leader { .. }) => {
                ProcessId::all(self.n).for_each(|other| self.replicate(other, out));
                out.set_timer(Timer::Heartbeat, self.timeouts.heartbeat());
            }
            (Timer::Heartbeat, _) => out.ignored("only leaders send heartbeats"),
        }
    }

    /// The role is not durable: a server restarts as a follower.
    fn on_recovery(&mut self, out: &mut Effects<Self>) {
        let role = mem::replace(&mut self.role, Role::Follower { leader: None });
        if matches!(role, Role::Leader { .. }) {
            out.output(Output::Follows { term: self.current_term });
        }
        self.wait_for_leader(out);
    }

    fn waits_for(&self) -> ProcessSet {
        match &self.role {
            Role::Follower { leader: Some(leader) } if !self.pending.is_empty() => {
                ProcessSet::from_iter([*leader])
            }
            // It waits for a majority of these.
            Role::Candidate { votes } => &ProcessSet::all(self.n) - votes,
            _ => ProcessSet::new(),
        }
    }
}

impl quorate_core::Message for Message {
    const KINDS: &'static [Kind] = &[
        Kind::replication("REQUEST-VOTE"),
        Kind::replication("VOTE"),
        Kind::replication("APPEND-ENTRIES"),
        Kind::replication("APPEND-REPLY"),
        Kind::replication("FORWARD"),
    ];

    fn kind(&self) -> usize {
        match self {
            Self::RequestVote { .. } => 0,
            Self::Vote { .. } => 1,
            Self::AppendEntries { .. } => 2,
            Self::Replicated { .. } | Self::Refused { .. } => 3,
            Self::Forward(_) => 4,
        }
    }

    fn bytes(&self) -> Option<u64> {
        Some(match self {
            Self::RequestVote { .. } => 25,
            Self::Vote { .. } => 10,
            Self::AppendEntries { entry: None, .. } => 34,
            Self::AppendEntries { entry: Some(_), .. } => 51,
            Self::Replicated { .. } => 18,
            Self::Refused { .. } => 26,
            Self::Forward(_) => 9,
        })
    }

    /// A lying process changes commands, and answers the opposite to candidates.
    fn forged(&self, choice: u64) -> Self {
        let lie = |command: Option<Value>| Value::forged_or_none(command, choice);
        match *self {
            Self::Vote { term, granted } => {
                Self::Vote { term, granted: granted ^ (choice & 1 == 1) }
            }
            Self::AppendEntries { term, prev_index, prev_term, entry, commit } => {
                let entry = entry.map(|entry| Entry { command: lie(entry.command), ..entry });
                Self::AppendEntries { term, prev_index, prev_term, entry, commit }
            }
            Self::Forward(command) => Self::Forward(command.forged(choice)),
            other => other,
        }
    }
}

impl<R: CommitRule> Algorithm for Server<R> {
    const PROFILE: Profile = R::PROFILE;

    fn tolerates(n: usize) -> Option<usize> {
        Some((n - 1) / 2)
    }

    /// In a search only a limited number of timers expire, so that commands need not be applied.
    fn profile(setup: &Setup) -> Profile {
        match setup.rounds {
            Some(_) => Profile { guarantees: SAFETY, ..Self::PROFILE },
            None => Self::PROFILE,
        }
    }

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(setup.n, id, Timeouts::new(setup.delay_bounds.bound, setup.seed))
    }

    fn cost(setup: &Setup) -> Cost {
        let others = setup.n as u64 - 1;
        Cost::between("2(n - 1)", 2 * others, 2 * others + 1)
            .with_delays(2..=3, 0..=0)
            .without_delays_if_single(setup.n)
    }
}

/// The assumptions of Raft.
pub(super) const ASSUMES: &[Assumption] = &[
    Assumption::FewCrashes,
    Assumption::LessThanAHalf,
    Assumption::Memory,
    Assumption::EventualSynchrony,
    Assumption::Honesty,
];

/// The properties that do not depend on timing.
const SAFETY: &[Property] = &[
    Property::ElectionSafety,
    Property::LeaderAppendOnly,
    Property::LogMatching,
    Property::LeaderCompleteness,
    Property::StateMachineSafety,
    Property::CommandIntegrity,
];

/// The properties of a replicated log with a strong leader.
pub(super) const GUARANTEES: &[Property] = &[
    Property::ElectionSafety,
    Property::LeaderAppendOnly,
    Property::LogMatching,
    Property::LeaderCompleteness,
    Property::StateMachineSafety,
    Property::CommandIntegrity,
    Property::CommandLiveness,
];

impl CommitRule for OwnTerm {
    const PROFILE: Profile = Profile {
        name: "raft",
        layer: Layer::Replication,
        summary: "a majority elects a leader for each term, which replicates its log and commits what a majority has",
        source: "Ongaro and Ousterhout, USENIX ATC 2014",
        specimen: None,
        assumes: ASSUMES,
        guarantees: GUARANTEES,
        cost: "2(n - 1) messages per command, and one more if another process than the leader gets it; heartbeats",
        never_quiescent: true,
    };

    fn commits(of: u64, current: u64) -> bool {
        of == current
    }
}

impl Sound for Raft {}

#[cfg(test)]
mod tests;
