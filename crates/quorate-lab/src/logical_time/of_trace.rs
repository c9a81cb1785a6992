//! The computation of a recorded run: its commands, messages and outputs.

use std::collections::VecDeque;
use std::io;

use quorate_core::ProcessId;
use quorate_sim::trace::{Annotation, Record, RecordKind, TraceEnvelope, TraceSink};

use super::{Action, Computation, EVENTS_MOST, NotAComputation, PROCESSES_MOST, Unstamped};

/// Collects the events of a run for [`of_trace`], and no more of them than it accepts.
#[derive(Clone, Debug, Default)]
pub struct EventRecords(Vec<Record>);

impl EventRecords {
    /// The computation of a run of `n` processes.
    pub fn computation(&self, n: usize) -> Result<Computation, NotAComputation> {
        of_trace(n, &self.0)
    }
}

impl TraceSink for EventRecords {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        if record.kind.is_event() && self.0.len() <= EVENTS_MOST {
            self.0.push(record.clone());
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The computation of a run of `n` processes. Commands and outputs are internal events. Messages that are lost are sent and not
/// received.
pub fn of_trace(n: usize, records: &[Record]) -> Result<Computation, NotAComputation> {
    let mut events: Vec<VecDeque<Unstamped>> = vec![VecDeque::new(); n];
    let mut count = 0;
    for record in records {
        let Some(event) = event(&record.kind) else { continue };
        let Some(own) = events.get_mut(record.process as usize) else { continue };
        own.push_back(event);
        count += 1;
    }
    if n > PROCESSES_MOST {
        return Err(NotAComputation(format!(
            "{n} processes are too many for stamps; at most {PROCESSES_MOST} are possible"
        )));
    }
    if count > EVENTS_MOST {
        return Err(NotAComputation(format!(
            "more than {EVENTS_MOST} events are too many for stamps; use fewer processes or requests"
        )));
    }
    let names = ProcessId::all(n).map(|process| process.to_string()).collect();
    Computation::stamped(names, events)
}

fn event(kind: &RecordKind) -> Option<Unstamped> {
    let message = |envelope: &TraceEnvelope| format!("{}{}", envelope.kind, envelope.message);
    let words = |annotation: &Annotation, plain: &String| match annotation.text.as_str() {
        "" => plain.clone(),
        text => format!("{plain} {text}"),
    };
    Some(match kind {
        RecordKind::Send(envelope) => {
            let name = message(envelope);
            (format!("{name}!"), Action::Send(name))
        }
        RecordKind::Deliver(envelope) => {
            let name = message(envelope);
            (format!("{name}?"), Action::Receive(name))
        }
        RecordKind::Command { command, annotation } => {
            (words(annotation, command), Action::Internal)
        }
        RecordKind::Output { output, annotation } => (words(annotation, output), Action::Internal),
        _ => return None,
    })
}
