//! Failure detectors: processes whose outputs are beliefs about the others.

mod heartbeat;
mod vcube;

pub use heartbeat::Heartbeat;
pub use vcube::{Carry, Diagnosed, Finding, VcubeDiagnosis};
