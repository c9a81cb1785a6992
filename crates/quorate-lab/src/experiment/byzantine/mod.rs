//! Number of traitors that generals tolerate, with oral and with signed messages, and the cost.
//!
//! The experiment is about one paper, which has both algorithms, so it names them.

mod charts;
mod text;

use quorate_core::ProcessId;
use quorate_sim::Scenario;
use quorate_sim::fault::Traitor;
use quorate_sim::notation::ProcessSelector;
use quorate_sim::random::{Random, Stream};
use quorate_sim::traitor::Strategy;

use super::agreements::{Measured, first_broken, messages, share};
use super::request::SweepError;
use super::sweep::sweep;
use super::{Experiment, Findings, Request, Sizes, Table, Value};
use quorate_run::promised_cost;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "byzantine",
    summary: "how many traitors generals tolerate with oral and signed messages, beside n > 3m, and the cost",
    seeds: 60,
    sizes: Some(Sizes { least: 4, usual: 13, most: 24 }),
    ours: None,
    draws: true,
    run,
};

const ALGORITHMS: [(&str, &str); 2] = [("byzantine-generals", "OM"), ("signed-generals", "SM")];

/// Maximum number of traitors.
const TRAITORS_MOST: usize = 4;

/// Maximum number of messages of a run. Cells that need more are skipped, because the number grows exponentially.
const MESSAGES_MOST: u64 = 250_000;

/// Ways in which traitors conspire: all use the same strategy, or each draws its own.
const CONSPIRACIES: [Option<Strategy>; 5] = [
    Some(Strategy::TwoFaced),
    Some(Strategy::Liar),
    Some(Strategy::Equivocator),
    Some(Strategy::Random),
    None,
];

const STRATEGIES: [Strategy; 5] =
    [Strategy::TwoFaced, Strategy::Liar, Strategy::Equivocator, Strategy::Random, Strategy::Silent];

/// A number of generals and a number of traitors among them.
#[derive(Clone, Copy)]
struct Field {
    algorithm: &'static str,
    n: usize,
    m: usize,
    /// Number of messages if no general lies.
    formula: u64,
}

/// Results of all runs of a field.
struct Row {
    field: Field,
    runs: usize,
    /// Number of messages of a run in which no general lies.
    healthy: Option<u64>,
    agreed: Option<f64>,
    valid: Option<f64>,
    kept: Option<f64>,
    messages: Option<f64>,
    replay: Option<String>,
}

fn run(request: &Request<'_>) -> Result<Findings, SweepError> {
    let mut fields = Vec::new();
    for (algorithm, _) in ALGORITHMS {
        for n in 3..=request.up_to {
            // With fewer than two loyal generals there is nothing to agree on.
            for m in 0..=TRAITORS_MOST.min(n - 2) {
                let field = Field { algorithm, n, m, formula: 0 };
                let formula = *promised_cost(&field.healthy())?.0.messages.end();
                fields.push(Field { formula, ..field });
            }
        }
    }
    // One run without traitors, and one for each seed with them.
    let runs_of = |field: &Field| if field.is_skipped() { 0 } else { 1 + request.seeds };
    let cells: Vec<(Field, u64)> = fields
        .iter()
        .flat_map(|field| (0..runs_of(field)).map(move |place| (*field, place)))
        .collect();
    let measured = sweep(request, &cells, |(field, place)| {
        let with_traitors = place.checked_sub(1).map(|seed| field.scenario(seed));
        Measured::of(&with_traitors.unwrap_or_else(|| field.healthy()))
    })?;
    let mut rest = measured.as_slice();
    let rows: Vec<Row> = fields
        .iter()
        .map(|field| {
            let (runs, others) = rest.split_at(runs_of(field) as usize);
            rest = others;
            Row::new(*field, runs)
        })
        .collect();
    Ok(Findings {
        table: Table::new(rows.iter().map(Row::values)),
        blocks: text::blocks(&rows, request.up_to),
        notes: text::notes(&rows, request.seeds),
        charts: charts::charts(&rows),
    })
}

impl Field {
    fn is_skipped(&self) -> bool {
        self.formula > MESSAGES_MOST
    }

    /// Whether oral messages are sufficient according to the theory.
    fn is_inside(&self) -> bool {
        self.n > 3 * self.m
    }

    fn healthy(&self) -> Scenario {
        Scenario { tolerates: Some(self.m), ..Scenario::new(self.algorithm, self.n) }
    }

    /// Scenario of a seed. The order, the traitors and their strategies are drawn, equally for both algorithms. In half of
    /// the runs the commander is a traitor.
    fn scenario(&self, seed: u64) -> Scenario {
        let Self { n, m, .. } = *self;
        let mut random = Random::new(seed << 32 | (m as u64) << 16 | n as u64, Stream::Experiment);
        let mut scenario = Scenario { seed, ..self.healthy() };
        scenario.values = vec![random.below(2)];
        let conspiracy = CONSPIRACIES[seed as usize % CONSPIRACIES.len()];
        let mut lieutenants: Vec<ProcessId> = ProcessId::all(n).skip(1).collect();
        let commander_lies = random.below(2) == 0;
        for place in 0..m {
            let chosen = random.below(lieutenants.len() as u64) as usize;
            let traitor = match place == 0 && commander_lies {
                true => ProcessId::new(0),
                false => lieutenants.swap_remove(chosen),
            };
            let selector = ProcessSelector::Process(traitor);
            let drawn = STRATEGIES[random.below(STRATEGIES.len() as u64) as usize];
            let strategy = conspiracy.unwrap_or(drawn);
            scenario.faults.traitor.push(Traitor { process: selector, strategy });
        }
        scenario
    }
}

impl Row {
    fn new(field: Field, all: &[Measured]) -> Self {
        let (healthy, runs) = all.split_at(all.len().min(1));
        Self {
            field,
            runs: runs.len(),
            healthy: healthy.first().map(|run| run.messages),
            agreed: share(runs, |run| run.agreed),
            valid: share(runs, |run| run.valid),
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
            ("traitors", field.m.into()),
            ("above_3m", field.is_inside().into()),
            ("runs", self.runs.into()),
            ("skipped", field.is_skipped().into()),
            ("agree", self.agreed.into()),
            ("valid", self.valid.into()),
            ("kept", self.kept.into()),
            ("formula", field.formula.into()),
            ("messages", self.healthy.into()),
            ("messages_with_traitors", self.messages.into()),
            ("rounds", (field.m + 1).into()),
            ("replay", self.replay.clone().into()),
        ]
    }
}
