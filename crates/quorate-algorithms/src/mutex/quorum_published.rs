//! The quorum mutex over the VCube as it was published: a specimen that hangs and lets two processes in.
//!
//! - **Source**: Lopes' monograph on a fault-tolerant quorum mutex over the VCube, Quadro 4.1.
//! - **Assumes**: fixed membership; links that neither lose nor duplicate and keep the order of messages; a perfect
//!   detector; crashed processes never recover.
//! - **Guarantees**: it claims ME1 and ME2 and violates both. ME2: a request that outranks the holder of a vote but not
//!   every other waiting one receives no answer, so it keeps its votes and never yields; Sanders found the same in
//!   Maekawa's algorithm. ME1: quorums of different views need not intersect, so a process that knows of crashes may
//!   enter while another process is inside that entered before them.
//! - **Costs**: 3K messages for a quorum of K, including the process itself, without contention.
//! - **Departs from the paper**: (1) The paper does not mention requests and votes of crashed processes that are still in
//!   transit, which we ignore. (2) Nor does it mention the case that no quorum is left: the process then cancels its
//!   request and reports this. (3) When the holder of its vote crashes, a voter of the paper drops all requests of processes
//!   outside its own quorum. Such a requester would never be answered, so we keep its request; `quorum-published-dropping`
//!   shows the rule as printed. (4) A voter asks a holder for its vote back once, and not again for each better
//!   request: the printed figures can be reproduced only so.

use core::convert::Infallible;
use core::fmt::Debug;
use core::hash::Hash;
use core::marker::PhantomData;

use quorate_core::mutex::{Command, Misuse, Output};
use quorate_core::quorum::{AnySystem, QuorumSystem};
use quorate_core::{
    Assumption, Belief, Cost, Effects, Kind, LamportClock, Layer, Message as CoreMessage,
    Permission, Process, ProcessId, ProcessSet, Profile, Property, SortedSet, Specimen, Stamp,
};

use super::quorum::VotingRules;
use super::quorum_majority::Majorities;
use crate::{Algorithm, Setup};

/// One process of the specimen.
pub type QuorumPublished = PublishedVoting<KeepsRequests>;

/// The handling of waiting requests at a voter when the holder of its vote crashes.
pub trait CrashRule: Clone + Eq + Hash + Debug + Send + Sync {
    /// The profile of the specimen.
    const PROFILE: Profile;

    /// Whether requests of processes outside the voter's own quorum are dropped.
    const DROPS_OUTSIDERS: bool;
}

/// All requests of live processes are kept.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeepsRequests;

/// One process of a specimen, with its rule for crashes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PublishedVoting<R> {
    id: ProcessId,
    system: AnySystem,
    crashed: ProcessSet,
    clock: LamportClock,
    /// The request that holds the permission of this process.
    blocked_by: Option<Stamp>,
    /// Whether the holder was asked to yield. The printed figures can be reproduced only if it is asked once.
    inquired: bool,
    queue: SortedSet<Stamp>,
    phase: Phase,
    rule: PhantomData<R>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Outside,
    Waiting(Request),
    /// Inside, with the processes that have given their permission.
    Inside(ProcessSet),
}

/// The state of a requester while it waits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Request {
    time: u64,
    members: ProcessSet,
    /// Members that have answered REPLY.
    locked: ProcessSet,
    /// Whether any member has answered FAILED.
    failed: bool,
    /// Members whose INQUIRE has not been answered yet.
    inquiries: ProcessSet,
}

/// A message of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Requests entry, since this time of the sender's clock.
    Request(u64),
    /// Gives permission to the requester.
    Reply,
    /// Reports that the sender has left.
    Release,
    /// Asks for the permission back.
    Inquire,
    /// Reports that the sender cannot give its permission.
    Failed,
    /// Returns the permission of the recipient.
    Yield,
    /// Reports that the sender's quorum has changed and no longer includes the recipient.
    Cancel,
}

impl<R: CrashRule> PublishedVoting<R> {
    /// Creates process `id` over a quorum system.
    pub fn new(id: ProcessId, system: AnySystem, clock: LamportClock) -> Self {
        let (crashed, queue, phase) = (ProcessSet::new(), SortedSet::new(), Phase::Outside);
        let (blocked_by, inquired, rule) = (None, false, PhantomData);
        Self { id, system, crashed, clock, blocked_by, inquired, queue, phase, rule }
    }

