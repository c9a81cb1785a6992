//! Report on elections, as text.

use std::io::{self, Write};

use quorate_core::{ProcessId, Time};
use quorate_sim::monitor::name_all;
use quorate_sim::report::{CampReport, ElectionReport, Report};

use super::verdict::line;

/// Prints the leader, the followers of each leader if there are several, and the elections begun by users.
pub(super) fn write(
    out: &mut impl Write,
    report: &Report,
    election: &ElectionReport,
) -> io::Result<()> {
    match election.camps.as_slice() {
        [] => line(out, "leader", "none".to_owned())?,
        [camp] => {
            line(out, "leader", format!("{}, followed by {}", leader(camp), followers(camp)))?
        }
        camps => {
            line(out, "leaders", format!("{} at the same time", camps.len()))?;
            for camp in camps {
                line(out, "", format!("{}, followed by {}", leader(camp), followers(camp)))?;
            }
        }
    }
    if !report.waiting.is_empty() {
        let names = name_all(report.waiting.iter().map(|process| ProcessId::new(*process)));
        line(out, "", format!("no leader for {names}"))?;
    }
    let begun = match election.begun {
        0 => "none started by users".to_owned(),
        1 => "1 started by a user".to_owned(),
        some => format!("{some} started by users"),
    };
    let took = election
        .duration
        .map(|took| format!(", {} from the first start to the last decision", Time(took)));
    let decisions = match election.decisions {
        1 => "1 decision".to_owned(),
        some => format!("{some} decisions"),
    };
    line(out, "elections", format!("{begun}; {decisions}{}", took.unwrap_or_default()))
}

fn leader(camp: &CampReport) -> String {
    let down = if camp.up { "" } else { ", down" };
    format!("p{} (identifier {}{down})", camp.leader, camp.identifier)
}

fn followers(camp: &CampReport) -> String {
    name_all(camp.followers.iter().map(|follower| ProcessId::new(*follower)))
}
