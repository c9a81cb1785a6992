//! Practical Byzantine fault tolerance: a primary orders requests, and quorums of replicas certify the order in two phases.
//!
//! - **Source**: Castro and Liskov, "Practical Byzantine Fault Tolerance", OSDI 1999: the normal case (section 4.2) and
//!   view changes (section 4.4).
//! - **Assumes**: fewer than a third of the processes lie or crash, n > 3f, and crashed processes do not recover; links that lose
//!   nothing. They may duplicate and reorder. Signatures cannot be forged. For liveness, delays are bounded from some time on.
//! - **Guarantees**: state machine safety, election safety (one primary per view) and integrity of the loyal regardless of timing;
//!   liveness once delays are bounded.
//! - **Costs**: (n - 1)(3n + 1) messages per command if no process is faulty: n - 1 REQUEST and PRE-PREPARE each, (n - 1)(n - 1)
//!   PREPARE, n(n - 1) COMMIT and REPLY each; four message delays until a process applies it, three for commands of the primary.
//! - **Departs from the paper**: no checkpoints, so that logs and VIEW-CHANGE messages grow. Each replica is the client of its own
//!   user and sends its requests to all replicas at once; in the paper a client does so after a timeout. Replies go to all
//!   replicas, and a replica that lacks a request applies it after f + 1 equal replies; in the paper it obtains a checkpoint. A
//!   replica relays its open requests to each new primary. Requests stand for their digests. Signatures are modelled and not
//!   computed: a liar changes only what it signs itself (`forge`), and the certificates that it passes on are genuine. A
//!   NEW-VIEW message has the VIEW-CHANGE messages alone, from which each replica computes the same pre-prepares. A timeout
//!   grows by a constant with each view instead of doubling. With n > 3f + 1 quorums have more than (n + f)/2 members.
//!
//! ```text
//!   PRE-PREPARE by the primary --> PREPARE by all others --a quorum--> prepared, COMMIT by all --a quorum--> applied, REPLY
//!   an open request for too long, or f + 1 VIEW-CHANGE --> VIEW-CHANGE v + 1 --a quorum, by its primary--> NEW-VIEW v + 1
//! ```
//!
//! Safety argument: two quorums share a loyal replica, which prepares one request per view and number. If a request is applied,
//! a quorum has prepared it, so that every quorum of VIEW-CHANGE messages contains it and the next primary has to propose it again.

#[cfg(test)]
mod tests;

use alloc::vec::Vec;

use quorate_core::agreement::Value;
use quorate_core::replication::{Command, Misuse, Output};
use quorate_core::{
    Assumption, Cost, Effects, Kind, Layer, Process, ProcessId, ProcessSet, Profile, Property,
    SortedMap, SortedSet, UNCONDITIONAL_LIE,
};

use super::common::Timeouts;
use crate::{Algorithm, Setup, Sound};

/// A request of a client, signed by the replica that it uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Request {
    origin: ProcessId,
    value: Value,
}

/// A request at a sequence number. `None` is the null request, which fills a gap.
type Operation = Option<Request>;

/// The number of a view, whose primary is process v mod n.
type View = u64;

/// The position of a request in the order, from 1 on.
type Sequence = u64;

/// A certificate: a quorum has signed that this operation has the number in the view.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Certificate {
    view: View,
    operation: Operation,
    signers: Vec<ProcessId>,
}

/// The statement of a replica that it has left all earlier views, with its certificates by number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ViewChange {
    view: View,
    by: ProcessId,
    prepared: Vec<(Sequence, Certificate)>,
}

/// One replica of the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pbft {
    id: ProcessId,
    n: usize,
    f: usize,
    timeouts: Timeouts,
    view: View,
    /// Whether the view has begun. Otherwise the replica waits for NEW-VIEW.
    active: bool,
    /// Primary: the last number that it has assigned.
    assigned: Sequence,
    /// Requests that are not applied yet.
    open: Vec<Request>,
    rounds: SortedMap<(View, Sequence), Round>,
    /// Pre-prepares of views that have not begun.
    early: Vec<(View, Sequence, Operation)>,
    /// The certificate of the latest view for each number.
    prepared: SortedMap<Sequence, Certificate>,
    committed: SortedMap<Sequence, Operation>,
    replies: SortedMap<(Sequence, Operation), ProcessSet>,
    applied: Sequence,
    performed: SortedSet<Value>,
    changes: SortedMap<(View, ProcessId), ViewChange>,
    timer_runs: bool,
}

