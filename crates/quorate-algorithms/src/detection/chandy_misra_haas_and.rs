//! Chandy, Misra and Haas's deadlock detection in the AND model: a process that begins to wait sends probes along the edges of the
//! wait-for graph, and is in a deadlock if one comes back.
//!
//! - **Source**: Chandy, Misra and Haas, "Distributed Deadlock Detection", ACM Transactions on Computer Systems 1(2), 1983, section 3 (the
//!   resource model).
//! - **Assumes**: links that lose nothing, duplicate nothing and keep the order of messages; no crashes. A process that waits needs all
//!   grants, grants nothing meanwhile, and does not withdraw.
//! - **Guarantees**: no-false-detection and eventual-detection: a process that announces a deadlock is in a cycle of processes that wait for
//!   each other, and in every such cycle a process announces it.
//! - **Costs**: at most one PROBE for each edge of the wait-for graph, n(n - 1) at most, each time a process begins to wait.
//! - **Departs from the paper**: processes wait for processes, not for resources that controllers manage. A process begins a computation
//!   whenever it begins to wait, not after a time: the last process to wait in a cycle finds it. A process that no longer waits forgets which
//!   initiators depend on it. None of them can have stopped waiting before, so computations need no numbers.

use core::convert::Infallible;

use quorate_core::detection::{Command, Misuse, Output, StableProperty};
use quorate_core::{
    Assumption, Cost, Effects, Kind, Layer, Message as CoreMessage, Process, ProcessId, ProcessSet,
    Profile, Property,
};

use crate::{Algorithm, Setup, Sound};

/// One process of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ChandyMisraHaasAnd {
    id: ProcessId,
    n: usize,
    /// Processes whose grants are missing. The process is active if there are none.
    waiting: ProcessSet,
    /// Processes that wait for a grant of this one.
    requests: ProcessSet,
    /// Initiators that are known to depend on this process, while it waits.
    dependent: ProcessSet,
    announced: bool,
}

/// The messages of the computation and of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// The sender waits for a grant.
    Request,
    /// The receiver need not wait for the sender.
    Grant,
    /// The initiator waits directly or indirectly for the sender, which waits for the receiver.
    Probe {
        /// The process that began this computation.
        initiator: ProcessId,
    },
}

impl CoreMessage for Message {
    const KINDS: &'static [Kind] =
        &[Kind::detection("REQUEST"), Kind::detection("GRANT"), Kind::detection("PROBE")];

    fn kind(&self) -> usize {
        match self {
            Self::Request => 0,
            Self::Grant => 1,
            Self::Probe { .. } => 2,
        }
    }

    fn bytes(&self) -> Option<u64> {
        Some(match self {
            Self::Request | Self::Grant => 1,
            Self::Probe { .. } => 1 + 8,
        })
    }
}

impl ChandyMisraHaasAnd {
    fn new(setup: &Setup, id: ProcessId) -> Self {
        Self {
            id,
            n: setup.n,
            waiting: ProcessSet::new(),
            requests: ProcessSet::new(),
            dependent: ProcessSet::new(),
            announced: false,
        }
    }

    fn wait(&mut self, on: ProcessSet, out: &mut Effects<Self>) {
        self.announced = false;
        // A probe follows its request on the same link, so that it finds the request there.
        out.multicast(on.clone(), Message::Request);
        out.multicast(on.clone(), Message::Probe { initiator: self.id });
        self.waiting = on;
    }

    fn grant(&mut self, out: &mut Effects<Self>) -> Result<(), Misuse> {
        let to = self.requests.first().ok_or(Misuse::NothingToGrant)?;
        self.requests.remove(to);
        out.send(to, Message::Grant);
        Ok(())
    }

    fn on_grant(&mut self, from: ProcessId, out: &mut Effects<Self>) {
        if !self.waiting.remove(from) {
            return out.ignored("a grant that was not requested");
        }
        out.output(Output::Received(from));
        if self.waiting.is_empty() {
            self.dependent.clear();
            out.output(Output::Unblocked);
        }
    }

    fn on_probe(&mut self, from: ProcessId, initiator: ProcessId, out: &mut Effects<Self>) {
        // An active process, or one that has granted the request of the sender, is not part of a deadlock of the sender.
        if self.waiting.is_empty() || !self.requests.contains(from) {
            return;
        }
        if initiator == self.id {
            if !self.announced {
                self.announced = true;
                out.output(Output::Announced);
            }
        } else if self.dependent.insert(initiator) {
            out.multicast(self.waiting.clone(), Message::Probe { initiator });
        }
    }
}

