//! Compact timeline in text: one lane per process, time from left to right.

use std::io::{self, Write};

use quorate_core::{Layer, ProcessId, Time};
use quorate_sim::plan::Memory;
use quorate_sim::{Mark, Outcome, Scenario};

/// Maximum number of processes; with more a text timeline is unreadable.
const LANES_MOST: usize = 16;
/// Maximum number of marks of a readable timeline.
const MARKS_MOST: usize = 2_000;
const WIDTH: usize = 64;

const IDLE: char = ' ';
const WAITING: char = '·';
const INSIDE: char = '█';
const CRASH: char = '✗';
const DOWN: char = '~';
const BACK: char = '↑';
const SUSPECTS: char = '!';
const TRUSTS: char = '+';
const SENDS: char = '▲';
const DELIVERS: char = '●';
const SETS: char = '◷';
const FAILS: char = '∅';
const PROPOSES: char = '△';
const DECIDES: char = '◆';
const BLOCKED: char = '?';
const RECORDS: char = '■';
const ANNOUNCES: char = '◇';

/// Instantaneous marks. They are drawn after the states, which would cover them.
const POINTS: [char; 13] = [
    CRASH, BACK, SUSPECTS, TRUSTS, SENDS, DELIVERS, PROPOSES, DECIDES, BLOCKED, SETS, FAILS,
    RECORDS, ANNOUNCES,
];

/// Draws the run if it is small enough. Returns whether it did.
pub(crate) fn write(
    out: &mut impl Write,
    scenario: &Scenario,
    outcome: &Outcome,
) -> io::Result<bool> {
    let marks = outcome.history.marks();
    let end = outcome.report.virtual_time;
    if scenario.processes > LANES_MOST || marks.is_empty() || marks.len() > MARKS_MOST || end == 0 {
        return Ok(false);
    }
    let election = outcome.report.election.is_some();
    let detection = outcome.report.stable_property.is_some();
    let replication = outcome.report.replication.is_some();
    let mut used = match outcome.report.family {
        family if election || family == Layer::Mutex.family() => vec![WAITING, INSIDE],
        family if family == Layer::Clock.family() => vec![WAITING],
        family if family == Layer::Allocation.family() => vec![WAITING, INSIDE],
        _ if detection => marks.iter().filter_map(|(.., mark)| lasting(*mark)).collect(),
        _ if replication => vec![INSIDE],
        _ => Vec::new(),
    };
    writeln!(out, "  {:<4} 0{:>width$}", "", Time(end).to_string(), width = WIDTH - 1)?;
    for id in ProcessId::all(scenario.processes) {
        let lane = lane(marks, id, end);
        used.extend(lane.iter().filter(|c| **c == DOWN || POINTS.contains(c)));
        writeln!(out, "  {:<4} {}", id.to_string(), lane.iter().collect::<String>().trim_end())?;
    }
    let legend = [
        (WAITING, if election { "takes part" } else { "waiting" }),
        (
            INSIDE,
            if election || replication {
                "leads"
            } else if detection {
                "active"
            } else {
                "inside"
            },
        ),
        (CRASH, "crash"),
        (DOWN, "down"),
        (BACK, "recovery"),
        (SENDS, "multicasts"),
        (SETS, "sets its clock"),
        (FAILS, if replication { "deletes entries" } else { "fails to set it" }),
        (DELIVERS, if election { "follows another" } else { "delivers" }),
        (PROPOSES, if replication { "gets a command" } else { "proposes" }),
        (DECIDES, if replication { "applies one" } else { "decides" }),
        (BLOCKED, "is blocked"),
        (RECORDS, "records its state"),
        (ANNOUNCES, "announces"),
        (SUSPECTS, "suspects a process"),
        (TRUSTS, "trusts a process again"),
    ];
    let shown: Vec<String> = legend
        .iter()
        .filter(|(mark, _)| used.contains(mark))
        .map(|(mark, meaning)| format!("{mark} {meaning}"))
        .collect();
    writeln!(out, "  {:<4} {}", "", shown.join("   "))?;
    Ok(true)
}

/// The lasting state that a mark of a computation begins.
fn lasting(mark: Mark) -> Option<char> {
    match mark {
        Mark::Works => Some(INSIDE),
        Mark::Requested => Some(WAITING),
        _ => None,
    }
}

fn lane(marks: &[(Time, ProcessId, Mark)], id: ProcessId, end: u64) -> Vec<char> {
    let column = |time: Time| {
        (u128::from(time.0) * WIDTH as u128 / u128::from(end)).min(WIDTH as u128 - 1) as usize
    };
    let mut lane = vec![IDLE; WIDTH];
    let (mut state, mut since, mut before_crash) = (IDLE, 0, IDLE);
    let own: Vec<_> = marks.iter().filter(|(_, process, _)| *process == id).collect();
    for (time, _, mark) in &own {
        let here = column(*time);
        fill(&mut lane, state, since, here);
        let next = match mark {
            Mark::Requested | Mark::TakesPart => WAITING,
            Mark::Entered | Mark::Leads => INSIDE,
            Mark::Left | Mark::Follows | Mark::Set | Mark::Failed => IDLE,
            Mark::Crashed => DOWN,
            // A process that kept its memory continues in its earlier state.
            Mark::Recovered(Memory::Kept) => before_crash,
            Mark::Recovered(Memory::Lost) => IDLE,
            Mark::Sent | Mark::Delivered | Mark::Suspected | Mark::Trusted => state,
            Mark::Proposed | Mark::Decided | Mark::Blocked => state,
            Mark::Works => INSIDE,
            Mark::Rests => IDLE,
            Mark::Recorded | Mark::Completed | Mark::Announced => state,
            Mark::Submitted | Mark::Applied | Mark::Truncated => state,
        };
        if *mark == Mark::Crashed {
            before_crash = state;
        }
        (state, since) = (next, here);
    }
    let last = if state == IDLE { since } else { WIDTH };
    fill(&mut lane, state, since, last);
    for (time, _, mark) in own {
        let point = match mark {
            Mark::Crashed => CRASH,
            Mark::Recovered(_) => BACK,
            Mark::Sent => SENDS,
            Mark::Delivered => DELIVERS,
            Mark::Submitted => PROPOSES,
            Mark::Applied => DECIDES,
            Mark::Truncated => FAILS,
            Mark::Proposed => PROPOSES,
            Mark::Decided => DECIDES,
            Mark::Blocked => BLOCKED,
            Mark::Suspected => SUSPECTS,
            Mark::Trusted => TRUSTS,
            Mark::Set => SETS,
            Mark::Failed => FAILS,
            Mark::Follows => DELIVERS,
            Mark::Recorded => RECORDS,
            Mark::Announced => ANNOUNCES,
            Mark::Requested | Mark::Entered | Mark::Left | Mark::TakesPart | Mark::Leads => {
                continue;
            }
            Mark::Works | Mark::Rests | Mark::Completed => continue,
        };
        // A delivery is the least important of several marks in one column.
        let here = &mut lane[column(*time)];
        if point != DELIVERS || !POINTS.contains(here) {
            *here = point;
        }
    }
    lane
}

/// Fills an interval with a state, at least one column. Nothing covers `INSIDE`, the state that readers look for.
fn fill(lane: &mut [char], state: char, from: usize, to: usize) {
    if state == IDLE {
        return;
    }
    let to = to.max(from + 1).min(lane.len());
    for column in &mut lane[from..to] {
        if state == INSIDE || *column != INSIDE {
            *column = state;
        }
    }
}
