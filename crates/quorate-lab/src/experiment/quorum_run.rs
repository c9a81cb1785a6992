//! Cost of an entry to a quorum mutex while processes crash.

use quorate_core::Property;
use quorate_sim::monitor::Status;
use quorate_sim::report::Report;
use quorate_sim::scenario::Requesters;
use quorate_sim::{Conditions, Scenario};
use serde::{Deserialize, Serialize};

use super::ExperimentError;
use super::Statistics;
use super::crashes::Failures;
use super::exact;
use quorate_run::run;

/// A quorum mutex with a load and failures; only the seed is missing.
#[derive(Clone, Copy, Debug)]
pub(super) struct QuorumMutexConfig {
    pub(super) algorithm: &'static str,
    pub(super) generator: &'static str,
    pub(super) requesters: Requesters,
    pub(super) failures: Failures,
    pub(super) n: usize,
    pub(super) no_cancel: bool,
}

/// Result of one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Measured {
    /// Whether a process learnt that it has no quorum left.
    pub(super) no_quorum: bool,
    /// Whether a live process waits forever.
    pub(super) hung: bool,
    /// Whether two processes were inside at the same time.
    pub(super) two_inside: bool,
    pub(super) entries: u64,
    /// Messages per entry, including those to oneself and without acknowledgements.
    #[serde(with = "exact::figure")]
    pub(super) messages: f64,
    /// Deviation as the monograph computes it: of each process's messages from the messages per
    /// entry, divided by the entries.
    #[serde(with = "exact::figure")]
    pub(super) sigma: f64,
    /// Standard deviation of the number of messages that processes sent.
    #[serde(with = "exact::figure")]
    pub(super) plain_sigma: f64,
    /// Messages of the layer `view` per entry, by which processes acknowledge crashes.
    #[serde(with = "exact::figure")]
    pub(super) acknowledgements: f64,
    /// FAILED messages per entry.
    #[serde(with = "exact::figure")]
    pub(super) failed: f64,
    /// CANCEL messages per entry.
    #[serde(with = "exact::figure")]
    pub(super) cancels: f64,
    /// Delay from the first request to its entry, in message delays; NaN if other processes request too.
    #[serde(with = "exact::figure")]
    pub(super) client_delay: f64,
    /// Delay from exit to the next entry while a process waits, in message delays; NaN if no process ever waited.
    #[serde(with = "exact::figure")]
    pub(super) hand_over: f64,
}

impl QuorumMutexConfig {
    /// Scenario of a seed. All requests are made at the start. A message and a stay inside take one millisecond each.
    pub(super) fn scenario(&self, seed: u64) -> Scenario {
        let mut scenario = Scenario::new(self.algorithm, self.n);
        scenario.seed = seed;
        scenario.requesters = self.requesters;
        scenario.quorums = Some(self.generator.to_owned());
        scenario.no_cancel = self.no_cancel;
        scenario.faults.crash = self.failures.draw(self.n, self.requesters, seed);
        scenario
    }

    pub(super) fn measure(&self, seed: u64) -> Result<Measured, ExperimentError> {
        let conditions = Conditions { events: self.events_most(), ..Conditions::default() };
        Ok(Measured::of(&run(&self.scenario(seed), conditions, None)?.report))
    }

    /// Maximum number of events, far beyond any run that terminates: each crash may make every process notify every other.
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
            failed: report.messages.by_kind.of("FAILED") as f64 / entries,
            cancels: report.messages.by_kind.of("CANCEL") as f64 / entries,
            client_delay: report.delays.client.mean.unwrap_or(f64::NAN),
            hand_over: report.delays.synchronisation.mean.unwrap_or(f64::NAN),
        }
    }

    /// Whether every surviving requester entered. Only then can the cost be compared.
    pub(super) fn is_complete(&self) -> bool {
        !self.no_quorum && !self.hung && self.entries > 0
    }
}

/// Statistics of a figure over the complete runs, if there are any.
pub(super) fn statistics_over(
    runs: &[Measured],
    figure: fn(&Measured) -> f64,
) -> Option<Statistics> {
    Statistics::of(runs.iter().filter(|run| run.is_complete()).map(figure))
}

/// Number of runs that fulfil a condition.
pub(super) fn count(runs: &[Measured], such: fn(&Measured) -> bool) -> u64 {
    runs.iter().filter(|run| such(run)).count() as u64
}
