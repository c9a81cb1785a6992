//! Files of a search for safety: which checkpoint belongs to which search, and when one is written.

use std::io;
use std::path::Path;
use std::time::Instant;

use quorate_check::{
    Bounds, Checkpoint, Fingerprint, SafetyFiles, checkpoint_identity, fingerprint_of,
};

use super::{CheckConfig, SafetyConfig};
use crate::error::CannotRun;

/// The search of a configuration that a checkpoint belongs to. An algorithm is first explored without timers; if it sets one, the
/// search begins again with timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Stage {
    Untimed,
    Timed,
}

/// Refuses to continue a search with other flags.
pub(super) fn check_resumed(config: &CheckConfig) -> Result<(), CannotRun> {
    let Some(path) = config.safety_only.as_ref().and_then(|safety| safety.resume.as_deref()) else {
        return Ok(());
    };
    let found = checkpoint_identity(path).map_err(|error| unusable(&error))?;
    match [Stage::Untimed, Stage::Timed].map(|stage| identity(config, stage)).contains(&found) {
        true => Ok(()),
        false => Err(CannotRun::Search(format!(
            "{} cannot be resumed: it belongs to a search with other flags or another version",
            path.display()
        ))),
    }
}

/// Calls `explore` with the files that this search may use. Without a stage it has no checkpoints.
pub(super) fn with_files<R>(
    config: &CheckConfig,
    safety: &SafetyConfig,
    stage: Option<Stage>,
    explore: impl FnOnce(SafetyFiles<'_>) -> io::Result<R>,
) -> Result<R, CannotRun> {
    let own = stage.map(|stage| identity(config, stage));
    let last = std::sync::Mutex::new(now());
    let interval = safety.checkpoint.as_ref().map(|(_, interval)| *interval);
    let is_due = || {
        let mut last = last.lock().expect("no thread panics while it holds the lock");
        let is_due = interval.is_some_and(|interval| last.elapsed() >= interval);
        if is_due {
            *last = now();
        }
        is_due
    };
    let checkpoint = safety.checkpoint.as_ref().zip(own);
    let checkpoint =
        checkpoint.map(|((file, _), identity)| Checkpoint { file, identity, is_due: &is_due });
    let is_own = |path: &&Path| own.is_some() && checkpoint_identity(path).ok() == own;
    let resume = safety.resume.as_deref().filter(is_own).zip(own);
    let files = SafetyFiles { spill: safety.spill.as_deref(), checkpoint, resume };
    explore(files).map_err(|error| unusable(&error))
}

/// Identity of a search: everything that its states depend on, and the version.
fn identity(config: &CheckConfig, stage: Stage) -> Fingerprint {
    let bounds = Bounds { memory: 0, depth: 0 };
    let safety_only = None;
    let same = CheckConfig {
        bounds,
        safety_only,
        threads: 0,
        allow_partial: true,
        validate: false,
        ..config.clone()
    };
    fingerprint_of(&(format!("{same:?}"), stage, env!("CARGO_PKG_VERSION")))
}

fn unusable(error: &io::Error) -> CannotRun {
    CannotRun::Search(format!("a file of the search cannot be used: {error}"))
}

#[expect(
    clippy::disallowed_methods,
    reason = "checkpoints are written from time to time, and change no result"
)]
fn now() -> Instant {
    Instant::now()
}
