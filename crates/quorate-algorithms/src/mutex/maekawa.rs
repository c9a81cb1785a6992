//! Maekawa's mutual exclusion by voting, with Sanders' correction: a process enters with the votes of its quorum.
//!
//! - **Source**: Maekawa, "A sqrt(N) Algorithm for Mutual Exclusion in Decentralized Systems", ACM TOCS 3(2), 1985;
//!   corrected by Sanders, "The Information Structure of Distributed Mutual Exclusion Algorithms", ACM TOCS 5(3), 1987.
//! - **Assumes**: fixed membership and a fixed coterie; no process crashes; links that neither lose nor duplicate. Any
//!   order: every message names the request it is about.
//! - **Guarantees**: ME1, ME2 if holders leave. Not ME3, although textbooks claim that queueing in happened-before
//!   order gives it: a process whose request happened later may have all its votes before the earlier request has
//!   reached a voter they share. With equal delays on all links that cannot happen, and ME3 holds.
//! - **Costs**: 3K messages for a quorum of K, including the process itself, without contention; up to 6K with
//!   contention. Two message delays into a free section, two from the holder to its successor.
//! - **Departs from the paper**: votes, inquiries and failures carry the stamp of the request they are about, so that a
//!   message that crosses a release in transit is recognised. Every message carries its sender's clock; otherwise
//!   stamps would not follow the happened-before order.

use alloc::vec::Vec;
use core::convert::Infallible;

use quorate_core::mutex::{Command, Misuse, Output};
use quorate_core::quorum::Coterie;
use quorate_core::{
    Assumption, Cost, Effects, Kind, LamportClock, Layer, Message as CoreMessage, Permission,
    Process, ProcessId, ProcessSet, Profile, Property, Stamp,
};

use super::voting::{Ballot, BallotReply, SYNCHRONISATION_DIFFERS};
use crate::Step;
use crate::literature::{MutexFigure, Prediction, mean_quorum};
use crate::{Algorithm, Setup, Sound};

/// One process of the algorithm over a coterie.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Maekawa {
    id: ProcessId,
    quorum: ProcessSet,
    clock: LamportClock,
    ballot: Ballot<Stamp>,
    phase: Phase,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Outside,
    Waiting(Campaign),
    Inside(Stamp),
}

/// The state of a candidate while it collects votes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Campaign {
    mine: Stamp,
    votes: ProcessSet,
    /// Voters that prefer another request.
    failed: ProcessSet,
    /// Voters that want their vote back and have not received it yet.
    inquiries: ProcessSet,
}

/// A message of the algorithm about a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Message {
    /// The kind of the message.
    pub what: MessageKind,
    /// The time of the request that the message is about.
    pub request: u64,
    /// The present time of the sender's clock.
    pub clock: u64,
}

/// The kinds of messages of the algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum MessageKind {
    /// A candidate requests the vote.
    Request,
    /// A voter gives its vote to the candidate.
    Reply,
    /// A candidate has left the section.
    Release,
    /// A voter asks for its vote back.
    Inquire,
    /// A voter reports that it prefers another request.
    Failed,
    /// A candidate returns the vote but keeps its request.
    Yield,
}

impl Maekawa {
    /// Creates process `id`, which uses the quorum that the coterie assigns to it.
    pub fn new(id: ProcessId, coterie: &impl Coterie) -> Self {
        let quorum =
            coterie.quorum(id, &ProcessSet::new()).expect("without failures there is a quorum");
        let (clock, ballot) = (LamportClock::default(), Ballot::default());
        Self { id, quorum, clock, ballot, phase: Phase::Outside }
    }

    fn acquire(&mut self, out: &mut Effects<Self>) {
        let mine = Stamp { time: self.clock.tick(), process: self.id };
        let none = ProcessSet::new;
        self.phase =
            Phase::Waiting(Campaign { mine, votes: none(), failed: none(), inquiries: none() });
        self.send_kind(self.quorum.clone(), MessageKind::Request, mine.time, out);
    }

