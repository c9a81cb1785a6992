//! The two loads under which algorithms are compared, and the figures measured under them.

use quorate_core::{ProcessId, Span, Time};
use quorate_sim::accounting::Counting;
use quorate_sim::fault::ProcessAt;
use quorate_sim::notation::{ProcessSelector, SpanText, When};
use quorate_sim::random::{Random, Stream};
use quorate_sim::report::{DelayStatistics, Report, Verdict};
use quorate_sim::scenario::Requesters;
use quorate_sim::{Conditions, Scenario};
use serde::{Deserialize, Serialize};

use super::super::exact;
use super::super::series::Series;
use crate::experiment::ExperimentError;
use quorate_run::run;

/// One message delay, and the duration of a stay inside.
const UNIT: Span = Span::from_millis(1);

/// Number of requests per process at light load.
pub(super) const REQUESTS: usize = 4;

/// Number of entries of each process at saturation.
pub(super) const REPEAT: u32 = 10;

/// Load on the mutex, by the frequency of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Load {
    /// One process at a time, drawn independently. Each waits until all effects of the request before are over.
    Light,
    /// Every process always wants to enter: all make a request within the first message delay, and again as
    /// soon as they have left.
    Saturated,
}

/// Time from one request to the next at light load, in message delays: covers the longest path along a chain and back.
pub(super) fn gap(n: usize) -> u64 {
    2 * n as u64 + 8
}

/// Measured cost of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Measured {
    pub(super) entries: u64,
    /// Requesters in order. At saturation each process is listed once, in the order of the first requests,
    /// because all make equally many.
    #[serde(rename = "asked", with = "exact::processes")]
    pub(super) request_order: Vec<ProcessId>,
    /// Number of messages from one process to another.
    pub(super) links: u64,
    /// Number of messages to oneself.
    pub(super) own: u64,
    /// Number of delays from request to entry into a free section, and their mean in message delays.
    #[serde(with = "exact::mean")]
    pub(super) client: (u64, f64),
    /// The same for delays from exit to the next entry.
    #[serde(with = "exact::mean")]
    pub(super) synchronisation: (u64, f64),
    /// Load of the busiest process divided by the mean load.
    #[serde(with = "exact::figure")]
    pub(super) busiest: f64,
}

/// Runs an algorithm under a load.
pub(super) fn measure(
    series: &Series,
    n: usize,
    load: Load,
    seed: u64,
) -> Result<Measured, ExperimentError> {
    let scenario = match load {
        Load::Light => light(series, n, seed),
        Load::Saturated => saturated(series, n, seed),
    };
    let counting = Counting { with_self: false, ..Counting::ALL };
    let conditions = Conditions { counting, ..Conditions::default() };
    let report = run(&scenario, conditions, None)?.report;
    if let Some(problem) = unfit(&report, load) {
        let algorithm = series.label();
        return Err(ExperimentError::Unmeasurable { algorithm, processes: n, seed, problem });
    }
    let delays = |delays: &DelayStatistics| (delays.count, delays.mean.unwrap_or(0.0));
    Ok(Measured {
        entries: report.entries,
        request_order: scenario.first_requests().into_iter().map(|(process, _)| process).collect(),
        links: report.messages.total,
        own: report.messages.to_self,
        client: delays(&report.delays.client),
        synchronisation: delays(&report.delays.synchronisation),
        busiest: report.load.max as f64 / report.load.mean,
    })
}

/// Reason why a run must not be counted, if so.
fn unfit(report: &Report, load: Load) -> Option<String> {
    if report.verdict != Verdict::Holds {
        Some("a property or an assumption did not hold".to_owned())
    } else if report.entries != report.requests {
        Some(format!("{} of {} requests were granted", report.entries, report.requests))
    } else if load == Load::Light && report.delays.client.count != report.entries {
        Some("requests overlapped, so the load was not light".to_owned())
    } else {
        None
    }
}

fn light(series: &Series, n: usize, seed: u64) -> Scenario {
    let mut random = Random::new(seed, Stream::Experiment);
    let gap = gap(n) * UNIT.0;
    // Within the first message delay of its turn, so that a circulating token is met anywhere.
    let request = |(turn, process)| {
        let from = turn as u64 * gap;
        let at = When::Between(Time(from), Time(from + UNIT.0 - 1));
        ProcessAt { process: ProcessSelector::Process(process), at }
    };
    let drawn = (0..REQUESTS * n).map(|_| ProcessId::from_index(random.below(n as u64) as usize));
    let request = drawn.enumerate().map(request).collect();
    let until = Some(SpanText(Span((REQUESTS * n) as u64 * gap)));
    Scenario { seed, request, until, ..series.scenario(n) }
}

fn saturated(series: &Series, n: usize, seed: u64) -> Scenario {
    let spread = SpanText(UNIT);
    Scenario { seed, requesters: Requesters::All, repeat: REPEAT, spread, ..series.scenario(n) }
}
