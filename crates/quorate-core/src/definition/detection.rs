//! Stable properties: no false detection, and eventual detection.
//!
//! A [`Situation`] has everything that the user of one process observes. The situations of all processes tell whether the property holds.

use alloc::vec::Vec;

use crate::detection::{Command, Output, StableProperty};
use crate::{ProcessId, ProcessSet, SortedMap};

/// The state of one process of a computation, as its user observes it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Situation {
    active: bool,
    /// Processes that it waits for.
    waiting: ProcessSet,
    /// Number of messages of the computation sent to each process.
    sent: SortedMap<ProcessId, u32>,
    /// Number of messages of the computation received from each process.
    received: SortedMap<ProcessId, u32>,
    /// Whether a computation was begun here and its end was not announced.
    started: bool,
    announced: bool,
    property: StableProperty,
}

impl Situation {
    /// The situation of a process at the start: passive if the property is termination, and not waiting.
    pub fn new(property: StableProperty) -> Self {
        Self {
            active: property != StableProperty::Termination,
            waiting: ProcessSet::new(),
            sent: SortedMap::new(),
            received: SortedMap::new(),
            started: false,
            announced: false,
            property,
        }
    }

    /// The process has accepted a command. `grants` is the process whose request it grants, if it does.
    pub fn on_command(&mut self, command: &Command, grants: Option<ProcessId>) {
        match command {
            Command::Start => (self.active, self.started, self.announced) = (true, true, false),
            Command::Send(to) => *self.sent.entry(*to).or_default() += 1,
            Command::Rest => self.active = false,
            Command::Wait(on) => {
                self.active = false;
                self.waiting.clone_from(on);
            }
            Command::Grant => {
                if let Some(to) = grants {
                    *self.sent.entry(to).or_default() += 1;
                }
            }
        }
    }

    /// The process has produced an output.
    pub fn on_output(&mut self, output: &Output) {
        match output {
            Output::Received(from) => {
                *self.received.entry(*from).or_default() += 1;
                match self.property {
                    StableProperty::Termination => self.active = true,
                    StableProperty::AndDeadlock => {
                        self.waiting.remove(*from);
                    }
                    StableProperty::OrDeadlock => {}
                }
            }
            Output::Unblocked => {
                self.active = true;
                self.waiting.clear();
            }
            Output::Announced => (self.announced, self.started) = (true, false),
            Output::Requested(_) => {}
        }
    }

    /// Whether the process can make steps of the computation.
    pub fn is_active(&self) -> bool {
        self.active
    }

    /// Whether the process has announced the property, since the last computation began here.
    pub fn has_announced(&self) -> bool {
        self.announced
    }

    /// Whether a computation was begun here and its end was not announced.
    pub fn owes_announcement(&self) -> bool {
        self.started
    }

    /// The same situation if no message is in flight.
    fn settled(&self) -> Self {
        Self { sent: SortedMap::new(), received: SortedMap::new(), ..self.clone() }
    }

    /// The process will not make a step again.
    pub fn crash(&mut self) {
        (self.active, self.started) = (false, false);
        self.waiting.clear();
    }
}

/// Whether a message of the computation is in flight, or was lost, from one process to another.
fn is_in_flight(situations: &[&Situation], from: ProcessId, to: ProcessId) -> bool {
    let count =
        |counts: &SortedMap<ProcessId, u32>, other| counts.get(&other).copied().unwrap_or(0);
    let sent = count(&situations[from.index()].sent, to);
    sent > count(&situations[to.index()].received, from)
}

/// Whether the computation has terminated: all processes are passive, and no message is in flight.
fn is_terminated(situations: &[&Situation]) -> bool {
    let is_quiet = |(from, situation): (ProcessId, &&Situation)| {
        !situation.active && !situation.sent.keys().any(|to| is_in_flight(situations, from, *to))
    };
    ProcessId::all(situations.len()).zip(situations).all(is_quiet)
}

/// The processes whose grants or messages a process waits for, and that are not in flight.
fn needs(situations: &[&Situation], process: ProcessId) -> impl Iterator<Item = ProcessId> {
    let waiting = situations[process.index()].waiting.iter();
    waiting.filter(move |other| !is_in_flight(situations, *other, process))
}

/// The processes that a process directly or indirectly waits for, along edges that `follows` permits.
fn reachable(
    situations: &[&Situation],
    process: ProcessId,
    follows: impl Fn(ProcessId) -> bool,
) -> ProcessSet {
    let mut reached = ProcessSet::new();
    let mut open: Vec<ProcessId> = Vec::from([process]);
    while let Some(next) = open.pop() {
        if follows(next) {
            open.extend(needs(situations, next).filter(|other| reached.insert(*other)));
        }
    }
    reached
}

/// Whether a process waits for a message, and so do all processes that it directly or indirectly waits for, and no message is in flight
/// that would end this.
fn is_stuck(situations: &[&Situation], process: ProcessId) -> bool {
    let waits = |process: ProcessId| {
        let waiting = &situations[process.index()].waiting;
        !waiting.is_empty() && !waiting.iter().any(|other| is_in_flight(situations, other, process))
    };
    waits(process) && reachable(situations, process, |_| true).iter().all(waits)
}

