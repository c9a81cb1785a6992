//! The algorithms, one module per paper. Each is a [`quorate_core::Process`]: a state machine without I/O, clock or
//! randomness, independent of the driver that runs it. [`catalogue`] lists them all.

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
mod setup;

pub use algorithm::{Algorithm, Piggybacking, Sendable, Shape, Sound};
pub use instances::{Instances, Numbered};
pub use parallel::{Parallel, Side};
pub use setup::{ClockSetup, Setup};
