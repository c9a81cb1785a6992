//! Ricart-Agrawala mutual exclusion: a process asks all others and enters once all have agreed.
//!
//! - **Source**: Ricart and Agrawala, "An Optimal Algorithm for Mutual Exclusion in Computer Networks", CACM 24(1), 1981.
//! - **Assumes**: fixed membership; no process crashes; links that neither lose nor duplicate. Any order.
//! - **Guarantees**: ME1, ME2 if holders leave, ME3: entries in the order of stamps.
//! - **Costs**: 2(n - 1) messages per entry; two message delays into a free section, one from the holder to its successor.
//! - **Departs from the paper**: sets of processes replace its flag array and reply counter. A reply carries the
//!   replier's clock: on links that reorder messages, a reply may overtake an earlier request. Without that time the
//!   next request would get a stamp that contradicts the happened-before order (ME3).

use core::convert::Infallible;
use core::fmt::Debug;
use core::hash::Hash;
use core::marker::PhantomData;
use core::mem;

use quorate_core::mutex::{Command, Misuse, Output};
use quorate_core::{
    Assumption, Cost, Effects, Kind, LamportClock, Layer, Message as CoreMessage, Process,
    ProcessId, ProcessSet, Profile, Property, Stamp,
};

use crate::{Algorithm, Setup, Sound, Step};

/// One process of the algorithm.
pub type RicartAgrawala = AskEveryone<ByStamp>;

/// The rule by which one of two requests goes first. The algorithm and its broken variants differ in it.
pub trait PriorityRule: Clone + Eq + Hash + Debug + Send + Sync {
    /// The profile of the algorithm with this rule.
    const PROFILE: Profile;

    /// Returns `true` if `mine` goes before `theirs`.
    fn goes_first(mine: Stamp, theirs: Stamp) -> bool;
}

/// The paper's rule: the request with the smaller stamp goes first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ByStamp;

/// A process that asks all others. It defers its reply to a request that its own request precedes by the rule.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AskEveryone<R> {
    id: ProcessId,
    n: usize,
    clock: LamportClock,
    phase: Phase,
    /// Processes whose reply is deferred until this process has left.
    deferred: ProcessSet,
    rule: PhantomData<R>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Outside,
    Waiting { mine: Stamp, missing: ProcessSet },
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

impl<R: PriorityRule> AskEveryone<R> {
    /// Creates process `id` of n processes.
    pub fn new(n: usize, id: ProcessId) -> Self {
        let (clock, deferred) = (LamportClock::default(), ProcessSet::new());
        Self { id, n, clock, phase: Phase::Outside, deferred, rule: PhantomData }
    }

    fn acquire(&mut self, out: &mut Effects<Self>) {
        let mine = Stamp { time: self.clock.tick(), process: self.id };
        self.phase = Phase::Waiting { mine, missing: ProcessSet::others(self.n, self.id) };
        out.send_to_others(Message::Request(mine.time));
        self.enter_if_unanimous(out);
    }

    fn release(&mut self, out: &mut Effects<Self>) {
        self.phase = Phase::Outside;
        if !self.deferred.is_empty() {
            out.multicast(mem::take(&mut self.deferred), Message::Reply(self.clock.time()));
        }
    }

    /// Returns `true` if this process goes before the request with this stamp.
    fn precedes(&self, theirs: Stamp) -> bool {
        match &self.phase {
            Phase::Outside => false,
            Phase::Waiting { mine, .. } => R::goes_first(*mine, theirs),
            Phase::Inside => true,
        }
    }

    fn enter_if_unanimous(&mut self, out: &mut Effects<Self>) {
        if matches!(&self.phase, Phase::Waiting { missing, .. } if missing.is_empty()) {
            self.phase = Phase::Inside;
            out.output(Output::Entered);
        }
    }
}

impl<R: PriorityRule> Process for AskEveryone<R> {
    type Command = Command;
    type Message = Message;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        match (command, &self.phase) {
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
                if self.precedes(Stamp { time, process: from }) {
                    self.deferred.insert(from);
                } else {
                    out.send(from, Message::Reply(self.clock.time()));
                }
            }
            Message::Reply(time) => {
                self.clock.merge(time);
                let Phase::Waiting { missing, .. } = &mut self.phase else {
                    return out.ignored("a reply to no request");
                };
                missing.remove(from);
                self.enter_if_unanimous(out);
            }
        }
    }

    fn visit_shift_invariant(&mut self, visit: &mut dyn FnMut(&mut u64)) {
        self.clock.visit_shift_invariant(visit);
        if let Phase::Waiting { mine, .. } = &mut self.phase {
            visit(&mut mine.time);
        }
    }

    /// A time that the clock has reached cannot advance it any more. Then only its order to the own request matters.
    fn forget_dead_values_of(&self, from: ProcessId, message: &mut Message) {
        let now = self.clock.time();
        match message {
            Message::Request(time) if *time <= now => {
                let theirs = Stamp { time: *time, process: from };
                let is_older =
                    matches!(self.phase, Phase::Waiting { .. }) && !self.precedes(theirs);
                *time = if is_older { OLDER } else { now };
            }
            Message::Reply(time) if *time <= now => *time = now,
            _ => {}
        }
    }

    fn greatest_compared(&self) -> Option<u64> {
        match &self.phase {
            Phase::Waiting { mine, .. } => Some(mine.time),
            _ => Some(0),
        }
    }

    fn waits_for(&self) -> ProcessSet {
        match &self.phase {
            Phase::Waiting { missing, .. } => missing.clone(),
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

impl PriorityRule for ByStamp {
    const PROFILE: Profile = Profile {
        name: "ricart-agrawala",
        layer: Layer::Mutex,
        summary: "ask everyone, enter once everyone has agreed",
        source: "Ricart and Agrawala, CACM 24(1), 1981",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::NoDuplication,
            Assumption::NoCrash,
            Assumption::Honesty,
        ],
        guarantees: &[Property::ME1, Property::ME2, Property::ME3, Property::ClockCondition],
        cost: "2(n - 1) messages per entry",
        never_quiescent: false,
    };

    fn goes_first(mine: Stamp, theirs: Stamp) -> bool {
        mine < theirs
    }
}

impl Sound for AskEveryone<ByStamp> {}

impl<R: PriorityRule> Algorithm for AskEveryone<R> {
    const PROFILE: Profile = R::PROFILE;

    const STEPS: &'static [Step] = &[
        Step::on("Acquire", "tick the clock; send REQUEST(clock, i) to all others; wait"),
        Step::doing(
            "REQUEST",
            "REPLY",
            "REQUEST(t, j), and neither inside nor waiting with a request that goes first: send REPLY to j",
        ),
        Step::on("REQUEST", "REQUEST(t, j), otherwise: defer the answer to j"),
        Step::doing("REPLY", "Entered", "REPLY from the last missing process: enter"),
        Step::on("REPLY", "REPLY: one process less is missing"),
        Step::on("Release", "leave; send REPLY to every deferred process"),
    ];

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self { clock: setup.clock(id), ..Self::new(setup.n, id) }
    }

    fn cost(setup: &Setup) -> Cost {
        let messages = 2 * (setup.n as u64 - 1);
        Cost::exact("2(n - 1)", messages)
            .with_delays(2..=2, 1..=1)
            .without_delays_if_single(setup.n)
    }
}