impl Process for ChandyMisraHaasAnd {
    type Command = Command;
    type Message = Message;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        let others = ProcessSet::others(self.n, self.id);
        match command {
            Command::Wait(_) | Command::Grant if !self.waiting.is_empty() => {
                return Err(Misuse::NotActive);
            }
            Command::Wait(on) if on.is_empty() || !on.is_subset(&others) => {
                return Err(Misuse::NotAnother);
            }
            Command::Wait(on) => self.wait(on, out),
            Command::Grant => self.grant(out)?,
            Command::Start | Command::Send(_) | Command::Rest => {
                return Err(Misuse::WrongComputation);
            }
        }
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        match message {
            Message::Request => {
                self.requests.insert(from);
                out.output(Output::Requested(from));
            }
            Message::Grant => self.on_grant(from, out),
            Message::Probe { initiator } => self.on_probe(from, initiator, out),
        }
    }

    fn waits_for(&self) -> ProcessSet {
        self.waiting.clone()
    }
}

impl Algorithm for ChandyMisraHaasAnd {
    const PROFILE: Profile = Profile {
        name: "chandy-misra-haas-and",
        layer: Layer::Detection,
        summary: "a probe that comes back along a cycle of waiting processes shows a deadlock",
        source: "Chandy, Misra and Haas, ACM TOCS 1(2), 1983, section 3",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::NoDuplication,
            Assumption::Fifo,
            Assumption::NoCrash,
            Assumption::Honesty,
        ],
        guarantees: &[Property::NoFalseDetection, Property::EventualDetection],
        cost: "1 to n(n - 1) probes each time a process begins to wait",
        never_quiescent: false,
    };

    const STABLE_PROPERTY: StableProperty = StableProperty::AndDeadlock;

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(setup, id)
    }

    fn cost(setup: &Setup) -> Cost {
        let n = setup.n as u64;
        Cost::between("1 to n(n - 1)", 1, (n * (n - 1)).max(1))
    }
}

impl Sound for ChandyMisraHaasAnd {}

#[cfg(test)]
mod tests {
    use std::format;
    use std::string::String;
    use std::vec::Vec;

    use quorate_core::{Effect, Time};

    use super::*;

    fn p(number: u32) -> ProcessId {
        ProcessId::new(number)
    }

    fn effects(act: impl FnOnce(&mut Effects<ChandyMisraHaasAnd>)) -> Vec<String> {
        let mut out = Effects::new(Time(0));
        act(&mut out);
        let shown = |effect: Effect<ChandyMisraHaasAnd>| match effect {
            Effect::Send { to, message } => format!("{} {to}", Message::KINDS[message.kind()].name),
            Effect::Multicast { message, .. } => Message::KINDS[message.kind()].name.into(),
            Effect::Output(output) => format!("{output:?}"),
            _ => "other".into(),
        };
        out.drain().map(shown).collect()
    }

    fn command(process: &mut ChandyMisraHaasAnd, command: Command) -> Vec<String> {
        effects(|out| process.on_command(command, out).unwrap())
    }

    fn receive(process: &mut ChandyMisraHaasAnd, from: u32, message: Message) -> Vec<String> {
        effects(|out| process.on_message(p(from), message, out))
    }

    fn probe(initiator: u32) -> Message {
        Message::Probe { initiator: p(initiator) }
    }

    /// Process 1 of 3, which waits for process 2 and has the request of process 0.
    fn between() -> ChandyMisraHaasAnd {
        let mut process = ChandyMisraHaasAnd::build(&Setup::new(3), p(1));
        let waits = command(&mut process, Command::Wait([p(2)].into_iter().collect()));
        assert_eq!(waits, ["REQUEST", "PROBE"]);
        assert_eq!(receive(&mut process, 0, Message::Request).len(), 1);
        process
    }

    #[test]
    fn a_waiting_process_forwards_a_computation_once() {
        let mut process = between();
        assert_eq!(receive(&mut process, 0, probe(0)), ["PROBE"]);
        assert_eq!(receive(&mut process, 0, probe(0)), [""; 0]);
        assert_eq!(receive(&mut process, 2, probe(2)), [""; 0], "p2 waits for others");
        receive(&mut process, 2, Message::Grant);
        command(&mut process, Command::Wait([p(2)].into_iter().collect()));
        assert_eq!(receive(&mut process, 0, probe(0)), ["PROBE"], "it waits again");
    }

    #[test]
    fn a_probe_that_comes_back_is_announced_once() {
        let mut process = between();
        assert_eq!(receive(&mut process, 0, probe(1)), ["Announced"]);
        assert_eq!(receive(&mut process, 0, probe(1)), [""; 0]);
    }

    #[test]
    fn an_active_process_forwards_nothing_and_grants() {
        let mut process = between();
        let granted = receive(&mut process, 2, Message::Grant);
        assert_eq!(granted, [format!("{:?}", Output::Received(p(2))), "Unblocked".into()]);
        assert_eq!(receive(&mut process, 0, probe(0)), [""; 0]);
        assert_eq!(command(&mut process, Command::Grant), ["GRANT p0"]);
        let mut out = Effects::new(Time(0));
        assert_eq!(process.on_command(Command::Grant, &mut out), Err(Misuse::NothingToGrant));
    }
}
