//! Resource allocation: entries and their delays, and the properties exclusion, no starvation and concurrency.

use quorate_core::allocation::{Allocation, ClaimKind, Command, Output};
use quorate_core::{Layer, ProcessId, ProcessSet, Property};

use crate::engine::observer::Moment;
use crate::observe::Mark;
use crate::observe::entry_delays::EntryDelays;
use crate::observe::monitor::{Concurrency, Exclusion, Me2, MutexEvent, Status};
use crate::observe::trace::TraceSink;
use crate::run::algorithm_info::AlgorithmInfo;
use crate::run::error::RunError;
use crate::run::execute::{Conditions, Outcome, ProcessFactory, RunSetup, run};
use crate::run::monitors::{Finding, Monitors, ReportContext, RunEnd};
use crate::run::report::{AllocationReport, CostReport, DelayReport, DelayStatistics, Report};
use crate::run::users::AllocationUsers;
use crate::scenario::Scenario;
use crate::scenario::plan::{Memory, Plan};

/// Runs an allocation algorithm that serves these claims. The scenario must have been validated.
pub fn run_allocation<P: Allocation + 'static>(
    scenario: &Scenario,
    info: &AlgorithmInfo,
    kind: ClaimKind,
    conditions: Conditions,
    factory: ProcessFactory<'_, P>,
    trace: Option<&mut (dyn TraceSink + '_)>,
) -> Result<Outcome, RunError> {
    run(scenario, info, conditions, run_setup(scenario, info, kind), factory, trace)
}

/// Builds everything that a run needs apart from its processes.
fn run_setup(
    scenario: &Scenario,
    info: &AlgorithmInfo,
    kind: ClaimKind,
) -> RunSetup<AllocationUsers, AllocationMonitors> {
    let never_quiescent = scenario.detector_never_quiescent();
    let plan = Plan::new(&scenario.faults, scenario.processes, scenario.seed);
    let monitors = AllocationMonitors::new(scenario, never_quiescent, plan.traitors());
    RunSetup {
        users: AllocationUsers::new(scenario, kind),
        monitors,
        plan,
        oracle: scenario.oracle(),
        clocks: scenario.local_clocks(),
        until: scenario.until(never_quiescent),
        never_quiescent,
        burst: scenario.burst(*info.cost.messages.start() / 2),
        bytes_per_process: 0,
    }
}

/// Monitors of resource allocation.
#[derive(Clone, Debug)]
pub struct AllocationMonitors {
    exclusion: Exclusion,
    /// Monitor of starvation: the same as for a mutex.
    starvation: Me2,
    starvation_status: Status,
    concurrency: Concurrency,
    delays: EntryDelays,
    entries: u64,
    requests: u64,
    most_inside: usize,
    without_quorum: ProcessSet,
    /// Traitors. Their events are not judged.
    exempt: ProcessSet,
}

impl AllocationMonitors {
    fn new(scenario: &Scenario, never_quiescent: bool, exempt: ProcessSet) -> Self {
        let (n, capacity) = (scenario.processes, scenario.permits());
        let starvation = Me2::new(n, scenario.patience(never_quiescent));
        Self {
            exclusion: Exclusion::new(capacity),
            starvation: starvation.reporting(Property::NoStarvation),
            starvation_status: Status::NotChecked,
            concurrency: Concurrency::new(capacity),
            delays: EntryDelays::default(),
            entries: 0,
            requests: 0,
            most_inside: 0,
            without_quorum: ProcessSet::new(),
            exempt,
        }
    }

    fn begin(&mut self, at: Moment) {
        self.concurrency.on_event(at, self.exclusion.inside());
    }

    fn observe(&mut self, at: Moment, event: MutexEvent) {
        if !self.exempt.contains(at.process) {
            self.starvation.observe(at, event);
            self.delays.observe(at, event);
        }
    }
}

impl Monitors for AllocationMonitors {
    const FAMILY: Layer = Layer::Allocation;
    type Command = Command;
    type Output = Output;

    fn command_mark(&self, command: &Command) -> Option<Mark> {
        Some(match command {
            Command::Request(_) => Mark::Requested,
            Command::Release => Mark::Left,
        })
    }

