//! Runs on behalf of the page: bounded in size and number, and cancelled when the client disconnects.
//!
//! A run keeps its report, a diagram of the whole run, its step index, and the recording of its beginning. For another
//! part, the same run is repeated and recorded again. That is cheaper than keeping every state.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use axum::http::StatusCode;
use quorate_draw::spacetime::{Diagram, DiagramBounds, DiagramBuilder};
use quorate_run::CannotRun;
use quorate_sim::accounting::Counting;
use quorate_sim::trace::{self, Format, Record, TraceSink};
use quorate_sim::{Cancelled, Conditions, Outcome, Report, RunError, Scenario};
use tokio::sync::Semaphore;

use crate::api_error::ApiError;
use crate::recorder::{FirstPass, Recorder, SegmentPass};
use crate::recording::{Recording, RecordingBounds};
use crate::step_index::StepIndex;

/// Function that runs a scenario.
pub type Runner =
    fn(&Scenario, Conditions, Option<&mut (dyn TraceSink + '_)>) -> Result<Outcome, CannotRun>;

/// Limits on the size and the number of runs.
#[derive(Clone, Copy, Debug)]
pub struct RunBounds {
    /// Maximum number of processes.
    pub processes: usize,
    /// Maximum number of events; a longer run is stopped there.
    pub events: u64,
    /// Maximum number of bytes of processes and messages in flight.
    pub memory: u64,
    /// Maximum number of bytes of the states that a check of every interleaving keeps.
    pub check_memory: u64,
    /// Limits of the recording that one response contains.
    pub recording: RecordingBounds,
    /// Limits of the diagram of a run.
    pub diagram: DiagramBounds,
    /// Maximum number of concurrent runs.
    pub concurrent_runs: usize,
    /// Maximum number of requests that wait for a run to finish.
    pub queued_requests: usize,
}

impl Default for RunBounds {
    fn default() -> Self {
        Self {
            processes: 4_096,
            events: 2_000_000,
            memory: 512 << 20,
            check_memory: 1 << 30,
            recording: RecordingBounds::default(),
            diagram: DiagramBounds { items: 2_000_000, bodies: 50_000 },
            concurrent_runs: 2,
            queued_requests: 16,
        }
    }
}

/// Maximum number of cached runs. The cache allows another window of a diagram without a second run. The latest run
/// is cached whatever its size.
const CACHED_RUNS_MOST: usize = 6;
/// Approximate maximum number of bytes of all cached runs together.
const CACHE_BYTES_MOST: usize = 256 << 20;

/// A finished run or an uploaded trace.
#[derive(Debug)]
pub(crate) struct RecordedRun {
    /// Report of the run; `None` for an uploaded trace.
    pub(crate) report: Option<Report>,
    /// Recording of the beginning of the run.
    pub(crate) recording: Recording,
    pub(crate) diagram: Diagram,
    pub(crate) step_index: StepIndex,
    /// All records of an uploaded trace, which cannot be run again.
    records: Option<Vec<Record>>,
}

impl RecordedRun {
    fn bytes(&self) -> usize {
        let records = self.records.iter().flatten().map(Record::bytes).sum::<usize>();
        self.diagram.bytes() + self.step_index.bytes() + records
    }
}

/// Executes runs and caches the latest ones.
#[derive(Debug)]
pub(crate) struct Runs {
    pub(crate) bounds: RunBounds,
    runner: Runner,
    run_permits: Arc<Semaphore>,
    queue_permits: Semaphore,
    /// Most recently used first.
    cache: Mutex<VecDeque<(String, Arc<RecordedRun>)>>,
    imported_traces: AtomicU64,
}

impl Runs {
    pub(crate) fn new(bounds: RunBounds, runner: Runner) -> Self {
        Self {
            bounds,
            runner,
            run_permits: Arc::new(Semaphore::new(bounds.concurrent_runs)),
            queue_permits: Semaphore::new(bounds.concurrent_runs + bounds.queued_requests),
            cache: Mutex::default(),
            imported_traces: AtomicU64::new(0),
        }
    }

    /// Rejects a scenario with too many processes before any work is done for it.
    pub(crate) fn check_size(&self, scenario: &Scenario) -> Result<(), ApiError> {
        let most = self.bounds.processes;
        if scenario.processes > most {
            let found = scenario.processes;
            let problem = format!(
                "processes: at most {most} are run here, not {found}; `quorate sim` has no such bound"
            );
            return Err(ApiError::too_large(problem));
        }
        Ok(())
    }

    /// Runs a scenario that was checked, or returns it from the cache.
    pub(crate) async fn run(&self, scenario: Scenario) -> Result<Arc<RecordedRun>, ApiError> {
        self.check_size(&scenario)?;
        let name = toml::to_string(&scenario).map_err(ApiError::bad_request)?;
        if let Some(run) = self.cached(&name) {
            return Ok(run);
        }
        let (runner, bounds) = (self.runner, self.bounds);
        let run = self
            .run_blocking(move |wanted| record_run(&scenario, runner, bounds, wanted))
            .await??;
        Ok(self.store_in_cache(name, run))
    }

    /// Reads an uploaded trace, and returns it with its assigned number.
    pub(crate) async fn import_trace(
        &self,
        text: Bytes,
    ) -> Result<(u64, Arc<RecordedRun>), ApiError> {
        let name = self.imported_traces.fetch_add(1, Ordering::Relaxed) + 1;
        let bounds = self.bounds;
        let run = self.run_blocking(move |_| record_trace(&text, bounds)).await??;
        Ok((name, self.store_in_cache(trace_cache_key(name), run)))
    }

    /// Returns an uploaded trace by its number; fails if it was evicted from the cache.
    pub(crate) fn imported_trace(&self, name: u64) -> Result<Arc<RecordedRun>, ApiError> {
        let forgotten = || ApiError::not_found("that trace is no longer stored; open it again");
        self.cached(&trace_cache_key(name)).ok_or_else(forgotten)
    }

    /// Records another part of a run, around a step.
    pub(crate) async fn record_segment(
        &self,
        run: Arc<RecordedRun>,
        scenario: Option<Scenario>,
        step: usize,
    ) -> Result<Recording, ApiError> {
        let (runner, bounds) = (self.runner, self.bounds);
        self.run_blocking(move |wanted| {
            let processes = run.diagram.processes();
            let mut recording =
                Recording::around(step, &run.step_index, processes, bounds.recording);
            match (&run.records, scenario) {
                (Some(records), _) => {
                    records
                        .iter()
                        .try_for_each(|it| recording.record(it))
                        .map_err(ApiError::bad_request)?;
                }
                (None, Some(scenario)) => {
                    let mut recorder =
                        Recorder::new(SegmentPass { recording: &mut recording }, wanted);
                    let made = runner(&scenario, conditions(bounds), Some(&mut recorder));
                    match (made, recorder.is_done()) {
                        (Ok(_), _) | (Err(CannotRun::Run(RunError::Cancelled(_))), true) => {}
                        (Err(error), _) => return Err(error.into()),
                    }
                }
                (None, None) => {
                    return Err(ApiError::bad_request("expected `toml`, `scenario` or `trace`"));
                }
            }
            Ok(recording)
        })
        .await?
    }

    /// Repeats a run and writes its trace.
    pub(crate) async fn write_trace(
        &self,
        scenario: Scenario,
        out: impl Write + Send + 'static,
    ) -> Result<(), ApiError> {
        let (runner, bounds) = (self.runner, self.bounds);
        self.run_blocking(move |_| {
            let mut writer = Format::JsonLines.writer(scenario.processes, out);
            runner(&scenario, conditions(bounds), Some(&mut *writer)).map_err(map_write_error)?;
            Ok(())
        })
        .await?
    }

    fn store_in_cache(&self, name: String, run: RecordedRun) -> Arc<RecordedRun> {
        let run = Arc::new(run);
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.push_front((name.clone(), run.clone()));
        cache.truncate(CACHED_RUNS_MOST);
        let mut bytes = 0;
        cache.retain(|(known, run)| {
            bytes += run.bytes();
            bytes <= CACHE_BYTES_MOST || *known == name
        });
        run
    }

    fn cached(&self, name: &str) -> Option<Arc<RecordedRun>> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let index = cache.iter().position(|(known, _)| known == name)?;
        let found = cache.remove(index)?;
        let run = found.1.clone();
        cache.push_front(found);
        Some(run)
    }

    /// Runs blocking work on a separate thread once a permit is free. `work` can poll whether the client still waits. A
    /// panic becomes an error response.
    pub(crate) async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&AtomicBool) -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let busy = |_| {
            ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "too many runs are waiting; try again")
        };
        let _queue_permit = self.queue_permits.try_acquire().map_err(busy)?;
        let permit =
            self.run_permits.clone().acquire_owned().await.expect("the semaphore is never closed");
        let cancel_on_drop = CancelOnDrop(Arc::new(AtomicBool::new(true)));
        let wanted = cancel_on_drop.0.clone();
        let done = tokio::task::spawn_blocking(move || {
            // The permit is held until the work ends, even if the client disconnects earlier.
            let _permit = permit;
            work(&wanted)
        });
        done.await.map_err(|_| {
            ApiError::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the run panicked; the server continues",
            )
        })
    }
}

