//! The report of a run: the JSON that `sim` and `replay` print.

use std::collections::BTreeMap;

use quorate_core::{Cost, ProcessId, Span};
use serde::Serialize;

use crate::observe::accounting::{KindCounts, LayerAccount};
use crate::observe::entry_delays::SpanSummary;
use crate::observe::monitor::Evidence;
use crate::scenario::Status;

pub use crate::observe::NoticeReport;
pub use crate::scenario::Verdict;

/// Results of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Name of the algorithm.
    pub algorithm: String,
    /// Family of the algorithm.
    pub family: &'static str,
    /// Number of processes in the run.
    pub processes: usize,
    /// Seed of the run.
    pub seed: u64,
    /// Outcome of the run.
    pub verdict: Verdict,
    /// Result for each property.
    pub properties: Vec<PropertyReport>,
    /// Result for each assumption.
    pub assumptions: Vec<AssumptionReport>,
    /// Number of requests made.
    pub requests: u64,
    /// Number of entries into the critical section; zero for families without one.
    pub entries: u64,
    /// Processes that entered, in order, up to the first ten thousand.
    pub order: Vec<u32>,
    /// Messages of the algorithm's own layer.
    pub messages: Messages,
    /// Messages of the layers below it.
    pub layers: BTreeMap<&'static str, Messages>,
    /// Number of messages that did not arrive, by reason, summed over all layers.
    pub lost: BTreeMap<&'static str, u64>,
    /// Number of messages that arrived twice.
    pub duplicated: u64,
    /// Number of messages whose contents a link changed.
    #[serde(skip_serializing_if = "is_zero")]
    pub changed: u64,
    /// Promised and actual message cost of the algorithm.
    pub cost: CostReport,
    /// Delays of entries or of the corresponding operations of other families.
    pub delays: DelayReport,
    /// Results of a detector, if the algorithm is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detection: Option<DetectionReport>,
    /// Multicasts and deliveries, if the algorithm is a multicast.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multicast: Option<MulticastReport>,
    /// Results of clock synchronisation, if the algorithm sets clocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockReport>,
    /// Leader and cost, if the algorithm is an election.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub election: Option<ElectionReport>,
    /// Proposals and decisions, if the algorithm is an agreement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreement: Option<AgreementReport>,
    /// Use of the resources, if the algorithm is a resource allocation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocation: Option<AllocationReport>,
    /// Transfers and recorded states, if the algorithm records snapshots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<SnapshotReport>,
    /// The computation and its announcements, if the algorithm detects a stable property.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stable_property: Option<StablePropertyReport>,
    /// Leaders and committed entries, if the algorithm replicates a log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replication: Option<ReplicationReport>,
    /// Load distribution: messages sent and received by each process, own layer only.
    pub load: LoadReport,
    /// Processes that still wait at the end.
    pub waiting: Vec<u32>,
    /// Processes that gave up because no quorum was left.
    pub no_quorum: Vec<u32>,
    /// Transport of the run, if it was not simulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over: Option<TransportReport>,
    /// Time at which the run ended, in nanoseconds.
    pub virtual_time: u64,
    /// Number of events: inputs that a process handled or missed, and faults.
    pub events: u64,
    /// Number of messages delivered.
    pub deliveries: u64,
    /// Why the run ended.
    pub ending: &'static str,
    /// Faults that happened, in order.
    pub faults: Vec<FaultReport>,
    /// Number of vector clock merges of the ME3 monitor, which measures the cost of monitoring ME3.
    pub me3_merges: Option<u64>,
}

/// Result for a property.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PropertyReport {
    /// Identifier of the property.
    pub id: &'static str,
    /// Whether it held, was violated, or was not checked.
    pub status: Status,
    /// Description of the result in a sentence.
    pub detail: String,
    /// Whether the algorithm promises the property.
    pub promised: bool,
    /// Time of the violation in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<u64>,
    /// Events that led to the violation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Evidence>,
}

/// Result for an assumption.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AssumptionReport {
    /// Identifier of the assumption.
    pub id: &'static str,
    /// The assumption as a sentence.
    pub sentence: &'static str,
    /// Whether the run met it.
    pub met: bool,
    /// Description of the event that broke it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broken_by: Option<String>,
}

