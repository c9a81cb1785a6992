//! ME2, liveness: no live requester waits forever.
//!
//! There are two criteria for waiting forever: the run is quiescent and a process still waits, or a process has waited
//! longer than a bound, if one is given. Cost: O(1) for each request and entry.

use quorate_core::{ProcessId, ProcessSet, Property, Span, Time};

use super::violation::{Evidence, Violation, name_all};
use crate::engine::Ending;
use crate::engine::observer::Moment;
use crate::observe::mutex_event::MutexEvent;
use crate::scenario::Status;
use crate::scenario::plan::Memory;

/// Monitor of the property ME2.
#[derive(Clone, Debug)]
pub struct Me2 {
    /// The pending request of each process.
    waiting: Vec<Option<Moment>>,
    down: ProcessSet,
    patience: Option<Span>,
    /// The property that a violation breaks.
    property: Property,
    violation: Option<Violation>,
}

impl Me2 {
    /// Creates a monitor for n processes. None of them may wait longer than `patience`.
    pub fn new(n: usize, patience: Option<Span>) -> Self {
        let (waiting, down) = (vec![None; n], ProcessSet::new());
        Self { waiting, down, patience, property: Property::ME2, violation: None }
    }

    /// Reports violations as violations of another property with the same meaning.
    #[must_use]
    pub fn reporting(self, property: Property) -> Self {
        Self { property, ..self }
    }

    /// Processes an event of a process.
    pub fn observe(&mut self, at: Moment, event: MutexEvent) {
        let since = &mut self.waiting[at.process.index()];
        match event {
            MutexEvent::Requested => *since = Some(at),
            MutexEvent::Entered => {
                if let Some(since) = since.take() {
                    self.judge(since, at.time, "entered only");
                }
            }
            // Reporting that no quorum is left is an answer to the request.
            MutexEvent::GaveUp => *since = None,
            MutexEvent::Left | MutexEvent::Expelled => {}
            MutexEvent::Crashed => {
                self.down.insert(at.process);
            }
            MutexEvent::Recovered(memory) => {
                self.down.remove(at.process);
                if memory == Memory::Lost {
                    *since = None;
                }
            }
        }
    }

    /// Pending requests of live processes, in process order.
    pub fn waiting(&self) -> impl Iterator<Item = Moment> + '_ {
        self.waiting.iter().flatten().copied().filter(|since| !self.down.contains(since.process))
    }

    /// Judges the end of a run. `waits_for` returns the processes that a process waits for. `down_since` returns when a
    /// process that is down has crashed.
    pub fn end(
        &mut self,
        now: Time,
        ending: Ending,
        waits_for: impl Fn(ProcessId) -> ProcessSet,
        down_since: impl Fn(ProcessId) -> Option<Time>,
    ) -> Status {
        let waiting: Vec<Moment> = self.waiting().collect();
        if ending != Ending::Quiescent {
            for since in &waiting {
                self.judge(*since, now, "still waits");
            }
        } else if self.violation.is_none() && !waiting.is_empty() {
            self.violation = Some(hang(self.property, &waiting, now, waits_for, down_since));
        }
        match (&self.violation, waiting.is_empty()) {
            (Some(_), _) => Status::Violated,
            (None, true) => Status::Holds,
            (None, false) => Status::NotChecked,
        }
    }

    /// The first violation, if there is one.
    pub fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    fn judge(&mut self, since: Moment, now: Time, phrase: &str) {
        let waited = now - since.time;
        let Some(patience) = self.patience.filter(|patience| waited > *patience) else { return };
        let property = self.property;
        self.violation.get_or_insert_with(|| Violation {
            property,
            time: now,
            detail: format!("{} {phrase} after {waited}, the bound is {patience}", since.process),
            events: vec![Evidence::new(since, "asked to enter")],
        });
    }
}

fn hang(
    property: Property,
    waiting: &[Moment],
    now: Time,
    waits_for: impl Fn(ProcessId) -> ProcessSet,
    down_since: impl Fn(ProcessId) -> Option<Time>,
) -> Violation {
    let mut awaited = ProcessSet::new();
    let mut events = Vec::new();
    for since in waiting {
        let waited_for = waits_for(since.process);
        let description = if waited_for.is_empty() {
            "asked to enter and still waits".to_owned()
        } else {
            format!("asked to enter and still waits for {}", name_all(&waited_for))
        };
        events.push(Evidence::new(*since, description));
        awaited.union_with(&waited_for);
    }
    let circle = circle(waiting.iter().map(|since| since.process), &waits_for);
    let names = name_all(waiting.iter().map(|since| since.process));
    let verb = if waiting.len() == 1 { "waits" } else { "wait" };
    let down: Vec<String> = awaited
        .iter()
        .filter_map(|process| {
            down_since(process).map(|time| format!("{process}, which crashed at {time}"))
        })
        .collect();
    let why = match down.as_slice() {
        [] => String::new(),
        down => format!(": awaiting {}", down.join(", ")),
    };
    let why = match circle {
        Some(circle) if why.is_empty() => format!(" because of a circle: {}", describe(&circle)),
        _ => why,
    };
    Violation {
        property,
        time: now,
        detail: format!("{names} {verb} for ever{why}; nothing is left to happen after {now}"),
        events,
    }
}

/// Finds a cycle of processes in which each waits for the next. It may include a process that has not requested
/// anything: a voter waits for the return of its vote.
fn circle(
    waiting: impl Iterator<Item = ProcessId>,
    waits_for: &impl Fn(ProcessId) -> ProcessSet,
) -> Option<Vec<ProcessId>> {
    let awaited = |process: ProcessId| {
        let mut awaited = waits_for(process);
        awaited.remove(process);
        awaited
    };
    let mut explored = ProcessSet::new();
    for start in waiting {
        let mut path = vec![(start, awaited(start))];
        while let Some((here, left)) = path.last_mut() {
            let Some(next) = left.first() else {
                explored.insert(*here);
                path.pop();
                continue;
            };
            left.remove(next);
            if let Some(start) = path.iter().position(|(process, _)| *process == next) {
                return Some(path[start..].iter().map(|(process, _)| *process).collect());
            }
            if !explored.contains(next) {
                path.push((next, awaited(next)));
            }
        }
    }
    None
}

/// Formats a cycle: `p0 waits for p1, p1 for p2, p2 for p0`.
fn describe(circle: &[ProcessId]) -> String {
    let next = circle.iter().cycle().skip(1);
    let links = circle.iter().zip(next).enumerate();
    let link = |(place, (from, to))| match place {
        0 => format!("{from} waits for {to}"),
        _ => format!("{from} for {to}"),
    };
    links.map(link).collect::<Vec<_>>().join(", ")
}
