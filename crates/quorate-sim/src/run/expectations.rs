//! Compares the report of a run with the expectations of its scenario.

use quorate_core::{Drift, Layer, Offset, ProcessId};
use serde::Serialize;

use super::report::{AdjustedClock, Report};
use crate::scenario::{Expect, LocalClock, Status};

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
