//! The price of waiting for settled crashes: the quorum mutex with settled quorums, and with majorities of the processes
//! outside the settled crashes. The experiment compares these two algorithms, so it names them.

use quorate_core::ProcessSet;
use quorate_core::quorum::{AnySystem, QuorumSystem};
use quorate_draw::chart::{Axis, Chart, Line};
use quorate_sim::notation::ProcessSelector;
use quorate_sim::scenario::Requesters;

use super::crashes::{Failures, WINDOW};
use super::findings::figure;
use super::quorum_run::{Measured, QuorumMutexConfig, statistics_over};
use super::request::SweepError;
use super::sweep::sweep;
use super::{Block, Experiment, Findings, Request, Sizes, Statistics, Table, Value, doubling};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "settled-versus-majority",
    summary: "messages and delays of the quorum mutex with settled quorums and with majorities",
    seeds: 20,
    sizes: Some(Sizes { least: 8, usual: 64, most: 512 }),
    ours: None,
    draws: true,
    run,
};

/// The quorum systems: view-dependent ones, then fixed coteries, over which both algorithms are the same.
const GENERATORS: [&str; 6] = ["grid", "vcube", "wall", "majority-live", "tree", "majority"];

const ALGORITHMS: [&str; 2] = ["quorum", "quorum-majority"];

/// Results of the same schedules with both algorithms.
struct Row {
    config: QuorumMutexConfig,
    settled: Side,
    majority: Side,
    runs: usize,
}

/// Costs of one of the two algorithms, per entry.
struct Side {
    messages: Option<Statistics>,
    view: Option<Statistics>,
    /// With one requester, message delays from the request to the entry. With all, from an exit to the next entry.
    delay: Option<Statistics>,
    /// With one requester, the same for the runs in which a member of its first quorum crashes before it has entered.
    delay_after_crash: Option<Statistics>,
    incomplete: usize,
}

fn run(request: &Request<'_>) -> Result<Findings, SweepError> {
    let mut fields = Vec::new();
    for generator in GENERATORS {
        for requesters in [Requesters::One, Requesters::All] {
            for failures in [Failures::None].into_iter().chain(Failures::SOME) {
                fields.extend(doubling(8, request.up_to).into_iter().map(|n| {
                    let (algorithm, no_cancel) = (ALGORITHMS[0], false);
                    QuorumMutexConfig { algorithm, generator, requesters, failures, n, no_cancel }
                }));
            }
        }
    }
    let runs = |config: &QuorumMutexConfig| match config.failures {
        Failures::None => 1,
        _ => request.seeds,
    };
    let cells: Vec<(QuorumMutexConfig, u64)> = fields
        .iter()
        .flat_map(|&config| ALGORITHMS.map(|algorithm| QuorumMutexConfig { algorithm, ..config }))
        .flat_map(|config| (0..runs(&config)).map(move |seed| (config, seed)))
        .collect();
    let measured = sweep(request, &cells, |(config, seed)| config.measure(*seed))?;
    let mut measured = measured.into_iter();
    let rows: Vec<Row> = fields
        .into_iter()
        .map(|config| {
            let mut side =
                || -> Vec<Measured> { measured.by_ref().take(runs(&config) as usize).collect() };
            Row::new(config, &side(), &side())
        })
        .collect();
    Ok(Findings {
        table: Table::new(rows.iter().map(Row::values)),
        blocks: GENERATORS.map(|generator| block(generator, &rows)).into(),
        notes: notes(&rows, request.seeds),
        charts: charts(&rows),
    })
}

impl Row {
    fn new(config: QuorumMutexConfig, settled: &[Measured], majority: &[Measured]) -> Self {
        let hit: Vec<bool> = (0..settled.len() as u64).map(|seed| hits(&config, seed)).collect();
        Self {
            config,
            settled: Side::new(config.requesters, settled, &hit),
            majority: Side::new(config.requesters, majority, &hit),
            runs: settled.len(),
        }
    }

