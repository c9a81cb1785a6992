//! Runs a scenario once and says what came of it.

use quorate_core::mutex::Mutex;
use quorate_core::{Cost, Message, ProcessId, Profile, Property, Span};

use crate::accounting::Accounting;
use crate::assumptions::{Incidents, breach, describe_traitor, not_promised};
use crate::budget::{Budget, Bytes};
use crate::history::History;
use crate::monitor::{Me2, Me3, Status, Violation};
use crate::plan::Plan;
use crate::report::{
    AssumptionReport, CostReport, DelayReport, DelayStatistics, FaultReport, LoadReport, Messages,
    PropertyReport, Report, Verdict,
};
use crate::scenario::Scenario;
use crate::trace::TraceSink;
use crate::user::MutexUsers;
use crate::watch::MutexWatch;
use crate::world::{Ending, Limits, World, WorldModel};

/// ME3 is watched without being asked up to this many processes.
pub const ME3_PROCESSES_MOST: usize = 64;

/// How many requests, entries and exits are kept to be drawn.
const HISTORY_MOST: usize = 20_000;

/// What is to be run: an algorithm's statement and its promise for this world.
#[derive(Clone, Debug)]
pub struct Subject {
    /// What the algorithm says of itself.
    pub profile: Profile,
    /// What it promises to cost here.
    pub cost: Cost,
}

/// How to run, apart from what the scenario says.
#[derive(Clone, Copy, Debug)]
pub struct Conditions {
    /// Whether messages to oneself are in the totals.
    pub count_self: bool,
    /// The bytes that processes and messages under way may take.
    pub memory: u64,
    /// The most events.
    pub events: u64,
}

impl Default for Conditions {
    fn default() -> Self {
        Self { count_self: true, memory: u64::MAX, events: u64::MAX }
    }
}

/// A run and what users saw of it.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// For programs.
    pub report: Report,
    /// For drawing.
    pub history: History,
}

/// Why a run could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The world does not fit.
    #[error("{n} processes need about {needed} of memory, the bound is {bound}")]
    TooManyProcesses {
        /// How many.
        n: usize,
        /// What they would need.
        needed: Bytes,
        /// What there is.
        bound: Bytes,
    },
    /// The messages under way would not fit.
    #[error(
        "{messages} messages under way at once need about {needed} of memory, the bound is {bound}"
    )]
    TooManyMessages {
        /// How many.
        messages: u64,
        /// What they would need.
        needed: Bytes,
        /// What there is.
        bound: Bytes,
    },
    /// Processes that never fall silent, and messages that take no time.
    #[error(
        "{name} never falls silent: with messages that take no time, time would stand still; give --delay"
    )]
    TimeStandsStill {
        /// The algorithm.
        name: &'static str,
    },
    /// The trace could not be written.
    #[error("the trace could not be written: {0}")]
    Trace(#[from] std::io::Error),
}

/// Runs a mutual exclusion algorithm. The scenario must have been validated.
pub fn run_mutex<P: Mutex + 'static>(
    scenario: &Scenario,
    subject: &Subject,
    conditions: Conditions,
    make: impl Fn(ProcessId) -> P + 'static,
    mut trace: Option<&mut (dyn TraceSink + '_)>,
) -> Result<Outcome, RunError> {
    let n = scenario.processes;
    let budget = Budget::new::<P>(conditions.memory, scenario);
    budget.check_processes::<P>(n)?;
    budget.check_burst(scenario, &subject.cost)?;
    let timeless =
        scenario.links().timing.is_timeless(&scenario.delay) && scenario.handling.0 == Span::ZERO;
    if subject.profile.restless && timeless {
        return Err(RunError::TimeStandsStill { name: subject.profile.name });
    }
    let restless = subject.profile.restless || scenario.is_restless();
    let plan = Plan::new(&scenario.faults, n, scenario.seed);
    let me3 = watches_me3(scenario, &subject.profile).then(|| Me3::new(n));
    let mut watch = MutexWatch::new(
        Accounting::new(n, P::Message::KINDS),
        Me2::new(n, scenario.patience(restless)),
        me3,
        History::new(HISTORY_MOST),
        trace.as_mut().map(|sink| &mut **sink as &mut dyn TraceSink),
    );
    watch.incidents.traitors = plan.traitors.clone();
    watch.exempt = plan.traitors.iter().map(|(traitor, _)| *traitor).collect();
    let users = MutexUsers::new(
        n,
        scenario.first_requests(),
        scenario.repeat,
        scenario.section.0,
        scenario.think.0,
    );
    let model = WorldModel {
        n,
        seed: scenario.seed,
        links: scenario.links(),
        handling: scenario.handling.0,
        oracle: scenario.oracle(),
        plan,
        limits: Limits {
            until: scenario.until(restless),
            events: conditions.events,
            queued: budget.most_messages(),
            stop_when_content: restless,
        },
    };
    let mut world = World::new(model, make, users, watch);
    let ending = world.run();
    if ending == Ending::Queued {
        return Err(budget.too_many_messages(world.queued() as u64));
    }
    let outcome = summarise(scenario, subject, conditions, world, ending)?;
    if let Some(sink) = trace {
        sink.finish()?;
    }
    Ok(outcome)
}

