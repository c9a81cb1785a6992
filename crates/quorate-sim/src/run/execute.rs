//! Runs a scenario once and creates its report, for every family of algorithms.

use quorate_core::{Assumption, Process, ProcessId, ProcessSet, Profile, Property, Span, Time};

use super::algorithm_info::AlgorithmInfo;
use super::assumptions::{breach, not_promised};
use super::budget::{Budget, MemoryFootprint};
use super::error::RunError;
use super::monitors::{Finding, Monitors, ReportContext, RunEnd};
use super::report::{
    AssumptionReport, CostReport, DelayReport, FaultReport, LoadReport, Messages, PropertyReport,
    Report, Verdict,
};
use super::watch::Watch;
use crate::engine::observer::Observer;
use crate::engine::{Driver, Ending, Limits, User, Wire, World, WorldModel};
use crate::observe::accounting::{Accounting, Counting};
use crate::observe::monitor::{ClockCondition, Status, Violation};
use crate::observe::trace::TraceSink;
use crate::observe::{FaultLog, History, describe_traitor};
use crate::scenario::plan::Plan;
use crate::scenario::{Clocks, Delay, OracleModel, Scenario, Timing};

/// Maximum number of processes for which the clock condition is checked by default.
const CLOCKS_MOST: usize = 64;

const TOO_MANY_CLOCKS: &str =
    "not watched with this many processes; `--watch clock-condition` watches it anyway";

/// Settings of a run that are not part of the scenario.
#[derive(Clone, Copy, Debug)]
pub struct Conditions {
    /// The messages that totals include.
    pub counting: Counting,
    /// Maximum number of bytes for processes and messages in flight.
    pub memory: u64,
    /// Maximum number of events.
    pub events: u64,
}

impl Default for Conditions {
    fn default() -> Self {
        Self { counting: Counting::ALL, memory: u64::MAX, events: u64::MAX }
    }
}

/// Result of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The report for programs.
    pub report: Report,
    /// The history for drawing.
    pub history: History,
}

/// Creates the processes of a run, and holds the driver if there is one.
pub struct ProcessFactory<'d, P: Process> {
    make: Box<dyn Fn(ProcessId) -> P>,
    footprint: MemoryFootprint,
    wire: Option<Wire<P::Message>>,
    driver: Option<&'d mut dyn Driver>,
}

impl<'d, P: Process> ProcessFactory<'d, P> {
    /// Processes that the simulator creates and drives.
    pub fn simulated(make: impl Fn(ProcessId) -> P + 'static) -> Self {
        Self {
            make: Box::new(make),
            footprint: MemoryFootprint::of::<P>(),
            wire: None,
            driver: None,
        }
    }

    /// Processes that are driven from outside, with messages encoded as bytes.
    #[must_use]
    pub fn driven(self, wire: Wire<P::Message>, driver: Option<&'d mut dyn Driver>) -> Self {
        Self { wire: Some(wire), driver, ..self }
    }

    /// Replaces the memory footprint, for types that do not show the size of a process and a message.
    #[must_use]
    pub fn with_footprint(self, footprint: MemoryFootprint) -> Self {
        Self { footprint, ..self }
    }
}

/// The part of a run that depends on the family.
pub(crate) struct RunSetup<U, M> {
    pub(crate) users: U,
    pub(crate) monitors: M,
    pub(crate) plan: Plan,
    pub(crate) oracle: Option<OracleModel>,
    pub(crate) clocks: Clocks,
    pub(crate) until: Time,
    /// Whether the processes never become quiescent, so that the run stops when its users are content.
    pub(crate) never_quiescent: bool,
    /// Number of messages that are expected in flight at the same time soon after the start.
    pub(crate) burst: u64,
    /// Memory that each process needs beyond its size, in bytes.
    pub(crate) bytes_per_process: u64,
}

