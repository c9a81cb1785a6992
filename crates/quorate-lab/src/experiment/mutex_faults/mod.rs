//! Faults that each mutual exclusion algorithm survives.
//!
//! Each cell is the outcome of many runs. A run is made twice. The first run has no fault, and serves to find a
//! time at which a process really holds the role to be hit. The second run has the fault at that time. Until then
//! both runs are the same.

mod fault;
mod roles;
mod text;

use fault::Fault;
use roles::Roles;

use quorate_core::{Property, Span};
use quorate_sim::monitor::Status;
use quorate_sim::notation::SpanText;
use quorate_sim::random::{Random, Stream};
use quorate_sim::report::Report;
use quorate_sim::scenario::Requesters;
use quorate_sim::{Conditions, Delay, Outcome as RunOutcome, Scenario};
use serde::{Deserialize, Serialize};

use super::ExperimentError;
use super::replay::command;
use super::request::SweepError;
use super::series::Series;
use super::sweep::sweep;
use super::{Experiment, Findings, Request, Table, Value};
use quorate_run::run as run_once;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "mutex-faults",
    summary: "what each mutual exclusion algorithm survives: crashes, a loss, a false suspicion",
    seeds: 50,
    sizes: None,
    ours: None,
    draws: false,
    run,
};

/// Number of processes. A projective plane and a full binary tree of this size exist.
const PROCESSES: usize = 7;

/// Maximum number of events. A run with more is assumed to continue forever.
const EVENTS_MOST: u64 = 5_000_000;

/// Outcome of a run, from the best to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Outcome {
    /// All promised properties held, and every live requester entered.
    Holds,
    /// A process learnt that it has no quorum left; all others entered.
    NoQuorum,
    /// A live requester waits forever.
    Blocks,
    /// Two processes were inside, or entries violated a promised order.
    Violates,
}

impl Outcome {
    const ALL: [Self; 4] = [Self::Holds, Self::NoQuorum, Self::Blocks, Self::Violates];

    fn of(report: &Report) -> Option<Self> {
        let status = |id: Property| {
            let mut properties = report.properties.iter();
            properties.find(|property| property.id == id.id()).map(|property| property.status)
        };
        let broken = |id| status(id) == Some(Status::Violated);
        if broken(Property::ME1) || broken(Property::ME3) {
            Some(Self::Violates)
        } else if broken(Property::ME2) {
            Some(Self::Blocks)
        } else if !report.waiting.is_empty() {
            None
        } else if !report.no_quorum.is_empty() {
            Some(Self::NoQuorum)
        } else {
            Some(Self::Holds)
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::NoQuorum => "no quorum",
            Self::Blocks => "blocks",
            Self::Violates => "violates",
        }
    }
}

/// The runs of one algorithm with one fault.
struct Row {
    series: Series,
    fault: Fault,
    applies: bool,
    /// Number of runs with each outcome, in the order of [`Outcome::ALL`].
    counts: [u64; 4],
    /// Number of seeds without a time at which the role was held.
    unplaced: u64,
    /// First run with the worst outcome.
    example: Option<Scenario>,
}

fn run(request: &Request<'_>) -> Result<Findings, SweepError> {
    let all = Series::all();
    let mut cells = Vec::new();
    for series in &all {
        for fault in Fault::ALL.into_iter().filter(|fault| fault.applies(series)) {
            cells.extend((0..request.seeds).map(|seed| (series, fault, seed)));
        }
    }
    let outcomes =
        sweep(request, &cells, |(series, fault, seed)| run_with_fault(series, *fault, *seed))?;
    let mut groups = outcomes.chunks(request.seeds as usize);
    let mut rows = Vec::new();
    for series in &all {
        for fault in Fault::ALL {
            let applies = fault.applies(series);
            let runs = if applies { groups.next().unwrap_or(&[]) } else { &[] };
            rows.push(Row::new(series, fault, applies, runs));
        }
    }
    Ok(Findings {
        table: Table::new(rows.iter().map(Row::values)),
        blocks: text::blocks(&rows),
        notes: text::notes(&rows, request.seeds),
        charts: Vec::new(),
    })
}