    fn values(&self) -> Vec<(&'static str, Value)> {
        let Self { config, settled, majority, runs } = self;
        let half_width = |of: Option<Statistics>| of.and_then(|of| of.half_width());
        let mean = |of: Option<Statistics>| of.map(|of| of.mean);
        vec![
            ("generator", config.generator.into()),
            ("requesters", config.requesters.to_string().into()),
            ("failures", config.failures.name().into()),
            ("processes", config.n.into()),
            ("runs", (*runs).into()),
            ("settled_messages", mean(settled.messages).into()),
            ("settled_messages_half_width_95", half_width(settled.messages).into()),
            ("majority_messages", mean(majority.messages).into()),
            ("majority_messages_half_width_95", half_width(majority.messages).into()),
            ("settled_view_messages", mean(settled.view).into()),
            ("settled_view_messages_half_width_95", half_width(settled.view).into()),
            ("majority_view_messages", mean(majority.view).into()),
            ("majority_view_messages_half_width_95", half_width(majority.view).into()),
            ("settled_delay", mean(settled.delay).into()),
            ("settled_delay_half_width_95", half_width(settled.delay).into()),
            ("majority_delay", mean(majority.delay).into()),
            ("majority_delay_half_width_95", half_width(majority.delay).into()),
            ("settled_delay_after_crash", mean(settled.delay_after_crash).into()),
            (
                "settled_delay_after_crash_half_width_95",
                half_width(settled.delay_after_crash).into(),
            ),
            ("majority_delay_after_crash", mean(majority.delay_after_crash).into()),
            (
                "majority_delay_after_crash_half_width_95",
                half_width(majority.delay_after_crash).into(),
            ),
            ("settled_incomplete_runs", settled.incomplete.into()),
            ("majority_incomplete_runs", majority.incomplete.into()),
        ]
    }
}

impl Side {
    fn new(requesters: Requesters, runs: &[Measured], hit: &[bool]) -> Self {
        let delay = |run: &Measured| match requesters {
            Requesters::One => run.client_delay,
            _ => run.hand_over,
        };
        let over = |counts: &dyn Fn(usize) -> bool| {
            let complete = runs.iter().enumerate().filter(|(_, run)| run.is_complete());
            let delays = complete.filter(|(seed, _)| counts(*seed)).map(|(_, run)| delay(run));
            Statistics::of(delays.filter(|delay| !delay.is_nan()))
        };
        Self {
            messages: statistics_over(runs, |run| run.messages),
            view: statistics_over(runs, |run| run.acknowledgements),
            delay: over(&|_| true),
            delay_after_crash: match requesters {
                Requesters::One => over(&|seed| hit[seed]),
                _ => None,
            },
            incomplete: runs.iter().filter(|run| !run.is_complete()).count(),
        }
    }
}

/// Whether a member of the first quorum of the one requester crashes. Crashes fall before its entry.
fn hits(config: &QuorumMutexConfig, seed: u64) -> bool {
    let quorum = AnySystem::by_name(config.generator, config.n)
        .and_then(|system| system.quorum(quorate_core::ProcessId::new(0), &ProcessSet::new()))
        .unwrap_or_default();
    let crashes = config.failures.draw(config.n, config.requesters, seed);
    crashes.iter().any(|crash| match crash.process {
        ProcessSelector::Process(process) => quorum.contains(process),
        _ => false,
    })
}

fn block(generator: &str, rows: &[Row]) -> Block {
    let line = |row: &Row| {
        let cell = |of: Option<f64>| of.map_or_else(|| "-".to_owned(), figure);
        let pair = |of: Option<Statistics>| {
            [cell(of.map(|of| of.mean)), cell(of.and_then(|of| of.half_width()))]
        };
        let mean = |of: Option<Statistics>| cell(of.map(|of| of.mean));
        let Row { config, settled, majority, .. } = row;
        let mut line = vec![
            config.requesters.to_string(),
            config.failures.name().to_owned(),
            config.n.to_string(),
        ];
        line.extend(pair(settled.messages));
        line.extend(pair(majority.messages));
        line.extend([mean(settled.view), mean(majority.view)]);
        line.extend([mean(settled.delay), mean(majority.delay)]);
        line.extend([mean(settled.delay_after_crash), mean(majority.delay_after_crash)]);
        line
    };
    Block {
        title: format!("{generator}: messages per entry and delays"),
        head: vec![
            "asks",
            "fail",
            " n",
            " settled",
            " ±",
            " majority",
            " ±",
            " view",
            " view",
            " delay",
            " delay",
            " crash",
            " crash",
        ],
        rows: rows.iter().filter(|row| row.config.generator == generator).map(line).collect(),
    }
}

