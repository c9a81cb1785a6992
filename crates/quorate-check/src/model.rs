//! Interface of a system that can be explored: its states, and the actions possible in each.

use std::fmt::Debug;

use quorate_core::Property;

use crate::Fingerprint;

/// A system whose states are to be explored.
pub trait Model: Sync {
    /// One state of the whole system.
    type State: Clone + Send + Sync;
    /// An action that leads from one state to another.
    type Action: Clone + Debug + Send + Sync;

    /// Returns the initial states of the system.
    fn initial_states(&self) -> Vec<Self::State>;

    /// Fingerprint under which a state is stored. States that are equal, or that the model treats
    /// as equivalent, have equal fingerprints.
    fn fingerprint(&self, state: &Self::State) -> Fingerprint;

    /// Adds all successors of a state, always in the same order.
    fn successors(
        &self,
        state: &Self::State,
        successors: &mut Vec<Successor<Self::State, Self::Action>>,
    );

    /// The property violated in this state, if any.
    fn broken(&self, state: &Self::State) -> Option<Property>;

    /// The property violated if no further action that must happen is possible in this state, if any.
    fn broken_when_quiescent(&self, state: &Self::State) -> Option<Property>;

    /// Bit set of the processes that wait in this state. None of them may wait forever.
    fn waiting(&self, state: &Self::State) -> u8;

    /// The property violated if a process waits forever; `None` if starvation is not checked.
    fn starvation_property(&self) -> Option<Property>;

    /// Bit set of the goals reached in this state. Each of [`Self::goals`] must be reached in some state.
    fn goals_reached(&self, state: &Self::State) -> u64;

    /// Goals that must be reached in some state. If one never is, the exploration is vacuous.
    fn goals(&self) -> u64;

    /// Whether a reduction is in use that is unsound if states recur: some actions are skipped, or processes are renamed.
    fn is_reduced(&self) -> bool;

    /// Whether something has happened that the model does not support, so that the exploration need not continue.
    fn is_unsupported(&self) -> bool {
        false
    }

    /// Approximate size of a state in bytes.
    fn bytes(&self, state: &Self::State) -> usize;
}

/// A model whose states can be written as bytes. A search that checks safety alone keeps states only in this form, and only
/// until they are expanded.
pub trait PackedModel: Model {
    /// Appends a state to `bytes`. Numbers that the model has assigned may be used.
    fn pack(&self, state: &Self::State, bytes: &mut Vec<u8>);

    /// Reads the state at the start of `bytes`, and removes it there.
    fn unpack(&self, bytes: &mut &[u8]) -> Self::State;

    /// The same as [`Model::successors`]. Returns whether actions may have been left out, which later states have to make up for.
    fn successors_and_omission(
        &self,
        state: &Self::State,
        successors: &mut Vec<Successor<Self::State, Self::Action>>,
    ) -> bool {
        self.successors(state, successors);
        false
    }

    /// Appends the numbers that it has assigned to `bytes`, for [`Self::restore`].
    fn save(&self, bytes: &mut Vec<u8>) {
        let _ = bytes;
    }

    /// Assigns the numbers that the same model has saved, before it assigns any other. Packed states of that model are states of
    /// this one then. Returns whether the bytes belong to this model.
    fn restore(&self, bytes: &[u8]) -> bool {
        bytes.is_empty()
    }

    /// Adds all successors of a state, none left out, always in the same order.
    fn all_successors(
        &self,
        state: &Self::State,
        successors: &mut Vec<Successor<Self::State, Self::Action>>,
    ) {
        self.successors(state, successors);
    }
}

/// An action and the state it leads to.
#[derive(Clone, Debug)]
pub struct Successor<S, A> {
    /// Action taken in the parent state.
    pub action: A,
    /// Fairness class of an action that must happen eventually; `None` if the action need not happen.
    pub class: Option<FairnessClass>,
    /// State after the action.
    pub state: S,
}

/// Actions of one class count as the same in different states, such as the delivery of the next message of a link.
/// Weak fairness: a class that stays enabled forever must eventually be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FairnessClass(pub u16);
