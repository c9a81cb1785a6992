//! The quorate names that the model needs, so that the same file compiles without quorate.

use std::fmt::Debug;
use std::hash::{DefaultHasher, Hasher};

pub type Fingerprint = u128;

/// Never called, because stateright hashes states itself.
#[derive(Default)]
pub struct FingerprintHasher(DefaultHasher);

impl FingerprintHasher {
    pub fn fingerprint(self) -> Fingerprint {
        self.0.finish().into()
    }
}

impl Hasher for FingerprintHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    fn finish(&self) -> u64 {
        self.0.finish()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Property {
    ME1,
}

#[derive(Clone, Debug)]
pub struct Successor<S, A> {
    pub action: A,
    pub class: Option<u16>,
    pub state: S,
}

pub trait Model: Sync {
    type State: Clone + Send + Sync;
    type Action: Clone + Debug + Send + Sync;
    fn initial_states(&self) -> Vec<Self::State>;
    fn fingerprint(&self, state: &Self::State) -> Fingerprint;
    fn successors(
        &self,
        state: &Self::State,
        successors: &mut Vec<Successor<Self::State, Self::Action>>,
    );
    fn broken(&self, state: &Self::State) -> Option<Property>;
    fn broken_when_quiescent(&self, state: &Self::State) -> Option<Property>;
    fn waiting(&self, state: &Self::State) -> u8;
    fn starvation_property(&self) -> Option<Property>;
    fn goals_reached(&self, state: &Self::State) -> u64;
    fn goals(&self) -> u64;
    fn is_reduced(&self) -> bool;
    fn bytes(&self, state: &Self::State) -> usize;
}
