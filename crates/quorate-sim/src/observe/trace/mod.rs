//! Traces: every event of a run with its cause, written in one of several formats while the run proceeds, and read again.
//!
//! A trace consists of records, and a sink receives them. There is a file for each format. Files here import only the
//! history, the monitors and the notation.

mod cancelled;
mod format;
mod jsonl;
mod logical_clocks;
mod perfetto;
mod read;
mod record;
mod shiviz;
mod sink;
mod tee;

pub use cancelled::Cancelled;
pub use format::Format;
pub use logical_clocks::{LogicalClocks, LogicalTime};
pub use read::{RECORDS_MOST, ReadError, read};
pub use record::{Annotation, Record, RecordKind, TraceEnvelope};
pub use sink::{TraceSink, TracedState};
pub use tee::Tee;
