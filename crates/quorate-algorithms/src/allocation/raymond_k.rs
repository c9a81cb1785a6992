//! Raymond's multiple entries: a process asks all others and enters once all but k - 1 of them have agreed.
//!
//! - **Source**: Raymond, "A Distributed Algorithm for Multiple Entries to a Critical Section", Information Processing
//!   Letters 30(4), 1989.
//! - **Assumes**: fixed membership; no process crashes; links that neither lose nor duplicate. Any order.
//! - **Guarantees**: exclusion with k permits, no starvation if holders leave, concurrency.
//! - **Costs**: 2n - k - 1 to 2(n - 1) messages per entry; two message delays into a free section.
//! - **Departs from the paper**: nowhere in the rules. A process that is owed several replies by another one counts them per
//!   process, as in the paper; a set of processes that owe none replaces the paper's test of all counters.
//!
//! A process may enter, leave and ask again while replies to its earlier request are still deferred. A late reply must not
//! count for the new request. So the other process agrees to the new request only when it owes no reply at all, and a process
//! that leaves sends all its deferred replies to one process in one message, with their number.

use alloc::vec;
use alloc::vec::Vec;
use core::convert::Infallible;

use quorate_core::allocation::{Claim, Command, Misuse, Output};
use quorate_core::{
    Assumption, Cost, Effects, Kind, LamportClock, Layer, Message as CoreMessage, Process,
    ProcessId, ProcessSet, Profile, Property, Stamp,
};

use crate::{Algorithm, Setup, Sound};

/// One process of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RaymondK {
    id: ProcessId,
    /// Number of processes that may be inside together.
    capacity: usize,
    clock: LamportClock,
    phase: Phase,
    /// Number of replies that each process owes to this one, for this request and for earlier ones.
    owed: Vec<u32>,
    /// Number of replies to each process that are deferred until this process has left.
    deferred: Vec<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
    /// Agrees to this number of requests of the recipient.
    Reply(u32),
}

impl RaymondK {
    /// Creates process `id` of n processes, of which `capacity` may be inside together.
    pub fn new(n: usize, capacity: usize, id: ProcessId) -> Self {
        let (owed, deferred) = (vec![0; n], vec![0; n]);
        Self { id, capacity, clock: LamportClock::default(), phase: Phase::Outside, owed, deferred }
    }

    fn request(&mut self, out: &mut Effects<Self>) {
        let mine = Stamp { time: self.clock.tick(), process: self.id };
        self.phase = Phase::Waiting(mine);
        for (index, owed) in self.owed.iter_mut().enumerate() {
            *owed += u32::from(index != self.id.index());
        }
        out.send_to_others(Message::Request(mine.time));
        self.enter_if_enough(out);
    }

    fn release(&mut self, out: &mut Effects<Self>) {
        self.phase = Phase::Outside;
        for (index, replies) in self.deferred.iter_mut().enumerate() {
            if *replies > 0 {
                out.send(ProcessId::from_index(index), Message::Reply(*replies));
                *replies = 0;
            }
        }
    }

    /// Returns `true` if this process goes before the request with this stamp.
    fn precedes(&self, theirs: Stamp) -> bool {
        match &self.phase {
            Phase::Outside => false,
            Phase::Waiting(mine) => *mine < theirs,
            Phase::Inside => true,
        }
    }

    /// The processes that have not agreed to all requests of this process.
    fn missing(&self) -> impl Iterator<Item = ProcessId> + '_ {
        let owing = self.owed.iter().enumerate().filter(|(_, owed)| **owed > 0);
        owing.map(|(index, _)| ProcessId::from_index(index))
    }

    fn enter_if_enough(&mut self, out: &mut Effects<Self>) {
        if matches!(self.phase, Phase::Waiting(_)) && self.missing().count() < self.capacity {
            self.phase = Phase::Inside;
            out.output(Output::Entered);
        }
    }
}

impl Process for RaymondK {
    type Command = Command;
    type Message = Message;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        match (command, &self.phase) {
            (Command::Request(Claim::Permit), Phase::Outside) => self.request(out),
            (Command::Request(Claim::Permit), _) => return Err(Misuse::AlreadyAsked),
            (Command::Request(_), _) => return Err(Misuse::OtherClaim),
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
                    self.deferred[from.index()] += 1;
                } else {
                    out.send(from, Message::Reply(1));
                }
            }
            Message::Reply(count) => {
                let owed = &mut self.owed[from.index()];
                if *owed < count {
                    return out.ignored("a reply to no request");
                }
                *owed -= count;
                self.enter_if_enough(out);
            }
        }
    }

    fn waits_for(&self) -> ProcessSet {
        match &self.phase {
            Phase::Waiting(_) => self.missing().collect(),
            _ => ProcessSet::new(),
        }
    }
}

