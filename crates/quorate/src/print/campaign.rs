//! What came of a campaign, for people or for programs.

use std::io::{self, Write};

use quorate_lab::campaign::{CampaignReport, Worlds};

use super::style::{BAD, BOLD, FAINT, GOOD};
use crate::arguments::Campaign;
use crate::command::sim::quoted;

/// Prints what was found.
pub(crate) fn print(worlds: &Worlds, report: &CampaignReport, flags: &Campaign) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    if flags.json {
        serde_json::to_writer(&mut out, report)?;
        return writeln!(out);
    }
    let processes = match report.processes {
        [1, 1] => "1 process".to_owned(),
        [fewest, most] if fewest == most => format!("{most} processes"),
        [fewest, most] => format!("{fewest} to {most} processes"),
    };
    let quorums = worlds.quorums.as_ref().map(|name| format!(" over {name}")).unwrap_or_default();
    let last = report.seed + (report.runs - 1);
    writeln!(
        out,
        "{BOLD}{}{quorums}, {processes}, seeds {} to {last}{BOLD:#}\n",
        report.algorithm, report.seed
    )?;
    for property in &report.properties {
        let tally = (property.violated, property.holds);
        let (mark, style, text) = match tally {
            (0, 0) => ("-", FAINT, "not promised by this algorithm".to_owned()),
            (0, _) => ("✓", GOOD, format!("held in {}", runs(property.holds))),
            (broken, _) => ("✗", BAD, format!("broken in {} of {}", broken, runs(report.runs))),
        };
        writeln!(out, "  {style}{mark} {}{style:#}  {text}", property.id)?;
        if property.violated > 0 {
            write_first(&mut out, report, flags, property.id)?;
        }
    }
    writeln!(out)?;
    if report.entries > 0 {
        line(&mut out, "entries", format!("{} of {} requests", report.entries, report.requests))?;
    }
    line(&mut out, "crashes", report.crashes.to_string())?;
    if report.traitors > 0 {
        line(&mut out, "traitors", report.traitors.to_string())?;
    }
    line(&mut out, "messages", report.messages.to_string())?;
    line(&mut out, "events", report.events.to_string())?;
    line(&mut out, "hangs", runs(report.hangs))?;
    let no_quorum = runs(report.no_quorum);
    line(&mut out, "no quorum", format!("{no_quorum} in which somebody gave up"))?;
    if report.undecided > 0 {
        line(&mut out, "undecided", format!("{} stopped", runs(report.undecided)))?;
    }
    if report.outside_assumptions > 0 {
        let outside = runs(report.outside_assumptions);
        line(&mut out, "outside", format!("{outside} broke an assumption"))?;
    }
    writeln!(out)?;
    let all = runs(report.runs);
    let (style, verdict) = match report.violated_runs() {
        0 => (GOOD, format!("nothing was violated in {all}")),
        violated => (BAD, format!("violated in {violated} of {all}")),
    };
    writeln!(out, "{BOLD}verdict{BOLD:#}: {style}{verdict}{style:#}")?;
    out.flush()
}

/// The first run that broke a property, and how to see it again.
fn write_first(
    out: &mut impl Write,
    report: &CampaignReport,
    flags: &Campaign,
    id: &str,
) -> io::Result<()> {
    let Some(first) = report.violations.iter().find(|found| found.property == id) else {
        return Ok(());
    };
    writeln!(out, "         seed {}, {} processes: {}", first.seed, first.processes, first.detail)?;
    match &first.scenario {
        Some(path) => writeln!(out, "         replay: quorate replay {}", quoted(path)),
        None => writeln!(out, "         keep it: {}", keep_command(flags, first.seed)),
    }
}

/// The command that writes the scenario of one seed.
fn keep_command(flags: &Campaign, seed: u64) -> String {
    let range = |range: &std::ops::RangeInclusive<usize>| match range.start() == range.end() {
        true => range.start().to_string(),
        false => format!("{}..{}", range.start(), range.end()),
    };
    let mut command = format!("quorate campaign {}", flags.algorithm);
    command += &format!(" -n {}", range(&flags.processes.0));
    if let Some(crashes) = &flags.crashes {
        command += &format!(" --crashes {}", range(&crashes.0));
    }
    if let Some(quorums) = &flags.quorums {
        command += &format!(" --quorums {}", quoted(quorums));
    }
    for property in &flags.watch {
        command += &format!(" --watch {}", quoted(property));
    }
    format!("{command} --seed {seed} --seeds 1 --keep .")
}

fn runs(count: u64) -> String {
    if count == 1 { "1 run".to_owned() } else { format!("{count} runs") }
}

fn line(out: &mut impl Write, name: &str, text: String) -> io::Result<()> {
    writeln!(out, "  {FAINT}{name:<9}{FAINT:#} {text}")
}
