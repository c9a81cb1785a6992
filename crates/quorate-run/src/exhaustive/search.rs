//! The search for violations in a world, on some threads and within its bounds.

use std::ops::ControlFlow;

use quorate_check::{
    Action, Bounds, End, Exploration, PackedModel, Progress, SafetyExploration, State, explore,
    explore_safety_with,
};

use super::checkpoint::{Stage, with_files};
use super::{CheckConfig, SafetyReport};
use crate::error::CannotRun;

/// All worlds have the same type of state, so that the search is compiled only once.
type AnyWorld<'w> = &'w dyn PackedModel<State = State, Action = Action>;

/// Result of a search, and the facts about it if it checks only safety.
pub(super) struct Found {
    pub(super) exploration: Exploration<Action>,
    pub(super) safety_only: Option<SafetyReport>,
}

impl From<SafetyExploration<Action>> for Found {
    fn from(safety: SafetyExploration<Action>) -> Self {
        let SafetyExploration { exploration, omission_probability, is_acyclic } = safety;
        let is_complete = matches!(exploration.end, End::Exhausted | End::Vacuous);
        let each = exploration.bytes_most as f64 / exploration.progress.states.max(1) as f64;
        let safety_only = SafetyReport {
            omission_probability,
            every_run_ends: is_complete && is_acyclic,
            bytes_per_state: (each * 10.0).round() / 10.0,
        };
        Self { exploration, safety_only: Some(safety_only) }
    }
}

/// Explores a world as the configuration says, within these bounds. Checkpoints are those of the stage.
pub(super) fn search(
    config: &CheckConfig,
    world: AnyWorld<'_>,
    bounds: Bounds,
    stage: Option<Stage>,
    on_progress: &mut (dyn FnMut(&Progress) -> ControlFlow<()> + Send),
) -> Result<Found, CannotRun> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(config.threads)
        .build()
        .map_err(|error| CannotRun::Search(format!("threads cannot be started: {error}")))?;
    let may_continue =
        config.safety_only.as_ref().is_some_and(|safety| safety.checkpoint.is_some());
    let done = config.allow_partial || may_continue;
    let mut size_estimate = SizeEstimate { done, too_large: None };
    let mut go_on = |progress: &Progress| {
        if world.is_unsupported() {
            return ControlFlow::Break(());
        }
        size_estimate.on_progress(world, bounds.memory, progress)?;
        on_progress(progress)
    };
    let found = pool.install(|| match &config.safety_only {
        Some(safety) => with_files(config, safety, stage, |files| {
            explore_safety_with(world, bounds, files, &mut go_on)
        })
        .map(Found::from),
        None => Ok(Found { exploration: explore(world, bounds, &mut go_on), safety_only: None }),
    })?;
    match size_estimate.too_large {
        Some(problem) => Err(CannotRun::Search(problem)),
        None => Ok(found),
    }
}

/// Estimates once, when enough states are known, whether a world is far too large.
struct SizeEstimate {
    done: bool,
    too_large: Option<String>,
}

/// Number of states after which an estimate of the rest is useful.
const SIZED_AFTER: u64 = 300_000;

impl SizeEstimate {
    fn on_progress(
        &mut self,
        world: AnyWorld<'_>,
        memory: u64,
        progress: &Progress,
    ) -> ControlFlow<()> {
        if self.done || progress.states < SIZED_AFTER {
            return ControlFlow::Continue(());
        }
        self.done = true;
        let Some(states) = quorate_check::estimate(world, progress.states, progress.depth) else {
            return ControlFlow::Continue(());
        };
        let gib = |bytes: f64| bytes / f64::from(1 << 30);
        let bytes = states * (progress.bytes as f64 / progress.states as f64);
        // The estimate is rough, so a world is refused only if it needs several times the memory.
        if gib(bytes) < 4.0 * gib(memory as f64) {
            return ControlFlow::Continue(());
        }
        // For a very large number the exponent is more useful than a hundred digits.
        let needed = match gib(bytes) {
            few @ ..10_000.0 => format!("{few:.0}"),
            many => format!("10^{:.0}", many.log10()),
        };
        self.too_large = Some(format!(
            "this world has very roughly 10^{:.0} states, which would take {needed} GiB of memory, and {:.0} GiB are free; \
             make it smaller (fewer processes, --requesters 2, --requests 1, fewer --crashes), \
             or explore a part of it with --depth {} or --memory {:.0}GiB",
            states.log10(),
            gib(memory as f64),
            progress.depth + 2,
            gib(memory as f64).max(1.0)
        ));
        ControlFlow::Break(())
    }
}
