//! What came of a run, for programs: the JSON that `sim` and `replay` print.

use std::collections::BTreeMap;

use quorate_core::{Cost, ProcessId, Span};
use serde::{Deserialize, Serialize};

use crate::accounting::{KindCounts, LayerAccount};
use crate::entry_delays::SpanSummary;
use crate::monitor::{Evidence, Status};

/// The outcome in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every watched property held, inside the assumptions.
    Holds,
    /// A watched property was broken.
    Violated,
    /// Nothing was broken, but the run left the algorithm's assumptions.
    OutsideAssumptions,
}

/// Everything that is known of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The algorithm's name.
    pub algorithm: String,
    /// The family it belongs to.
    pub family: &'static str,
    /// How many processes there were.
    pub processes: usize,
    /// The seed.
    pub seed: u64,
    /// The outcome.
    pub verdict: Verdict,
    /// What became of each property.
    pub properties: Vec<PropertyReport>,
    /// What became of each assumption.
    pub assumptions: Vec<AssumptionReport>,
    /// How many requests were made.
    pub requests: u64,
    /// How often anybody entered; nobody does where there is no section.
    pub entries: u64,
    /// Who entered, in order, the first ten thousand.
    pub order: Vec<u32>,
    /// The messages of the algorithm's own layer.
    pub messages: Messages,
    /// The messages of the layers below it.
    pub layers: BTreeMap<&'static str, Messages>,
    /// Messages that did not arrive, by reason, all layers together.
    pub lost: BTreeMap<&'static str, u64>,
    /// Messages that arrived twice.
    pub duplicated: u64,
    /// What the algorithm promised to cost, and what it cost.
    pub cost: CostReport,
    /// How long entries took.
    pub delays: DelayReport,
    /// What a detector noticed, if the algorithm is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detection: Option<DetectionReport>,
    /// What was multicast and delivered, if the algorithm does that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multicast: Option<MulticastReport>,
    /// What became of clocks, if the algorithm sets them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockReport>,
    /// Who leads and what it took, if the algorithm elects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub election: Option<ElectionReport>,
    /// What was proposed and decided, if the algorithm is an agreement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreement: Option<AgreementReport>,
    /// How the work was spread: messages sent and received by each process, own layer.
    pub load: LoadReport,
    /// Who still waits.
    pub waiting: Vec<u32>,
    /// Who gave up because no quorum was left.
    pub no_quorum: Vec<u32>,
    /// What it ran over, if not in the simulator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over: Option<TransportReport>,
    /// The time at which the run ended, in nanoseconds.
    pub virtual_time: u64,
    /// How many events there were: inputs that a process handled or missed, and faults.
    pub events: u64,
    /// How many messages were delivered.
    pub deliveries: u64,
    /// Why the run ended.
    pub ending: &'static str,
    /// What went wrong, in order.
    pub faults: Vec<FaultReport>,
    /// How often the ME3 monitor had to merge vector clocks: the price of watching it.
    pub me3_merges: Option<u64>,
}

/// What became of a property.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PropertyReport {
    /// Its name.
    pub id: &'static str,
    /// What became of it.
    pub status: Status,
    /// In a sentence.
    pub detail: String,
    /// Whether the algorithm promises it.
    pub promised: bool,
    /// When it was broken, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<u64>,
    /// What led to a violation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Evidence>,
}

/// What became of an assumption.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AssumptionReport {
    /// Its name.
    pub id: &'static str,
    /// What it says.
    pub sentence: &'static str,
    /// Whether the run kept it.
    pub met: bool,
    /// What broke it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broken_by: Option<String>,
}

/// The messages of a layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Messages {
    /// All of them.
    pub total: u64,
    /// Those to oneself, which are in `total` unless they were asked to be left out.
    #[serde(rename = "self")]
    pub to_self: u64,
    /// How many bytes they have, where the algorithm counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// By kind.
    pub by_kind: KindCounts,
    /// Sends of each process.
    pub by_process: Vec<u64>,
    /// Receipts of each process.
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

