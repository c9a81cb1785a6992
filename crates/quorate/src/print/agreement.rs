//! What was proposed and decided.

use std::io::{self, Write};

use quorate_core::ProcessId;
use quorate_sim::Report;
use quorate_sim::monitor::name_all;
use quorate_sim::report::AgreementReport;

use super::verdict::line;

/// Of more processes than this, only those are told apart that decided differently.
const SHOWN: usize = 12;

pub(super) fn write(
    out: &mut impl Write,
    report: &Report,
    agreement: &AgreementReport,
) -> io::Result<()> {
    let proposals = agreement.proposals.iter().enumerate().filter(|(_, value)| value.is_some());
    let proposals: Vec<String> =
        proposals.map(|(process, _)| format!("p{process} {}", agreement.said[process])).collect();
    let more = match proposals.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let shown = &proposals[..proposals.len().min(SHOWN)];
    line(out, "proposed", format!("{}{more}", shown.join(", ")))?;
    for (place, (decision, who)) in sides(agreement).into_iter().enumerate() {
        let name = if place == 0 { "decided" } else { "" };
        line(out, name, format!("{decision} by {}", name_all(who)))?;
    }
    let named = |processes: &[u32]| name_all(processes.iter().map(|p| ProcessId::new(*p)));
    if !agreement.blocked.is_empty() {
        line(out, "blocked", format!("{}, until somebody is back", named(&agreement.blocked)))?;
    }
    let lost = report.processes - agreement.correct.len();
    match (agreement.bears, lost) {
        (Some(bears), _) => line(out, "faulty", format!("{lost}, built to bear {bears}")),
        (None, 0) => Ok(()),
        (None, lost) => line(out, "faulty", format!("{lost}")),
    }
}

/// What was decided and by whom, in the order of the first process of each.
fn sides(agreement: &AgreementReport) -> Vec<(&str, Vec<ProcessId>)> {
    let mut sides: Vec<(&str, Vec<ProcessId>)> = Vec::new();
    for (process, decision) in agreement.decisions.iter().enumerate() {
        if decision.is_none() {
            continue;
        }
        let (told, who) = (agreement.told[process].as_str(), ProcessId::from_index(process));
        match sides.iter_mut().find(|(side, _)| *side == told) {
            Some((_, all)) => all.push(who),
            None => sides.push((told, vec![who])),
        }
    }
    sides
}
