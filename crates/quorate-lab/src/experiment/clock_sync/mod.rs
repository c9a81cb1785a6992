//! Accuracy of clock synchronization: the error against the asymmetry of the round trip and
//! against drift, beside the bound.
//!
//! The experiment is about the algorithms of two papers, Cristian's and that of Berkeley, so it names them.

mod charts;
mod text;

use quorate_core::{Drift, ProcessId, Span};
use quorate_sim::notation::{DriftText, Link, ProcessSelector, SpanText};
use quorate_sim::report::{AdjustedClock, ClockReport, Verdict};
use quorate_sim::{Conditions, Delay, LinkDelay, Scenario};
use serde::{Deserialize, Serialize};

use super::ExperimentError;
use super::request::SweepError;
use super::sweep::sweep;
use super::{Experiment, Findings, Request, Statistics, Table, Value, exact};
use quorate_run::run as run_once;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "clock-sync",
    summary: "errors of Cristian's and Berkeley's clocks against asymmetry and drift, beside the bounds",
    seeds: 50,
    sizes: None,
    ours: None,
    draws: true,
    run,
};

/// Algorithm to compare, with its number of processes and of probes.
struct Series {
    name: &'static str,
    algorithm: &'static str,
    processes: usize,
    probes: u32,
}

const SERIES: [Series; 3] = [
    Series { name: "Cristian, 1 probe", algorithm: "cristian", processes: 2, probes: 1 },
    Series { name: "Cristian, 8 probes", algorithm: "cristian", processes: 2, probes: 8 },
    Series { name: "Berkeley, 5 clocks", algorithm: "berkeley", processes: 5, probes: 1 },
];

/// Source of the error of clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ErrorSource {
    /// In hundredths: of a round trip of 2 ms the request takes (1 + a) ms, the reply (1 - a) ms.
    Asymmetry(u64),
    /// In parts per million, ten seconds after the clock was set.
    Drift(u64),
}

impl ErrorSource {
    const ALL: [Self; 12] = [
        Self::Asymmetry(0),
        Self::Asymmetry(20),
        Self::Asymmetry(40),
        Self::Asymmetry(60),
        Self::Asymmetry(80),
        Self::Asymmetry(100),
        Self::Drift(0),
        Self::Drift(10),
        Self::Drift(20),
        Self::Drift(50),
        Self::Drift(100),
        Self::Drift(200),
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Asymmetry(_) => "asymmetry",
            Self::Drift(_) => "drift",
        }
    }

    const fn value(self) -> u64 {
        match self {
            Self::Asymmetry(value) | Self::Drift(value) => value,
        }
    }
}

/// Time that clocks run before they are measured again.
const DRIFT_TIME: Span = Span::from_millis(10_000);

/// Maximum additional delay of a message in nanoseconds.
const JITTER: u64 = 200_000;

/// One run of the experiment.
struct Cell {
    source: ErrorSource,
    series: usize,
    seed: u64,
}

/// Result of a run, in microseconds.
#[derive(Serialize, Deserialize)]
struct Measured {
    #[serde(with = "exact::figure")]
    error: f64,
    #[serde(with = "exact::figure")]
    bound: f64,
    command: String,
}

/// Results of a series for one source of error, over all seeds.
struct Row {
    source: ErrorSource,
    series: usize,
    runs: u64,
    error: Statistics,
    error_most: f64,
    bound: Statistics,
    /// Number of runs in which the error exceeded the bound.
    exceeded: u64,
    /// Command that repeats the run with the greatest error.
    replay: String,
}

