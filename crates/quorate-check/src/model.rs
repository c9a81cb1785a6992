//! What can be explored: states, and what can happen in each.

use std::fmt::Debug;

use quorate_core::Property;

use crate::Fingerprint;

/// A system whose states are to be explored.
pub trait Model: Sync {
    /// A state of it.
    type State: Clone + Send + Sync;
    /// What leads from one state to another.
    type Action: Clone + Debug + Send + Sync;

    /// Where it starts.
    fn initial_states(&self) -> Vec<Self::State>;

    /// What a state is remembered by: equal states have equal fingerprints.
    fn fingerprint(&self, state: &Self::State) -> Fingerprint;

    /// Adds all that can happen in a state, always in the same order.
    fn successors(
        &self,
        state: &Self::State,
        successors: &mut Vec<Successor<Self::State, Self::Action>>,
    );

    /// The property that does not hold in this state, if there is one.
    fn broken(&self, state: &Self::State) -> Option<Property>;

    /// The property that does not hold if nothing happens any more that must, if there is one.
    fn broken_when_quiescent(&self, state: &Self::State) -> Option<Property>;

    /// Who waits in this state, as bits: nobody may do so for ever.
    fn waiting(&self, state: &Self::State) -> u8;

    /// The property that is broken if somebody waits for ever; none if nobody minds.
    fn starvation_property(&self) -> Option<Property>;

    /// What has come about in this state, as bits: in some state each of [`Self::goals`] has to.
    fn goals_reached(&self, state: &Self::State) -> u64;

    /// What has to come about in some state, or nothing was shown.
    fn goals(&self) -> u64;

    /// Whether something is left out that may matter if states come again: some of what can happen, or who is who.
    fn is_reduced(&self) -> bool;

    /// Whether something has happened that the model has no room for, so that there is no point in going on.
    fn is_unsupported(&self) -> bool {
        false
    }

    /// About how many bytes a state takes.
    fn bytes(&self, state: &Self::State) -> usize;
}

/// Something that can happen.
#[derive(Clone, Debug)]
pub struct Successor<S, A> {
    /// What.
    pub action: A,
    /// Whether it must happen sooner or later, and what it is the same as in other states.
    pub class: Option<FairnessClass>,
    /// What comes of it.
    pub state: S,
}

/// Actions of one class are the same in different states: the next message of a link is. What can happen for ever
/// and has a class must happen some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FairnessClass(pub u16);
