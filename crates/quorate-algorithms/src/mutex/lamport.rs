//! Lamport's mutual exclusion: every process keeps the same queue, ordered by stamps.
//!
//! - **Source**: Lamport, "Time, Clocks, and the Ordering of Events in a Distributed System", CACM 21(7), 1978.
//! - **Assumes**: fixed membership; no process crashes; links that neither lose nor duplicate and keep
//!   the order of messages.
//! - **Guarantees**: ME1, ME2 if holders leave, ME3: entries in the order of stamps.
//! - **Costs**: 3(n - 1) messages per entry; two message delays into a free section, one from the holder to its successor.
//! - **Departs from the paper**: a set holds the processes from which no message later than the own request has
//!   arrived. It replaces the time of the last message of each process. A reply is always later than the request, so
//!   the two are equivalent.

use core::convert::Infallible;
use core::mem;

use quorate_core::mutex::{Command, Misuse, Output};
use quorate_core::{
    Assumption, Cost, Effects, Kind, LamportClock, Layer, Message as CoreMessage, Process,
    ProcessId, ProcessSet, Profile, Property, SortedSet, Stamp,
};

use crate::Step;
use crate::{Algorithm, Setup, Sound};

/// One process of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lamport {
    id: ProcessId,
    n: usize,
    clock: LamportClock,
    queue: SortedSet<Stamp>,
    phase: Phase,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Outside,
    /// No message later than `mine` has arrived from the processes in `silent`.
    Waiting {
        mine: Stamp,
        silent: ProcessSet,
    },
    Inside {
        mine: Stamp,
    },
}

/// A message of the algorithm, with the time of the sender's clock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Requests entry, since this time.
    Request(u64),
    /// Confirms that the sender has queued the request.
    Reply(u64),
    /// Reports that the sender has left and that its request can be removed from the queue.
    Release(u64),
}

/// Times of stamps of which only the order is left that a later step can read: an older one than the own request, the own
/// request, a newer one. No clock shows them: stamps begin at 1.
const OLDER: u64 = 0;
const MINE: u64 = u64::MAX - 1;
const NEWER: u64 = u64::MAX;

/// Visits the time of a stamp, unless it was forgotten.
fn visit_time(time: &mut u64, visit: &mut dyn FnMut(&mut u64)) {
    if *time != OLDER && *time < MINE {
        visit(time);
    }
}

impl Lamport {
    /// Creates process `id` of n processes.
    pub fn new(n: usize, id: ProcessId) -> Self {
        let (clock, queue) = (LamportClock::default(), SortedSet::new());
        Self { id, n, clock, queue, phase: Phase::Outside }
    }

    fn acquire(&mut self, out: &mut Effects<Self>) {
        let mine = Stamp { time: self.clock.tick(), process: self.id };
        self.queue.insert(mine);
        self.phase = Phase::Waiting { mine, silent: ProcessSet::others(self.n, self.id) };
        out.send_to_others(Message::Request(mine.time));
        self.enter_if_first(out);
    }

    fn release(&mut self, mine: Stamp, out: &mut Effects<Self>) {
        self.queue.remove(&mine);
        self.phase = Phase::Outside;
        out.send_to_others(Message::Release(self.clock.tick()));
    }

    fn enter_if_first(&mut self, out: &mut Effects<Self>) {
        let Phase::Waiting { mine, silent } = &self.phase else { return };
        if silent.is_empty() && self.queue.first() == Some(mine) {
            self.phase = Phase::Inside { mine: *mine };
            out.output(Output::Entered);
        }
    }

    /// A message that is later than the own request proves that its sender has no earlier request in transit.
    fn observe(&mut self, from: ProcessId, time: u64) {
        self.clock.witness(time);
        if let Phase::Waiting { mine, silent } = &mut self.phase
            && (Stamp { time, process: from }) > *mine
        {
            silent.remove(from);
        }
    }
}

