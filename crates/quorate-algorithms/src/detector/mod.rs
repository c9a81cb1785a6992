//! Failure detectors: processes whose outputs are beliefs about the others.

mod adaptive_heartbeat;
mod changes;
mod heartbeat;
mod heartbeat_ring;
mod vcube;

pub use adaptive_heartbeat::AdaptiveHeartbeat;
pub use heartbeat::Heartbeat;
pub use heartbeat_ring::HeartbeatRing;
pub use vcube::{Carry, Diagnosed, Finding, VcubeDiagnosis};
