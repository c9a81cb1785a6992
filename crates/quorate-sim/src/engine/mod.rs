//! The engine: a world of processes with virtual time, links, faults and a failure detector, driven event after event.
//!
//! A world knows its users and its observer only as traits. Files here import [`crate::scenario`] and
//! [`crate::random`].

mod effects;
mod external_queues;
mod externally_driven;
pub mod network;
mod node;
pub mod observer;
mod oracle;
pub mod queue;
mod slab;
mod world;

pub use externally_driven::{Driver, ExternallyDriven, Misdelivery, OutgoingMessage, Wire};
pub(crate) use slab::Slab;
pub use world::{Ending, Limits, World, WorldModel};