    fn release(&mut self, mine: Stamp, out: &mut Effects<Self>) {
        self.phase = Phase::Outside;
        self.send_kind(self.quorum.clone(), MessageKind::Release, mine.time, out);
    }

    fn send_kind(&self, to: ProcessSet, what: MessageKind, request: u64, out: &mut Effects<Self>) {
        out.multicast(to, Message { what, request, clock: self.clock.time() });
    }

    /// The campaign to which a voter's message refers, if it is the present one.
    fn campaign(&mut self, time: u64) -> Option<&mut Campaign> {
        match &mut self.phase {
            Phase::Waiting(campaign) if campaign.mine.time == time => Some(campaign),
            _ => None,
        }
    }

    fn on_answer(
        &mut self,
        from: ProcessId,
        what: MessageKind,
        time: u64,
        out: &mut Effects<Self>,
    ) {
        let Some(campaign) = self.campaign(time) else {
            return out.ignored("an answer to a request that is over");
        };
        match what {
            MessageKind::Failed if campaign.votes.contains(from) => {}
            MessageKind::Failed => {
                campaign.failed.insert(from);
                self.yield_if_hopeless(out);
            }
            MessageKind::Inquire => {
                campaign.inquiries.insert(from);
                self.yield_if_hopeless(out);
            }
            _ => self.on_reply(from, time, out),
        }
    }

    fn on_reply(&mut self, from: ProcessId, time: u64, out: &mut Effects<Self>) {
        let quorum = self.quorum.clone();
        let Some(campaign) = self.campaign(time) else {
            return out.ignored("a vote for no request");
        };
        campaign.votes.insert(from);
        campaign.failed.remove(from);
        if quorum.is_subset(&campaign.votes) {
            self.phase = Phase::Inside(campaign.mine);
            out.output(Output::Entered);
        } else {
            self.yield_if_hopeless(out);
        }
    }

    /// A candidate that cannot win for now returns the votes that are asked back. A candidate that may
    /// still win keeps them.
    fn yield_if_hopeless(&mut self, out: &mut Effects<Self>) {
        let Phase::Waiting(campaign) = &mut self.phase else { return };
        if campaign.failed.is_empty() {
            return;
        }
        let back = &campaign.inquiries & &campaign.votes;
        campaign.inquiries.subtract(&back);
        campaign.votes.subtract(&back);
        campaign.failed.union_with(&back);
        let request = campaign.mine.time;
        if !back.is_empty() {
            self.send_kind(back, MessageKind::Yield, request, out);
        }
    }
}

fn reply_sender(
    clock: LamportClock,
    out: &mut Effects<Maekawa>,
) -> impl FnMut(BallotReply<Stamp>) + '_ {
    move |answer| {
        let (what, stamp) = match answer {
            BallotReply::Reply(stamp) => (MessageKind::Reply, stamp),
            BallotReply::Inquire(stamp) => (MessageKind::Inquire, stamp),
            BallotReply::Failed(stamp) => (MessageKind::Failed, stamp),
        };
        out.send(stamp.process, Message { what, request: stamp.time, clock: clock.time() });
    }
}

impl Process for Maekawa {
    type Command = Command;
    type Message = Message;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        match (command, &self.phase) {
            (Command::Acquire, Phase::Outside) => self.acquire(out),
            (Command::Acquire, _) => return Err(Misuse::AlreadyAsked),
            (Command::Release, &Phase::Inside(mine)) => self.release(mine, out),
            (Command::Release, _) => return Err(Misuse::NotInside),
        }
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        let Message { what, request: time, clock } = message;
        self.clock.merge(clock);
        let (theirs, clock) = (Stamp { time, process: from }, self.clock);
        match what {
            MessageKind::Request => self.ballot.request(theirs, reply_sender(clock, out)),
            MessageKind::Yield => {
                self.ballot.give_back(theirs, reply_sender(clock, out));
            }
            MessageKind::Release => {
                self.ballot.release(theirs, reply_sender(clock, out));
            }
            MessageKind::Reply | MessageKind::Failed | MessageKind::Inquire => {
                self.on_answer(from, what, time, out)
            }
        }
    }

    fn waits_for(&self) -> ProcessSet {
        match &self.phase {
            Phase::Waiting(campaign) => &self.quorum - &campaign.votes,
            _ => self.ballot.holder(),
        }
    }

    fn permission(&self) -> Permission {
        Permission::given_to(&self.ballot.holder())
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
    ];

    fn kind(&self) -> usize {
        self.what as usize
    }

    fn stamp(&self) -> Option<u64> {
        (self.what == MessageKind::Request).then_some(self.request)
    }
}

