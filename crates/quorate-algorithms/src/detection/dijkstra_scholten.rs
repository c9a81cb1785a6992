//! Dijkstra and Scholten's termination detection: every message is acknowledged, the one that engaged a process last of all, so that
//! the engaged processes form a tree that shrinks to its root.
//!
//! - **Source**: Dijkstra and Scholten, "Termination Detection for Diffusing Computations", Information Processing Letters 11(1), 1980.
//! - **Assumes**: links that lose nothing and duplicate nothing; no crashes. Any order of messages on a link. All activity begins at one
//!   process, the root.
//! - **Guarantees**: no-false-detection and eventual-detection.
//! - **Costs**: one SIGNAL per message of the computation, so 2 messages for each of them in all. The longest chain of signals, at most
//!   n - 1 message delays, passes between the end of the computation and its announcement.
//! - **Departs from the paper**: the network is complete, and a process has one counter for the deficits of all its outgoing edges. The
//!   root may begin another computation after, or during, the last one.
//!
//! ```text
//!             first message (its sender is the parent)
//!   neutral -----------------------------------------> engaged
//!           <-----------------------------------------   |  further messages are signalled at once
//!             passive, and all own messages are
//!             signalled: signal the parent
//! ```

use core::convert::Infallible;

use quorate_core::detection::{Command, Misuse, Output, StableProperty};
use quorate_core::{
    Assumption, Cost, Effects, Kind, Layer, Message as CoreMessage, Process, ProcessId, ProcessSet,
    Profile, Property,
};

use crate::{Algorithm, Setup, Sound};

/// One process of Dijkstra and Scholten's algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DijkstraScholten {
    id: ProcessId,
    n: usize,
    is_root: bool,
    active: bool,
    engagement: Engagement,
    /// Number of own messages that are not signalled yet.
    deficit: u64,
}

/// The place of a process in the tree of engaged processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Engagement {
    Neutral,
    /// The root of the tree, while a computation runs.
    Root,
    /// Engaged by a message of this parent, which is still to be signalled.
    Child(ProcessId),
}

/// The messages of the computation and of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// A message of the computation, which makes its receiver active.
    Work,
    /// Acknowledges one message of the computation.
    Signal,
}

impl CoreMessage for Message {
    const KINDS: &'static [Kind] = &[Kind::detection("WORK"), Kind::detection("SIGNAL")];

    fn kind(&self) -> usize {
        match self {
            Self::Work => 0,
            Self::Signal => 1,
        }
    }

    fn bytes(&self) -> Option<u64> {
        Some(1)
    }
}

impl DijkstraScholten {
    fn new(setup: &Setup, id: ProcessId) -> Self {
        Self {
            id,
            n: setup.n,
            is_root: id == setup.server,
            active: false,
            engagement: Engagement::Neutral,
            deficit: 0,
        }
    }

    /// A passive process without deficit leaves the tree.
    fn leave_if_done(&mut self, out: &mut Effects<Self>) {
        if self.active || self.deficit > 0 {
            return;
        }
        match core::mem::replace(&mut self.engagement, Engagement::Neutral) {
            Engagement::Neutral => {}
            Engagement::Root => out.output(Output::Announced),
            Engagement::Child(parent) => out.send(parent, Message::Signal),
        }
    }
}

impl Process for DijkstraScholten {
    type Command = Command;
    type Message = Message;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        match command {
            Command::Start if !self.is_root => return Err(Misuse::NotRoot),
            Command::Start => (self.active, self.engagement) = (true, Engagement::Root),
            Command::Send(_) | Command::Rest if !self.active => return Err(Misuse::NotActive),
            Command::Send(to) if to == self.id || to.index() >= self.n => {
                return Err(Misuse::NotAnother);
            }
            Command::Send(to) => {
                self.deficit += 1;
                out.send(to, Message::Work);
            }
            Command::Rest => {
                self.active = false;
                self.leave_if_done(out);
            }
            Command::Wait(_) | Command::Grant => return Err(Misuse::WrongComputation),
        }
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        match message {
            Message::Work => {
                self.active = true;
                out.output(Output::Received(from));
                match self.engagement {
                    Engagement::Neutral => self.engagement = Engagement::Child(from),
                    Engagement::Root | Engagement::Child(_) => out.send(from, Message::Signal),
                }
            }
            Message::Signal if self.deficit == 0 => out.ignored("a signal for no message"),
            Message::Signal => {
                self.deficit -= 1;
                self.leave_if_done(out);
            }
        }
    }

    fn waits_for(&self) -> ProcessSet {
        match self.engagement {
            Engagement::Root if self.deficit > 0 => ProcessSet::others(self.n, self.id),
            _ => ProcessSet::new(),
        }
    }
}

