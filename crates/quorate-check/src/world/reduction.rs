//! Partial-order reduction: deliveries to different processes commute, so one order is explored where that is sufficient.
//!
//! In some states it is sufficient to explore the actions of one process p and to postpone the rest (a persistent set):
//! - links are FIFO and every other live process has a message to p in flight, so that the next message from each of them
//!   is known, whatever the others do meanwhile; or no process except p can act;
//! - no more faults can happen, since a crash elsewhere would give p a new input;
//! - no action of p is visible: for example, the set of processes inside the critical section does not change, so that no
//!   state with two processes inside is skipped;
//! - states do not recur, so that nothing is postponed forever. This is checked at the end, if starvation is checked at all
//!   (otherwise no edges are kept): if the reduced graph has no cycle, neither has the full graph. If it has one, the world
//!   must be explored without reduction.
//!
//! Then every terminal state and every state with a visible change is still reached, on a path that has the steps of p
//! first. That path need not be a shortest one.

use super::{Budget, Next, State, World};

impl World<'_> {
    /// Adds the successors by the actions of one process if they are sufficient. Returns whether they are.
    pub(super) fn persistent_set_successors(
        &self,
        state: &State,
        successors: &mut Vec<Next>,
    ) -> bool {
        if !self.fifo || !state.suspected.is_empty() || state.budget != Budget::default() {
            return false;
        }
        let start = successors.len();
        for process in state.up() {
            if !self.is_independent(state, process) {
                continue;
            }
            self.process_successors(state, process, successors);
            let before = state.node(process);
            let is_visible = successors[start..]
                .iter()
                .any(|next| self.store.is_visible(before, next.state.node(process)));
            if successors.len() > start && !is_visible {
                return true;
            }
            successors.truncate(start);
        }
        false
    }

    /// Whether no other process can change the actions possible at this process before it acts itself.
    fn is_independent(&self, state: &State, process: u8) -> bool {
        let (mut known, mut busy) = (1_u8 << process, 0_u8);
        for envelope in state.envelopes() {
            busy |= 1 << envelope.to();
            if envelope.to() == process {
                known |= 1 << envelope.from();
            }
        }
        let others = || state.up().filter(|other| *other != process);
        let idle = |other: u8| {
            busy & (1 << other) == 0
                && !state.pending_notices.any_of(other)
                && self.summary(state, other).next_command.is_none()
        };
        others().all(|other| known & (1 << other) != 0) || others().all(idle)
    }
}
