//! Failure detectors: processes whose outputs are beliefs about the others.

mod heartbeat;
mod vcube;

use quorate_core::Either;

pub use heartbeat::Heartbeat;
pub use vcube::{Carry, Diagnosed, Finding, VcubeDiagnosis};

/// Any of the detectors that a layer can stand over.
pub type AnyDetector = Either<Heartbeat, VcubeDiagnosis>;
