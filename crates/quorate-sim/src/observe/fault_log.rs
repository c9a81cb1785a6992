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
    /// Processes that did not follow the algorithm, with their strategies.
    pub traitors: Vec<(ProcessId, Strategy)>,
}

impl FaultLog {
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