/// A promise about messages and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CostReport {
    /// The formula for messages per entry, or whatever else is counted.
    pub formula: &'static str,
    /// For what it is paid: an entry, a multicast, an election, or a round of a detector.
    pub per: &'static str,
    /// What it gives here: the least and the most per entry.
    pub promised_per_entry: [u64; 2],
    /// Messages per entry, if anybody entered.
    pub per_entry: Option<f64>,
    /// Whether the promise was kept; none where there is nothing to compare.
    pub kept: Option<bool>,
}

impl CostReport {
    /// So many messages were paid for so many entries, or whatever it is paid for.
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

/// How long entries took, in nanoseconds and in message delays.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DelayReport {
    /// One message delay, in nanoseconds.
    pub unit: u64,
    /// From request to entry, with the section free and nobody else waiting; from the first multicast of a process
    /// to each delivery by another; or from the first proposal to each decision.
    pub client: DelayStatistics,
    /// From exit to the next entry, with somebody waiting.
    pub synchronisation: DelayStatistics,
}

/// Some delays in a nutshell.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DelayStatistics {
    /// How many were measured.
    pub count: u64,
    /// The mean in message delays.
    pub mean: Option<f64>,
    /// The shortest, in nanoseconds.
    pub min: u64,
    /// The longest, in nanoseconds.
    pub max: u64,
    /// What the algorithm promises, in message delays: the least and the most.
    pub promised: [u64; 2],
}

impl DelayStatistics {
    /// These delays, in units of `unit`.
    pub fn new(spread: SpanSummary, unit: Span, promised: [u64; 2]) -> Self {
        let (min, max) = (spread.min.0, spread.max.0);
        Self { count: spread.count, mean: spread.mean_in(unit), min, max, promised }
    }
}

/// What a failure detector noticed, and at what price.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DetectionReport {
    /// How long a round takes, in nanoseconds.
    pub round: u64,
    /// How many rounds began.
    pub rounds: u64,
    /// The kind of message that is counted by the round.
    pub kind: &'static str,
    /// How many of them a round has in the mean.
    pub per_round: f64,
    /// The most in any round.
    pub per_round_most: u64,
    /// What is promised: how many rounds after a crash everybody knows of it.
    pub promised_rounds: Option<u64>,
    /// Crashes and recoveries in order, and who noticed when.
    pub changes: Vec<ChangeReport>,
    /// How often anybody suspected one that was up.
    pub false_suspicions: u64,
}

/// A crash or a recovery, and who noticed it when.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangeReport {
    /// Who crashed or came back.
    pub process: u32,
    /// `crash` or `recovery`.
    pub change: &'static str,
    /// When, in nanoseconds.
    pub time: u64,
    /// How many noticed.
    pub noticed: usize,
    /// Who noticed first.
    pub first: Option<NoticeReport>,
    /// Who noticed last.
    pub last: Option<NoticeReport>,
    /// Who was up at the end and did not know.
    pub missing: Vec<u32>,
}

/// Somebody noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct NoticeReport {
    /// Who.
    pub observer: u32,
    /// How long after the change, in nanoseconds.
    pub after: u64,
    /// How many rounds after the one of the change.
    pub rounds: u64,
}

/// What was multicast and delivered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MulticastReport {
    /// How many messages were multicast.
    pub multicasts: u64,
    /// How many processes each is for.
    pub members: usize,
    /// Who multicast any.
    pub senders: Vec<u32>,
    /// How often anybody delivered one.
    pub deliveries: u64,
    /// How many messages every member has that did not crash.
    pub everywhere: u64,
}

/// What became of clocks. Times and offsets are in nanoseconds; an offset is how far a clock is ahead of the true time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClockReport {
    /// What a right clock shows at the start, so that none is below zero.
    pub start: u64,
    /// No clock was said to gain or lose more than this, in parts per billion.
    pub drift_ppb: i64,
    /// The least time that a message was said to take.
    pub delay_least: u64,
    /// Those whose clocks others were set by.
    pub servers: Vec<u32>,
    /// How often any clock was set, those of servers apart.
    pub settings: u64,
    /// How often none could be.
    pub failures: u64,
    /// Each clock that was set, or was to be.
    pub clocks: Vec<AdjustedClock>,
    /// How near to each other clocks were that were set together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<PrecisionReport>,
}

