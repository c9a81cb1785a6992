//! Why consensus in rounds takes one round more than the maximum number of crashes. The experiment is about
//! one algorithm and the specimen that leaves the last round out, so it names both.

use quorate_core::{ProcessId, ProcessSet, Span, Time};
use quorate_draw::chart::{Axis, Chart, Line};
use quorate_sim::Scenario;
use quorate_sim::fault::CrashMid;
use quorate_sim::notation::{ProcessSelector, When};
use quorate_sim::random::{Random, Stream};

use super::agreements::{Measured, first_broken, messages, per_cent, share};
use super::findings::figure;
use super::request::SweepError;
use super::sweep::sweep;
use super::{Block, Experiment, Findings, Request, Sizes, Table, Value, doubling};
use quorate_run::promised_cost;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "consensus-rounds",
    summary: "consensus in f + 1 rounds and in f while f processes crash in the middle of their multicasts",
    seeds: 200,
    sizes: Some(Sizes { least: 4, usual: 32, most: 128 }),
    ours: None,
    draws: true,
    run,
};

const ALGORITHMS: [&str; 2] = ["sync-consensus", "sync-consensus-short"];
const CRASHES_MOST: usize = 4;
const ROUND: Span = Span::from_millis(1);

/// Choice of the processes that crash.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Crashes {
    /// In each round a process crashes that has sent the least value only to the process that crashes next.
    Chain,
    /// In each round a process crashes that knows the least value, if a live one does, after at most two sends.
    Drawn,
}

/// Parameters of a row: the numbers of processes and crashes.
#[derive(Clone, Copy)]
struct Field {
    algorithm: &'static str,
    n: usize,
    f: usize,
    rounds: u64,
    formula: u64,
}

/// Results of all runs of a field.
struct Row {
    field: Field,
    runs: usize,
    /// Number of messages of a run without crashes.
    healthy: u64,
    chain: Option<f64>,
    drawn: Option<f64>,
    kept: Option<f64>,
    messages: Option<f64>,
    replay: Option<String>,
}

fn run(request: &Request<'_>) -> Result<Findings, SweepError> {
    let mut fields = Vec::new();
    for algorithm in ALGORITHMS {
        for f in 1..=CRASHES_MOST {
            // Two processes must survive that may disagree.
            for n in doubling(4, request.up_to).into_iter().filter(|n| *n >= f + 2) {
                let (cost, _) =
                    promised_cost(&Scenario { tolerates: Some(f), ..Scenario::new(algorithm, n) })?;
                let (rounds, formula) = (*cost.client_delay.end(), *cost.messages.end());
                fields.push(Field { algorithm, n, f, rounds, formula });
            }
        }
    }
    let cells: Vec<(Field, Option<(Crashes, u64)>)> = fields
        .iter()
        .flat_map(|field| {
            let crashing = [Crashes::Chain, Crashes::Drawn]
                .into_iter()
                .flat_map(|crashes| (0..request.seeds).map(move |seed| Some((crashes, seed))));
            std::iter::once(None).chain(crashing).map(|cell| (*field, cell))
        })
        .collect();
    let measured = sweep(request, &cells, |(field, cell)| Measured::of(&field.scenario(*cell)))?;
    let seeds = request.seeds as usize;
    let of_fields = fields.iter().zip(measured.chunks(1 + 2 * seeds));
    let rows: Vec<Row> =
        of_fields.map(|(field, runs)| Row::new(*field, &runs[0], &runs[1..])).collect();
    Ok(Findings {
        table: Table::new(rows.iter().map(Row::values)),
        blocks: vec![block(&rows)],
        notes: notes(&rows, request.seeds),
        charts: vec![chart(&rows)],
    })
}

impl Field {
    fn scenario(&self, cell: Option<(Crashes, u64)>) -> Scenario {
        let Self { algorithm, n, f, .. } = *self;
        let mut scenario = Scenario { tolerates: Some(f), ..Scenario::new(algorithm, n) };
        let Some((crashes, seed)) = cell else { return scenario };
        // The schedule is the same with one round more and one round less.
        let mut random = Random::new(seed << 32 | (f as u64) << 16 | n as u64, Stream::Experiment);
        scenario.seed = seed;
        scenario.values = (0..n).map(|_| 1 + random.below(n as u64)).collect();
        let mut victim = ProcessId::new(0);
        if crashes == Crashes::Drawn {
            victim = ProcessId::from_index(random.below(n as u64) as usize);
        }
        scenario.values[victim.index()] = 0;
        let mut left = ProcessSet::all(n);
        for round in 0..f as u64 {
            left.remove(victim);
            let sends = match crashes {
                // Messages are sent in ascending order, and the processes before it have crashed, so only one
                // live process receives the value.
                Crashes::Chain => round + 1,
                Crashes::Drawn => random.below(3),
            };
            scenario.faults.crash_mid.push(crash(victim, round, sends));
            let others = ProcessId::all(n).filter(|other| *other != victim);
            let informed: Vec<ProcessId> =
                others.take(sends as usize).filter(|other| left.contains(*other)).collect();
            let next: Vec<ProcessId> =
                if informed.is_empty() { left.iter().collect() } else { informed };
            victim = next[random.below(next.len() as u64) as usize];
        }
        scenario
    }
}

