//! Clock synchronisation: offset of each clock before and after it
//! was set, and whether the error bound and the precision hold.

use quorate_core::clock_sync::{ClockSync, Command, Output, Standard};
use quorate_core::{Layer, ProcessId, ProcessSet, Property, SortedMap, Span, Time};

use crate::engine::observer::Moment;
use crate::observe::Mark;
use crate::observe::entry_delays::SpanSummary;
use crate::observe::monitor::{ClockError, ClockPrecision, Setting};
use crate::observe::trace::TraceSink;
use crate::run::algorithm_info::AlgorithmInfo;
use crate::run::error::RunError;
use crate::run::execute::{Conditions, Outcome, ProcessFactory, RunSetup, run};
use crate::run::monitors::{Finding, Monitors, ReportContext, RunEnd};
use crate::run::report::{
    AdjustedClock, ClockReport, CostReport, DelayStatistics, PrecisionReport, Report,
};
use crate::run::users::ClockUsers;
use crate::scenario::plan::{Memory, Plan};
use crate::scenario::{Clocks, Scenario};

/// The roles of processes in clock synchronisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockRoles {
    /// Servers, whose clocks are true, answer the other processes. The other processes request first.
    Servers,
    /// A master sets the clocks. Its own clock is as inaccurate as any. The master requests first.
    Master,
}

/// Runs a clock synchronisation algorithm. The scenario must have been validated.
pub fn run_clock<P: ClockSync + 'static>(
    scenario: &Scenario,
    info: &AlgorithmInfo,
    roles: ClockRoles,
    conditions: Conditions,
    factory: ProcessFactory<'_, P>,
    trace: Option<&mut (dyn TraceSink + '_)>,
) -> Result<Outcome, RunError> {
    let run_setup = run_setup(scenario, info, roles);
    run(scenario, info, conditions, run_setup, factory, trace)
}

/// Builds everything that a run needs apart from its processes.
fn run_setup(
    scenario: &Scenario,
    info: &AlgorithmInfo,
    roles: ClockRoles,
) -> RunSetup<ClockUsers, ClockMonitors> {
    let n = scenario.processes;
    let never_quiescent = info.profile.never_quiescent || scenario.detector_never_quiescent();
    let plan = Plan::new(&scenario.faults, n, scenario.seed);
    let servers = match roles {
        ClockRoles::Servers => scenario.time_servers(),
        ClockRoles::Master => ProcessSet::new(),
    };
    let clocks = Clocks::new(scenario, &servers);
    let first = requests(scenario, roles);
    let pause = pause(scenario);
    RunSetup {
        users: ClockUsers::new(n, &first, scenario.repeat, pause, scenario.quiet()),
        monitors: ClockMonitors::new(clocks.clone(), servers, plan.traitors()),
        plan,
        oracle: scenario.oracle(),
        clocks,
        // Long enough for all planned requests and their answers.
        until: match (scenario.until, scenario.patience(never_quiescent)) {
            (Some(until), _) => Time(until.0.0),
            (None, Some(patience)) if never_quiescent => {
                let last_request = first.iter().map(|(_, after)| after.0).max().unwrap_or(0);
                let asking = pause.0.saturating_mul(scenario.repeat.into());
                Time(
                    last_request
                        .saturating_add(asking)
                        .saturating_add(patience.0.saturating_mul(10)),
                )
            }
            _ => Time::NEVER,
        },
        never_quiescent,
        burst: scenario.burst(*info.cost.messages.end()),
        bytes_per_process: u64::from(scenario.repeat).saturating_mul(24),
    }
}

/// Interval between two requests of a user: `think` of the scenario, or a hundred message delays if that is zero.
fn pause(scenario: &Scenario) -> Span {
    let configured = Some(scenario.think.0).filter(|think| *think > Span::ZERO);
    configured.unwrap_or(Span(scenario.delay_bounds().delay.0.saturating_mul(100)))
}

/// The first requests with their times. Without explicit requests, the clients of servers or the master come first.
fn requests(scenario: &Scenario, roles: ClockRoles) -> Vec<(ProcessId, Span)> {
    let requests = scenario.first_requests();
    if !scenario.request.is_empty() {
        return requests;
    }
    let servers = scenario.time_servers();
    let mut order: Vec<ProcessId> = ProcessId::all(scenario.processes).collect();
    match roles {
        ClockRoles::Servers => order.sort_by_key(|process| servers.contains(*process)),
        ClockRoles::Master => order.sort_by_key(|process| process.number() != scenario.server),
    }
    order.into_iter().zip(requests).map(|(process, (_, after))| (process, after)).collect()
}

/// Monitors of clock synchronisation.
#[derive(Clone, Debug)]
pub struct ClockMonitors {
    clocks: Clocks,
    error: ClockError,
    precision: ClockPrecision,
    set: SortedMap<ProcessId, AdjustedClock>,
    last: SortedMap<ProcessId, Setting>,
    requested_at: SortedMap<ProcessId, Time>,
    /// Delays from request to adjustment.
    delays: SpanSummary,
    requests: u64,
    failures: u64,
    servers: ProcessSet,
    exempt: ProcessSet,
}

impl ClockMonitors {
    fn new(clocks: Clocks, servers: ProcessSet, exempt: ProcessSet) -> Self {
        Self {
            error: ClockError::new(clocks.drift),
            precision: ClockPrecision::new(clocks.drift),
            clocks,
            set: SortedMap::new(),
            last: SortedMap::new(),
            requested_at: SortedMap::new(),
            delays: SpanSummary::default(),
            requests: 0,
            failures: 0,
            servers,
            exempt,
        }
    }