fn run(request: &Request<'_>) -> Result<Findings, SweepError> {
    let mut cells = Vec::new();
    for source in ErrorSource::ALL {
        for series in 0..SERIES.len() {
            cells.extend((0..request.seeds).map(|seed| Cell { source, series, seed }));
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

fn measure(cell: &Cell) -> Result<Measured, ExperimentError> {
    let scenario = scenario(cell);
    let report = run_once(&scenario, Conditions::default(), None)?.report;
    let unmeasurable = |problem: &str| ExperimentError::Unmeasurable {
        algorithm: scenario.algorithm.clone(),
        processes: scenario.processes,
        seed: cell.seed,
        problem: problem.to_owned(),
    };
    if report.verdict != Verdict::Holds {
        return Err(unmeasurable("a property or an assumption did not hold"));
    }
    let clock = report.clock.as_ref().ok_or_else(|| unmeasurable("it sets no clocks"))?;
    let found = match cell.source {
        ErrorSource::Asymmetry(_) => when_set(clock),
        ErrorSource::Drift(_) => just_before(clock),
    };
    let (error, bound) = found.ok_or_else(|| unmeasurable("no clock was set"))?;
    let micro = |nanos: u64| nanos as f64 / 1e3;
    Ok(Measured { error: micro(error), bound: micro(bound), command: command(&scenario) })
}

/// Error of a client against the true time when it was set, or difference between two clocks of a
/// round; and its upper bound.
fn when_set(clock: &ClockReport) -> Option<(u64, u64)> {
    match &clock.precision {
        Some(together) => Some((together.worst, together.worst_most)),
        None => {
            let client = clock.clocks.first()?;
            Some((client.after?.unsigned_abs(), client.error?))
        }
    }
}

/// The same just before clocks were set again.
fn just_before(clock: &ClockReport) -> Option<(u64, u64)> {
    let drifted = |clock: &AdjustedClock| Some((clock.drifted?, clock.drifted_most?));
    let clocks = clock.clocks.iter().map(drifted).collect::<Option<Vec<_>>>()?;
    if clock.precision.is_none() {
        return clocks.first().map(|(off, most)| (off.unsigned_abs(), *most));
    }
    let (last, first) = (clocks.iter().max()?, clocks.iter().min()?);
    Some((last.0.abs_diff(first.0), last.1 + first.1))
}

fn scenario(cell: &Cell) -> Scenario {
    let series = &SERIES[cell.series];
    let mut scenario = Scenario::new(series.algorithm, series.processes);
    scenario.seed = cell.seed;
    scenario.probes = series.probes;
    scenario.clock_offset = SpanText(Span::from_millis(100));
    let (mut there, mut back) = (1_000_000, 1_000_000);
    match cell.source {
        ErrorSource::Asymmetry(hundredths) => {
            there += 10_000 * hundredths;
            back -= 10_000 * hundredths;
        }
        ErrorSource::Drift(ppm) => {
            scenario.clock_drift = DriftText(Drift(1_000 * ppm as i64));
            scenario.repeat = 2;
            scenario.think = SpanText(DRIFT_TIME);
        }
    }
    let law = |least| Delay::Uniform(Span(least), Span(least + JITTER));
    scenario.delay = law(back);
    let process = |process| ProcessSelector::Process(ProcessId::from_index(process));
    // A client queries the server; the master queries every other process.
    let questions: Vec<(usize, usize)> = match series.algorithm {
        "cristian" => vec![(1, 0)],
        _ => (1..series.processes).map(|other| (0, other)).collect(),
    };
    if there != back {
        let slow = |(from, to)| {
            let link = Link { from: process(from), to: process(to) };
            LinkDelay { link, delay: law(there) }
        };
        scenario.link_delay = questions.into_iter().map(slow).collect();
    }
    scenario
}

/// Command that repeats this run alone.
fn command(scenario: &Scenario) -> String {
    let links = scenario.link_delay.iter().map(|own| format!(" --link-delay {own}"));
    let mut command = format!(
        "quorate sim {} -n {} --seed {} --clock-offset {} --delay {}{}",
        scenario.algorithm,
        scenario.processes,
        scenario.seed,
        scenario.clock_offset,
        scenario.delay,
        links.collect::<String>()
    );
    if scenario.probes != 1 {
        command += &format!(" --probes {}", scenario.probes);
    }
    if scenario.repeat != 1 {
        command += &format!(
            " --clock-drift {} --repeat {} --think {}",
            scenario.clock_drift, scenario.repeat, scenario.think
        );
    }
    command
}

impl Row {
    fn new(cell: &Cell, runs: &[Measured]) -> Option<Self> {
        let worst = runs.iter().max_by(|a, b| a.error.total_cmp(&b.error))?;
        Some(Self {
            source: cell.source,
            series: cell.series,
            runs: runs.len() as u64,
            error: Statistics::of(runs.iter().map(|run| run.error))?,
            error_most: worst.error,
            bound: Statistics::of(runs.iter().map(|run| run.bound))?,
            exceeded: runs.iter().filter(|run| run.error > run.bound).count() as u64,
            replay: worst.command.clone(),
        })
    }

    fn values(&self) -> Vec<(&'static str, Value)> {
        let series = &SERIES[self.series];
        vec![
            ("cause", self.source.name().into()),
            ("value", self.source.value().into()),
            ("algorithm", series.algorithm.into()),
            ("processes", series.processes.into()),
            ("probes", u64::from(series.probes).into()),
            ("runs", self.runs.into()),
            ("error_us_mean", self.error.mean.into()),
            ("error_us_sigma", self.error.deviation.into()),
            ("error_us_max", self.error_most.into()),
            ("bound_us_mean", self.bound.mean.into()),
            ("bound_exceeded", self.exceeded.into()),
            ("replay", self.replay.as_str().into()),
        ]
    }
}
