//! Logical time: the events of a computation with their Lamport and vector stamps, and how they relate.
//!
//! - Sources: Lamport, "Time, Clocks, and the Ordering of Events in a Distributed System", CACM 21(7), 1978; Fidge, 1988;
//!   Mattern, "Virtual Time and Global States of Distributed Systems", 1989; Chandy and Lamport, ACM TOCS 3(1), 1985,
//!   for cuts.
//! - Event e happened before f if both are at one process and e comes first, or if e sends a message that f receives, or
//!   by a chain of such steps. Events that are not related so are concurrent.
//! - If e happened before f, then e has the smaller Lamport time. The converse does not hold. For vector times it does.

mod cut;
mod exercise;
mod notation;
mod of_trace;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use quorate_core::{LamportClock, ProcessId, VectorClock};

pub use cut::{Cut, CutProblem};
pub use exercise::exercise;
pub use of_trace::{EventRecords, of_trace};

/// Maximum number of processes of a computation.
pub const PROCESSES_MOST: usize = 64;
/// Maximum number of events of a computation.
pub const EVENTS_MOST: usize = 5_000;

/// The events of some processes and the messages among them, with their stamps.
#[derive(Clone, Debug)]
pub struct Computation {
    names: Vec<String>,
    /// In an order in which each event comes after those that happened before it.
    events: Vec<Event>,
    /// The events of each process, in order, as positions in `events`.
    by_process: Vec<Vec<usize>>,
}

/// An event of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Process at which it happens.
    pub process: ProcessId,
    /// Name of the event, as it was written.
    pub name: String,
    /// Whether it sends or receives a message.
    pub action: Action,
    /// Lamport time of the event.
    pub lamport: u64,
    /// Vector time of the event.
    pub vector: VectorClock,
}

/// An event in terms of messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Neither sends nor receives.
    Internal,
    /// Sends the message of this name, to one or several processes.
    Send(String),
    /// Receives the message of this name.
    Receive(String),
}

/// How two events relate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Relation {
    /// They are the same event.
    Same,
    /// The first one happened before the second one, along these events.
    Before(Vec<usize>),
    /// The second one happened before the first one, along these events.
    After(Vec<usize>),
    /// Neither happened before the other.
    Concurrent,
}

/// Reason why a text is not a computation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAComputation(String);

impl fmt::Display for NotAComputation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotAComputation {}

/// An event before stamps are known.
type Unstamped = (String, Action);

impl Computation {
    /// Reads a computation, such as `p: a m!; q: m? b`. See [`notation`](self) for the rules.
    pub fn parse(text: &str) -> Result<Self, NotAComputation> {
        let (names, events) = notation::parse(text)?;
        Self::stamped(names, events)
    }

    /// Computes the stamps. The events of each process are in order.
    fn stamped(
        names: Vec<String>,
        mut events: Vec<VecDeque<Unstamped>>,
    ) -> Result<Self, NotAComputation> {
        let n = names.len();
        let mut clocks = vec![(LamportClock::at(0), VectorClock::new()); n];
        let mut sent: BTreeMap<String, (u64, VectorClock)> = BTreeMap::new();
        let mut done = Self { names, events: Vec::new(), by_process: vec![Vec::new(); n] };
        loop {
            let is_ready = |queue: &VecDeque<Unstamped>| match queue.front() {
                Some((_, Action::Receive(message))) => sent.contains_key(message),
                first => first.is_some(),
            };
            let Some(at) = events.iter().position(is_ready) else { break };
            let Some((name, action)) = events[at].pop_front() else { break };
            let process = ProcessId::from_index(at);
            let (lamport, vector) = &mut clocks[at];
            let received = match &action {
                Action::Receive(message) => sent.get(message),
                _ => None,
            };
            let time = match received {
                Some((time, known)) => {
                    vector.merge(known);
                    lamport.witness(*time)
                }
                None => lamport.tick(),
            };
            vector.tick(process);
            if let Action::Send(message) = &action {
                sent.insert(message.clone(), (time, vector.clone()));
            }
            let vector = vector.clone();
            done.by_process[at].push(done.events.len());
            done.events.push(Event { process, name, action, lamport: time, vector });
        }
        let waiting = events.iter().zip(&done.names).find_map(|(queue, process)| {
            queue.front().map(|(name, _)| format!("{process}: {name}"))
        });
        match waiting {
            Some(event) => Err(NotAComputation(format!(
                "`{event}` receives a message that is sent only after this event; messages do not travel back in time"
            ))),
            None => Ok(done),
        }
    }

    /// Names of the processes.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// All events. Each one comes after those that happened before it.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The events of a process in order, as positions in [`Self::events`].
    pub fn of(&self, process: ProcessId) -> &[usize] {
        &self.by_process[process.index()]
    }