    fn acquire(&mut self, out: &mut Effects<Self>) {
        let none = ProcessSet::new;
        let time = self.clock.tick();
        let (members, locked, inquiries) = (none(), none(), none());
        self.phase = Phase::Waiting(Request { time, members, locked, failed: false, inquiries });
        self.renew_quorum(out);
    }

    /// Adopts the quorum of the processes believed alive. Sends REQUEST to new members and CANCEL to former members.
    fn renew_quorum(&mut self, out: &mut Effects<Self>) {
        let Phase::Waiting(request) = &mut self.phase else { return };
        let quorum = self.system.quorum(self.id, &self.crashed);
        let members = quorum.clone().unwrap_or_default();
        let left = &(&request.members - &members) - &self.crashed;
        let new = &members - &request.members;
        request.locked.intersect_with(&members);
        request.inquiries.intersect_with(&members);
        request.members = members;
        if !left.is_empty() {
            out.multicast(left, Message::Cancel);
        }
        if !new.is_empty() {
            out.multicast(new, Message::Request(request.time));
        }
        if quorum.is_none() {
            self.phase = Phase::Outside;
            return out.output(Output::NoQuorum);
        }
        self.enter_if_all_replied(out);
    }

    fn enter_if_all_replied(&mut self, out: &mut Effects<Self>) {
        let Phase::Waiting(request) = &self.phase else { return };
        if request.members.is_subset(&request.locked) {
            self.phase = Phase::Inside(request.locked.clone());
            out.output(Output::Entered);
        }
    }

    fn release(&mut self, out: &mut Effects<Self>) {
        let Phase::Inside(locked) = &self.phase else { return };
        let locked = locked - &self.crashed;
        self.phase = Phase::Outside;
        if !locked.is_empty() {
            out.multicast(locked, Message::Release);
        }
    }

    /// Steps 3 to 5 of the request.
    fn on_request(&mut self, theirs: Stamp, out: &mut Effects<Self>) {
        self.clock.merge(theirs.time);
        self.queue.insert(theirs);
        match self.blocked_by {
            None => self.reply_to_first(out),
            Some(holder) if theirs < holder => {
                if !self.inquired {
                    self.inquired = true;
                    out.send(holder.process, Message::Inquire);
                }
            }
            Some(_) => out.send(theirs.process, Message::Failed),
        }
    }

    fn reply_to_first(&mut self, out: &mut Effects<Self>) {
        self.blocked_by = self.queue.pop_first();
        self.inquired = false;
        if let Some(first) = self.blocked_by {
            out.send(first.process, Message::Reply);
        }
    }

    /// Steps 7 and 8: a process that has received FAILED from any member returns the permissions that are asked back.
    fn answer_inquiries(&mut self, out: &mut Effects<Self>) {
        let Phase::Waiting(request) = &mut self.phase else { return };
        if !request.failed {
            return;
        }
        let back = &request.inquiries & &request.locked;
        request.inquiries.subtract(&back);
        request.locked.subtract(&back);
        if !back.is_empty() {
            out.multicast(back, Message::Yield);
        }
    }

    fn on_yield(&mut self, from: ProcessId, out: &mut Effects<Self>) {
        let Some(holder) = self.blocked_by.filter(|holder| holder.process == from) else {
            return out.ignored("a permission returned by one who does not have it");
        };
        self.queue.insert(holder);
        self.reply_to_first(out);
    }

    /// If the crashed process holds the permission, drops the requests of all processes outside the own quorum.
    fn drop_outsiders(&mut self, crashed: ProcessId) {
        if self.blocked_by.is_some_and(|holder| holder.process == crashed) {
            let members = self.system.quorum(self.id, &self.crashed).unwrap_or_default();
            self.queue.retain(|request| members.contains(request.process));
        }
    }

    /// Removes the request of the process, whether it holds the permission or waits.
    fn strike(&mut self, process: ProcessId, out: &mut Effects<Self>) {
        // A process has at most one request, which either has the vote or waits.
        if self.blocked_by.is_some_and(|holder| holder.process == process) {
            self.reply_to_first(out);
        } else {
            self.queue.retain(|request| request.process != process);
        }
    }
}