    fn adjusted(&mut self, at: Moment, (own, shown): (Time, Time), error: Span, by: Standard) {
        let right = self.clocks.right(at.time);
        let (own, shown) = (own.ahead_of(right), shown.ahead_of(right));
        let setting = Setting { at, own, shown, error };
        let before = self.last.insert(at.process, setting);
        match by {
            Standard::TrueTime => self.error.set(before, setting),
            Standard::Agreed { .. } => self.precision.set(by, setting),
        }
        let row = self.set.entry(at.process).or_insert_with(|| AdjustedClock::new(at.process));
        row.settings += 1;
        row.time = Some(at.time.0);
        row.before = Some(own.0);
        row.after = Some(shown.0);
        row.error = Some(error.0);
        if let Some(before) = before {
            row.drifted = Some(before.projected_offset(own).0);
            row.drifted_most = Some(before.error_bound_at(at.time, self.clocks.drift).0);
        }
    }

    fn precision_report(&self) -> Option<PrecisionReport> {
        let (worst, most) = self.precision.worst()?;
        let rounds = self.precision.rounds().map(|(_, set)| set);
        let last = rounds.max_by_key(|set| set.iter().map(|set| set.at.time).max())?;
        let spread = |of: fn(&Setting) -> i64| {
            let (least, most) = (last.iter().map(of).min()?, last.iter().map(of).max()?);
            Some(most.abs_diff(least))
        };
        Some(PrecisionReport {
            rounds: self.precision.rounds().count() as u64,
            masters: self.precision.masters().into_iter().map(ProcessId::number).collect(),
            before: spread(|set| set.own.0)?,
            after: spread(|set| set.shown.0)?,
            worst: worst.0,
            worst_most: most.0,
        })
    }
}

impl Monitors for ClockMonitors {
    const FAMILY: Layer = Layer::Clock;
    type Command = Command;
    type Output = Output;

    fn command_mark(&self, _: &Command) -> Option<Mark> {
        Some(Mark::Requested)
    }

    fn output_mark(&self, _: Moment, output: &Output) -> Option<Mark> {
        Some(match output {
            Output::Adjusted { .. } => Mark::Set,
            Output::Failed => Mark::Failed,
        })
    }

    fn on_command(&mut self, at: Moment, Command::Synchronise: &Command) {
        if !self.servers.contains(at.process) {
            self.requests += 1;
        }
        self.requested_at.insert(at.process, at.time);
    }

    fn on_output(&mut self, at: Moment, output: &Output) {
        let requested = self.requested_at.remove(&at.process);
        match *output {
            Output::Adjusted { own, shown, error, standard } => {
                if self.servers.contains(at.process) || self.exempt.contains(at.process) {
                    return;
                }
                requested.into_iter().for_each(|requested| self.delays.add(at.time - requested));
                self.adjusted(at, (own, shown), error, standard);
            }
            Output::Failed => {
                self.failures += 1;
                let row =
                    self.set.entry(at.process).or_insert_with(|| AdjustedClock::new(at.process));
                row.failures += 1;
            }
        }
    }

    fn crashed(&mut self, at: Moment) {
        self.requested_at.remove(&at.process);
    }

    fn recovered(&mut self, at: Moment, memory: Memory) {
        if memory == Memory::Lost {
            // The process has lost the correction of its clock.
            self.last.remove(&at.process);
        }
    }

    fn end(&mut self, _: &RunEnd<'_>) {}

    fn finding(&self, property: Property) -> Finding<'_> {
        let unclaimed = |any: bool| (!any).then_some("no clock was set with a claim about it");
        match property {
            Property::ClockError => {
                let any = self.set.values().any(|row| row.settings > 0)
                    && self.precision.rounds().next().is_none();
                Finding::of(self.error.violation()).or_open(unclaimed(any))
            }
            Property::ClockPrecision => {
                let any = self.precision.rounds().any(|(_, set)| !set.is_empty());
                Finding::of(self.precision.violation()).or_open(unclaimed(any))
            }
            _ => unreachable!("a property of another family"),
        }
    }

    fn report(&self, context: &ReportContext<'_>, report: &mut Report) {
        let cost = &context.info.cost;
        let rounds = self.precision.rounds().count() as u64;
        report.requests = if rounds > 0 { rounds } else { self.requests };
        // An ASK message that requests a round is not part of the cost of the round.
        let messages = report.messages.total - report.messages.by_kind.of("ASK");
        let comparable = context.undisturbed && context.counts_all && self.failures == 0;
        report.cost =
            CostReport::new(cost, "synchronisation", messages, report.requests, comparable);
        let unit = context.scenario.delay_unit();
        let promised = [*cost.client_delay.start(), *cost.client_delay.end()];
        report.delays.unit = unit.0;
        report.delays.client = DelayStatistics::new(self.delays, unit, promised);
        report.waiting = self.requested_at.keys().copied().map(ProcessId::number).collect();
        report.clock = Some(ClockReport {
            start: self.clocks.start.0,
            drift_ppb: self.clocks.drift.0,
            delay_least: context.scenario.delay_least().0,
            servers: self.servers.iter().map(ProcessId::number).collect(),
            settings: self.set.values().map(|row| row.settings).sum(),
            failures: self.failures,
            clocks: self.set.values().cloned().collect(),
            precision: self.precision_report(),
        });
    }
}
