//! Token ring mutual exclusion: the token circulates, and the process that has it may enter.
//!
//! - **Source**: Le Lann, "Distributed Systems: Towards a Formal Approach", IFIP 1977; Coulouris et al.,
//!   "Distributed Systems", section 15.2.
//! - **Assumes**: fixed membership; links that neither lose nor duplicate, in any order; a perfect detector;
//!   crashed processes never recover.
//! - **Guarantees**: ME1 and ME2, with crashes. Not ME3: the token serves the process that it reaches first.
//! - **Costs**: 1 to n messages per entry when all processes request entry, without end when no process does;
//!   up to n message delays into a free section, 1 to n from the holder to its successor. A crash costs up to
//!   2(n - 1) messages more.
//! - **Departs from the paper**: the ring closes around crashed processes, and a token lost with one of them is
//!   regenerated exactly once. The first live process of the ring asks all others for the last hop of the token that
//!   they know. A process that answers knows of the crash and accepts no further messages from the crashed process. Hops
//!   are numbered. The token is lost if and only if the latest hop that any answer contains went to a crashed process. A
//!   process that waits for answers keeps the token if it arrives, so that answers stay less than 3n hops behind it.
//!
//! An idle ring never becomes silent. The driver ends a run when its users have finished.

use alloc::vec::Vec;
use core::convert::Infallible;

use quorate_core::mutex::{Command, Misuse, Output};
use quorate_core::{
    Assumption, Belief, Cost, Effects, Kind, Layer, Message as CoreMessage, Permission, Process,
    ProcessId, ProcessSet, Profile, Property,
};

use crate::literature::{MutexFigure, Prediction};
use crate::{Algorithm, Setup, Shape, Sound};

/// One process of the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TokenRing {
    id: ProcessId,
    n: usize,
    wants: bool,
    inside: bool,
    crashed: ProcessSet,
    trail: Trail,
    census: Option<Census>,
}

/// The last hop of the token that a process knows, and its destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Trail {
    hop: u64,
    to: ProcessId,
}

/// A census of the token's last hop, while answers are missing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Census {
    silent: ProcessSet,
    latest: Trail,
}

/// A message of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// The token, with the number of its hop.
    Token(u64),
    /// Reports crashed processes and asks for the last known hop of the token.
    Census(ProcessSet),
    /// The answer to the census with these crashed processes: the last hop that the sender knows.
    Answer(ProcessSet, Trail),
}

impl TokenRing {
    /// Creates process `id` of n processes. Process 0 starts with the token.
    pub fn new(n: usize, id: ProcessId) -> Self {
        let (crashed, trail) = (ProcessSet::new(), Trail::default());
        Self { id, n, wants: false, inside: false, crashed, trail, census: None }
    }

    /// The next live process of the ring. It is the process itself if no other is alive.
    fn successor(&self) -> ProcessId {
        let round =
            (1..=self.n).map(|step| ProcessId::from_index((self.id.index() + step) % self.n));
        round.into_iter().find(|next| !self.crashed.contains(*next)).unwrap_or(self.id)
    }

    fn has_token(&self) -> bool {
        self.trail.to == self.id
    }

    /// Enters with the token, or passes it on.
    fn use_token(&mut self, out: &mut Effects<Self>) {
        if self.inside || !self.has_token() {
            return;
        }
        if self.wants {
            (self.wants, self.inside) = (false, true);
            return out.output(Output::Entered);
        }
        let to = self.successor();
        if to != self.id && self.census.is_none() {
            self.trail = Trail { hop: self.trail.hop + 1, to };
            out.send(to, Message::Token(self.trail.hop));
        }
    }

    /// Starts a census after each crash. Only the first live process does so.
    fn take_census(&mut self, out: &mut Effects<Self>) {
        let first = ProcessId::all(self.n).find(|process| !self.crashed.contains(*process));
        if first != Some(self.id) {
            return;
        }
        let mut silent = ProcessSet::others(self.n, self.id);
        silent.subtract(&self.crashed);
        if !silent.is_empty() {
            out.multicast(silent.clone(), Message::Census(self.crashed.clone()));
        }
        self.census = Some(Census { silent, latest: self.trail });
        self.close_census(out);
    }

    fn close_census(&mut self, out: &mut Effects<Self>) {
        let Some(census) = self.census.take_if(|census| census.silent.is_empty()) else { return };
        // Hops that this process has seen meanwhile count as well.
        let latest = census.latest.max(self.trail);
        if self.crashed.contains(latest.to) {
            self.trail = Trail { hop: latest.hop + 1, to: self.id };
        }
        self.use_token(out);
    }

    fn on_answer(
        &mut self,
        from: ProcessId,
        crashed: &ProcessSet,
        trail: Trail,
        out: &mut Effects<Self>,
    ) {
        let Some(census) = self.census.as_mut().filter(|_| *crashed == self.crashed) else {
            return out.ignored("an answer to an older question");
        };
        census.silent.remove(from);
        census.latest = census.latest.max(trail);
        self.close_census(out);
    }
}