fn watches_me3(scenario: &Scenario, profile: &Profile) -> bool {
    let asked = scenario.watch.iter().any(|id| id == Property::ME3.id());
    asked
        || (profile.guarantees.contains(&Property::ME3) && scenario.processes <= ME3_PROCESSES_MOST)
}

fn summarise<P: Mutex>(
    scenario: &Scenario,
    subject: &Subject,
    conditions: Conditions,
    world: World<P, MutexUsers, MutexWatch<'_>>,
    ending: Ending,
) -> Result<Outcome, RunError> {
    let (now, events, deliveries) = (world.now(), world.events(), world.deliveries());
    let (processes, mut watch) = world.into_parts();
    if let Some(error) = watch.take_trace_error() {
        return Err(error.into());
    }
    watch.me1.end();
    let incidents = &watch.incidents;
    let me2 = watch.me2.end(
        now,
        ending,
        |process| processes[process.index()].waits_for(),
        |process| incidents.fallen(process),
    );
    let waiting: Vec<u32> = watch.me2.waiting().map(|since| since.process.number()).collect();
    let properties = judge(scenario, &subject.profile, &watch, me2);
    let assumptions: Vec<AssumptionReport> = subject
        .profile
        .assumes
        .iter()
        .map(|&assumption| {
            let broken_by = breach(assumption, scenario, &watch.incidents, &watch.accounting);
            let (id, sentence) = (assumption.id(), assumption.sentence());
            AssumptionReport { id, sentence, met: broken_by.is_none(), broken_by }
        })
        .collect();
    let verdict = if properties.iter().any(|property| property.status == Status::Violated) {
        Verdict::Violated
    } else if assumptions.iter().any(|assumption| !assumption.met) {
        Verdict::OutsideAssumptions
    } else {
        Verdict::Holds
    };
    let messages =
        Messages::from(watch.accounting.layer(subject.profile.layer, conditions.count_self));
    let below = watch.accounting.layers().iter().filter(|layer| **layer != subject.profile.layer);
    let layers = below
        .map(|layer| {
            (layer.name(), Messages::from(watch.accounting.layer(*layer, conditions.count_self)))
        })
        .collect();
    let complete = matches!(ending, Ending::Quiescent | Ending::Content);
    // A token that goes round costs messages whether anybody wants in or not: there is nothing to compare.
    let undisturbed = complete
        && !subject.profile.restless
        && waiting.is_empty()
        && watch.incidents.deeds.is_empty()
        && watch.accounting.losses().is_empty();
    let report = Report {
        algorithm: scenario.algorithm.clone(),
        processes: scenario.processes,
        seed: scenario.seed,
        verdict,
        properties,
        assumptions,
        requests: watch.requests,
        entries: watch.entries,
        order: watch.history.order().to_vec(),
        cost: cost_report(
            &subject.cost,
            &messages,
            watch.entries,
            undisturbed,
            conditions.count_self,
        ),
        load: LoadReport::new(&messages),
        messages,
        layers,
        lost: watch.accounting.losses().iter().map(|(why, count)| (why.name(), *count)).collect(),
        duplicated: watch.accounting.duplicated(),
        delays: delay_report(&subject.cost, &watch, scenario.delay_unit()),
        waiting,
        no_quorum: watch.without_quorum.iter().map(ProcessId::number).collect(),
        virtual_time: now.0,
        events,
        deliveries,
        ending: ending_name(ending),
        faults: fault_reports(&watch.incidents),
        me3_merges: watch.me3.as_ref().map(Me3::merges),
    };
    Ok(Outcome { report, history: watch.history })
}

