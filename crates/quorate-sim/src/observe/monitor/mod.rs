//! Monitors: each checks one property online and keeps the events that broke it.
//!
//! There is a file for each property, or for the properties that one set of events decides. Files here import the
//! engine's moments and endings, and the states that `observe/` keeps: beliefs, followers, mutex events.

mod accuracy;
mod announcements;
mod backlog;
mod causal_order;
mod clock_condition;
mod clock_error;
mod clock_precision;
mod completeness;
mod concurrency;
mod decisions;
#[cfg(test)]
mod definitions;
mod delivery;
mod e1;
mod e2;
mod eventual_accuracy;
mod exclusion;
mod fencing;
mod fifo_order;
mod me1;
mod me2;
mod me3;
mod replicated_logs;
mod snapshots;
mod total_order;
mod violation;

pub(crate) use accuracy::Accuracy;
pub(crate) use announcements::Announcements;
pub(crate) use causal_order::CausalOrder;
pub(crate) use clock_condition::{Announced, ClockCondition};
pub(crate) use clock_error::{ClockError, Setting};
pub(crate) use clock_precision::ClockPrecision;
pub(crate) use completeness::Completeness;
pub(crate) use concurrency::Concurrency;
pub(crate) use decisions::Decisions;
pub(crate) use delivery::Deliveries;
pub(crate) use e1::E1;
pub(crate) use e2::E2;
pub(crate) use eventual_accuracy::EventualAccuracy;
pub(crate) use exclusion::Exclusion;
pub use fencing::Fencing;
pub(crate) use fifo_order::FifoOrder;
pub use me1::Me1;
pub use me2::Me2;
pub use me3::Me3;
pub(crate) use replicated_logs::ReplicatedLogs;
pub(crate) use snapshots::Snapshots;
pub(crate) use total_order::TotalOrder;
pub use violation::{Evidence, Violation, name_all};

pub use super::mutex_event::MutexEvent;
pub use crate::scenario::Status;
