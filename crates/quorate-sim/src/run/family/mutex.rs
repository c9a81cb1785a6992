//! Mutual exclusion: entries and their delays, and the properties ME1, ME2 and ME3.

use quorate_core::mutex::{Command, Mutex, Output};
use quorate_core::{Layer, ProcessId, ProcessSet, Profile, Property};

use crate::engine::observer::{Moment, Observer};
use crate::observe::Mark;
use crate::observe::entry_delays::EntryDelays;
use crate::observe::monitor::{Fencing, Me1, Me2, Me3, MutexEvent, Status};
use crate::observe::trace::TraceSink;
use crate::run::algorithm_info::AlgorithmInfo;
use crate::run::error::RunError;
use crate::run::execute::{Conditions, Outcome, ProcessFactory, RunSetup, observe, run};
use crate::run::monitors::{Finding, Monitors, ReportContext, RunEnd};
use crate::run::report::{CostReport, DelayReport, DelayStatistics, Report};
use crate::run::users::MutexUsers;
use crate::run::watch::Watch;
use crate::scenario::Scenario;
use crate::scenario::plan::{Memory, Plan};

/// Maximum number of processes for which ME3 is checked by default.
pub const ME3_PROCESSES_MOST: usize = 64;

/// The observer of a mutual exclusion run.
pub type MutexWatch<'t> = Watch<'t, MutexMonitors>;

/// Runs a mutual exclusion algorithm. The scenario must have been validated.
pub fn run_mutex<P: Mutex + 'static>(
    scenario: &Scenario,
    info: &AlgorithmInfo,
    conditions: Conditions,
    factory: ProcessFactory<'_, P>,
    trace: Option<&mut (dyn TraceSink + '_)>,
) -> Result<Outcome, RunError> {
    let run_setup = run_setup(scenario, info)?;
    run(scenario, info, conditions, run_setup, factory, trace)
}

/// Runs a mutual exclusion algorithm with this observer instead of the monitors of the family. The run is that of
/// [`run_mutex`]. The scenario must have been validated.
pub fn observe_mutex<P: Mutex + 'static, O: Observer<P>>(
    scenario: &Scenario,
    info: &AlgorithmInfo,
    conditions: Conditions,
    make: impl Fn(ProcessId) -> P + 'static,
    observer: O,
) -> Result<O, RunError> {
    let run_setup = run_setup(scenario, info)?;
    observe(scenario, info, conditions, run_setup, make, observer)
}

/// Builds everything that a run needs apart from its processes.
fn run_setup(
    scenario: &Scenario,
    info: &AlgorithmInfo,
) -> Result<RunSetup<MutexUsers, MutexMonitors>, RunError> {
    let n = scenario.processes;
    if info.profile.never_quiescent && scenario.is_timeless() {
        return Err(RunError::TimeStandsStill { name: info.profile.name });
    }
    let never_quiescent = info.profile.never_quiescent || scenario.detector_never_quiescent();
    let plan = Plan::new(&scenario.faults, n, scenario.seed);
    let me3 = watches_me3(scenario, &info.profile).then(|| Me3::new(n));
    let me2 = Me2::new(n, scenario.patience(never_quiescent));
    let users = MutexUsers::new(
        n,
        scenario.first_requests(),
        scenario.repeat,
        scenario.section.0,
        scenario.think.0,
    )
    .with_section_times(&scenario.section_of);
    Ok(RunSetup {
        users,
        monitors: MutexMonitors::new(me2, me3).exempting(&plan),
        plan,
        oracle: scenario.oracle(),
        clocks: scenario.local_clocks(),
        until: scenario.until(never_quiescent),
        never_quiescent,
        burst: scenario.burst(*info.cost.messages.start() / 2),
        bytes_per_process: 0,
    })
}

fn watches_me3(scenario: &Scenario, profile: &Profile) -> bool {
    scenario.watches(Property::ME3)
        || (profile.guarantees.contains(&Property::ME3) && scenario.processes <= ME3_PROCESSES_MOST)
}

/// Monitors of mutual exclusion.
#[derive(Clone, Debug)]
pub struct MutexMonitors {
    me1: Me1,
    me2: Me2,
    /// Status of ME2 at the end of the run.
    me2_status: Status,
    me3: Option<Me3>,
    fencing: Fencing,
    delays: EntryDelays,
    entries: u64,
    requests: u64,
    without_quorum: ProcessSet,
    /// Traitors. Their events are not judged.
    exempt: ProcessSet,
}

impl MutexMonitors {
    /// Creates monitors for ME1 and ME2, and for ME3 if a monitor for it is given.
    pub fn new(me2: Me2, me3: Option<Me3>) -> Self {
        Self {
            me1: Me1::default(),
            me2,
            me2_status: Status::NotChecked,
            me3,
            fencing: Fencing::default(),
            delays: EntryDelays::default(),
            entries: 0,
            requests: 0,
            without_quorum: ProcessSet::new(),
            exempt: ProcessSet::new(),
        }
    }

    fn exempting(self, plan: &Plan) -> Self {
        Self { exempt: plan.traitors(), ..self }
    }

