//! Expectations that a scenario states about its run, and their comparison with the report.

use std::collections::BTreeMap;

use quorate_core::{Drift, Layer, Offset, ProcessId};
use serde::{Deserialize, Serialize};

use super::local_clock::LocalClock;
use crate::observe::monitor::Status;
use crate::run::report::{AdjustedClock, Report, Verdict};

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

impl Expect {
    /// Turns a report into expectations that it meets.
    pub fn from_report(report: &Report) -> Self {
        let properties =
            report.properties.iter().map(|property| (property.id.to_owned(), property.status));
        let own = report.messages.by_kind.0.iter();
        // Messages of a detector do not count as the algorithm's.
        let lower_layers =
            report.layers.iter().filter(|(layer, _)| **layer != Layer::Detector.name());
        let below = lower_layers.flat_map(|(_, messages)| messages.by_kind.0.iter());
        let by_kind = own
            .chain(below.filter(|(_, count)| *count > 0))
            .map(|(kind, count)| ((*kind).to_owned(), *count));
        Self {
            verdict: Some(report.verdict),
            entries: Some(report.entries),
            order: Some(report.order.clone()),
            messages: Some(report.messages.total),
            waiting: Some(report.waiting.clone()),
            deliveries: deliveries(report),
            leaders: leaders(report),
            bytes: report.messages.bytes,
            decisions: decisions(report),
            detection_rounds: detection_rounds(report),
            false_suspicions: false_suspicions(report),
            offsets: offsets(report),
            failures: failures(report),
            broken_assumptions: Some(broken(report)),
            sends: None,
            properties: properties.collect(),
            by_kind: by_kind.collect(),
        }
    }

    /// Lists every difference between the run and the expectations, one sentence each.
    pub fn differences(&self, report: &Report) -> Vec<String> {
        let mut all = Vec::new();
        compare(&mut all, "verdict", self.verdict.as_ref(), &report.verdict);
        compare(&mut all, "entries", self.entries.as_ref(), &report.entries);
        compare(&mut all, "order of entries", self.order.as_ref(), &report.order);
        compare(&mut all, "messages", self.messages.as_ref(), &report.messages.total);
        compare(&mut all, "waiting", self.waiting.as_ref(), &report.waiting);
        let own = [
            ("deliveries", self.deliveries, deliveries(report)),
            ("bytes", self.bytes, report.messages.bytes),
            ("rounds of detection", self.detection_rounds, detection_rounds(report)),
            ("false suspicions", self.false_suspicions, false_suspicions(report)),
            ("failures", self.failures, failures(report)),
        ];
        for (name, expected, found) in own.into_iter().filter(|(_, expected, _)| expected.is_some())
        {
            compare(&mut all, name, Some(&expected), &found);
        }
        if self.offsets.is_some() {
            compare(&mut all, "offsets", Some(&self.offsets), &offsets(report));
        }
        if self.leaders.is_some() {
            compare(&mut all, "leaders", Some(&self.leaders), &leaders(report));
        }
        if self.decisions.is_some() {
            compare(&mut all, "decisions", Some(&self.decisions), &decisions(report));
        }
        compare(&mut all, "broken assumptions", self.broken_assumptions.as_ref(), &broken(report));
        compare(&mut all, "sends", self.sends.as_ref(), &report.messages.by_process);
        for (id, expected) in &self.properties {
            let found = report.properties.iter().find(|property| property.id == id);
            let status = found.map_or(Status::NotChecked, |property| property.status);
            compare(&mut all, id, Some(expected), &status);
        }
        for (kind, expected) in &self.by_kind {
            let layers = report.layers.values().chain([&report.messages]);
            let count: u64 = layers.map(|messages| messages.by_kind.of(kind)).sum();
            compare(&mut all, kind, Some(expected), &count);
        }
        all
    }
}

fn deliveries(report: &Report) -> Option<u64> {
    report.multicast.as_ref().map(|multicast| multicast.deliveries)
}

fn leaders(report: &Report) -> Option<Vec<u32>> {
    let camps = &report.election.as_ref()?.camps;
    Some(camps.iter().map(|camp| camp.leader).collect())
}

fn decisions(report: &Report) -> Option<Vec<String>> {
    report.agreement.as_ref().map(|agreement| agreement.decision_texts.clone())
}

fn detection_rounds(report: &Report) -> Option<u64> {
    let changes = &report.detection.as_ref()?.changes;
    changes.iter().filter_map(|change| change.last).map(|last| last.rounds).max()
}

fn false_suspicions(report: &Report) -> Option<u64> {
    report.detection.as_ref().map(|detection| detection.false_suspicions)
}

fn offsets(report: &Report) -> Option<Vec<LocalClock>> {
    let offset = |clock: &AdjustedClock| {
        let (process, drift) = (ProcessId::new(clock.process), Drift::NONE);
        clock.after.map(|after| LocalClock { process, offset: Offset(after), drift })
    };
    report.clock.as_ref().map(|clock| clock.clocks.iter().filter_map(offset).collect())
}

fn failures(report: &Report) -> Option<u64> {
    report.clock.as_ref().map(|clock| clock.failures)
}

fn broken(report: &Report) -> Vec<String> {
    let broken = report.assumptions.iter().filter(|assumption| !assumption.met);
    broken.map(|assumption| assumption.id.to_owned()).collect()
}

fn compare<T: PartialEq + Serialize>(
    all: &mut Vec<String>,
    name: &str,
    expected: Option<&T>,
    found: &T,
) {
    let text = |value: &T| serde_json::to_string(value).unwrap_or_default();
    if let Some(expected) = expected.filter(|expected| *expected != found) {
        all.push(format!("{name}: expected {}, found {}", text(expected), text(found)));
    }
}
