//! Failure detectors: processes whose outputs are beliefs about the other processes.

mod adaptive_heartbeat;
mod heartbeat;
mod heartbeat_ring;
mod status_counters;
mod swim;
mod vcube;

use quorate_core::Either;

pub use adaptive_heartbeat::AdaptiveHeartbeat;
pub use heartbeat::Heartbeat;
pub use heartbeat_ring::HeartbeatRing;
pub use swim::Swim;
pub use vcube::{DiagnosisEvent, DiagnosisOutput, Piggyback, VcubeDiagnosis};

/// Any of the failure detectors, as the lower layer of a stack.
pub type AnyDetector =
    Either<Either<Heartbeat, VcubeDiagnosis>, Either<HeartbeatRing, AdaptiveHeartbeat>>;