/// Clears the flag when dropped, which signals that the client has disconnected.
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

fn conditions(bounds: RunBounds) -> Conditions {
    Conditions { counting: Counting::ALL, memory: bounds.memory, events: bounds.events }
}

/// A trace that is sent to the client cannot be written once the client has disconnected.
fn map_write_error(error: CannotRun) -> ApiError {
    match error {
        CannotRun::Run(RunError::Trace(_)) => CannotRun::from(RunError::from(Cancelled)).into(),
        error => error.into(),
    }
}

fn record_run(
    scenario: &Scenario,
    runner: Runner,
    bounds: RunBounds,
    wanted: &AtomicBool,
) -> Result<RecordedRun, ApiError> {
    let mut recorder = Recorder::new(FirstPass::new(scenario.processes, bounds), wanted);
    let outcome = runner(scenario, conditions(bounds), Some(&mut recorder))?;
    Ok(recorder.sink.into_recorded_run(Some(outcome.report), None))
}

fn trace_cache_key(name: u64) -> String {
    // A scenario in TOML never has this form.
    format!("trace {name}")
}

/// Records an uploaded trace. It contains no states.
fn record_trace(text: &[u8], bounds: RunBounds) -> Result<RecordedRun, ApiError> {
    let (processes, records) = trace::read(text).map_err(ApiError::bad_request)?;
    if processes > bounds.processes {
        let most = bounds.processes;
        return Err(ApiError::too_large(format!(
            "the trace names p{}; at most {most} processes are shown",
            processes - 1
        )));
    }
    let mut first = FirstPass::new(processes, bounds);
    records.iter().try_for_each(|record| first.record(record)).map_err(ApiError::bad_request)?;
    Ok(first.into_recorded_run(None, Some(records)))
}

impl FirstPass {
    fn new(processes: usize, bounds: RunBounds) -> Self {
        let step_index = StepIndex::default();
        Self {
            recording: Recording::new(bounds.recording),
            diagram: DiagramBuilder::new(processes, bounds.diagram),
            step_index,
        }
    }

    fn into_recorded_run(
        self,
        report: Option<Report>,
        records: Option<Vec<Record>>,
    ) -> RecordedRun {
        let Self { recording, diagram, step_index } = self;
        RecordedRun { report, recording, diagram: diagram.build(), step_index, records }
    }
}
