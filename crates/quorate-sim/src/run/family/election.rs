//! Election: the leader at the end, the cost, and the properties E1 and E2.

use quorate_core::election::{Candidates, Command, Election, Output};
use quorate_core::{Layer, ProcessId, ProcessSet, Property, Span, Time, VCube};

use crate::engine::Ending;
use crate::engine::observer::Moment;
use crate::observe::entry_delays::SpanSummary;
use crate::observe::monitor::{E1, E2};
use crate::observe::trace::TraceSink;
use crate::observe::{Followers, Mark};
use crate::run::algorithm_info::AlgorithmInfo;
use crate::run::error::RunError;
use crate::run::execute::{Conditions, Outcome, ProcessFactory, RunSetup, run};
use crate::run::monitors::{Finding, Monitors, ReportContext, RunEnd};
use crate::run::report::{CampReport, CostReport, DelayStatistics, ElectionReport, Report};
use crate::run::users::ElectionUsers;
use crate::scenario::Scenario;
use crate::scenario::plan::{Memory, Plan};

/// Bytes per process that users and monitors need.
const BYTES_PER_PROCESS: u64 = 256;

/// Runs an election. Each process keeps `bytes_per_other` bytes
/// for every other process. The scenario must have been validated.
pub fn run_election<P: Election + 'static>(
    scenario: &Scenario,
    info: &AlgorithmInfo,
    bytes_per_other: u64,
    conditions: Conditions,
    factory: ProcessFactory<'_, P>,
    trace: Option<&mut (dyn TraceSink + '_)>,
) -> Result<Outcome, RunError> {
    let run_setup = run_setup(scenario, info, bytes_per_other);
    run(scenario, info, conditions, run_setup, factory, trace)
}

/// Builds everything that a run needs apart from its processes.
fn run_setup(
    scenario: &Scenario,
    info: &AlgorithmInfo,
    bytes_per_other: u64,
) -> RunSetup<ElectionUsers, ElectionMonitors> {
    let n = scenario.processes;
    let never_quiescent = info.profile.never_quiescent || scenario.detector_never_quiescent();
    let plan = Plan::new(&scenario.faults, n, scenario.seed);
    let users = ElectionUsers::new(
        n,
        scenario.first_requests(),
        scenario.identifications(),
        scenario.repeat,
        scenario.think.0,
    );
    RunSetup {
        users: users.patient(quiet(scenario), plan.end(), plan.traitors()),
        monitors: ElectionMonitors::new(
            scenario,
            plan.traitors(),
            scenario.patience(never_quiescent),
        ),
        plan,
        oracle: scenario.oracle(),
        clocks: scenario.local_clocks(),
        until: scenario.until(never_quiescent),
        never_quiescent,
        burst: scenario.burst(*info.cost.messages.start() / (2 * n as u64)),
        bytes_per_process: bytes_per_other
            .saturating_mul(n as u64)
            .saturating_add(BYTES_PER_PROCESS),
    }
}

/// Long enough for a detector below to notice a crash, and for the election that follows.
fn quiet(scenario: &Scenario) -> Span {
    let levels = u64::from(VCube::new(scenario.processes).dimension());
    let ranks = scenario.rank_delay.0.0.saturating_mul(scenario.processes as u64);
    Span(scenario.delay_bounds().bound.0.saturating_mul(20 * (levels + 2)).saturating_add(ranks))
}

/// Monitors of an election.
#[derive(Clone, Debug)]
pub struct ElectionMonitors {
    e1: E1,
    e2: E2,
    followers: Followers,
    /// Delays from requesting an election to learning the leader, for processes whose user requested it.
    delays: SpanSummary,
    requested_at: Vec<Option<Time>>,
    begun: u64,
    decisions: u64,
    first: Option<Time>,
    last: Option<Time>,
    patience: Option<Span>,
}

impl ElectionMonitors {
    fn new(scenario: &Scenario, traitors: ProcessSet, patience: Option<Span>) -> Self {
        let n = scenario.processes;
        let candidates = Candidates::new(n, &scenario.ids);
        Self {
            e1: E1::new(n, candidates, traitors.clone()),
            e2: E2::default(),
            followers: Followers::new(n, traitors),
            delays: SpanSummary::default(),
            requested_at: vec![None; n],
            begun: 0,
            decisions: 0,
            first: None,
            last: None,
            patience,
        }
    }
}