/// Runs a scenario with the users and monitors of a family. The scenario must have been validated.
///
/// This function is compiled for every type of processes. Code that does not depend on the type of the processes is elsewhere.
pub(crate) fn run<P, U, M>(
    scenario: &Scenario,
    info: &AlgorithmInfo,
    conditions: Conditions,
    run_setup: RunSetup<U, M>,
    factory: ProcessFactory<'_, P>,
    mut trace: Option<&mut (dyn TraceSink + '_)>,
) -> Result<Outcome, RunError>
where
    P: Process + 'static,
    U: User<Command = P::Command, Output = P::Output>,
    M: Monitors<Command = P::Command, Output = P::Output>,
{
    let ProcessFactory { make, footprint, wire, driver } = factory;
    let sink = trace.as_mut().map(|sink| &mut **sink as &mut dyn TraceSink);
    let (budget, users, watch, model) =
        prepare(scenario, info, conditions, run_setup, footprint, sink)?;
    let mut world = World::new(model, make, users, watch);
    let ending = match (driver, wire) {
        (Some(driver), Some(wire)) => {
            world.drive_externally(wire, late_after(scenario));
            driver.drive(&mut world)
        }
        _ => world.run(),
    };
    if ending == Ending::Queued {
        return Err(budget.too_many_messages(world.queued() as u64));
    }
    let (now, events, deliveries) = (world.now(), world.events(), world.deliveries());
    let finished = FinishedRun { scenario, info, conditions, ending, now, events, deliveries };
    let World { nodes, engine, .. } = world;
    let waits_for = |process: ProcessId| nodes[process.index()].process.waits_for();
    let outcome = summarise(finished, engine.observer, &waits_for)?;
    if let Some(sink) = trace {
        sink.finish()?;
    }
    Ok(outcome)
}

/// Runs a scenario with the users of a family, and with an observer other than the monitors. The scenario must have been
/// validated.
pub(crate) fn observe<P, U, M, O>(
    scenario: &Scenario,
    info: &AlgorithmInfo,
    conditions: Conditions,
    run_setup: RunSetup<U, M>,
    make: impl Fn(ProcessId) -> P + 'static,
    observer: O,
) -> Result<O, RunError>
where
    P: Process + 'static,
    U: User<Command = P::Command, Output = P::Output>,
    M: Monitors<Command = P::Command, Output = P::Output>,
    O: Observer<P>,
{
    let footprint = MemoryFootprint::of::<P>();
    let (budget, users, _, model) =
        prepare(scenario, info, conditions, run_setup, footprint, None)?;
    let mut world = World::new(model, make, users, observer);
    if world.run() == Ending::Queued {
        return Err(budget.too_many_messages(world.queued() as u64));
    }
    Ok(world.into_parts().1)
}

/// Checks that the world fits into memory, and builds everything that it needs apart from its processes.
fn prepare<'t, U, M: Monitors>(
    scenario: &Scenario,
    info: &AlgorithmInfo,
    conditions: Conditions,
    run_setup: RunSetup<U, M>,
    footprint: MemoryFootprint,
    trace: Option<&'t mut dyn TraceSink>,
) -> Result<(Budget, U, Watch<'t, M>, WorldModel), RunError> {
    let n = scenario.processes;
    let budget = Budget::new(conditions.memory, footprint, scenario);
    budget.check_processes(n, run_setup.bytes_per_process)?;
    budget.check_burst(run_setup.burst)?;
    let accounting = Accounting::new(n, info.profile.layer, info.kinds);
    let mut watch = Watch::new(accounting, run_setup.monitors, trace);
    watch.fault_log.traitors = run_setup.plan.traitors.clone();
    if watches_clocks(scenario, &info.profile) {
        watch.watch_clocks(ClockCondition::new(n, run_setup.plan.traitors()));
    }
    let model = WorldModel {
        n,
        seed: scenario.seed,
        links: scenario.links(),
        handling: scenario.handling.0,
        oracle: run_setup.oracle,
        clocks: run_setup.clocks,
        plan: run_setup.plan,
        limits: Limits {
            until: run_setup.until,
            events: conditions.events,
            queued: budget.most_messages(),
            stop_when_content: run_setup.never_quiescent,
        },
    };
    Ok((budget, run_setup.users, watch, model))
}

