//! `quorate check`: explores every interleaving of a small world.

use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use indicatif::{
    HumanBytes, HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle,
};
use quorate_check::{Bounds, Budget, PROCESSES_MOST, Progress};
use quorate_core::{Property, Time};
use quorate_lab::exhaustive::{self, CheckConfig, SafetyConfig};
use quorate_sim::fault::{Faults, ProcessAt};
use quorate_sim::notation::{ProcessSelector, When};
use quorate_sim::scenario::Requesters;
use quorate_sim::{Conditions, Scenario};

use super::campaign::{exit_code, interruption, threads, timed};
use crate::CommandResult;
use crate::arguments::{CheckFlags, flag_of};
use crate::command_error::CommandError;
use crate::files::AtomicFile;
use crate::memory;
use crate::picture::{self, PictureFile};
use crate::print;
use crate::print::check::few_digits;

pub(crate) fn check(flags: &CheckFlags) -> CommandResult {
    let config = config(flags)?;
    let file = flags.save.as_deref().map(AtomicFile::create).transpose()?;
    let picture = flags.picture.file(false)?.map(PictureFile::begin).transpose()?;
    let stop = interruption();
    let bar = progress_bar();
    // States of a checkpoint were found earlier, and do not count for the speed.
    let mut earlier = None;
    let (done, took) = timed(|| {
        exhaustive::explore(&config, |progress| {
            let resumed = flags.resume.is_some();
            let earlier = *earlier.get_or_insert(if resumed { progress.states } else { 0 });
            show(&bar, progress, progress.states.saturating_sub(earlier));
            match stop.load(Ordering::Relaxed) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })
    });
    bar.finish_and_clear();
    let mut checked = done.map_err(CommandError::new)?;
    if let (Some(scenario), Some(file), Some(path)) = (&checked.scenario, file, &flags.save) {
        write(file, scenario, path)?;
        checked.report.counterexample = Some(path.display().to_string());
    }
    if let (Some(scenario), Some(picture)) = (&checked.scenario, picture) {
        draw(picture, scenario, flags)?;
    }
    print::check::print(&checked, flags)?;
    let report = &checked.report;
    let new = report.states - earlier.unwrap_or(0).min(report.states);
    let rate = new as f64 / took.as_secs_f64().max(1e-9);
    let each = report.bytes / report.states.max(1);
    writeln!(
        anstream::stderr().lock(),
        "{new} states in {took:.1?}, {rate:.0} states/s, {each} bytes of memory per state"
    )?;
    Ok(exit_code(report.verdict == "violated", report.bounded_by == Some("stopped")))
}

fn config(flags: &CheckFlags) -> Result<CheckConfig, CommandError> {
    if !(1..=PROCESSES_MOST).contains(&flags.processes) {
        return Err(CommandError::new(format!(
            "-n: 1 to {PROCESSES_MOST} processes can be explored, not {}; use `quorate campaign` for larger systems",
            flags.processes
        )));
    }
    for (flag, chosen) in [("--crashing", &flags.crashing), ("--expiring", &flags.expiring)] {
        let mut chosen = chosen.iter().flat_map(|set| &set.0);
        if let Some(unknown) = chosen.find(|it| it.index() >= flags.processes) {
            return Err(CommandError::new(format!(
                "{flag}: there is no process {unknown}; the processes are 0 to {}",
                flags.processes - 1
            )));
        }
    }
    let scenario = Scenario {
        // A scenario has either requesters or requests, and the flag has a default.
        requesters: if flags.asking.is_some() { Requesters::One } else { flags.requesters },
        request: named_requesters(flags),
        fifo: flags.keeps_order(),
        quorums: flags.quorums.clone(),
        tree: flags.tree.clone(),
        server: flags.server,
        no_cancel: flags.no_cancel,
        hand_over: flags.hand_over,
        ids: flags.ids.clone(),
        values: flags.values.clone(),
        script: flags.script.clone(),
        tolerates: flags.faults,
        capacity: flags.claims.capacity,
        conflicts: flags.claims.conflicts,
        claim_of: flags.claims.claim_of.clone(),
        watch: flags.watch.clone(),
        faults: Faults { traitor: flags.traitor.clone(), ..Faults::default() },
        ..Scenario::new(&flags.algorithm, flags.processes)
    };
    scenario.validate().map_err(|invalid| {
        CommandError::new(format!("{}: {}", flag_of(invalid.key), invalid.problem))
    })?;
    quorate_lab::check(&scenario).map_err(CommandError::new)?;
    let CheckFlags { crashes, recoveries, losses, suspicions, timeouts, .. } = *flags;
    Ok(CheckConfig {
        scenario,
        requests: flags.requests,
        budget: Budget { crashes, recoveries, losses, suspicions, timeouts },
        crashable: flags.crashing.as_ref().map(|crashing| crashing.0.clone()),
        expirable: flags.expiring.as_ref().map(|expiring| expiring.0.clone()),
        lease: flags.lease,
        renewals: Some(flags.renewals),
        reductions: flags.reduce,
        validate: flags.validate,
        only: flags.only.as_deref().map(property).transpose()?,
        allow_partial: flags.depth.is_some() || flags.memory.is_some() || flags.spill.is_some(),
        safety_only: flags.safety_only.then(|| safety(flags)),
        bounds: Bounds {
            memory: flags.memory.unwrap_or_else(memory::available).0,
            depth: flags.depth.unwrap_or(u32::MAX),
        },
        threads: threads(flags.threads)?,
    })
}

