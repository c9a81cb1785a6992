//! Roles of the processes over time, in a run without faults.

use std::io;

use quorate_core::ProcessId;
use quorate_sim::trace::{Record, RecordKind, TraceSink};
use quorate_sim::{History, Mark, Scenario};

use super::super::series::Series;

/// The roles of all processes over a run.
pub(super) struct Roles {
    n: usize,
    has_server: bool,
    token: Option<&'static str>,
    votes: bool,
    server: u32,
    /// Every time at which an event happened. Nothing changes between two of them.
    times: Vec<u64>,
    /// Messages between processes: time of sending, sender and recipient.
    sends: Vec<(u64, u32, u32)>,
    /// Intervals from request to entry.
    waiting: Vec<RoleInterval>,
    /// Intervals from entry to exit.
    inside: Vec<RoleInterval>,
    /// Intervals in which a process has the token, or the token is in flight to it.
    with_token: Vec<RoleInterval>,
    /// Intervals from the arrival of a request to the exit of the requester.
    asked_for_vote: Vec<RoleInterval>,
    /// Time of the last request of each process.
    last_request: Vec<u64>,
    /// Requests that have arrived: time of arrival, sender and recipient.
    requests: Vec<(u64, u32, u32)>,
}

/// A process that holds a role from one time to another.
struct RoleInterval {
    process: u32,
    from: u64,
    to: u64,
}

impl Roles {
    /// Creates empty roles, to be filled by the trace of this scenario.
    pub(super) fn new(series: &Series, scenario: &Scenario) -> Self {
        let first = RoleInterval { process: scenario.server, from: 0, to: u64::MAX };
        Self {
            n: scenario.processes,
            has_server: series.has_server,
            token: series.token,
            votes: series.votes,
            server: scenario.server,
            times: Vec::new(),
            sends: Vec::new(),
            waiting: Vec::new(),
            inside: Vec::new(),
            with_token: series.token.map(|_| first).into_iter().collect(),
            asked_for_vote: Vec::new(),
            last_request: vec![0; scenario.processes],
            requests: Vec::new(),
        }
    }

    /// Adds the requests, entries and exits of the run.
    pub(super) fn add_history(&mut self, history: &History) {
        for &(time, process, mark) in history.marks() {
            let (time, process) = (time.0, process.number());
            let interval = RoleInterval { process, from: time, to: u64::MAX };
            match mark {
                Mark::Requested => {
                    self.last_request[process as usize] = time;
                    self.waiting.push(interval);
                }
                Mark::Entered => {
                    end(&mut self.waiting, process, time);
                    self.inside.push(interval);
                }
                Mark::Left => end(&mut self.inside, process, time),
                _ => {}
            }
        }
        for &(time, from, to) in self.requests.iter().filter(|_| self.votes) {
            let mut intervals = self.inside.iter();
            let left = intervals.find(|interval| interval.process == from && interval.to > time);
            let until = left.map_or(u64::MAX, |interval| interval.to);
            self.asked_for_vote.push(RoleInterval { process: to, from: time, to: until });
        }
        self.times.sort_unstable();
        self.times.dedup();
    }

    /// Times at which nothing happens, while every process still has a request to make.
    pub(super) fn moments(&self) -> impl Iterator<Item = u64> + '_ {
        let last = self.last_request.iter().min().copied().unwrap_or(0);
        let between = self.times.windows(2).filter(|pair| pair[1] > pair[0] + 1);
        between.map(|pair| pair[0] + (pair[1] - pair[0]) / 2).take_while(move |time| *time < last)
    }

    /// Messages between processes that are sent while every process still has a request to make.
    pub(super) fn messages(&self) -> impl Iterator<Item = (u64, u32, u32)> + '_ {
        let last = self.last_request.iter().min().copied().unwrap_or(0);
        self.sends.iter().copied().filter(move |(time, ..)| *time < last)
    }

    pub(super) fn processes(&self) -> impl Iterator<Item = u32> + use<> {
        ProcessId::all(self.n).map(ProcessId::number)
    }

    pub(super) fn is_inside(&self, process: u32, time: u64) -> bool {
        holds(&self.inside, process, time)
    }

    pub(super) fn is_waiting(&self, process: u32, time: u64) -> bool {
        holds(&self.waiting, process, time)
    }

    /// Whether the process neither waits nor is inside at that time.
    pub(super) fn is_outside(&self, process: u32, time: u64) -> bool {
        !self.is_inside(process, time) && !self.is_waiting(process, time)
    }

    pub(super) fn has_token(&self, process: u32, time: u64) -> bool {
        holds(&self.with_token, process, time)
    }

    pub(super) fn is_server(&self, process: u32) -> bool {
        self.has_server && process == self.server
    }

    pub(super) fn is_asked_for_vote(&self, process: u32, time: u64) -> bool {
        holds(&self.asked_for_vote, process, time)
    }
}

fn holds(intervals: &[RoleInterval], process: u32, time: u64) -> bool {
    intervals
        .iter()
        .any(|interval| interval.process == process && (interval.from..interval.to).contains(&time))
}

/// Ends the last interval of the process.
fn end(intervals: &mut [RoleInterval], process: u32, time: u64) {
    if let Some(interval) = intervals.iter_mut().rev().find(|interval| interval.process == process)
    {
        interval.to = time;
    }
}

impl TraceSink for Roles {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.times.push(record.time);
        match &record.kind {
            RecordKind::Send(envelope) if envelope.from != envelope.to => {
                self.sends.push((record.time, envelope.from, envelope.to));
                if self.token.is_some_and(|token| envelope.kind == token) {
                    end(&mut self.with_token, envelope.from, record.time);
                    let (process, from) = (envelope.to, record.time);
                    self.with_token.push(RoleInterval { process, from, to: u64::MAX });
                }
            }
            RecordKind::Deliver(envelope)
                if envelope.kind == "REQUEST" && envelope.from != envelope.to =>
            {
                self.requests.push((record.time, envelope.from, envelope.to));
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}
