#![doc = include_str!("../README.md")]
//!
//! # Main types
//!
//! - [`Process`], [`Effects`] and [`Message`]: an algorithm as a state machine. [`Stack`] puts one process above another.
//! - [`ProcessId`], [`ProcessSet`], [`Time`] and [`Span`]: the vocabulary of inputs and effects.
//! - [`mutex`], [`election`], [`agreement`], [`multicast`], [`detector`], [`clock_sync`] and [`allocation`]: the commands
//!   and outputs of each family of algorithms.
//! - [`mutex`], [`election`], [`agreement`], [`multicast`], [`detector`] and [`clock_sync`]: the commands and outputs of
//!   each family of algorithms.
//! - [`snapshot`] and [`detection`]: the same for algorithms that record a global state or detect stable properties.
//! - [`SortedMap`] and [`SortedSet`]: collections of which states are built.
//! - [`quorum`], [`VCube`], [`SpanningTree`], [`LamportClock`] and [`VectorClock`]: parts of which algorithms are built.
//! - [`Profile`], [`Assumption`], [`Property`] and [`Cost`]: what an algorithm declares. [`definition`] defines the
//!   properties.
//!
//! # Features
//!
//! | feature | default | effect |
//! |---|---|---|
//! | `serde` | no | `Serialize` and `Deserialize` for everything that messages contain |

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod abstraction;
pub mod agreement;
pub mod allocation;
mod below_erased;
pub mod clock_sync;
pub mod definition;
pub mod detection;
pub mod detector;
mod effects;
mod either;
pub mod election;
mod erased;
mod lamport;
mod message;
pub mod multicast;
pub mod mutex;
mod permission;
mod process;
mod process_id;
mod process_set;
mod profile;
pub mod quorum;
pub mod replication;
pub mod snapshot;
pub mod sorted;
mod spanning_tree;
mod stack;
mod time;
mod vcube;
mod vector_clock;
mod versions;
#[cfg(feature = "serde")]
mod wire;
mod words;

pub use below_erased::{BelowErased, BelowErasedMessage};
pub use detector::{Belief, DelayBounds};
pub use effects::{Effect, Effects, Recipients};
pub use either::Either;
pub use erased::{Data, Erased, ErasedMessage, ErasedTimer, Reason};
pub use lamport::{LamportClock, Stamp};
pub use message::{Kind, Layer, Message, NoMessage, UNCONDITIONAL_LIE};
pub use permission::Permission;
pub use process::Process;
pub use process_id::ProcessId;
pub use process_set::ProcessSet;
pub use profile::{Assumption, Cost, Profile, Property, Specimen};
pub use sorted::{SortedMap, SortedSet};
pub use spanning_tree::SpanningTree;
pub use stack::{Layered, Route, Stack, UpperLayer};
pub use time::{Drift, Offset, Span, Time};
pub use vcube::VCube;
pub use vector_clock::VectorClock;
pub use versions::Versions;