/// The votes for one number in one view.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Round {
    /// The operation of the accepted pre-prepare.
    proposed: Option<Operation>,
    prepares: SortedMap<Operation, ProcessSet>,
    commits: SortedMap<Operation, ProcessSet>,
    is_prepared: bool,
}

/// The messages of the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// A request of a client, from its replica or relayed.
    Request(Request),
    /// The primary assigns a number to an operation.
    PrePrepare(View, Sequence, Operation),
    /// The sender has accepted the assignment.
    Prepare(View, Sequence, Operation),
    /// The sender has a certificate for the assignment.
    Commit(View, Sequence, Operation),
    /// The sender has applied the operation.
    Reply(Sequence, Operation),
    /// The sender has left all earlier views.
    ViewChange(ViewChange),
    /// The primary begins the view, which a quorum has asked for.
    NewView(View, Vec<ViewChange>),
}

/// The timer of a replica: a request is open for too long, or a view does not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Patience;

impl Pbft {
    pub(super) fn new(n: usize, id: ProcessId, f: usize, timeouts: Timeouts) -> Self {
        Self {
            id,
            n,
            f,
            timeouts,
            view: 0,
            active: true,
            assigned: 0,
            open: Vec::new(),
            rounds: SortedMap::new(),
            early: Vec::new(),
            prepared: SortedMap::new(),
            committed: SortedMap::new(),
            replies: SortedMap::new(),
            applied: 0,
            performed: SortedSet::new(),
            changes: SortedMap::new(),
            timer_runs: false,
        }
    }

    fn primary(&self, view: View) -> ProcessId {
        ProcessId::from_index((view % self.n as u64) as usize)
    }

    fn is_primary(&self) -> bool {
        self.active && self.primary(self.view) == self.id
    }

    /// Any two quorums share f + 1 replicas, of which one is loyal: 2f + 1 of 3f + 1.
    fn quorum(&self) -> usize {
        (self.n + self.f) / 2 + 1
    }

    fn start_timer(&mut self, out: &mut Effects<Self>) {
        self.timer_runs = true;
        out.set_timer(Patience, self.timeouts.view(self.view));
    }

    fn stop_timer(&mut self, out: &mut Effects<Self>) {
        self.timer_runs = false;
        out.cancel_timer(Patience);
    }

    fn on_request(&mut self, request: Request, out: &mut Effects<Self>) {
        if self.performed.contains(&request.value) || self.open.contains(&request) {
            return out.ignored("a request that is known");
        }
        self.open.push(request);
        if self.active && !self.timer_runs {
            self.start_timer(out);
        }
        self.assign(request, out);
    }

    /// Primary: assigns the next number, unless the request has one in this view.
    fn assign(&mut self, request: Request, out: &mut Effects<Self>) {
        let has_it = |(key, round): (&(View, Sequence), &Round)| {
            key.0 == self.view && round.proposed == Some(Some(request))
        };
        if !self.is_primary() || self.rounds.iter().any(has_it) {
            return;
        }
        self.assigned += 1;
        let (view, sequence) = (self.view, self.assigned);
        self.rounds.entry((view, sequence)).or_default().proposed = Some(Some(request));
        out.send_to_others(Message::PrePrepare(view, sequence, Some(request)));
        self.advance(view, sequence, out);
    }

    fn on_pre_prepare(
        &mut self,
        from: ProcessId,
        (view, sequence): (View, Sequence),
        operation: Operation,
        out: &mut Effects<Self>,
    ) {
        if from != self.primary(view) || view < self.view || sequence == 0 {
            return out.ignored("a pre-prepare that is not in order");
        }
        if view > self.view || !self.active {
            return self.early.push((view, sequence, operation));
        }
        self.accept(sequence, operation, out);
    }

    /// Backup: accepts the first operation that the primary of this view proposes for a number.
    fn accept(&mut self, sequence: Sequence, operation: Operation, out: &mut Effects<Self>) {
        let view = self.view;
        let round = self.rounds.entry((view, sequence)).or_default();
        if round.proposed.is_some() {
            return out.ignored("a number that is assigned");
        }
        round.proposed = Some(operation);
        round.prepares.entry(operation).or_default().insert(self.id);
        out.send_to_others(Message::Prepare(view, sequence, operation));
        self.advance(view, sequence, out);
    }

