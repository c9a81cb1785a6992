//! Observation of a run: message counts, measurements, monitors of properties, the history and the trace.
//!
//! Each file keeps one kind of result and is updated event by event. Files here import [`crate::engine`] and
//! [`crate::scenario`], and know neither the algorithm nor the report.

pub mod accounting;
mod beliefs;
mod detection;
pub mod entry_delays;
mod fault_log;
mod followers;
mod history;
pub mod monitor;
mod mutex_event;
pub mod trace;

pub(crate) use beliefs::Beliefs;
pub use detection::NoticeReport;
pub(crate) use detection::{Change, Detection};
pub(crate) use fault_log::describe_traitor;
pub use fault_log::{FaultLog, Overload};
pub(crate) use followers::Followers;
pub use history::{History, Mark};
