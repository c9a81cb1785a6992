//! Stable properties: the steps of a computation, and whether its end or its deadlock is announced rightly.

use quorate_core::detection::{Command, Detection, Output, StableProperty};
use quorate_core::{Layer, ProcessId, Property};

use crate::engine::observer::Moment;
use crate::observe::Mark;
use crate::observe::monitor::Announcements;
use crate::observe::trace::TraceSink;
use crate::run::algorithm_info::AlgorithmInfo;
use crate::run::error::RunError;
use crate::run::execute::{Conditions, Outcome, ProcessFactory, RunSetup, run};
use crate::run::monitors::{Finding, Monitors, ReportContext, RunEnd};
use crate::run::report::{CostReport, Report, StablePropertyReport};
use crate::run::users::{DetectionUser, ScriptedUsers, planned_scripts};
use crate::scenario::Scenario;
use crate::scenario::plan::{Memory, Plan};

/// Runs an algorithm that detects this property. The scenario must have been validated.
pub fn run_detection<P: Detection + 'static>(
    scenario: &Scenario,
    info: &AlgorithmInfo,
    property: StableProperty,
    conditions: Conditions,
    factory: ProcessFactory<'_, P>,
    trace: Option<&mut (dyn TraceSink + '_)>,
) -> Result<Outcome, RunError> {
    run(scenario, info, conditions, run_setup(scenario, info, property), factory, trace)
}

/// Builds everything that a run needs apart from its processes.
fn run_setup(
    scenario: &Scenario,
    info: &AlgorithmInfo,
    property: StableProperty,
) -> RunSetup<ScriptedUsers<DetectionUser>, DetectionMonitors> {
    let n = scenario.processes;
    let never_quiescent = scenario.may_never_end(&info.profile);
    let scripts = planned_scripts(scenario, property);
    let most = scripts.iter().map(Vec::len).max().unwrap_or(0);
    let users = scripts.into_iter().map(|commands| DetectionUser::new(property, commands));
    RunSetup {
        users: ScriptedUsers::new(scenario, users.zip(scenario.step_times())),
        monitors: DetectionMonitors {
            announcements: Announcements::new(n, property),
            property,
            waits: 0,
            steps: 0,
        },
        plan: Plan::new(&scenario.faults, n, scenario.seed),
        oracle: scenario.oracle(),
        clocks: scenario.local_clocks(),
        until: scenario.until(never_quiescent),
        never_quiescent,
        burst: scenario.burst(0),
        bytes_per_process: (most as u64).saturating_mul(64),
    }
}

/// Monitors of a stable property.
#[derive(Clone, Debug)]
pub struct DetectionMonitors {
    announcements: Announcements,
    property: StableProperty,
    /// Number of times that a process began to wait, and the requests that it sent then.
    waits: u64,
    /// Number of messages of the computation.
    steps: u64,
}

impl Monitors for DetectionMonitors {
    const FAMILY: Layer = Layer::Detection;
    type Command = Command;
    type Output = Output;

    fn command_mark(&self, command: &Command) -> Option<Mark> {
        match command {
            Command::Start => Some(Mark::Works),
            Command::Rest => Some(Mark::Rests),
            Command::Wait(_) => Some(Mark::Requested),
            Command::Send(_) | Command::Grant => None,
        }
    }

    fn output_mark(&self, _: Moment, output: &Output) -> Option<Mark> {
        match (output, self.property) {
            (Output::Received(_), StableProperty::Termination) => Some(Mark::Works),
            (Output::Unblocked, _) => Some(Mark::Rests),
            (Output::Announced, _) => Some(Mark::Announced),
            (Output::Received(_) | Output::Requested(_), _) => None,
        }
    }

    fn output_text(&self, output: &Output) -> String {
        match (output, self.property) {
            (Output::Announced, StableProperty::Termination) => "end".to_owned(),
            (Output::Announced, _) => "deadlock".to_owned(),
            _ => String::new(),
        }
    }

    fn on_command(&mut self, at: Moment, command: &Command) {
        match command {
            Command::Wait(on) => {
                self.waits += 1;
                // A request is a message of the computation. A process that waits for a message sends none.
                let asks = self.property == StableProperty::AndDeadlock;
                self.steps += if asks { on.len() as u64 } else { 0 };
            }
            Command::Send(_) | Command::Grant => self.steps += 1,
            Command::Start | Command::Rest => {}
        }
        self.announcements.on_command(at, command);
    }

    fn on_output(&mut self, at: Moment, output: &Output) {
        self.announcements.on_output(at, output);
    }

    fn crashed(&mut self, at: Moment) {
        self.announcements.crashed(at.process);
    }

    /// A process that has crashed may have missed messages, so nothing is expected of it.
    fn recovered(&mut self, _: Moment, _: Memory) {}

    fn end(&mut self, end: &RunEnd<'_>) {
        self.announcements.end(end.now, end.ending);
    }

    fn finding(&self, property: Property) -> Finding<'_> {
        match property {
            Property::NoFalseDetection => Finding::of(self.announcements.false_detection()),
            Property::EventualDetection => {
                let open = self.announcements.is_open();
                Finding::of(self.announcements.missing()).or_open(open.then_some(
                    "the run was stopped before an announcement was due; whether it would have come is open",
                ))
            }
            _ => unreachable!("a property of another family"),
        }
    }

    fn report(&self, context: &ReportContext<'_>, report: &mut Report) {
        let announcements = &self.announcements;
        report.requests = match self.property {
            StableProperty::Termination => self.steps,
            StableProperty::AndDeadlock | StableProperty::OrDeadlock => self.waits,
        };
        let per = match self.property {
            StableProperty::Termination => "work",
            StableProperty::AndDeadlock | StableProperty::OrDeadlock => "wait",
        };
        // The messages of the computation are not a cost of the detection.
        let messages = report.messages.total.saturating_sub(self.steps);
        let comparable = context.undisturbed && context.counts_all;
        report.cost =
            CostReport::new(&context.info.cost, per, messages, report.requests, comparable);
        report.delays.unit = context.scenario.delay_unit().0;
        report.stable_property = Some(StablePropertyReport {
            property: match self.property {
                StableProperty::Termination => "termination",
                StableProperty::AndDeadlock => "and-deadlock",
                StableProperty::OrDeadlock => "or-deadlock",
            },
            computation_messages: self.steps,
            waits: self.waits,
            announced: announcements.announced().iter().copied().map(ProcessId::number).collect(),
        });
    }
}
