//! The computation of a recorded run: its commands, messages and outputs.

use std::collections::VecDeque;

use quorate_core::ProcessId;
use quorate_sim::trace::{Annotation, Record, RecordKind, TraceEnvelope};

use super::{Action, Computation, EVENTS_MOST, NotAComputation, PROCESSES_MOST, Unstamped};

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
    if n > PROCESSES_MOST || count > EVENTS_MOST {
        return Err(NotAComputation(format!(
            "{n} processes and {count} events are too many for stamps; at most {PROCESSES_MOST} and {EVENTS_MOST} are \
             possible"
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
