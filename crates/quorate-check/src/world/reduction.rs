//! Deliveries to different processes commute: gone through in one order where nothing is lost by that.
//!
//! In some states it is enough to look at what can happen at one process p, and to leave the rest for later (a
//! persistent set):
//! - links keep their order and every other live process has a message to p under way, so that whatever the others do
//!   meanwhile, the next message from each of them is known; or nobody but p can do anything;
//! - nothing is left that may go wrong, since a crash elsewhere would give p something new to hear;
//! - nothing that can happen at p shows: who is inside stays the same, so that no state in which two are inside is
//!   passed by;
//! - states do not come again, so that nothing is put off for ever. That is looked at in the end: if what was reduced
//!   comes to an end whatever happens, so does the whole; if not, the world has to be explored without reduction.
//!
//! Then every terminal state and every state that shows something is still reached, by a way that has the steps of p
//! first.

use quorate_core::{Process, ProcessId};

use super::{Budget, Next, Pairs, State, World};
use crate::Users;

impl<P, U, F> World<P, U, F>
where
    P: Process,
    U: Users<P>,
    F: Fn(ProcessId) -> P + Sync,
{
    /// The successors by what happens at one process, if they are enough; tells whether they are.
    pub(super) fn successors_of_one(
        &self,
        state: &State<P, U::Place>,
        successors: &mut Vec<Next<P, U::Place>>,
    ) -> bool {
        if !self.fifo || state.suspected != Pairs::default() || state.budget != Budget::default() {
            return false;
        }
        for process in (0..self.n as u8).filter(|process| state.is_up(*process)) {
            if !self.is_independent(state, process) {
                continue;
            }
            self.at(state, process, successors);
            let before = &state.nodes[usize::from(process)].place;
            let shows = successors.iter().any(|next| {
                self.users.shows(before, &next.state.nodes[usize::from(process)].place)
            });
            if !successors.is_empty() && !shows {
                return true;
            }
            successors.clear();
        }
        false
    }

    /// Whether nobody can change what can happen at a process before it does something itself.
    fn is_independent(&self, state: &State<P, U::Place>, process: u8) -> bool {
        let others = (0..self.n as u8).filter(|other| *other != process && state.is_up(*other));
        let mut alone = true;
        let mut known = true;
        for other in others {
            let has_letter = |to| state.letters.iter().any(|letter| letter.to == to);
            let news = (0..self.n as u8).any(|victim| state.news.contains(other, victim));
            let wish = self.users.wish(&state.nodes[usize::from(other)].place).is_some();
            alone &= !has_letter(other) && !news && !wish;
            known &=
                state.letters.iter().any(|letter| (letter.from, letter.to) == (other, process));
        }
        alone || known
    }
}