    /// Draws the conclusions from the votes for a number.
    fn advance(&mut self, view: View, sequence: Sequence, out: &mut Effects<Self>) {
        let (quorum, primary, id) = (self.quorum(), self.primary(view), self.id);
        let is_current = self.active && view == self.view;
        let round = self.rounds.entry((view, sequence)).or_default();
        if let Some(operation) = round.proposed.filter(|_| is_current && !round.is_prepared) {
            // The pre-prepare counts as the vote of the primary.
            let mut signers = round.prepares.get(&operation).cloned().unwrap_or_default();
            signers.insert(primary);
            if signers.len() >= quorum {
                round.is_prepared = true;
                round.prepares.clear();
                round.commits.entry(operation).or_default().insert(id);
                let signers = signers.iter().collect();
                let certificate = Certificate { view, operation, signers };
                self.prepared.insert(sequence, certificate);
                out.send_to_others(Message::Commit(view, sequence, operation));
            }
        }
        let round = self.rounds.entry((view, sequence)).or_default();
        let committed = round.commits.iter().find(|(_, by)| by.len() >= quorum);
        if let Some(operation) = committed.map(|(operation, _)| *operation) {
            self.commit(sequence, operation, out);
        }
    }

    /// Learns that an operation is committed, and applies all up to the first one that is not.
    fn commit(&mut self, sequence: Sequence, operation: Operation, out: &mut Effects<Self>) {
        self.committed.entry(sequence).or_insert_with(|| operation);
        // Votes for what is known are not needed any more.
        self.rounds.retain(|(view, number), round| {
            if *number == sequence {
                round.commits.clear();
            }
            *view >= self.view || *number != sequence
        });
        self.replies.retain(|(number, _), _| *number != sequence);
        let before = self.applied;
        while let Some(operation) = self.committed.get(&(self.applied + 1)).copied() {
            self.applied += 1;
            let value = operation.map(|request| request.value);
            let command = value.filter(|value| self.performed.insert(*value));
            self.open.retain(|open| Some(open.value) != value);
            out.output(Output::Applied { index: self.applied, command });
            out.send_to_others(Message::Reply(self.applied, operation));
        }
        if self.active && self.applied > before {
            match self.open.is_empty() {
                true => self.stop_timer(out),
                false => self.start_timer(out),
            }
        }
    }

    /// One of f + 1 replicas is loyal, and has applied the operation because it is committed.
    fn on_reply(
        &mut self,
        from: ProcessId,
        sequence: Sequence,
        operation: Operation,
        out: &mut Effects<Self>,
    ) {
        if self.committed.contains_key(&sequence) {
            return out.ignored("a reply that is not needed");
        }
        let by = self.replies.entry((sequence, operation)).or_default();
        by.insert(from);
        if by.len() > self.f {
            self.commit(sequence, operation, out);
        }
    }

    /// Leaves all views before this one, and asks to begin it.
    fn change_view(&mut self, view: View, out: &mut Effects<Self>) {
        (self.view, self.active) = (view, false);
        self.stop_timer(out);
        out.output(Output::Follows { term: view });
        let certificates = self.prepared.iter();
        let prepared = certificates.map(|(number, it)| (*number, it.clone())).collect();
        let change = ViewChange { view, by: self.id, prepared };
        self.changes.insert((view, self.id), change.clone());
        out.send_to_others(Message::ViewChange(change));
        self.begin_if_asked(out);
    }

    fn on_view_change(&mut self, from: ProcessId, change: ViewChange, out: &mut Effects<Self>) {
        let quorum = self.quorum();
        let is_genuine = |(_, it): &(Sequence, Certificate)| it.signers.len() >= quorum;
        if change.by != from || !change.prepared.iter().all(is_genuine) {
            return out.ignored("a view change without signature");
        }
        self.changes.entry((change.view, from)).or_insert_with(|| change);
        // One of f + 1 replicas is loyal, and its timer has expired.
        let later = || self.changes.keys().filter(|(view, _)| *view > self.view);
        let asking: ProcessSet = later().map(|(_, by)| *by).collect();
        if asking.len() > self.f
            && let Some(view) = later().map(|(view, _)| *view).min()
        {
            return self.change_view(view, out);
        }
        self.begin_if_asked(out);
    }

    /// A quorum asks for the view: its primary begins it, and the others wait for that.
    fn begin_if_asked(&mut self, out: &mut Effects<Self>) {
        let asked = self.changes.iter().filter(|((view, _), _)| *view == self.view);
        let asked: Vec<ViewChange> = asked.map(|(_, change)| change.clone()).collect();
        if self.active || asked.len() < self.quorum() {
            return;
        }
        if self.primary(self.view) == self.id {
            out.send_to_others(Message::NewView(self.view, asked.clone()));
            self.begin(&asked, out);
        } else if !self.timer_runs {
            self.start_timer(out);
        }
    }

