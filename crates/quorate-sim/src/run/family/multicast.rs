//! Multicast: deliveries, their delays and their order, and whether
//! validity, integrity, agreement and the order properties hold.

use quorate_core::multicast::{Body as _, Command, Multicast, Output};
use quorate_core::{Layer, ProcessId, ProcessSet, Profile, Property, Span};

use crate::engine::observer::Moment;
use crate::observe::Mark;
use crate::observe::entry_delays::SpanSummary;
use crate::observe::monitor::{CausalOrder, Deliveries, FifoOrder, TotalOrder};
use crate::observe::trace::TraceSink;
use crate::run::algorithm_info::AlgorithmInfo;
use crate::run::error::RunError;
use crate::run::execute::{Conditions, Outcome, ProcessFactory, RunSetup, run};
use crate::run::monitors::{Finding, Monitors, ReportContext, RunEnd};
use crate::run::report::{CostReport, DelayStatistics, MulticastReport, Report};
use crate::run::users::MulticastUsers;
use crate::scenario::Scenario;
use crate::scenario::plan::{Memory, Plan};

/// Maximum number of processes for which causal order is checked by default.
const CAUSAL_PROCESSES_MOST: usize = 64;

/// Runs a multicast. The scenario must have been validated.
pub fn run_multicast<P: Multicast + 'static>(
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
) -> Result<RunSetup<MulticastUsers, MulticastMonitors>, RunError> {
    let n = scenario.processes;
    if scenario.has_false_suspicions(&info.profile) && scenario.is_timeless() {
        return Err(RunError::TimeStandsStill { name: info.profile.name });
    }
    let never_quiescent = scenario.may_never_end(&info.profile);
    let plan = Plan::new(&scenario.faults, n, scenario.seed);
    // Time has to pass between the messages of one sender. Otherwise all of them would be in flight at the same time.
    let pause = Some(scenario.think.0).filter(|think| *think > Span::ZERO);
    let users = MulticastUsers::new(
        n,
        scenario.first_requests(),
        scenario.repeat,
        pause.unwrap_or(scenario.delay_bounds().delay),
        scenario.group(),
        scenario.quiet(),
    );
    Ok(RunSetup {
        users,
        monitors: MulticastMonitors::new(
            scenario,
            &info.profile,
            plan.traitors(),
            scenario.patience(never_quiescent),
        ),
        plan,
        oracle: scenario.oracle(),
        clocks: scenario.local_clocks(),
        until: scenario.until(never_quiescent),
        never_quiescent,
        burst: scenario.burst(*info.cost.messages.start() / 2),
        // Multicasts that a sender has been asked for and has not started.
        bytes_per_process: u64::from(scenario.repeat).saturating_mul(48),
    })
}

/// Monitors of a multicast.
#[derive(Clone, Debug)]
pub struct MulticastMonitors {
    deliveries: Deliveries,
    fifo: Option<FifoOrder>,
    causal: Option<CausalOrder>,
    total: Option<TotalOrder>,
    /// Delays from multicast to delivery by another process, for the first message of each sender. Later messages may
    /// have to wait for earlier ones.
    delays: SpanSummary,
    senders: ProcessSet,
    patience: Option<Span>,
    /// Traitors. Neither their deliveries nor deliveries of their messages are judged for order.
    exempt: ProcessSet,
    /// Processes that have crashed at least once. They have missed deliveries, so their order is no longer judged.
    ever_down: ProcessSet,
}

impl MulticastMonitors {
    fn new(
        scenario: &Scenario,
        profile: &Profile,
        traitors: ProcessSet,
        patience: Option<Span>,
    ) -> Self {
        let n = scenario.processes;
        let watches = |property, most| {
            scenario.watches(property) || (profile.guarantees.contains(&property) && n <= most)
        };
        let members = || &scenario.group().members(n) - &traitors;
        Self {
            deliveries: Deliveries::new(n, traitors.clone()),
            fifo: watches(Property::FifoOrder, usize::MAX).then(FifoOrder::default),
            causal: watches(Property::CausalOrder, CAUSAL_PROCESSES_MOST)
                .then(|| CausalOrder::new(n)),
            total: watches(Property::TotalOrder, usize::MAX).then(|| TotalOrder::new(&members())),
            delays: SpanSummary::default(),
            senders: ProcessSet::new(),
            patience,
            exempt: traitors,
            ever_down: ProcessSet::new(),
        }
    }