impl<R: CrashRule> Process for PublishedVoting<R> {
    type Command = Command;
    type Message = Message;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        match (command, &self.phase) {
            (Command::Acquire, Phase::Outside) => self.acquire(out),
            (Command::Acquire, _) => return Err(Misuse::AlreadyAsked),
            (Command::Release, Phase::Inside(_)) => self.release(out),
            (Command::Release, _) => return Err(Misuse::NotInside),
        }
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        if self.crashed.contains(from) {
            return out.ignored("a message of a crashed process");
        }
        match (message, &mut self.phase) {
            (Message::Request(time), _) => self.on_request(Stamp { time, process: from }, out),
            (Message::Release | Message::Cancel, _) => self.strike(from, out),
            (Message::Yield, _) => self.on_yield(from, out),
            (Message::Reply, Phase::Waiting(request)) if request.members.contains(from) => {
                request.locked.insert(from);
                self.enter_if_all_replied(out);
            }
            (Message::Failed, Phase::Waiting(request)) => {
                request.failed = true;
                self.answer_inquiries(out);
            }
            (Message::Inquire, Phase::Waiting(request)) if request.locked.contains(from) => {
                request.inquiries.insert(from);
                self.answer_inquiries(out);
            }
            (Message::Reply | Message::Failed | Message::Inquire, _) => {
                out.ignored("an answer to a request that is over");
            }
        }
    }

    fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
        match belief {
            Belief::Crashed(process) => {
                self.crashed.insert(process);
                if R::DROPS_OUTSIDERS {
                    self.drop_outsiders(process);
                }
                self.strike(process, out);
                if let Phase::Waiting(request) = &mut self.phase {
                    request.locked.remove(process);
                    request.inquiries.remove(process);
                }
            }
            Belief::Alive(process) => {
                self.crashed.remove(process);
            }
        }
        self.renew_quorum(out);
    }

    fn waits_for(&self) -> ProcessSet {
        match &self.phase {
            Phase::Waiting(request) => &request.members - &request.locked,
            _ => self.blocked_by.iter().map(|holder| holder.process).collect(),
        }
    }

    fn permission(&self) -> Permission {
        Permission::given_to(self.blocked_by.map(|holder| holder.process))
    }
}

impl CoreMessage for Message {
    const KINDS: &'static [Kind] = &[
        Kind::mutex("REQUEST"),
        Kind::mutex("REPLY"),
        Kind::mutex("RELEASE"),
        Kind::mutex("INQUIRE"),
        Kind::mutex("FAILED"),
        Kind::mutex("YIELD"),
        Kind::mutex("CANCEL"),
    ];

    fn kind(&self) -> usize {
        match self {
            Self::Request(_) => 0,
            Self::Reply => 1,
            Self::Release => 2,
            Self::Inquire => 3,
            Self::Failed => 4,
            Self::Yield => 5,
            Self::Cancel => 6,
        }
    }

    fn stamp(&self) -> Option<u64> {
        match self {
            Self::Request(time) => Some(*time),
            _ => None,
        }
    }
}

impl CrashRule for KeepsRequests {
    const PROFILE: Profile = Profile {
        name: "quorum-published",
        layer: Layer::Mutex,
        summary: "the votes of a quorum that changes with failures, as first printed",
        source: "Lopes' monograph on a quorum mutex over the VCube, Quadro 4.1",
        specimen: Some(Specimen {
            breaks: Property::ME2,
            also_breaks: &[Property::ME1],
            why: "a request that is neither the best nor worse than the holder's receives no answer and never yields; \
                  with crashes ME1 breaks too, because quorums of different views need not intersect",
        }),
        assumes: &[
            Assumption::NoLoss,
            Assumption::NoDuplication,
            Assumption::Fifo,
            Assumption::CrashStop,
            Assumption::PerfectDetector,
            Assumption::Honesty,
        ],
        guarantees: &[Property::ME1, Property::ME2],
        cost: "3K messages per entry without rivals, K the size of a quorum",
        never_quiescent: false,
    };

    const DROPS_OUTSIDERS: bool = false;
}

impl<R: CrashRule> Algorithm for PublishedVoting<R> {
    const PROFILE: Profile = R::PROFILE;

    const QUORUMS: &'static [&'static str] = Majorities::QUORUMS;

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(id, setup.quorums.clone(), setup.clock(id))
    }

    fn cost(setup: &Setup) -> Cost {
        let (least, most) = setup.quorum_sizes();
        Cost::between("3K to 6K", 3 * least, 6 * most).with_delays(0..=2, 0..=2)
    }
}
