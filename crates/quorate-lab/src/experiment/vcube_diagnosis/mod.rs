//! Speed and cost of the VCube diagnosis: rounds until a crash is known to every process, and tests per round, beside the
//! bounds of log2 n and n log2 n. The experiment is about this one algorithm, so it names it.

mod charts;
mod text;

use quorate_algorithms::detector::VcubeDiagnosis;
use quorate_core::detector::Detector;
use quorate_core::{Belief, ProcessId, Time};
use quorate_sim::fault::ProcessAt;
use quorate_sim::notation::{ProcessSelector, When};
use quorate_sim::random::{Random, Stream};
use quorate_sim::report::{DetectionReport, Report, Verdict};
use quorate_sim::{Conditions, Scenario};
use serde::{Deserialize, Serialize};

use super::ExperimentError;
use super::request::SweepError;
use super::sweep::sweep;
use super::{Experiment, Findings, Request, Sizes, Statistics, Table, Value, exact};
use quorate_run::{promised_cost, run as run_once};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: ALGORITHM,
    summary: "rounds until crashes are known and tests a round of the VCube diagnosis, beside its bounds",
    seeds: 20,
    sizes: Some(Sizes { least: 8, usual: 256, most: 1024 }),
    ours: None,
    draws: true,
    run,
};

const ALGORITHM: &str = "vcube-diagnosis";

/// Number of processes that crash at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Crashes {
    One,
    Two,
    Half,
}

impl Crashes {
    const ALL: [Self; 3] = [Self::One, Self::Two, Self::Half];

    const fn name(self) -> &'static str {
        match self {
            Self::One => "1",
            Self::Two => "2",
            Self::Half => "n/2",
        }
    }

    const fn among(self, n: usize) -> usize {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Half => n / 2,
        }
    }
}

/// One run of the experiment.
struct Cell {
    n: usize,
    crashes: Crashes,
    seed: u64,
}

/// Result of a run.
#[derive(Serialize, Deserialize)]
struct Measured {
    /// Number of rounds from each crash until every survivor knew of it.
    latencies: Vec<u64>,
    #[serde(with = "exact::figure")]
    tests: f64,
    tests_most: u64,
    #[serde(with = "exact::figure")]
    messages: f64,
    /// Promised number of rounds, and of tests per round.
    bounds: (u64, u64),
    command: String,
}

/// Results of a number of crashes among n processes, over all seeds.
struct Row {
    n: usize,
    crashes: Crashes,
    runs: u64,
    /// Latency in rounds, over all crashes of all runs.
    latency: Statistics,
    latency_least: u64,
    latency_most: u64,
    latency_bound: u64,
    /// Number of crashes that took longer than the bound.
    late: u64,
    tests: f64,
    tests_most: u64,
    tests_bound: u64,
    messages: f64,
    /// Command that repeats the first run with the longest latency.
    replay: String,
}

fn run(request: &Request<'_>) -> Result<Findings, SweepError> {
    let mut cells = Vec::new();
    for n in sizes(request.up_to) {
        for crashes in Crashes::ALL {
            cells.extend((0..request.seeds).map(|seed| Cell { n, crashes, seed }));
        }
    }
    let measured = sweep(request, &cells, measure)?;
    let seeds = request.seeds as usize;
    let runs = cells.chunks(seeds).zip(measured.chunks(seeds));
    let rows: Vec<Row> = runs.filter_map(|(cells, runs)| Row::new(&cells[0], runs)).collect();
    Ok(Findings {
        table: Table::new(rows.iter().map(Row::values)),
        blocks: text::blocks(&rows),
        notes: text::notes(&rows),
        charts: charts::charts(&rows),
    })
}

/// Powers of two, and between them sizes that fill three quarters of the cube.
fn sizes(up_to: usize) -> impl Iterator<Item = usize> {
    let powers = std::iter::successors(Some(8), |n| Some(n * 2));
    powers.flat_map(|n| [n, n / 2 * 3]).take_while(move |n| *n <= up_to)
}

fn measure(cell: &Cell) -> Result<Measured, ExperimentError> {
    let scenario = scenario(cell)?;
    let report = run_once(&scenario, Conditions::default(), None)?.report;
    let unmeasurable = |problem: &str| ExperimentError::Unmeasurable {
        algorithm: ALGORITHM.to_owned(),
        processes: cell.n,
        seed: cell.seed,
        problem: problem.to_owned(),
    };
    let Some(found) = report.detection.as_ref() else {
        return Err(unmeasurable("it detects nothing"));
    };
    if report.verdict != Verdict::Holds {
        return Err(unmeasurable("a property or an assumption did not hold"));
    }
    let latencies = latencies(found, cell.n - cell.crashes.among(cell.n));
    Ok(Measured {
        latencies: latencies.ok_or_else(|| unmeasurable("a crash did not become known"))?,
        tests: found.per_round,
        tests_most: found.per_round_most,
        messages: messages(&report, found),
        bounds: (found.promised_rounds.unwrap_or(0), *promised_cost(&scenario)?.0.messages.end()),
        command: command(&scenario),
    })
}