    fn on_new_view(
        &mut self,
        from: ProcessId,
        view: View,
        asked: &[ViewChange],
        out: &mut Effects<Self>,
    ) {
        let begun = view < self.view || (view == self.view && self.active);
        let by: ProcessSet = asked.iter().map(|change| change.by).collect();
        let is_asked = by.len() >= self.quorum() && asked.iter().all(|it| it.view == view);
        if from != self.primary(view) || begun || !is_asked {
            return out.ignored("a new view that is not in order");
        }
        self.view = view;
        self.begin(asked, out);
    }

    /// Begins the view: the operations with certificates are proposed again, and gaps are filled with null requests.
    fn begin(&mut self, asked: &[ViewChange], out: &mut Effects<Self>) {
        let view = self.view;
        (self.active, self.assigned) = (true, 0);
        self.stop_timer(out);
        let mut latest: SortedMap<Sequence, Certificate> = SortedMap::new();
        for (sequence, certificate) in asked.iter().flat_map(|change| &change.prepared) {
            let known = latest.entry(*sequence).or_insert_with(|| certificate.clone());
            if known.view < certificate.view {
                *known = certificate.clone();
            }
        }
        let last = latest.keys().copied().max().unwrap_or(0);
        self.assigned = last;
        let leads = self.is_primary();
        out.output(match leads {
            true => Output::Leads { term: view },
            false => Output::Follows { term: view },
        });
        for sequence in 1..=last {
            let operation = latest.get(&sequence).and_then(|certificate| certificate.operation);
            match leads {
                true => {
                    let round = self.rounds.entry((view, sequence)).or_default();
                    round.proposed = Some(operation);
                    self.advance(view, sequence, out);
                }
                false => self.accept(sequence, operation, out),
            }
        }
        let (early, later) =
            core::mem::take(&mut self.early).into_iter().partition(|(of, ..)| *of <= view);
        self.early = later;
        let early: Vec<(View, Sequence, Operation)> = early;
        for (_, sequence, operation) in early.into_iter().filter(|(of, ..)| *of == view) {
            self.accept(sequence, operation, out);
        }
        for request in self.open.clone() {
            match leads {
                true => self.assign(request, out),
                false => out.send(self.primary(view), Message::Request(request)),
            }
        }
        if !self.open.is_empty() {
            self.start_timer(out);
        }
    }

    /// The operation of which a liar tells: none, or a request that its own client has not made.
    fn lie(&self, operation: Operation, choice: u64) -> Operation {
        match choice {
            // Liars that present two worlds tell one half of null requests, and the other half the truth.
            UNCONDITIONAL_LIE.. if choice & 1 == 1 => None,
            UNCONDITIONAL_LIE.. => operation,
            _ if choice & 3 == 1 => {
                Some(self.made_up(operation.map_or(0, |it| it.value.0), choice))
            }
            _ if choice & 3 == 3 => None,
            _ => operation,
        }
    }

    /// A request of this replica's client with a value that no client submits.
    fn made_up(&self, value: u64, choice: u64) -> Request {
        let lie = (1 + (choice & 0xff)) << 32;
        Request { origin: self.id, value: Value(value & 0xffff_ffff | lie) }
    }
}

impl Process for Pbft {
    type Command = Command;
    type Message = Message;
    type Timer = Patience;
    type Output = Output;
    type Misuse = Misuse;

    fn on_start(&mut self, out: &mut Effects<Self>) {
        if self.is_primary() {
            out.output(Output::Leads { term: 0 });
        }
    }

    fn on_command(
        &mut self,
        Command::Submit(value): Command,
        out: &mut Effects<Self>,
    ) -> Result<(), Misuse> {
        let request = Request { origin: self.id, value };
        if self.open.contains(&request) {
            return Err(Misuse::AlreadySubmitted);
        }
        out.send_to_others(Message::Request(request));
        self.on_request(request, out);
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        match message {
            Message::Request(request) => self.on_request(request, out),
            Message::PrePrepare(view, sequence, operation) => {
                self.on_pre_prepare(from, (view, sequence), operation, out);
            }
            Message::Prepare(view, sequence, operation) => {
                let round = self.rounds.entry((view, sequence)).or_default();
                if view < self.view || round.is_prepared {
                    return out.ignored("a vote that is not needed");
                }
                round.prepares.entry(operation).or_default().insert(from);
                self.advance(view, sequence, out);
            }
            Message::Commit(view, sequence, operation) => {
                if self.committed.contains_key(&sequence) {
                    return out.ignored("a vote that is not needed");
                }
                let round = self.rounds.entry((view, sequence)).or_default();
                round.commits.entry(operation).or_default().insert(from);
                self.advance(view, sequence, out);
            }
            Message::Reply(sequence, operation) => self.on_reply(from, sequence, operation, out),
            Message::ViewChange(change) => self.on_view_change(from, change, out),
            Message::NewView(view, asked) => self.on_new_view(from, view, &asked, out),
        }
    }

