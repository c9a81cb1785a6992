//! Expectations that a scenario states about its run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::local_clock::LocalClock;
use super::verdict::{Status, Verdict};

/// Expected results of a run. Fields that are absent are not compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Expect {
    /// Expected verdict of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Number of entries into the critical section.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries: Option<u64>,
    /// The processes that enter, in order of entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<Vec<u32>>,
    /// Number of messages that the algorithm sends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<u64>,
    /// The processes that still wait at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Vec<u32>>,
    /// Number of multicast deliveries, summed over all processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deliveries: Option<u64>,
    /// The leaders that live processes name at the end: a single one if they agree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leaders: Option<Vec<u32>>,
    /// Total size of the algorithm's messages in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The decision of each process as text: `attack`, `4 3 - 1` for a vector, `-` for no decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decisions: Option<Vec<String>>,
    /// Maximum number of rounds that a detector takes until every process knows of a crash or a recovery.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detection_rounds: Option<u64>,
    /// Number of times that a detector suspects a live process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub false_suspicions: Option<u64>,
    /// Offset of each corrected clock from the true time when it was last set: `1:-20us`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offsets: Option<Vec<LocalClock>>,
    /// Number of times that a clock could not be set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failures: Option<u64>,
    /// Identifiers of the assumptions that the run breaks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broken_assumptions: Option<Vec<String>>,
    /// Expected status of properties: `ME1 = "holds"`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, Status>,
    /// Number of messages that each process sends, starting with process 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sends: Option<Vec<u64>>,
    /// Number of messages of single kinds: `REPLY = 8`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub by_kind: BTreeMap<String, u64>,
}
