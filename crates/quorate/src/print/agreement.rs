//! Proposals and decisions of a run.

use std::io::{self, Write};

use quorate_core::ProcessId;
use quorate_sim::Report;
use quorate_sim::monitor::name_all;
use quorate_sim::report::AgreementReport;

use super::verdict::line;

/// Maximum number of proposals listed.
const SHOWN: usize = 12;

pub(super) fn write(
    out: &mut impl Write,
    report: &Report,
    agreement: &AgreementReport,
) -> io::Result<()> {
    let proposals = agreement.proposals.iter().enumerate().filter(|(_, value)| value.is_some());
    let proposals: Vec<String> = proposals
        .map(|(process, _)| format!("p{process} {}", agreement.proposal_texts[process]))
        .collect();
    let more = match proposals.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let shown = &proposals[..proposals.len().min(SHOWN)];
    line(out, "proposed", format!("{}{more}", shown.join(", ")))?;
    for (index, (decision, processes)) in decisions(agreement).into_iter().enumerate() {
        let name = if index == 0 { "decided" } else { "" };
        line(out, name, format!("{decision} by {}", name_all(processes)))?;
    }
    let named = |processes: &[u32]| name_all(processes.iter().map(|p| ProcessId::new(*p)));
    if !agreement.blocked.is_empty() {
        line(
            out,
            "blocked",
            format!("{}, until a crashed process recovers", named(&agreement.blocked)),
        )?;
    }
    let lost = report.processes - agreement.correct.len();
    match (agreement.tolerates, lost) {
        (Some(tolerated), _) => line(out, "faulty", format!("{lost}, tolerates {tolerated}")),
        (None, 0) => Ok(()),
        (None, lost) => line(out, "faulty", format!("{lost}")),
    }
}

/// Decisions with the processes that made them, in the order of the first process of each.
fn decisions(agreement: &AgreementReport) -> Vec<(&str, Vec<ProcessId>)> {
    let mut decisions: Vec<(&str, Vec<ProcessId>)> = Vec::new();
    for (process, decision) in agreement.decisions.iter().enumerate() {
        if decision.is_none() {
            continue;
        }
        let (text, process) =
            (agreement.decision_texts[process].as_str(), ProcessId::from_index(process));
        match decisions.iter_mut().find(|(decision, _)| *decision == text) {
            Some((_, all)) => all.push(process),
            None => decisions.push((text, vec![process])),
        }
    }
    decisions
}
