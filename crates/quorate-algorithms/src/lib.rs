//! The algorithms, one module per paper. Each is a [`quorate_core::Process`]: a state machine without I/O, clock or
//! randomness, independent of the driver that runs it. [`catalogue`] finds an algorithm by name.

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod agreement;
pub mod catalogue;
pub mod clock;
pub mod detector;
pub mod election;
mod instances;
pub mod multicast;
pub mod mutex;
mod parallel;

pub use catalogue::{Algorithm, ClockSetup, Piggybacking, Sendable, Setup, Shape, Sound};
pub use instances::{Instances, Numbered};
pub use parallel::{Parallel, Side};
