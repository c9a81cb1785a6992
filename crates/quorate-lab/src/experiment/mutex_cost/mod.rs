//! Cost of an entry: messages and delays of every mutual exclusion algorithm, beside the formulas.

mod charts;
mod load;
mod text;

use quorate_algorithms::literature::{MutexFigure, Prediction};
use quorate_core::ProcessId;

use load::{Load, Measured, measure};

use super::ExperimentError;
use super::comparison::{Comparison, matches_drawn_requests};
use super::request::SweepError;
use super::series::Series;
use super::sweep::sweep;
use super::{Experiment, Findings, Request, Sizes, Statistics, Table, Value, doubling};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "mutex-cost",
    summary: "messages and delays of every mutual exclusion algorithm, beside the formulas",
    seeds: 10,
    sizes: Some(Sizes { least: 4, usual: 256, most: 1024 }),
    ours: None,
    draws: true,
    run,
};

/// One run of the experiment.
struct Cell<'s> {
    series: &'s Series,
    n: usize,
    load: Load,
    seed: u64,
}

/// Cost of an algorithm in one variant with n processes.
struct Row {
    series: Series,
    n: usize,
    light: Costs,
    saturated: Costs,
    compared: Vec<Compared>,
}

/// Combined cost of the runs under one load.
struct Costs {
    entries: u64,
    /// Messages to others, per entry.
    links: f64,
    /// Messages to oneself, per entry.
    own: f64,
    /// Half the width of the 95 % interval of messages per entry over the seeds.
    half_width: Option<f64>,
    /// Requesters of each run, in order.
    request_order: Vec<Vec<ProcessId>>,
    client: f64,
    client_half_width: Option<f64>,
    synchronisation: f64,
    busiest: f64,
}

/// A figure beside its formula.
struct Compared {
    figure: MutexFigure,
    measured: f64,
    prediction: Prediction,
    comparison: Comparison,
    reason: Option<&'static str>,
}

fn run(request: &Request<'_>) -> Result<Findings, SweepError> {
    let all = Series::all();
    let sizes = doubling(4, request.up_to);
    let mut cells = Vec::new();
    for series in &all {
        for &n in &sizes {
            for load in [Load::Light, Load::Saturated] {
                cells.extend((0..request.seeds).map(|seed| Cell { series, n, load, seed }));
            }
        }
    }
    let measured =
        sweep(request, &cells, |cell| measure(cell.series, cell.n, cell.load, cell.seed))?;
    let seeds = request.seeds as usize;
    let rows: Result<Vec<Row>, ExperimentError> = cells
        .chunks(2 * seeds)
        .zip(measured.chunks(2 * seeds))
        .map(|(cells, measured)| Row::new(&cells[0], &measured[..seeds], &measured[seeds..]))
        .collect();
    let rows = rows?;
    Ok(Findings {
        table: Table::new(rows.iter().map(|row| row.values(request.seeds))),
        blocks: text::blocks(&rows),
        notes: text::notes(&rows),
        charts: charts::charts(&rows),
    })
}

impl Row {
    fn new(
        cell: &Cell<'_>,
        light: &[Measured],
        saturated: &[Measured],
    ) -> Result<Self, ExperimentError> {
        let (_, setup) = quorate_run::promised_cost(&cell.series.scenario(cell.n))?;
        let (light, saturated) = (Costs::new(light), Costs::new(saturated));
        let compare = |figure| {
            let (measured, half_width, request_order) = match figure {
                MutexFigure::Light => (light.messages(), light.half_width, &light.request_order),
                MutexFigure::Saturated => {
                    (saturated.messages(), saturated.half_width, &saturated.request_order)
                }
                MutexFigure::Client => {
                    (light.client, light.client_half_width, &light.request_order)
                }
                MutexFigure::Synchronisation => {
                    (saturated.synchronisation, None, &saturated.request_order)
                }
            };
            let prediction = (cell.series.predict)(figure, &setup, request_order);
            let comparison = Comparison::of(&prediction, measured, half_width);
            let reason = reason(&prediction, measured, comparison);
            Compared { figure, measured, prediction, comparison, reason }
        };
        let compared = MutexFigure::ALL.into_iter().map(compare).collect();
        Ok(Self { series: cell.series.clone(), n: cell.n, light, saturated, compared })
    }

