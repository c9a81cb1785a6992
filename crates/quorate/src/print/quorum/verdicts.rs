//! Properties of the quorums, each with the way it was determined.

use std::io::{self, Write};

use quorate_check::quorums::{
    DisjointQuorums, NonMonotoneStep, QuorumReport, SurvivalBySize, ViewQuorumReport,
};
use quorate_core::ProcessId;
use quorate_sim::monitor::name_all;

use super::in_braces;
use crate::print::style::{BAD, BOLD, FAINT, GOOD};

pub(super) fn write(out: &mut impl Write, report: &QuorumReport) -> io::Result<()> {
    if report.quorums_built > 0 {
        write_figures(out, report)?;
        write_maekawa(out, report)?;
    } else {
        writeln!(out, "  no process has a quorum under this view\n")?;
    }
    write_meetings(out, report)?;
    write_survival(out, report)
}

fn write_figures(out: &mut impl Write, report: &QuorumReport) -> io::Result<()> {
    let live = report.processes - report.failed.len();
    let known = if report.quorums_built + report.without_quorum.len() == live {
        String::new()
    } else {
        format!(", in {} quorums that were built", report.quorums_built)
    };
    let size = range(report.size.min, report.size.max);
    line(out, "size", format!("{size} of {} processes{known}", report.processes))?;
    let degree = match (report.degree.min, report.degree.max) {
        (Some(min), Some(max)) => {
            format!("{}: number of quorums that contain a live process", range(min, max))
        }
        _ => "not counted, because not all quorums were built".to_owned(),
    };
    line(out, "degree", degree)?;
    if let (Some(load), Some(busiest)) = (report.load, report.busiest) {
        let how = "if all processes use their quorums equally often";
        line(out, "load", format!("{load:.3} on p{busiest}, the busiest process, {how}"))?;
    }
    let minimal = match report.nested {
        None => format!("yes: no quorum contains another ({} compared)", compared(report)),
        Some(nested) => format!("no: p{}'s quorum contains p{}'s", nested.outer, nested.inner),
    };
    line(out, "minimal", minimal)?;
    if !report.without_quorum.is_empty() {
        let names = name_all(report.without_quorum.iter().copied().map(ProcessId::new));
        line(out, "", format!("no quorum for {names}"))?;
    }
    writeln!(out)
}

fn write_maekawa(out: &mut impl Write, report: &QuorumReport) -> io::Result<()> {
    let (size, degree) = (report.size, report.degree);
    let maekawa = report.maekawa;
    writeln!(out, "{BOLD}Maekawa's conditions, under this view{BOLD:#}")?;
    let compared = compared(report);
    check(
        out,
        maekawa.every_two_meet,
        &format!("every two quorums intersect ({compared} compared)"),
    )?;
    check(out, maekawa.own_contains_oneself, "every process is in its own quorum")?;
    let sizes = range(size.min, size.max);
    check(out, maekawa.equal_sizes, &format!("all quorums have the same size ({sizes})"))?;
    let sentence = "all processes are in equally many quorums";
    match (maekawa.equal_degrees, degree.min, degree.max) {
        (Some(equal), Some(min), Some(max)) => {
            check(out, equal, &format!("{sentence} ({})", range(min, max)))?;
        }
        _ => writeln!(out, "  {FAINT}-{FAINT:#} {sentence}: not counted")?,
    }
    writeln!(out)
}

fn write_meetings(out: &mut impl Write, report: &QuorumReport) -> io::Result<()> {
    let how = match report.exhaustive {
        true => format!("all {} views, in all pairs", report.views),
        false => format!("{} sampled views, in pairs", report.views),
    };
    writeln!(out, "{BOLD}do quorums intersect? {BOLD:#}{FAINT}({how}){FAINT:#}")?;
    let none_disjoint = if report.exhaustive { "" } else { "; no disjoint ones were found" };
    let meets = |holds: bool, sentence: &str| match holds {
        true => format!("{sentence}{none_disjoint}"),
        false => sentence.to_owned(),
    };
    let within = report.meets_within_view;
    check(out, within, &meets(within, "within a view: quorums of any two processes"))?;
    if let Some(disjoint) = &report.disjoint_within_view {
        write_disjoint(out, disjoint)?;
    }
    let across = report.meets_across_views;
    check(out, across, &meets(across, "across views: quorums of any two views and processes"))?;
    if !report.meets_across_views && report.meets_across_views_of_live {
        writeln!(out, "    but quorums of two processes alive in both views always intersect")?;
    }
    if let Some(disjoint) = &report.disjoint_across_views {
        write_disjoint(out, disjoint)?;
    }
    match &report.disjoint_after_crashes {
        Some(disjoint) if report.disjoint_across_views.as_ref() != Some(disjoint) => {
            writeln!(out, "    or, if the first is taken before any failure:")?;
            write_disjoint(out, disjoint)?;
        }
        _ => {}
    }
    write_monotone(out, report)?;
    writeln!(out)
}