/// Files that a search for safety may use.
fn safety(flags: &CheckFlags) -> SafetyConfig {
    // Without a new file a search goes on writing to the one from which it continues.
    let file = flags.checkpoint.as_ref().or(flags.resume.as_ref());
    SafetyConfig {
        spill: flags.spill.clone(),
        checkpoint: file.map(|file| (file.clone(), flags.checkpoint_every.0)),
        resume: flags.resume.clone(),
    }
}

/// Requesters named by the flags.
fn named_requesters(flags: &CheckFlags) -> Vec<ProcessAt> {
    let named = flags.asking.iter().flat_map(|asking| &asking.0);
    named
        .map(|process| ProcessAt {
            process: ProcessSelector::Process(process),
            at: When::At(Time::ZERO),
        })
        .collect()
}

fn property(id: &str) -> Result<Property, CommandError> {
    Property::ALL.into_iter().find(|property| property.id().eq_ignore_ascii_case(id)).ok_or_else(
        || {
            let known: Vec<&str> = Property::ALL.iter().map(|property| property.id()).collect();
            CommandError::new(format!(
                "--only: there is no property `{id}`; there are {}",
                known.join(", ")
            ))
        },
    )
}

fn write(mut file: AtomicFile, scenario: &Scenario, path: &Path) -> Result<(), CommandError> {
    let text = toml::to_string(scenario).map_err(|error| {
        CommandError::new(format!("{} cannot be written: {error}", path.display()))
    })?;
    write!(
        file,
        "# Shortest counterexample found by `quorate check`, one step per millisecond.\n{text}"
    )?;
    file.commit()
}

/// Draws the counterexample. The simulator runs it again for this.
fn draw(picture: PictureFile, scenario: &Scenario, flags: &CheckFlags) -> Result<(), CommandError> {
    let mut builder = picture::diagram_builder(scenario.processes);
    quorate_lab::run(scenario, Conditions::default(), Some(&mut builder))
        .map_err(CommandError::new)?;
    let diagram = builder.build().titled(print::title(scenario));
    picture.draw_run(&diagram, &flags.picture.view.view())
}

/// Progress line on stderr, hidden unless stderr is a terminal.
fn progress_bar() -> ProgressBar {
    let target = match std::io::stderr().is_terminal() {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    };
    let style = ProgressStyle::with_template("{spinner} {msg}, {per_sec}");
    ProgressBar::with_draw_target(None, target)
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
}

/// Shows the progress, and the time left if it can be estimated. The speed is that of the states that this run has found.
fn show(bar: &ProgressBar, progress: &Progress, new: u64) {
    bar.set_position(new);
    let left = progress.expected.map(|expected| {
        let seconds_each = bar.elapsed().as_secs_f64() / new.max(1) as f64;
        let left = |all: u64| {
            let seconds = all.saturating_sub(progress.states) as f64 * seconds_each;
            HumanDuration(Duration::from_secs_f64(seconds.min(f64::from(u32::MAX))))
        };
        format!(
            " of about {}, {} to {} states in all, {} to {} left",
            expected.depth,
            few_digits(expected.states_least),
            few_digits(expected.states_most),
            left(expected.states_least),
            left(expected.states_most)
        )
    });
    bar.set_message(format!(
        "{} states, {} queued, {}, depth {}{}",
        HumanCount(progress.states),
        HumanCount(progress.queue),
        HumanBytes(progress.bytes),
        progress.depth,
        left.unwrap_or_default()
    ));
}
