//! The algorithms, one module per paper. Each is a [`quorate_core::Process`]: no I/O, no clock, no
//! chance, and no knowledge of who drives it. [`catalogue`] finds them by name.

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod agreement;
mod beside;
pub mod catalogue;
pub mod clock;
pub mod detector;
pub mod election;
mod instances;
pub mod multicast;
pub mod mutex;

pub use beside::{Beside, Side};
pub use catalogue::{Algorithm, ClockSetup, Rides, Sendable, Setup, Shape, Sound};
pub use instances::{Instances, Numbered};
