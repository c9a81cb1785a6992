//! Report on clock synchronisation.

use std::io::{self, Write};

use quorate_core::{Drift, Offset, ProcessId, Span, Time};
use quorate_sim::Report;
use quorate_sim::monitor::name_all;
use quorate_sim::report::{AdjustedClock, ClockReport, PrecisionReport};

use super::style::FAINT;
use super::verdict::line;

/// Maximum number of clocks listed.
const SHOWN: usize = 16;

pub(super) fn write(out: &mut impl Write, report: &Report, clock: &ClockReport) -> io::Result<()> {
    let failures = match clock.failures {
        0 => String::new(),
        1 => ", 1 failed attempt".to_owned(),
        many => format!(", {many} failed attempts"),
    };
    let servers = match clock.servers.as_slice() {
        [] => String::new(),
        servers => format!(" by {}", named(servers)),
    };
    let known = format!(
        "known: messages take at least {}, clocks drift by at most {}",
        Span(clock.delay_least),
        Drift(clock.drift_ppb).to_string().trim_start_matches('+')
    );
    let times =
        if clock.settings == 1 { "once".to_owned() } else { format!("{} times", clock.settings) };
    line(out, "clocks", format!("set {times}{servers}{failures}; {known}"))?;
    if !clock.clocks.is_empty() {
        write_table(out, clock)?;
    }
    if let Some(precision) = &clock.precision {
        line(out, "precision", describe_precision(precision))?;
    }
    match report.waiting.as_slice() {
        [] => Ok(()),
        waiting => line(out, "", format!("still waiting to set the clock: {}", named(waiting))),
    }
}

/// Prints each clock before and after its last setting.
fn write_table(out: &mut impl Write, clock: &ClockReport) -> io::Result<()> {
    let head = ["", "machine", "corrected", "bound", "set at", "just before"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(clock.clocks.iter().take(SHOWN).map(row));
    // The last column is omitted if no clock has a value for it.
    let again = clock.clocks.iter().any(|clock| clock.drifted.is_some());
    let columns = if again { head.len() } else { head.len() - 1 };
    let width =
        |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for (index, row) in rows.iter().enumerate() {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}")).collect();
        let style = if index == 0 { FAINT } else { anstyle::Style::new() };
        line(out, "", format!("{style}{}{style:#}", cells.join("  ").trim_end()))?;
    }
    match clock.clocks.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => line(out, "", format!("and {more} more")),
    }
}

fn row(clock: &AdjustedClock) -> Vec<String> {
    let offset = |offset: Option<i64>| offset.map_or("-".to_owned(), |o| Offset(o).to_string());
    let most = |most: Option<u64>| most.map_or("-".to_owned(), |most| format!("±{}", Span(most)));
    vec![
        ProcessId::new(clock.process).to_string(),
        offset(clock.before),
        offset(clock.after),
        most(clock.error),
        clock.time.map_or("never".to_owned(), |time| Time(time).to_string()),
        match clock.drifted {
            Some(drifted) => {
                format!("{} {}", offset(Some(drifted)), most(clock.drifted_most))
            }
            None => String::new(),
        },
    ]
}

fn describe_precision(precision: &PrecisionReport) -> String {
    let rounds = if precision.rounds == 1 {
        "1 round".to_owned()
    } else {
        format!("{} rounds", precision.rounds)
    };
    format!(
        "{rounds} of {}: clocks differ by {} before, {} after; worst after a setting {}, bound {}",
        named(&precision.masters),
        Span(precision.before),
        Span(precision.after),
        Span(precision.worst),
        Span(precision.worst_most),
    )
}

fn named(processes: &[u32]) -> String {
    name_all(processes.iter().map(|process| ProcessId::new(*process)))
}
