//! Report of a campaign, as text or JSON.

use std::io::{self, Write};

use quorate_lab::CONFORMANCE;
use quorate_lab::campaign::{CampaignReport, CampaignRequest, Cluster, Stopped};

use super::style::{BAD, BOLD, FAINT, GOOD};
use crate::command::sim::quoted;

/// Prints the report to stdout.
pub(crate) fn print(
    request: &CampaignRequest,
    report: &CampaignReport,
    json: bool,
) -> io::Result<()> {
    let mut out = crate::output::stdout();
    if json {
        serde_json::to_writer(&mut out, report)?;
        return writeln!(out);
    }
    write_title(&mut out, report)?;
    let width = report.properties.iter().map(|property| property.id.len()).max().unwrap_or(0);
    for property in &report.properties {
        let tally = (property.violated, property.holds);
        let (mark, style, text) = match tally {
            (0, 0) => ("-", FAINT, "not promised by this algorithm".to_owned()),
            (0, _) => ("✓", GOOD, format!("held in {}", runs(property.holds))),
            (broken, _) => ("✗", BAD, format!("violated in {} of {}", broken, runs(report.runs))),
        };
        writeln!(out, "  {style}{mark} {:<width$}{style:#}  {text}", property.id)?;
    }
    writeln!(out)?;
    for (index, cluster) in report.clusters.iter().take(CLUSTERS_MOST).enumerate() {
        write_cluster(&mut out, request, cluster, index)?;
    }
    if report.clusters.len() > CLUSTERS_MOST {
        let more = report.clusters.len() - CLUSTERS_MOST;
        writeln!(out, "  and {more} more causes; --json lists all\n")?;
    }
    if report.entries > 0 {
        line(&mut out, "entries", format!("{} of {} requests", report.entries, report.requests))?;
    }
    line(&mut out, "crashes", report.crashes.to_string())?;
    if report.traitors > 0 {
        line(&mut out, "traitors", report.traitors.to_string())?;
    }
    if report.healed > 0 {
        let (healed, after) = (runs(report.healed), report.requests_after);
        line(&mut out, "healed", format!("{healed}, with {after} requests after the last fault"))?;
    }
    line(&mut out, "messages", report.messages.to_string())?;
    line(&mut out, "events", report.events.to_string())?;
    line(&mut out, "hangs", runs(report.hangs))?;
    let no_quorum = runs(report.no_quorum);
    line(&mut out, "no quorum", format!("{no_quorum} in which a requester gave up"))?;
    if report.undecided > 0 {
        line(&mut out, "undecided", format!("{} stopped at a limit", runs(report.undecided)))?;
    }
    if report.outside_assumptions > 0 {
        let outside = runs(report.outside_assumptions);
        line(&mut out, "outside", format!("{outside} broke an assumption"))?;
    }
    let width =
        report.broken_assumptions.iter().map(|left| left.assumption.len()).max().unwrap_or(0);
    for left in &report.broken_assumptions {
        let broken: Vec<String> =
            left.broken.iter().map(|(id, count)| format!("{id} violated in {count}")).collect();
        let broken =
            if broken.is_empty() { "nothing violated".to_owned() } else { broken.join(", ") };
        let (assumption, runs) = (&left.assumption, runs(left.runs));
        line(&mut out, "", format!("{assumption:<width$} broken in {runs}: {broken}"))?;
    }
    writeln!(out)?;
    let all = runs(report.runs);
    let (style, verdict) = match report.violated_runs() {
        0 => (GOOD, format!("no violation in {all}")),
        violated => (BAD, format!("violated in {violated} of {all}")),
    };
    let stopped = match report.stopped {
        None => "",
        Some(Stopped::Violation) => "; stopped at the first violation",
        Some(Stopped::Interrupted) => "; stopped before the last seed",
    };
    writeln!(out, "{BOLD}verdict{BOLD:#}: {style}{verdict}{style:#}{stopped}")?;
    out.flush()
}

/// Maximum number of causes listed.
const CLUSTERS_MOST: usize = 10;

