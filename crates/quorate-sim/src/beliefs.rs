//! Who believes whom to have crashed, beside who has.

use quorate_core::{Belief, ProcessId, ProcessSet};

use crate::plan::Memory;

/// The beliefs of all processes of a world.
#[derive(Clone, Debug)]
pub(crate) struct Beliefs {
    suspects: Vec<ProcessSet>,
    down: ProcessSet,
    /// Those who are up and believe something that is not so.
    wrong: ProcessSet,
    /// Traitors: neither what they believe nor what is believed of them tells anything.
    exempt: ProcessSet,
}

impl Beliefs {
    /// Everybody believes that all are up, and they are.
    pub(crate) fn new(n: usize, exempt: ProcessSet) -> Self {
        let suspects = vec![ProcessSet::new(); n];
        Self { suspects, down: ProcessSet::new(), wrong: ProcessSet::new(), exempt }
    }

    /// Tells whether the observer believed something else before: one that is back repeats what it believes.
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

    /// Those who are up, and whose belief about this process is not so.
    pub(crate) fn mistaken_about(&self, process: ProcessId) -> impl Iterator<Item = ProcessId> {
        let down = self.is_down(process);
        self.observers().filter(move |observer| {
            *observer != process && self.suspects[observer.index()].contains(process) != down
        })
    }

    /// Those whose beliefs count.
    pub(crate) fn observers(&self) -> impl Iterator<Item = ProcessId> {
        ProcessId::all(self.suspects.len()).filter(|process| self.is_correct_process(*process))
    }

    /// Whether it is up, and no traitor.
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
