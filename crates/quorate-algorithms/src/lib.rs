#![doc = include_str!("../README.md")]
//!
//! # Modules
//!
//! - [`mutex`], [`election`], [`agreement`], [`multicast`], [`detector`], [`clock`] and [`replication`]: the algorithms by
//!   family.
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
pub mod catalogue;
pub mod clock;
pub mod detector;
pub mod election;
mod instances;
pub mod literature;
pub mod multicast;
pub mod mutex;
mod parallel;
pub mod replication;
mod setup;

pub use algorithm::{Algorithm, Piggybacking, Sendable, Shape, Sound};
pub use instances::{Instances, Numbered};
pub use parallel::{Parallel, Side};
pub use setup::{ClockSetup, Setup};
