#![doc = include_str!("../README.md")]
//!
//! # Main types
//!
//! - [`World`] is the model of processes that exchange messages, crash and are notified of crashes. [`Budget`] limits its
//!   faults. Users, such as [`MutexUsers`] and [`ReplicationUsers`], issue commands and judge; there is one type for each
//!   family.
//! - [`explore()`] visits all states of a [`Model`] breadth first, so that a [`Counterexample`] is a shortest one unless
//!   partial-order reduction was in use. The [`Exploration`] does not depend on the number of threads.
//! - [`explore_safety()`] visits the same states in a tenth of the memory, and looks for no cycle in which a process waits.
//! - [`scenario_of`] makes a scenario of a counterexample, which the simulator runs to the same end.
//! - [`estimate()`] estimates the number of states from a part of them.
//! - [`quorums`] analyses quorum systems.

pub mod conformance;
mod counterexample;
mod estimate;
mod explore;
mod fingerprint;
mod lasso;
mod model;
pub mod quorums;
mod safety;
mod users;
mod visited;
mod world;

pub use counterexample::scenario_of;
pub use estimate::{Expected, estimate};
pub use explore::{Bounds, Counterexample, End, Exploration, Progress, explore};
pub use fingerprint::{Fingerprint, FingerprintHasher, fingerprint_of};
pub use model::{FairnessClass, Model, PackedModel, Successor};
pub use safety::{
    Checkpoint, SafetyExploration, SafetyFiles, checkpoint_identity, explore_safety,
    explore_safety_with,
};
pub use users::{
    AgreementUserState, AgreementUsers, AllocationUserState, AllocationUsers, DetectionUsers,
    ElectionUserState, ElectionUsers, MulticastUserState, MulticastUsers, MutexUserState,
    MutexUsers, ReplicationUserState, ReplicationUsers, SnapshotUserState, SnapshotUsers, Users,
};
pub use world::{Action, ActionKind, Budget, PROCESSES_MOST, State, World};
#[cfg(not(test))]
pub use world::{ErasedFamily, ErasedProcesses};
