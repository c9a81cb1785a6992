//! Consistent cuts, channel states and completion of snapshots, judged from the ledgers of all processes.
//!
//! A snapshot is judged whenever a process has completed it, and at the end of the run. Cost: O(n^2 + nt) for each judgement with t
//! transfers.

use quorate_core::definition::snapshot::{
    Inconsistency, Ledger, begun, incomplete, inconsistency, wrong_channel,
};
use quorate_core::snapshot::{Command, Output, SnapshotId};
use quorate_core::{ProcessId, Property, SortedMap, Span, Time};

use super::violation::{Evidence, Violation, name_all};
use crate::engine::Ending;
use crate::engine::observer::Moment;

/// Monitor of the snapshots of n processes.
#[derive(Clone, Debug)]
pub(crate) struct Snapshots {
    ledgers: Vec<Ledger>,
    /// When each snapshot was begun.
    begun: SortedMap<SnapshotId, Moment>,
    /// When each process recorded its state.
    recorded: SortedMap<(SnapshotId, ProcessId), Moment>,
    /// Number of transfers in the recorded states of channels.
    in_flight: u64,
    cut: Option<Violation>,
    channels: Option<Violation>,
    termination: Option<Violation>,
    /// Whether the run was stopped before termination could be judged.
    open: bool,
}

impl Snapshots {
    pub(crate) fn new(balances: impl IntoIterator<Item = u64>) -> Self {
        Self {
            ledgers: balances.into_iter().map(|balance| Ledger::new(balance as i64)).collect(),
            begun: SortedMap::new(),
            recorded: SortedMap::new(),
            in_flight: 0,
            cut: None,
            channels: None,
            termination: None,
            open: false,
        }
    }

    pub(crate) fn on_command(&mut self, at: Moment, command: &Command) {
        let ledger = &mut self.ledgers[at.process.index()];
        if *command == Command::Record {
            let snapshot = SnapshotId { initiator: at.process, number: ledger.begun() };
            self.begun.insert(snapshot, at);
        }
        ledger.on_command(command);
    }

    /// Records an output. Returns the time since the beginning of a snapshot that the process has completed.
    pub(crate) fn on_output(&mut self, at: Moment, output: &Output) -> Option<Span> {
        self.ledgers[at.process.index()].on_output(output);
        match output {
            Output::Received { .. } => None,
            Output::Recorded { snapshot, .. } => {
                self.recorded.insert((*snapshot, at.process), at);
                None
            }
            Output::RecordedChannel { transfers, .. } => {
                self.in_flight += transfers.len() as u64;
                None
            }
            Output::Completed { snapshot } => {
                self.judge(*snapshot, at.time);
                self.begun.get(snapshot).map(|begun| at.time - begun.time)
            }
        }
    }

    pub(crate) fn crashed(&mut self, process: ProcessId) {
        self.ledgers[process.index()].live = false;
    }

    pub(crate) fn end(&mut self, now: Time, ending: Ending) {
        let ledgers: Vec<&Ledger> = self.ledgers.iter().collect();
        let all = begun(&ledgers);
        let complete = matches!(ending, Ending::Quiescent | Ending::Content);
        for snapshot in &all {
            let ledgers: Vec<&Ledger> = self.ledgers.iter().collect();
            let missing = incomplete(&ledgers, *snapshot);
            if missing.is_empty() {
                continue;
            }
            if !complete {
                self.open = true;
                continue;
            }
            let events =
                self.begun.get(snapshot).map(|at| Evidence::new(*at, "began the snapshot"));
            self.termination.get_or_insert_with(|| Violation {
                property: Property::SnapshotTermination,
                time: now,
                detail: format!("{} did not complete {snapshot}", name_all(&missing)),
                events: events.into_iter().collect(),
            });
        }
        all.into_iter().for_each(|snapshot| self.judge(snapshot, now));
    }

    fn judge(&mut self, snapshot: SnapshotId, time: Time) {
        let ledgers: Vec<&Ledger> = self.ledgers.iter().collect();
        let evidence = |process: ProcessId| {
            let at = self.recorded.get(&(snapshot, process));
            at.map(|at| Evidence::new(*at, format!("recorded its state for {snapshot}")))
        };
        if self.cut.is_none()
            && let Some(why) = inconsistency(&ledgers, snapshot)
        {
            let (detail, of) = match why {
                Inconsistency::WrongState(process) => (
                    format!("{process} recorded a balance for {snapshot} that it did not have"),
                    vec![process],
                ),
                Inconsistency::Orphan { from, to, transfer } => (
                    format!(
                        "in {snapshot}, {to} has received {} from {from}, which has not sent it",
                        transfer.amount
                    ),
                    vec![from, to],
                ),
            };
            let events = of.into_iter().filter_map(evidence).collect();
            let property = Property::ConsistentCut;
            self.cut = Some(Violation { property, time, detail, events });
        }
        if self.channels.is_none()
            && let Some((from, to)) = wrong_channel(&ledgers, snapshot)
        {
            self.channels = Some(Violation {
                property: Property::ChannelState,
                time,
                detail: format!(
                    "{to} recorded for {snapshot} another state of the channel from {from} than what was in flight"
                ),
                events: [from, to].into_iter().filter_map(evidence).collect(),
            });
        }
    }

    pub(crate) fn cut(&self) -> Option<&Violation> {
        self.cut.as_ref()
    }

    pub(crate) fn channels(&self) -> Option<&Violation> {
        self.channels.as_ref()
    }

    pub(crate) fn termination(&self) -> Option<&Violation> {
        self.termination.as_ref()
    }

    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    /// The snapshots that were begun, in order.
    pub(crate) fn begun(&self) -> impl ExactSizeIterator<Item = SnapshotId> {
        self.begun.keys().copied()
    }

    /// Number of snapshots that every live process has completed.
    pub(crate) fn completed(&self) -> u64 {
        let ledgers: Vec<&Ledger> = self.ledgers.iter().collect();
        self.begun().filter(|snapshot| incomplete(&ledgers, *snapshot).is_empty()).count() as u64
    }

    /// Number of transfers that were sent.
    pub(crate) fn transfers(&self) -> u64 {
        self.ledgers.iter().map(|ledger| ledger.transfers() as u64).sum()
    }

    /// Number of transfers in the recorded states of channels.
    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight
    }
}
