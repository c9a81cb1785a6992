//! Singhal's dynamic information structure: a process asks only those processes that may request entry.
//!
//! - **Source**: Singhal, "A Dynamic Information-Structure Mutual Exclusion Algorithm for Distributed Systems",
//!   IEEE TPDS 3(1), 1992.
//! - **Assumes**: fixed membership; no process crashes; links that neither lose nor duplicate and keep
//!   the order of messages.
//! - **Guarantees**: ME1, ME2 if holders leave. Not ME3: a process outside the request set is not asked, and
//!   may have requested before.
//! - **Costs**: between 0 (the same process enters again) and 2(n - 1) messages for an entry. The literature gives
//!   n - 1 at light load and 3(n - 1)/2 under contention on average. We measure 2(n - 1) where all processes always
//!   wait: a process that leaves puts all of them into its request set. Two message delays into a free section at most, one
//!   from the holder to its successor.
//! - **Departs from the paper**: the process itself is in neither set, because it sends no messages to itself. A request
//!   keeps its stamp: the paper's sequence number is the clock at the same time and may grow while the process waits.
//!   REPLY carries the clock.

use alloc::vec::Vec;
use core::convert::Infallible;
use core::mem;

use quorate_core::mutex::{Command, Misuse, Output};
use quorate_core::{
    Assumption, Cost, Effects, Kind, LamportClock, Layer, Message as CoreMessage, Process,
    ProcessId, ProcessSet, Profile, Property, Stamp,
};

use crate::literature::{MutexFigure, Prediction, mean_per_request};
use crate::{Algorithm, Setup, Sound, Step};

/// One process of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Singhal {
    id: ProcessId,
    clock: LamportClock,
    /// The processes whose permission is needed. While waiting, the processes whose permission is still missing.
    request_set: ProcessSet,
    /// The processes that wait for permission until this process has left.
    inform_set: ProcessSet,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Outside,
    Waiting(Stamp),
    Inside,
}

/// A message of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Requests entry, since this time of the sender's clock.
    Request(u64),
    /// Permits the recipient to enter, with the time of the sender's clock.
    Reply(u64),
}

/// Time of a request that is older than the own one, if nothing else about it can be read. Stamps begin at 1.
const OLDER: u64 = 0;

impl Singhal {
    /// Creates process `id`. At first it needs the permission of all smaller ids, so that of any two processes
    /// one asks the other.
    pub fn new(id: ProcessId) -> Self {
        let (clock, request_set) = (LamportClock::default(), ProcessSet::all(id.index()));
        Self { id, clock, request_set, inform_set: ProcessSet::new(), phase: Phase::Outside }
    }

    fn acquire(&mut self, out: &mut Effects<Self>) {
        let mine = Stamp { time: self.clock.tick(), process: self.id };
        self.phase = Phase::Waiting(mine);
        if !self.request_set.is_empty() {
            out.multicast(self.request_set.clone(), Message::Request(mine.time));
        }
        self.enter_if_unanimous(out);
    }

    fn release(&mut self, out: &mut Effects<Self>) {
        self.phase = Phase::Outside;
        let informed = mem::take(&mut self.inform_set);
        self.request_set.union_with(&informed);
        if !informed.is_empty() {
            out.multicast(informed, Message::Reply(self.clock.time()));
        }
    }

    fn enter_if_unanimous(&mut self, out: &mut Effects<Self>) {
        if matches!(self.phase, Phase::Waiting(_)) && self.request_set.is_empty() {
            self.phase = Phase::Inside;
            out.output(Output::Entered);
        }
    }

    fn on_request(&mut self, theirs: Stamp, out: &mut Effects<Self>) {
        let from = theirs.process;
        match self.phase {
            Phase::Inside => {
                self.inform_set.insert(from);
            }
            Phase::Waiting(mine) if mine < theirs => {
                self.inform_set.insert(from);
            }
            Phase::Waiting(mine) => {
                out.send(from, Message::Reply(self.clock.time()));
                // The other process goes first. Afterwards its permission is needed again.
                if self.request_set.insert(from) {
                    out.send(from, Message::Request(mine.time));
                }
            }
            Phase::Outside => {
                self.request_set.insert(from);
                out.send(from, Message::Reply(self.clock.time()));
            }
        }
    }
}

impl Process for Singhal {
    type Command = Command;
    type Message = Message;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        match (command, self.phase) {
            (Command::Acquire, Phase::Outside) => self.acquire(out),
            (Command::Acquire, _) => return Err(Misuse::AlreadyAsked),
            (Command::Release, Phase::Inside) => self.release(out),
            (Command::Release, _) => return Err(Misuse::NotInside),
        }
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        match message {
            Message::Request(time) => {
                self.clock.merge(time);
                self.on_request(Stamp { time, process: from }, out);
            }
            Message::Reply(_) if !matches!(self.phase, Phase::Waiting(_)) => {
                out.ignored("a reply to no request");
            }
            Message::Reply(time) => {
                self.clock.merge(time);
                self.request_set.remove(from);
                self.enter_if_unanimous(out);
            }
        }
    }

    fn visit_shift_invariant(&mut self, visit: &mut dyn FnMut(&mut u64)) {
        self.clock.visit_shift_invariant(visit);
        if let Phase::Waiting(mine) = &mut self.phase {
            visit(&mut mine.time);
        }
    }

    /// A time that the clock has reached cannot advance it any more. Then only its order to the own request matters.
    fn forget_dead_values_of(&self, from: ProcessId, message: &mut Message) {
        let now = self.clock.time();
        match message {
            Message::Request(time) if *time <= now => {
                let theirs = Stamp { time: *time, process: from };
                let is_older = matches!(self.phase, Phase::Waiting(mine) if theirs < mine);
                *time = if is_older { OLDER } else { now };
            }
            Message::Reply(time) if *time <= now => *time = now,
            _ => {}
        }
    }

    fn greatest_compared(&self) -> Option<u64> {
        match self.phase {
            Phase::Waiting(mine) => Some(mine.time),
            _ => Some(0),
        }
    }

    fn waits_for(&self) -> ProcessSet {
        match self.phase {
            Phase::Waiting(_) => self.request_set.clone(),
            _ => ProcessSet::new(),
        }
    }
}