impl CoreMessage for Message {
    const KINDS: &'static [Kind] = &[Kind::allocation("REQUEST"), Kind::allocation("REPLY")];

    fn kind(&self) -> usize {
        match self {
            Self::Request(_) => 0,
            Self::Reply(_) => 1,
        }
    }

    fn forged(&self, choice: u64) -> Self {
        match self {
            Self::Request(_) => Self::Request(choice % 8),
            Self::Reply(_) => Self::Reply(1 + choice as u32 % 3),
        }
    }
}

impl Sound for RaymondK {}

impl Algorithm for RaymondK {
    const PROFILE: Profile = Profile {
        name: "raymond-k",
        layer: Layer::Allocation,
        summary: "k may be inside: ask everyone, enter once all but k - 1 have agreed",
        source: "Raymond, Information Processing Letters 30(4), 1989",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::NoDuplication,
            Assumption::NoCrash,
            Assumption::Honesty,
        ],
        guarantees: &[Property::Exclusion, Property::NoStarvation, Property::Concurrency],
        cost: "2n - k - 1 to 2(n - 1) messages per entry",
        never_quiescent: false,
    };

    const BYTES_PER_OTHER: u64 = 8;

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self { clock: setup.clock(id), ..Self::new(setup.n, setup.capacity, id) }
    }

    /// Replies to several requests may travel together, so an entry may cost fewer messages than it has requests and
    /// replies.
    fn cost(setup: &Setup) -> Cost {
        let n = setup.n as u64;
        let (least, most) =
            ((2 * n - 1).saturating_sub(setup.capacity as u64).max(n - 1), 2 * (n - 1));
        Cost::between("2n - k - 1 to 2(n - 1)", least, most)
            .with_delays(if setup.capacity < setup.n { 2..=2 } else { 0..=0 }, 0..=0)
            .without_delays_if_single(setup.n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_core::Time;

    fn given(process: &mut RaymondK, from: u32, message: Message) -> Vec<Output> {
        let mut out = Effects::new(Time::ZERO);
        process.on_message(ProcessId::new(from), message, &mut out);
        outputs(&mut out)
    }

    fn told(process: &mut RaymondK, command: Command) -> Vec<Output> {
        let mut out = Effects::new(Time::ZERO);
        process.on_command(command, &mut out).expect("a valid command");
        outputs(&mut out)
    }

    fn outputs(out: &mut Effects<RaymondK>) -> Vec<Output> {
        let output = |effect| match effect {
            quorate_core::Effect::Output(output) => Some(output),
            _ => None,
        };
        out.drain().filter_map(output).collect()
    }

    #[test]
    fn late_replies_to_an_earlier_request_do_not_count() {
        let mut p0 = RaymondK::new(4, 2, ProcessId::new(0));
        assert_eq!(told(&mut p0, Command::Request(Claim::Permit)), []);
        assert_eq!(given(&mut p0, 1, Message::Reply(1)), []);
        assert_eq!(given(&mut p0, 2, Message::Reply(1)), [Output::Entered], "n - k replies");
        assert_eq!(told(&mut p0, Command::Release), []);
        assert_eq!(told(&mut p0, Command::Request(Claim::Permit)), []);
        assert_eq!(given(&mut p0, 3, Message::Reply(1)), [], "the reply to the first request");
        assert_eq!(given(&mut p0, 1, Message::Reply(1)), []);
        assert_eq!(p0.waits_for().len(), 2);
        assert_eq!(given(&mut p0, 3, Message::Reply(1)), [Output::Entered]);
    }

    #[test]
    fn deferred_replies_travel_together() {
        let mut p0 = RaymondK::new(3, 2, ProcessId::new(0));
        told(&mut p0, Command::Request(Claim::Permit));
        given(&mut p0, 1, Message::Reply(1));
        given(&mut p0, 2, Message::Request(5));
        given(&mut p0, 2, Message::Request(8));
        let mut out = Effects::new(Time::ZERO);
        p0.on_command(Command::Release, &mut out).expect("p0 is inside");
        let sent: Vec<_> = out.drain().collect();
        let reply =
            quorate_core::Effect::Send { to: ProcessId::new(2), message: Message::Reply(2) };
        assert_eq!(sent, [reply]);
    }
}