impl Algorithm for DijkstraScholten {
    const PROFILE: Profile = Profile {
        name: "dijkstra-scholten",
        layer: Layer::Detection,
        summary: "acknowledged messages form a tree of engaged processes, which shrinks to its root",
        source: "Dijkstra and Scholten, Information Processing Letters 11(1), 1980",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::NoDuplication,
            Assumption::NoCrash,
            Assumption::Honesty,
        ],
        guarantees: &[Property::NoFalseDetection, Property::EventualDetection],
        cost: "one signal for each message of the computation",
        never_quiescent: false,
    };

    const STABLE_PROPERTY: StableProperty = StableProperty::Termination;

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(setup, id)
    }

    fn cost(_: &Setup) -> Cost {
        Cost::exact("1", 1)
    }
}

impl Sound for DijkstraScholten {}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use quorate_core::{Effect, Time};

    use super::*;

    fn p(number: u32) -> ProcessId {
        ProcessId::new(number)
    }

    fn effects(act: impl FnOnce(&mut Effects<DijkstraScholten>)) -> Vec<&'static str> {
        let mut out = Effects::new(Time(0));
        act(&mut out);
        let shown = |effect: Effect<DijkstraScholten>| match effect {
            Effect::Send { message, .. } => Message::KINDS[message.kind()].name,
            Effect::Output(Output::Received(_)) => "received",
            Effect::Output(Output::Announced) => "announced",
            _ => "other",
        };
        out.drain().map(shown).collect()
    }

    fn command(process: &mut DijkstraScholten, command: Command) -> Vec<&'static str> {
        effects(|out| process.on_command(command, out).unwrap())
    }

    fn receive(process: &mut DijkstraScholten, from: u32, message: Message) -> Vec<&'static str> {
        effects(|out| process.on_message(p(from), message, out))
    }

    #[test]
    fn the_first_message_is_signalled_last() {
        let mut process = DijkstraScholten::build(&Setup::new(3), p(1));
        assert_eq!(receive(&mut process, 0, Message::Work), ["received"]);
        assert_eq!(receive(&mut process, 2, Message::Work), ["received", "SIGNAL"]);
        assert_eq!(command(&mut process, Command::Send(p(2))), ["WORK"]);
        assert_eq!(receive(&mut process, 2, Message::Signal), [""; 0], "it is active");
        assert_eq!(command(&mut process, Command::Send(p(2))), ["WORK"]);
        assert_eq!(command(&mut process, Command::Rest), [""; 0], "its message is not signalled");
        assert_eq!(receive(&mut process, 2, Message::Signal), ["SIGNAL"]);
        assert_eq!(
            receive(&mut process, 2, Message::Signal),
            ["other"],
            "it owes and awaits nothing"
        );
    }

    #[test]
    fn the_root_announces_the_end_of_each_computation() {
        let mut root = DijkstraScholten::build(&Setup::new(2), p(0));
        for _ in 0..2 {
            assert_eq!(command(&mut root, Command::Start), [""; 0]);
            assert_eq!(command(&mut root, Command::Send(p(1))), ["WORK"]);
            assert_eq!(command(&mut root, Command::Rest), [""; 0]);
            assert_eq!(receive(&mut root, 1, Message::Signal), ["announced"]);
        }
    }

    #[test]
    fn a_passive_process_does_nothing() {
        let mut process = DijkstraScholten::build(&Setup::new(2), p(1));
        let mut out = Effects::new(Time(0));
        assert_eq!(process.on_command(Command::Start, &mut out), Err(Misuse::NotRoot));
        assert_eq!(process.on_command(Command::Rest, &mut out), Err(Misuse::NotActive));
        assert_eq!(process.on_command(Command::Send(p(0)), &mut out), Err(Misuse::NotActive));
        assert!(out.is_empty());
    }
}
