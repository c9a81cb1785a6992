//! Deliveries to different processes commute: gone through in one order where nothing is lost by that.
//!
//! In some states it is enough to look at what can happen at one process p, and to leave the rest for later (a
//! persistent set):
//! - links keep their order and every other live process has a message to p under way, so that whatever the others do
//!   meanwhile, the next message from each of them is known; or nobody but p can do anything;
//! - nothing is left that may go wrong, since a crash elsewhere would give p something new to hear;
//! - nothing that can happen at p shows: who is inside stays the same, for example, so that no state in which two are
//!   inside is passed by;
//! - states do not come again, so that nothing is put off for ever. That is looked at in the end: if what was reduced
//!   comes to an end whatever happens, so does the whole; if not, the world has to be explored without reduction.
//!
//! Then every terminal state and every state that shows something is still reached, by a way that has the steps of p
//! first. It need not be a shortest one.

use super::{Budget, Next, State, World};

impl World<'_> {
    /// The successors by what happens at one process, if they are enough; tells whether they are.
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

    /// Whether nobody can change what can happen at a process before it does something itself.
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