impl Process for Lamport {
    type Command = Command;
    type Message = Message;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        match (command, &self.phase) {
            (Command::Acquire, Phase::Outside) => self.acquire(out),
            (Command::Acquire, _) => return Err(Misuse::AlreadyAsked),
            (Command::Release, &Phase::Inside { mine }) => self.release(mine, out),
            (Command::Release, _) => return Err(Misuse::NotInside),
        }
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        match message {
            Message::Request(time) => {
                self.queue.insert(Stamp { time, process: from });
                self.observe(from, time);
                out.send(from, Message::Reply(self.clock.tick()));
            }
            Message::Reply(time) => self.observe(from, time),
            Message::Release(time) => {
                self.queue.retain(|stamp| stamp.process != from);
                self.observe(from, time);
            }
        }
        self.enter_if_first(out);
    }

    fn visit_shift_invariant(&mut self, visit: &mut dyn FnMut(&mut u64)) {
        self.clock.visit_shift_invariant(visit);
        let queue = mem::take(&mut self.queue).into_iter();
        self.queue = queue
            .map(|mut stamp| {
                visit_time(&mut stamp.time, visit);
                stamp
            })
            .collect();
        if let Phase::Waiting { mine, .. } | Phase::Inside { mine } = &mut self.phase {
            visit_time(&mut mine.time, visit);
        }
    }

    /// - A later request of its own is later than everything in the queue. So outside, all queued requests are older.
    /// - While it waits, only whether a queued request is older or newer than its own is ever read.
    /// - Once later messages than the own request have arrived from everyone, all requests to come are newer.
    fn forget_dead_values(&mut self) {
        let (mine, is_dead) = match &self.phase {
            Phase::Outside => (None, true),
            Phase::Waiting { mine, silent } => (Some(*mine), silent.is_empty()),
            Phase::Inside { mine } => (Some(*mine), true),
        };
        let forgotten = |stamp: Stamp| match mine {
            Some(mine) if stamp == mine => {
                if is_dead {
                    MINE
                } else {
                    mine.time
                }
            }
            // Between two steps of a dead own request, a newer one may have arrived.
            Some(mine) if mine.time == MINE && stamp.time != OLDER => NEWER,
            Some(mine) if stamp > mine => NEWER,
            _ => OLDER,
        };
        let queue = mem::take(&mut self.queue).into_iter();
        self.queue = queue.map(|stamp| Stamp { time: forgotten(stamp), ..stamp }).collect();
        if let Phase::Waiting { mine, .. } | Phase::Inside { mine } = &mut self.phase
            && is_dead
        {
            mine.time = MINE;
        }
    }

    /// A time that the clock has reached cannot advance it any more. Then only its order to the own request matters, and only
    /// if that is not known already.
    fn forget_dead_values_of(&self, from: ProcessId, message: &mut Message) {
        let (Message::Request(time) | Message::Reply(time) | Message::Release(time)) = message;
        if *time > self.clock.time() {
            return;
        }
        let is_older = match &self.phase {
            Phase::Waiting { mine, silent } => {
                silent.contains(from) && Stamp { time: *time, process: from } < *mine
            }
            _ => false,
        };
        *time = if is_older { OLDER } else { self.clock.time() };
    }

    fn greatest_compared(&self) -> Option<u64> {
        match &self.phase {
            Phase::Waiting { mine, silent } if !silent.is_empty() => Some(mine.time),
            _ => Some(0),
        }
    }

    fn waits_for(&self) -> ProcessSet {
        let Phase::Waiting { mine, silent } = &self.phase else { return ProcessSet::new() };
        let mut awaited = silent.clone();
        awaited.extend(self.queue.range(..*mine).map(|stamp| stamp.process));
        awaited
    }
}

impl CoreMessage for Message {
    const KINDS: &'static [Kind] =
        &[Kind::mutex("REQUEST"), Kind::mutex("REPLY"), Kind::mutex("RELEASE")];

    fn kind(&self) -> usize {
        match self {
            Self::Request(_) => 0,
            Self::Reply(_) => 1,
            Self::Release(_) => 2,
        }
    }

    fn stamp(&self) -> Option<u64> {
        let (Self::Request(time) | Self::Reply(time) | Self::Release(time)) = self;
        Some(*time)
    }

    fn visit_shift_invariant(&mut self, visit: &mut dyn FnMut(&mut u64)) {
        let (Self::Request(time) | Self::Reply(time) | Self::Release(time)) = self;
        visit_time(time, visit);
    }

    fn forged(&self, choice: u64) -> Self {
        match self {
            Self::Request(_) => Self::Request(choice % 8),
            Self::Reply(_) => Self::Reply(choice % 8),
            Self::Release(_) => Self::Release(choice % 8),
        }
    }
}

impl Sound for Lamport {}

impl Algorithm for Lamport {
    const PROFILE: Profile = Profile {
        name: "lamport",
        layer: Layer::Mutex,
        summary: "everyone keeps the same queue, ordered by stamps",
        source: "Lamport, CACM 21(7), 1978",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::NoDuplication,
            Assumption::Fifo,
            Assumption::NoCrash,
            Assumption::Honesty,
        ],
        guarantees: &[Property::ME1, Property::ME2, Property::ME3, Property::ClockCondition],
        cost: "3(n - 1) messages per entry",
        never_quiescent: false,
    };

    const STEPS: &'static [Step] = &[
        Step::on(
            "Acquire",
            "tick the clock; queue the own request and send REQUEST(clock, i) to all others",
        ),
        Step::doing(
            "REQUEST",
            "Entered",
            "REQUEST(t, j): queue it and send REPLY; this was the last word missing: enter",
        ),
        Step::on("REQUEST", "REQUEST(t, j): queue it and send REPLY to j"),
        Step::doing(
            "REPLY",
            "Entered",
            "REPLY: the own request is first, and all have sent something later: enter",
        ),
        Step::on("REPLY", "REPLY: remember the time of the sender's last message"),
        Step::on("Release", "leave; remove the own request and send RELEASE to all others"),
        Step::doing(
            "RELEASE",
            "Entered",
            "RELEASE from j: remove j's request; the own one is first now: enter",
        ),
        Step::on("RELEASE", "RELEASE from j: remove j's request from the queue"),
    ];

    const STATES_RARELY_RECUR: bool = true;

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self { clock: setup.clock(id), ..Self::new(setup.n, id) }
    }

    fn cost(setup: &Setup) -> Cost {
        Cost::exact("3(n - 1)", 3 * (setup.n as u64 - 1))
            .with_delays(2..=2, 1..=1)
            .without_delays_if_single(setup.n)
    }
}
