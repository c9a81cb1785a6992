//! Failure detectors: processes whose outputs are beliefs about the others.

mod heartbeat;

pub use heartbeat::Heartbeat;