/// Duration after which an event is late, for processes that are driven from outside.
fn late_after(scenario: &Scenario) -> Span {
    match scenario.timing() {
        // The driver ends a round only when its messages have arrived, so nothing is late.
        Timing::Rounds(_) => Span(u64::MAX),
        _ => scenario.delay_bounds().bound,
    }
}

fn watches_clocks(scenario: &Scenario, profile: &Profile) -> bool {
    scenario.watches(Property::ClockCondition)
        || (profile.guarantees.contains(&Property::ClockCondition)
            && scenario.processes <= CLOCKS_MOST)
}

struct FinishedRun<'a> {
    scenario: &'a Scenario,
    info: &'a AlgorithmInfo,
    conditions: Conditions,
    ending: Ending,
    now: Time,
    events: u64,
    deliveries: u64,
}

fn summarise<M: Monitors>(
    finished: FinishedRun<'_>,
    watch: Watch<'_, M>,
    waits_for: &dyn Fn(ProcessId) -> ProcessSet,
) -> Result<Outcome, RunError> {
    let FinishedRun { scenario, info, conditions, ending, now, .. } = finished;
    let Watch { accounting, fault_log, mut monitors, history, clock_condition, mut tracer, .. } =
        watch;
    let processes = scenario.processes;
    monitors.end(&RunEnd { now, ending, processes, waits_for, fault_log: &fault_log });
    let judged = judge(scenario, &info.profile, &monitors, clock_condition.as_ref());
    if let Some(tracer) = &mut tracer {
        judged.iter().filter_map(|(_, violation)| *violation).for_each(|v| tracer.violation(v));
        if let Some(error) = tracer.take_error() {
            return Err(error.into());
        }
    }
    let properties: Vec<PropertyReport> = judged.into_iter().map(|(report, _)| report).collect();
    let (mut report, assumptions_met, undisturbed) =
        common_report(&finished, properties, &accounting, &fault_log, &history);
    let counts_all = conditions.counting == Counting::ALL;
    monitors.report(
        &ReportContext { scenario, info, undisturbed, assumptions_met, counts_all },
        &mut report,
    );
    // Promises are counted in message delays, so they say nothing about messages of different delays.
    let equal_delays =
        matches!(scenario.delay, Delay::Constant(_)) && scenario.link_delay.is_empty();
    let equal_delays = equal_delays && scenario.arrival.is_empty();
    if report.cost.kept.is_some() && equal_delays && scenario.handling.0 == Span::ZERO {
        report.delays.compare();
    }
    Ok(Outcome { report, history })
}

/// The part of the report that is the same for all families, whether the assumptions were met, and whether the run was
/// complete and undisturbed. Compiled once.
fn common_report(
    finished: &FinishedRun<'_>,
    properties: Vec<PropertyReport>,
    accounting: &Accounting,
    fault_log: &FaultLog,
    history: &History,
) -> (Report, bool, bool) {
    let FinishedRun { scenario, info, conditions, ending, now, events, deliveries } = *finished;
    let assumptions = assumptions(scenario, &info.profile, fault_log, accounting, now);
    let assumptions_met = assumptions.iter().all(|assumption| assumption.met);
    let verdict = if properties.iter().any(|property| property.status == Status::Violated) {
        Verdict::Violated
    } else if assumptions_met {
        Verdict::Holds
    } else {
        Verdict::OutsideAssumptions
    };
    let of_layer = |layer| Messages::from(accounting.layer(layer, conditions.counting));
    let messages = of_layer(info.profile.layer);
    let below = accounting.layers().iter().filter(|layer| **layer != info.profile.layer);
    let complete = matches!(ending, Ending::Quiescent | Ending::Content);
    let undisturbed =
        complete && fault_log.fault_events.is_empty() && accounting.losses().is_empty();
    let report = Report {
        algorithm: scenario.algorithm.clone(),
        family: info.profile.layer.family(),
        processes: scenario.processes,
        seed: scenario.seed,
        verdict,
        properties,
        assumptions,
        requests: 0,
        entries: 0,
        order: history.order().to_vec(),
        cost: CostReport::new(&info.cost, "entry", 0, 0, false),
        load: LoadReport::new(&messages),
        messages,
        layers: below.map(|layer| (layer.name(), of_layer(*layer))).collect(),
        lost: accounting.losses().iter().map(|(why, count)| (why.name(), *count)).collect(),
        duplicated: accounting.duplicated(),
        changed: accounting.changed(),
        delays: DelayReport::default(),
        detection: None,
        multicast: None,
        clock: None,
        election: None,
        agreement: None,
        allocation: None,
        snapshot: None,
        stable_property: None,
        replication: None,
        waiting: Vec::new(),
        no_quorum: Vec::new(),
        over: None,
        virtual_time: now.0,
        events,
        deliveries,
        ending: ending_name(ending),
        faults: fault_reports(fault_log),
        me3_merges: None,
    };
    (report, assumptions_met, undisturbed)
}

