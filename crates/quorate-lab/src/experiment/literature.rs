//! Claims of the documents from which this project began, each beside a run that contradicts it. The experiment is about
//! these claims, so it names their algorithms.

use quorate_core::{Property, Span, Time};
use quorate_sim::fault::ProcessAt;
use quorate_sim::monitor::Status;
use quorate_sim::notation::{ProcessSelector, SpanText, When};
use quorate_sim::report::Report;
use quorate_sim::scenario::Requesters;
use quorate_sim::{Conditions, Delay, Scenario};

use super::findings::figure;
use super::request::SweepError;
use super::sweep::sweep;
use super::{Block, Experiment, Findings, Request, Table, Value};
use quorate_run::run as run_scenario;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "literature",
    summary: "claims of the documents behind this project, and what we measured instead",
    seeds: 400,
    sizes: None,
    ours: None,
    draws: false,
    run,
};

/// A claim, the runs that test it, and the figure that they give.
struct Claim {
    /// The algorithm, and the load under which it runs.
    subject: &'static str,
    /// The document that makes the claim.
    source: &'static str,
    /// The value that the document gives.
    published: &'static str,
    unit: &'static str,
    /// Command that repeats one of the runs.
    command: &'static str,
    scenario: fn() -> Scenario,
    measure: fn(&Report) -> f64,
    /// Explanation of the difference.
    why: &'static str,
}

const CLAIMS: [Claim; 8] = [
    Claim {
        subject: "singhal, all request",
        source: "monograph",
        published: "3(n - 1)/2 = 22.5",
        unit: "messages per entry, n = 16",
        command: "quorate sim singhal -n 16 --requesters all --repeat 10",
        scenario: || Scenario { repeat: 10, ..everyone("singhal", 16) },
        measure: per_entry,
        why: "The average of the paper holds between light and heavy load. If all processes always request, every pair of them \
              exchanges a REQUEST and a REPLY for each entry, as in Ricart and Agrawala's algorithm.",
    },
    Claim {
        subject: "raymond, one requests",
        source: "monograph",
        published: "about 4",
        unit: "messages per entry, n = 63",
        command: "quorate sim raymond -n 63 --request 62@0",
        scenario: || Scenario { request: vec![request(62, 0)], ..Scenario::new("raymond", 63) },
        measure: per_entry,
        why: "About 4 messages is the paper's figure for heavy load. A single request travels from its leaf to the privilege, and the \
              privilege travels back: two messages for each edge between them.",
    },
    Claim {
        subject: "token-ring, idle",
        source: "lecture notes (es)",
        published: "at most n - 1 = 15",
        unit: "hops to the requester, n = 16",
        command: "quorate sim token-ring -n 16 --request 0@0.5ms",
        scenario: || Scenario {
            request: vec![request(0, 500_000)],
            ..Scenario::new("token-ring", 16)
        },
        measure: |report| (report.delays.client.max as f64 / report.delays.unit as f64).ceil(),
        why: "A process that has just passed the token on waits for a whole lap: n hops.",
    },
    Claim {
        subject: "chang-roberts, all start",
        source: "lecture notes (pt)",
        published: "quadratic time",
        unit: "message delays, n = 32",
        command: "quorate sim chang-roberts -n 32 --requesters all",
        scenario: || everyone("chang-roberts", 32),
        measure: |report| report.virtual_time as f64 / report.delays.unit as f64,
        why: "Time is linear, 2n message delays: all messages travel at the same time. The number of messages is quadratic in the worst \
              order of identifiers (`quorate experiment election-cost`).",
    },
    Claim {
        subject: "vcube-diagnosis",
        source: "monograph",
        published: "1",
        unit: "tests of a process per round, n = 16",
        command: "quorate sim vcube-diagnosis -n 16",
        scenario: || Scenario::new("vcube-diagnosis", 16),
        measure: |report| {
            report.detection.as_ref().map_or(0.0, |it| it.per_round / report.processes as f64)
        },
        why: "Each process is tested once for each of its log2 n clusters, by the first live process that has it there.",
    },
    Claim {
        subject: "quorum-published, Table 5.2",
        source: "monograph",
        published: "119",
        unit: "messages per entry, n = 64, VCube",
        command: "quorate sim quorum-published -n 64 --quorums vcube --requesters all",
        scenario: || everyone("quorum-published", 64),
        measure: per_entry,
        why: "Unexplained. Up to n = 32 the printed means are ours, rounded down; from n = 64 on they are up to 6 % higher, while \
              the deviations of the tree quorums agree to the last digit. `quorate experiment thesis` has all cells.",
    },
    Claim {
        subject: "maekawa and ME3",
        source: "lecture notes (pt)",
        published: "0",
        unit: "% of runs with ME3 broken, n = 9",
        command: "quorate replay scenarios/mutex/a-slow-request-is-overtaken-at-maekawas-voters.toml",
        scenario: overtaken_at_voters,
        measure: |report| violated(report, Property::ME3),
        why: "Voters that order waiting requests by their stamps make the algorithm free of deadlocks. But a voter cannot order a \
              request that is still on its way to it. This schedule was made by hand; campaigns of thousands of runs find none.",
    },
    Claim {
        subject: "quorum-published and ME2",
        source: "monograph",
        published: "0",
        unit: "% of runs that hang, n = 8, VCube",
        command: "quorate sim quorum-published -n 8 --requesters all --spread 4ms --delay uniform:500us..1500us",
        scenario: || Scenario {
            spread: SpanText(Span(4_000_000)),
            delay: Delay::Uniform(Span(500_000), Span(1_500_000)),
            ..everyone("quorum-published", 8)
        },
        measure: |report| violated(report, Property::ME2),
        why: "A request that is neither the best nor the worst at a voter gets no answer, and keeps the votes it has: Sanders' \
              observation about Maekawa's algorithm. With failures it also lets two processes in (`quorate check quorum-published \
              -n 3 --crashes 1 --only ME1`). `quorum` is the repaired algorithm.",
    },
];

