//! Agreements that can run under any commander.

use quorate_core::ProcessId;
use quorate_core::agreement::{Agreement, Value};

use crate::Setup;

/// A process that agrees with the others on the value of one of them, the commander.
pub trait General: Agreement {
    /// Creates process `id` under that commander.
    fn with_commander(setup: &Setup, id: ProcessId, commander: ProcessId) -> Self;

    /// After the decision: the commander's value, or `None` if the generals agree on no value.
    fn agreed(&self) -> Option<Value>;
}