/// Message counts of a layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Messages {
    /// Total number of messages.
    pub total: u64,
    /// Number of messages that processes sent to themselves. They are included in `total` unless the conditions leave them out.
    #[serde(rename = "self")]
    pub to_self: u64,
    /// Total size in bytes, if the messages know their size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Number of messages by kind.
    pub by_kind: KindCounts,
    /// Number of messages sent, by process.
    pub by_process: Vec<u64>,
    /// Number of messages received, by process.
    pub by_receiver: Vec<u64>,
}

impl From<LayerAccount> for Messages {
    fn from(account: LayerAccount) -> Self {
        Self {
            total: account.total,
            to_self: account.to_self,
            bytes: account.bytes,
            by_kind: account.by_kind,
            by_process: account.by_sender,
            by_receiver: account.by_receiver,
        }
    }
}

/// The promised message cost and the actual one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CostReport {
    /// Formula for the messages per entry, or per unit of another family.
    pub formula: &'static str,
    /// The unit that the cost is for: an entry, a multicast, an election, or a round of a detector.
    pub per: &'static str,
    /// Values of the formula for this run: the minimum and the maximum per unit.
    pub promised_per_entry: [u64; 2],
    /// Actual messages per unit; none if there was no unit.
    pub per_entry: Option<f64>,
    /// Whether the promise was kept; none if the run cannot be compared with it.
    pub kept: Option<bool>,
}

impl CostReport {
    /// Creates the report for `messages` messages in `count` units. The promise is checked only if the run is `comparable`.
    pub fn new(
        cost: &Cost,
        per: &'static str,
        messages: u64,
        count: u64,
        comparable: bool,
    ) -> Self {
        let (least, most) = (*cost.messages.start(), *cost.messages.end());
        let promised = least.saturating_mul(count)..=most.saturating_mul(count);
        Self {
            formula: cost.formula,
            per,
            promised_per_entry: [least, most],
            per_entry: (count > 0).then(|| messages as f64 / count as f64),
            kept: (count > 0 && comparable).then(|| promised.contains(&messages)),
        }
    }
}

/// Delays in nanoseconds and in message delays.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DelayReport {
    /// One message delay in nanoseconds.
    pub unit: u64,
    /// Mutual exclusion: from request to entry, with the section free and no other process waiting. Multicast: from the
    /// first message of a process to each delivery by another one. Agreement: from the first proposal to each decision.
    /// Election: from the request to learning the leader. Clocks: from the request to the adjustment.
    pub client: DelayStatistics,
    /// From exit to the next entry, with a process waiting.
    pub synchronisation: DelayStatistics,
}

impl DelayReport {
    /// Compares all delays with the promises of the algorithm.
    pub(crate) fn compare(&mut self) {
        self.client.compare();
        self.synchronisation.compare();
    }
}

/// Statistics of a series of delays.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DelayStatistics {
    /// Number of delays measured.
    pub count: u64,
    /// Mean in message delays.
    pub mean: Option<f64>,
    /// Shortest delay in nanoseconds.
    pub min: u64,
    /// Longest delay in nanoseconds.
    pub max: u64,
    /// Promise of the algorithm in message delays: minimum and maximum.
    pub promised: [u64; 2],
    /// Whether the promise was kept; none if the run cannot be compared with it.
    pub kept: Option<bool>,
}

impl DelayStatistics {
    /// Creates the statistics, with the mean in units of `unit`.
    pub fn new(spread: SpanSummary, unit: Span, promised: [u64; 2]) -> Self {
        let (min, max) = (spread.min.0, spread.max.0);
        Self { count: spread.count, mean: spread.mean_in(unit), min, max, promised, kept: None }
    }

    /// Compares the mean with the promise. A timeout is a little longer than the delays that it waits for.
    fn compare(&mut self) {
        const TOLERANCE: f64 = 0.01;
        let [least, most] = self.promised.map(|delays| delays as f64);
        self.kept = self.mean.map(|mean| (least - TOLERANCE..=most + TOLERANCE).contains(&mean));
    }
}

/// Use of the resources in a resource allocation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AllocationReport {
    /// Greatest number of processes that were inside together.
    pub most_inside: usize,
}

/// Detection results and cost of a failure detector.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DetectionReport {
    /// Length of a round in nanoseconds.
    pub round: u64,
    /// Number of rounds that began.
    pub rounds: u64,
    /// The kind of message that is counted by round.
    pub kind: &'static str,
    /// Mean number of these messages per round.
    pub per_round: f64,
    /// Maximum number of these messages in any round.
    pub per_round_most: u64,
    /// Promised number of rounds after a crash until every process knows of it.
    pub promised_rounds: Option<u64>,
    /// Crashes and recoveries in order, with their detection.
    pub changes: Vec<ChangeReport>,
    /// Number of suspicions of live processes.
    pub false_suspicions: u64,
}