impl Process for TokenRing {
    type Command = Command;
    type Message = Message;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_start(&mut self, out: &mut Effects<Self>) {
        self.use_token(out);
    }

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        match (command, self.wants, self.inside) {
            (Command::Acquire, false, false) => self.wants = true,
            (Command::Acquire, ..) => return Err(Misuse::AlreadyAsked),
            (Command::Release, _, true) => self.inside = false,
            (Command::Release, ..) => return Err(Misuse::NotInside),
        }
        self.use_token(out);
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        if self.crashed.contains(from) {
            return out.ignored("a message of a crashed process");
        }
        match message {
            Message::Token(hop) if hop > self.trail.hop => {
                self.trail = Trail { hop, to: self.id };
                self.use_token(out);
            }
            Message::Token(_) => out.ignored("a token that has been here before"),
            Message::Census(crashed) => {
                self.crashed.union_with(&crashed);
                out.send(from, Message::Answer(crashed, self.trail));
            }
            Message::Answer(crashed, trail) => self.on_answer(from, &crashed, trail, out),
        }
    }

    fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
        match belief {
            Belief::Crashed(process) => {
                self.crashed.insert(process);
                self.take_census(out);
            }
            Belief::Alive(process) => {
                self.crashed.remove(process);
            }
        }
    }

    fn visit_shift_invariant(&mut self, visit: &mut dyn FnMut(&mut u64)) {
        visit(&mut self.trail.hop);
        self.census.iter_mut().for_each(|census| visit(&mut census.latest.hop));
    }

    fn waits_for(&self) -> ProcessSet {
        // The location of the token is unknown to a waiting process.
        if self.wants { ProcessSet::others(self.n, self.id) } else { ProcessSet::new() }
    }

    fn permission(&self) -> Permission {
        Permission::token(self.has_token())
    }
}

impl CoreMessage for Message {
    const KINDS: &'static [Kind] =
        &[Kind::mutex("TOKEN"), Kind::mutex("CENSUS"), Kind::mutex("ANSWER")];

    fn kind(&self) -> usize {
        match self {
            Self::Token(_) => 0,
            Self::Census(_) => 1,
            Self::Answer(..) => 2,
        }
    }

    fn visit_shift_invariant(&mut self, visit: &mut dyn FnMut(&mut u64)) {
        match self {
            Self::Token(hop) | Self::Answer(_, Trail { hop, .. }) => visit(hop),
            Self::Census(_) => {}
        }
    }

    fn forged(&self, choice: u64) -> Self {
        match self {
            Self::Token(hop) => Self::Token(hop.saturating_add(choice % 8)),
            other => other.clone(),
        }
    }
}

impl Sound for TokenRing {}

impl Algorithm for TokenRing {
    const PROFILE: Profile = Profile {
        name: "token-ring",
        layer: Layer::Mutex,
        summary: "the token travels round a ring, and its holder may enter",
        source: "Le Lann, IFIP 1977; Coulouris et al., Distributed Systems, section 15.2",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::NoDuplication,
            Assumption::CrashStop,
            Assumption::PerfectDetector,
            Assumption::Honesty,
        ],
        guarantees: &[Property::ME1, Property::ME2],
        cost: "1 to n messages per entry under load, without end when idle",
        never_quiescent: true,
    };

    const SHAPE: Shape = Shape::Ring;

    const TOKEN: Option<&'static str> = Some("TOKEN");

    /// A live process receives every token within n hops. The token makes less than n hops from the first question of a
    /// census to its last answer, because it does not pass the process that asks. Older numbers are in answers to an
    /// earlier census and in messages of crashed processes, which are ignored.
    const COUNTER_WINDOW: Option<fn(usize) -> u64> = Some(|n| 3 * n as u64);

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(setup.n, id)
    }

    fn cost(setup: &Setup) -> Cost {
        let n = setup.n as u64;
        Cost::between("1 to n", 0, n).with_delays(0..=n, 0..=n)
    }

    fn predict_entry(figure: MutexFigure, setup: &Setup, _: &[Vec<ProcessId>]) -> Prediction {
        let n = setup.n as f64;
        match figure {
            MutexFigure::Light => Prediction::between("1 to infinity", 1.0, f64::INFINITY)
                .with_remark(
                    "the token circulates while no process wants to enter: messages per entry grow with the time from \
                     one request to the next, here 2n + 8 message delays",
                ),
            MutexFigure::Saturated => Prediction::between("1 to n", 1.0, n),
            MutexFigure::Client => Prediction::expected("n/2", n / 2.0),
            MutexFigure::Synchronisation => Prediction::of_cost(figure, &Self::cost(setup)),
        }
    }
}
