//! Explores every interleaving of a small world, with the processes that the simulator runs.
//!
//! A [`Model`] yields the successors of each state. [`explore()`] visits all states breadth first, so that a counterexample
//! is a shortest one unless partial-order reduction was in use. [`World`] is the model of processes that exchange messages,
//! crash and are notified of crashes.

mod counterexample;
mod estimate;
mod explore;
mod fingerprint;
mod lasso;
mod model;
mod users;
mod visited;
mod world;

pub use counterexample::scenario_of;
pub use estimate::estimate;
pub use explore::{Bounds, Counterexample, End, Exploration, Progress, explore};
pub use fingerprint::{Fingerprint, FingerprintHasher, fingerprint_of};
pub use model::{FairnessClass, Model, Successor};
pub use users::{
    AgreementUserState, AgreementUsers, ElectionUserState, ElectionUsers, MulticastUserState,
    MulticastUsers, MutexUserState, MutexUsers, Users,
};
pub use world::{Action, ActionKind, Budget, State, World};
