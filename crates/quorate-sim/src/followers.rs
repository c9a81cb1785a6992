//! Who follows whom: what each process last said of its leader, and who is up to be followed.

use std::collections::BTreeMap;

use quorate_core::election::{Identifier, Output};
use quorate_core::{ProcessId, ProcessSet};

use crate::plan::Memory;

/// What n processes have last said of their leader.
#[derive(Clone, Debug)]
pub(crate) struct Followers {
    views: Vec<LeaderView>,
    down: ProcessSet,
    /// Traitors, of whom nothing is expected.
    exempt: ProcessSet,
}

/// What a process has last said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeaderView {
    /// Nothing yet.
    Unknown,
    /// That it takes part in an election.
    Undecided,
    /// Whom it follows.
    Elected(Identifier),
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

    /// What those have said that are up, traitors apart.
    pub(crate) fn live(&self) -> impl Iterator<Item = (ProcessId, LeaderView)> + '_ {
        let all = ProcessId::all(self.views.len()).zip(self.views.iter().copied());
        all.filter(|(process, _)| !self.down.contains(*process) && !self.exempt.contains(*process))
    }

    /// Whether any live process has heard of an election.
    pub(crate) fn has_begun(&self) -> bool {
        self.live().any(|(_, view)| view != LeaderView::Unknown)
    }

    /// Live processes that know no leader.
    pub(crate) fn leaderless(&self) -> impl Iterator<Item = ProcessId> + '_ {
        let leaderless =
            |(_, view): &(ProcessId, LeaderView)| !matches!(view, LeaderView::Elected(_));
        self.live().filter(leaderless).map(|(process, _)| process)
    }

    /// Live processes whose leader is down, and that leader.
    pub(crate) fn with_crashed_leader(&self) -> impl Iterator<Item = (ProcessId, Identifier)> + '_ {
        self.live().filter_map(|(process, view)| match view {
            LeaderView::Elected(leader) if self.down.contains(leader.process) => {
                Some((process, leader))
            }
            _ => None,
        })
    }

    /// The leaders that live processes name, and who names each.
    pub(crate) fn camps(&self) -> BTreeMap<ProcessId, (Identifier, Vec<ProcessId>)> {
        let mut camps: BTreeMap<ProcessId, (Identifier, Vec<ProcessId>)> = BTreeMap::new();
        for (process, view) in self.live() {
            if let LeaderView::Elected(leader) = view {
                camps.entry(leader.process).or_insert((leader, Vec::new())).1.push(process);
            }
        }
        camps
    }

    /// Whether nobody is waiting for an election to end, or for one to begin because the leader is gone.
    pub(crate) fn is_settled(&self) -> bool {
        !self.has_begun()
            || (self.leaderless().next().is_none() && self.with_crashed_leader().next().is_none())
    }
}
