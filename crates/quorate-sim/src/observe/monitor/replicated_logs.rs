//! The properties of a replicated log, judged from one record of commands and outputs.
//!
//! The monitor rebuilds the log of every replica from its outputs. Safety is judged with each output, for all honest replicas,
//! also those that crash later: a client may have seen their outputs. Liveness is judged at the end of the run, for the honest
//! replicas that are up. A replica that has lost its memory starts again with an empty log. Cost for each output: O(n) views,
//! and O(length) entries for each of them if an entry is appended.

use quorate_core::agreement::Value;
use quorate_core::definition::replication::{
    CommandBreach, Misstep, ReplicaView, command_breach, divergence, lacks, mismatch,
    owes_application, shared_term,
};
use quorate_core::replication::Output;
use quorate_core::{ProcessId, ProcessSet, Property, SortedMap, Span, Time};

use super::violation::{Evidence, Violation, name_all};
use crate::engine::Ending;
use crate::engine::observer::Moment;

/// Monitor of the logs of n replicas.
#[derive(Clone, Debug)]
pub(crate) struct ReplicatedLogs {
    replicas: Vec<Replica>,
    traitors: ProcessSet,
    /// Where and when each command was submitted.
    submitted: SortedMap<Value, Moment>,
    violations: SortedMap<Property, Violation>,
    /// Whether any replica has reported an entry of its log.
    reports_entries: bool,
    open: bool,
    down: ProcessSet,
    /// Replicas that have lost their memory, and owe nothing that they knew before.
    forgetful: ProcessSet,
}

/// A replica with the moments of its outputs.
#[derive(Clone, Debug, Default)]
struct Replica {
    view: ReplicaView,
    led_at: Vec<Moment>,
    applied_at: Vec<Moment>,
    /// The commands that it has applied. Repeated ones occur once.
    commands: SortedMap<Value, Moment>,
}

impl ReplicatedLogs {
    pub(crate) fn new(n: usize, traitors: ProcessSet) -> Self {
        Self {
            replicas: vec![Replica::default(); n],
            traitors,
            submitted: SortedMap::new(),
            violations: SortedMap::new(),
            reports_entries: false,
            open: false,
            down: ProcessSet::new(),
            forgetful: ProcessSet::new(),
        }
    }

    pub(crate) fn submitted(&mut self, at: Moment, value: Value) {
        self.submitted.entry(value).or_insert_with(|| at);
    }

    pub(crate) fn on_output(&mut self, at: Moment, output: &Output) {
        if self.traitors.contains(at.process) {
            return;
        }
        let replica = &mut self.replicas[at.process.index()];
        let misstep = replica.view.on_output(output);
        match output {
            Output::Leads { .. } => replica.led_at.push(at),
            Output::Applied { .. } => replica.applied_at.push(at),
            Output::Appended { .. } => self.reports_entries = true,
            Output::Follows { .. } | Output::Truncated { .. } => {}
        }
        self.judge_misstep(at, misstep, output);
        match *output {
            Output::Leads { term } => self.judge_leader(at, term),
            Output::Appended { index, .. } => self.judge_entry(at, index),
            Output::Applied { index, command } => self.judge_application(at, index, command),
            Output::Follows { .. } | Output::Truncated { .. } => {}
        }
    }

    pub(crate) fn crashed(&mut self, process: ProcessId) {
        self.down.insert(process);
    }

    pub(crate) fn recovered(&mut self, process: ProcessId, remembers: bool) {
        self.down.remove(process);
        if !remembers {
            self.forgetful.insert(process);
            let replica = &mut self.replicas[process.index()];
            let led = std::mem::take(&mut replica.view.led);
            replica.view = ReplicaView { led, ..ReplicaView::default() };
            replica.applied_at.clear();
            replica.commands = SortedMap::new();
        }
    }

