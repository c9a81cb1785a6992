//! Evidence for each algorithm, and its limits: every interleaving of small worlds, storms (campaigns of random large
//! scenarios), and the shortest path on which each specimen fails. `docs/verification.md` is generated from it.

mod small_worlds;

use quorate_core::Profile;
use quorate_run::catalogue;
use quorate_sim::monitor::Status;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

use super::ExperimentError;
use super::request::SweepError;
use super::sweep::sweep;
use super::{Block, Experiment, Findings, Request, Sizes, Table, Value};
use crate::campaign::CampaignRequest;
use crate::exhaustive::{CheckConfig, Reductions, SafetyConfig};
use crate::{CannotRun, exhaustive};

use small_worlds::{SmallWorld, of_sound, of_specimen};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "verification",
    summary: "every interleaving of small worlds, and storms of large ones, of every algorithm",
    seeds: 20_000,
    sizes: Some(Sizes { least: 2, usual: 5, most: 5 }),
    ours: None,
    draws: false,
    run,
};

/// A search or a storm.
enum Cell {
    Search { profile: &'static Profile, small: SmallWorld },
    Storm(&'static Profile),
}

/// Result of a cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum CellResult {
    Search(SearchResult),
    Storm(StormResult),
    Refused(String),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SearchResult {
    states: u64,
    depth: u32,
    verdict: String,
    /// Reason why the search ended early.
    bounded: Option<String>,
    held: Vec<String>,
    broken: Option<String>,
    steps: Option<usize>,
    /// The properties that were checked, if the search checked only safety.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    safety_only: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct StormResult {
    runs: u64,
    violated: u64,
    hangs: u64,
    undecided: u64,
    crashes: u64,
    traitors: u64,
    after: u64,
}

fn run(request: &Request<'_>) -> Result<Findings, SweepError> {
    let mut cells = Vec::new();
    for profile in catalogue().profiles() {
        let worlds = match profile.specimen {
            None => of_sound(profile),
            Some(specimen) => of_specimen(profile, specimen.breaks),
        };
        let small = worlds.into_iter().filter(|small| small.n <= request.up_to);
        cells.extend(small.map(|small| Cell::Search { profile, small }));
        cells.push(Cell::Storm(profile));
    }
    let seeds = request.seeds;
    let answers = sweep(request, &cells, |cell| on_own_thread(|| cell.answer(seeds)))?;
    let all: Vec<(&Cell, &CellResult)> = cells.iter().zip(&answers).collect();
    Ok(Findings {
        table: Table::new(all.iter().map(|(cell, answer)| cell.values(answer))),
        blocks: vec![
            searches(&all),
            properties(&all),
            specimens(&all),
            smallest(&all),
            storms(&all, request.seeds),
        ],
        notes: notes(&all),
        charts: Vec::new(),
    })
}

/// Runs work on a thread of its own. Searches and storms have their own pools, and a pool thread that waits for another
/// pool would meanwhile start the next cell on top of the current one.
fn on_own_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        scope.spawn(work).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

impl Cell {
    fn profile(&self) -> &'static Profile {
        match self {
            Self::Search { profile, .. } | Self::Storm(profile) => profile,
        }
    }

    fn answer(&self, seeds: u64) -> Result<CellResult, ExperimentError> {
        match self {
            Self::Search { small, .. } => {
                Ok(match searched(small.config()) {
                    Ok(result) => CellResult::Search(result),
                    // A world that cannot be explored is reported as refused.
                    Err(CannotRun::Search(why)) => CellResult::Refused(why),
                    Err(CannotRun::OtherFamily { problem, .. }) => CellResult::Refused(problem),
                    Err(cannot) => return Err(cannot.into()),
                })
            }
            Self::Storm(profile) => {
                let storm = CampaignRequest::new(profile.name, seeds).run(1);
                let report = storm.map_err(|error| ExperimentError::Option(error.to_string()))?;
                Ok(CellResult::Storm(StormResult {
                    runs: report.runs,
                    violated: report.violated_runs() as u64,
                    hangs: report.hangs,
                    undecided: report.undecided,
                    crashes: report.crashes,
                    traitors: report.traitors,
                    after: report.requests_after,
                }))
            }
        }
    }

    /// Number of processes, or the maximum number.
    fn processes(&self) -> usize {
        match self {
            Self::Search { small, .. } => small.n,
            Self::Storm(_) => 16,
        }
    }

    fn world(&self) -> String {
        match self {
            Self::Search { small, .. } => small.words(),
            Self::Storm(_) => "n = 2 to 16, at random".to_owned(),
        }
    }

    fn values(&self, answer: &CellResult) -> Vec<(&'static str, Value)> {
        let profile = self.profile();
        let search = match answer {
            CellResult::Search(search) => Some(search),
            _ => None,
        };
        let storm = match answer {
            CellResult::Storm(storm) => Some(storm),
            _ => None,
        };
        let text = |text: Option<String>| text.map_or(Value::Missing, Value::Text);
        let count = |count: Option<u64>| count.map_or(Value::Missing, Value::Count);
        let verdict = match answer {
            CellResult::Search(search) => search.verdict.clone(),
            CellResult::Storm(storm) if storm.violated > 0 => "violated".to_owned(),
            CellResult::Storm(_) => "holds".to_owned(),
            CellResult::Refused(_) => "refused".to_owned(),
        };
        vec![
            ("algorithm", profile.name.into()),
            ("specimen", Value::Flag(profile.specimen.is_some())),
            ("method", if storm.is_some() { "storm" } else { "search" }.into()),
            ("world", self.world().into()),
            ("processes", self.processes().into()),
            ("verdict", verdict.into()),
            ("states", count(search.map(|search| search.states))),
            ("depth", count(search.map(|search| search.depth.into()))),
            ("broken", text(search.and_then(|search| search.broken.clone()))),
            ("steps", count(search.and_then(|search| search.steps).map(|steps| steps as u64))),
            ("runs", count(storm.map(|storm| storm.runs))),
            ("violated_runs", count(storm.map(|storm| storm.violated))),
            ("hangs", count(storm.map(|storm| storm.hangs))),
            ("undecided", count(storm.map(|storm| storm.undecided))),
            ("crashes", count(storm.map(|storm| storm.crashes))),
            ("requests_after_the_storm", count(storm.map(|storm| storm.after))),
        ]
    }
}

impl SearchResult {
    fn new(report: &exhaustive::CheckReport) -> Self {
        let with = |status| {
            let of_status = report.properties.iter().filter(move |found| found.status == status);
            of_status.map(|found| found.id.to_owned())
        };
        Self {
            states: report.states,
            depth: report.depth,
            verdict: report.verdict.to_owned(),
            bounded: report.bounded_by.map(|by| match report.estimated_magnitude {
                Some(magnitude) => format!("{by}, of about 10^{magnitude} states"),
                None => by.to_owned(),
            }),
            safety_only: report.safety_only.map(|safety| {
                let liveness = match safety.every_run_ends {
                    true => "every run ends, so liveness as well",
                    false => "liveness not checked",
                };
                let missed = safety.omission_probability;
                format!("safety and deadlocks; {liveness}; a state was missed with probability {missed:.0e}")
            }),
            held: with(Status::Holds).collect(),
            broken: with(Status::Violated).next(),
            steps: report.counterexample_steps,
        }
    }
}

/// Largest world that is worth a search for safety, as a power of ten: its states fit into the memory of a search.
const SAFETY_MAGNITUDE_MOST: u32 = 9;

/// Explores a world. If it does not fit into the memory, safety alone is checked, with every reduction. Such a search needs less
/// memory, and fewer states.
fn searched(config: CheckConfig) -> Result<SearchResult, CannotRun> {
    let explore = |config: &CheckConfig| exhaustive::explore(config, |_| ControlFlow::Continue(()));
    let full = explore(&config)?.report;
    let is_worth_it = full.bounded_by == Some("memory")
        && full.estimated_magnitude.is_some_and(|magnitude| magnitude <= SAFETY_MAGNITUDE_MOST);
    if !is_worth_it {
        return Ok(SearchResult::new(&full));
    }
    let (safety_only, reductions) = (Some(SafetyConfig::default()), Reductions::ALL);
    let safety = explore(&CheckConfig { safety_only, reductions, ..config })?.report;
    let is_further = safety.bounded_by.is_none() || safety.depth > full.depth;
    Ok(SearchResult::new(if is_further { &safety } else { &full }))
}

/// Formats a number with thousands separators.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

fn searches(all: &[(&Cell, &CellResult)]) -> Block {
    let rows = all.iter().filter_map(|(cell, answer)| match (cell, answer) {
        (Cell::Search { profile, small }, CellResult::Search(search))
            if profile.specimen.is_none() =>
        {
            let mut verdict = match &search.bounded {
                Some(why) => format!("holds to depth {}: {why}", search.depth),
                None => search.verdict.clone(),
            };
            if let Some(scope) = &search.safety_only {
                verdict += &format!(" ({scope})");
            }
            let (states, depth) = (grouped(search.states), search.depth.to_string());
            Some(vec![profile.name.to_owned(), small.words(), states, depth, verdict])
        }
        _ => None,
    });
    Block {
        title: "Every interleaving of small worlds".to_owned(),
        head: vec!["algorithm", "world", " states", " deep", "verdict"],
        rows: rows.collect(),
    }
}

/// Properties that the searches checked. Storms check all promised properties.
/// Maximum length of a list of properties. More would not fit into a line.
const LISTED_MOST: usize = 70;

fn properties(all: &[(&Cell, &CellResult)]) -> Block {
    let sound = catalogue().profiles().filter(|profile| profile.specimen.is_none());
    let rows = sound.map(|profile| {
        let mut held: Vec<&str> = Vec::new();
        for (cell, answer) in all {
            if let (true, CellResult::Search(search)) =
                (cell.profile().name == profile.name, answer)
            {
                held.extend(search.held.iter().map(String::as_str));
            }
        }
        let promised = || profile.guarantees.iter().map(|property| property.id());
        let searched: Vec<&str> = promised().filter(|id| held.contains(id)).collect();
        let judged = match searched.is_empty() {
            true => format!("storms only: {}", promised().collect::<Vec<_>>().join(" ")),
            false if searched.join(" ").len() <= LISTED_MOST => searched.join(" "),
            false => {
                let left_out: Vec<&str> = promised().filter(|id| !searched.contains(id)).collect();
                format!("all that it promises but {}", left_out.join(" "))
            }
        };
        vec![profile.name.to_owned(), judged]
    });
    Block {
        title: "Properties checked in searches".to_owned(),
        head: vec!["algorithm", "properties"],
        rows: rows.collect(),
    }
}

fn specimens(all: &[(&Cell, &CellResult)]) -> Block {
    let rows = all.iter().filter_map(|(cell, answer)| match (cell, answer) {
        (Cell::Search { profile, small }, CellResult::Search(search))
            if profile.specimen.is_some() =>
        {
            let looked_for = small.only.map_or_else(|| "any".to_owned(), |only| only.to_string());
            let found = match (&search.broken, search.steps) {
                (Some(id), Some(steps)) if *id == looked_for => {
                    format!("broken: {steps} steps")
                }
                (Some(id), Some(steps)) => format!("{id} broken: {steps} steps"),
                _ => match &search.bounded {
                    Some(why) => format!("not found to depth {}: {why}", search.depth),
                    None => "cannot happen".to_owned(),
                },
            };
            let states = grouped(search.states);
            Some(vec![profile.name.to_owned(), small.words(), looked_for, found, states])
        }
        _ => None,
    });
    Block {
        title: "Specimens: a shortest violation by each".to_owned(),
        head: vec!["specimen", "world", "looked for", "found", " states"],
        rows: rows.collect(),
    }
}

/// Smallest number of processes with which each specimen fails, and the numbers with which it cannot fail.
fn smallest(all: &[(&Cell, &CellResult)]) -> Block {
    let searches: Vec<(&str, &SmallWorld, &SearchResult)> = all
        .iter()
        .filter_map(|(cell, answer)| match (cell, answer) {
            (Cell::Search { profile, small }, CellResult::Search(search)) => {
                profile.specimen.is_some().then_some((profile.name, small, search))
            }
            _ => None,
        })
        .collect();
    let same = |one: &SmallWorld, other: &SmallWorld| {
        (one.algorithm, one.quorums, one.only) == (other.algorithm, other.quorums, other.only)
    };
    let rows = searches.chunk_by(|one, other| same(one.1, other.1)).map(|group| {
        let (name, first, _) = &group[0];
        let broken = group.iter().filter(|(.., search)| search.broken.is_some());
        let fewest = broken.min_by_key(|(_, small, search)| (small.n, search.steps));
        let below = fewest.map_or(usize::MAX, |(_, small, _)| small.n);
        // If two given requesters cannot cause a failure, two others still may.
        let held = |n: &usize| {
            let worlds = || group.iter().filter(|(_, small, _)| small.n == *n);
            worlds().all(|(.., search)| search.broken.is_none() && search.bounded.is_none())
                && worlds().any(|(_, small, _)| small.all_ask())
        };
        let mut cannot: Vec<usize> = group.iter().map(|(_, small, _)| small.n).collect();
        cannot.dedup();
        cannot.retain(|n| *n < below && held(n));
        let numbers: Vec<String> = cannot.iter().map(usize::to_string).collect();
        let breaks = match fewest.and_then(|(.., search)| search.broken.clone()) {
            Some(broken) => broken,
            None => first.only.map_or_else(|| "any".to_owned(), |only| only.to_string()),
        };
        vec![
            (*name).to_owned(),
            first.quorums.unwrap_or("-").to_owned(),
            breaks,
            fewest.map_or_else(|| "none found".to_owned(), |(_, small, _)| small.n.to_string()),
            fewest.map_or_else(|| "-".to_owned(), |(_, small, _)| small.words()),
            if numbers.is_empty() { "-".to_owned() } else { numbers.join(", ") },
        ]
    });
    Block {
        title: "Specimens: the fewest processes with which each breaks".to_owned(),
        head: vec!["specimen", "over", "breaks", " fewest", "world", "cannot with"],
        rows: rows.collect(),
    }
}

fn storms(all: &[(&Cell, &CellResult)], seeds: u64) -> Block {
    let rows = all.iter().filter_map(|(cell, answer)| match answer {
        CellResult::Storm(storm) => {
            let profile = cell.profile();
            let mark = if profile.specimen.is_some() { " (specimen)" } else { "" };
            let counts = [
                storm.runs,
                storm.crashes,
                storm.traitors,
                storm.after,
                storm.violated,
                storm.hangs,
            ];
            let name = vec![format!("{}{mark}", profile.name)];
            Some(name.into_iter().chain(counts.map(grouped)).collect())
        }
        _ => None,
    });
    Block {
        title: format!(
            "Storms: {} random worlds of 2 to 16 processes each, inside the assumptions",
            grouped(seeds)
        ),
        head: vec![
            "algorithm",
            " runs",
            " crashes",
            " traitors",
            " asked after",
            " violated",
            " hang",
        ],
        rows: rows.collect(),
    }
}

fn notes(all: &[(&Cell, &CellResult)]) -> Vec<String> {
    let searched = |profile: &Profile| {
        all.iter().any(|(cell, answer)| {
            cell.profile().name == profile.name && matches!(answer, CellResult::Search(_))
        })
    };
    let only_storms: Vec<&str> = catalogue()
        .profiles()
        .filter(|profile| !searched(profile))
        .map(|profile| profile.name)
        .collect();
    let bounded = all
        .iter()
        .any(|(_, answer)| matches!(answer, CellResult::Search(s) if s.bounded.is_some()));
    let mut notes = vec![
        "A state is counted once however it is reached; deliveries that commute are explored in one order where this \
         loses nothing, and worlds that differ only in the names of processes count as one. So the numbers depend on \
         these reductions, and the verdicts do not. The same command finds the same numbers again, on any machine."
            .to_owned(),
        "What is not shown. Small worlds are not large ones: a search without violations with three or four \
         processes and one or two requests each is no proof for five, and storms prove nothing, they only fail to \
         disprove. Where a search says `to depth`, deeper states were not explored."
            .to_owned(),
        "A specimen cannot break with a number of processes if every search with that number was exhaustive, and all \
         processes asked in one of them, with as many requests and crashes as the table above it says. Where only \
         some ask, it matters which ones: a violation that two cannot cause may be caused by two others."
            .to_owned(),
        "In the searches, links lose and duplicate nothing and keep their order, and detectors are perfect but \
         arbitrarily slow. Unless the world says so, no process recovers after a crash, and none lies. Losses, \
         recoveries, wrong suspicions, traitors and links without order are explored on request (`quorate check \
         --losses`, `--recoveries`, `--suspicions`, `--traitor`, `--fifo no`). ME3 and the clock condition are judged \
         in runs, not in searches: they are properties of a history and not of a state. A traitor in a search has one \
         strategy; traitors that lie at random, and clocks that drift, are in the storms only. Leases last three \
         message delays and are not renewed."
            .to_owned(),
        "States are stored as fingerprints of 100 bits: among a billion states, the probability that two different \
         ones are taken for the same is less than one in 10^12."
            .to_owned(),
    ];
    if bounded {
        notes.push(
            "Each search had 5 GiB of memory. One that needed more is listed with the depth that it reached and an \
             estimate of the number of all states: an order of magnitude, from the growth up to this depth and the \
             length of random paths. Worlds of more than about 10^9 states are not searched for safety either."
                .to_owned(),
        );
    }
    let only_safety =
        |answer: &CellResult| matches!(answer, CellResult::Search(s) if s.safety_only.is_some());
    if all.iter().any(|(_, answer)| only_safety(answer)) {
        notes.push(
            "Where a full search needed more than 5 GiB, safety and deadlocks were checked in a search that keeps 69 bits of \
             each state, and uses all reductions (`quorate check --safety-only --reduce all`). The row says so, with an upper \
             bound on the probability that a state was missed. Such a search keeps no steps between states. If every run \
             ends, a process that waits forever does so in a final state, and liveness was checked as well."
                .to_owned(),
        );
    }
    if !only_storms.is_empty() {
        notes.push(format!(
            "In storms only, since they need a clock or a larger world: {}.",
            only_storms.join(", ")
        ));
    }
    notes.push(
        "The code that is searched and stormed is the code that runs; the compiler, the drivers and the monitors are \
         trusted. Each search has to reach its goal, such as an entry or a decision, or it fails as vacuous."
            .to_owned(),
    );
    notes
}

#[cfg(test)]
mod tests {
    use quorate_check::Bounds;
    use quorate_sim::Scenario;
    use quorate_sim::scenario::Requesters;

    use super::*;

    #[test]
    fn a_world_that_is_too_large_for_a_full_search_is_searched_for_safety() {
        let within = |memory| {
            let scenario = Scenario { requesters: Requesters::All, ..Scenario::new("lamport", 3) };
            let bounds = Bounds { memory, depth: u32::MAX };
            let config = CheckConfig { allow_partial: true, ..CheckConfig::new(scenario, bounds) };
            searched(config).expect("it can be explored")
        };
        let full = within(1 << 30);
        assert_eq!((full.safety_only, full.bounded), (None, None));
        let safety = within(20 << 20);
        assert_eq!((safety.verdict.as_str(), safety.bounded), ("holds", None));
        assert!(safety.states < full.states, "it uses every reduction");
        assert_eq!((safety.depth, safety.held), (full.depth, full.held), "every run ends");
        let scope = safety.safety_only.expect("it says so");
        assert!(scope.contains("liveness as well") && scope.contains("probability"), "{scope}");
        // Not even that fits. The row says how far it came, and of how many states.
        let neither = within(100_000);
        let reason = neither.bounded.expect("it ended early");
        assert!(reason.starts_with("memory, of about 10^"), "{reason}");
    }
}