/// Outcome of a run with the fault, and its scenario; `None` if there was no suitable time for the fault.
fn run_with_fault(
    series: &Series,
    fault: Fault,
    seed: u64,
) -> Result<Option<(Outcome, Scenario)>, ExperimentError> {
    let healthy = scenario(series, seed);
    let mut roles = Roles::new(series, &healthy);
    let before = run_once(&healthy, conditions(), Some(&mut roles))?;
    roles.add_history(&before.history);
    let mut random = Random::new(seed, Stream::Experiment);
    let Some((faulty, moment)) = fault.place(&healthy, &roles, &mut random) else {
        return Ok(None);
    };
    let after = run_once(&faulty, conditions(), None)?;
    assert!(
        marks(&before, moment) == marks(&after, moment),
        "until the fault, a run with it is the run without it"
    );
    let outcome = Outcome::of(&after.report).ok_or_else(|| ExperimentError::Unmeasurable {
        algorithm: series.label(),
        processes: PROCESSES,
        seed,
        problem: format!("the outcome is still open after {} events", after.report.events),
    })?;
    Ok(Some((outcome, faulty)))
}

fn marks(run: &RunOutcome, until: u64) -> Vec<String> {
    let marks = run.history.marks().iter().take_while(|(time, ..)| time.0 < until);
    marks.map(|mark| format!("{mark:?}")).collect()
}

fn conditions() -> Conditions {
    Conditions { events: EVENTS_MOST, ..Conditions::default() }
}

/// Every process enters a few times, sometimes together with others and sometimes alone. A stay inside is long compared
/// with a message delay, so that violations by others meanwhile are observed.
fn scenario(series: &Series, seed: u64) -> Scenario {
    let millis = |millis| SpanText(Span::from_millis(millis));
    Scenario {
        seed,
        requesters: Requesters::All,
        repeat: 3,
        spread: millis(40),
        think: millis(40),
        section: millis(5),
        delay: Delay::Uniform(Span(500_000), Span(1_500_000)),
        ..series.scenario(PROCESSES)
    }
}

impl Row {
    fn new(
        series: &Series,
        fault: Fault,
        applies: bool,
        runs: &[Option<(Outcome, Scenario)>],
    ) -> Self {
        let count =
            |outcome| runs.iter().flatten().filter(|(found, _)| *found == outcome).count() as u64;
        let worst = runs.iter().flatten().map(|(outcome, _)| *outcome).max();
        let example = runs.iter().flatten().find(|(outcome, _)| Some(*outcome) == worst);
        Self {
            series: series.clone(),
            fault,
            applies,
            counts: Outcome::ALL.map(count),
            unplaced: runs.iter().filter(|run| run.is_none()).count() as u64,
            example: example.map(|(_, scenario)| scenario.clone()),
        }
    }

    fn runs(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The worst outcome, and the number of runs with it.
    fn worst(&self) -> Option<(Outcome, u64)> {
        let mut occurred =
            Outcome::ALL.into_iter().zip(self.counts).filter(|(_, count)| *count > 0);
        occurred.next_back()
    }

    fn values(&self) -> Vec<(&'static str, Value)> {
        let [holds, no_quorum, blocks, violates] = self.counts;
        vec![
            ("algorithm", self.series.algorithm.into()),
            ("over", self.series.over.into()),
            ("processes", PROCESSES.into()),
            ("fault", self.fault.name().into()),
            ("applies", self.applies.into()),
            ("outcome", self.worst().map(|(outcome, _)| outcome.name()).into()),
            ("runs", self.runs().into()),
            ("holds", holds.into()),
            ("no_quorum", no_quorum.into()),
            ("blocks", blocks.into()),
            ("violates", violates.into()),
            ("unplaced", self.unplaced.into()),
            ("replay", self.example.as_ref().map(command).into()),
        ]
    }
}
