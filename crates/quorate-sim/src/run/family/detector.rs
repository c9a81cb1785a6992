//! Failure detection: what is noticed and when, what a round costs, and whether completeness and accuracy hold.
//!
//! A detector never becomes quiescent, so its run has to be stopped. If the scenario sets `until`, the run stops then.
//! Otherwise it stops when all beliefs have been correct after the last fault for two rounds longer than a change takes
//! to become known, and at the latest a hundred rounds after the last fault. If delays are bounded only from some time
//! on, the last fault is not earlier than that time.

use std::fmt::Debug;
use std::marker::PhantomData;

use quorate_core::{Belief, Layer, Process, ProcessId, ProcessSet, Property, Span, Time, VCube};

use crate::engine::Ending;
use crate::engine::observer::{Departure, Moment};
use crate::observe::monitor::{Accuracy, Completeness, EventualAccuracy};
use crate::observe::trace::TraceSink;
use crate::observe::{Beliefs, Change, Detection, Mark};
use crate::run::algorithm_info::AlgorithmInfo;
use crate::run::error::RunError;
use crate::run::execute::{Conditions, Outcome, ProcessFactory, RunSetup, run};
use crate::run::monitors::{Finding, Monitors, ReportContext, RunEnd};
use crate::run::report::{ChangeReport, CostReport, DetectionReport, Report};
use crate::run::users::DetectorUsers;
use crate::scenario::plan::{Memory, Plan};
use crate::scenario::{Scenario, Timing};

/// Number of rounds after the last fault when a run stops even if beliefs are still wrong.
const ROUNDS_MOST: u64 = 100;

/// A wrong suspicion that lasts longer than this number of rounds violates eventual accuracy.
const ROUNDS_MISTAKEN: u64 = 50;

/// Runs a failure detector with rounds of this duration. The scenario must have been validated.
pub fn run_detector<P: Process<Output = Belief> + 'static>(
    scenario: &Scenario,
    info: &AlgorithmInfo,
    round: Span,
    conditions: Conditions,
    factory: ProcessFactory<'_, P>,
    trace: Option<&mut (dyn TraceSink + '_)>,
) -> Result<Outcome, RunError> {
    let run_setup = run_setup(scenario, info, round);
    run(scenario, info, conditions, run_setup, factory, trace)
}

/// Builds everything that a run needs apart from its processes.
fn run_setup<C>(
    scenario: &Scenario,
    info: &AlgorithmInfo,
    round: Span,
) -> RunSetup<DetectorUsers<C>, DetectorMonitors<C>> {
    let n = scenario.processes;
    let plan = Plan::new(&scenario.faults, n, scenario.seed);
    let grace = grace(n, info, round);
    let last_fault = match scenario.timing() {
        Timing::Eventually(settled) => plan.end().max(settled),
        _ => plan.end(),
    };
    let rounds = |count| Span(round.0.saturating_mul(count));
    let (quiet, until) = match scenario.until {
        // An explicit duration must be used in full, so the users never become content.
        Some(until) => (Span(u64::MAX), Time(until.0.0)),
        None => (grace, last_fault + rounds(ROUNDS_MOST)),
    };
    RunSetup {
        users: DetectorUsers::new(n, plan.traitors(), last_fault, quiet),
        monitors: DetectorMonitors {
            completeness: Completeness::default(),
            accuracy: Accuracy::new(grace),
            eventual_accuracy: EventualAccuracy::new(last_fault, rounds(ROUNDS_MISTAKEN)),
            beliefs: Beliefs::new(n, plan.traitors()),
            detection: Detection::new(round),
            counted: info.kinds.first().map_or("", |kind| kind.name),
            round,
            grace,
            end: Time::ZERO,
            exempt: plan.traitors(),
            command_type: PhantomData,
        },
        plan,
        oracle: None,
        clocks: scenario.local_clocks(),
        until,
        never_quiescent: true,
        burst: *info.cost.messages.end(),
        // The sets of suspects of each process: one in the process and one in the monitors.
        bytes_per_process: n as u64 / 4,
    }
}

/// Two rounds longer than it takes until every process knows of a change.
fn grace(n: usize, info: &AlgorithmInfo, round: Span) -> Span {
    let rounds = info.cost.detection_rounds.unwrap_or(0).max(VCube::new(n).dimension().into());
    Span(round.0.saturating_mul(rounds + 2))
}

/// Monitors of a failure detector.
#[derive(Clone, Debug)]
pub struct DetectorMonitors<C> {
    completeness: Completeness,
    accuracy: Accuracy,
    eventual_accuracy: EventualAccuracy,
    beliefs: Beliefs,
    detection: Detection,
    /// Name of the message kind that is counted by round: the first kind that the detector declares.
    counted: &'static str,
    round: Span,
    grace: Span,
    end: Time,
    exempt: ProcessSet,
    /// The command type of the detector. Its commands are for layers above it; none are given here.
    command_type: PhantomData<fn(C)>,
}

