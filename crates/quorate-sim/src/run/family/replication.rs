//! Replicated logs: leaders, commands and their application, and the properties of Raft, integrity and liveness.

use quorate_core::replication::{Command, Output, Replication};
use quorate_core::{Layer, ProcessId, Property, Span};

use crate::engine::observer::Moment;
use crate::observe::Mark;
use crate::observe::monitor::ReplicatedLogs;
use crate::observe::trace::TraceSink;
use crate::run::algorithm_info::AlgorithmInfo;
use crate::run::error::RunError;
use crate::run::execute::{Conditions, Outcome, ProcessFactory, RunSetup, run};
use crate::run::monitors::{Finding, Monitors, ReportContext, RunEnd};
use crate::run::report::{CostReport, ReplicationReport, Report, TermLeaderReport};
use crate::run::users::ReplicationUsers;
use crate::scenario::Scenario;
use crate::scenario::plan::{Memory, Plan};

/// Maximum length of the lists in a report.
const LISTED_MOST: usize = 1_000;

/// Runs the replication of a log. The scenario must have been validated.
pub fn run_replication<P: Replication + 'static>(
    scenario: &Scenario,
    info: &AlgorithmInfo,
    conditions: Conditions,
    factory: ProcessFactory<'_, P>,
    trace: Option<&mut (dyn TraceSink + '_)>,
) -> Result<Outcome, RunError> {
    let run_setup = run_setup(scenario, info)?;
    run(scenario, info, conditions, run_setup, factory, trace)
}

/// Builds everything that a run needs apart from its processes.
fn run_setup(
    scenario: &Scenario,
    info: &AlgorithmInfo,
) -> Result<RunSetup<ReplicationUsers, ReplicationMonitors>, RunError> {
    let n = scenario.processes;
    let never_quiescent = scenario.may_never_end(&info.profile);
    let plan = Plan::new(&scenario.faults, n, scenario.seed);
    let traitors = plan.traitors();
    // Time has to pass between the commands of one client. Otherwise all of them would be in flight at the same time.
    let pause = Some(scenario.think.0).filter(|think| *think > Span::ZERO);
    let pause = pause.unwrap_or(scenario.delay_bounds().delay);
    let requests = scenario.first_requests();
    Ok(RunSetup {
        users: ReplicationUsers::new(n, requests, scenario.repeat, pause, &traitors),
        monitors: ReplicationMonitors {
            logs: ReplicatedLogs::new(n, traitors),
            patience: scenario.patience(never_quiescent),
        },
        plan,
        oracle: scenario.oracle(),
        clocks: scenario.local_clocks(),
        until: scenario.until(never_quiescent),
        never_quiescent,
        burst: scenario.burst(*info.cost.messages.start()),
        bytes_per_process: u64::from(scenario.repeat).saturating_mul(n as u64).saturating_mul(64),
    })
}

/// Monitors of a replicated log.
#[derive(Clone, Debug)]
pub struct ReplicationMonitors {
    logs: ReplicatedLogs,
    patience: Option<Span>,
}

impl Monitors for ReplicationMonitors {
    const FAMILY: Layer = Layer::Replication;
    type Command = Command;
    type Output = Output;

    fn command_mark(&self, _: &Command) -> Option<Mark> {
        Some(Mark::Submitted)
    }

    fn output_mark(&self, _: Moment, output: &Output) -> Option<Mark> {
        match output {
            Output::Leads { .. } => Some(Mark::Leads),
            // A process that enters a later term leads nothing. There is nothing to draw if it led nothing before.
            Output::Follows { .. } => Some(Mark::Left),
            Output::Truncated { .. } => Some(Mark::Truncated),
            Output::Applied { .. } => Some(Mark::Applied),
            Output::Appended { .. } => None,
        }
    }

    fn command_text(&self, Command::Submit(value): &Command) -> String {
        value.to_string()
    }

    fn output_text(&self, output: &Output) -> String {
        match output {
            Output::Leads { term } => format!("term {term}"),
            Output::Follows { .. } => String::new(),
            Output::Truncated { from } => format!("from {from}"),
            Output::Applied { index, command: Some(value) } => format!("{index}: {value}"),
            Output::Applied { index, command: None } => format!("{index}: -"),
            Output::Appended { index, entry } => match entry.command {
                Some(value) => format!("{index}: {value} of term {}", entry.term),
                None => format!("{index}: - of term {}", entry.term),
            },
        }
    }

    fn on_command(&mut self, at: Moment, Command::Submit(value): &Command) {
        self.logs.submitted(at, *value);
    }

    fn on_output(&mut self, at: Moment, output: &Output) {
        self.logs.on_output(at, output);
    }

    fn crashed(&mut self, at: Moment) {
        self.logs.crashed(at.process);
    }

    fn recovered(&mut self, at: Moment, memory: Memory) {
        self.logs.recovered(at.process, memory == Memory::Kept);
    }

    fn end(&mut self, end: &RunEnd<'_>) {
        self.logs.end(end.now, end.ending, self.patience);
    }

    fn finding(&self, property: Property) -> Finding<'_> {
        let judged = Finding::of(self.logs.violation(property));
        match property {
            Property::CommandLiveness => {
                let open = self.logs.is_open();
                judged.or_open(open.then_some(
                    "the run was stopped while commands were not applied; whether they would have been is open",
                ))
            }
            Property::LeaderAppendOnly | Property::LogMatching | Property::LeaderCompleteness => {
                let silent = !self.logs.reports_entries();
                judged.or_open(silent.then_some("no process has appended an entry to its log"))
            }
            _ => judged,
        }
    }

    fn report(&self, context: &ReportContext<'_>, report: &mut Report) {
        let submitted = self.logs.submissions();
        let applied = self.logs.applied();
        let committed = applied.len() as u64;
        let leaders = self.logs.leaders();
        report.requests = submitted;
        report.waiting = self.logs.waiting().iter().map(ProcessId::number).collect();
        // Heartbeats and elections are not part of the promise, so that no run can be compared with it.
        let messages = report.messages.total;
        report.cost = CostReport::new(&context.info.cost, "command", messages, submitted, false);
        report.delays.unit = context.scenario.delay_unit().0;
        let leader = |(term, at): &(u64, Moment)| TermLeaderReport {
            term: *term,
            leader: at.process.number(),
            time: at.time.0,
        };
        let text = |command: &Option<_>| match command {
            Some(value) => format!("{value}"),
            None => "-".to_owned(),
        };
        report.replication = Some(ReplicationReport {
            submitted,
            leaders_elected: leaders.len() as u64,
            leaders: leaders.iter().take(LISTED_MOST).map(leader).collect(),
            terms: self.logs.greatest_term(),
            committed,
            everywhere: self.logs.everywhere(),
            messages_per_entry: (committed > 0).then(|| messages as f64 / committed as f64),
            applied: applied.iter().take(LISTED_MOST).map(text).collect(),
        });
    }
}
