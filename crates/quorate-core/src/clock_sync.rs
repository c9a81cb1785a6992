//! Synchronisation of physical clocks: what a user asks and hears, whatever the algorithm.

use crate::{Process, Span, Time};

/// What the user of a clock asks of its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Set the clock right.
    Synchronise,
}

/// What a clock tells its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// The clock has been set.
    Adjusted {
        /// What the machine's own clock shows.
        own: Time,
        /// What the corrected clock shows at that moment.
        shown: Time,
        /// By how much the corrected clock may be wrong, if the algorithm can tell.
        error: Option<Span>,
    },
    /// Nobody answered that could be believed.
    Failed,
}

/// A command that makes no sense now. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Misuse {
    /// It is setting its clock already.
    #[error("this process is setting its clock already")]
    UnderWay,
}

/// A process that sets its clock by others'.
pub trait ClockSync: Process<Command = Command, Output = Output, Misuse = Misuse> {}

impl<P: Process<Command = Command, Output = Output, Misuse = Misuse>> ClockSync for P {}
