//! The fault log: faults of a run as they happened, including delays and suspicions that were not planned.

use quorate_core::{ProcessId, ProcessSet, Span, Time};

use crate::scenario::plan::{FaultEvent, Memory};
use crate::scenario::traitor::Strategy;

/// Faults of a run, as they happened.
#[derive(Clone, Debug, Default)]
pub struct FaultLog {
    /// Injected faults with their times, in order.
    pub fault_events: Vec<(Time, FaultEvent)>,
    /// The first wrong suspicion: its time, the observer, and the live process that the observer believed to have crashed.
    pub wrong_belief: Option<(Time, ProcessId, ProcessId)>,
    /// The first delay beyond the bound in an externally driven run: its time, the sender of the message, its receiver,
    /// and how long it took. For a timer or a command, sender and receiver are the same process.
    pub late: Option<(Time, ProcessId, ProcessId, Span)>,
    /// The first message that had to wait at an overloaded process, and the one that would be handled last.
    pub overload: Option<(Overload, Overload)>,
    /// Processes that did not follow the algorithm, with their strategies.
    pub traitors: Vec<(ProcessId, Strategy)>,
}

/// A message that had to wait because its receiver was overloaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overload {
    /// When the message arrived.
    pub time: Time,
    /// The process that received it.
    pub process: ProcessId,
    /// Time until it was handled.
    pub wait: Span,
}

impl Overload {
    fn handled_at(&self) -> Time {
        self.time + self.wait
    }
}

impl FaultLog {
    /// Records a message that has to wait at an overloaded process.
    pub(crate) fn overloaded(&mut self, overload: Overload) {
        let (_, last) = self.overload.get_or_insert((overload, overload));
        if overload.handled_at() > last.handled_at() {
            *last = overload;
        }
    }

    /// The process that was furthest behind at the end of the run, if one still was.
    pub(crate) fn overloaded_at(&self, end: Time) -> Option<Overload> {
        self.overload.map(|(_, last)| last).filter(|last| last.handled_at() > end)
    }

    /// The first injected fault that satisfies the condition, with its time.
    pub(crate) fn find(&self, wanted: impl Fn(&FaultEvent) -> bool) -> Option<&(Time, FaultEvent)> {
        self.fault_events.iter().find(|(_, fault)| wanted(fault))
    }

    /// Every process that crashed at any time in the run.
    pub(crate) fn crashed(&self) -> ProcessSet {
        let crashes =
            self.fault_events.iter().filter(|(_, fault)| matches!(fault, FaultEvent::Crash(_)));
        crashes.map(|(_, fault)| fault.victim()).collect()
    }

    /// Whether the process has crashed at this time or later.
    pub(crate) fn crashed_since(&self, process: ProcessId, since: Time) -> bool {
        let mut recent = self.fault_events.iter().rev().take_while(|(time, _)| *time >= since);
        recent.any(|(_, fault)| matches!(fault, FaultEvent::Crash(victim) if *victim == process))
    }

    /// Time of the last crash of the process, if it is still down.
    pub fn down_since(&self, process: ProcessId) -> Option<Time> {
        self.fault_events.iter().rev().find_map(|(time, fault)| match fault {
            FaultEvent::Crash(victim) if *victim == process => Some(Some(*time)),
            FaultEvent::Recover(victim, Memory::Kept | Memory::Lost) if *victim == process => {
                Some(None)
            }
            _ => None,
        })?
    }
}

/// Describes a traitor in words.
pub(crate) fn describe_traitor((process, strategy): &(ProcessId, Strategy)) -> String {
    format!("{process} is a traitor ({strategy})")
}