impl Sound for Maekawa {}

impl Algorithm for Maekawa {
    const PROFILE: Profile = Profile {
        name: "maekawa",
        layer: Layer::Mutex,
        summary: "the votes of one's quorum are enough",
        source: "Maekawa, ACM TOCS 3(2), 1985; Sanders, ACM TOCS 5(3), 1987",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::NoDuplication,
            Assumption::NoCrash,
            Assumption::Honesty,
        ],
        guarantees: &[Property::ME1, Property::ME2, Property::ClockCondition],
        cost: "3K to 6K messages per entry, K the size of a quorum",
        never_quiescent: false,
    };

    const STEPS: &'static [Step] = &[
        Step::on(
            "Acquire",
            "tick the clock; send REQUEST(clock, i) to each member of the quorum; wait",
        ),
        Step::doing(
            "REQUEST",
            "REPLY",
            "REQUEST from j, and the vote is free: give it to j with REPLY",
        ),
        Step::doing(
            "REQUEST",
            "INQUIRE",
            "REQUEST from j that goes first: ask the holder for the vote back with INQUIRE; tell a displaced waiter FAILED",
        ),
        Step::doing(
            "REQUEST",
            "FAILED",
            "REQUEST from j that another request precedes: queue it and send FAILED",
        ),
        Step::doing("REPLY", "Entered", "REPLY from the last missing member: enter"),
        Step::doing(
            "REPLY",
            "YIELD",
            "REPLY, but it was asked back and others have failed: return the vote",
        ),
        Step::on("REPLY", "REPLY: count the vote"),
        Step::doing("FAILED", "YIELD", "FAILED: return every vote that was asked back"),
        Step::on("FAILED", "FAILED: this member prefers another request"),
        Step::doing(
            "INQUIRE",
            "YIELD",
            "INQUIRE, and some member has sent FAILED: return the vote",
        ),
        Step::on("INQUIRE", "INQUIRE, otherwise: keep the vote until it is clear"),
        Step::on(
            "YIELD",
            "a returned vote: queue its request again, and give the vote to the first of the queue",
        ),
        Step::on("Release", "leave; send RELEASE to each member of the quorum"),
        Step::doing(
            "RELEASE",
            "REPLY",
            "RELEASE: give the vote to the first of the queue with REPLY",
        ),
        Step::on("RELEASE", "RELEASE, and nobody waits: the vote is free"),
    ];

    const QUORUMS: &'static [&'static str] = &["grid-fixed", "plane", "majority", "tree"];

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self { clock: setup.clock(id), ..Self::new(id, setup.coterie()) }
    }

    fn cost(setup: &Setup) -> Cost {
        let (least, most) = setup.quorum_sizes();
        Cost::between("3K to 6K", 3 * least, 6 * most).with_delays(0..=2, 0..=2)
    }

    fn predict_entry(
        figure: MutexFigure,
        setup: &Setup,
        requests: &[Vec<ProcessId>],
    ) -> Prediction {
        let votes =
            || Prediction::exact("3K", 3.0 * mean_quorum(setup.n, &setup.quorums, requests));
        match figure {
            MutexFigure::Light => votes(),
            MutexFigure::Saturated => votes().with_difference(
                "the formula leaves rivals out: FAILED, INQUIRE and YIELD come on top, up to 6K",
            ),
            MutexFigure::Client => Prediction::exact("2", 2.0),
            MutexFigure::Synchronisation => {
                Prediction::exact("2", 2.0).with_difference(SYNCHRONISATION_DIFFERS)
            }
        }
    }
}