    /// Judges the end of a run. If the last command is older than `patience`, all live replicas should have applied all
    /// commands even if the run was stopped.
    pub(crate) fn end(&mut self, now: Time, ending: Ending, patience: Option<Span>) {
        let live = self.live();
        let applied = |process: ProcessId, value: &Value| {
            self.replicas[process.index()].commands.contains_key(value)
        };
        let owes = |value: &Value, submitter: ProcessId, process: ProcessId| {
            let known = live.contains(submitter) && !self.forgetful.contains(submitter);
            let known = known || live.iter().any(|process| applied(process, value));
            owes_application(known, live.contains(process), applied(process, value))
        };
        let mut missing: Vec<(Value, Moment, ProcessSet)> = Vec::new();
        for (value, at) in self.submitted.iter() {
            let lacking: ProcessSet = ProcessId::all(self.replicas.len())
                .filter(|process| owes(value, at.process, *process))
                .collect();
            if !lacking.is_empty() {
                missing.push((*value, *at, lacking));
            }
        }
        let Some((value, at, lacking)) = missing.first() else { return };
        let complete = matches!(ending, Ending::Quiescent | Ending::Content);
        let oldest = missing.iter().map(|(_, at, _)| at.time).min().unwrap_or(now);
        if !complete && patience.is_none_or(|patience| now - oldest <= patience) {
            self.open = true;
            return;
        }
        let names = name_all(lacking);
        let more = match missing.len() - 1 {
            0 => String::new(),
            more => format!(", {more} more commands are missing"),
        };
        let detail = format!("{names} did not apply {value}{more}, and the run ended at {now}");
        let events = vec![Evidence::new(*at, format!("got command {value}"))];
        self.violate(Property::CommandLiveness, now, detail, events);
    }

    fn judge_misstep(&mut self, at: Moment, misstep: Option<Misstep>, output: &Output) {
        match misstep {
            Some(Misstep::LeaderRewrites) => {
                let detail = format!("{} led and changed its log: {output:?}", at.process);
                let events = vec![Evidence::new(at, "changed its log")];
                self.violate(Property::LeaderAppendOnly, at.time, detail, events);
            }
            Some(Misstep::OutOfOrder) => {
                let detail =
                    format!("{} left an index out or repeated one: {output:?}", at.process);
                let events = vec![Evidence::new(at, "applied out of order")];
                self.violate(Property::StateMachineSafety, at.time, detail, events);
            }
            None => {}
        }
    }

    fn judge_leader(&mut self, at: Moment, term: u64) {
        let leads = |at: Moment| Evidence::new(at, format!("became leader of term {term}"));
        for other in self.others(at.process) {
            let (one, rival) = (&self.replicas[at.process.index()], &self.replicas[other.index()]);
            if shared_term(&one.view, &rival.view) == Some(term) {
                let place = rival.view.led.iter().position(|led| *led == term);
                let first = place.map(|place| leads(rival.led_at[place]));
                let detail = format!("{other} and {} led term {term}", at.process);
                let events = first.into_iter().chain([leads(at)]).collect();
                self.violate(Property::ElectionSafety, at.time, detail, events);
            }
        }
        for other in ProcessId::all(self.replicas.len()) {
            let applications = self.replicas[other.index()].view.applied.len();
            (0..applications)
                .for_each(|place| self.judge_completeness(at, at.process, other, place));
        }
    }

    /// Judges whether a leader has the entry that another replica has applied at this position.
    fn judge_completeness(
        &mut self,
        at: Moment,
        leader: ProcessId,
        applier: ProcessId,
        place: usize,
    ) {
        let (view, other) = (&self.replicas[leader.index()], &self.replicas[applier.index()]);
        if !lacks(&view.view, &other.view.applied[place], place) {
            return;
        }
        let term = view.view.term;
        let (index, command) = (place + 1, shown(other.view.applied[place].command));
        let detail = format!(
            "{leader} leads term {term} and lacks entry {index} ({command}), which {applier} has applied"
        );
        let mut events =
            vec![Evidence::new(other.applied_at[place], format!("applied {command} at {index}"))];
        events.extend(
            view.led_at
                .last()
                .map(|at| Evidence::new(*at, format!("became leader of term {term}"))),
        );
        events.sort_by_key(|evidence| evidence.event);
        self.violate(Property::LeaderCompleteness, at.time, detail, events);
    }

    fn judge_entry(&mut self, at: Moment, index: u64) {
        let place = index as usize - 1;
        for other in self.others(at.process) {
            let logs = [at.process, other].map(|id| &self.replicas[id.index()].view.log);
            if let Some(differs) = mismatch(logs[0], logs[1], place) {
                let term = logs[0][place].term;
                let detail = format!(
                    "{} and {other} have entries of term {term} at index {index}, but differ at index {}",
                    at.process,
                    differs + 1
                );
                let events = vec![Evidence::new(at, format!("appended entry {index}"))];
                self.violate(Property::LogMatching, at.time, detail, events);
            }
        }
    }

