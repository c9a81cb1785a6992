//! Agreement: who proposes and decides what, and whether agreement, validity and termination hold.

use quorate_core::agreement::{Agreement, Command, Decision, Matter, Output, Value};
use quorate_core::{Layer, ProcessId, ProcessSet, Property, Span};

use crate::delays::Spread;
use crate::family::{End, Finding, Monitors, Telling};
use crate::history::Mark;
use crate::monitor::Decisions;
use crate::observer::Moment;
use crate::plan::{Memory, Plan};
use crate::report::{AgreementReport, CostReport, DecisionReport, DelayStatistics, Report};
use crate::run::{Cast, Conditions, Outcome, RunError, Stage, Subject, run};
use crate::scenario::{Requesters, Scenario};
use crate::trace::TraceSink;
use crate::user::AgreementUsers;

/// More messages at once than this are not simulated: some algorithms need exponentially many.
const AT_ONCE_MOST: u64 = 20_000_000;

/// Runs an agreement about this matter. The scenario must have been validated, and say who proposes.
pub fn run_agreement<P: Agreement + 'static>(
    scenario: &Scenario,
    subject: &Subject,
    matter: Matter,
    conditions: Conditions,
    cast: Cast<'_, P>,
    trace: Option<&mut (dyn TraceSink + '_)>,
) -> Result<Outcome, RunError> {
    let stage = stage(scenario, subject, matter)?;
    run(scenario, subject, conditions, stage, cast, trace)
}

/// All that a run needs apart from its processes.
fn stage(
    scenario: &Scenario,
    subject: &Subject,
    matter: Matter,
) -> Result<Stage<AgreementUsers, AgreementMonitors>, RunError> {
    let n = scenario.processes;
    let at_once = subject.cost.at_once.unwrap_or(0);
    if at_once > AT_ONCE_MOST {
        let (name, formula) = (subject.profile.name, subject.cost.formula);
        return Err(RunError::TooCostly { name, messages: at_once, formula, most: AT_ONCE_MOST });
    }
    if scenario.is_misled(&subject.profile) && scenario.is_timeless() {
        return Err(RunError::TimeStandsStill { name: subject.profile.name });
    }
    let restless = scenario.may_never_end(&subject.profile);
    let plan = Plan::new(&scenario.faults, n, scenario.seed);
    let traitors = plan.traitors();
    Ok(Stage {
        users: AgreementUsers::new(n, proposals(scenario, matter), &traitors),
        monitors: AgreementMonitors {
            decisions: Decisions::new(n, matter, traitors),
            matter,
            delays: Spread::default(),
            patience: scenario.patience(restless),
        },
        plan,
        oracle: scenario.oracle(),
        clocks: scenario.local_clocks(),
        until: scenario.until(restless),
        restless,
        burst: at_once,
        bytes_per_process: 0,
    })
}

/// Who proposes what and when: the commander, or everybody. Requests say when for those that they name.
pub fn proposals(scenario: &Scenario, matter: Matter) -> Vec<(ProcessId, Span, Value)> {
    let n = scenario.processes;
    let value = |process: ProcessId| {
        let said = scenario.values.get(process.index());
        said.map_or_else(|| matter.usual(n, process.index()), |value| Value(*value))
    };
    let proposers: ProcessSet = match matter {
        Matter::Order => ProcessSet::from_iter([ProcessId::new(scenario.server)]),
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

/// The monitors of agreement.
#[derive(Clone, Debug)]
pub struct AgreementMonitors {
    decisions: Decisions,
    matter: Matter,
    /// From the first proposal to each decision.
    delays: Spread,
    patience: Option<Span>,
}

impl Monitors for AgreementMonitors {
    const FAMILY: Layer = Layer::Agreement;
    type Command = Command;
    type Output = Output;

    fn asks(&self, _: &Command) -> Option<Mark> {
        Some(Mark::Proposed)
    }

    fn tells(&self, _: Moment, output: &Output) -> Option<Mark> {
        Some(match output {
            Output::Decided(_) => Mark::Decided,
            Output::Blocked => Mark::Blocked,
        })
    }

    fn asks_what(&self, Command::Propose(value): &Command) -> String {
        self.matter.say(*value).to_string()
    }

    fn tells_what(&self, output: &Output) -> String {
        match output {
            Output::Decided(decision) => self.matter.tell(decision).to_string(),
            Output::Blocked => String::new(),
        }
    }

    fn asked(&mut self, at: Moment, Command::Propose(value): &Command) {
        self.decisions.proposed(at, *value);
    }

    fn told(&mut self, at: Moment, output: &Output) {
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

    fn recovered(&mut self, _: Moment, _: Memory) {}

    fn end(&mut self, end: &End<'_>) {
        self.decisions.end(end.now, end.ending, self.patience);
    }

    fn finding(&self, property: Property) -> Finding<'_> {
        match property {
            Property::Agreement => Finding::of(self.decisions.agreement()),
            Property::Validity => Finding::of(self.decisions.validity()),
            Property::Termination => {
                let open = self.decisions.is_open();
                Finding::of(self.decisions.termination()).or_open(open.then_some(
                    "the run was stopped while decisions were missing; whether they would have come is open",
                ))
            }
            _ => unreachable!("a property of another family"),
        }
    }

    fn report(&self, telling: &Telling<'_>, report: &mut Report) {
        let all = || ProcessId::all(telling.scenario.processes);
        let correct = self.decisions.correct();
        let proposals: Vec<Option<u64>> =
            all().map(|process| self.decisions.proposal_of(process).map(|value| value.0)).collect();
        report.requests = proposals.iter().flatten().count() as u64;
        let undecided = |process: &ProcessId| self.decisions.decision_of(*process).is_none();
        report.waiting = correct.iter().filter(undecided).map(ProcessId::number).collect();
        let cost = &telling.subject.cost;
        let comparable = telling.undisturbed
            && telling.count_self
            && telling.scenario.faults.traitor.is_empty()
            && report.waiting.is_empty();
        let count = u64::from(report.requests > 0);
        report.cost = CostReport::new(cost, "agreement", report.messages.total, count, comparable);
        let unit = telling.scenario.delay_unit();
        let promised = [*cost.client_delay.start(), *cost.client_delay.end()];
        report.delays.unit = unit.0;
        report.delays.client = DelayStatistics::new(self.delays, unit, promised);
        let said = |process| match self.decisions.proposal_of(process) {
            Some(value) => self.matter.say(value).to_string(),
            None => "-".to_owned(),
        };
        let told = |process| match self.decisions.decision_of(process) {
            Some(decision) => self.matter.tell(decision).to_string(),
            None => "-".to_owned(),
        };
        report.agreement = Some(AgreementReport {
            bears: telling.scenario.bears,
            correct: correct.iter().map(ProcessId::number).collect(),
            proposals,
            said: all().map(said).collect(),
            decisions: all()
                .map(|process| self.decisions.decision_of(process).map(shown))
                .collect(),
            told: all().map(told).collect(),
            blocked: self.decisions.is_blocked().iter().map(ProcessId::number).collect(),
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
