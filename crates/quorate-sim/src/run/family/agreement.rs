//! Agreement: proposals and decisions of the processes, and the properties agreement, validity and termination.

use quorate_core::agreement::{Agreement, AgreementKind, Command, Decision, Output, Value};
use quorate_core::{Assumption, Layer, ProcessId, ProcessSet, Property, Span};

use crate::engine::observer::Moment;
use crate::observe::Mark;
use crate::observe::entry_delays::SpanSummary;
use crate::observe::monitor::Decisions;
use crate::observe::trace::TraceSink;
use crate::run::algorithm_info::AlgorithmInfo;
use crate::run::error::RunError;
use crate::run::execute::{Conditions, Outcome, ProcessFactory, RunSetup, run};
use crate::run::monitors::{Finding, Monitors, ReportContext, RunEnd};
use crate::run::report::{AgreementReport, CostReport, DecisionReport, DelayStatistics, Report};
use crate::run::users::AgreementUsers;
use crate::scenario::plan::{Memory, Plan};
use crate::scenario::{Requesters, Scenario};

/// Maximum number of messages in flight or stored at the same time.
/// Some algorithms need exponentially many; such a run is refused.
const AT_ONCE_MOST: u64 = 20_000_000;

/// Runs an agreement of this kind. The scenario must have been validated.
pub fn run_agreement<P: Agreement + 'static>(
    scenario: &Scenario,
    info: &AlgorithmInfo,
    agreement_kind: AgreementKind,
    conditions: Conditions,
    factory: ProcessFactory<'_, P>,
    trace: Option<&mut (dyn TraceSink + '_)>,
) -> Result<Outcome, RunError> {
    let run_setup = run_setup(scenario, info, agreement_kind)?;
    run(scenario, info, conditions, run_setup, factory, trace)
}

/// Builds everything that a run needs apart from its processes.
fn run_setup(
    scenario: &Scenario,
    info: &AlgorithmInfo,
    agreement_kind: AgreementKind,
) -> Result<RunSetup<AgreementUsers, AgreementMonitors>, RunError> {
    let n = scenario.processes;
    let at_once = info.cost.stored_messages_max.unwrap_or(0);
    if at_once > AT_ONCE_MOST {
        let (name, formula) = (info.profile.name, info.cost.formula);
        return Err(RunError::TooCostly { name, messages: at_once, formula, most: AT_ONCE_MOST });
    }
    if scenario.has_false_suspicions(&info.profile) && scenario.is_timeless() {
        return Err(RunError::TimeStandsStill { name: info.profile.name });
    }
    let never_quiescent = scenario.may_never_end(&info.profile);
    let plan = Plan::new(&scenario.faults, n, scenario.seed);
    let traitors = plan.traitors();
    Ok(RunSetup {
        users: AgreementUsers::new(n, proposals(scenario, agreement_kind), &traitors),
        monitors: AgreementMonitors {
            decisions: Decisions::new(n, agreement_kind, traitors),
            agreement_kind,
            binds_recovered: info.profile.assumes.contains(&Assumption::Memory),
            delays: SpanSummary::default(),
            patience: scenario.patience(never_quiescent),
        },
        plan,
        oracle: scenario.oracle(),
        clocks: scenario.local_clocks(),
        until: scenario.until(never_quiescent),
        never_quiescent,
        burst: at_once,
        bytes_per_process: 0,
    })
}

/// Lists the planned proposals: process, time and value. The commander alone proposes an order; otherwise every process
/// proposes. Requests set the time for the processes that they name.
pub fn proposals(
    scenario: &Scenario,
    agreement_kind: AgreementKind,
) -> Vec<(ProcessId, Span, Value)> {
    let n = scenario.processes;
    let value = |process: ProcessId| {
        let configured = scenario.values.get(process.index());
        configured
            .map_or_else(|| agreement_kind.default_value(n, process.index()), |value| Value(*value))
    };
    let proposers: ProcessSet = match agreement_kind {
        AgreementKind::Order => ProcessSet::from_iter([ProcessId::new(scenario.server)]),
        _ => ProcessSet::all(n),
    };
    let mut times = match scenario.request.as_slice() {
        [] => Scenario { requesters: Requesters::All, ..scenario.clone() }.first_requests(),
        _ => scenario.first_requests(),
    };
    times.retain(|(process, _)| proposers.contains(*process));
    let named: ProcessSet = times.iter().map(|(process, _)| *process).collect();
    times.extend((&proposers - &named).iter().map(|process| (process, Span::ZERO)));
    times.into_iter().map(|(process, after)| (process, after, value(process))).collect()
}

/// Monitors of an agreement.
#[derive(Clone, Debug)]
pub struct AgreementMonitors {
    decisions: Decisions,
    /// Whether a process that has recovered must decide like the others. Otherwise it counts as faulty, as with liars.
    binds_recovered: bool,
    agreement_kind: AgreementKind,
    /// Delays from the first proposal to each decision.
    delays: SpanSummary,
    patience: Option<Span>,
}

