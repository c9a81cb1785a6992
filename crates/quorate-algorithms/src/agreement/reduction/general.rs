//! What can be commanded by anybody.

use quorate_core::ProcessId;
use quorate_core::agreement::{Agreement, Value};

use crate::Setup;

/// A process that agrees with others on what one of them, the commander, says.
pub trait General: Agreement {
    /// Process `id` under that commander.
    fn with_commander(setup: &Setup, id: ProcessId, commander: ProcessId) -> Self;

    /// Once it has decided: what the commander said, or that all agree on nothing.
    fn agreed(&self) -> Option<Value>;
}
