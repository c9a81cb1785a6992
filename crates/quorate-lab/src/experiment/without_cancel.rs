//! The question that the monograph leaves open: what if a vote that is no longer needed were kept until the holder leaves,
//! so that there were no CANCEL? The experiment is about one algorithm, so it names it: `quorum-majority`, in which voters
//! leave a quorum as in the monograph. With settled quorums this is rare, and over the grid it does not happen at all.

use quorate_sim::scenario::Requesters;

use super::crashes::{Failures, WINDOW};
use super::findings::figure;
use super::quorum_run::{Measured, QuorumMutexConfig, statistics_over};
use super::request::SweepError;
use super::sweep::sweep;
use super::{Block, Experiment, Findings, Request, Sizes, Statistics, Table, Value, doubling};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "without-cancel",
    summary: "messages per entry of the quorum mutex with and without CANCEL, while processes crash",
    seeds: 100,
    sizes: Some(Sizes { least: 8, usual: 64, most: 512 }),
    ours: None,
    draws: false,
    run,
};

/// Quorum systems whose quorums lose live members when other processes crash.
const GENERATORS: [&str; 2] = ["grid", "vcube"];

/// Results of the same schedules with and without CANCEL.
struct Row {
    config: QuorumMutexConfig,
    with: Side,
    without: Side,
    /// Messages without CANCEL minus messages with it, schedule by schedule.
    difference: Option<Statistics>,
    cancels: Option<f64>,
    runs: usize,
}

/// Costs of one of the two variants.
struct Side {
    messages: Option<Statistics>,
    hand_over: Option<f64>,
    incomplete: usize,
}

fn run(request: &Request<'_>) -> Result<Findings, SweepError> {
    let mut fields = Vec::new();
    for generator in GENERATORS {
        for requesters in [Requesters::One, Requesters::All] {
            for failures in Failures::SOME {
                fields.extend(doubling(8, request.up_to).into_iter().map(|n| {
                    let (algorithm, no_cancel) = ("quorum-majority", false);
                    QuorumMutexConfig { algorithm, generator, requesters, failures, n, no_cancel }
                }));
            }
        }
    }
    let cells: Vec<(QuorumMutexConfig, u64)> = fields
        .iter()
        .flat_map(|&config| [config, QuorumMutexConfig { no_cancel: true, ..config }])
        .flat_map(|config| (0..request.seeds).map(move |seed| (config, seed)))
        .collect();
    let measured = sweep(request, &cells, |(config, seed)| config.measure(*seed))?;
    let seeds = request.seeds as usize;
    let pairs = fields.into_iter().zip(measured.chunks(2 * seeds));
    let rows: Vec<Row> =
        pairs.map(|(config, runs)| Row::new(config, &runs[..seeds], &runs[seeds..])).collect();
    Ok(Findings {
        table: Table::new(rows.iter().map(Row::values)),
        blocks: GENERATORS.map(|generator| block(generator, &rows)).into(),
        notes: notes(&rows, request.seeds),
        charts: Vec::new(),
    })
}

impl Row {
    fn new(config: QuorumMutexConfig, with: &[Measured], without: &[Measured]) -> Self {
        let differences = with
            .iter()
            .zip(without)
            .filter(|(with, without)| with.is_complete() && without.is_complete())
            .map(|(with, without)| without.messages - with.messages);
        Self {
            config,
            with: Side::new(with),
            without: Side::new(without),
            difference: Statistics::of(differences),
            cancels: statistics_over(with, |run| run.cancels).map(|cancels| cancels.mean),
            runs: with.len(),
        }
    }

    /// Messages saved or added without CANCEL, as a share of the messages with it.
    fn share(&self) -> Option<f64> {
        Some(self.difference?.mean / self.with.messages?.mean)
    }

    /// Effect of omitting CANCEL: fewer messages, more, or no difference that the interval can show.
    fn effect(&self) -> Option<&'static str> {
        let difference = self.difference?;
        Some(match difference.half_width()? {
            half if difference.mean + half < 0.0 => "fewer",
            half if difference.mean - half > 0.0 => "more",
            _ => "same",
        })
    }

    fn values(&self) -> Vec<(&'static str, Value)> {
        let half_width = |of: Option<Statistics>| of.and_then(|of| of.half_width());
        let mean = |of: Option<Statistics>| of.map(|of| of.mean);
        let Self { config, with, without, difference, .. } = self;
        vec![
            ("generator", config.generator.into()),
            ("requesters", config.requesters.to_string().into()),
            ("failures", config.failures.name().into()),
            ("processes", config.n.into()),
            ("runs", self.runs.into()),
            ("with_cancel", mean(with.messages).into()),
            ("with_cancel_half_width_95", half_width(with.messages).into()),
            ("without_cancel", mean(without.messages).into()),
            ("without_cancel_half_width_95", half_width(without.messages).into()),
            ("difference", mean(*difference).into()),
            ("difference_half_width_95", half_width(*difference).into()),
            ("share", self.share().into()),
            ("effect", self.effect().into()),
            ("cancels", self.cancels.into()),
            ("with_cancel_hand_over", with.hand_over.into()),
            ("without_cancel_hand_over", without.hand_over.into()),
            ("with_cancel_incomplete_runs", with.incomplete.into()),
            ("without_cancel_incomplete_runs", without.incomplete.into()),
        ]
    }
}

