//! Report on a quorum system as text: a drawing, the quorums, and their properties.

mod drawing;
mod verdicts;

use std::io::{self, Write};

use quorate_check::quorums::QuorumReport;
use quorate_core::quorum::AnySystem;
use quorate_core::{ProcessId, ProcessSet};
use quorate_sim::monitor::name_all;

use super::style::BOLD;

/// Maximum number of quorums printed.
const QUORUMS_MOST: usize = 16;
/// Maximum number of quorums printed of a very large system.
const QUORUMS_OF_VERY_MANY: usize = 4;
/// Maximum number of paths of a tree printed.
const PATHS_MOST: usize = 8;
/// Maximum number of members of a quorum printed.
const MEMBERS_MOST: usize = 24;

/// Prints the report on a system, as text or JSON.
pub(crate) fn print(
    system: &AnySystem,
    report: &QuorumReport,
    failed: &ProcessSet,
    shown: ProcessId,
    json: bool,
) -> io::Result<()> {
    let mut out = crate::output::stdout();
    if json {
        serde_json::to_writer(&mut out, report)?;
        return writeln!(out);
    }
    write_title(&mut out, report, failed)?;
    drawing::write(&mut out, system, failed, shown)?;
    write_quorums(&mut out, report, failed)?;
    write_paths(&mut out, report)?;
    verdicts::write(&mut out, report)?;
    out.flush()
}

fn write_title(out: &mut impl Write, report: &QuorumReport, failed: &ProcessSet) -> io::Result<()> {
    let plural = if report.processes == 1 { "" } else { "es" };
    let failed = match failed.is_empty() {
        true => String::new(),
        false => format!(", failed: {}", name_all(failed)),
    };
    writeln!(out, "{BOLD}{}, {} process{plural}{failed}{BOLD:#}\n", report.system, report.processes)
}

fn write_quorums(
    out: &mut impl Write,
    report: &QuorumReport,
    failed: &ProcessSet,
) -> io::Result<()> {
    let most = if report.quorums_left_out == 0 { QUORUMS_MOST } else { QUORUMS_OF_VERY_MANY };
    writeln!(out, "{BOLD}quorums{BOLD:#}")?;
    for own in report.quorums.iter().take(most) {
        let process = ProcessId::new(own.process);
        let text = match &own.members {
            Some(members) => in_braces(members),
            None if failed.contains(process) => "failed".to_owned(),
            None => "no quorum".to_owned(),
        };
        writeln!(out, "  {:<6} {text}", process.to_string())?;
    }
    match report.processes - report.quorums.len().min(most) {
        0 => writeln!(out),
        more if report.quorums_left_out == 0 => {
            writeln!(out, "  and {more} more; --json lists all\n")
        }
        more => writeln!(out, "  and {more} more\n"),
    }
}

/// The paths of a tree, of which a process uses the left-most one.
fn write_paths(out: &mut impl Write, report: &QuorumReport) -> io::Result<()> {
    if report.paths.is_empty() {
        return Ok(());
    }
    let in_place = if report.failed.is_empty() {
        ""
    } else {
        ", with both subtrees in place of a failed process"
    };
    writeln!(out, "{BOLD}paths{BOLD:#}, each of which is enough{in_place}")?;
    for path in report.paths.iter().take(PATHS_MOST) {
        writeln!(out, "  {}", in_braces(path))?;
    }
    let more = report.paths_left_out || report.paths.len() > PATHS_MOST;
    writeln!(out, "{}", if more { "  and more; --json lists up to 32\n" } else { "" })
}

/// Formats `{0, 1, 4}`; a long set is truncated and followed by its size.
fn in_braces(members: &[u32]) -> String {
    let shown: Vec<String> = members.iter().take(MEMBERS_MOST).map(u32::to_string).collect();
    let more = match members.len() {
        all if all > MEMBERS_MOST => format!(", .. {all} in all"),
        _ => String::new(),
    };
    format!("{{{}{more}}}", shown.join(", "))
}
