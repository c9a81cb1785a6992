//! Cuts: a prefix of the events of each process. A cut is consistent if it contains, with each event, all events that happened
//! before it. A consistent cut is a global state that an observer might have seen.

use std::collections::BTreeSet;

use quorate_core::ProcessId;

use super::{Action, Computation, NotAComputation};

/// Number of events of each process that belong to the cut.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cut(Vec<usize>);

/// A message that makes a cut inconsistent: it is received inside and sent outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutProblem {
    /// The event that sends, outside the cut.
    pub sent: usize,
    /// The event that receives, inside the cut.
    pub received: usize,
}

impl Computation {
    /// Reads a cut such as `p=2,q=1`: the number of events of each process. Processes that are not named have none.
    pub fn parse_cut(&self, text: &str) -> Result<Cut, NotAComputation> {
        let mut cut = vec![0; self.names().len()];
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let problem = |why: &str| {
                let part: String = part.chars().filter(|c| !c.is_control()).take(60).collect();
                NotAComputation(format!("`{part}`: {why}"))
            };
            let (name, count) = part
                .split_once('=')
                .ok_or_else(|| problem("write p=2 for the first two events of p"))?;
            let process = self.names().iter().position(|known| known == name.trim());
            let process = process.ok_or_else(|| problem("there is no such process"))?;
            let most = self.of(ProcessId::from_index(process)).len();
            let count: Option<usize> = count.trim().parse().ok();
            cut[process] = count.filter(|count| *count <= most).ok_or_else(|| {
                problem(&format!("the process has {most} events, so the number is 0 to {most}"))
            })?;
        }
        Ok(Cut(cut))
    }

    /// The first message that makes the cut inconsistent; `None` if the cut is consistent.
    pub fn inconsistency(&self, cut: &Cut) -> Option<CutProblem> {
        let inside = |event: usize| {
            let process = self.events()[event].process;
            self.of(process)[..cut.0[process.index()]].contains(&event)
        };
        let senders = self.events().iter().enumerate();
        let sends = senders.filter_map(|(at, event)| match &event.action {
            Action::Send(message) => Some((at, message)),
            _ => None,
        });
        sends.filter(|(sent, _)| !inside(*sent)).find_map(|(sent, message)| {
            let received = self.events().iter().enumerate().position(|(at, event)| {
                matches!(&event.action, Action::Receive(of) if of == message) && inside(at)
            })?;
            Some(CutProblem { sent, received })
        })
    }

    /// The messages that are in flight in a consistent cut: sent inside and not received inside by some process that
    /// receives them at all. As events that send.
    pub fn in_flight(&self, cut: &Cut) -> Vec<usize> {
        let inside = |event: usize| {
            let process = self.events()[event].process;
            self.of(process)[..cut.0[process.index()]].contains(&event)
        };
        let all = self.events().iter().enumerate();
        let sends = all.filter_map(|(at, event)| match &event.action {
            Action::Send(message) if inside(at) => Some((at, message)),
            _ => None,
        });
        let is_open = |message: &String| {
            let mut receipts =
                self.events().iter().enumerate().filter(
                    |(_, event)| matches!(&event.action, Action::Receive(of) if of == message),
                );
            receipts.any(|(at, _)| !inside(at))
        };
        sends.filter(|(_, message)| is_open(message)).map(|(at, _)| at).collect()
    }

    /// Number of consistent cuts; `None` if there are more than `most`.
    pub fn consistent_cuts(&self, most: usize) -> Option<usize> {
        let mut level = BTreeSet::from([Cut(vec![0; self.names().len()])]);
        let mut count = 0;
        while !level.is_empty() {
            count += level.len();
            if count > most {
                return None;
            }
            level = level.iter().flat_map(|cut| self.larger(cut)).collect();
        }
        Some(count)
    }

    /// The consistent cuts with one event more.
    fn larger(&self, cut: &Cut) -> Vec<Cut> {
        let extended = ProcessId::all(self.names().len()).filter_map(|process| {
            let next = *self.of(process).get(cut.0[process.index()])?;
            let vector = &self.events()[next].vector;
            // Of every other process, the cut has to contain the events that happened before.
            let complete = ProcessId::all(self.names().len())
                .filter(|other| *other != process)
                .all(|other| vector.of(other) <= cut.0[other.index()] as u64);
            complete.then(|| {
                let mut larger = cut.clone();
                larger.0[process.index()] += 1;
                larger
            })
        });
        extended.collect()
    }

    /// The cut in words, such as `p=2, q=1`.
    pub fn cut_text(&self, cut: &Cut) -> String {
        let parts = self.names().iter().zip(&cut.0).map(|(name, count)| format!("{name}={count}"));
        parts.collect::<Vec<_>>().join(", ")
    }
}
