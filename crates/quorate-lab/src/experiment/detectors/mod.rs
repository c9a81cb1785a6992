//! Comparison of failure detectors: how soon a crash is known to every process, how often processes err if delays have
//! no bound, and the cost.
//!
//! All detectors are compared. The experiment names them to give them short labels and an order.

mod charts;
mod text;

use quorate_core::{ProcessId, Span, Time};

use quorate_sim::fault::ProcessAt;
use quorate_sim::notation::{ProcessSelector, SpanText, When};
use quorate_sim::random::{Random, Stream};
use quorate_sim::report::{Report, Verdict};
use quorate_sim::{Conditions, Delay, Scenario};
use serde::{Deserialize, Serialize};

use super::ExperimentError;
use super::request::SweepError;
use super::sweep::sweep;
use super::{Experiment, Findings, Request, Sizes, Statistics, Table, Value, doubling, exact};
use crate::CannotRun;
use quorate_run::{detector_round, run as run_once};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "detectors",
    summary: "detection time, mistakes and messages of heartbeats, the ring, adaptive timeouts, the VCube and SWIM",
    seeds: 10,
    sizes: Some(Sizes { least: 4, usual: 64, most: 256 }),
    ours: None,
    draws: true,
    run,
};

/// Detectors, and their labels.
const SERIES: [(&str, &str); 5] = [
    ("heartbeat", "all to all"),
    ("adaptive-heartbeat", "adaptive"),
    ("vcube-diagnosis", "VCube"),
    ("heartbeat-ring", "ring"),
    ("swim", "SWIM"),
];

/// Virtual time during which mistakes are counted.
const WATCHED: Span = Span::from_millis(5_000);

/// Number of rounds during which messages are counted.
const ROUNDS: u64 = 50;

/// One cell of the experiment, which takes three runs.
struct Cell {
    series: usize,
    n: usize,
    seed: u64,
}

/// Results of the three runs of a cell.
#[derive(Serialize, Deserialize)]
struct Measured {
    /// Time from the crash until every survivor knew of it, in nanoseconds and in rounds.
    detection: (u64, u64),
    mistakes: u64,
    /// Virtual time during which mistakes were counted, in hours.
    #[serde(with = "exact::figure")]
    hours: f64,
    #[serde(with = "exact::figure")]
    messages_round: f64,
    #[serde(with = "exact::figure")]
    messages_second: f64,
    #[serde(with = "exact::span")]
    round: Span,
    command: String,
}

/// Results of a detector among n processes, over all seeds.
struct Row {
    series: usize,
    n: usize,
    runs: u64,
    round: Span,
    /// Detection time in milliseconds.
    detection: Statistics,
    detection_most: f64,
    rounds_most: u64,
    mistakes: Statistics,
    messages_round: f64,
    messages_second: f64,
    /// Command that repeats the run with the longest detection.
    replay: String,
}

