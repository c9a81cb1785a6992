//! Agrawal and El Abbadi's mutual exclusion: votes along a path of a tree, round failed processes.
//!
//! - **Source**: Agrawal and El Abbadi, "An Efficient and Fault-Tolerant Solution for Distributed Mutual
//!   Exclusion", ACM TOCS 9(1), 1991.
//! - **Assumes**: fixed membership and a fixed coterie; links that neither lose nor duplicate, in any order; a
//!   perfect detector; the crashed stay away.
//! - **Guarantees**: ME1; ME2 as long as a quorum is alive, and where none is left the process says so and
//!   gives up. Not ME3.
//! - **Costs**: 3K messages for a quorum of K, oneself included, without rivals; two more for each vote that is
//!   asked back. Two message delays into a free section, two from the holder to its successor.
//! - **Departs from the paper**: messages name the request they are about, and a vote for a request that is over is
//!   given back, for on links that reorder its end may overtake it. A candidate whose quorum loses a
//!   member keeps the votes it has and asks whoever is new; it releases all it has asked.

use core::convert::Infallible;

use quorate_core::mutex::{Command, Misuse, Output};
use quorate_core::quorum::{AnyCoterie, QuorumSystem};
use quorate_core::{
    Assumption, Belief, Cost, Effects, Kind, LamportClock, Layer, Message as CoreMessage, Process,
    ProcessId, ProcessSet, Profile, Property, Stamp,
};

use super::voting::{Ballot, BallotReply};
use crate::{Algorithm, Setup, Sound};

/// One process of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AgrawalElAbbadi {
    id: ProcessId,
    coterie: AnyCoterie,
    crashed: ProcessSet,
    clock: LamportClock,
    ballot: Ballot<Stamp>,
    phase: Phase,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Outside,
    Waiting(Campaign),
    Inside { mine: Stamp, asked: ProcessSet },
}

/// What a candidate knows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Campaign {
    mine: Stamp,
    quorum: ProcessSet,
    /// Everyone who was ever asked for this entry.
    asked: ProcessSet,
    votes: ProcessSet,
    /// Inquiries that overtook the votes they are about.
    inquiries: ProcessSet,
}

/// What processes say: always about the request with this time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Candidate: I want in.
    Request(u64),
    /// Voter: my vote is yours.
    Reply(u64),
    /// Voter: may I have my vote back?
    Inquire(u64),
    /// Candidate: have your vote back, for now.
    Yield(u64),
    /// Candidate: I have left, or given up.
    Relinquish(u64),
}

impl AgrawalElAbbadi {
    /// Process `id` over a coterie, the paper's being the tree.
    pub fn new(id: ProcessId, coterie: AnyCoterie) -> Self {
        let (clock, ballot) = (LamportClock::default(), Ballot::default());
        Self { id, coterie, crashed: ProcessSet::new(), clock, ballot, phase: Phase::Outside }
    }

    fn acquire(&mut self, out: &mut Effects<Self>) {
        let mine = Stamp { time: self.clock.tick(), process: self.id };
        let none = ProcessSet::new;
        let (quorum, asked, votes, inquiries) = (none(), none(), none(), none());
        self.phase = Phase::Waiting(Campaign { mine, quorum, asked, votes, inquiries });
        self.choose_quorum(out);
    }

    /// Takes a quorum of those believed alive and asks whoever has not been asked; gives up if there is none.
    fn choose_quorum(&mut self, out: &mut Effects<Self>) {
        let Phase::Waiting(campaign) = &mut self.phase else { return };
        let time = campaign.mine.time;
        let Some(quorum) = self.coterie.quorum(self.id, &self.crashed) else {
            let asked = &campaign.asked - &self.crashed;
            self.phase = Phase::Outside;
            if !asked.is_empty() {
                out.multicast(asked, Message::Relinquish(time));
            }
            return out.output(Output::NoQuorum);
        };
        let new = &quorum - &campaign.asked;
        campaign.asked.union_with(&new);
        campaign.quorum = quorum;
        if !new.is_empty() {
            out.multicast(new, Message::Request(time));
        }
        self.enter_if_elected(out);
    }

    fn enter_if_elected(&mut self, out: &mut Effects<Self>) {
        let Phase::Waiting(campaign) = &self.phase else { return };
        if campaign.quorum.is_subset(&campaign.votes) {
            self.phase = Phase::Inside { mine: campaign.mine, asked: campaign.asked.clone() };
            out.output(Output::Entered);
        }
    }

    fn release(&mut self, out: &mut Effects<Self>) {
        let Phase::Inside { mine, asked } = &self.phase else { return };
        let (time, asked) = (mine.time, asked - &self.crashed);
        self.phase = Phase::Outside;
        out.multicast(asked, Message::Relinquish(time));
    }

    /// The campaign that a voter's message is about, if it is the present one.
    fn campaign(&mut self, time: u64) -> Option<&mut Campaign> {
        match &mut self.phase {
            Phase::Waiting(campaign) if campaign.mine.time == time => Some(campaign),
            _ => None,
        }
    }