    fn observe(&mut self, at: Moment, event: MutexEvent) {
        if self.exempt.contains(at.process) {
            return;
        }
        self.me1.observe(at, event);
        self.me2.observe(at, event);
        if let Some(me3) = &mut self.me3 {
            me3.observe(at, event);
        }
        self.delays.observe(at, event);
    }
}

impl Monitors for MutexMonitors {
    const FAMILY: Layer = Layer::Mutex;
    type Command = Command;
    type Output = Output;

    fn command_mark(&self, command: &Command) -> Option<Mark> {
        Some(match command {
            Command::Acquire => Mark::Requested,
            Command::Release => Mark::Left,
        })
    }

    fn output_mark(&self, _: Moment, output: &Output) -> Option<Mark> {
        match output {
            Output::Entered => Some(Mark::Entered),
            Output::NoQuorum | Output::Expelled => Some(Mark::Left),
            Output::Token(_) => None,
        }
    }

    fn output_text(&self, output: &Output) -> String {
        match output {
            Output::Entered => String::new(),
            Output::NoQuorum => "no quorum".to_owned(),
            Output::Expelled => "expelled".to_owned(),
            Output::Token(token) => format!("token {token}"),
        }
    }

    fn on_command(&mut self, at: Moment, command: &Command) {
        match command {
            Command::Acquire => {
                self.requests += 1;
                self.observe(at, MutexEvent::Requested);
            }
            Command::Release => self.observe(at, MutexEvent::Left),
        }
    }

    fn on_output(&mut self, at: Moment, output: &Output) {
        match output {
            Output::Entered => {
                self.entries += 1;
                self.observe(at, MutexEvent::Entered);
            }
            Output::NoQuorum => {
                self.without_quorum.insert(at.process);
                self.observe(at, MutexEvent::GaveUp);
            }
            Output::Expelled => self.observe(at, MutexEvent::Expelled),
            Output::Token(token) => {
                if !self.exempt.contains(at.process) {
                    self.fencing.enters_with(at, *token);
                }
            }
        }
    }

    fn crashed(&mut self, at: Moment) {
        self.observe(at, MutexEvent::Crashed);
    }

    fn recovered(&mut self, at: Moment, memory: Memory) {
        self.observe(at, MutexEvent::Recovered(memory));
    }

    #[inline]
    fn marks_messages(&self) -> bool {
        self.me3.is_some()
    }

    #[inline]
    fn mark(&mut self, at: Moment) -> u32 {
        self.me3.as_mut().map_or(0, |me3| me3.sent(at.process.index()))
    }

    fn arrived(&mut self, at: Moment, mark: u32) {
        if let Some(me3) = &mut self.me3 {
            me3.received(at.process.index(), mark);
        }
    }

    fn lost(&mut self, mark: u32) {
        if let Some(me3) = &mut self.me3 {
            me3.lost(mark);
        }
    }

    fn end(&mut self, end: &RunEnd<'_>) {
        self.me1.end();
        let down_since = |process| end.fault_log.down_since(process);
        self.me2_status = self.me2.end(end.now, end.ending, end.waits_for, down_since);
    }

    fn finding(&self, property: Property) -> Finding<'_> {
        match property {
            Property::ME1 => Finding::of(self.me1.violation()),
            Property::ME2 => {
                let open = self.me2_status == Status::NotChecked;
                Finding::of(self.me2.violation()).or_open(open.then_some(
                    "the run was stopped while processes were waiting; whether they would have entered is open",
                ))
            }
            Property::ME3 => {
                let open = self.me3.is_none().then(|| {
                    format!(
                        "not watched beyond {ME3_PROCESSES_MOST} processes; `--watch ME3` watches it anyway"
                    )
                });
                Finding::of(self.me3.as_ref().and_then(Me3::violation)).or_open(open)
            }
            Property::Fencing => {
                let open = self.entries > 0 && !self.fencing.has_tokens();
                Finding::of(self.fencing.violation())
                    .or_open(open.then_some("the algorithm has no tokens"))
            }
            _ => unreachable!("a property of another family"),
        }
    }

    fn report(&self, context: &ReportContext<'_>, report: &mut Report) {
        report.requests = self.requests;
        report.entries = self.entries;
        report.waiting = self.me2.waiting().map(|since| since.process.number()).collect();
        report.no_quorum = self.without_quorum.iter().map(ProcessId::number).collect();
        report.me3_merges = self.me3.as_ref().map(Me3::merges);
        // A circulating token costs messages whether or not any process wants to enter, so its cost cannot be compared.
        let comparable = context.undisturbed
            && context.counts_all
            && !context.info.profile.never_quiescent
            && report.waiting.is_empty();
        let cost = &context.info.cost;
        report.cost =
            CostReport::new(cost, "entry", report.messages.total, self.entries, comparable);
        let unit = context.scenario.delay_unit();
        let ends = |range: &std::ops::RangeInclusive<u64>| [*range.start(), *range.end()];
        report.delays = DelayReport {
            unit: unit.0,
            client: DelayStatistics::new(self.delays.client(), unit, ends(&cost.client_delay)),
            synchronisation: DelayStatistics::new(
                self.delays.synchronisation(),
                unit,
                ends(&cost.synchronisation_delay),
            ),
        };
    }
}
