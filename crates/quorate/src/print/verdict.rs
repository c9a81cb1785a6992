//! Verdict of a run as text.

use std::io::{self, Write};

use quorate_core::{ProcessId, Span, Time};
use quorate_sim::monitor::{Status, name_all};
use quorate_sim::report::{
    DelayStatistics, Messages, MulticastReport, PropertyReport, Report, SnapshotReport,
    StablePropertyReport, Verdict,
};
use quorate_sim::{Outcome, Scenario};

use super::style::{BAD, BOLD, FAINT, GOOD};
use super::{agreement, clock, detection, election, replication, timeline};

/// Maximum number of events shown that led to a violation.
const EVIDENCE_MOST: usize = 8;

/// One-line summary of a run.
pub(crate) fn title(scenario: &Scenario) -> String {
    let plural = if scenario.processes == 1 { "" } else { "es" };
    format!(
        "{}, {} process{plural}, seed {}",
        scenario.algorithm, scenario.processes, scenario.seed
    )
}

pub(crate) fn write(
    out: &mut impl Write,
    scenario: &Scenario,
    outcome: &Outcome,
    command: &str,
) -> io::Result<()> {
    let report = &outcome.report;
    writeln!(out, "{BOLD}{}{BOLD:#}\n", title(scenario))?;
    let width = report.properties.iter().map(|property| property.id.len()).max().unwrap_or(0);
    for property in &report.properties {
        write_property(out, property, width)?;
    }
    write_assumptions(out, report)?;
    writeln!(out)?;
    if let Some(detection) = &report.detection {
        detection::write(out, report, detection)?;
    } else if let Some(multicast) = &report.multicast {
        write_multicasts(out, report, multicast)?;
    } else if let Some(clock) = &report.clock {
        clock::write(out, report, clock)?;
    } else if let Some(election) = &report.election {
        election::write(out, report, election)?;
    } else if let Some(agreed) = &report.agreement {
        agreement::write(out, report, agreed)?;
    } else if let Some(snapshot) = &report.snapshot {
        write_snapshots(out, snapshot)?;
    } else if let Some(detected) = &report.stable_property {
        write_announcements(out, detected)?;
    } else if let Some(log) = &report.replication {
        replication::write(out, report, log)?;
    } else {
        write_entries(out, report)?;
    }
    write_messages(out, report)?;
    write_delays(out, report)?;
    write_faults(out, report)?;
    writeln!(out)?;
    if timeline::write(out, scenario, outcome)? {
        writeln!(out)?;
    }
    write_verdict(out, report, command)
}

fn write_property(out: &mut impl Write, property: &PropertyReport, width: usize) -> io::Result<()> {
    let (mark, style) = match property.status {
        Status::Holds => ("✓", GOOD),
        Status::Violated => ("✗", BAD),
        Status::NotChecked => ("-", FAINT),
    };
    writeln!(out, "  {style}{mark} {:<width$}{style:#}  {}", property.id, property.detail)?;
    for evidence in property.events.iter().take(EVIDENCE_MOST) {
        let time = Time(evidence.time).to_string();
        writeln!(
            out,
            "         {time:>9}  p{} {} {FAINT}(event {}){FAINT:#}",
            evidence.process, evidence.description, evidence.event
        )?;
    }
    match property.events.len().saturating_sub(EVIDENCE_MOST) {
        0 => Ok(()),
        more => writeln!(out, "         and {more} more"),
    }
}

fn write_assumptions(out: &mut impl Write, report: &Report) -> io::Result<()> {
    for assumption in &report.assumptions {
        if let Some(by) = &assumption.broken_by {
            writeln!(
                out,
                "  {BAD}!{BAD:#} outside the assumptions: \"{}\" does not hold: {by}",
                assumption.sentence
            )?;
        }
    }
    Ok(())
}

fn write_entries(out: &mut impl Write, report: &Report) -> io::Result<()> {
    const SHOWN: usize = 16;
    let order: Vec<String> =
        report.order.iter().take(SHOWN).map(|process| format!("p{process}")).collect();
    let more = if report.order.len() > SHOWN { " .." } else { "" };
    let order =
        if order.is_empty() { String::new() } else { format!(": {}{more}", order.join(" ")) };
    line(out, "entries", format!("{} of {} requests{order}", report.entries, report.requests))?;
    if let Some(allocation) = &report.allocation {
        let most = allocation.most_inside;
        line(out, "", format!("at most {most} inside at the same time"))?;
    }
    match report.no_quorum.as_slice() {
        [] => Ok(()),
        processes => {
            let names = name_all(processes.iter().map(|process| ProcessId::new(*process)));
            line(out, "", format!("gave up because no quorum is left: {names}"))
        }
    }
}

