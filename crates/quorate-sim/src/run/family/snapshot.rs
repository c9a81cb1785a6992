//! Snapshots: transfers, recorded states, and whether the recorded cuts are consistent and complete.

use quorate_core::snapshot::{Command, INITIAL_BALANCE, Output, Snapshot};
use quorate_core::{Layer, ProcessId, Property};

use crate::engine::observer::Moment;
use crate::observe::Mark;
use crate::observe::entry_delays::SpanSummary;
use crate::observe::monitor::Snapshots;
use crate::observe::trace::TraceSink;
use crate::run::algorithm_info::AlgorithmInfo;
use crate::run::error::RunError;
use crate::run::execute::{Conditions, Outcome, ProcessFactory, RunSetup, run};
use crate::run::monitors::{Finding, Monitors, ReportContext, RunEnd};
use crate::run::report::{CostReport, DelayStatistics, Report, SnapshotReport};
use crate::run::users::{ScriptedUsers, SnapshotUser, planned_commands};
use crate::scenario::Scenario;
use crate::scenario::plan::{Memory, Plan};

/// Runs a snapshot algorithm. The scenario must have been validated.
pub fn run_snapshot<P: Snapshot + 'static>(
    scenario: &Scenario,
    info: &AlgorithmInfo,
    conditions: Conditions,
    factory: ProcessFactory<'_, P>,
    trace: Option<&mut (dyn TraceSink + '_)>,
) -> Result<Outcome, RunError> {
    run(scenario, info, conditions, run_setup(scenario, info), factory, trace)
}

/// Builds everything that a run needs apart from its processes.
fn run_setup(
    scenario: &Scenario,
    info: &AlgorithmInfo,
) -> RunSetup<ScriptedUsers<SnapshotUser>, SnapshotMonitors> {
    let n = scenario.processes;
    let never_quiescent = scenario.may_never_end(&info.profile);
    let planned = planned_commands(scenario);
    let most = planned.iter().map(|(commands, _)| commands.len()).max().unwrap_or(0);
    let users = planned.into_iter().map(|(commands, times)| (SnapshotUser::new(commands), times));
    let balance = |process: usize| scenario.values.get(process).copied().unwrap_or(INITIAL_BALANCE);
    RunSetup {
        users: ScriptedUsers::new(scenario, users),
        monitors: SnapshotMonitors {
            snapshots: Snapshots::new((0..n).map(balance)),
            delays: SpanSummary::default(),
        },
        plan: Plan::new(&scenario.faults, n, scenario.seed),
        oracle: scenario.oracle(),
        clocks: scenario.local_clocks(),
        until: scenario.until(never_quiescent),
        never_quiescent,
        burst: scenario.burst(*info.cost.messages.start()),
        bytes_per_process: (most as u64).saturating_mul(64),
    }
}

/// Monitors of all snapshots of a run.
#[derive(Clone, Debug)]
pub struct SnapshotMonitors {
    snapshots: Snapshots,
    /// Delays from the beginning of a snapshot until each process has completed it.
    delays: SpanSummary,
}

impl Monitors for SnapshotMonitors {
    const FAMILY: Layer = Layer::Snapshot;
    type Command = Command;
    type Output = Output;

    fn output_mark(&self, _: Moment, output: &Output) -> Option<Mark> {
        match output {
            Output::Recorded { .. } => Some(Mark::Recorded),
            Output::Completed { .. } => Some(Mark::Completed),
            Output::Received { .. } | Output::RecordedChannel { .. } => None,
        }
    }

    fn output_text(&self, output: &Output) -> String {
        match output {
            Output::Recorded { balance, .. } => balance.to_string(),
            Output::Completed { snapshot } => format!("{}#{}", snapshot.initiator, snapshot.number),
            Output::Received { .. } | Output::RecordedChannel { .. } => String::new(),
        }
    }

    fn on_command(&mut self, at: Moment, command: &Command) {
        self.snapshots.on_command(at, command);
    }

    fn on_output(&mut self, at: Moment, output: &Output) {
        if let Some(delay) = self.snapshots.on_output(at, output) {
            self.delays.add(delay);
        }
    }

    fn crashed(&mut self, at: Moment) {
        self.snapshots.crashed(at.process);
    }

    /// A process that has crashed may have missed messages, so nothing is expected of it.
    fn recovered(&mut self, _: Moment, _: Memory) {}

    fn end(&mut self, end: &RunEnd<'_>) {
        self.snapshots.end(end.now, end.ending);
    }

    fn finding(&self, property: Property) -> Finding<'_> {
        let found = match property {
            Property::ConsistentCut => Finding::of(self.snapshots.cut()),
            Property::ChannelState => Finding::of(self.snapshots.channels()),
            Property::SnapshotTermination => {
                let open = self.snapshots.is_open();
                Finding::of(self.snapshots.termination()).or_open(open.then_some(
                    "the run was stopped before all snapshots were complete; whether they would be is open",
                ))
            }
            _ => unreachable!("a property of another family"),
        };
        let vacuous = self.snapshots.begun().len() == 0;
        found.or_open(vacuous.then_some("no process has begun a snapshot"))
    }

    fn report(&self, context: &ReportContext<'_>, report: &mut Report) {
        let snapshots = &self.snapshots;
        report.requests = snapshots.begun().len() as u64;
        let cost = &context.info.cost;
        let completed = snapshots.completed();
        let comparable = context.undisturbed && context.counts_all && completed == report.requests;
        // The messages of the computation are not a cost of the snapshot.
        let messages = report.messages.total.saturating_sub(snapshots.transfers());
        report.cost = CostReport::new(cost, "snapshot", messages, report.requests, comparable);
        let unit = context.scenario.delay_unit();
        let promised = [*cost.client_delay.start(), *cost.client_delay.end()];
        report.delays.unit = unit.0;
        report.delays.client = DelayStatistics::new(self.delays, unit, promised);
        let mut initiators: Vec<u32> =
            snapshots.begun().map(|snapshot| ProcessId::number(snapshot.initiator)).collect();
        initiators.dedup();
        report.snapshot = Some(SnapshotReport {
            snapshots: report.requests,
            initiators,
            completed,
            transfers: snapshots.transfers(),
            in_flight: snapshots.in_flight(),
        });
    }
}
