//! Agrawal and El Abbadi's mutual exclusion: votes along a path of a tree, around failed processes.
//!
//! - **Source**: Agrawal and El Abbadi, "An Efficient and Fault-Tolerant Solution for Distributed Mutual Exclusion",
//!   ACM TOCS 9(1), 1991.
//! - **Assumes**: fixed membership and a fixed coterie; links that neither lose nor duplicate, in any order; a perfect
//!   detector; crashed processes never recover.
//! - **Guarantees**: ME1; ME2 while a quorum is alive. If no quorum is alive, the process reports this and
//!   gives up. Not ME3.
//! - **Costs**: 3K messages for a quorum of K, including the process itself, without contention; two more for each vote
//!   that a voter asks back. Two message delays into a free section, two from the holder to its successor.
//! - **Departs from the paper**: messages name the request they are about. A vote for a request that has ended is given
//!   back, because on links that reorder messages the end of a request may overtake it. A candidate whose quorum loses
//!   a member keeps the votes it has and asks the new members. It releases all voters that it has asked.

use alloc::vec::Vec;
use core::convert::Infallible;

use quorate_core::mutex::{Command, Misuse, Output};
use quorate_core::quorum::{AnyCoterie, QuorumSystem};
use quorate_core::{
    Assumption, Belief, Cost, Effects, Kind, LamportClock, Layer, Message as CoreMessage,
    Permission, Process, ProcessId, ProcessSet, Profile, Property, Stamp,
};

use super::voting::{Ballot, BallotReply, SYNCHRONISATION_DIFFERS};
use crate::literature::{MutexFigure, Prediction, mean_quorum};
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

/// The state of a candidate while it collects votes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Campaign {
    mine: Stamp,
    quorum: ProcessSet,
    /// All voters that were ever asked for this entry.
    asked: ProcessSet,
    votes: ProcessSet,
    /// Voters whose inquiry overtook the vote that it is about.
    inquiries: ProcessSet,
}

/// A message of the algorithm. It names the request that it is about by its time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// A candidate requests the vote.
    Request(u64),
    /// A voter gives its vote to the candidate.
    Reply(u64),
    /// A voter asks for its vote back.
    Inquire(u64),
    /// A candidate returns the vote but keeps its request.
    Yield(u64),
    /// A candidate has left the section or has given up.
    Relinquish(u64),
}

impl AgrawalElAbbadi {
    /// Creates process `id` over a coterie. The paper's coterie is the tree.
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

    /// Chooses a quorum of processes believed alive and asks the members that were not asked yet. Gives up
    /// if no quorum exists.
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

    /// The campaign to which a voter's message refers, if it is the present one.
    fn campaign(&mut self, time: u64) -> Option<&mut Campaign> {
        match &mut self.phase {
            Phase::Waiting(campaign) if campaign.mine.time == time => Some(campaign),
            _ => None,
        }
    }

    fn on_reply(&mut self, from: ProcessId, time: u64, out: &mut Effects<Self>) {
        let Some(campaign) = self.campaign(time) else {
            // While inside, the voters that were asked receive RELINQUISH on leaving. Otherwise RELINQUISH was sent
            // before, and it may have overtaken the request that this vote answers.
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

/// Voters do not send FAILED in this algorithm: a candidate returns a vote whenever it is asked, unless it is inside.
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
                // The process may have forgotten that it was asked.
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

    fn permission(&self) -> Permission {
        Permission::given_to(&self.ballot.holder())
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
        summary: "votes along a path of a tree, around failed processes",
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

    fn predict_entry(
        figure: MutexFigure,
        setup: &Setup,
        requests: &[Vec<ProcessId>],
    ) -> Prediction {
        let promised = Prediction::of_cost(figure, &Self::cost(setup));
        match figure {
            MutexFigure::Light => {
                Prediction::exact("3K", 3.0 * mean_quorum(setup.n, &setup.quorums, requests))
            }
            MutexFigure::Synchronisation => promised.with_difference(SYNCHRONISATION_DIFFERS),
            MutexFigure::Saturated | MutexFigure::Client => promised,
        }
    }
}
