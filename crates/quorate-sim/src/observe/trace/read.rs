//! Reads a trace in JSON Lines format. The file may come from an untrusted source, so every dimension is limited.

use std::io::{self, BufRead, Read};

use super::record::{Record, RecordKind};

/// Maximum number of records that are read.
pub const RECORDS_MOST: usize = 1_000_000;
/// Maximum number of processes. Each process has at least one record, that of its start.
const PROCESSES_MOST: usize = RECORDS_MOST;
/// Maximum length of a line in bytes.
const LINE_MOST: u64 = 1 << 20;
/// Maximum size of the file in bytes.
const BYTES_MOST: u64 = 1 << 30;

/// Why a trace cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file itself cannot be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A line is not a record.
    #[error("line {line} is not a record of a trace: {problem}")]
    NotARecord {
        /// Number of the line, counted from 1.
        line: usize,
        /// Description of the error.
        problem: String,
    },
    /// A line names a process beyond the maximum.
    #[error("line {line} names process {process}; there are at most {PROCESSES_MOST}")]
    NoSuchProcess {
        /// Number of the line, counted from 1.
        line: usize,
        /// The process that the line names.
        process: u32,
    },
    /// The trace exceeds the maximum number of records or bytes.
    #[error("it is too long: at most {RECORDS_MOST} records and {} MiB are read", BYTES_MOST >> 20)]
    TooLong,
    /// The trace contains no records.
    #[error("it has no records")]
    Empty,
}

/// Reads the records. Returns them with the number of processes that they name.
pub fn read(input: impl BufRead) -> Result<(usize, Vec<Record>), ReadError> {
    let mut input = input.take(BYTES_MOST);
    let (mut records, mut processes, mut line) = (Vec::new(), 0, Vec::new());
    for place in 1.. {
        line.clear();
        if input.by_ref().take(LINE_MOST).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        if records.len() == RECORDS_MOST || input.limit() == 0 {
            return Err(ReadError::TooLong);
        }
        let record: Record = serde_json::from_slice(&line).map_err(|error| {
            let problem = match line.len() as u64 == LINE_MOST {
                true => "the line is too long".to_owned(),
                false => error.to_string(),
            };
            ReadError::NotARecord { line: place, problem }
        })?;
        let last = highest_process(&record);
        if last as usize >= PROCESSES_MOST {
            return Err(ReadError::NoSuchProcess { line: place, process: last });
        }
        processes = processes.max(last as usize + 1);
        records.push(record);
    }
    if records.is_empty() { Err(ReadError::Empty) } else { Ok((processes, records)) }
}

/// The highest process that a record names.
fn highest_process(record: &Record) -> u32 {
    let others = match &record.kind {
        RecordKind::Send(envelope)
        | RecordKind::Duplicate(envelope)
        | RecordKind::Deliver(envelope) => envelope.from.max(envelope.to),
        RecordKind::Lose { envelope, .. } => envelope.from.max(envelope.to),
        RecordKind::Belief { about, .. } => *about,
        RecordKind::Partition { groups } => groups.iter().flatten().copied().max().unwrap_or(0),
        RecordKind::Fault { processes, .. } => processes.iter().copied().max().unwrap_or(0),
        RecordKind::Violation { events, .. } => {
            events.iter().map(|event| event.process).max().unwrap_or(0)
        }
        _ => 0,
    };
    record.process.max(others)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::history::Mark;
    use crate::observe::monitor::Evidence;
    use crate::observe::trace::format::Format;
    use crate::observe::trace::record::{Annotation, TraceEnvelope};

    fn all() -> Vec<Record> {
        let envelope = TraceEnvelope {
            message: u64::MAX,
            from: 0,
            to: 6,
            kind: "REQUEST".into(),
            layer: "mutex".into(),
            body: "\"<quoted>\"".to_owned(),
        };
        let annotation = Annotation { mark: Some(Mark::Decided), text: "3".to_owned() };
        let evidence =
            Evidence { event: 1, time: 2, process: 3, description: "entered".to_owned() };
        let kind = [
            RecordKind::Start,
            RecordKind::Command {
                command: "Acquire".to_owned(),
                annotation: Annotation::default(),
            },
            RecordKind::Send(envelope.clone()),
            RecordKind::Duplicate(envelope.clone()),
            RecordKind::Deliver(envelope.clone()),
            RecordKind::Lose { envelope, why: "loss".into() },
            RecordKind::Timer { timer: "T".to_owned() },
            RecordKind::Belief { about: 4, crashed: true },
            RecordKind::RoundEnd { round: 3 },
            RecordKind::Recover { memory: false },
            RecordKind::Output { output: "Decided(3)".to_owned(), annotation },
            RecordKind::Refuse { command: "Release".to_owned(), why: "not inside".to_owned() },
            RecordKind::Ignore { why: "down".into() },
            RecordKind::Crash,
            RecordKind::Partition { groups: vec![vec![0, 1], vec![2]] },
            RecordKind::Heal,
            RecordKind::Fault { fault: "slow".to_owned(), processes: vec![1] },
            RecordKind::Violation {
                property: "ME1".into(),
                moment: 7,
                detail: "two inside".to_owned(),
                events: vec![evidence],
            },
        ];
        let record = |(place, kind)| {
            let place = place as u64;
            Record { event: place, time: u64::MAX - place, process: 2, kind, cause: Some(place) }
        };
        kind.into_iter().enumerate().map(record).collect()
    }

    #[test]
    fn what_is_written_is_read() {
        let mut file = Vec::new();
        let mut sink = Format::JsonLines.writer(7, &mut file);
        all().iter().for_each(|record| sink.record(record).unwrap());
        sink.finish().unwrap();
        drop(sink);
        let (processes, records) = read(file.as_slice()).unwrap();
        assert_eq!(processes, 7);
        assert_eq!(records, all());
    }

    #[test]
    fn a_bad_line_is_named() {
        let good = serde_json::to_string(&all()[0]).unwrap();
        let problem = |text: String| read(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(problem(String::new()), "it has no records");
        assert!(problem(format!("{good}\n\nnonsense\n")).starts_with("line 3 is not a record"));
        assert!(problem(format!("{good}\n{{}}")).starts_with("line 2 is not a record"));
        let stranger = good.replace("\"process\":2", "\"process\":4000000000");
        assert!(problem(stranger).starts_with("line 1 names process 4000000000"));
        let long = format!("{good}\n{}", "x".repeat(LINE_MOST as usize + 1));
        assert_eq!(problem(long), "line 2 is not a record of a trace: the line is too long");
    }
}
