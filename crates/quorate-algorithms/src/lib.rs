#![doc = include_str!("../README.md")]
//!
//! # Modules
//!
//! - [`mutex`], [`election`], [`agreement`], [`multicast`], [`detector`], [`clock`], [`allocation`] and [`replication`]: the
//!   algorithms by family.
//! - [`snapshot`] and [`detection`]: algorithms that record a global state or detect stable properties.
//! - [`Algorithm`] has the declarations of an algorithm, [`literature`] the published figures about its costs.
//! - [`catalogue`] lists the algorithms. Processes are built from a [`Setup`].
//! - [`Instances`] runs numbered copies of a process, [`Parallel`] runs two processes side by side.
//!
//! # Features
//!
//! | feature | default | effect |
//! |---|---|---|
//! | `serde` | no | `Serialize` and `Deserialize` for messages |

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod agreement;
mod algorithm;
pub mod allocation;
pub mod catalogue;
pub mod clock;
pub mod detection;
pub mod detector;
pub mod election;
mod instances;
pub mod literature;
pub mod multicast;
pub mod mutex;
mod over_multicast;
mod parallel;
mod pseudo_code;
pub mod replication;
mod setup;
pub mod snapshot;

pub use algorithm::{Algorithm, Piggybacking, Sendable, Shape, Sound};
pub use instances::{Instances, Numbered};
pub use over_multicast::{OverMulticast, OverMulticastOutput};
pub use parallel::{Parallel, Side};
pub use pseudo_code::Step;
pub use setup::{ClockSetup, Setup};