fn run(request: &Request<'_>) -> Result<Findings, SweepError> {
    let mut cells = Vec::new();
    for n in doubling(4, request.up_to) {
        for series in 0..SERIES.len() {
            cells.extend((0..request.seeds).map(|seed| Cell { series, n, seed }));
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
    let round = round(&scenario(cell))?;
    let crash = crash(cell, round);
    let noticed = report(cell, &crash)?;
    let calm = report(cell, &calm(cell, round))?;
    for report in [&noticed, &calm] {
        if report.verdict != Verdict::Holds {
            return Err(unmeasurable(cell, "a property or an assumption did not hold"));
        }
    }
    let found = noticed.detection.as_ref().and_then(|found| found.changes.first());
    let everywhere =
        found.filter(|change| change.noticed == cell.n - 1 && change.missing.is_empty());
    let last = everywhere.and_then(|change| change.last);
    let last = last.ok_or_else(|| unmeasurable(cell, "the crash did not become known"))?;
    let with_unbounded_delays = report(cell, &with_unbounded_delays(cell))?;
    let mistakes = with_unbounded_delays.detection.as_ref().map(|found| found.false_suspicions);
    Ok(Measured {
        detection: (last.after, last.rounds),
        mistakes: mistakes.ok_or_else(|| unmeasurable(cell, "it detects nothing"))?,
        hours: with_unbounded_delays.virtual_time as f64 / 3_600e9,
        messages_round: calm.messages.total as f64 / ROUNDS as f64,
        messages_second: calm.messages.total as f64 / (ROUNDS * round.0) as f64 * 1e9,
        round,
        command: format!(
            "quorate sim {} -n {} --delay {} --crash {} --seed {}",
            crash.algorithm, cell.n, crash.delay, crash.faults.crash[0], cell.seed
        ),
    })
}

fn report(cell: &Cell, scenario: &Scenario) -> Result<Report, ExperimentError> {
    let report = run_once(scenario, Conditions::default(), None)?.report;
    match report.detection {
        Some(_) => Ok(report),
        None => Err(unmeasurable(cell, "it detects nothing")),
    }
}

fn unmeasurable(cell: &Cell, problem: &str) -> ExperimentError {
    ExperimentError::Unmeasurable {
        algorithm: SERIES[cell.series].0.to_owned(),
        processes: cell.n,
        seed: cell.seed,
        problem: problem.to_owned(),
    }
}

/// Scenario with bounded delays: 0.5 to 1.5 ms.
fn scenario(cell: &Cell) -> Scenario {
    let mut scenario = Scenario::new(SERIES[cell.series].0, cell.n);
    scenario.seed = cell.seed;
    scenario.delay = Delay::Uniform(Span(500_000), Span(1_500_000));
    scenario
}

/// Scenario without faults over [`ROUNDS`] rounds, which ends just before the next round would start.
fn calm(cell: &Cell, round: Span) -> Scenario {
    Scenario { until: Some(SpanText(Span(ROUNDS * round.0 - 1))), ..scenario(cell) }
}

/// Scenario in which one process crashes during the second round. The seed determines the process and the time.
fn crash(cell: &Cell, round: Span) -> Scenario {
    let mut random = Random::new(cell.seed, Stream::Experiment);
    let at = When::At(Time(round.0 + random.below(round.0)));
    let victim = ProcessId::from_index(random.below(cell.n as u64) as usize);
    let mut scenario = scenario(cell);
    scenario.faults.crash.push(ProcessAt { process: ProcessSelector::Process(victim), at });
    scenario
}

/// Scenario with unbounded delays: any silence may be a slow message, and sooner or later one is.
fn with_unbounded_delays(cell: &Cell) -> Scenario {
    let delay = Delay::Exponential(Span::from_millis(1));
    Scenario { delay, until: Some(SpanText(WATCHED)), ..scenario(cell) }
}

/// Duration of a round of the scenario's detector.
fn round(scenario: &Scenario) -> Result<Span, ExperimentError> {
    let unknown = || CannotRun::UnknownAlgorithm { name: scenario.algorithm.clone() };
    Ok(detector_round(scenario)?.ok_or_else(unknown)?)
}

impl Row {
    fn new(cell: &Cell, runs: &[Measured]) -> Option<Self> {
        let mean = |figure: fn(&Measured) -> f64| Statistics::of(runs.iter().map(figure));
        let worst = runs.iter().max_by_key(|run| run.detection.0)?;
        Some(Self {
            series: cell.series,
            n: cell.n,
            runs: runs.len() as u64,
            round: worst.round,
            detection: mean(|run| run.detection.0 as f64 / 1e6)?,
            detection_most: worst.detection.0 as f64 / 1e6,
            rounds_most: runs.iter().map(|run| run.detection.1).max()?,
            mistakes: mean(|run| run.mistakes as f64 / run.hours)?,
            messages_round: mean(|run| run.messages_round)?.mean,
            messages_second: mean(|run| run.messages_second)?.mean,
            replay: worst.command.clone(),
        })
    }

    fn values(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("detector", SERIES[self.series].0.into()),
            ("processes", self.n.into()),
            ("runs", self.runs.into()),
            ("round_ns", self.round.0.into()),
            ("detection_ms_mean", self.detection.mean.into()),
            ("detection_ms_sigma", self.detection.deviation.into()),
            ("detection_ms_max", self.detection_most.into()),
            ("detection_rounds_max", self.rounds_most.into()),
            ("mistakes_per_hour_mean", self.mistakes.mean.into()),
            ("mistakes_per_hour_sigma", self.mistakes.deviation.into()),
            ("messages_per_round", self.messages_round.into()),
            ("messages_per_second", self.messages_second.into()),
            ("replay", self.replay.as_str().into()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use quorate_algorithms::catalogue::PROFILES;
    use quorate_core::Layer;

    use super::*;

    #[test]
    fn every_detector_is_compared() {
        let detectors = PROFILES.iter().filter(|profile| profile.layer == Layer::Detector);
        for profile in detectors {
            assert!(SERIES.iter().any(|(name, _)| *name == profile.name), "{}", profile.name);
        }
    }
}