/// Number of rounds for each crash until every survivor knew of it; `None` if a survivor never did.
fn latencies(found: &DetectionReport, survivors: usize) -> Option<Vec<u64>> {
    let known = |change: &quorate_sim::report::ChangeReport| {
        let everywhere = change.noticed == survivors && change.missing.is_empty();
        change.last.filter(|_| everywhere).map(|last| last.rounds)
    };
    found.changes.iter().map(known).collect()
}

/// Tests and answers per round.
fn messages(report: &Report, found: &DetectionReport) -> f64 {
    report.messages.total as f64 / found.rounds as f64
}

/// All processes crash at the same time, during the second round. The seed determines the time and the processes.
fn scenario(cell: &Cell) -> Result<Scenario, ExperimentError> {
    let mut scenario = Scenario::new(ALGORITHM, cell.n);
    scenario.seed = cell.seed;
    let delay_bounds = promised_cost(&scenario)?.1.delay_bounds;
    let round =
        VcubeDiagnosis::<Belief>::with_delay_bounds(cell.n, ProcessId::new(0), delay_bounds)
            .round();
    let mut random = Random::new(cell.seed, Stream::Experiment);
    let moment = Time(round.0 + random.below(round.0));
    let mut left: Vec<ProcessId> = ProcessId::all(cell.n).collect();
    for _ in 0..cell.crashes.among(cell.n) {
        let victim = left.swap_remove(random.below(left.len() as u64) as usize);
        let crash = ProcessAt { process: ProcessSelector::Process(victim), at: When::At(moment) };
        scenario.faults.crash.push(crash);
    }
    Ok(scenario)
}

/// Command that repeats this run alone.
fn command(scenario: &Scenario) -> String {
    let crashes = scenario.faults.crash.iter().map(|crash| format!(" --crash {crash}"));
    format!(
        "quorate sim {ALGORITHM} -n {}{} --seed {}",
        scenario.processes,
        crashes.collect::<String>(),
        scenario.seed
    )
}

impl Row {
    fn new(cell: &Cell, runs: &[Measured]) -> Option<Self> {
        let all = || runs.iter().flat_map(|run| run.latencies.iter().copied());
        let mean = |figure: fn(&Measured) -> f64| Statistics::of(runs.iter().map(figure));
        let (latency_bound, tests_bound) = runs.first()?.bounds;
        let latency_most = all().max()?;
        let worst = runs.iter().find(|run| run.latencies.contains(&latency_most))?;
        Some(Self {
            n: cell.n,
            crashes: cell.crashes,
            runs: runs.len() as u64,
            latency: Statistics::of(all().map(|rounds| rounds as f64))?,
            latency_least: all().min()?,
            latency_most,
            latency_bound,
            late: all().filter(|rounds| *rounds > latency_bound).count() as u64,
            tests: mean(|run| run.tests)?.mean,
            tests_most: runs.iter().map(|run| run.tests_most).max()?,
            tests_bound,
            messages: mean(|run| run.messages)?.mean,
            replay: worst.command.clone(),
        })
    }

    const fn latency_kept(&self) -> bool {
        self.late == 0
    }

    const fn tests_kept(&self) -> bool {
        self.tests_most <= self.tests_bound
    }

    fn values(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("processes", self.n.into()),
            ("crashes", self.crashes.name().into()),
            ("crashed", self.crashes.among(self.n).into()),
            ("runs", self.runs.into()),
            ("latency_rounds_min", self.latency_least.into()),
            ("latency_rounds_mean", self.latency.mean.into()),
            ("latency_rounds_sigma", self.latency.deviation.into()),
            ("latency_rounds_max", self.latency_most.into()),
            ("latency_bound", self.latency_bound.into()),
            ("latency_kept", self.latency_kept().into()),
            ("crashes_seen", self.latency.count.into()),
            ("crashes_late", self.late.into()),
            ("tests_per_round_mean", self.tests.into()),
            ("tests_per_round_max", self.tests_most.into()),
            ("tests_bound", self.tests_bound.into()),
            ("tests_kept", self.tests_kept().into()),
            ("messages_per_round_mean", self.messages.into()),
            ("replay", self.replay.as_str().into()),
        ]
    }
}
