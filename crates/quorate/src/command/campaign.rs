//! `quorate campaign`: many seeds, each a random world inside the assumptions.

use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use quorate_algorithms::catalogue::PROFILES;
use quorate_lab::campaign::{CampaignError, CampaignReport, Worlds, campaign, check, kept};

use crate::Done;
use crate::arguments::{Campaign, flag_of};
use crate::failure::Failure;
use crate::files::NewFile;
use crate::memory;
use crate::print;

/// More scenarios than this are not kept.
const KEPT_MOST: usize = 10;

pub(crate) fn run(flags: &Campaign) -> Done {
    let worlds = worlds(flags)?;
    let end = flags.seed.checked_add(flags.seeds).filter(|_| flags.seeds > 0);
    let end = end.ok_or_else(|| {
        Failure::new("--seeds: there must be at least 1 seed, and none beyond 18446744073709551615")
    })?;
    let threads = threads(flags.threads)?;
    if let Some(folder) = &flags.keep {
        make(folder)?;
    }
    let memory = flags.memory.unwrap_or_else(memory::available).0;
    let bar = progress_bar(flags.seeds);
    let (done, took) =
        timed(|| campaign(&worlds, flags.seed..end, memory, threads, &|| bar.inc(1)));
    bar.finish_and_clear();
    let mut report = done.map_err(explain)?;
    if let Some(folder) = &flags.keep {
        keep(&worlds, &mut report, folder)?;
    }
    print::campaign::print(&worlds, &report, flags)?;
    let rate = report.runs as f64 / took.as_secs_f64().max(1e-9);
    let mut stderr = anstream::stderr().lock();
    writeln!(stderr, "{} runs in {took:.1?}, {rate:.0} runs/s", report.runs)?;
    Ok(if report.violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// More threads than this are a slip of the finger.
const THREADS_MOST: usize = 1_024;

/// As many threads as were asked for, or as there are cores.
pub(super) fn threads(asked: Option<usize>) -> Result<usize, Failure> {
    let cores = available_parallelism().map_or(1, |cores| cores.get());
    let threads = asked.unwrap_or(cores);
    match (1..=THREADS_MOST).contains(&threads) {
        true => Ok(threads),
        false => Err(Failure::new(format!("--threads: expected 1 to {THREADS_MOST}"))),
    }
}

fn worlds(flags: &Campaign) -> Result<Worlds, Failure> {
    let profile = PROFILES.iter().find(|profile| profile.name == flags.algorithm);
    let profile = *profile
        .ok_or_else(|| Failure::new(format!("there is no algorithm `{}`", flags.algorithm)))?;
    let mut worlds = Worlds::new(profile);
    worlds.processes = flags.processes.0.clone();
    worlds.quorums.clone_from(&flags.quorums);
    worlds.watch.clone_from(&flags.watch);
    if *worlds.processes.start() == 0 {
        return Err(Failure::new("-n: there must be at least 1 process"));
    }
    if let Some(crashes) = &flags.crashes {
        worlds.crashes = crashes.0.clone();
    }
    if !worlds.inside_assumptions() {
        return Err(Failure::new(format!(
            "--crashes: {} assumes that no process crashes, and a campaign stays inside the assumptions; \
             `quorate sim {} --crash` leaves them",
            profile.name, profile.name
        )));
    }
    check(&worlds).map_err(explain)?;
    Ok(worlds)
}

fn explain(error: CampaignError) -> Failure {
    match error {
        CampaignError::Invalid(invalid) => {
            Failure::new(format!("{}: {}", flag_of(invalid.key), invalid.problem))
        }
        error => Failure::new(error),
    }
}

fn make(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| {
        Failure::new(format!("--keep: {} cannot be made: {error}", folder.display()))
    })
}

/// Writes the first violation of each property and number of processes, as scenarios that expect what happened.
fn keep(worlds: &Worlds, report: &mut CampaignReport, folder: &Path) -> Result<(), Failure> {
    let mut seen = BTreeSet::new();
    for violation in &mut report.violations {
        if seen.len() == KEPT_MOST || !seen.insert((violation.property, violation.processes)) {
            continue;
        }
        let scenario = kept(worlds, violation.seed).map_err(Failure::new)?;
        let text = toml::to_string(&scenario)
            .map_err(|error| Failure::new(format!("the scenario cannot be written: {error}")))?;
        let name = format!(
            "{}-{}-seed-{}.toml",
            report.algorithm,
            violation.property.to_lowercase(),
            violation.seed
        );
        let path = folder.join(name);
        let mut file = NewFile::begin(&path)?;
        write!(file, "# {}: {}\n{text}", violation.property, violation.detail)?;
        file.keep()?;
        violation.scenario = Some(path.display().to_string());
    }
    Ok(())
}

/// A bar on stderr, if somebody is there to see it.
fn progress_bar(runs: u64) -> ProgressBar {
    let target = match std::io::stderr().is_terminal() {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    };
    let template = "{bar:40} {pos} of {len} runs, {per_sec}, {eta} left";
    let style = ProgressStyle::with_template(template);
    let bar = ProgressBar::with_draw_target(Some(runs), target);
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long it took is told beside the results, not in them"
)]
pub(super) fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = std::time::Instant::now();
    let done = work();
    (done, start.elapsed())
}
