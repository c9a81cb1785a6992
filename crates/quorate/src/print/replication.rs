//! Report on a replicated log, as text.

use std::io::{self, Write};

use quorate_core::{ProcessId, Time};
use quorate_sim::monitor::name_all;
use quorate_sim::report::{ReplicationReport, Report, TermLeaderReport};

use super::verdict::line;

/// Maximum number of leaders and of applied entries that are shown.
const SHOWN: usize = 12;

/// Prints the leaders, the committed entries and their cost.
pub(super) fn write(
    out: &mut impl Write,
    report: &Report,
    log: &ReplicationReport,
) -> io::Result<()> {
    let leader = |it: &TermLeaderReport| format!("p{} of term {}", it.leader, it.term);
    let leaders: Vec<String> = log.leaders.iter().take(SHOWN).map(leader).collect();
    let first = log.leaders.first().map(|it| format!(", the first at {}", Time(it.time)));
    let text = match leaders.as_slice() {
        [] => "none".to_owned(),
        some => {
            format!("{}{}{}", some.join(", "), more(log.leaders.len()), first.unwrap_or_default())
        }
    };
    line(out, "leaders", text)?;
    let applied: Vec<&str> = log.applied.iter().take(SHOWN).map(String::as_str).collect();
    let sequence = match applied.as_slice() {
        [] => String::new(),
        some => format!(": {}{}", some.join(" "), more(log.applied.len())),
    };
    let (count, whole) = (log.submitted, log.everywhere);
    let commands = if count == 1 { "command" } else { "commands" };
    line(out, "log", format!("{} committed entries{sequence}", log.committed))?;
    line(out, "", format!("{whole} of {count} {commands} applied by every live process"))?;
    if !report.waiting.is_empty() {
        let names = name_all(report.waiting.iter().map(|process| ProcessId::new(*process)));
        line(out, "", format!("commands are missing at {names}"))?;
    }
    match log.messages_per_entry {
        Some(cost) => line(out, "", format!("{cost:.1} messages per committed entry")),
        None => Ok(()),
    }
}

fn more(count: usize) -> &'static str {
    if count > SHOWN { " .." } else { "" }
}