    fn output_mark(&self, _: Moment, output: &Output) -> Option<Mark> {
        Some(match output {
            Output::Entered => Mark::Entered,
            Output::NoQuorum => Mark::Left,
        })
    }

    fn command_text(&self, command: &Command) -> String {
        match command {
            Command::Request(claim) => claim.to_string(),
            Command::Release => String::new(),
        }
    }

    fn output_text(&self, output: &Output) -> String {
        match output {
            Output::Entered => "",
            Output::NoQuorum => "no quorum",
        }
        .to_owned()
    }

    fn on_command(&mut self, at: Moment, command: &Command) {
        self.begin(at);
        match command {
            Command::Request(claim) => {
                self.requests += 1;
                self.concurrency.requested(at, claim.clone());
                self.observe(at, MutexEvent::Requested);
            }
            Command::Release => {
                self.exclusion.left(at);
                self.observe(at, MutexEvent::Left);
            }
        }
    }

    fn on_output(&mut self, at: Moment, output: &Output) {
        self.begin(at);
        let claim = self.concurrency.answered(at);
        match output {
            Output::Entered => {
                self.entries += 1;
                if let Some(claim) = claim.filter(|_| !self.exempt.contains(at.process)) {
                    self.exclusion.entered(at, claim);
                }
                self.most_inside = self.most_inside.max(self.exclusion.inside().len());
                self.observe(at, MutexEvent::Entered);
            }
            Output::NoQuorum => {
                self.without_quorum.insert(at.process);
                self.observe(at, MutexEvent::GaveUp);
            }
        }
    }

    fn crashed(&mut self, at: Moment) {
        self.begin(at);
        self.exclusion.crashed(at);
        self.concurrency.crashed();
        self.observe(at, MutexEvent::Crashed);
    }

    fn recovered(&mut self, at: Moment, memory: Memory) {
        self.begin(at);
        self.exclusion.recovered(at, memory);
        self.observe(at, MutexEvent::Recovered(memory));
    }

    #[inline]
    fn marks_messages(&self) -> bool {
        true
    }

    #[inline]
    fn mark(&mut self, at: Moment) -> u32 {
        self.begin(at);
        self.concurrency.sent();
        0
    }

    fn arrived(&mut self, at: Moment, _: u32) {
        self.begin(at);
        self.concurrency.arrived();
    }

    fn lost(&mut self, _: u32) {
        self.concurrency.arrived();
    }

    fn end(&mut self, end: &RunEnd<'_>) {
        self.concurrency.end(self.exclusion.inside());
        let down_since = |process| end.fault_log.down_since(process);
        self.starvation_status =
            self.starvation.end(end.now, end.ending, end.waits_for, down_since);
    }

    fn finding(&self, property: Property) -> Finding<'_> {
        match property {
            Property::Exclusion => Finding::of(self.exclusion.violation()),
            Property::NoStarvation => {
                let open = self.starvation_status == Status::NotChecked;
                Finding::of(self.starvation.violation()).or_open(open.then_some(
                    "the run was stopped while processes were waiting; whether they would have entered is open",
                ))
            }
            Property::Concurrency => Finding::of(self.concurrency.violation()),
            _ => unreachable!("a property of another family"),
        }
    }

    fn report(&self, context: &ReportContext<'_>, report: &mut Report) {
        report.requests = self.requests;
        report.entries = self.entries;
        report.waiting = self.starvation.waiting().map(|since| since.process.number()).collect();
        report.no_quorum = self.without_quorum.iter().map(ProcessId::number).collect();
        report.allocation = Some(AllocationReport { most_inside: self.most_inside });
        let comparable = context.undisturbed && context.counts_all && report.waiting.is_empty();
        let cost = &context.info.cost;
        report.cost =
            CostReport::new(cost, "entry", report.messages.total, self.entries, comparable);
        let unit = context.scenario.delay_unit();
        let ends = |range: &std::ops::RangeInclusive<u64>| [*range.start(), *range.end()];
        // With several processes inside, an entry after an exit need not be due to that exit. So only one delay is measured.
        report.delays = DelayReport {
            unit: unit.0,
            client: DelayStatistics::new(self.delays.client(), unit, ends(&cost.client_delay)),
            ..DelayReport::default()
        };
    }
}
