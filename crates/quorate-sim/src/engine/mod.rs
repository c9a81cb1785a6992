//! The engine: a world of processes with virtual time, links, faults and a failure detector, driven event after event.
//!
//! A world knows its users and its observer only as traits. Files here import [`crate::scenario`] and
//! [`crate::random`].

mod effects;
mod event;
mod external_queues;
mod externally_driven;
mod limits;
pub mod network;
mod node;
pub mod observer;
mod oracle;
pub mod queue;
mod running_clock;
mod slab;
mod user;
mod world;

pub use external_queues::{OutgoingMessage, Wire};
pub use externally_driven::{Driver, ExternallyDriven, Misdelivery};
pub use limits::{Ending, Limits};
pub use running_clock::RunningClock;
pub(crate) use slab::Slab;
pub use user::{Agenda, User};
pub use world::{World, WorldModel};
