//! What came of elections, for people.

use std::io::{self, Write};

use quorate_core::{ProcessId, Time};
use quorate_sim::monitor::name_all;
use quorate_sim::report::{CampReport, ElectionReport, Report};

use super::verdict::line;

/// Who leads, who follows whom if they differ, and what users began.
pub(super) fn write(
    out: &mut impl Write,
    report: &Report,
    election: &ElectionReport,
) -> io::Result<()> {
    match election.camps.as_slice() {
        [] => line(out, "leader", "none".to_owned())?,
        [camp] => line(out, "leader", format!("{}, for {}", leader(camp), followers(camp)))?,
        camps => {
            line(out, "leaders", format!("{} at once", camps.len()))?;
            for camp in camps {
                line(out, "", format!("{}, for {}", leader(camp), followers(camp)))?;
            }
        }
    }
    if !report.waiting.is_empty() {
        let names = name_all(report.waiting.iter().map(|process| ProcessId::new(*process)));
        line(out, "", format!("none for {names}"))?;
    }
    let begun = match election.begun {
        0 => "none begun by users".to_owned(),
        1 => "1 begun by a user".to_owned(),
        some => format!("{some} begun by users"),
    };
    let took = election.duration.map(|took| format!(", {} from first to last", Time(took)));
    let decisions = match election.decisions {
        1 => "1 decision".to_owned(),
        some => format!("{some} decisions"),
    };
    line(out, "elections", format!("{begun}; {decisions}{}", took.unwrap_or_default()))
}

fn leader(camp: &CampReport) -> String {
    let down = if camp.up { "" } else { ", which is down" };
    format!("p{} with {}{down}", camp.leader, camp.identifier)
}

fn followers(camp: &CampReport) -> String {
    name_all(camp.followers.iter().map(|follower| ProcessId::new(*follower)))
}
