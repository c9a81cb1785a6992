//! The limits of a run, and the reasons for its end.

use quorate_core::Time;

/// Limits of a run that does not end otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time after which nothing happens.
    pub until: Time,
    /// Maximum number of events.
    pub events: u64,
    /// Maximum number of items in the queue.
    pub queued: usize,
    /// Whether to stop once the users are content, even if the processes never become quiescent.
    pub stop_when_content: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self { until: Time::NEVER, events: u64::MAX, queued: usize::MAX, stop_when_content: false }
    }
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// No events are left.
    Quiescent,
    /// The users have everything that they wanted.
    Content,
    /// The time limit was reached.
    Until,
    /// The maximum number of events was reached.
    Events,
    /// The queue exceeded its maximum size.
    Queued,
    /// The observer has failed, for example because the trace could not be written.
    Unwatched,
}