fn write_monotone(out: &mut impl Write, report: &QuorumReport) -> io::Result<()> {
    // Where any two quorums intersect, a mutex need not agree on crashes at all.
    let use_of_it = match report.meets_across_views {
        true => "",
        false => "; a mutex over settled crashes needs this",
    };
    let none_found = match report.monotone && !report.exhaustive {
        true => "; no counterexample was found",
        false => "",
    };
    let sentence = "monotone: a quorum gets new members only after one of its members fails";
    check(out, report.monotone, &format!("{sentence}{use_of_it}{none_found}"))?;
    match &report.not_monotone {
        Some(step) => write_step(out, step),
        None if report.monotone => Ok(()),
        None => writeln!(out, "    quorums of one view do not intersect, which it also needs"),
    }
}

fn write_step(out: &mut impl Write, step: &NonMonotoneStep) -> io::Result<()> {
    let NonMonotoneStep { process, failed, quorum, further, after } = step;
    let although = "although none of its members has failed";
    writeln!(out, "      {}", describe(*process, quorum, failed))?;
    let Some(after) = after else {
        return writeln!(out, "      no quorum is left if p{further} fails too, {although}");
    };
    let mut failed: Vec<u32> = failed.iter().chain([further]).copied().collect();
    failed.sort_unstable();
    let new: Vec<u32> = after.iter().filter(|member| !quorum.contains(member)).copied().collect();
    writeln!(out, "      {}", describe(*process, after, &failed))?;
    let new = name_all(new.into_iter().map(ProcessId::new));
    writeln!(out, "      the failure of p{further} adds {new} to the quorum, {although}")
}

fn write_disjoint(out: &mut impl Write, disjoint: &DisjointQuorums) -> io::Result<()> {
    let ViewQuorumReport { process, failed, .. } = &disjoint.first;
    for taken in [&disjoint.first, &disjoint.second] {
        writeln!(out, "      {}", describe(taken.process, &taken.members, &taken.failed))?;
    }
    if *failed != disjoint.second.failed
        && disjoint.left_of_first.len() < disjoint.first.members.len()
    {
        let left = in_braces(&disjoint.left_of_first);
        writeln!(out, "      of p{process}'s quorum, {left} has not failed in the second view")?;
    }
    Ok(())
}

/// Formats a quorum, its owner and its view.
fn describe(process: u32, members: &[u32], failed: &[u32]) -> String {
    let knows = match failed {
        [] => "no failures".to_owned(),
        failed => format!("{} failed", in_braces(failed)),
    };
    format!("p{process:<3} {}   {FAINT}{knows}{FAINT:#}", in_braces(members))
}

fn write_survival(out: &mut impl Write, report: &QuorumReport) -> io::Result<()> {
    let survives = &report.survives;
    writeln!(
        out,
        "{BOLD}failures it survives{BOLD:#}{FAINT} (starting without failures){FAINT:#}"
    )?;
    let how_many = match survives.exact {
        true => format!("any {}", survives.every),
        false => format!("at most {}, by the sets that were tried", survives.every),
    };
    let killing = in_braces(&survives.killing_set);
    let remainder = match survives.exact {
        _ if survives.killing_set.len() == report.processes => {
            "only the failure of all processes leaves none".to_owned()
        }
        true => format!("a smallest set that leaves none: {killing}"),
        false => format!("a set that leaves none: {killing}"),
    };
    writeln!(out, "  {how_many}: every live process has a quorum; {remainder}")?;
    if let Some(some) = survives.some.filter(|some| *some != survives.every) {
        writeln!(out, "  any {some}: some live process has a quorum")?;
    }
    let partly = |of_size: &&SurvivalBySize| {
        of_size.failures > 0 && of_size.failures < report.processes && of_size.survived < of_size.of
    };
    let kind = if survives.exact { "sets" } else { "sampled sets" };
    for of_size in survives.by_size.iter().filter(partly) {
        let SurvivalBySize { failures, survived, of } = of_size;
        writeln!(out, "  {survived} of {of} {kind} of {failures} failures")?;
        if *survived == 0 {
            break;
        }
    }
    Ok(())
}

/// Describes how many of the quorums were compared pairwise.
fn compared(report: &QuorumReport) -> String {
    let live = report.processes - report.failed.len();
    match report.maekawa.compared {
        all if all + report.without_quorum.len() == live => format!("all {all}"),
        some => format!("{some} of them"),
    }
}

fn check(out: &mut impl Write, holds: bool, sentence: &str) -> io::Result<()> {
    let (mark, style) = if holds { ("✓", GOOD) } else { ("✗", BAD) };
    writeln!(out, "  {style}{mark}{style:#} {sentence}")
}

fn line(out: &mut impl Write, name: &str, text: String) -> io::Result<()> {
    writeln!(out, "  {FAINT}{name:<9}{FAINT:#} {text}")
}

fn range(min: usize, max: usize) -> String {
    if min == max { min.to_string() } else { format!("{min} to {max}") }
}
