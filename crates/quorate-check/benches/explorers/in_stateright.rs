//! Any of our models as one of stateright's: the same states, found by the same code.

use std::fmt;
use std::hash::{Hash, Hasher};

use quorate_check::{Fingerprint, Model, Successor};
use stateright::Property;

/// A model for stateright.
pub(crate) struct InStateright<M>(pub(crate) M);

/// A state and what it is remembered by, worked out once.
#[derive(Clone)]
pub(crate) struct Printed<S> {
    state: S,
    print: Fingerprint,
}

/// An action that has already been taken: stateright asks for actions first and for what comes of each later, and our
/// models answer both at once.
#[derive(Clone)]
pub(crate) struct Taken<S>(Printed<S>);

impl<M: Model> stateright::Model for InStateright<M> {
    type State = Printed<M::State>;
    type Action = Taken<M::State>;

    fn init_states(&self) -> Vec<Self::State> {
        self.0.starts().into_iter().map(|state| self.printed(state)).collect()
    }

    fn actions(&self, state: &Self::State, actions: &mut Vec<Self::Action>) {
        let mut successors: Vec<Successor<M::State, M::Action>> = Vec::new();
        self.0.successors(&state.state, &mut successors);
        actions.extend(successors.into_iter().map(|next| Taken(self.printed(next.state))));
    }

    fn next_state(&self, _: &Self::State, action: Self::Action) -> Option<Self::State> {
        Some(action.0)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let safe = |model: &Self, state: &Printed<M::State>| model.0.broken(&state.state).is_none();
        vec![Property::always("nothing is broken", safe)]
    }
}

impl<M: Model> InStateright<M> {
    fn printed(&self, state: M::State) -> Printed<M::State> {
        let print = self.0.fingerprint(&state);
        Printed { state, print }
    }
}

impl<S> Hash for Printed<S> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(self.print as u64);
    }
}

impl<S> PartialEq for Printed<S> {
    fn eq(&self, other: &Self) -> bool {
        self.print == other.print
    }
}

impl<S> fmt::Debug for Printed<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.print)
    }
}

impl<S> PartialEq for Taken<S> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<S> fmt::Debug for Taken<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
