//! What an entry costs a quorum mutex while processes crash.

use quorate_core::Property;
use quorate_sim::monitor::Status;
use quorate_sim::report::Report;
use quorate_sim::scenario::Requesters;
use quorate_sim::{Conditions, Scenario};
use serde::{Deserialize, Serialize};

use super::Statistics;
use super::crashes::Failures;
use super::exact;
use crate::CannotRun;
use quorate_run::run;

/// A quorum mutex under a load and failures; only the seed is missing.
#[derive(Clone, Copy, Debug)]
pub(super) struct QuorumMutexConfig {
    pub(super) algorithm: &'static str,
    pub(super) generator: &'static str,
    pub(super) requesters: Requesters,
    pub(super) failures: Failures,
    pub(super) n: usize,
    pub(super) no_cancel: bool,
}

/// What came of one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Measured {
    /// Somebody was told that no quorum is left.
    pub(super) no_quorum: bool,
    /// A live process waits for ever.
    pub(super) hung: bool,
    /// Two were inside at once.
    pub(super) two_inside: bool,
    pub(super) entries: u64,
    /// Messages per entry, those to oneself included and acknowledgements not.
    #[serde(with = "exact::figure")]
    pub(super) messages: f64,
    /// The deviation as the monograph reckons it: by process from the messages per entry, over the entries.
    #[serde(with = "exact::figure")]
    pub(super) sigma: f64,
    /// The deviation of what processes sent, by process from their mean.
    #[serde(with = "exact::figure")]
    pub(super) plain_sigma: f64,
    /// Acknowledgements of crashes per entry.
    #[serde(with = "exact::figure")]
    pub(super) acknowledgements: f64,
    /// CANCEL messages per entry.
    #[serde(with = "exact::figure")]
    pub(super) cancels: f64,
    /// From exit to the next entry with somebody waiting, in message delays; not a number if nobody ever waited.
    #[serde(with = "exact::figure")]
    pub(super) hand_over: f64,
}

impl QuorumMutexConfig {
    /// The run of this seed. Everyone asks at the start; messages and a stay take one millisecond each.
    pub(super) fn scenario(&self, seed: u64) -> Scenario {
        let mut scenario = Scenario::new(self.algorithm, self.n);
        scenario.seed = seed;
        scenario.requesters = self.requesters;
        scenario.quorums = Some(self.generator.to_owned());
        scenario.no_cancel = self.no_cancel;
        scenario.faults.crash = self.failures.draw(self.n, self.requesters, seed);
        scenario
    }

    pub(super) fn measure(&self, seed: u64) -> Result<Measured, CannotRun> {
        let conditions = Conditions { events: self.events_most(), ..Conditions::default() };
        Ok(Measured::of(&run(&self.scenario(seed), conditions, None)?.report))
    }

    /// Far beyond what any run takes that comes to an end: each crash may make everyone tell everyone.
    fn events_most(&self) -> u64 {
        let n = self.n as u64;
        1_000_000 + 100 * n * n * n
    }
}

impl Measured {
    fn of(report: &Report) -> Self {
        let entries = report.entries as f64;
        let messages = report.messages.total as f64 / entries;
        let sent = &report.messages.by_process;
        let squares = |mean: f64| -> f64 {
            sent.iter().map(|&sends| (sends as f64 - mean) * (sends as f64 - mean)).sum()
        };
        let n = sent.len() as f64;
        Self {
            no_quorum: !report.no_quorum.is_empty(),
            hung: !report.waiting.is_empty(),
            two_inside: report.properties.iter().any(|property| {
                property.id == Property::ME1.id() && property.status == Status::Violated
            }),
            entries: report.entries,
            messages,
            sigma: (squares(messages) / entries).sqrt(),
            plain_sigma: (squares(report.messages.total as f64 / n) / n).sqrt(),
            acknowledgements: report.layers.get("view").map_or(0, |view| view.total) as f64
                / entries,
            cancels: report.messages.by_kind.of("CANCEL") as f64 / entries,
            hand_over: report.delays.synchronisation.mean.unwrap_or(f64::NAN),
        }
    }

    /// Whether everyone entered who lived to do so: only then can its cost be compared.
    pub(super) fn is_complete(&self) -> bool {
        !self.no_quorum && !self.hung && self.entries > 0
    }
}

/// The mean of a figure over the runs that can be compared, if there are any.
pub(super) fn statistics_over(
    runs: &[Measured],
    figure: fn(&Measured) -> f64,
) -> Option<Statistics> {
    Statistics::of(runs.iter().filter(|run| run.is_complete()).map(figure))
}

/// How many runs are such.
pub(super) fn count(runs: &[Measured], such: fn(&Measured) -> bool) -> u64 {
    runs.iter().filter(|run| such(run)).count() as u64
}
