//! The Chrome trace format, which Perfetto and chrome://tracing open: a track for each process, a slice for each event,
//! and an arrow for each message.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::record::{Record, RecordKind};
use super::sink::TraceSink;

/// Writes one JSON object whose list of events grows during the run.
pub(super) struct Perfetto<W> {
    out: W,
    n: usize,
    begun: bool,
}

impl<W: Write> Perfetto<W> {
    pub(super) fn new(n: usize, out: W) -> Self {
        Self { out, n, begun: false }
    }

    fn write(&mut self, event: &Value) -> io::Result<()> {
        self.out.write_all(if self.begun {
            b",\n"
        } else {
            b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
        })?;
        self.begun = true;
        serde_json::to_writer(&mut self.out, event)?;
        Ok(())
    }

    fn name_tracks(&mut self) -> io::Result<()> {
        for process in 0..self.n {
            let name = json!({"name": format!("p{process}")});
            self.write(
                &json!({"ph": "M", "name": "thread_name", "pid": 0, "tid": process, "args": name}),
            )?;
        }
        Ok(())
    }
}

impl<W: Write> TraceSink for Perfetto<W> {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        if !self.begun {
            self.name_tracks()?;
        }
        // The format counts microseconds. A slice of one nanosecond gives the arrows an anchor.
        let ts = record.time as f64 / 1000.0;
        let tid = record.process;
        let name = record.kind.to_string();
        let args = serde_json::to_value(record)?;
        self.write(&json!({"ph": "X", "name": name, "cat": "event", "ts": ts, "dur": 0.001, "pid": 0, "tid": tid, "args": args}))?;
        match &record.kind {
            RecordKind::Send(envelope) => self.write(
                &json!({"ph": "s", "name": envelope.kind, "cat": "message", "id": envelope.message, "ts": ts, "pid": 0, "tid": tid}),
            ),
            RecordKind::Deliver(envelope) => self.write(
                &json!({"ph": "f", "bp": "e", "name": envelope.kind, "cat": "message", "id": envelope.message, "ts": ts, "pid": 0, "tid": tid}),
            ),
            _ => Ok(()),
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        if !self.begun {
            self.name_tracks()?;
        }
        self.out.write_all(b"\n]}\n")?;
        self.out.flush()
    }
}
