//! Detection latency of crashes and recoveries, and messages per round.

use quorate_core::{Belief, ProcessId, ProcessSet, Span, Time};
use serde::Serialize;

/// Measurements of a failure detector.
#[derive(Clone, Debug)]
pub(crate) struct Detection {
    round: Span,
    changes: Vec<Change>,
    false_suspicions: u64,
    /// Number of the round of the last counted message, and the number of messages counted in that round.
    current: (u64, u64),
    most: u64,
    total: u64,
}

/// A crash or a recovery, and the observers that have noticed it.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) process: ProcessId,
    pub(crate) crash: bool,
    pub(crate) time: Time,
    pub(crate) noticed: ProcessSet,
    pub(crate) first: Option<NoticeReport>,
    pub(crate) last: Option<NoticeReport>,
}

impl Detection {
    pub(crate) fn new(round: Span) -> Self {
        Self { round, changes: Vec::new(), false_suspicions: 0, current: (0, 0), most: 0, total: 0 }
    }

    pub(crate) fn changed(&mut self, process: ProcessId, crash: bool, time: Time) {
        self.changes.push(Change {
            process,
            crash,
            time,
            noticed: ProcessSet::new(),
            first: None,
            last: None,
        });
    }

    /// Attributes a belief to the last change of the same kind (crash or recovery) of that process, once for each
    /// observer. Suspecting a live process is a false suspicion if it never crashed, or if the observer has already
    /// noticed its last crash. Trusting a process again without a matching recovery is not counted.
    pub(crate) fn belief_changed(
        &mut self,
        observer: ProcessId,
        belief: Belief,
        time: Time,
        down: bool,
    ) {
        let crash = matches!(belief, Belief::Crashed(_));
        let round = |time: Time| time.0 / self.round.0;
        let mut changes = self.changes.iter_mut().rev();
        let matching =
            changes.find(|change| change.process == belief.about() && change.crash == crash);
        let new = |change: &&mut Change| down == crash || !change.noticed.contains(observer);
        match matching.filter(new) {
            Some(change) => {
                let notice = NoticeReport {
                    observer: observer.number(),
                    after: (time - change.time).0,
                    rounds: round(time) - round(change.time),
                };
                // An observer that wrongly trusted the crashed process in the meantime notices the crash only now.
                if change.noticed.insert(observer) || crash {
                    change.first.get_or_insert(notice);
                    change.last = Some(notice);
                }
            }
            None if crash => self.false_suspicions += 1,
            None => {}
        }
    }

    /// Counts a message of the kind that is counted by round.
    pub(crate) fn sent(&mut self, time: Time) {
        let round = time.0 / self.round.0;
        if round != self.current.0 {
            self.current = (round, 0);
        }
        self.current.1 += 1;
        self.most = self.most.max(self.current.1);
        self.total += 1;
    }

    pub(crate) fn changes(&self) -> &[Change] {
        &self.changes
    }

    pub(crate) fn false_suspicions(&self) -> u64 {
        self.false_suspicions
    }

    /// Total number of counted messages, and the maximum in any round.
    pub(crate) fn counted(&self) -> (u64, u64) {
        (self.total, self.most)
    }
}

/// The detection of a change by one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct NoticeReport {
    /// The process that noticed the change.
    pub observer: u32,
    /// Time since the change in nanoseconds.
    pub after: u64,
    /// Number of rounds since the round of the change.
    pub rounds: u64,
}
