//! ME2, liveness: no live requester waits for ever.
//!
//! For ever is judged in two ways: when nothing is left to happen and somebody still waits, and, if a
//! bound is given, when somebody has waited longer. Cost: O(1) for each request and entry.

use quorate_core::{ProcessId, ProcessSet, Property, Span, Time};

use super::{Evidence, MutexEvent, Status, Violation, name_all};
use crate::observer::Moment;
use crate::plan::Memory;
use crate::world::Ending;

/// Watches ME2.
#[derive(Clone, Debug)]
pub struct Me2 {
    /// Since when each process waits.
    waiting: Vec<Option<Moment>>,
    down: ProcessSet,
    patience: Option<Span>,
    violation: Option<Violation>,
}

impl Me2 {
    /// Watches n processes, of whom none may wait longer than `patience`.
    pub fn new(n: usize, patience: Option<Span>) -> Self {
        Self { waiting: vec![None; n], down: ProcessSet::new(), patience, violation: None }
    }

    /// Sees something of a process.
    pub fn observe(&mut self, at: Moment, event: MutexEvent) {
        let since = &mut self.waiting[at.process.index()];
        match event {
            MutexEvent::Requested => *since = Some(at),
            MutexEvent::Entered => {
                if let Some(since) = since.take() {
                    self.judge(since, at.time, "entered only");
                }
            }
            // Saying that there is no quorum left is an answer.
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

    /// The live processes that wait, in order.
    pub fn waiting(&self) -> impl Iterator<Item = Moment> + '_ {
        self.waiting.iter().flatten().copied().filter(|since| !self.down.contains(since.process))
    }

    /// Judges the end of a run. `waits_for` tells for whom a process waits, `down_since` when one has crashed.
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
            self.violation = Some(hang(&waiting, now, waits_for, down_since));
        }
        match (&self.violation, waiting.is_empty()) {
            (Some(_), _) => Status::Violated,
            (None, true) => Status::Holds,
            (None, false) => Status::NotChecked,
        }
    }

    /// The first violation.
    pub fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    fn judge(&mut self, since: Moment, now: Time, phrase: &str) {
        let waited = now - since.time;
        let Some(patience) = self.patience.filter(|patience| waited > *patience) else { return };
        self.violation.get_or_insert_with(|| Violation {
            property: Property::ME2,
            time: now,
            detail: format!("{} {phrase} after {waited}, the bound is {patience}", since.process),
            events: vec![Evidence::new(since, "asked to enter")],
        });
    }
}

fn hang(
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
        Some(circle) if why.is_empty() => format!(" in a circle: {}", describe(&circle)),
        _ => why,
    };
    Violation {
        property: Property::ME2,
        time: now,
        detail: format!("{names} {verb} for ever{why}; nothing is left to happen after {now}"),
        events,
    }
}

/// Processes each of whom waits for the next, and the last for the first, if there are such. One who wants nothing
/// may be among them: a voter waits for its vote to come back.
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

/// `p0 waits for p1, p1 for p2, p2 for p0`.
fn describe(circle: &[ProcessId]) -> String {
    let next = circle.iter().cycle().skip(1);
    let links = circle.iter().zip(next).enumerate();
    let link = |(place, (from, to))| match place {
        0 => format!("{from} waits for {to}"),
        _ => format!("{from} for {to}"),
    };
    links.map(link).collect::<Vec<_>>().join(", ")
}