    fn judge_application(&mut self, at: Moment, index: u64, command: Option<Value>) {
        let all_honest = self.traitors.is_empty();
        let replica = &mut self.replicas[at.process.index()];
        if let Some(value) = command {
            let repeated = replica.commands.get(&value).copied();
            replica.commands.entry(value).or_insert_with(|| at);
            let is_submitted = self.submitted.contains_key(&value);
            let breach = command_breach(is_submitted, all_honest, repeated.is_some());
            let problem = breach.map(|breach| match breach {
                CommandBreach::NotSubmitted => "which no client has submitted",
                CommandBreach::Repeated => "which it had applied before",
            });
            if let Some(problem) = problem {
                let detail = format!("{} applied {value} at {index}, {problem}", at.process);
                let first = repeated.map(|at| Evidence::new(at, format!("applied {value}")));
                let last = Evidence::new(at, format!("applied {value} at {index}"));
                let events = first.into_iter().chain([last]).collect();
                self.violate(Property::CommandIntegrity, at.time, detail, events);
            }
        }
        let place = self.replicas[at.process.index()].view.applied.len() - 1;
        for other in self.others(at.process) {
            let views = [at.process, other].map(|id| &self.replicas[id.index()].view.applied);
            if let Some(differs) = divergence(views[0], views[1]) {
                let at_other = self.replicas[other.index()].applied_at[differs];
                let index = differs + 1;
                let applied =
                    |command: Option<Value>| format!("applied {} at {index}", shown(command));
                let (own, theirs) = (views[0][differs].command, views[1][differs].command);
                let detail =
                    format!("{other} {}, and {} {}", applied(theirs), at.process, applied(own));
                let events =
                    vec![Evidence::new(at_other, applied(theirs)), Evidence::new(at, applied(own))];
                self.violate(Property::StateMachineSafety, at.time, detail, events);
            }
        }
        for leader in ProcessId::all(self.replicas.len()) {
            self.judge_completeness(at, leader, at.process, place);
        }
    }

    /// Records the first violation of a property.
    fn violate(&mut self, property: Property, time: Time, detail: String, events: Vec<Evidence>) {
        self.violations.entry(property).or_insert_with(|| Violation {
            property,
            time,
            detail,
            events,
        });
    }

    fn others(&self, process: ProcessId) -> impl Iterator<Item = ProcessId> + use<> {
        ProcessId::all(self.replicas.len()).filter(move |other| *other != process)
    }

    /// Honest replicas that are up.
    fn live(&self) -> ProcessSet {
        &(&ProcessSet::all(self.replicas.len()) - &self.down) - &self.traitors
    }

    pub(crate) fn violation(&self, property: Property) -> Option<&Violation> {
        self.violations.get(&property)
    }

    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    /// Whether the replicas report the entries of their logs, so that properties of logs can be judged.
    pub(crate) fn reports_entries(&self) -> bool {
        self.reports_entries
    }

    /// Number of commands that were submitted.
    pub(crate) fn submissions(&self) -> u64 {
        self.submitted.len() as u64
    }

    /// Leaders with their terms and the times of their elections, in the order of terms.
    pub(crate) fn leaders(&self) -> Vec<(u64, Moment)> {
        let led = self.replicas.iter().flat_map(|replica| {
            replica.view.led.iter().copied().zip(replica.led_at.iter().copied())
        });
        let mut led: Vec<(u64, Moment)> = led.collect();
        led.sort_by_key(|(term, at)| (*term, at.event));
        led
    }

    /// The greatest term that a replica has entered.
    pub(crate) fn greatest_term(&self) -> u64 {
        self.replicas.iter().map(|replica| replica.view.term).max().unwrap_or(0)
    }

    /// The commands that the replica with the longest sequence has applied.
    pub(crate) fn applied(&self) -> Vec<Option<Value>> {
        let longest = self.replicas.iter().max_by_key(|replica| replica.view.applied.len());
        let applied = longest.iter().flat_map(|replica| &replica.view.applied);
        applied.map(|application| application.command).collect()
    }

    /// Number of commands that all live replicas have applied.
    pub(crate) fn everywhere(&self) -> u64 {
        let live = self.live();
        let everywhere = |value: &&Value| {
            live.iter().all(|process| self.replicas[process.index()].commands.contains_key(value))
        };
        self.submitted.keys().filter(everywhere).count() as u64
    }

    /// Live replicas that have not applied a command that a client of a live replica has submitted.
    pub(crate) fn waiting(&self) -> ProcessSet {
        let live = self.live();
        let lacks = |process: &ProcessId| {
            let commands = &self.replicas[process.index()].commands;
            let mut of_live = self.submitted.iter().filter(|(_, at)| live.contains(at.process));
            of_live.any(|(value, _)| !commands.contains_key(value))
        };
        live.iter().filter(lacks).collect()
    }
}

fn shown(command: Option<Value>) -> String {
    command.map_or_else(|| "a no-op".to_owned(), |value| format!("command {value}"))
}