fn notes(rows: &[Row], seeds: u64) -> Vec<String> {
    let incomplete: usize =
        rows.iter().map(|row| row.settled.incomplete + row.majority.incomplete).sum();
    vec![
        finding(rows),
        "Settled is the algorithm quorum, majority is quorum-majority; of two columns with the same name the first is of \
         settled. Over tree and majority, which are fixed coteries, both are the same. view: messages of the layer view \
         per entry, by which crashes are acknowledged. delay: message delays, with one requester from its request to its \
         entry, with all from an exit to the next entry. crash: the same delay in the runs in which a member of the \
         requester's first quorum crashes while its REQUESTs are under way."
            .to_owned(),
        format!(
            "{seeds} schedules for each cell with failures, the same for both algorithms, and one without; ± is half of \
             the 95 % interval, which --json has for every figure. {incomplete} runs were incomplete."
        ),
        WINDOW.to_owned(),
    ]
}

/// The main result in one paragraph, at the largest size.
fn finding(rows: &[Row]) -> String {
    let n = rows.iter().map(|row| row.config.n).max().unwrap_or(0);
    let at = |generator: &str, requesters: Requesters, failures: Failures| {
        rows.iter().find(move |row| {
            row.config.n == n
                && row.config.generator == generator
                && row.config.requesters == requesters
                && row.config.failures == failures
        })
    };
    let both = |generator: &str, requesters, failures, of: fn(&Side) -> Option<Statistics>| {
        let row = at(generator, requesters, failures)?;
        let (settled, majority) = (of(&row.settled)?, of(&row.majority)?);
        Some(format!(
            "{} instead of {} over {generator}",
            figure(settled.mean),
            figure(majority.mean)
        ))
    };
    let list = |requesters, failures, of: fn(&Side) -> Option<Statistics>| {
        let generators = GENERATORS.into_iter().take(4);
        let all: Vec<String> =
            generators.filter_map(|generator| both(generator, requesters, failures, of)).collect();
        all.join(", ")
    };
    format!(
        "With n = {n} and all processes requesting, settled quorums take {} messages per entry without failures, and {} with \
         n/2. In return, the entry after a crash of a voter takes longer, in message delays: {}.",
        list(Requesters::All, Failures::None, |side| side.messages),
        list(Requesters::All, Failures::Half, |side| side.messages),
        list(Requesters::One, Failures::One, |side| side.delay_after_crash),
    )
}

fn charts(rows: &[Row]) -> Vec<Chart> {
    let messages: fn(&Side) -> Option<Statistics> = |side| side.messages;
    let view: fn(&Side) -> Option<Statistics> = |side| side.view;
    let after: fn(&Side) -> Option<Statistics> = |side| side.delay_after_crash;
    let (all, one) = (Requesters::All, Requesters::One);
    [
        ("messages-no-failure", "messages per entry, no failure", all, Failures::None, messages),
        ("messages-half-failed", "messages per entry, half of the processes fail", all, Failures::Half, messages),
        ("view-half-failed", "messages of the layer view per entry, half of the processes fail", all, Failures::Half, view),
        ("delay-after-one-failure", "delay of one requester after the crash of a voter", one, Failures::One, after),
    ]
    .map(|(name, title, requesters, failures, of)| Chart {
        name: name.to_owned(),
        title: title.to_owned(),
        description: format!(
            "{title}. A line for each quorum system, unbroken for settled quorums and dashed for majorities. The legend is \
             in the order of the right-hand ends."
        ),
        x: Axis::log("processes"),
        y: Axis::log(if requesters == one { "message delays" } else { "messages per entry" }),
        lines: lines(rows, requesters, failures, of),
    })
    .into()
}

fn lines(
    rows: &[Row],
    requesters: Requesters,
    failures: Failures,
    of: fn(&Side) -> Option<Statistics>,
) -> Vec<Line> {
    let mut lines = Vec::new();
    for (group, generator) in GENERATORS.into_iter().enumerate() {
        let of_generator = || {
            rows.iter().filter(|row| {
                row.config.generator == generator
                    && row.config.requesters == requesters
                    && row.config.failures == failures
            })
        };
        let points = |side: fn(&Row) -> &Side| -> Vec<(f64, f64)> {
            let point = |row: &Row| Some((row.config.n as f64, of(side(row))?.mean));
            of_generator().filter_map(point).filter(|(_, y)| *y > 0.0).collect()
        };
        for (variant, label, points) in [
            (0, "settled", points(|row| &row.settled)),
            (1, "majority", points(|row| &row.majority)),
        ] {
            let fixed = AnySystem::by_name(generator, 8).is_some_and(|it| it.fixed().is_some());
            let again = fixed && variant == 1;
            if !points.is_empty() && !again {
                let label =
                    if fixed { generator.to_owned() } else { format!("{generator}, {label}") };
                lines.push(Line { label, group, variant, points });
            }
        }
    }
    lines
}
