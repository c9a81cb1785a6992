//! Report on a failure detector: detected changes, and the cost of its rounds.

use std::io::{self, Write};

use quorate_core::{ProcessId, Span, Time};
use quorate_sim::Report;
use quorate_sim::monitor::name_all;
use quorate_sim::report::{ChangeReport, DetectionReport};

use super::style::{BAD, GOOD};
use super::verdict::line;

/// Maximum number of crashes and recoveries listed.
const SHOWN: usize = 8;

pub(super) fn write(
    out: &mut impl Write,
    report: &Report,
    detection: &DetectionReport,
) -> io::Result<()> {
    for (index, change) in detection.changes.iter().take(SHOWN).enumerate() {
        let name = if index == 0 { "noticed" } else { "" };
        line(out, name, describe_change(change))?;
    }
    match detection.changes.len().saturating_sub(SHOWN) {
        0 => {}
        more => line(out, "", format!("and {more} more"))?,
    }
    if let (Some(promised), false) = (detection.promised_rounds, detection.changes.is_empty()) {
        line(out, "", format!("promised within {promised} rounds of {}", Span(detection.round)))?;
    }
    if detection.false_suspicions > 0 {
        let plural = if detection.false_suspicions == 1 { "" } else { "s" };
        line(out, "", format!("{} false suspicion{plural}", detection.false_suspicions))?;
    }
    line(out, "rounds", rounds(report, detection))
}

/// Formats `crash of p3 at 5ms: first by p1 after 5ms (1 round), last by p4 after 13ms (3 rounds)`.
fn describe_change(change: &ChangeReport) -> String {
    let what = format!("{} of p{} at {}", change.change, change.process, Time(change.time));
    let (Some(first), Some(last)) = (change.first, change.last) else {
        return format!("{what}: by no process");
    };
    let rounds = |rounds| format!("{rounds} round{}", if rounds == 1 { "" } else { "s" });
    let missing = match change.missing.as_slice() {
        [] => String::new(),
        missing => {
            let names = name_all(missing.iter().map(|process| ProcessId::new(*process)));
            format!("; {names} had not noticed by the end")
        }
    };
    format!(
        "{what}: first by p{} after {} ({}), last by p{} after {} ({}){missing}",
        first.observer,
        Span(first.after),
        rounds(first.rounds),
        last.observer,
        Span(last.after),
        rounds(last.rounds)
    )
}

fn rounds(report: &Report, detection: &DetectionReport) -> String {
    let cost = &report.cost;
    let kept = match cost.kept {
        Some(true) => format!(" {GOOD}✓{GOOD:#}"),
        Some(false) => format!(" {BAD}✗{BAD:#}"),
        None => ", not comparable here".to_owned(),
    };
    let kind = detection.kind;
    format!(
        "{} of {}: {:.1} {kind} per round, maximum {}; promised at most {} = {}{kept}",
        detection.rounds,
        Span(detection.round),
        detection.per_round,
        detection.per_round_most,
        cost.formula,
        cost.promised_per_entry[1]
    )
}
