//! Token ring mutual exclusion: the token goes round, and whoever has it may enter.
//!
//! - **Source**: Le Lann, "Distributed Systems: Towards a Formal Approach", IFIP 1977; Coulouris et al.,
//!   "Distributed Systems", section 15.2.
//! - **Assumes**: fixed membership; links that neither lose nor duplicate, in any order; a perfect detector;
//!   the crashed stay away.
//! - **Guarantees**: ME1 and ME2, with crashes. Not ME3: the token serves whom it passes first.
//! - **Costs**: 1 to n messages per entry when all want in, without end when nobody does; up to n message delays
//!   into a free section, 1 to n from the holder to its successor. A crash costs up to 2(n - 1) messages more.
//! - **Departs from the paper**: the ring closes round the crashed, and a token lost with one of them is made
//!   anew exactly once. The first live process of the ring asks everyone what they last knew of the token;
//!   who answers has heard of the crash and takes nothing more from the crashed. Hops are numbered: the
//!   token is lost exactly if the latest hop that any answer knows of went to a crashed process.
//!
//! An idle ring never falls silent. The driver ends a run when its users have what they wanted.

use core::convert::Infallible;

use quorate_core::mutex::{Command, Misuse, Output};
use quorate_core::{
    Assumption, Belief, Cost, Effects, Kind, Layer, Message as CoreMessage, Process, ProcessId,
    ProcessSet, Profile, Property,
};

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

/// What a process last knew of the token: where its latest hop went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Trail {
    hop: u64,
    to: ProcessId,
}

/// The question who has seen the token, while answers are missing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Census {
    silent: ProcessSet,
    latest: Trail,
}

/// What processes say.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// The token, on its so-manieth hop.
    Token(u64),
    /// These have crashed; what do you know of the token?
    Census(ProcessSet),
    /// With these crashed: the latest hop that I know of.
    Answer(ProcessSet, Trail),
}

impl TokenRing {
    /// Process `id` of n; process 0 starts with the token.
    pub fn new(n: usize, id: ProcessId) -> Self {
        let (crashed, trail) = (ProcessSet::new(), Trail::default());
        Self { id, n, wants: false, inside: false, crashed, trail, census: None }
    }

    /// The next live process round the ring; oneself if there is no other.
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
        if to != self.id {
            self.trail = Trail { hop: self.trail.hop + 1, to };
            out.send(to, Message::Token(self.trail.hop));
        }
    }

    /// The first live process looks for the token after each crash.
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
        // What this process has seen meanwhile counts as well.
        let latest = census.latest.max(self.trail);
        if self.crashed.contains(latest.to) {
            self.trail = Trail { hop: latest.hop + 1, to: self.id };
            self.use_token(out);
        }
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
        // Nobody knows where the token is.
        if self.wants { ProcessSet::others(self.n, self.id) } else { ProcessSet::new() }
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
        summary: "the token goes round, and whoever has it may enter",
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

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(setup.n, id)
    }

    fn cost(setup: &Setup) -> Cost {
        let n = setup.n as u64;
        Cost::between("1 to n", 0, n).with_delays(0..=n, 0..=n)
    }
}