impl Monitors for ElectionMonitors {
    const FAMILY: Layer = Layer::Election;
    type Command = Command;
    type Output = Output;

    fn output_mark(&self, at: Moment, output: &Output) -> Option<Mark> {
        Some(match output {
            Output::Undecided => Mark::TakesPart,
            Output::Elected(leader) if leader.process == at.process => Mark::Leads,
            Output::Elected(_) => Mark::Follows,
        })
    }

    fn output_text(&self, output: &Output) -> String {
        match output {
            Output::Undecided => String::new(),
            Output::Elected(leader) => leader.process.to_string(),
        }
    }

    fn on_command(&mut self, at: Moment, command: &Command) {
        match command {
            Command::Elect => {
                self.begun += 1;
                self.requested_at[at.process.index()] = Some(at.time);
                self.first.get_or_insert(at.time);
            }
            Command::Identify(value) => self.e1.identified(at, *value),
        }
    }

    fn on_output(&mut self, at: Moment, output: &Output) {
        self.followers.on_output(at.process, *output);
        self.e2.changed(at);
        match *output {
            Output::Undecided => {
                self.e1.undecided(at);
                self.first.get_or_insert(at.time);
            }
            Output::Elected(leader) => {
                self.e1.elected(at, leader);
                self.decisions += 1;
                self.last = Some(at.time);
                if let Some(requested) = self.requested_at[at.process.index()].take() {
                    self.delays.add(at.time - requested);
                }
            }
        }
    }

    fn crashed(&mut self, at: Moment) {
        self.followers.crash(at.process);
        self.e1.crashed(at.process);
        self.e2.changed(at);
        self.requested_at[at.process.index()] = None;
    }

    fn recovered(&mut self, at: Moment, memory: Memory) {
        self.followers.recover(at.process, memory);
        self.e1.recovered(at, memory);
        self.e2.changed(at);
    }

    fn end(&mut self, end: &RunEnd<'_>) {
        if matches!(end.ending, Ending::Quiescent | Ending::Content) {
            self.e1.end(end.now, &self.followers);
        }
        self.e2.end(end.now, end.ending, self.patience, &self.followers);
    }

    fn finding(&self, property: Property) -> Finding<'_> {
        match property {
            Property::E1 => Finding::of(self.e1.violation()),
            Property::E2 => {
                let open = self.e2.is_open();
                Finding::of(self.e2.violation()).or_open(open.then_some(
                    "the run was stopped during an election; whether it would have ended is open",
                ))
            }
            _ => unreachable!("a property of another family"),
        }
    }

    fn report(&self, context: &ReportContext<'_>, report: &mut Report) {
        let cost = &context.info.cost;
        // The promised cost is for an election with a single initiator.
        let comparable = context.undisturbed && context.counts_all && self.begun == 1;
        report.requests = self.begun;
        report.cost =
            CostReport::new(cost, "election", report.messages.total, self.begun, comparable);
        let unit = context.scenario.delay_unit();
        let promised = [*cost.client_delay.start(), *cost.client_delay.end()];
        report.delays.unit = unit.0;
        report.delays.client = DelayStatistics::new(self.delays, unit, promised);
        report.waiting = match self.followers.has_begun() {
            true => self.followers.leaderless().map(ProcessId::number).collect(),
            false => Vec::new(),
        };
        let camps = self.followers.camps();
        let camp = |(leader, followers): &(quorate_core::election::Identifier, Vec<ProcessId>)| {
            CampReport {
                leader: leader.process.number(),
                identifier: leader.value,
                up: !self.followers.is_down(leader.process),
                followers: followers.iter().map(|follower| follower.number()).collect(),
            }
        };
        let one = camps.values().next().filter(|_| camps.len() == 1);
        report.election = Some(ElectionReport {
            leader: one.map(|(leader, _)| leader.process.number()),
            identifier: one.map(|(leader, _)| leader.value),
            camps: camps.values().map(camp).collect(),
            begun: self.begun,
            decisions: self.decisions,
            duration: match (self.first, self.last) {
                (Some(first), Some(last)) => Some((last - first).0),
                _ => None,
            },
        });
    }
}
