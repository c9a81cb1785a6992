//! Chandy, Misra and Haas's deadlock detection in the OR model: a process that begins to wait asks those that it waits for, and is in a
//! deadlock if all of them, and all that they wait for, answer that they wait too.
//!
//! - **Source**: Chandy, Misra and Haas, "Distributed Deadlock Detection", ACM Transactions on Computer Systems 1(2), 1983, section 4 (the
//!   communication model).
//! - **Assumes**: links that lose nothing, duplicate nothing and keep the order of messages; no crashes. A process that waits needs a
//!   message of one of the processes that it waits for, sends none meanwhile, and does not withdraw.
//! - **Guarantees**: no-false-detection and eventual-detection: a process that announces a deadlock waits forever, and of the processes
//!   that wait forever together one announces it.
//! - **Costs**: at most one QUERY and one REPLY for each edge of the wait-for graph, 2n(n - 1) messages at most, each time a process begins
//!   to wait.
//! - **Departs from the paper**: a process begins a computation whenever it begins to wait, not after a time: the last process of a
//!   deadlock to wait finds it.

use core::convert::Infallible;

use quorate_core::detection::{Command, Misuse, Output, StableProperty};
use quorate_core::{
    Assumption, Cost, Effects, Kind, Layer, Message as CoreMessage, Process, ProcessId, ProcessSet,
    Profile, Property, SortedMap,
};

use crate::{Algorithm, Setup, Sound};

/// One process of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ChandyMisraHaasOr {
    id: ProcessId,
    n: usize,
    /// The dependent set: processes of which a message ends the wait. The process is active if there are none.
    waiting: ProcessSet,
    /// Number of computations that this process has begun.
    computation: u64,
    /// The latest computation of each initiator, as far as this process takes part in it.
    latest: SortedMap<ProcessId, Participation>,
}

/// The part of a process in the latest computation of one initiator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Participation {
    computation: u64,
    /// The process whose query came first. It gets the last reply.
    engager: ProcessId,
    /// Whether the process has been waiting since it was engaged.
    waits: bool,
    /// Number of queries that are not answered.
    unanswered: usize,
}

/// A computation: its initiator and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct QueryId {
    initiator: ProcessId,
    computation: u64,
}

/// The messages of the computation and of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// A message of the computation, which may end the wait of its receiver.
    Basic,
    /// Asks whether the receiver waits.
    Query(QueryId),
    /// The sender waits, and all that it waits for have replied.
    Reply(QueryId),
}

impl CoreMessage for Message {
    const KINDS: &'static [Kind] =
        &[Kind::detection("MESSAGE"), Kind::detection("QUERY"), Kind::detection("REPLY")];

    fn kind(&self) -> usize {
        match self {
            Self::Basic => 0,
            Self::Query(_) => 1,
            Self::Reply(_) => 2,
        }
    }

    fn bytes(&self) -> Option<u64> {
        Some(match self {
            Self::Basic => 1,
            Self::Query(_) | Self::Reply(_) => 1 + 2 * 8,
        })
    }
}

impl ChandyMisraHaasOr {
    fn new(setup: &Setup, id: ProcessId) -> Self {
        let (waiting, latest) = (ProcessSet::new(), SortedMap::new());
        Self { id, n: setup.n, waiting, computation: 0, latest }
    }

    fn wait(&mut self, on: ProcessSet, out: &mut Effects<Self>) {
        self.waiting = on;
        self.computation += 1;
        let query = QueryId { initiator: self.id, computation: self.computation };
        self.engage(self.id, query, out);
    }

    /// Takes part in a computation and passes its query on.
    fn engage(&mut self, engager: ProcessId, query: QueryId, out: &mut Effects<Self>) {
        let (waits, unanswered) = (true, self.waiting.len());
        let computation = query.computation;
        let participation = Participation { computation, engager, waits, unanswered };
        self.latest.insert(query.initiator, participation);
        out.multicast(self.waiting.clone(), Message::Query(query));
    }

    fn on_query(&mut self, from: ProcessId, query: QueryId, out: &mut Effects<Self>) {
        if self.waiting.is_empty() {
            return;
        }
        match self.latest.get(&query.initiator) {
            Some(latest) if latest.computation > query.computation => {}
            Some(latest) if latest.computation == query.computation => {
                if latest.waits {
                    out.send(from, Message::Reply(query));
                }
            }
            _ => self.engage(from, query, out),
        }
    }

    fn on_reply(&mut self, query: QueryId, out: &mut Effects<Self>) {
        let Some(latest) = self.latest.get_mut(&query.initiator) else {
            return out.ignored("a reply to no query");
        };
        if latest.computation != query.computation || !latest.waits || latest.unanswered == 0 {
            return;
        }
        latest.unanswered -= 1;
        if latest.unanswered > 0 {
            return;
        }
        match latest.engager {
            own if own == self.id => out.output(Output::Announced),
            engager => out.send(engager, Message::Reply(query)),
        }
    }

    fn on_basic_message(&mut self, from: ProcessId, out: &mut Effects<Self>) {
        out.output(Output::Received(from));
        if self.waiting.contains(from) {
            self.waiting.clear();
            self.latest.values_mut().for_each(|latest| latest.waits = false);
            out.output(Output::Unblocked);
        }
    }
}