fn write_title(out: &mut impl Write, report: &CampaignReport) -> io::Result<()> {
    let processes = match report.processes {
        [1, 1] => ", 1 process".to_owned(),
        [fewest, most] if fewest > most => String::new(),
        [fewest, most] if fewest == most => format!(", {most} processes"),
        [fewest, most] => format!(", {fewest} to {most} processes"),
    };
    let quorums = report.quorums.as_ref().map(|name| format!(" over {name}")).unwrap_or_default();
    let (name, first) = (&report.algorithm, report.seed);
    let seeds = match report.runs.checked_sub(1) {
        Some(more) => format!("seeds {first} to {}", first + more),
        None => "no seeds".to_owned(),
    };
    writeln!(out, "{BOLD}{name}{quorums}{processes}, {seeds}{BOLD:#}\n")
}

/// Prints one cause: its summary, its smallest scenario, and the command that replays it.
fn write_cluster(
    out: &mut impl Write,
    request: &CampaignRequest,
    cluster: &Cluster,
    index: usize,
) -> io::Result<()> {
    let name = format!("cause {}", index + 1);
    let (property, first) = (&cluster.property, cluster.first);
    let mut summary = format!("{property} in {}, first with seed {first}", runs(cluster.runs));
    if cluster.shortest != first {
        let (seed, events) = (cluster.shortest, cluster.events);
        summary += &format!(", shortest with seed {seed} ({events} events)");
    }
    if !cluster.broken_assumptions.is_empty() {
        summary += &format!("; broken assumptions: {}", cluster.broken_assumptions.join(" and "));
    }
    line(out, &name, summary)?;
    line(out, "", cluster.detail.clone())?;
    if let Some(shrunk) = &cluster.shrunk {
        let left = [
            count(shrunk.processes as u64, "process", "processes"),
            count(shrunk.requests, "request", "requests"),
            count(shrunk.faults as u64, "fault", "faults"),
        ];
        let tried = if shrunk.is_minimal { "" } else { "; perhaps not minimal" };
        line(out, "", format!("shrunk to {} ({}{tried}):", left.join(", "), runs(shrunk.runs)))?;
        line(out, "", shrunk.detail.clone())?;
    }
    let conform = if property == CONFORMANCE { " --conform" } else { "" };
    match (&cluster.scenario, &cluster.toml) {
        (Some(path), _) => {
            line(out, "", format!("replay: quorate replay {}{conform}", quoted(path)))?;
        }
        (None, Some(toml)) => {
            line(
                out,
                "",
                format!(
                    "replay: save the following scenario to a file for `quorate replay{conform}`"
                ),
            )?;
            write!(out, "\n{toml}")?;
        }
        (None, None) => {
            line(out, "", format!("save it: {} --save .", command(request, cluster.first)))?;
        }
    }
    writeln!(out)
}

/// Command that runs a single seed of the campaign.
pub(crate) fn command(request: &CampaignRequest, seed: u64) -> String {
    let range = |[fewest, most]: [usize; 2]| match fewest == most {
        true => fewest.to_string(),
        false => format!("{fewest}..{most}"),
    };
    let mut command = format!("quorate campaign {}", request.algorithm);
    command += &format!(" -n {}", range(request.processes));
    if let Some(crashes) = request.crashes {
        command += &format!(" --crashes {}", range(crashes));
    }
    if let Some(quorums) = &request.quorums {
        command += &format!(" --quorums {}", quoted(quorums));
    }
    if request.break_assumptions {
        command += " --beyond";
    }
    if request.follows_model {
        command += " --conform";
    }
    for property in &request.watch {
        command += &format!(" --watch {}", quoted(property));
    }
    format!("{command} --seed {seed} --seeds 1")
}

fn runs(number: u64) -> String {
    count(number, "run", "runs")
}

fn count(number: u64, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

fn line(out: &mut impl Write, name: &str, text: String) -> io::Result<()> {
    writeln!(out, "  {FAINT}{name:<9}{FAINT:#} {text}")
}