/// A clock, the last time that it was set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AdjustedClock {
    /// Whose.
    pub process: u32,
    /// How often it was set.
    pub settings: u64,
    /// How often it could not be.
    pub failures: u64,
    /// When it was last set.
    pub time: Option<u64>,
    /// The offset of the machine's own clock then.
    pub before: Option<i64>,
    /// The offset of the corrected clock then.
    pub after: Option<i64>,
    /// By how much it might be off the time it was set by.
    pub error: Option<u64>,
    /// Where it had been set before: its offset just before it was set again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drifted: Option<i64>,
    /// By how much it might have been off then, the true time or the agreed one and as much true time since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drifted_most: Option<u64>,
}

impl AdjustedClock {
    /// One that was not set yet.
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

/// How near to each other clocks were that were set together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PrecisionReport {
    /// How many rounds there were.
    pub rounds: u64,
    /// Who was master in any.
    pub masters: Vec<u32>,
    /// How far the machines' own clocks were apart in the last round.
    pub before: u64,
    /// How far the corrected ones were.
    pub after: u64,
    /// The furthest that any two were apart, each at the moment of setting, in any round.
    pub worst: u64,
    /// How far those two might have been.
    pub worst_most: u64,
}

/// What was proposed and decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AgreementReport {
    /// How many faults the algorithm was to bear.
    #[serde(rename = "bears")]
    pub tolerates: Option<usize>,
    /// Who neither crashed nor lied.
    pub correct: Vec<u32>,
    /// What each process proposed, from process 0 on.
    pub proposals: Vec<Option<u64>>,
    /// The same in words: `attack`, and `-` for nothing.
    #[serde(rename = "said")]
    pub proposal_texts: Vec<String>,
    /// What each process decided: a value, or one for each process. Traitors are not asked.
    pub decisions: Vec<Option<DecisionReport>>,
    /// The same in words, as expectations name them: `attack`, `4 3 - 1`, and `-` for nothing.
    #[serde(rename = "told")]
    pub decision_texts: Vec<String>,
    /// Who can decide nothing until somebody comes back.
    pub blocked: Vec<u32>,
}

/// A decision: a value, or one for each process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum DecisionReport {
    /// One value.
    Value(u64),
    /// One for each process.
    Vector(Vec<Option<u64>>),
}

/// How the work was spread over the processes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoadReport {
    /// The mean.
    pub mean: f64,
    /// The population standard deviation.
    pub standard_deviation: f64,
    /// The most.
    pub max: u64,
    /// Who had the most, the first of them.
    pub busiest: u32,
}

impl LoadReport {
    /// The load of processes that sent and received so much.
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

/// Who leads in the end, and what it took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ElectionReport {
    /// Whom all live processes name that have decided; none if they differ or nobody has.
    pub leader: Option<u32>,
    /// With what it was elected.
    pub identifier: Option<u64>,
    /// The leaders that live processes name, and who names them.
    pub camps: Vec<CampReport>,
    /// How many elections users have begun.
    pub begun: u64,
    /// How often anybody came to know a leader.
    pub decisions: u64,
    /// From the first election's beginning to the last decision, in nanoseconds.
    pub duration: Option<u64>,
}

/// A leader and those who follow it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CampReport {
    /// The leader.
    pub leader: u32,
    /// With what it was elected.
    pub identifier: u64,
    /// Whether it is up.
    pub up: bool,
    /// The live processes that name it.
    pub followers: Vec<u32>,
}

/// A run between real processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TransportReport {
    /// What they talked over.
    pub transport: &'static str,
    /// How many times slower than the scenario says; times in the report are those of the scenario.
    pub stretch: u32,
}

/// Something that went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FaultReport {
    /// When, in nanoseconds.
    pub time: u64,
    /// What.
    #[serde(rename = "what")]
    pub description: String,
}