    fn on_timer(&mut self, Patience: Patience, out: &mut Effects<Self>) {
        self.timer_runs = false;
        self.change_view(self.view + 1, out);
    }

    /// A liar changes what it signs itself. Requests and certificates of others stay as they are.
    fn forge(&self, message: &Message, choice: u64) -> Message {
        let conceals = choice & 1 == 1;
        let concealed = |change: &ViewChange| match conceals && change.by == self.id {
            true => ViewChange { prepared: Vec::new(), ..change.clone() },
            false => change.clone(),
        };
        match message {
            Message::Request(request) if request.origin == self.id && conceals => {
                Message::Request(self.made_up(request.value.0, choice))
            }
            Message::Request(request) => Message::Request(*request),
            Message::PrePrepare(view, sequence, operation) => {
                Message::PrePrepare(*view, *sequence, self.lie(*operation, choice))
            }
            Message::Prepare(view, sequence, operation) => {
                Message::Prepare(*view, *sequence, self.lie(*operation, choice))
            }
            Message::Commit(view, sequence, operation) => {
                Message::Commit(*view, *sequence, self.lie(*operation, choice))
            }
            Message::Reply(sequence, operation) => {
                Message::Reply(*sequence, self.lie(*operation, choice))
            }
            Message::ViewChange(change) => Message::ViewChange(concealed(change)),
            Message::NewView(view, asked) => {
                Message::NewView(*view, asked.iter().map(concealed).collect())
            }
        }
    }

    fn waits_for(&self) -> ProcessSet {
        match self.open.is_empty() {
            true => ProcessSet::new(),
            false => ProcessSet::from_iter([self.primary(self.view)]),
        }
    }
}

impl quorate_core::Message for Message {
    const KINDS: &'static [Kind] = &[
        Kind::replication("REQUEST"),
        Kind::replication("PRE-PREPARE"),
        Kind::replication("PREPARE"),
        Kind::replication("COMMIT"),
        Kind::replication("REPLY"),
        Kind::replication("VIEW-CHANGE"),
        Kind::replication("NEW-VIEW"),
    ];

    fn kind(&self) -> usize {
        match self {
            Self::Request(_) => 0,
            Self::PrePrepare(..) => 1,
            Self::Prepare(..) => 2,
            Self::Commit(..) => 3,
            Self::Reply(..) => 4,
            Self::ViewChange(_) => 5,
            Self::NewView(..) => 6,
        }
    }
}

impl Algorithm for Pbft {
    const PROFILE: Profile = Profile {
        name: "pbft",
        layer: Layer::Replication,
        summary: "a primary orders requests; quorums of two thirds prepare and commit them, and replace the primary",
        source: "Castro and Liskov, OSDI 1999",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::FewFaults,
            Assumption::LessThanAThird,
            Assumption::CrashStop,
            Assumption::EventualSynchrony,
        ],
        guarantees: GUARANTEES,
        cost: "(n - 1)(3n + 1) messages per command if no process is faulty",
        // Replicas that cannot apply a request change views forever.
        never_quiescent: true,
    };

    fn tolerates(n: usize) -> Option<usize> {
        Some((n - 1) / 3)
    }

    /// In a search only a limited number of timers expire, so that requests need not be applied.
    fn profile(setup: &Setup) -> Profile {
        match setup.rounds {
            Some(_) => Profile { guarantees: &GUARANTEES[..3], ..Self::PROFILE },
            None => Self::PROFILE,
        }
    }

    fn build(setup: &Setup, id: ProcessId) -> Self {
        let timeouts = Timeouts::new(setup.delay_bounds.bound, setup.seed);
        Self::new(setup.n, id, setup.tolerates, timeouts)
    }

    fn cost(setup: &Setup) -> Cost {
        let n = setup.n as u64;
        Cost::exact("(n - 1)(3n + 1)", (n - 1) * (3 * n + 1))
            .with_delays(3..=4, 0..=0)
            .without_delays_if_single(setup.n)
    }
}

/// The last one depends on timing.
const GUARANTEES: &[Property] = &[
    Property::ElectionSafety,
    Property::StateMachineSafety,
    Property::CommandIntegrity,
    Property::CommandLiveness,
];

impl Sound for Pbft {}