/// A crash or a recovery, and its detection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangeReport {
    /// The process that crashed or recovered.
    pub process: u32,
    /// The kind of change: `crash` or `recovery`.
    pub change: &'static str,
    /// Time of the change in nanoseconds.
    pub time: u64,
    /// Number of processes that noticed the change.
    pub noticed: usize,
    /// The first notice of the change.
    pub first: Option<NoticeReport>,
    /// The last notice of the change.
    pub last: Option<NoticeReport>,
    /// Live processes that did not know of the change at the end.
    pub missing: Vec<u32>,
}

/// Results of a multicast.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MulticastReport {
    /// Number of messages that were multicast.
    pub multicasts: u64,
    /// Number of processes that each multicast is for.
    pub members: usize,
    /// Processes that sent at least one multicast.
    pub senders: Vec<u32>,
    /// Number of deliveries, summed over all processes.
    pub deliveries: u64,
    /// Number of messages that every member has delivered, except members that crashed and traitors.
    pub everywhere: u64,
}

/// Results of the snapshots of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SnapshotReport {
    /// Number of snapshots that were begun.
    pub snapshots: u64,
    /// Processes that began a snapshot.
    pub initiators: Vec<u32>,
    /// Number of snapshots that every live process has completed.
    pub completed: u64,
    /// Number of transfers that the computation sent.
    pub transfers: u64,
    /// Number of transfers in the recorded states of all channels.
    pub in_flight: u64,
}

/// Results of the detection of a stable property.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StablePropertyReport {
    /// The property: `termination`, `and-deadlock` or `or-deadlock`.
    pub property: &'static str,
    /// Number of messages of the computation.
    pub computation_messages: u64,
    /// Number of times that a process began to wait for others.
    pub waits: u64,
    /// Processes that announced the property, in order.
    pub announced: Vec<u32>,
}

/// Results of clock synchronisation. Times and offsets are in
/// nanoseconds. An offset is how far a clock is ahead of the true time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClockReport {
    /// Time that a true clock shows at the start, chosen so that no clock is below zero.
    pub start: u64,
    /// Maximum drift of any clock, in parts per billion, as configured.
    pub drift_ppb: i64,
    /// Minimum message delay, as configured.
    pub delay_least: u64,
    /// Processes whose clocks serve as the reference.
    pub servers: Vec<u32>,
    /// Number of clock settings, except those of servers.
    pub settings: u64,
    /// Number of failed attempts to set a clock.
    pub failures: u64,
    /// Results for each clock that was set, or failed to be set.
    pub clocks: Vec<AdjustedClock>,
    /// Precision of clocks that were set in the same round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<PrecisionReport>,
}

/// State of a clock when it was last set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AdjustedClock {
    /// The process that the clock belongs to.
    pub process: u32,
    /// Number of times that it was set.
    pub settings: u64,
    /// Number of failed attempts to set it.
    pub failures: u64,
    /// Time when it was last set.
    pub time: Option<u64>,
    /// Offset of the machine's own clock at that time.
    pub before: Option<i64>,
    /// Offset of the corrected clock at that time.
    pub after: Option<i64>,
    /// Maximum difference from the reference that it was set by.
    pub error: Option<u64>,
    /// Offset just before the last setting, if the clock had been set before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drifted: Option<i64>,
    /// Maximum error that was allowed just before the last setting: against the true time, or against the agreed time
    /// advanced by the true time since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drifted_most: Option<u64>,
}

impl AdjustedClock {
    /// A clock that has not been set yet.
    pub fn new(process: ProcessId) -> Self {
        Self {
            process: process.number(),
            settings: 0,
            failures: 0,
            time: None,
            before: None,
            after: None,
            error: None,
            drifted: None,
            drifted_most: None,
        }
    }
}

/// Precision of clocks that were set in the same round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PrecisionReport {
    /// Number of synchronisation rounds.
    pub rounds: u64,
    /// Processes that were master in any round.
    pub masters: Vec<u32>,
    /// Maximum distance of the machines' own clocks in the last round.
    pub before: u64,
    /// Maximum distance of the corrected clocks in the last round.
    pub after: u64,
    /// Maximum distance of any two clocks in any round, each at the moment of its setting.
    pub worst: u64,
    /// Distance that was allowed for those two clocks.
    pub worst_most: u64,
}