fn judge(
    scenario: &Scenario,
    profile: &Profile,
    watch: &MutexWatch<'_>,
    me2: Status,
) -> Vec<PropertyReport> {
    Property::ALL
        .into_iter()
        .map(|property| {
            let promised = profile.guarantees.contains(&property);
            let asked = scenario.watch.iter().any(|id| id == property.id());
            let (violation, status) = match property {
                Property::ME1 => (watch.me1.violation(), Status::Holds),
                Property::ME2 => (watch.me2.violation(), me2),
                Property::ME3 => {
                    let watched =
                        if watch.me3.is_some() { Status::Holds } else { Status::NotChecked };
                    (watch.me3.as_ref().and_then(Me3::violation), watched)
                }
            };
            if !promised && !asked {
                return report(
                    property,
                    promised,
                    Status::NotChecked,
                    not_promised(property),
                    None,
                );
            }
            match (violation, status) {
                (Some(found), _) => {
                    report(property, promised, Status::Violated, found.detail.clone(), Some(found))
                }
                (None, Status::NotChecked) => {
                    report(property, promised, status, undecided(property), None)
                }
                (None, _) => {
                    report(property, promised, status, property.sentence().to_owned(), None)
                }
            }
        })
        .collect()
}

fn undecided(property: Property) -> String {
    match property {
        Property::ME3 => {
            format!("not watched beyond {ME3_PROCESSES_MOST} processes; `--watch ME3` watches it all the same")
        }
        _ => "the run was stopped while processes were waiting; whether they would have entered is open".to_owned(),
    }
}

fn report(
    property: Property,
    promised: bool,
    status: Status,
    detail: String,
    found: Option<&Violation>,
) -> PropertyReport {
    let events = found.map(|violation| violation.events.clone()).unwrap_or_default();
    PropertyReport { id: property.id(), status, detail, promised, events }
}

fn cost_report(
    cost: &Cost,
    messages: &Messages,
    entries: u64,
    undisturbed: bool,
    with_self: bool,
) -> CostReport {
    let (least, most) = (*cost.messages.start(), *cost.messages.end());
    let within = (least * entries..=most * entries).contains(&messages.total);
    CostReport {
        formula: cost.formula,
        promised_per_entry: [least, most],
        per_entry: (entries > 0).then(|| messages.total as f64 / entries as f64),
        kept: (entries > 0 && undisturbed && with_self).then_some(within),
    }
}

fn delay_report(cost: &Cost, watch: &MutexWatch<'_>, unit: Span) -> DelayReport {
    let ends = |range: &std::ops::RangeInclusive<u64>| [*range.start(), *range.end()];
    DelayReport {
        unit: unit.0,
        client: DelayStatistics::new(watch.delays.client(), unit, ends(&cost.client_delay)),
        synchronisation: DelayStatistics::new(
            watch.delays.synchronisation(),
            unit,
            ends(&cost.synchronisation_delay),
        ),
    }
}

fn fault_reports(incidents: &Incidents) -> Vec<FaultReport> {
    let traitors = incidents.traitors.iter();
    let traitors = traitors.map(|traitor| FaultReport { time: 0, what: describe_traitor(traitor) });
    let deeds = incidents.deeds.iter();
    traitors
        .chain(deeds.map(|(time, deed)| FaultReport { time: time.0, what: deed.to_string() }))
        .collect()
}

fn ending_name(ending: Ending) -> &'static str {
    match ending {
        Ending::Quiescent => "quiescent",
        Ending::Content => "content",
        Ending::Until => "until",
        Ending::Events => "events",
        Ending::Queued => "memory",
    }
}
