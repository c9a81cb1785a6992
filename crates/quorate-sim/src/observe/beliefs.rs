//! Beliefs of each process about crashes of the others, compared with the crashes that happened.

use quorate_core::{Belief, ProcessId, ProcessSet};

use crate::scenario::plan::Memory;

/// Beliefs of all processes of a world.
#[derive(Clone, Debug)]
pub(crate) struct Beliefs {
    suspects: Vec<ProcessSet>,
    down: ProcessSet,
    /// Live processes with at least one wrong belief.
    wrong: ProcessSet,
    /// Traitors. Neither their beliefs nor beliefs about them are judged.
    exempt: ProcessSet,
}

impl Beliefs {
    /// Initial state: every process is up, and every process believes so.
    pub(crate) fn new(n: usize, exempt: ProcessSet) -> Self {
        let suspects = vec![ProcessSet::new(); n];
        Self { suspects, down: ProcessSet::new(), wrong: ProcessSet::new(), exempt }
    }

    /// Returns whether the observer's belief has changed. A process
    /// that has recovered repeats its beliefs, which changes nothing.
    pub(crate) fn update(&mut self, observer: ProcessId, belief: Belief) -> bool {
        let suspects = &mut self.suspects[observer.index()];
        let changed = match belief {
            Belief::Crashed(process) => suspects.insert(process),
            Belief::Alive(process) => suspects.remove(process),
        };
        self.compare(observer);
        changed
    }

    pub(crate) fn crash(&mut self, process: ProcessId) {
        self.down.insert(process);
        self.compare_all();
    }

    pub(crate) fn recover(&mut self, process: ProcessId, memory: Memory) {
        self.down.remove(process);
        if memory == Memory::Lost {
            self.suspects[process.index()].clear();
        }
        self.compare_all();
    }

    pub(crate) fn is_down(&self, process: ProcessId) -> bool {
        self.down.contains(process)
    }

    pub(crate) fn all_correct(&self) -> bool {
        self.wrong.is_empty()
    }

    /// Live observers that believe wrongly about this process.
    pub(crate) fn mistaken_about(&self, process: ProcessId) -> impl Iterator<Item = ProcessId> {
        let down = self.is_down(process);
        self.observers().filter(move |observer| {
            *observer != process && self.suspects[observer.index()].contains(process) != down
        })
    }

    /// Processes whose beliefs are judged.
    pub(crate) fn observers(&self) -> impl Iterator<Item = ProcessId> {
        ProcessId::all(self.suspects.len()).filter(|process| self.is_correct_process(*process))
    }

    /// Whether the process is up and not a traitor.
    pub(crate) fn is_correct_process(&self, process: ProcessId) -> bool {
        !self.down.contains(process) && !self.exempt.contains(process)
    }

    fn compare_all(&mut self) {
        ProcessId::all(self.suspects.len()).for_each(|observer| self.compare(observer));
    }

    fn compare(&mut self, observer: ProcessId) {
        let suspects = &self.suspects[observer.index()];
        let is_correct_process = self.is_correct_process(observer);
        let right = match self.exempt.is_empty() {
            true => *suspects == self.down,
            false => suspects - &self.exempt == &self.down - &self.exempt,
        };
        match is_correct_process && !right {
            true => self.wrong.insert(observer),
            false => self.wrong.remove(observer),
        };
    }
}