fn write_multicasts(
    out: &mut impl Write,
    report: &Report,
    multicast: &MulticastReport,
) -> io::Result<()> {
    let members = match multicast.members == report.processes {
        true => "all processes".to_owned(),
        false => format!("{} of {} processes", multicast.members, report.processes),
    };
    let senders = name_all(multicast.senders.iter().map(|process| ProcessId::new(*process)));
    let count = multicast.multicasts;
    let whole = match multicast.everywhere {
        all if all == count => "all".to_owned(),
        some => format!("{some}"),
    };
    let deliveries = match multicast.deliveries {
        1 => "1 delivery".to_owned(),
        some => format!("{some} deliveries"),
    };
    let text =
        format!("{count} by {senders} to {members}, {whole} delivered everywhere; {deliveries}");
    line(out, "sent", text)
}

fn write_snapshots(out: &mut impl Write, snapshot: &SnapshotReport) -> io::Result<()> {
    let initiators = name_all(snapshot.initiators.iter().map(|process| ProcessId::new(*process)));
    let SnapshotReport { snapshots, completed, transfers, in_flight, .. } = snapshot;
    let text = format!(
        "{snapshots} begun by {initiators}, {completed} complete; transfers sent: {transfers}, in recorded channels: {in_flight}"
    );
    line(out, "snapshots", text)
}

fn write_announcements(out: &mut impl Write, detected: &StablePropertyReport) -> io::Result<()> {
    let property = match detected.property {
        "termination" => "the end",
        _ => "a deadlock",
    };
    let by = match detected.announced.as_slice() {
        [] => format!("{property} was not announced"),
        all => {
            let names = name_all(all.iter().map(|process| ProcessId::new(*process)));
            format!("{property} was announced by {names}")
        }
    };
    let waits = match detected.waits {
        0 => String::new(),
        waits => format!(", {waits} waits"),
    };
    let messages = detected.computation_messages;
    line(out, "detected", format!("{by}; messages of the computation: {messages}{waits}"))
}

fn write_messages(out: &mut impl Write, report: &Report) -> io::Result<()> {
    // The promise of a detector is per round and is printed there.
    let promise = if report.detection.is_some() { String::new() } else { formula(report) };
    line(out, "messages", format!("{}{promise}", kinds(&report.messages)))?;
    for (layer, messages) in report.layers.iter().filter(|(_, messages)| messages.total > 0) {
        line(out, "", format!("{layer} layer, counted separately: {}", kinds(messages)))?;
    }
    if !report.lost.is_empty() {
        let lost: Vec<String> =
            report.lost.iter().map(|(why, count)| format!("{count} {why}")).collect();
        line(out, "", format!("not delivered: {}", lost.join(", ")))?;
    }
    if report.duplicated > 0 {
        line(out, "", format!("delivered twice: {}", report.duplicated))?;
    }
    if report.changed > 0 {
        line(out, "", format!("changed on their way: {}", report.changed))?;
    }
    let load = &report.load;
    line(
        out,
        "load",
        format!(
            "{:.1} sent and received per process, standard deviation {:.1}, maximum {} at p{}",
            load.mean, load.standard_deviation, load.max, load.busiest
        ),
    )
}

fn kinds(messages: &Messages) -> String {
    let kinds: Vec<String> =
        messages.by_kind.0.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    let own = if messages.to_self > 0 {
        format!(", {} to self", messages.to_self)
    } else {
        String::new()
    };
    let bytes = messages.bytes.map(|bytes| format!(", {bytes} bytes")).unwrap_or_default();
    match kinds.is_empty() {
        true => format!("{}", messages.total),
        false => format!("{} ({}{own}){bytes}", messages.total, kinds.join(", ")),
    }
}