impl Side {
    fn new(runs: &[Measured]) -> Self {
        let waited = runs.iter().filter(|run| run.is_complete() && !run.hand_over.is_nan());
        Self {
            messages: statistics_over(runs, |run| run.messages),
            hand_over: Statistics::of(waited.map(|run| run.hand_over)).map(|delays| delays.mean),
            incomplete: runs.iter().filter(|run| !run.is_complete()).count(),
        }
    }
}

fn block(generator: &str, rows: &[Row]) -> Block {
    let line = |row: &Row| {
        let cell = |of: Option<f64>| of.map_or_else(|| "-".to_owned(), figure);
        let pair = |of: Option<Statistics>| {
            [cell(of.map(|of| of.mean)), cell(of.and_then(|of| of.half_width()))]
        };
        let config = &row.config;
        let mut line = vec![
            config.requesters.to_string(),
            config.failures.name().to_owned(),
            config.n.to_string(),
        ];
        line.extend(pair(row.with.messages));
        line.push(cell(row.cancels));
        line.extend(pair(row.without.messages));
        line.extend(pair(row.difference));
        line.push(
            row.share().map_or_else(|| "-".to_owned(), |share| format!("{:+.1}", 100.0 * share)),
        );
        line.push(row.effect().unwrap_or("-").to_owned());
        line.extend([cell(row.with.hand_over), cell(row.without.hand_over)]);
        line
    };
    Block {
        title: format!("{generator}: messages per entry with and without CANCEL"),
        head: vec![
            "asks",
            "fail",
            " n",
            " with",
            " ±",
            " CANCEL",
            " without",
            " ±",
            " difference",
            " ±",
            " %",
            "",
            " with",
            " without",
        ],
        rows: rows.iter().filter(|row| row.config.generator == generator).map(line).collect(),
    }
}

fn notes(rows: &[Row], seeds: u64) -> Vec<String> {
    vec![
        finding(rows),
        "A CANCEL that is not sent becomes a RELEASE later. The additional messages are REPLYs with votes that are \
         no longer needed; the saved ones are REQUESTs to voters that return to the quorum, and the answers to them."
            .to_owned(),
        format!(
            "{seeds} schedules for each cell, the same with and without CANCEL; the differences are taken schedule by \
             schedule, ± is half of the 95 % interval. Acknowledgements of crashes are not in the figures. \
             The last two columns are message delays from one exit to the next entry."
        ),
        "The algorithm is quorum-majority. With settled quorums (quorum) the question hardly arises: a voter leaves a quorum \
         only when the crash of another process is settled, and over the grid only when it has crashed itself."
            .to_owned(),
        WINDOW.to_owned(),
    ]
}

/// The main result in one paragraph.
fn finding(rows: &[Row]) -> String {
    let count = |effect| rows.iter().filter(|row| row.effect() == Some(effect)).count();
    let shares = |generator: &str, requesters: Requesters| {
        let of = rows.iter().filter(|row| {
            row.config.generator == generator
                && row.config.requesters == requesters
                && row.config.failures == Failures::Half
        });
        let shares: Vec<f64> = of.filter_map(|row| Some(100.0 * row.share()?)).collect();
        let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
        let most = shares.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        format!("{least:+.1} to {most:+.1} % over {generator}")
    };
    let both = |requesters| GENERATORS.map(|generator| shares(generator, requesters)).join(" and ");
    let slower = |row: &&Row| match (row.with.hand_over, row.without.hand_over) {
        (Some(with), Some(without)) => without > with,
        _ => false,
    };
    let incomplete: usize =
        rows.iter().map(|row| row.with.incomplete + row.without.incomplete).sum();
    format!(
        "Without CANCEL an entry takes fewer messages in {} of {} cells, more in {}, and in the others there is no \
         significant difference. With n/2 failures that is {} if everyone requests, and {} with one requester. \
         Passing the section on takes longer in {} of the cells in which everyone requests. {incomplete} runs were \
         incomplete.",
        count("fewer"),
        rows.len(),
        count("more"),
        both(Requesters::All),
        both(Requesters::One),
        rows.iter().filter(slower).count(),
    )
}
