//! Cost of an election: messages, bytes and time against the number of processes, beside the formulas. Also the cost of a
//! leader's crash, for the bully algorithm and for a leader chosen by the failure detector.

mod charts;
mod crash;
mod formulas;
mod text;
mod world;

use quorate_algorithms::literature::{Order, Prediction, Starters};
use quorate_sim::Conditions;
use quorate_sim::report::Verdict;
use serde::{Deserialize, Serialize};

use crash::CrashRow;
use world::Contender;

use super::ExperimentError;
use super::comparison::Comparison;
use super::request::SweepError;
use super::sweep::{both, sweep};
use super::{Experiment, Findings, Request, Sizes, Statistics, Table, Value, doubling, exact};
use quorate_run::run as run_once;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "election-cost",
    summary: "messages, bytes and time of every election beside the formulas, and a leader's crash",
    seeds: 10,
    sizes: Some(Sizes { least: 8, usual: 16_384, most: 16_384 }),
    ours: None,
    draws: true,
    run,
};

/// One run of the experiment.
struct Cell {
    contender: &'static Contender,
    starters: Starters,
    order: Order,
    n: usize,
    seed: u64,
}

/// Result of a run.
#[derive(Serialize, Deserialize)]
struct Measured {
    #[serde(with = "exact::figure")]
    messages: f64,
    #[serde(with = "exact::figure")]
    bytes: f64,
    /// Time from the start to the last decision, in message delays.
    #[serde(with = "exact::figure")]
    time: f64,
    /// Value of the algorithm's rule for the starter that the seed has drawn.
    #[serde(with = "exact::optional_figure")]
    by_rule: Option<f64>,
}

/// Cost of an election with n processes, over all seeds.
struct Row {
    contender: &'static Contender,
    starters: Starters,
    order: Order,
    n: usize,
    runs: u64,
    messages: f64,
    half_width: Option<f64>,
    bytes: f64,
    time: f64,
    prediction: Prediction,
    comparison: Comparison,
}

fn run(request: &Request<'_>) -> Result<Findings, SweepError> {
    let mut groups = Vec::new();
    for contender in world::contenders() {
        for &(starters, order) in contender.costs.cases {
            for n in doubling(8, request.up_to.min(contender.reaches(starters))) {
                groups.push((contender, starters, order, n));
            }
        }
    }
    let seeds = |order: Order| if order == Order::Random { request.seeds } else { 1 };
    let mut cells = Vec::new();
    for &(contender, starters, order, n) in &groups {
        cells.extend((0..seeds(order)).map(|seed| Cell { contender, starters, order, n, seed }));
    }
    // The longest runs first, so that no thread is left with one at the end.
    let mut longest_first: Vec<usize> = (0..cells.len()).collect();
    longest_first.sort_by_key(|place| std::cmp::Reverse(formulas::most(&cells[*place])));
    let answers = sweep(request, &longest_first, |place| measure(&cells[*place]));
    let (answers, crashes) = both(answers, crash::rows(request))?;
    let mut measured: Vec<(usize, Measured)> = longest_first.into_iter().zip(answers).collect();
    measured.sort_by_key(|(place, _)| *place);
    let mut rows = Vec::new();
    let mut rest = measured.as_slice();
    for (contender, starters, order, n) in groups {
        let (runs, later) = rest.split_at(seeds(order) as usize);
        rest = later;
        rows.extend(Row::new(contender, starters, order, n, runs));
    }
    let table = rows.iter().map(Row::values).chain(crashes.iter().map(CrashRow::values));
    Ok(Findings {
        table: Table::new(table),
        blocks: text::blocks(&rows, &crashes),
        notes: text::notes(request.up_to),
        charts: charts::charts(&rows),
    })
}

fn measure(cell: &Cell) -> Result<Measured, ExperimentError> {
    let scenario = world::scenario(cell);
    let report = run_once(&scenario, Conditions::default(), None)?.report;
    let unmeasurable = |problem: &str| ExperimentError::Unmeasurable {
        algorithm: cell.contender.algorithm.to_owned(),
        processes: cell.n,
        seed: cell.seed,
        problem: problem.to_owned(),
    };
    if report.verdict != Verdict::Holds {
        return Err(unmeasurable("a property or an assumption did not hold"));
    }
    let election = report.election.as_ref().and_then(|election| election.duration);
    let Some(duration) = election else { return Err(unmeasurable("no process was elected")) };
    Ok(Measured {
        messages: report.messages.total as f64,
        bytes: report.messages.bytes.unwrap_or(0) as f64,
        time: duration as f64 / scenario.delay_unit().0 as f64,
        by_rule: formulas::by_rule(cell, &scenario),
    })
}

impl Row {
    fn new(
        contender: &'static Contender,
        starters: Starters,
        order: Order,
        n: usize,
        runs: &[(usize, Measured)],
    ) -> Option<Self> {
        let of =
            |figure: fn(&Measured) -> f64| Statistics::of(runs.iter().map(|(_, run)| figure(run)));
        let messages = of(|run| run.messages)?;
        let drawn: Option<Vec<f64>> = runs.iter().map(|(_, run)| run.by_rule).collect();
        let drawn = drawn.and_then(Statistics::of).map(|drawn| drawn.mean);
        let prediction = formulas::messages(contender, starters, order, n, drawn);
        let comparison = Comparison::of(&prediction, messages.mean, messages.half_width());
        Some(Self {
            contender,
            starters,
            order,
            n,
            runs: messages.count,
            messages: messages.mean,
            half_width: messages.half_width(),
            bytes: of(|run| run.bytes)?.mean,
            time: of(|run| run.time)?.mean,
            prediction,
            comparison,
        })
    }

    fn values(&self) -> Vec<(&'static str, Value)> {
        let (least, most) = self.prediction.value.ends();
        vec![
            ("part", "cost".into()),
            ("algorithm", self.contender.algorithm.into()),
            ("rank_delay", self.contender.costs.rank_delay.into()),
            ("starters", self.starters.name().into()),
            ("order", self.order.name().into()),
            ("detector", Value::Missing),
            ("processes", self.n.into()),
            ("runs", self.runs.into()),
            ("messages", self.messages.into()),
            ("messages_half_width_95", self.half_width.into()),
            ("formula", (&*self.prediction.formula).into()),
            ("formula_least", least.into()),
            ("formula_most", most.into()),
            ("comparison", self.comparison.name().into()),
            ("bytes", self.bytes.into()),
            ("time_delays", self.time.into()),
            ("detector_messages_per_delay", Value::Missing),
            ("pairs_to_watch", Value::Missing),
        ]
    }
}