impl Process for ChandyMisraHaasOr {
    type Command = Command;
    type Message = Message;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        let others = ProcessSet::others(self.n, self.id);
        match command {
            Command::Wait(_) | Command::Send(_) if !self.waiting.is_empty() => {
                return Err(Misuse::NotActive);
            }
            Command::Wait(on) if on.is_empty() || !on.is_subset(&others) => {
                return Err(Misuse::NotAnother);
            }
            Command::Send(to) if !others.contains(to) => return Err(Misuse::NotAnother),
            Command::Wait(on) => self.wait(on, out),
            Command::Send(to) => out.send(to, Message::Basic),
            Command::Start | Command::Rest | Command::Grant => {
                return Err(Misuse::WrongComputation);
            }
        }
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        match message {
            Message::Basic => self.on_basic_message(from, out),
            Message::Query(query) => self.on_query(from, query, out),
            Message::Reply(query) => self.on_reply(query, out),
        }
    }

    fn waits_for(&self) -> ProcessSet {
        self.waiting.clone()
    }
}

impl Algorithm for ChandyMisraHaasOr {
    const PROFILE: Profile = Profile {
        name: "chandy-misra-haas-or",
        layer: Layer::Detection,
        summary: "a query is answered by waiting processes once all that they wait for have answered",
        source: "Chandy, Misra and Haas, ACM TOCS 1(2), 1983, section 4",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::NoDuplication,
            Assumption::Fifo,
            Assumption::NoCrash,
            Assumption::Honesty,
        ],
        guarantees: &[Property::NoFalseDetection, Property::EventualDetection],
        cost: "1 to 2n(n - 1) queries and replies each time a process begins to wait",
        never_quiescent: false,
    };

    const STABLE_PROPERTY: StableProperty = StableProperty::OrDeadlock;

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(setup, id)
    }

    fn cost(setup: &Setup) -> Cost {
        let n = setup.n as u64;
        Cost::between("1 to 2n(n - 1)", 1, (2 * n * (n - 1)).max(1))
    }
}

impl Sound for ChandyMisraHaasOr {}

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

    fn effects(act: impl FnOnce(&mut Effects<ChandyMisraHaasOr>)) -> Vec<String> {
        let mut out = Effects::new(Time(0));
        act(&mut out);
        let shown = |effect: Effect<ChandyMisraHaasOr>| match effect {
            Effect::Send { to, message } => format!("{} {to}", Message::KINDS[message.kind()].name),
            Effect::Multicast { message, .. } => Message::KINDS[message.kind()].name.into(),
            Effect::Output(Output::Received(_)) => "received".into(),
            Effect::Output(output) => format!("{output:?}"),
            _ => "other".into(),
        };
        out.drain().map(shown).collect()
    }

    fn receive(process: &mut ChandyMisraHaasOr, from: u32, message: Message) -> Vec<String> {
        effects(|out| process.on_message(p(from), message, out))
    }

    fn query(initiator: u32, computation: u64) -> QueryId {
        QueryId { initiator: p(initiator), computation }
    }

    /// Process 1 of 3, which waits for both others.
    fn waiting() -> ChandyMisraHaasOr {
        let mut process = ChandyMisraHaasOr::build(&Setup::new(3), p(1));
        let wait = Command::Wait([p(0), p(2)].into_iter().collect());
        assert_eq!(effects(|out| process.on_command(wait, out).unwrap()), ["QUERY"]);
        process
    }

    #[test]
    fn the_engager_gets_the_last_reply() {
        let mut process = waiting();
        assert_eq!(receive(&mut process, 0, Message::Query(query(0, 1))), ["QUERY"]);
        assert_eq!(receive(&mut process, 2, Message::Query(query(0, 1))), ["REPLY p2"]);
        assert_eq!(receive(&mut process, 0, Message::Reply(query(0, 1))), [""; 0]);
        assert_eq!(receive(&mut process, 2, Message::Reply(query(0, 1))), ["REPLY p0"]);
        assert_eq!(receive(&mut process, 0, Message::Query(query(0, 0))), [""; 0], "an old one");
    }

    #[test]
    fn all_replies_show_a_deadlock() {
        let mut process = waiting();
        assert_eq!(receive(&mut process, 0, Message::Reply(query(1, 1))), [""; 0]);
        assert_eq!(receive(&mut process, 2, Message::Reply(query(1, 1))), ["Announced"]);
        assert_eq!(receive(&mut process, 2, Message::Reply(query(2, 1))), ["other"]);
    }

    #[test]
    fn a_process_that_was_active_since_does_not_reply() {
        let mut process = waiting();
        assert_eq!(receive(&mut process, 0, Message::Query(query(0, 1))), ["QUERY"]);
        assert_eq!(receive(&mut process, 2, Message::Basic), ["received", "Unblocked"]);
        assert_eq!(receive(&mut process, 2, Message::Query(query(0, 1))), [""; 0]);
        let wait = Command::Wait([p(2)].into_iter().collect());
        assert_eq!(effects(|out| process.on_command(wait, out).unwrap()), ["QUERY"]);
        assert_eq!(
            receive(&mut process, 2, Message::Query(query(0, 1))),
            [""; 0],
            "since it waits"
        );
        assert_eq!(receive(&mut process, 2, Message::Reply(query(0, 1))), [""; 0]);
        assert_eq!(receive(&mut process, 0, Message::Basic), ["received"], "it waits for p2 only");
    }
}
