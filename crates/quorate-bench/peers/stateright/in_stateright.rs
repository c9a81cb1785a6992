//! Any of our models as one of stateright's: the same states, found by the same code.

use std::fmt;
use std::hash::{Hash, Hasher};

use quorate_check::{Fingerprint, Model, Successor};
use stateright::Property;

/// A model for stateright, which hashes the states in its own way.
pub(crate) struct StaterightModel<M>(pub(crate) M);

impl<M: Model> stateright::Model for StaterightModel<M>
where
    M::State: Hash + PartialEq + fmt::Debug,
{
    type State = M::State;
    type Action = TakenAction<M::State>;

    fn init_states(&self) -> Vec<M::State> {
        self.0.initial_states()
    }

    fn actions(&self, state: &M::State, actions: &mut Vec<Self::Action>) {
        let mut successors: Vec<Successor<M::State, M::Action>> = Vec::new();
        self.0.successors(state, &mut successors);
        actions.extend(successors.into_iter().map(|next| TakenAction(next.state)));
    }

    fn next_state(&self, _: &M::State, action: Self::Action) -> Option<M::State> {
        Some(action.0)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let safe = |model: &Self, state: &M::State| model.0.broken(state).is_none();
        vec![Property::always("nothing is broken", safe)]
    }
}

/// A model for stateright that works out the fingerprints, too: only the search is left to stateright.
pub(crate) struct WithFingerprints<M>(pub(crate) M);

/// A state and what it is remembered by, worked out once.
#[derive(Clone)]
pub(crate) struct Fingerprinted<S> {
    state: S,
    print: Fingerprint,
}

/// An action that has already been taken: stateright asks for actions first and for what comes of each later, and our
/// models answer both at once.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TakenAction<S>(S);

impl<M: Model> stateright::Model for WithFingerprints<M> {
    type State = Fingerprinted<M::State>;
    type Action = TakenAction<Fingerprinted<M::State>>;

    fn init_states(&self) -> Vec<Self::State> {
        self.0.initial_states().into_iter().map(|state| self.with_fingerprint(state)).collect()
    }

    fn actions(&self, state: &Self::State, actions: &mut Vec<Self::Action>) {
        let mut successors: Vec<Successor<M::State, M::Action>> = Vec::new();
        self.0.successors(&state.state, &mut successors);
        actions.extend(
            successors.into_iter().map(|next| TakenAction(self.with_fingerprint(next.state))),
        );
    }

    fn next_state(&self, _: &Self::State, action: Self::Action) -> Option<Self::State> {
        Some(action.0)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let safe =
            |model: &Self, state: &Fingerprinted<M::State>| model.0.broken(&state.state).is_none();
        vec![Property::always("nothing is broken", safe)]
    }
}

impl<M: Model> WithFingerprints<M> {
    fn with_fingerprint(&self, state: M::State) -> Fingerprinted<M::State> {
        let print = self.0.fingerprint(&state);
        Fingerprinted { state, print }
    }
}

impl<S> Hash for Fingerprinted<S> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(self.print as u64);
    }
}

impl<S> PartialEq for Fingerprinted<S> {
    fn eq(&self, other: &Self) -> bool {
        self.print == other.print
    }
}

impl<S> fmt::Debug for Fingerprinted<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.print)
    }
}
