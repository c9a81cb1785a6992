//! Canonical forms: states that behave alike count as one.
//!
//! - **Dead values**: what no later step can read is forgotten ([`Process::forget_dead_values`]), in a process after each of its
//!   steps, and in the messages in flight to it.
//! - **Compared numbers**: once no user makes a request any more, processes draw no stamp to which others could be compared. So
//!   all numbers beyond the greatest one that is still compared are equal ([`Process::greatest_compared`]).
//! - **Clocks**: only differences between logical clocks matter, so all of them are lowered together.
//!
//! An algorithm declares what these forms are made of, and a wrong declaration would hide violations. [`World::validate`] visits
//! all states without reductions and checks in each that the form is a bisimulation: the state and its form permit the same
//! actions and violate the same, and after each action they have the same form again. Then every path of the world is a path of
//! its forms, action by action.
//!
//! [`Process::forget_dead_values`]: quorate_core::Process::forget_dead_values
//! [`Process::greatest_compared`]: quorate_core::Process::greatest_compared

use std::collections::BTreeSet;

use super::node_store::CounterRange;
use super::recall::recall;
use super::state::State;
use super::timing::Timing;
use super::transition::{Input, MessageChange};
use super::{Action, Budget, Successor, World};
use crate::{FairnessClass, Model, PackedModel};

/// Facts about a state that are seen without a step: the processes that wait, and which properties are violated now or if nothing
/// happens any more.
type Visible = (u8, u64, Option<quorate_core::Property>, Option<quorate_core::Property>);

impl World<'_> {
    /// Whether processes forget dead values. They may rely on links that keep the order of messages and lose none, and on
    /// processes that neither lie nor recover.
    fn forgets(&self) -> bool {
        let Budget { losses, recoveries, suspicions, .. } = self.budget;
        self.dead_value_reduction
            && self.fifo
            && self.timing == Timing::None
            && (losses, recoveries, suspicions) == (0, 0, 0)
    }

    /// Replaces a state by its canonical form, after a step of this process from a canonical form.
    pub(super) fn canonicalise(&self, state: &mut State, process: u8) {
        if self.forgets() {
            self.forget(state, process);
            self.cap(state);
            self.forget_in_flight(state);
        }
        self.rebase(state);
    }

    /// Canonical form of any state.
    fn canonical_form(&self, state: &State) -> State {
        let mut form = state.clone();
        if self.forgets() {
            (0..self.n as u8).for_each(|process| self.forget(&mut form, process));
            self.cap(&mut form);
            self.forget_in_flight(&mut form);
        }
        self.rebase(&mut form);
        form
    }

    fn forget(&self, state: &mut State, process: u8) {
        let forgotten = self.transition(process, state.node(process), Input::Forget, None);
        state.set_node(process, forgotten.node);
    }

    fn forget_in_flight(&self, state: &mut State) {
        let receivers: [u32; super::PROCESSES_MOST] =
            std::array::from_fn(|id| if id < self.n { state.node(id as u8) } else { 0 });
        state.map_envelopes(|envelope| {
            let receiver = receivers[usize::from(envelope.to())];
            self.received_form(receiver, envelope.from(), envelope.message())
        });
    }

    /// Number of a message in flight to a node without the values that are dead there, memoized.
    pub(super) fn received_form(&self, node: u32, from: u8, message: u32) -> u32 {
        let memo = || &self.store.summary(node).memo;
        let key = Input::Incoming { from, message }.key(None);
        recall(self.number, node.into(), key, || memo().recall(key)).unwrap_or_else(|| {
            let form = self.store.received_form(node, from, message);
            memo().remember(key, || form)
        })
    }

    /// Makes all numbers equal that are greater than any that is still compared.
    fn cap(&self, state: &mut State) {
        let nodes = || state.up().map(|process| self.summary(state, process));
        if nodes().any(|node| node.may_request) {
            return;
        }
        let Some(compared) =
            nodes().map(|node| node.compared).try_fold(0, |most, own| Some(own?.max(most)))
        else {
            return;
        };
        let most = compared + 1;
        let exceeds = |range: Option<CounterRange>| range.is_some_and(|it| it.greatest > most);
        for process in 0..self.n as u8 {
            let node = state.node(process);
            if exceeds(self.store.summary(node).counters) {
                let capped = self.transition(process, node, Input::Capped(most), None).node;
                state.set_node(process, capped);
            }
        }
        state.map_messages(|message| match exceeds(self.store.message(message).counters) {
            true => self.changed_message(message, MessageChange::Capped(most)),
            false => message,
        });
    }

    /// Checks that every state behaves like its canonical form, in all states without reductions, or in the first `states_most`.
    /// Returns the number of states, and whether these are all.
    ///
    /// # Errors
    ///
    /// Steps to a state that behaves differently, and the difference.
    pub fn validate(&self, states_most: usize) -> Result<(usize, bool), String> {
        let first = self.initial_state();
        let mut seen = BTreeSet::from([first.fingerprint(self.fifo)]);
        // Each state with the state and the action from which it was reached.
        let mut states = vec![(first, 0, None)];
        let mut next = 0;
        while let Some((state, ..)) = states.get(next).cloned() {
            if seen.len() > states_most {
                return Ok((next, false));
            }
            for after in self.compare(&state).map_err(|found| explain(&states, next, &found))? {
                if seen.insert(after.state.fingerprint(self.fifo)) {
                    states.push((after.state, next, Some(after.action)));
                }
            }
            next += 1;
        }
        Ok((next, true))
    }

    /// Compares a state with its canonical form. Returns its successors, or the difference.
    fn compare(&self, state: &State) -> Result<Vec<Successor<State, Action>>, String> {
        let form = self.canonical_form(state);
        if self.visible(state) != self.visible(&form) {
            return Err("its form looks different".to_owned());
        }
        let actions = self.actions(state);
        if actions != self.actions(&form) {
            return Err("its form permits other actions".to_owned());
        }
        let mut successors = Vec::with_capacity(actions.len());
        for (action, class) in actions {
            let [own, of_form] = [state, &form].map(|from| self.raw_after(from, action));
            let [left, right] = [&own, &of_form].map(|after| self.canonical_form(after));
            if left.fingerprint(self.fifo) != right.fingerprint(self.fifo) {
                return Err(format!("it differs from its form after this step: {action}"));
            }
            successors.push(Successor { action, class, state: own });
        }
        Ok(successors)
    }

    fn actions(&self, state: &State) -> Vec<(Action, Option<FairnessClass>)> {
        let mut successors = Vec::new();
        self.all_successors(state, &mut successors);
        successors.into_iter().map(|successor| (successor.action, successor.class)).collect()
    }

    fn visible(&self, state: &State) -> Visible {
        let quiescent = self.broken_when_quiescent(state);
        (self.waiting(state), self.goals_reached(state), self.broken(state), quiescent)
    }
}

/// The steps to a state, and what is wrong there.
fn explain(states: &[(State, usize, Option<Action>)], mut place: usize, problem: &str) -> String {
    let mut steps = Vec::new();
    while let (_, parent, Some(action)) = &states[place] {
        steps.push(action.to_string());
        place = *parent;
    }
    steps.reverse();
    format!("after {} steps ({}): {problem}", steps.len(), steps.join("; "))
}
