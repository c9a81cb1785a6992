//! Maekawa's mutual exclusion by voting, with Sanders' correction: the votes of one's quorum are enough.
//!
//! - **Source**: Maekawa, "A sqrt(N) Algorithm for Mutual Exclusion in Decentralized Systems", ACM TOCS 3(2),
//!   1985; corrected by Sanders, "The Information Structure of Distributed Mutual Exclusion Algorithms", ACM
//!   TOCS 5(3), 1987.
//! - **Assumes**: fixed membership and a fixed coterie; no process crashes; links that neither lose nor
//!   duplicate. Any order: every message names the request it is about.
//! - **Guarantees**: ME1, ME2 if holders leave. Not ME3, though textbooks say so: votes go by stamps, but
//!   a process whose request happened later may have all its votes before the earlier request has reached a
//!   voter they share. With equal delays on all links that cannot happen, and ME3 holds.
//! - **Costs**: 3K messages for a quorum of K, oneself included, without rivals; up to 6K with them. Two message
//!   delays into a free section, two from the holder to its successor.
//! - **Departs from the paper**: votes, inquiries and failures carry the stamp of the request they are about,
//!   so that what crosses a release on the way is recognised.

use core::convert::Infallible;

use quorate_core::mutex::{Command, Misuse, Output};
use quorate_core::quorum::Coterie;
use quorate_core::{
    Assumption, Cost, Effects, Kind, LamportClock, Layer, Message as CoreMessage, Process,
    ProcessId, ProcessSet, Profile, Property, Stamp,
};

use super::voting::{Answer, Ballot};
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

/// What a candidate knows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Campaign {
    mine: Stamp,
    votes: ProcessSet,
    /// Voters who prefer another.
    failed: ProcessSet,
    /// Voters who want their vote back, and have not got it yet.
    inquiries: ProcessSet,
}

/// What processes say: always about the request with this time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    /// Candidate: I want in.
    Request(u64),
    /// Voter: my vote is yours.
    Reply(u64),
    /// Candidate: I have left.
    Release(u64),
    /// Voter: may I have my vote back?
    Inquire(u64),
    /// Voter: another is better than you.
    Failed(u64),
    /// Candidate: have your vote back, for now.
    Yield(u64),
}

impl Maekawa {
    /// Process `id`, whose quorum is the coterie's for it.
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
        out.multicast(self.quorum.clone(), Message::Request(mine.time));
    }

    fn release(&mut self, mine: Stamp, out: &mut Effects<Self>) {
        self.phase = Phase::Outside;
        out.multicast(self.quorum.clone(), Message::Release(mine.time));
    }

    /// The campaign that a voter's message is about, if it is the present one.
    fn campaign(&mut self, time: u64) -> Option<&mut Campaign> {
        match &mut self.phase {
            Phase::Waiting(campaign) if campaign.mine.time == time => Some(campaign),
            _ => None,
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
            campaign.yield_if_hopeless(out);
        }
    }
}

impl Campaign {
    /// One who cannot win for now gives back what is asked for; one who may still win keeps it.
    fn yield_if_hopeless(&mut self, out: &mut Effects<Maekawa>) {
        if self.failed.is_empty() {
            return;
        }
        let back = &self.inquiries & &self.votes;
        self.inquiries.subtract(&back);
        self.votes.subtract(&back);
        self.failed.union_with(&back);
        if !back.is_empty() {
            out.multicast(back, Message::Yield(self.mine.time));
        }
    }
}

fn say(out: &mut Effects<Maekawa>) -> impl FnMut(Answer<Stamp>) + '_ {
    |answer| match answer {
        Answer::Reply(stamp) => out.send(stamp.process, Message::Reply(stamp.time)),
        Answer::Inquire(stamp) => out.send(stamp.process, Message::Inquire(stamp.time)),
        Answer::Failed(stamp) => out.send(stamp.process, Message::Failed(stamp.time)),
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
        match message {
            Message::Request(time) => {
                self.clock.hear(time);
                self.ballot.request(Stamp { time, process: from }, say(out));
            }
            Message::Yield(time) => {
                self.ballot.give_back(Stamp { time, process: from }, say(out));
            }
            Message::Release(time) => {
                self.ballot.release(Stamp { time, process: from }, say(out));
            }
            Message::Reply(time) => self.on_reply(from, time, out),
            Message::Failed(time) => {
                let Some(campaign) = self.campaign(time) else { return };
                if !campaign.votes.contains(from) {
                    campaign.failed.insert(from);
                    campaign.yield_if_hopeless(out);
                }
            }
            Message::Inquire(time) => {
                let Some(campaign) = self.campaign(time) else {
                    return out.ignored("an inquiry after a vote that is used or returned");
                };
                campaign.inquiries.insert(from);
                campaign.yield_if_hopeless(out);
            }
        }
    }

    fn waits_for(&self) -> ProcessSet {
        match &self.phase {
            Phase::Waiting(campaign) => &self.quorum - &campaign.votes,
            _ => self.ballot.holder(),
        }
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
        match self {
            Self::Request(_) => 0,
            Self::Reply(_) => 1,
            Self::Release(_) => 2,
            Self::Inquire(_) => 3,
            Self::Failed(_) => 4,
            Self::Yield(_) => 5,
        }
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
        guarantees: &[Property::ME1, Property::ME2],
        cost: "3K to 6K messages per entry, K the size of a quorum",
        restless: false,
    };

    const QUORUMS: &'static [&'static str] = &["grid-fixed", "plane", "majority", "tree"];

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self { clock: setup.clock(id), ..Self::new(id, setup.coterie()) }
    }

    fn cost(setup: &Setup) -> Cost {
        let (least, most) = setup.quorum_sizes();
        Cost::between("3K to 6K", 3 * least, 6 * most).with_delays(0..=2, 0..=2)
    }
}