/// Results of an agreement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AgreementReport {
    /// Number of faults that the algorithm was configured to tolerate.
    #[serde(rename = "bears")]
    pub tolerates: Option<usize>,
    /// Processes that neither crashed nor are traitors.
    pub correct: Vec<u32>,
    /// Proposal of each process, starting with process 0.
    pub proposals: Vec<Option<u64>>,
    /// Proposals as text: `attack`, and `-` for none.
    #[serde(rename = "said")]
    pub proposal_texts: Vec<String>,
    /// Decision of each process: a value, or a vector with one value per process. None for traitors.
    pub decisions: Vec<Option<DecisionReport>>,
    /// Decisions as text, in the form used by expectations: `attack`, `4 3 - 1`, and `-` for none.
    #[serde(rename = "told")]
    pub decision_texts: Vec<String>,
    /// Processes that cannot decide until a crashed process recovers.
    pub blocked: Vec<u32>,
}

/// A decision: a value, or a vector with one value per process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum DecisionReport {
    /// A single decided value.
    Value(u64),
    /// A vector with one value per process.
    Vector(Vec<Option<u64>>),
}

/// Distribution of the load over the processes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoadReport {
    /// Mean load of a process.
    pub mean: f64,
    /// Population standard deviation of the load.
    pub standard_deviation: f64,
    /// Maximum load of a process.
    pub max: u64,
    /// The process with the maximum load, the first if there are several.
    pub busiest: u32,
}

impl LoadReport {
    /// Computes the load from the messages that each process sent and received.
    pub fn new(messages: &Messages) -> Self {
        let pairs = messages.by_process.iter().zip(&messages.by_receiver);
        let loads: Vec<u64> = pairs.map(|(sent, received)| sent + received).collect();
        let count = loads.len().max(1) as f64;
        let mean = loads.iter().sum::<u64>() as f64 / count;
        let squares: f64 =
            loads.iter().map(|&load| (load as f64 - mean) * (load as f64 - mean)).sum();
        let max = loads.iter().max().copied().unwrap_or(0);
        let busiest = loads.iter().position(|&load| load == max).unwrap_or(0) as u32;
        Self { mean, standard_deviation: (squares / count).sqrt(), max, busiest }
    }
}

/// Results of an election.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ElectionReport {
    /// The leader that all live processes with a decision name; none if they differ or none has decided.
    pub leader: Option<u32>,
    /// Identifier that the leader was elected with.
    pub identifier: Option<u64>,
    /// Leaders that live processes name, with their followers.
    pub camps: Vec<CampReport>,
    /// Number of elections that users have begun.
    pub begun: u64,
    /// Number of times that a process learned of a leader.
    pub decisions: u64,
    /// Time from the start of the first election to the last decision, in nanoseconds.
    pub duration: Option<u64>,
}

/// A leader and its followers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CampReport {
    /// The process that leads.
    pub leader: u32,
    /// Identifier that the leader was elected with.
    pub identifier: u64,
    /// Whether the leader is up.
    pub up: bool,
    /// Live processes that name this leader.
    pub followers: Vec<u32>,
}

/// Results of a replicated log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReplicationReport {
    /// Number of commands that clients submitted.
    pub submitted: u64,
    /// Number of leaders that were elected.
    pub leaders_elected: u64,
    /// The leader of each term that had one, in the order of terms, up to the first thousand.
    pub leaders: Vec<TermLeaderReport>,
    /// The greatest term that any process entered.
    pub terms: u64,
    /// Number of indices that at least one process applied, no-ops included.
    pub committed: u64,
    /// Number of commands that every live process applied.
    pub everywhere: u64,
    /// Number of messages for each committed entry; none if no entry was committed.
    pub messages_per_entry: Option<f64>,
    /// The commands in the order in which they were applied, with `-` for a no-op, up to the first thousand.
    pub applied: Vec<String>,
}

/// The leader of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TermLeaderReport {
    /// The term that the process led.
    pub term: u64,
    /// The process that led it.
    pub leader: u32,
    /// Time of its election in nanoseconds.
    pub time: u64,
}

/// Transport of a run between real processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TransportReport {
    /// Name of the transport.
    pub transport: &'static str,
    /// Slowdown compared with the scenario. Times in the report are those of the scenario.
    pub stretch: u32,
}

/// A fault that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FaultReport {
    /// Time of the fault in nanoseconds.
    pub time: u64,
    /// Description of the fault in words.
    #[serde(rename = "what")]
    pub description: String,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}