impl CoreMessage for Message {
    const KINDS: &'static [Kind] = &[Kind::mutex("REQUEST"), Kind::mutex("REPLY")];

    fn kind(&self) -> usize {
        match self {
            Self::Request(_) => 0,
            Self::Reply(_) => 1,
        }
    }

    fn stamp(&self) -> Option<u64> {
        match self {
            Self::Request(time) => Some(*time),
            Self::Reply(_) => None,
        }
    }

    fn visit_shift_invariant(&mut self, visit: &mut dyn FnMut(&mut u64)) {
        let (Self::Request(time) | Self::Reply(time)) = self;
        if *time != OLDER {
            visit(time);
        }
    }

    fn forged(&self, choice: u64) -> Self {
        match self {
            Self::Request(_) => Self::Request(choice % 8),
            Self::Reply(_) => Self::Reply(choice % 8),
        }
    }
}

impl Sound for Singhal {}

impl Algorithm for Singhal {
    const PROFILE: Profile = Profile {
        name: "singhal",
        layer: Layer::Mutex,
        summary: "ask only the processes that may want to enter",
        source: "Singhal, IEEE TPDS 3(1), 1992",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::NoDuplication,
            Assumption::Fifo,
            Assumption::NoCrash,
            Assumption::Honesty,
        ],
        guarantees: &[Property::ME1, Property::ME2, Property::ClockCondition],
        cost: "0 to 2(n - 1) messages per entry; on average 3(n - 1)/2 under contention in the literature, 2(n - 1) measured",
        never_quiescent: false,
    };

    const STEPS: &'static [Step] = &[
        Step::doing("Acquire", "Entered", "the request set is empty: enter"),
        Step::on("Acquire", "tick the clock; send REQUEST(clock, i) to the request set; wait"),
        Step::doing(
            "REQUEST",
            "REQUEST",
            "REQUEST(t, j) that goes first, while waiting, and j was not asked: send REPLY, add j to the request set, and send it the own REQUEST",
        ),
        Step::doing(
            "REQUEST",
            "REPLY",
            "REQUEST(t, j), and outside, or waiting with a later request: send REPLY to j, which is in the request set from now on",
        ),
        Step::on("REQUEST", "REQUEST(t, j), otherwise: add j to the inform set"),
        Step::doing("REPLY", "Entered", "REPLY from the last of the request set: enter"),
        Step::on("REPLY", "REPLY from j: remove j from the request set"),
        Step::doing(
            "Release",
            "REPLY",
            "leave; send REPLY to the inform set, which joins the request set",
        ),
        Step::on("Release", "leave, and the inform set is empty"),
    ];

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self { clock: setup.clock(id), ..Self::new(id) }
    }

    fn cost(setup: &Setup) -> Cost {
        let most = 2 * (setup.n as u64 - 1);
        Cost::between("0 to 2(n - 1)", 0, most)
            .with_delays(0..=2, 1..=1)
            .without_delays_if_single(setup.n)
    }

    fn predict_entry(
        figure: MutexFigure,
        setup: &Setup,
        requests: &[Vec<ProcessId>],
    ) -> Prediction {
        let n = setup.n as f64;
        match figure {
            MutexFigure::Light => Prediction::expected_of_rule(
                "n - 1",
                n - 1.0,
                2.0 * mean_per_request(requests, |run| recent_rivals(setup.n, run)),
            ),
            MutexFigure::Saturated => Prediction::expected("3(n - 1)/2", 1.5 * (n - 1.0))
                .with_difference(
                    "a process that leaves puts all waiting processes into its request set: where all always wait, it \
                     asks all others, 2(n - 1), from the second entry on",
                ),
            MutexFigure::Client => Prediction::of_cost(figure, &Self::cost(setup)),
            MutexFigure::Synchronisation => Prediction::of_cost(figure, &Self::cost(setup))
                .with_difference(
                    "when the first holder leaves, requests of others are still under way",
                ),
        }
    }
}

/// Number of other processes that have made a request since the requester's last one, summed over the requests of a
/// run. Before its first request, processes with lower numbers count.
fn recent_rivals(n: usize, requests: &[ProcessId]) -> usize {
    let mut latest_first: Vec<ProcessId> = ProcessId::all(n).collect();
    let rank = |process: &ProcessId| {
        let rank = latest_first.iter().position(|other| other == process).unwrap_or(0);
        latest_first[..=rank].rotate_right(1);
        rank
    };
    requests.iter().map(rank).sum()
}
