//! The textbooks' simplification of Maekawa's mutual exclusion: a specimen that deadlocks. It is not the algorithm of the
//! original paper, in spite of its name on the command line.
//!
//! - **Source**: Maekawa, "A sqrt(N) Algorithm for Mutual Exclusion in Decentralized Systems", ACM TOCS 3(2), 1985, in
//!   the form that Coulouris et al. give (section 15.2): request, reply, release and nothing else.
//! - **Assumes**: fixed membership and a fixed coterie; no process crashes; reliable links.
//! - **Guarantees**: ME1. It claims ME2 and violates it: a voter keeps its vote once given, so three processes that
//!   vote for themselves first wait for each other forever.
//! - **Costs**: 3K messages for a quorum of K, including the process itself.
//! - **Departs from the paper**: as the textbook does. The paper has INQUIRE, FAILED and RELINQUISH, with which a voter
//!   takes its vote back; Sanders corrected them, and the module `maekawa` has them. The textbook's voter also
//!   refuses its vote while it is inside. Here it has voted for itself by then, since every process is in its own quorum,
//!   and keeps that vote until it leaves.

use alloc::collections::VecDeque;
use core::convert::Infallible;

use quorate_core::mutex::{Command, Misuse, Output};
use quorate_core::quorum::Coterie;
use quorate_core::{
    Assumption, Cost, Effects, Kind, Layer, Message as CoreMessage, Permission, Process, ProcessId,
    ProcessSet, Profile, Property, Specimen,
};

use crate::Step;
use crate::{Algorithm, Setup};

/// One process of the specimen.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MaekawaOriginal {
    quorum: ProcessSet,
    /// The process that has the vote.
    vote: Option<ProcessId>,
    queue: VecDeque<ProcessId>,
    phase: Phase,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Outside,
    Waiting { missing: ProcessSet },
    Inside,
}

/// A message of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// A candidate requests the vote.
    Request,
    /// A voter gives its vote to the candidate.
    Reply,
    /// A candidate has left the section.
    Release,
}

impl MaekawaOriginal {
    /// Creates process `id`, which uses the quorum that the coterie assigns to it.
    pub fn new(id: ProcessId, coterie: &impl Coterie) -> Self {
        let quorum =
            coterie.quorum(id, &ProcessSet::new()).expect("without failures there is a quorum");
        Self { quorum, vote: None, queue: VecDeque::new(), phase: Phase::Outside }
    }
}

impl Process for MaekawaOriginal {
    type Command = Command;
    type Message = Message;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        match (command, &self.phase) {
            (Command::Acquire, Phase::Outside) => {
                self.phase = Phase::Waiting { missing: self.quorum.clone() };
                out.multicast(self.quorum.clone(), Message::Request);
            }
            (Command::Acquire, _) => return Err(Misuse::AlreadyAsked),
            (Command::Release, Phase::Inside) => {
                self.phase = Phase::Outside;
                out.multicast(self.quorum.clone(), Message::Release);
            }
            (Command::Release, _) => return Err(Misuse::NotInside),
        }
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        match message {
            Message::Request if self.vote.is_some() => self.queue.push_back(from),
            Message::Request => {
                self.vote = Some(from);
                out.send(from, Message::Reply);
            }
            Message::Release => {
                self.vote = self.queue.pop_front();
                if let Some(next) = self.vote {
                    out.send(next, Message::Reply);
                }
            }
            Message::Reply => {
                let Phase::Waiting { missing } = &mut self.phase else {
                    return out.ignored("a vote for no request");
                };
                missing.remove(from);
                if missing.is_empty() {
                    self.phase = Phase::Inside;
                    out.output(Output::Entered);
                }
            }
        }
    }

    fn waits_for(&self) -> ProcessSet {
        match &self.phase {
            Phase::Waiting { missing } => missing.clone(),
            _ => ProcessSet::new(),
        }
    }

    fn permission(&self) -> Permission {
        Permission::given_to(self.vote)
    }
}

impl CoreMessage for Message {
    const KINDS: &'static [Kind] =
        &[Kind::mutex("REQUEST"), Kind::mutex("REPLY"), Kind::mutex("RELEASE")];

    fn kind(&self) -> usize {
        match self {
            Self::Request => 0,
            Self::Reply => 1,
            Self::Release => 2,
        }
    }
}

impl Algorithm for MaekawaOriginal {
    const PROFILE: Profile = Profile {
        name: "maekawa-original",
        layer: Layer::Mutex,
        summary: "the textbooks' simplification of Maekawa's voting, without a way to take a vote back",
        source: "Coulouris et al., Distributed Systems, section 15.2, after Maekawa, ACM TOCS 3(2), 1985",
        specimen: Some(Specimen {
            breaks: Property::ME2,
            also_breaks: &[],
            why: "votes are kept until their holder has left, so candidates can wait for each other in a cycle",
        }),
        assumes: &[
            Assumption::NoLoss,
            Assumption::NoDuplication,
            Assumption::NoCrash,
            Assumption::Honesty,
        ],
        guarantees: &[Property::ME1, Property::ME2],
        cost: "3K messages per entry, K the size of a quorum",
        never_quiescent: false,
    };

    const STEPS: &'static [Step] = &[
        Step::on("Acquire", "send REQUEST to each member of the quorum; wait for all their votes"),
        Step::doing(
            "REQUEST",
            "REPLY",
            "REQUEST from j, and the vote is free: give it to j with REPLY",
        ),
        Step::on("REQUEST", "REQUEST from j, otherwise: put j into the queue"),
        Step::doing("REPLY", "Entered", "REPLY from the last missing member: enter"),
        Step::on("REPLY", "REPLY: keep the vote until leaving, and wait for the others"),
        Step::on("Release", "leave; send RELEASE to each member of the quorum"),
        Step::doing(
            "RELEASE",
            "REPLY",
            "RELEASE: give the vote to the first of the queue with REPLY",
        ),
        Step::on("RELEASE", "RELEASE, and the queue is empty: the vote is free"),
    ];

    const QUORUMS: &'static [&'static str] = &["grid-fixed", "plane", "majority", "tree"];

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(id, setup.coterie())
    }

    fn cost(setup: &Setup) -> Cost {
        let (least, most) = setup.quorum_sizes();
        Cost::between("3K", 3 * least, 3 * most).with_delays(0..=2, 0..=2)
    }
}
