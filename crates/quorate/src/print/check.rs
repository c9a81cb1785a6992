//! Report of an exhaustive search, as text or JSON.

use std::io::{self, Write};

use quorate_core::Layer;
use quorate_lab::catalogue;
use quorate_lab::exhaustive::{CheckOutcome, SafetyReport};
use quorate_sim::monitor::Status;

use super::style::{BAD, BOLD, FAINT, GOOD};
use crate::arguments::CheckFlags;
use crate::command::sim::quoted;

/// Maximum number of steps of a counterexample that are printed.
const STEPS_MOST: usize = 60;

/// Prints the report to stdout.
pub(crate) fn print(checked: &CheckOutcome, flags: &CheckFlags) -> io::Result<()> {
    let mut out = crate::output::stdout();
    let report = &checked.report;
    if flags.json {
        serde_json::to_writer(&mut out, report)?;
        return writeln!(out);
    }
    writeln!(out, "{BOLD}{}{BOLD:#}\n", title(flags))?;
    for property in &report.properties {
        let (mark, style) = match property.status {
            Status::Holds => ("✓", GOOD),
            Status::Violated => ("✗", BAD),
            Status::NotChecked => ("-", FAINT),
        };
        writeln!(out, "  {style}{mark} {}{style:#}  {}", property.id, property.detail)?;
    }
    for id in &report.outside {
        writeln!(out, "  {BAD}!{BAD:#} outside the assumptions of {}: {id}", report.algorithm)?;
    }
    writeln!(out)?;
    for (index, step) in checked.steps.iter().take(STEPS_MOST).enumerate() {
        writeln!(out, "  {FAINT}{:>4}{FAINT:#}  {step}", index + 1)?;
    }
    match checked.steps.len().saturating_sub(STEPS_MOST) {
        0 => {}
        more => writeln!(out, "        and {more} more")?,
    }
    if !checked.steps.is_empty() {
        writeln!(out)?;
    }
    let (states, depth) = (report.states, report.depth);
    let (style, verdict) = match (report.verdict, report.bounded_by) {
        ("holds", _) => (GOOD, format!("holds in all {states} states, to depth {depth}")),
        ("violated", _) => (BAD, format!("violated, found after {states} states")),
        (_, why) => {
            let of_depth = report.expected.map(|it| format!(" of about {}", it.depth));
            let of_states = report.expected.map(|it| {
                let [least, most] = [it.states_least, it.states_most].map(few_digits);
                format!(" of roughly {least} to {most}")
            });
            let (of_depth, of_states) =
                (of_depth.unwrap_or_default(), of_states.unwrap_or_default());
            (
                BOLD,
                format!(
                    "no violation to depth {depth}{of_depth} in {states} states{of_states}; the search is incomplete ({})",
                    why.unwrap_or("bounded")
                ),
            )
        }
    };
    writeln!(out, "{BOLD}verdict{BOLD:#}: {style}{verdict}{style:#}")?;
    if let Some(validated) = &report.validated {
        let states = validated.states;
        let of =
            if validated.all { format!("all {states}") } else { format!("the first {states}") };
        writeln!(out, "forms:   validated in {of} states without reductions")?;
    }
    if let Some(safety) = &report.safety_only {
        writeln!(out, "scope:   {}", scope(safety, report.verdict))?;
    }
    if let (Some("memory" | "stopped"), Some(file)) =
        (report.bounded_by, flags.checkpoint.as_ref().or(flags.resume.as_ref()))
    {
        writeln!(
            out,
            "go on:   the same command with --resume {}",
            quoted(&file.display().to_string())
        )?;
    }
    match (&report.counterexample, &checked.scenario) {
        (Some(path), _) => writeln!(out, "replay:  quorate replay {}", quoted(path))?,
        (None, Some(_)) => writeln!(out, "save it: the same command with --save FILE")?,
        (None, None) if !checked.steps.is_empty() => writeln!(out, "{}", no_scenario(checked))?,
        (None, None) => {}
    }
    out.flush()
}

/// A large number as `2e8`, without digits that an estimate does not know.
pub(crate) fn few_digits(number: u64) -> String {
    match number {
        ..10_000 => number.to_string(),
        _ => format!("{:.0e}", number as f64),
    }
}

/// The part of the properties that a search for safety has checked, and how likely it is that it has missed a state.
fn scope(safety: &SafetyReport, verdict: &str) -> String {
    let liveness = match (verdict, safety.every_run_ends) {
        ("violated", _) => String::new(),
        (_, true) => "every run ends, so starvation was checked as well; ".to_owned(),
        (_, false) => "starvation was not checked; ".to_owned(),
    };
    format!(
        "safety and deadlocks; {liveness}a state was missed with a probability of at most {:.0e}",
        safety.omission_probability
    )
}

/// Explains why the counterexample cannot be saved as a scenario.
fn no_scenario(checked: &CheckOutcome) -> String {
    // The steps of a cycle come last, and the report does not count them.
    let last = checked.steps.len();
    let before_cycle = checked.report.counterexample_steps.unwrap_or(last);
    match last.saturating_sub(before_cycle) {
        // Without a cycle, the explorer omits the scenario only for these two reasons.
        0 => "cannot be saved: a scenario needs exact times, which a search with timers or recoveries leaves open"
            .to_owned(),
        1 => format!("cannot be saved: step {last} repeats forever, but a scenario ends"),
        _ => {
            let first = before_cycle + 1;
            format!("cannot be saved: steps {first} to {last} repeat forever, but a scenario ends")
        }
    }
}

fn title(flags: &CheckFlags) -> String {
    let plural = if flags.processes == 1 { "" } else { "es" };
    let over = flags.quorums.as_ref().map(|name| format!(" over {name}")).unwrap_or_default();
    let mut title = format!("{}{over}, {} process{plural}", flags.algorithm, flags.processes);
    let doing = match family(&flags.algorithm) {
        Some(Layer::Agreement) => None,
        Some(Layer::Election) => Some("starting elections"),
        Some(Layer::Multicast) => Some("multicasting"),
        Some(Layer::Detection) => Some("computing"),
        Some(Layer::Snapshot) => Some("beginning snapshots"),
        Some(Layer::Replication) => Some("submitting"),
        _ => Some("requesting"),
    };
    if let Some(doing) = doing {
        title += &format!(", {} {doing} {} each", flags.requesters, times(flags.requests));
    }
    let faults = [
        (flags.crashes, "crash", "crashes"),
        (flags.recoveries, "recovery", "recoveries"),
        (flags.losses, "loss", "losses"),
        (flags.suspicions, "false suspicion", "false suspicions"),
    ];
    for (count, one, many) in faults.into_iter().filter(|(count, ..)| *count > 0) {
        title += &format!(", up to {count} {}", if count == 1 { one } else { many });
        if let Some(crashing) = flags.crashing.as_ref().filter(|_| one == "crash") {
            let names: Vec<String> = crashing.0.iter().map(|it| it.to_string()).collect();
            title += &format!(" of {}", names.join(" "));
        }
    }
    title
}

fn family(algorithm: &str) -> Option<Layer> {
    catalogue().get(algorithm).map(|entry| entry.facts().profile.layer)
}

fn times(count: u8) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        count => format!("{count} times"),
    }
}