    fn of(&self, figure: MutexFigure) -> &Compared {
        let found = self.compared.iter().find(|compared| compared.figure == figure);
        found.expect("every figure is compared")
    }

    fn values(&self, seeds: u64) -> Vec<(&'static str, Value)> {
        let (light, saturated) = (&self.light, &self.saturated);
        let mut values: Vec<(&'static str, Value)> = vec![
            ("algorithm", self.series.algorithm.into()),
            ("over", self.series.over.into()),
            ("processes", self.n.into()),
            ("seeds", seeds.into()),
            ("light_entries", light.entries.into()),
            ("light_messages", light.messages().into()),
            ("light_links", light.links.into()),
            ("light_self", light.own.into()),
            ("light_half_width_95", light.half_width.into()),
            ("saturated_entries", saturated.entries.into()),
            ("saturated_messages", saturated.messages().into()),
            ("saturated_links", saturated.links.into()),
            ("saturated_self", saturated.own.into()),
            ("saturated_half_width_95", saturated.half_width.into()),
            ("client_delay", light.client.into()),
            ("client_delay_half_width_95", light.client_half_width.into()),
            ("synchronisation_delay", saturated.synchronisation.into()),
            ("busiest", saturated.busiest.into()),
        ];
        for compared in &self.compared {
            let [formula, least, most, comparison, reason] = names(compared.figure);
            let ends = compared.prediction.value.ends();
            values.extend([
                (formula, (&*compared.prediction.formula).into()),
                (least, ends.0.into()),
                (most, ends.1.into()),
                (comparison, compared.comparison.name().into()),
                (reason, compared.reason.into()),
            ]);
        }
        values
    }
}

/// Columns that compare a figure with its formula.
fn names(figure: MutexFigure) -> [&'static str; 5] {
    macro_rules! names {
        ($prefix:literal) => {
            [
                concat!($prefix, "_formula"),
                concat!($prefix, "_least"),
                concat!($prefix, "_most"),
                concat!($prefix, "_comparison"),
                concat!($prefix, "_reason"),
            ]
        };
    }
    match figure {
        MutexFigure::Light => names!("light"),
        MutexFigure::Saturated => names!("saturated"),
        MutexFigure::Client => names!("client_delay"),
        MutexFigure::Synchronisation => names!("synchronisation_delay"),
    }
}

/// Reason why a figure differs from its formula, or an explanation of a figure within a range.
fn reason(prediction: &Prediction, measured: f64, comparison: Comparison) -> Option<&'static str> {
    if prediction.remark.is_some() {
        prediction.remark
    } else if comparison != Comparison::Differs {
        None
    } else if matches_drawn_requests(prediction, measured) {
        Some(
            "by chance: the formula is a mean, and its rule gives this for the requests that were drawn",
        )
    } else {
        prediction.difference
    }
}

impl Costs {
    fn new(runs: &[Measured]) -> Self {
        let entries: u64 = runs.iter().map(|run| run.entries).sum();
        let sum = |count: fn(&Measured) -> u64| runs.iter().map(count).sum::<u64>() as f64;
        let mean = |delay: fn(&Measured) -> (u64, f64)| {
            let count: u64 = runs.iter().map(|run| delay(run).0).sum();
            let total: f64 = runs.iter().map(|run| delay(run).0 as f64 * delay(run).1).sum();
            total / count as f64
        };
        let half_width = |figure: fn(&Measured) -> f64| {
            Statistics::of(runs.iter().map(figure)).and_then(|figures| figures.half_width())
        };
        Self {
            entries,
            links: sum(|run| run.links) / entries as f64,
            own: sum(|run| run.own) / entries as f64,
            half_width: half_width(|run| (run.links + run.own) as f64 / run.entries as f64),
            request_order: runs.iter().map(|run| run.request_order.clone()).collect(),
            client_half_width: half_width(|run| run.client.1),
            client: mean(|run| run.client),
            synchronisation: mean(|run| run.synchronisation),
            busiest: runs.iter().map(|run| run.busiest).sum::<f64>() / runs.len() as f64,
        }
    }

    /// All messages per entry, including those to oneself.
    fn messages(&self) -> f64 {
        self.links + self.own
    }
}
