//! Followers and leaders: the last election output of each process, and the processes that are up.

use quorate_core::definition::election::lacks_leader;
use quorate_core::election::{Identifier, Output};
use quorate_core::{ProcessId, ProcessSet, SortedMap};

use crate::scenario::plan::Memory;

/// The last election output of each of n processes.
#[derive(Clone, Debug)]
pub(crate) struct Followers {
    views: Vec<LeaderView>,
    down: ProcessSet,
    /// Traitors, whose outputs are ignored.
    exempt: ProcessSet,
}

/// The last election output of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeaderView {
    /// The process has produced no output yet.
    Unknown,
    /// The process takes part in an election.
    Undecided,
    /// The process follows this leader.
    Elected(Identifier),
}

impl LeaderView {
    fn leader(self) -> Option<ProcessId> {
        match self {
            Self::Elected(leader) => Some(leader.process),
            Self::Unknown | Self::Undecided => None,
        }
    }
}

impl Followers {
    pub(crate) fn new(n: usize, exempt: ProcessSet) -> Self {
        Self { views: vec![LeaderView::Unknown; n], down: ProcessSet::new(), exempt }
    }

    pub(crate) fn on_output(&mut self, process: ProcessId, output: Output) {
        self.views[process.index()] = match output {
            Output::Undecided => LeaderView::Undecided,
            Output::Elected(leader) => LeaderView::Elected(leader),
        };
    }

    pub(crate) fn crash(&mut self, process: ProcessId) {
        self.down.insert(process);
    }

    pub(crate) fn recover(&mut self, process: ProcessId, memory: Memory) {
        self.down.remove(process);
        if memory == Memory::Lost {
            self.views[process.index()] = LeaderView::Unknown;
        }
    }

    pub(crate) fn is_down(&self, process: ProcessId) -> bool {
        self.down.contains(process)
    }

    /// The views of live processes, except traitors.
    pub(crate) fn live(&self) -> impl Iterator<Item = (ProcessId, LeaderView)> + '_ {
        let all = ProcessId::all(self.views.len()).zip(self.views.iter().copied());
        all.filter(|(process, _)| !self.down.contains(*process) && !self.exempt.contains(*process))
    }

    /// Whether any live process has learned of an election.
    pub(crate) fn has_begun(&self) -> bool {
        self.live().any(|(_, view)| view != LeaderView::Unknown)
    }

    /// Live processes that know no leader.
    pub(crate) fn leaderless(&self) -> impl Iterator<Item = ProcessId> + '_ {
        let leaderless = |(_, view): &(ProcessId, LeaderView)| view.leader().is_none();
        self.live().filter(leaderless).map(|(process, _)| process)
    }

    /// Live processes whose leader is down, with that leader.
    pub(crate) fn with_crashed_leader(&self) -> impl Iterator<Item = (ProcessId, Identifier)> + '_ {
        self.live().filter_map(|(process, view)| match view {
            LeaderView::Elected(leader) if self.down.contains(leader.process) => {
                Some((process, leader))
            }
            _ => None,
        })
    }

    /// The leaders that live processes name, with the followers of each.
    pub(crate) fn camps(&self) -> SortedMap<ProcessId, (Identifier, Vec<ProcessId>)> {
        let mut camps: SortedMap<ProcessId, (Identifier, Vec<ProcessId>)> = SortedMap::new();
        for (process, view) in self.live() {
            if let LeaderView::Elected(leader) = view {
                camps.entry(leader.process).or_insert((leader, Vec::new())).1.push(process);
            }
        }
        camps
    }

    /// Whether no live process waits for an election to end, or for a new one because its leader is down.
    pub(crate) fn is_settled(&self) -> bool {
        let is_up = |process: ProcessId| !self.down.contains(process);
        let lacks = |(_, view): (ProcessId, LeaderView)| lacks_leader(view.leader(), is_up);
        !self.has_begun() || !self.live().any(lacks)
    }
}