    /// Passes a delivery to the monitors of the order properties.
    fn order(&mut self, at: Moment, origin: ProcessId, id: u64) {
        if self.exempt.contains(origin) || self.ever_down.contains(at.process) {
            return;
        }
        if let Some(fifo) = &mut self.fifo {
            fifo.delivered(at, origin, id);
        }
        if let Some(causal) = &mut self.causal {
            causal.delivered(at, origin, id);
        }
        if let Some(total) = &mut self.total {
            total.delivered(at, origin, id);
        }
    }
}

impl Monitors for MulticastMonitors {
    const FAMILY: Layer = Layer::Multicast;
    type Command = Command;
    type Output = Output;

    fn command_mark(&self, _: &Command) -> Option<Mark> {
        Some(Mark::Sent)
    }

    fn output_mark(&self, _: Moment, _: &Output) -> Option<Mark> {
        Some(Mark::Delivered)
    }

    fn command_text(&self, Command::Multicast { id, .. }: &Command) -> String {
        format!("#{id}")
    }

    fn output_text(&self, Output::Delivered { origin, id, body }: &Output) -> String {
        let content = if body.is_shown() { format!("/{}", body.0) } else { String::new() };
        format!("{origin}#{id}{content}")
    }

    fn on_command(&mut self, at: Moment, Command::Multicast { id, to, .. }: &Command) {
        self.deliveries.sent(at, *id, to.clone());
        if let Some(fifo) = &mut self.fifo {
            fifo.sent(at, *id, to.clone());
        }
        if let Some(causal) = &mut self.causal {
            causal.sent(at, *id, to.clone());
        }
        self.senders.insert(at.process);
    }

    fn on_output(&mut self, at: Moment, Output::Delivered { origin, id, body }: &Output) {
        if self.exempt.contains(at.process) {
            return;
        }
        self.order(at, *origin, *id);
        let sent = self.deliveries.delivered(at, *origin, *id, *body);
        if let Some(sent) = sent.filter(|_| *id == 0 && *origin != at.process) {
            self.delays.add(at.time - sent);
        }
    }

    fn crashed(&mut self, at: Moment) {
        self.deliveries.crashed(at.process);
        self.ever_down.insert(at.process);
        if let Some(total) = &mut self.total {
            total.crashed(at.process);
        }
    }

    fn recovered(&mut self, at: Moment, memory: Memory) {
        if memory == Memory::Lost {
            self.deliveries.forgot(at.process);
        }
    }

    fn end(&mut self, end: &RunEnd<'_>) {
        self.deliveries.end(end.now, end.ending, self.patience);
        if let Some(total) = &mut self.total {
            total.end();
        }
    }

    fn finding(&self, property: Property) -> Finding<'_> {
        let open = || {
            let open = self.deliveries.is_open();
            open.then_some("the run was stopped while deliveries were missing; whether they would have come is open")
        };
        match property {
            Property::DeliveryValidity => Finding::of(self.deliveries.validity()).or_open(open()),
            Property::DeliveryIntegrity => Finding::of(self.deliveries.integrity()),
            Property::DeliveryAgreement => Finding::of(self.deliveries.agreement()).or_open(open()),
            Property::FifoOrder => Finding::of(self.fifo.as_ref().and_then(FifoOrder::violation)),
            Property::CausalOrder => {
                let open = self.causal.is_none().then(|| {
                    format!(
                        "not watched beyond {CAUSAL_PROCESSES_MOST} processes; `--watch causal-order` watches it anyway"
                    )
                });
                Finding::of(self.causal.as_ref().and_then(CausalOrder::violation)).or_open(open)
            }
            Property::TotalOrder => {
                Finding::of(self.total.as_ref().and_then(TotalOrder::violation))
            }
            _ => unreachable!("a property of another family"),
        }
    }

    fn report(&self, context: &ReportContext<'_>, report: &mut Report) {
        let messages = self.deliveries.messages();
        report.requests = messages;
        let cost = &context.info.cost;
        let honest = context.scenario.faults.traitor.is_empty();
        let comparable = context.undisturbed && context.counts_all && honest;
        report.cost =
            CostReport::new(cost, "multicast", report.messages.total, messages, comparable);
        let unit = context.scenario.delay_unit();
        let promised = [*cost.client_delay.start(), *cost.client_delay.end()];
        report.delays.unit = unit.0;
        report.delays.client = DelayStatistics::new(self.delays, unit, promised);
        report.multicast = Some(MulticastReport {
            multicasts: messages,
            members: context.scenario.group().size(context.scenario.processes),
            senders: self.senders.iter().map(ProcessId::number).collect(),
            deliveries: self.deliveries.count(),
            everywhere: self.deliveries.everywhere(),
        });
    }
}