    /// The name of an event that identifies it: its own, with its process if others have the same.
    pub fn title(&self, event: usize) -> String {
        let Event { process, name, .. } = &self.events[event];
        let same = self.events.iter().filter(|other| other.name == *name).count();
        if same == 1 {
            return name.clone();
        }
        let place = self.of(*process).iter().position(|own| *own == event).unwrap_or(0);
        format!("{}.{}", self.names[process.index()], place + 1)
    }

    /// The event of this name, or of this process and number such as `p.2`.
    pub fn find(&self, title: &str) -> Result<usize, NotAComputation> {
        let named: Vec<usize> = self
            .events
            .iter()
            .enumerate()
            .filter(|(_, event)| event.name == title)
            .map(|(at, _)| at)
            .collect();
        let by_place = || {
            let (process, place) = title.rsplit_once('.')?;
            let process = self.names.iter().position(|name| name == process)?;
            let place = place.parse::<usize>().ok()?.checked_sub(1)?;
            self.by_process[process].get(place).copied()
        };
        match named.as_slice() {
            [only] => Ok(*only),
            [] => by_place().ok_or_else(|| {
                NotAComputation(format!(
                    "there is no event `{title}`; name one of the table, or say p.2 for the second event of p"
                ))
            }),
            [_, ..] => Err(NotAComputation(format!(
                "several events are called `{title}`; say {} for the first one",
                self.place(named[0])
            ))),
        }
    }

    fn place(&self, event: usize) -> String {
        let process = self.events[event].process;
        let place = self.of(process).iter().position(|own| *own == event).unwrap_or(0);
        format!("{}.{}", self.names[process.index()], place + 1)
    }

    /// Whether the first event happened before the second one.
    pub fn happened_before(&self, first: usize, second: usize) -> bool {
        self.events[first].vector.happened_before(&self.events[second].vector)
    }

    /// How two events relate, with a chain of events that shows it.
    pub fn relation(&self, first: usize, second: usize) -> Relation {
        if first == second {
            Relation::Same
        } else if self.happened_before(first, second) {
            Relation::Before(self.chain(first, second))
        } else if self.happened_before(second, first) {
            Relation::After(self.chain(second, first))
        } else {
            Relation::Concurrent
        }
    }

    /// A shortest chain of steps from an event to a later one.
    fn chain(&self, from: usize, to: usize) -> Vec<usize> {
        let mut came_from = BTreeMap::from([(from, from)]);
        let mut queue = VecDeque::from([from]);
        while let Some(here) = queue.pop_front() {
            if here == to {
                break;
            }
            for next in self.direct_successors(here) {
                if let std::collections::btree_map::Entry::Vacant(entry) = came_from.entry(next) {
                    entry.insert(here);
                    queue.push_back(next);
                }
            }
        }
        let mut chain = vec![to];
        while let Some(before) = chain.last().and_then(|last| came_from.get(last)) {
            if chain.last() == Some(before) {
                break;
            }
            chain.push(*before);
        }
        chain.reverse();
        chain
    }

    /// The next event of the same process, and the receipts of the message that the event sends.
    fn direct_successors(&self, event: usize) -> Vec<usize> {
        let Event { process, action, .. } = &self.events[event];
        let own = self.of(*process);
        let next = own.iter().position(|it| *it == event).and_then(|place| own.get(place + 1));
        let mut successors: Vec<usize> = next.copied().into_iter().collect();
        if let Action::Send(message) = action {
            let receives = |it: &Event| matches!(&it.action, Action::Receive(of) if of == message);
            let receipts = self.events.iter().enumerate().filter(|(_, it)| receives(it));
            successors.extend(receipts.map(|(at, _)| at));
        }
        successors
    }

    /// Number of pairs of events of which one happened before the other, and of concurrent pairs.
    pub fn pairs(&self) -> (u64, u64) {
        let (mut ordered, mut concurrent) = (0, 0);
        for (at, event) in self.events.iter().enumerate() {
            for later in &self.events[at + 1..] {
                match event.vector.happened_before(&later.vector) {
                    true => ordered += 1,
                    false => concurrent += 1,
                }
            }
        }
        (ordered, concurrent)
    }

    /// Two concurrent events of which the first has the smaller Lamport time: the converse of the clock condition fails.
    pub fn failed_converse(&self) -> Option<(usize, usize)> {
        let all = || 0..self.events.len();
        let fails = |&(first, second): &(usize, usize)| {
            self.events[first].lamport < self.events[second].lamport
                && self.relation(first, second) == Relation::Concurrent
        };
        all().flat_map(|first| all().map(move |second| (first, second))).find(fails)
    }

    /// A vector time in brackets, with an entry for each process.
    pub fn vector_text(&self, vector: &VectorClock) -> String {
        let entries =
            ProcessId::all(self.names.len()).map(|process| vector.of(process).to_string());
        format!("[{}]", entries.collect::<Vec<_>>().join(" "))
    }
}

#[cfg(test)]
mod tests;