impl<C> DetectorMonitors<C> {
    fn change_report(&self, change: &Change) -> ChangeReport {
        let stands = change.crash == self.beliefs.is_down(change.process);
        let last = self.detection.changes().iter().rev().find(|any| any.process == change.process);
        let is_last = last.is_some_and(|last| last.time == change.time && stands);
        let missing = self.beliefs.mistaken_about(change.process).filter(|_| is_last);
        ChangeReport {
            process: change.process.number(),
            change: if change.crash { "crash" } else { "recovery" },
            time: change.time.0,
            noticed: change.noticed.len(),
            first: change.first,
            last: change.last,
            missing: missing.map(ProcessId::number).collect(),
        }
    }
}

impl<C: Debug> Monitors for DetectorMonitors<C> {
    const FAMILY: Layer = Layer::Detector;
    type Command = C;
    type Output = Belief;

    fn output_mark(&self, _: Moment, belief: &Belief) -> Option<Mark> {
        Some(match belief {
            Belief::Crashed(_) => Mark::Suspected,
            Belief::Alive(_) => Mark::Trusted,
        })
    }

    fn output_text(&self, belief: &Belief) -> String {
        belief.about().to_string()
    }

    fn on_command(&mut self, _: Moment, _: &C) {}

    fn on_output(&mut self, at: Moment, belief: &Belief) {
        let changed = self.beliefs.update(at.process, *belief);
        if changed && !self.exempt.contains(at.process) {
            self.accuracy.belief_changed(at, *belief);
            let down = self.beliefs.is_down(belief.about());
            if !self.exempt.contains(belief.about()) {
                self.eventual_accuracy.belief_changed(at, *belief, down);
            }
            self.detection.belief_changed(at.process, *belief, at.time, down);
        }
    }

    fn crashed(&mut self, at: Moment) {
        self.beliefs.crash(at.process);
        self.completeness.transition(at);
        self.accuracy.crashed(at.process);
        self.detection.changed(at.process, true, at.time);
    }

    fn recovered(&mut self, at: Moment, memory: Memory) {
        self.beliefs.recover(at.process, memory);
        self.completeness.transition(at);
        self.accuracy.recovered(at.process, at.time);
        self.detection.changed(at.process, false, at.time);
    }

    #[inline]
    fn sent(&mut self, at: Moment, kind: usize, departure: Departure) {
        if kind == 0 && departure != Departure::Duplicated {
            self.detection.sent(at.time);
        }
    }

    fn end(&mut self, end: &RunEnd<'_>) {
        self.end = end.now;
        self.completeness.end(end.now, self.grace, &self.beliefs);
        let (content, n) = (end.ending == Ending::Content, end.processes);
        self.eventual_accuracy.end(end.now, content, n, &self.beliefs);
    }

    fn finding(&self, property: Property) -> Finding<'_> {
        match property {
            Property::Completeness => {
                let open = self.completeness.is_open();
                Finding::of(self.completeness.violation()).or_open(
                    open.then_some(
                        "the run ended before every process could have noticed every crash",
                    ),
                )
            }
            Property::Accuracy => Finding::of(self.accuracy.violation()),
            Property::EventualAccuracy => {
                let open = self.eventual_accuracy.is_open();
                Finding::of(self.eventual_accuracy.violation())
                    .or_open(open.then_some("the run was stopped too soon after the last mistake to tell whether it was the last"))
            }
            _ => unreachable!("a property of another family"),
        }
    }

    fn report(&self, context: &ReportContext<'_>, report: &mut Report) {
        let rounds = self.end.0.div_ceil(self.round.0).max(1);
        let (total, most) = self.detection.counted();
        let cost = &context.info.cost;
        // While a recovery becomes known, the recovered process and its substitutes do the same work.
        let recovered = self.detection.changes().iter().any(|change| !change.crash);
        let comparable = context.assumptions_met && !recovered;
        let mut paid = CostReport::new(cost, "round", total, rounds, comparable);
        // The promised cost holds for every round, not only on average.
        paid.kept = paid.kept.map(|_| most <= *cost.messages.end());
        report.cost = paid;
        report.detection = Some(DetectionReport {
            round: self.round.0,
            rounds,
            kind: self.counted,
            per_round: total as f64 / rounds as f64,
            per_round_most: most,
            promised_rounds: cost.detection_rounds,
            changes: self.detection.changes().iter().map(|c| self.change_report(c)).collect(),
            false_suspicions: self.detection.false_suspicions(),
        });
    }
}