    fn on_reply(&mut self, from: ProcessId, time: u64, out: &mut Effects<Self>) {
        let Some(campaign) = self.campaign(time) else {
            // Inside, all who were asked hear of it on leaving. Otherwise they have heard already, perhaps before the
            // request that this answers.
            if !matches!(&self.phase, Phase::Inside { mine, .. } if mine.time == time) {
                out.send(from, Message::Relinquish(time));
            }
            return out.ignored("a vote for no request");
        };
        if campaign.inquiries.remove(from) {
            return out.send(from, Message::Yield(time));
        }
        campaign.votes.insert(from);
        self.enter_if_elected(out);
    }

    fn on_inquire(&mut self, from: ProcessId, time: u64, out: &mut Effects<Self>) {
        let Some(campaign) = self.campaign(time) else {
            return out.ignored("an inquiry after a vote that is used or returned");
        };
        if campaign.votes.remove(from) {
            out.send(from, Message::Yield(time));
        } else {
            campaign.inquiries.insert(from);
        }
    }
}

/// A voter here tells nobody that it failed: every candidate gives a vote back when asked, unless inside.
fn reply_sender(out: &mut Effects<AgrawalElAbbadi>) -> impl FnMut(BallotReply<Stamp>) + '_ {
    |answer| match answer {
        BallotReply::Reply(stamp) => out.send(stamp.process, Message::Reply(stamp.time)),
        BallotReply::Inquire(stamp) => out.send(stamp.process, Message::Inquire(stamp.time)),
        BallotReply::Failed(_) => {}
    }
}

impl Process for AgrawalElAbbadi {
    type Command = Command;
    type Message = Message;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        match (command, &self.phase) {
            (Command::Acquire, Phase::Outside) => self.acquire(out),
            (Command::Acquire, _) => return Err(Misuse::AlreadyAsked),
            (Command::Release, Phase::Inside { .. }) => self.release(out),
            (Command::Release, _) => return Err(Misuse::NotInside),
        }
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        if self.crashed.contains(from) {
            return out.ignored("a message of a crashed process");
        }
        match message {
            Message::Request(time) => {
                self.clock.merge(time);
                self.ballot.request(Stamp { time, process: from }, reply_sender(out));
            }
            Message::Yield(time) => {
                self.ballot.give_back(Stamp { time, process: from }, reply_sender(out));
            }
            Message::Relinquish(time) => {
                self.ballot.release(Stamp { time, process: from }, reply_sender(out));
            }
            Message::Reply(time) => self.on_reply(from, time, out),
            Message::Inquire(time) => self.on_inquire(from, time, out),
        }
    }

    fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
        match belief {
            Belief::Crashed(process) => {
                self.crashed.insert(process);
                self.ballot.forget(process, reply_sender(out));
                if let Phase::Waiting(campaign) = &mut self.phase {
                    campaign.votes.remove(process);
                    campaign.inquiries.remove(process);
                }
            }
            Belief::Alive(process) => {
                self.crashed.remove(process);
                // It may have forgotten that it was asked.
                if let Phase::Waiting(campaign) = &mut self.phase {
                    campaign.asked.remove(process);
                }
            }
        }
        self.choose_quorum(out);
    }

    fn waits_for(&self) -> ProcessSet {
        match &self.phase {
            Phase::Waiting(campaign) => &campaign.quorum - &campaign.votes,
            _ => self.ballot.holder(),
        }
    }
}

impl CoreMessage for Message {
    const KINDS: &'static [Kind] = &[
        Kind::mutex("REQUEST"),
        Kind::mutex("REPLY"),
        Kind::mutex("INQUIRE"),
        Kind::mutex("YIELD"),
        Kind::mutex("RELINQUISH"),
    ];

    fn kind(&self) -> usize {
        match self {
            Self::Request(_) => 0,
            Self::Reply(_) => 1,
            Self::Inquire(_) => 2,
            Self::Yield(_) => 3,
            Self::Relinquish(_) => 4,
        }
    }

    fn stamp(&self) -> Option<u64> {
        match self {
            Self::Request(time) => Some(*time),
            _ => None,
        }
    }
}

impl Sound for AgrawalElAbbadi {}

impl Algorithm for AgrawalElAbbadi {
    const PROFILE: Profile = Profile {
        name: "agrawal-el-abbadi",
        layer: Layer::Mutex,
        summary: "votes along a path of a tree, round failed processes",
        source: "Agrawal and El Abbadi, ACM TOCS 9(1), 1991",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::NoDuplication,
            Assumption::CrashStop,
            Assumption::PerfectDetector,
            Assumption::Honesty,
        ],
        guarantees: &[Property::ME1, Property::ME2],
        cost: "3K messages per entry, K the size of a quorum, two more for each vote asked back",
        never_quiescent: false,
    };

    const QUORUMS: &'static [&'static str] = &["tree", "majority", "grid-fixed", "plane"];

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self { clock: setup.clock(id), ..Self::new(id, setup.coterie().clone()) }
    }

    fn cost(setup: &Setup) -> Cost {
        let (least, most) = setup.quorum_sizes();
        Cost::between("3K to 6K", 3 * least, 6 * most).with_delays(0..=2, 0..=2)
    }
}