impl Monitors for AgreementMonitors {
    const FAMILY: Layer = Layer::Agreement;
    type Command = Command;
    type Output = Output;

    fn command_mark(&self, _: &Command) -> Option<Mark> {
        Some(Mark::Proposed)
    }

    fn output_mark(&self, _: Moment, output: &Output) -> Option<Mark> {
        Some(match output {
            Output::Decided(_) => Mark::Decided,
            Output::Blocked => Mark::Blocked,
        })
    }

    fn command_text(&self, Command::Propose(value): &Command) -> String {
        self.agreement_kind.display_value(*value).to_string()
    }

    fn output_text(&self, output: &Output) -> String {
        match output {
            Output::Decided(decision) => self.agreement_kind.display_decision(decision).to_string(),
            Output::Blocked => String::new(),
        }
    }

    fn on_command(&mut self, at: Moment, Command::Propose(value): &Command) {
        self.decisions.proposed(at, *value);
    }

    fn on_output(&mut self, at: Moment, output: &Output) {
        match output {
            Output::Decided(decision) => {
                self.decisions.decided(at, decision);
                if let Some(begun) = self.decisions.begun() {
                    self.delays.add(at.time - begun);
                }
            }
            Output::Blocked => {
                self.decisions.blocked(at.process);
            }
        }
    }

    fn crashed(&mut self, at: Moment) {
        self.decisions.crashed(at.process);
    }

    fn recovered(&mut self, at: Moment, memory: Memory) {
        if self.binds_recovered && memory == Memory::Kept {
            self.decisions.recovered(at.process);
        }
    }

    fn end(&mut self, end: &RunEnd<'_>) {
        self.decisions.end(end.now, end.ending, self.patience);
    }

    fn finding(&self, property: Property) -> Finding<'_> {
        let judged = match property {
            Property::Agreement => Finding::of(self.decisions.agreement()),
            Property::Validity => Finding::of(self.decisions.validity()),
            Property::Termination => {
                let open = self.decisions.is_open();
                Finding::of(self.decisions.termination()).or_open(open.then_some(
                    "the run was stopped while decisions were missing; whether they would have come is open",
                ))
            }
            _ => unreachable!("a property of another family"),
        };
        let vacuous = self.decisions.begun().is_none();
        judged.or_open(vacuous.then_some("no process has proposed anything"))
    }

    fn report(&self, context: &ReportContext<'_>, report: &mut Report) {
        let all = || ProcessId::all(context.scenario.processes);
        let (correct, bound) = (self.decisions.correct(), self.decisions.bound());
        let proposals: Vec<Option<u64>> =
            all().map(|process| self.decisions.proposal_of(process).map(|value| value.0)).collect();
        report.requests = proposals.iter().flatten().count() as u64;
        let undecided = |process: &ProcessId| self.decisions.decision_of(*process).is_none();
        report.waiting = bound.iter().filter(undecided).map(ProcessId::number).collect();
        let cost = &context.info.cost;
        let comparable = context.undisturbed
            && context.counts_all
            && context.scenario.faults.traitor.is_empty()
            && report.waiting.is_empty();
        let count = u64::from(report.requests > 0);
        report.cost = CostReport::new(cost, "agreement", report.messages.total, count, comparable);
        let unit = context.scenario.delay_unit();
        let promised = [*cost.client_delay.start(), *cost.client_delay.end()];
        report.delays.unit = unit.0;
        report.delays.client = DelayStatistics::new(self.delays, unit, promised);
        let proposal_text = |process| match self.decisions.proposal_of(process) {
            Some(value) => self.agreement_kind.display_value(value).to_string(),
            None => "-".to_owned(),
        };
        let decision_text = |process| match self.decisions.decision_of(process) {
            Some(decision) => self.agreement_kind.display_decision(decision).to_string(),
            None => "-".to_owned(),
        };
        report.agreement = Some(AgreementReport {
            tolerates: context.scenario.tolerates,
            correct: correct.iter().map(ProcessId::number).collect(),
            proposals,
            proposal_texts: all().map(proposal_text).collect(),
            decisions: all()
                .map(|process| self.decisions.decision_of(process).map(shown))
                .collect(),
            decision_texts: all().map(decision_text).collect(),
            blocked: self.decisions.blocked_processes().iter().map(ProcessId::number).collect(),
        });
    }
}

fn shown(decision: &Decision) -> DecisionReport {
    match decision {
        Decision::Value(value) => DecisionReport::Value(value.0),
        Decision::Vector(entries) => {
            DecisionReport::Vector(entries.iter().map(|entry| entry.map(|value| value.0)).collect())
        }
    }
}