/// A crash in the multicast of this round, counted from zero, after this many sends.
fn crash(process: ProcessId, round: u64, sends: u64) -> CrashMid {
    let at = Time((round * ROUND.0).saturating_sub(ROUND.0 / 2));
    CrashMid { process: ProcessSelector::Process(process), at: When::At(at), sends: sends as u32 }
}

impl Row {
    fn new(field: Field, healthy: &Measured, runs: &[Measured]) -> Self {
        let (chain, drawn) = runs.split_at(runs.len() / 2);
        Self {
            field,
            runs: runs.len(),
            healthy: healthy.messages,
            chain: share(chain, |run| run.agreed),
            drawn: share(drawn, |run| run.agreed),
            kept: share(runs, |run| run.kept),
            messages: messages(runs),
            replay: first_broken(runs),
        }
    }

    fn values(&self) -> Vec<(&'static str, Value)> {
        let field = &self.field;
        vec![
            ("algorithm", field.algorithm.into()),
            ("processes", field.n.into()),
            ("crashes", field.f.into()),
            ("rounds", field.rounds.into()),
            ("enough", (field.rounds > field.f as u64).into()),
            ("runs", self.runs.into()),
            ("agree_chain", self.chain.into()),
            ("agree_drawn", self.drawn.into()),
            ("kept", self.kept.into()),
            ("formula", field.formula.into()),
            ("messages", self.healthy.into()),
            ("messages_with_crashes", self.messages.into()),
            ("replay", self.replay.clone().into()),
        ]
    }
}

fn block(rows: &[Row]) -> Block {
    let line = |row: &Row| {
        let share = |share: Option<f64>| share.map_or("-".to_owned(), per_cent);
        vec![
            row.field.algorithm.to_owned(),
            row.field.f.to_string(),
            row.field.rounds.to_string(),
            row.field.n.to_string(),
            share(row.chain),
            share(row.drawn),
            row.field.formula.to_string(),
            row.healthy.to_string(),
            row.messages.map_or("-".to_owned(), figure),
        ]
    };
    Block {
        title: "Consensus in rounds: runs that agree in %, and messages".to_owned(),
        head: vec![
            "",
            " f",
            " rounds",
            " n",
            " chain",
            " drawn",
            " formula",
            " found",
            " with crashes",
        ],
        rows: rows.iter().map(line).collect(),
    }
}

fn notes(rows: &[Row], seeds: u64) -> Vec<String> {
    let of = |algorithm: &str| -> Vec<&Row> {
        rows.iter().filter(|row| row.field.algorithm == algorithm).collect()
    };
    let broken = |rows: &[&Row]| rows.iter().filter(|row| row.replay.is_some()).count();
    let (enough, short) = (of(ALGORITHMS[0]), of(ALGORITHMS[1]));
    let met = rows.iter().filter(|row| row.healthy == row.field.formula).count();
    vec![
        format!(
            "With f + 1 rounds {} of {} cells have a run that disagrees, with f rounds {} of {}.",
            broken(&enough),
            enough.len(),
            broken(&short),
            short.len()
        ),
        format!(
            "{seeds} runs of each kind. In a chain, one process crashes in each round after it has sent the least \
             value only to the process that crashes in the next round; drawn, it has sent it to none, one or two, as \
             the seed draws, and one of them is next. The schedules are the same for both numbers of rounds."
        ),
        format!(
            "Messages without crashes are as the formulas rounds n (n - 1) say in {met} of {} cells.",
            rows.len()
        ),
    ]
}

fn chart(rows: &[Row]) -> Chart {
    let mut lines = Vec::new();
    for (variant, algorithm) in ALGORITHMS.into_iter().enumerate() {
        for f in 1..=CRASHES_MOST {
            let of = rows.iter().filter(|row| row.field.algorithm == algorithm && row.field.f == f);
            let points =
                of.filter_map(|row| Some((row.field.n as f64, 100.0 * row.drawn?))).collect();
            let rounds = if variant == 0 { f + 1 } else { f };
            let label = format!("f = {f}, {rounds} round{}", if rounds == 1 { "" } else { "s" });
            lines.push(Line { label, group: f, variant, points });
        }
    }
    Chart {
        name: "agree".to_owned(),
        title: "Consensus in rounds: runs that agree under drawn crashes".to_owned(),
        description: "The share of runs that agree against the number of processes, for one to four crashes in the \
                      middle of multicasts, with one round more than crashes and with as many."
            .to_owned(),
        x: Axis::log("processes"),
        y: Axis::linear("% of runs"),
        lines,
    }
}
