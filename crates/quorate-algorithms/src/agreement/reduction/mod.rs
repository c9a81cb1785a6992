//! Agreements composed of other agreements.

mod general;
mod per_commander;

pub(super) use general::General;
pub(super) use per_commander::PerCommander;