/// No false detection: whether the property holds that this process announces. `situations` are in the order of process numbers.
pub fn holds(property: StableProperty, situations: &[&Situation], process: ProcessId) -> bool {
    match property {
        StableProperty::Termination => is_terminated(situations),
        StableProperty::AndDeadlock => reachable(situations, process, |_| true).contains(process),
        StableProperty::OrDeadlock => is_stuck(situations, process),
    }
}

/// Eventual detection: a property that holds is announced. To be asked when nothing is left to happen, so that no message is in flight: one
/// that has not arrived is lost. Returns a process for which the property holds without an announcement.
///
/// The end of a computation is announced where the computation was begun. Each cycle of a deadlock by resources has a process that
/// announces it. In a deadlock by communication, one of the processes announces it that a process directly or indirectly waits for, or
/// that process itself.
pub fn unannounced(property: StableProperty, situations: &[&Situation]) -> Option<ProcessId> {
    let settled: Vec<Situation> = situations.iter().map(|situation| situation.settled()).collect();
    let settled: Vec<&Situation> = settled.iter().collect();
    let announced = |process: ProcessId| settled[process.index()].announced;
    let mut all = ProcessId::all(settled.len());
    match property {
        StableProperty::Termination => {
            all.find(|process| settled[process.index()].started && is_terminated(&settled))
        }
        StableProperty::AndDeadlock => all.find(|process| {
            let silent = reachable(&settled, *process, |next| !announced(next));
            silent.contains(*process)
        }),
        StableProperty::OrDeadlock => all.find(|process| {
            let mut others = reachable(&settled, *process, |_| true);
            others.insert(*process);
            is_stuck(&settled, *process) && !others.iter().any(announced)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(number: u32) -> ProcessId {
        ProcessId::new(number)
    }

    fn set(members: &[u32]) -> ProcessSet {
        members.iter().copied().map(p).collect()
    }

    /// Situations in which these processes wait for these others.
    fn waiting(property: StableProperty, waits: &[&[u32]]) -> Vec<Situation> {
        let situation = |on: &&[u32]| {
            let mut situation = Situation::new(property);
            if !on.is_empty() {
                situation.on_command(&Command::Wait(set(on)), None);
            }
            situation
        };
        waits.iter().map(situation).collect()
    }

    fn judged(
        property: StableProperty,
        all: &[Situation],
        process: u32,
    ) -> (bool, Option<ProcessId>) {
        let all: Vec<&Situation> = all.iter().collect();
        (holds(property, &all, p(process)), unannounced(property, &all))
    }

    #[test]
    fn a_computation_ends_when_all_rest_and_nothing_is_in_flight() {
        let kind = StableProperty::Termination;
        let mut all = [Situation::new(kind), Situation::new(kind)];
        all[0].on_command(&Command::Start, None);
        assert_eq!(judged(kind, &all, 0), (false, None), "p0 is active");
        all[0].on_command(&Command::Send(p(1)), None);
        all[0].on_command(&Command::Rest, None);
        assert!(!judged(kind, &all, 0).0, "a message is in flight");
        all[1].on_output(&Output::Received(p(0)));
        assert_eq!(judged(kind, &all, 0), (false, None), "p1 is active");
        all[1].on_command(&Command::Rest, None);
        assert_eq!(judged(kind, &all, 0), (true, Some(p(0))));
        all[0].on_output(&Output::Announced);
        assert_eq!(judged(kind, &all, 0), (true, None));
    }

    #[test]
    fn a_cycle_of_grants_is_a_deadlock_unless_one_is_in_flight() {
        let kind = StableProperty::AndDeadlock;
        let mut all = waiting(kind, &[&[1, 2], &[0], &[]]);
        assert_eq!(judged(kind, &all, 0), (true, Some(p(0))), "p2 is active and does not matter");
        assert!(!judged(kind, &all, 2).0);
        all[1].on_output(&Output::Announced);
        assert_eq!(judged(kind, &all, 0), (true, None), "one of the cycle is enough");
        let mut all = waiting(kind, &[&[1], &[]]);
        all[1].on_command(&Command::Grant, Some(p(0)));
        all[1].on_command(&Command::Wait(set(&[0])), None);
        assert!(!judged(kind, &all, 0).0, "p1 has granted before");
        all[0].on_output(&Output::Received(p(1)));
        all[0].on_output(&Output::Unblocked);
        all[0].on_command(&Command::Wait(set(&[1])), None);
        assert_eq!(judged(kind, &all, 0), (true, Some(p(0))));
    }

    #[test]
    fn waiting_for_one_of_several_is_a_deadlock_only_in_a_knot() {
        let kind = StableProperty::OrDeadlock;
        let cycle_with_exit = waiting(kind, &[&[1, 2], &[0], &[]]);
        assert_eq!(judged(kind, &cycle_with_exit, 0), (false, None), "p2 may send");
        let mut knot = waiting(kind, &[&[1, 2], &[0], &[0], &[0]]);
        assert_eq!(judged(kind, &knot, 3), (true, Some(p(0))), "p3 waits for a knot");
        knot[2].on_output(&Output::Announced);
        assert_eq!(judged(kind, &knot, 3), (true, None));
        let mut saved = waiting(kind, &[&[1], &[]]);
        saved[1].on_command(&Command::Send(p(0)), None);
        saved[1].on_command(&Command::Wait(set(&[0])), None);
        assert!(!judged(kind, &saved, 1).0, "a message for p0 is in flight");
    }
}
