//! Symmetry reduction: states that differ only by a renaming of processes count as one.
//!
//! A renaming is used if it does not change the initial state and if processes, messages and users can be renamed. An
//! algorithm that can rename promises that process ids have no meaning to it. Then every action possible in a state is
//! possible in the renamed state, for the renamed processes. So one state is sufficient for all states that are renamings
//! of each other. The explorer keeps the one that it found first, so that paths to it are paths of the world.

use quorate_core::ProcessId;

use super::recall::recall;
use super::state::{Envelope, State};
use super::transition::{Input, MESSAGE, MessageChange};
use super::{PROCESSES_MOST, World, process_id};
use crate::Fingerprint;

/// A permutation of the processes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Renaming {
    /// Key under which renamed nodes and messages are memoized.
    number: u32,
    names: [u8; PROCESSES_MOST],
}

/// Maximum number of processes for symmetry reduction. With more there are too many renamings to try in every state.
const RENAMED_MOST: usize = 6;

impl World<'_> {
    /// Renamings under which the initial state does not change, without the identity.
    pub(super) fn symmetries(&self) -> Vec<Renaming> {
        let first = self.initial_state();
        let same = |renaming: &Renaming| {
            self.renamed(&first, renaming)
                .is_some_and(|other| other.fingerprint(self.fifo) == first.fingerprint(self.fifo))
        };
        match self.n <= RENAMED_MOST {
            true => renamings(self.n).into_iter().skip(1).filter(same).collect(),
            false => Vec::new(),
        }
    }

    /// Least fingerprint of a state under all renamings.
    pub(super) fn canonical_fingerprint(
        &self,
        state: &State,
        renamings: &[Renaming],
    ) -> Fingerprint {
        let renamed = renamings.iter().map(|renaming| {
            let renamed = self.renamed(state, renaming);
            renamed
                .expect("a process that could be renamed at the start can be renamed later")
                .fingerprint(self.fifo)
        });
        renamed.fold(state.fingerprint(self.fifo), Fingerprint::min)
    }

    /// Renames the processes of a state; `None` if the algorithm or its users cannot be renamed.
    fn renamed(&self, state: &State, renaming: &Renaming) -> Option<State> {
        let names = &renaming.names;
        let mut nodes = [0; PROCESSES_MOST];
        for process in 0..self.n as u8 {
            let renamed = self.renamed_node(process, state.node(process), renaming)?;
            nodes[usize::from(names[usize::from(process)])] = renamed;
        }
        let mut renamed = state.renamed(&nodes[..self.n], names);
        for envelope in state.envelopes() {
            let message = self.renamed_message(envelope.message(), renaming)?;
            let [from, to] = [envelope.from(), envelope.to()].map(|end| names[usize::from(end)]);
            renamed.enqueue(Envelope::new(from, to, message));
        }
        Some(renamed)
    }

    pub(super) fn renamed_node(&self, process: u8, node: u32, renaming: &Renaming) -> Option<u32> {
        let memo = || &self.store.summary(node).memo;
        let key = Input::Renamed(renaming.number).key(None);
        if let Some(number) = recall(self.number, node.into(), key, || memo().recall(key)) {
            return Some(number);
        }
        let id = renaming.names[usize::from(process)];
        let renamed = self.store.renamed(id, node, &|process| renaming.name(process))?;
        Some(memo().remember(key, || renamed))
    }

    pub(super) fn renamed_message(&self, message: u32, renaming: &Renaming) -> Option<u32> {
        let memo = || &self.store.message(message).memo;
        let key = MessageChange::Renamed(renaming.number).key();
        let owner = u64::from(message) | MESSAGE;
        if let Some(number) = recall(self.number, owner, key, || memo().recall(key)) {
            return Some(number);
        }
        let renamed = self.store.renamed_message(message, &|process| renaming.name(process))?;
        Some(memo().remember(key, || renamed))
    }
}

impl Renaming {
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    fn name(&self, process: ProcessId) -> ProcessId {
        process_id(self.names[process.index()])
    }
}

/// All permutations of n processes, the identity first.
fn renamings(n: usize) -> Vec<Renaming> {
    let mut all = vec![[0, 1, 2, 3, 4, 5, 6, 7]];
    for index in 0..n {
        let swapped = |mut names: [u8; PROCESSES_MOST], other| {
            names.swap(index, other);
            names
        };
        let each = |names| (index..n).map(move |other| swapped(names, other));
        all = all.into_iter().flat_map(each).collect();
    }
    (0..).zip(all).map(|(number, names)| Renaming { number, names }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_comes_once() {
        let mut all: Vec<_> = renamings(4).into_iter().map(|renaming| renaming.names).collect();
        assert_eq!(all[0], [0, 1, 2, 3, 4, 5, 6, 7]);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 24);
    }
}