/// Formats the promised cost with the measured one: `2(n - 1) = 8 per entry, 8 x 5 = 40 ✓`.
fn formula(report: &Report) -> String {
    let cost = &report.cost;
    let per = cost.per;
    let [least, most] = cost.promised_per_entry;
    let promised = range(least, most);
    let stated = if cost.formula == promised {
        promised.clone()
    } else {
        format!("{} = {promised}", cost.formula)
    };
    match (cost.kept, cost.per_entry) {
        (Some(true), _) => {
            let (count, counted) = match cost.per {
                "entry" => (report.entries, "entries"),
                "synchronisation" => (report.requests, "synchronisations"),
                "election" => (report.requests, "election"),
                "snapshot" => (report.requests, "snapshots"),
                "work" => (report.requests, "messages of the computation"),
                "wait" => (report.requests, "waits"),
                // There is only one agreement, so there is nothing to multiply.
                "agreement" => return format!("; promised {stated} {GOOD}✓{GOOD:#}"),
                _ => (report.requests, "multicasts"),
            };
            format!("; promised {stated} per {per}, {promised} x {count} {counted} {GOOD}✓{GOOD:#}")
        }
        (Some(false), Some(found)) => {
            format!("; promised {stated} per {per}, found {found:.2} {BAD}✗{BAD:#}")
        }
        _ => format!("; promised {stated} per {per}, not comparable here"),
    }
}

/// Formats a promised range. The maximum value stands for no limit.
fn range(least: u64, most: u64) -> String {
    match most {
        u64::MAX => format!("{least} or more"),
        most if most == least => format!("{least}"),
        most => format!("{least} to {most}"),
    }
}

fn write_delays(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let delays = &report.delays;
    let unit = Span(delays.unit);
    let text = |name: &str, delay: &DelayStatistics| {
        let [least, most] = delay.promised;
        let promised = range(least, most);
        let within = |mean: f64| (least as f64..=most as f64).contains(&mean);
        let remark = |mean: f64| match delay.kept {
            Some(false) => format!(" {BAD}✗{BAD:#}"),
            None if !within(mean) => ", not comparable here".to_owned(),
            _ => String::new(),
        };
        delay.mean.map(|mean| format!("{name} {mean:.2} (promised {promised}{})", remark(mean)))
    };
    let client = match (&report.multicast, &report.election, &report.agreement) {
        (Some(_), ..) => "to delivery",
        (_, Some(_), _) => "from the start of an election to its outcome",
        (.., Some(_)) => "to decision",
        (None, None, None) if report.clock.is_some() => "to set a clock",
        (None, None, None) if report.snapshot.is_some() => "to complete a snapshot",
        (None, None, None) => "to enter the free section",
    };
    let parts: Vec<String> =
        [text(client, &delays.client), text("from exit to next entry", &delays.synchronisation)]
            .into_iter()
            .flatten()
            .collect();
    if !parts.is_empty() {
        line(out, "delays", format!("{}, in message delays of {unit}", parts.join(", ")))?;
    }
    let ended = match report.ending {
        "quiescent" => "no events are left",
        "content" if report.detection.is_some() => "all processes have been right for a while",
        "content" => "all requests are satisfied",
        _ => "stopped",
    };
    let real = report.over.map_or(String::new(), |over| {
        format!(", stretched {} times over {}", over.stretch, over.transport)
    });
    let time = Time(report.virtual_time);
    line(out, "time", format!("{time}{real}, {} events; {ended}", report.events))
}

fn write_faults(out: &mut impl Write, report: &Report) -> io::Result<()> {
    const SHOWN: usize = 8;
    for (index, fault) in report.faults.iter().take(SHOWN).enumerate() {
        let name = if index == 0 { "faults" } else { "" };
        line(out, name, format!("{:>9}  {}", Time(fault.time).to_string(), fault.description))?;
    }
    match report.faults.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => line(out, "", format!("and {more} more")),
    }
}

fn write_verdict(out: &mut impl Write, report: &Report, command: &str) -> io::Result<()> {
    let outside = report.assumptions.iter().any(|assumption| !assumption.met);
    let (style, text) = match (report.verdict, outside) {
        (Verdict::Holds, _) => (GOOD, "holds"),
        (Verdict::OutsideAssumptions, _) => {
            (BOLD, "outside the assumptions, and nothing was violated in this run")
        }
        (Verdict::Violated, _) if !breaks_promise(report) => (BAD, "violated, but not promised"),
        (Verdict::Violated, true) => (BAD, "violated, outside the assumptions"),
        (Verdict::Violated, false) => (BAD, "violated, inside the assumptions"),
    };
    writeln!(out, "{BOLD}verdict{BOLD:#}: {style}{text}{style:#}")?;
    if report.verdict == Verdict::Violated {
        writeln!(out, "replay:  {command}")?;
    }
    Ok(())
}

fn breaks_promise(report: &Report) -> bool {
    report
        .properties
        .iter()
        .any(|property| property.promised && property.status == Status::Violated)
}

pub(super) fn line(out: &mut impl Write, name: &str, text: String) -> io::Result<()> {
    writeln!(out, "  {FAINT}{name:<9}{FAINT:#} {text}")
}