const MILLISECOND: Span = Span(1_000_000);

/// A world in which all processes request.
fn everyone(algorithm: &str, n: usize) -> Scenario {
    Scenario { requesters: Requesters::All, ..Scenario::new(algorithm, n) }
}

fn request(process: u32, nanoseconds: u64) -> ProcessAt {
    let process = ProcessSelector::Process(quorate_core::ProcessId::new(process));
    ProcessAt { process, at: When::At(Time(nanoseconds)) }
}

/// Process 8 requests after it has learned of the request of process 0, which is slow on the way to their common voters.
fn overtaken_at_voters() -> Scenario {
    let slow = ["0-2=constant:60ms", "0-6=constant:60ms"];
    let millisecond = |process, at: f64| request(process, (at * MILLISECOND.0 as f64) as u64);
    Scenario {
        request: vec![
            millisecond(4, 0.0),
            millisecond(0, 1.0),
            millisecond(8, 4.5),
            millisecond(8, 9.0),
        ],
        section: SpanText(Span(2 * MILLISECOND.0)),
        quorums: Some("grid-fixed".to_owned()),
        link_delay: slow.iter().filter_map(|link| link.parse().ok()).collect(),
        watch: vec![Property::ME3.id().to_owned()],
        ..Scenario::new("maekawa", 9)
    }
}

fn per_entry(report: &Report) -> f64 {
    report.messages.total as f64 / report.entries.max(1) as f64
}

/// 100 if a property is violated, so that the mean over all runs is a percentage.
fn violated(report: &Report, property: Property) -> f64 {
    let broken = |found: &quorate_sim::report::PropertyReport| {
        found.id == property.id() && found.status == Status::Violated
    };
    if report.properties.iter().any(broken) { 100.0 } else { 0.0 }
}

fn run(request: &Request<'_>) -> Result<Findings, SweepError> {
    let cells: Vec<(usize, u64)> = (0..CLAIMS.len())
        .flat_map(|claim| (0..request.seeds).map(move |seed| (claim, seed)))
        .collect();
    let measured: Vec<f64> = sweep(request, &cells, |(claim, seed)| {
        let claim = &CLAIMS[*claim];
        let scenario = Scenario { seed: *seed, ..(claim.scenario)() };
        Ok((claim.measure)(&run_scenario(&scenario, Conditions::default(), None)?.report))
    })?;
    let mean = |runs: &[f64]| runs.iter().sum::<f64>() / runs.len() as f64;
    let means: Vec<f64> = measured.chunks(request.seeds as usize).map(mean).collect();
    let rows = CLAIMS.iter().zip(&means);
    Ok(Findings {
        table: Table::new(rows.clone().map(|(claim, mean)| values(claim, *mean))),
        blocks: vec![block(rows.clone())],
        notes: rows.map(|(claim, _)| note(claim)).chain([about(request.seeds)]).collect(),
        charts: Vec::new(),
    })
}

fn values(claim: &Claim, mean: f64) -> Vec<(&'static str, Value)> {
    vec![
        ("claim", claim.subject.into()),
        ("processes", (claim.scenario)().processes.into()),
        ("source", claim.source.into()),
        ("published", claim.published.into()),
        ("measured", Some(mean).into()),
        ("unit", claim.unit.into()),
        ("command", claim.command.into()),
    ]
}

fn block<'a>(rows: impl Iterator<Item = (&'a Claim, &'a f64)>) -> Block {
    let line = |(claim, mean): (&Claim, &f64)| {
        let text = |text: &str| text.to_owned();
        vec![text(claim.subject), text(claim.published), figure(*mean), text(claim.unit)]
    };
    Block {
        title: "Claims and measurements".to_owned(),
        head: vec!["claim", "published", " measured", "unit"],
        rows: rows.map(line).collect(),
    }
}

fn note(claim: &Claim) -> String {
    format!("{} ({}; `{}`): {}", claim.subject, claim.source, claim.command, claim.why)
}

fn about(seeds: u64) -> String {
    format!(
        "Each figure is the mean of {seeds} seeds. The monograph is Lopes' on a quorum mutex over the VCube; the lecture notes are on \
         coordination and agreement, in Portuguese and in Spanish. Claims that our runs confirm are in the tables of the other \
         experiments, beside the measured figures."
    )
}