fn assumptions(
    scenario: &Scenario,
    profile: &Profile,
    fault_log: &FaultLog,
    accounting: &Accounting,
    end: Time,
) -> Vec<AssumptionReport> {
    let report_of = |&assumption| {
        let broken_by = breach(assumption, scenario, fault_log, accounting, end);
        let (id, sentence) = (assumption.id(), assumption.sentence());
        AssumptionReport { id, sentence, met: broken_by.is_none(), broken_by }
    };
    let mut all: Vec<AssumptionReport> = profile.assumes.iter().map(report_of).collect();
    // Every algorithm assumes this, so that it is worth a line only if it does not hold.
    all.extend(Some(report_of(&Assumption::NoCorruption)).filter(|report| !report.met));
    all
}

/// Judges each property of the family. A property that is not promised is judged only on request.
fn judge<'m, M: Monitors>(
    scenario: &Scenario,
    profile: &Profile,
    monitors: &'m M,
    clock_condition: Option<&'m ClockCondition>,
) -> Vec<(PropertyReport, Option<&'m Violation>)> {
    let report_of = |property: Property| {
        let promised = profile.guarantees.contains(&property);
        if !promised && !scenario.watches(property) {
            let why = not_promised(property);
            return (report(property, promised, Status::NotChecked, why, None), None);
        }
        let finding = match (property, clock_condition) {
            (Property::ClockCondition, Some(condition)) => Finding::of(condition.violation()),
            (Property::ClockCondition, None) => Finding::of(None).or_open(Some(TOO_MANY_CLOCKS)),
            _ => monitors.finding(property),
        };
        let detail = match (finding.violation, finding.status) {
            (Some(found), _) => found.detail.clone(),
            (None, Status::NotChecked) => finding.open,
            (None, _) => property.sentence().to_owned(),
        };
        let found = finding.violation;
        (report(property, promised, finding.status, detail, found), found)
    };
    let concerns = |property: &Property| {
        !property.is_rare() || profile.guarantees.contains(property) || scenario.watches(*property)
    };
    Property::of(M::FAMILY).filter(concerns).map(report_of).collect()
}

fn report(
    property: Property,
    promised: bool,
    status: Status,
    detail: String,
    found: Option<&Violation>,
) -> PropertyReport {
    let events = found.map(|violation| violation.events.clone()).unwrap_or_default();
    let time = found.map(|violation| violation.time.0);
    PropertyReport { id: property.id(), status, detail, promised, time, events }
}

fn fault_reports(fault_log: &FaultLog) -> Vec<FaultReport> {
    let traitors = fault_log.traitors.iter();
    let traitors =
        traitors.map(|traitor| FaultReport { time: 0, description: describe_traitor(traitor) });
    let fault_events = fault_log.fault_events.iter();
    traitors
        .chain(
            fault_events
                .map(|(time, fault)| FaultReport { time: time.0, description: fault.to_string() }),
        )
        .collect()
}

fn ending_name(ending: Ending) -> &'static str {
    match ending {
        Ending::Quiescent => "quiescent",
        Ending::Content => "content",
        Ending::Until => "until",
        Ending::Events => "events",
        Ending::Queued => "memory",
        Ending::Unwatched => "unwatched",
    }
}
