//! `quorate check`: every interleaving of a small world.

use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use quorate_check::{Bounds, Budget, Progress};
use quorate_core::{Property, Time};
use quorate_lab::exhaustive::{self, Question};
use quorate_sim::fault::Occasion;
use quorate_sim::notation::{When, Who};
use quorate_sim::{Conditions, Scenario};

use super::campaign::{interruption, threads, timed};
use crate::Done;
use crate::arguments::{Check, flag_of};
use crate::failure::Failure;
use crate::files::NewFile;
use crate::memory;
use crate::picture::{self, Picture};
use crate::print;

/// Who knows what of whom is kept in 64 bits, and more could not be gone through anyhow.
const PROCESSES_MOST: usize = 8;

pub(crate) fn check(flags: &Check) -> Done {
    let question = question(flags)?;
    let file = flags.save.as_deref().map(NewFile::begin).transpose()?;
    let picture = flags.picture.file(false)?.map(Picture::begin).transpose()?;
    let stop = interruption();
    let bar = progress_bar();
    let (done, took) = timed(|| {
        exhaustive::explore(&question, |progress| {
            show(&bar, progress);
            match stop.load(Ordering::Relaxed) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })
    });
    bar.finish_and_clear();
    let mut checked = done.map_err(Failure::new)?;
    if let (Some(scenario), Some(file), Some(path)) = (&checked.scenario, file, &flags.save) {
        write(file, scenario, path)?;
        checked.report.counterexample = Some(path.display().to_string());
    }
    if let (Some(scenario), Some(picture)) = (&checked.scenario, picture) {
        draw(picture, scenario, flags)?;
    }
    print::check::print(&checked, flags)?;
    let report = &checked.report;
    let rate = report.states as f64 / took.as_secs_f64().max(1e-9);
    let each = report.bytes / report.states.max(1);
    writeln!(
        anstream::stderr().lock(),
        "{} states in {took:.1?}, {rate:.0} states/s, {each} bytes of memory per state",
        report.states
    )?;
    let stopped = report.bounded_by == Some("stopped");
    Ok(match report.verdict == "violated" || stopped {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    })
}

fn question(flags: &Check) -> Result<Question, Failure> {
    if !(1..=PROCESSES_MOST).contains(&flags.processes) {
        return Err(Failure::new(format!(
            "-n: 1 to {PROCESSES_MOST} processes can be explored, not {}; `quorate campaign` takes more, at random",
            flags.processes
        )));
    }
    let crashing = flags.crashing.iter().flat_map(|crashing| &crashing.0);
    if let Some(stranger) = crashing.into_iter().find(|it| it.index() >= flags.processes) {
        return Err(Failure::new(format!(
            "--crashing: there is no process {stranger}; they are 0 to {}",
            flags.processes - 1
        )));
    }
    let scenario = Scenario {
        requesters: flags.requesters,
        request: asking(flags),
        fifo: flags.keeps_order(),
        quorums: flags.quorums.clone(),
        tree: flags.tree.clone(),
        server: flags.server,
        no_cancel: flags.no_cancel,
        hand_over: flags.hand_over,
        ids: flags.ids.clone(),
        values: flags.values.clone(),
        bears: flags.faults,
        watch: flags.watch.clone(),
        ..Scenario::new(&flags.algorithm, flags.processes)
    };
    scenario.validate().map_err(|invalid| {
        Failure::new(format!("{}: {}", flag_of(invalid.key), invalid.problem))
    })?;
    quorate_lab::check(&scenario).map_err(Failure::new)?;
    let Check { crashes, recoveries, losses, suspicions, .. } = *flags;
    Ok(Question {
        scenario,
        requests: flags.requests,
        budget: Budget { crashes, recoveries, losses, suspicions },
        crashing: flags.crashing.as_ref().map(|crashing| crashing.0.clone()),
        lease: flags.lease,
        renewals: Some(flags.renewals),
        reduce: flags.reductions(),
        only: flags.only.as_deref().map(property).transpose()?,
        content_with_a_part: flags.depth.is_some() || flags.memory.is_some(),
        bounds: Bounds {
            memory: flags.memory.unwrap_or_else(memory::available).0,
            depth: flags.depth.unwrap_or(u32::MAX),
        },
        threads: threads(flags.threads)?,
    })
}

/// Those who ask, if they were named.
fn asking(flags: &Check) -> Vec<Occasion> {
    let named = flags.asking.iter().flat_map(|asking| &asking.0);
    named.map(|process| Occasion { who: Who::Process(process), at: When::At(Time::ZERO) }).collect()
}

fn property(id: &str) -> Result<Property, Failure> {
    Property::ALL.into_iter().find(|property| property.id().eq_ignore_ascii_case(id)).ok_or_else(
        || {
            let known: Vec<&str> = Property::ALL.iter().map(|property| property.id()).collect();
            Failure::new(format!(
                "--only: there is no property `{id}`; there are {}",
                known.join(", ")
            ))
        },
    )
}

fn write(mut file: NewFile, scenario: &Scenario, path: &Path) -> Result<(), Failure> {
    let text = toml::to_string(scenario)
        .map_err(|error| Failure::new(format!("{} cannot be written: {error}", path.display())))?;
    write!(
        file,
        "# Found by `quorate check`: a shortest way to it, a step each millisecond.\n{text}"
    )?;
    file.keep()
}

/// Draws the counterexample: the simulator runs it once more.
fn draw(picture: Picture, scenario: &Scenario, flags: &Check) -> Result<(), Failure> {
    let mut draft = picture::draft(scenario.processes);
    quorate_lab::run(scenario, Conditions::default(), Some(&mut draft)).map_err(Failure::new)?;
    let diagram = draft.diagram().titled(print::title(scenario));
    picture.run(&diagram, &flags.picture.view.view())
}

/// A line on stderr, if somebody is there to see it.
fn progress_bar() -> ProgressBar {
    let target = match std::io::stderr().is_terminal() {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    };
    let style = ProgressStyle::with_template("{spinner} {msg}, {per_sec}");
    ProgressBar::with_draw_target(None, target)
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
}

fn show(bar: &ProgressBar, progress: &Progress) {
    bar.set_position(progress.states);
    bar.set_message(format!(
        "{} states, depth {}, {} waiting, {}",
        HumanCount(progress.states),
        progress.depth,
        HumanCount(progress.queue),
        HumanBytes(progress.bytes)
    ));
}
