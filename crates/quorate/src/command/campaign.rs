//! `quorate campaign`: runs many seeds, each a random world within the assumptions.

use std::fs;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use quorate_lab::campaign::{
    CampaignError, CampaignExecution, CampaignRequest, CampaignShard, campaign,
};
use quorate_lab::shard::Shard;
use quorate_lab::shard_file::{ShardFile, ShardResult};

use super::findings::{SaveOptions, conclude};
use crate::CommandResult;
use crate::arguments::{CampaignFlags, flag_of};
use crate::command_error::CommandError;
use crate::files::AtomicFile;
use crate::memory;

/// Interval at which progress is saved.
const SAVE_INTERVAL: Duration = Duration::from_secs(5);

pub(crate) fn run(flags: &CampaignFlags) -> CommandResult {
    let request = flags.request();
    let generator = request.generator().map_err(explain)?;
    let threads = threads(flags.threads)?;
    let memory = flags.memory.unwrap_or_else(memory::available).0;
    let shard = flags.shard.unwrap_or(Shard::WHOLE);
    let part = match &flags.resume {
        Some(path) => read_progress(path, &request, shard)?,
        None => CampaignShard::new(request, shard),
    };
    let before = part.report.runs;
    let started = now();
    let interrupted = interruption();
    let deadline = flags.minutes.and_then(|minutes| started.checked_add(minutes.0));
    let stop = || interrupted.load(Ordering::Relaxed) || deadline.is_some_and(|end| now() >= end);
    let bar = progress_bar(&part, shard, flags.minutes.is_some());
    let mut progress = ProgressFile { path: flags.resume.as_deref(), shard, last: started };
    let mut save = |part: &CampaignShard| progress.save_if_due(part);
    let execution = CampaignExecution {
        memory,
        threads,
        on_run: &|| bar.inc(1),
        should_stop: &stop,
        checkpoint: &mut save,
    };
    let done = campaign(part, shard, execution);
    bar.finish_and_clear();
    let took = started.elapsed();
    let part = done.map_err(explain)?;
    progress.save(&part)?;
    let (runs, violated) = (part.report.runs, !part.report.violations.is_empty());
    if flags.shard.is_some() {
        print_shard(shard, part)?;
    } else {
        let save_options = SaveOptions { folder: flags.save.as_deref(), shrink: !flags.no_shrink };
        conclude(&generator, part, &save_options, memory, flags.json)?;
    }
    let rate = (runs - before) as f64 / took.as_secs_f64().max(1e-9);
    writeln!(anstream::stderr().lock(), "{} runs in {took:.1?}, {rate:.0} runs/s", runs - before)?;
    Ok(exit_code(violated, interrupted.load(Ordering::Relaxed)))
}

/// Exit code of a command that Ctrl-C ends early, with what it has found so far.
pub(super) fn exit_code(violated: bool, interrupted: bool) -> ExitCode {
    match (violated, interrupted) {
        (true, _) => ExitCode::FAILURE,
        // That of a shell for a program that SIGINT has ended.
        (false, true) => ExitCode::from(INTERRUPTED),
        (false, false) => ExitCode::SUCCESS,
    }
}

/// Reads a progress file; returns an empty shard if the file does not exist.
fn read_progress(
    path: &Path,
    request: &CampaignRequest,
    shard: Shard,
) -> Result<CampaignShard, CommandError> {
    let refused = |why: &str| CommandError::new(format!("--resume: {} {why}", path.display()));
    // Check that the file can be written before the campaign starts.
    AtomicFile::create(path)?;
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(CampaignShard::new(request.clone(), shard));
        }
        read => read.map_err(|error| refused(&format!("cannot be read: {error}")))?,
    };
    let part = ShardFile::read(&bytes).map_err(|why| refused(&why))?;
    match part.work {
        ShardResult::Campaign(campaign) if campaign.request == *request && part.shard == shard => {
            Ok(*campaign)
        }
        _ => Err(refused("was started with other flags; use the same flags or another file")),
    }
}

/// File in which progress is saved.
struct ProgressFile<'a> {
    path: Option<&'a Path>,
    shard: Shard,
    last: Instant,
}

impl ProgressFile<'_> {
    fn save_if_due(&mut self, part: &CampaignShard) {
        if now() >= self.last + SAVE_INTERVAL {
            // A failed write is ignored here. The final write must succeed.
            let _ = self.save(part);
            self.last = now();
        }
    }

    fn save(&self, part: &CampaignShard) -> Result<(), CommandError> {
        let Some(path) = self.path else { return Ok(()) };
        let work = ShardResult::Campaign(Box::new(part.clone()));
        let mut file = AtomicFile::create(path)?;
        file.write_all(
            ShardFile::new(self.shard, work).write().map_err(CommandError::new)?.as_bytes(),
        )?;
        file.commit()
    }
}

fn print_shard(shard: Shard, part: CampaignShard) -> Result<(), CommandError> {
    let part = ShardFile::new(shard, ShardResult::Campaign(Box::new(part)));
    let mut out = crate::output::stdout();
    out.write_all(part.write().map_err(CommandError::new)?.as_bytes())?;
    Ok(out.flush()?)
}

/// Maximum number of threads, to catch typing errors.
const THREADS_MOST: usize = 1_024;

/// Requested number of threads; the default is the number of cores.
pub(super) fn threads(requested: Option<usize>) -> Result<usize, CommandError> {
    let cores = available_parallelism().map_or(1, |cores| cores.get());
    let threads = requested.unwrap_or(cores);
    match (1..=THREADS_MOST).contains(&threads) {
        true => Ok(threads),
        false => Err(CommandError::new(format!("--threads: expected 1 to {THREADS_MOST}"))),
    }
}

/// Exit code of a command that Ctrl-C has ended, as shells have it.
const INTERRUPTED: u8 = 130;

/// Returns a flag that Ctrl-C sets. A second Ctrl-C ends the program immediately.
pub(super) fn interruption() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&stop);
    // Without a handler Ctrl-C ends the program, and only the findings so far are lost.
    let _ = ctrlc::set_handler(move || {
        // A second Ctrl-C forces the exit.
        if seen.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED.into());
        }
    });
    stop
}

pub(super) fn explain(error: CampaignError) -> CommandError {
    match error {
        CampaignError::Invalid(invalid) => {
            CommandError::new(format!("{}: {}", flag_of(invalid.key), invalid.problem))
        }
        error => CommandError::new(error),
    }
}

/// Progress bar on stderr, hidden unless stderr is a terminal.
fn progress_bar(part: &CampaignShard, shard: Shard, endless: bool) -> ProgressBar {
    let target = match std::io::stderr().is_terminal() {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    };
    let seeds = part.request.seeds(shard);
    let template = match endless {
        true => "{spinner} {pos} runs, {per_sec}, {elapsed}",
        false => "{bar:40} {pos} of {len} runs, {per_sec}, {eta} left",
    };
    let style = ProgressStyle::with_template(template);
    let bar = ProgressBar::with_draw_target(Some(seeds.end - seeds.start), target)
        .with_position(part.report.runs);
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

pub(super) fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = now();
    let done = work();
    (done, start.elapsed())
}

#[expect(
    clippy::disallowed_methods,
    reason = "the duration is printed beside the results, and the time to stop is not part of them"
)]
fn now() -> Instant {
    Instant::now()
}
