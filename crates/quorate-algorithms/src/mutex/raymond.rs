//! Raymond's mutual exclusion: the privilege moves along a tree, towards the neighbour that requested it.
//!
//! - **Source**: Raymond, "A Tree-Based Algorithm for Distributed Mutual Exclusion", ACM TOCS 7(1), 1989.
//! - **Assumes**: fixed membership and spanning tree; no process crashes; links that neither lose nor duplicate. Any
//!   order: section 4 of the paper shows that overtaking does no harm.
//! - **Guarantees**: ME1, ME2 if holders leave. Not ME3: a queue holds neighbours, not requests.
//! - **Costs**: at most twice the longest path of the tree. At light load twice the distance to the privilege, which is
//!   about four on a star and grows with n on other trees; about four on any tree when every process always requests.
//!   Delays grow with the distance in the same way.
//! - **Departs from the paper**: nothing of substance.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::convert::Infallible;

use quorate_core::mutex::{Command, Misuse, Output};
use quorate_core::{
    Assumption, Cost, Effects, Kind, Layer, Message as CoreMessage, Permission, Process, ProcessId,
    ProcessSet, Profile, Property,
};

use crate::Step;
use crate::literature::{MutexFigure, Prediction, mean_per_request};
use crate::{Algorithm, Setup, Sound};

/// One process of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Raymond {
    id: ProcessId,
    /// The location of the privilege: this process, or the neighbour in its direction.
    holder: ProcessId,
    /// The neighbours, and the process itself, that have requested the privilege, in the order of their requests.
    queue: VecDeque<ProcessId>,
    /// Whether a request to the holder is outstanding.
    asked: bool,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Outside,
    Waiting,
    Inside,
}

/// A message between neighbours in the tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Requests the privilege for a process on the sender's side of the tree.
    Request,
    /// Passes the privilege to the recipient.
    Privilege,
}

impl Raymond {
    /// Creates process `id`. `holder` is its neighbour towards the privilege, or `id` itself if it
    /// starts with the privilege.
    pub fn new(id: ProcessId, holder: ProcessId) -> Self {
        Self { id, holder, queue: VecDeque::new(), asked: false, phase: Phase::Outside }
    }

    fn assign_privilege(&mut self, out: &mut Effects<Self>) {
        if self.holder != self.id || self.phase == Phase::Inside {
            return;
        }
        let Some(next) = self.queue.pop_front() else { return };
        self.holder = next;
        self.asked = false;
        if next == self.id {
            self.phase = Phase::Inside;
            out.output(Output::Entered);
        } else {
            out.send(next, Message::Privilege);
        }
    }

    fn make_request(&mut self, out: &mut Effects<Self>) {
        if self.holder != self.id && !self.queue.is_empty() && !self.asked {
            self.asked = true;
            out.send(self.holder, Message::Request);
        }
    }
}

impl Process for Raymond {
    type Command = Command;
    type Message = Message;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        match (command, self.phase) {
            (Command::Acquire, Phase::Outside) => {
                self.phase = Phase::Waiting;
                self.queue.push_back(self.id);
            }
            (Command::Acquire, _) => return Err(Misuse::AlreadyAsked),
            (Command::Release, Phase::Inside) => self.phase = Phase::Outside,
            (Command::Release, _) => return Err(Misuse::NotInside),
        }
        self.assign_privilege(out);
        self.make_request(out);
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        match message {
            Message::Request => self.queue.push_back(from),
            Message::Privilege if self.holder != from => {
                return out.ignored("a privilege from where it was not");
            }
            Message::Privilege => self.holder = self.id,
        }
        self.assign_privilege(out);
        self.make_request(out);
    }

    fn waits_for(&self) -> ProcessSet {
        match self.phase {
            Phase::Waiting => ProcessSet::from_iter([self.holder]),
            _ => ProcessSet::new(),
        }
    }

    fn permission(&self) -> Permission {
        Permission::token(self.holder == self.id)
    }
}

impl CoreMessage for Message {
    const KINDS: &'static [Kind] = &[Kind::mutex("REQUEST"), Kind::mutex("PRIVILEGE")];

    fn kind(&self) -> usize {
        match self {
            Self::Request => 0,
            Self::Privilege => 1,
        }
    }
}

impl Sound for Raymond {}

impl Algorithm for Raymond {
    const PROFILE: Profile = Profile {
        name: "raymond",
        layer: Layer::Mutex,
        summary: "the privilege moves along a tree, towards the requester",
        source: "Raymond, ACM TOCS 7(1), 1989",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::NoDuplication,
            Assumption::NoCrash,
            Assumption::Honesty,
        ],
        guarantees: &[Property::ME1, Property::ME2],
        cost: "at most 2D messages per entry, D the longest path of the tree",
        never_quiescent: false,
    };

    const STEPS: &'static [Step] = &[
        Step::doing("Acquire", "Entered", "the privilege is here and nobody waits: enter"),
        Step::on(
            "Acquire",
            "put i into the own queue; if nothing was asked yet, send REQUEST towards the holder",
        ),
        Step::doing(
            "REQUEST",
            "PRIVILEGE",
            "REQUEST from neighbour j, and the privilege is idle here: send it to j",
        ),
        Step::on(
            "REQUEST",
            "REQUEST from neighbour j: put j into the queue; if nothing was asked yet, send REQUEST towards the holder",
        ),
        Step::doing("PRIVILEGE", "Entered", "PRIVILEGE, and i is first in the queue: enter"),
        Step::on(
            "PRIVILEGE",
            "PRIVILEGE: pass it on to the first of the queue; send REQUEST after it if others wait",
        ),
        Step::doing(
            "Release",
            "PRIVILEGE",
            "leave; send the PRIVILEGE to the first of the queue, and REQUEST after it if others wait",
        ),
        Step::on("Release", "leave, and nobody waits: keep the privilege"),
    ];

    const TOKEN: Option<&'static str> = Some("PRIVILEGE");
    const ALONG_A_TREE: bool = true;

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(id, setup.tree.towards_root(setup.n, id))
    }

    fn cost(setup: &Setup) -> Cost {
        let longest = setup.tree.longest_path(setup.n) as u64;
        Cost::between("at most 2D", 0, 2 * longest).with_delays(0..=2 * longest, 0..=longest)
    }

    fn predict_entry(
        figure: MutexFigure,
        setup: &Setup,
        requests: &[Vec<ProcessId>],
    ) -> Prediction {
        match figure {
            MutexFigure::Light | MutexFigure::Client => {
                Prediction::exact("2d", 2.0 * mean_per_request(requests, |run| way(setup, run)))
            }
            MutexFigure::Saturated => Prediction::expected("about 4", 4.0).with_difference(
                "a token on its round crosses each of n - 1 edges twice, each time asked for: 4(n - 1)/n; less in the \
                 last round, when processes that have left ask no more",
            ),
            MutexFigure::Synchronisation => Prediction::of_cost(figure, &Self::cost(setup)),
        }
    }
}

/// Length of the way along the tree from each requester to the next. It starts at the initial holder of the privilege.
fn way(setup: &Setup, requests: &[ProcessId]) -> usize {
    let from = core::iter::once(&setup.server).chain(requests);
    from.zip(requests).map(|(from, to)| setup.tree.distance(setup.n, *from, *to)).sum()
}
