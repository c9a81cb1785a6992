//! Running experiment, and results of recent ones.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use axum::http::StatusCode;
use quorate_lab::experiment::{Experiment, ExperimentProgress, Findings, Options};

use crate::api_error::ApiError;

/// Maximum number of experiments kept.
const JOBS_MOST: usize = 8;

/// Experiments of this server, the latest first.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    all: Mutex<VecDeque<Arc<Job>>>,
    started: AtomicUsize,
}

/// An experiment that was started.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) id: usize,
    pub(crate) name: &'static str,
    cells: AtomicUsize,
    done: AtomicUsize,
    cancelled: AtomicBool,
    outcome: OnceLock<Result<Findings, String>>,
}

impl Jobs {
    /// Starts an experiment on a blocking thread. Only one runs at a time, because it uses all cores.
    pub(crate) fn begin(&self, name: &str, options: Options) -> Result<Arc<Job>, ApiError> {
        let experiment = Experiment::by_name(name)?;
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if all.iter().any(|job| job.outcome().is_none()) {
            let problem = "an experiment is running; wait for it, or cancel it";
            return Err(ApiError::new(StatusCode::CONFLICT, problem));
        }
        let job = Arc::new(Job {
            id: self.started.fetch_add(1, Ordering::Relaxed) + 1,
            name: experiment.name,
            cells: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            cancelled: AtomicBool::new(false),
            outcome: OnceLock::new(),
        });
        all.push_front(job.clone());
        all.truncate(JOBS_MOST);
        let running = job.clone();
        tokio::task::spawn_blocking(move || running.run(experiment, &options));
        Ok(job)
    }

    pub(crate) fn get(&self, id: usize) -> Result<Arc<Job>, ApiError> {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let found = all.iter().find(|job| job.id == id).cloned();
        found.ok_or_else(|| {
            ApiError::not_found("that experiment is no longer stored; start it again")
        })
    }
}

impl Job {
    fn run(&self, experiment: &Experiment, options: &Options) {
        // The job must end even if the experiment panics: otherwise no other could be started.
        let run = std::panic::AssertUnwindSafe(|| experiment.run(options, self));
        let outcome = match std::panic::catch_unwind(run) {
            Ok(outcome) => outcome.map_err(|error| error.to_string()),
            Err(_) => Err("the experiment panicked; the server continues".to_owned()),
        };
        let _ = self.outcome.set(outcome);
    }

    pub(crate) fn outcome(&self) -> Option<&Result<Findings, String>> {
        self.outcome.get()
    }

    /// Returns the results; fails if the experiment is running or has failed.
    pub(crate) fn findings(&self) -> Result<&Findings, ApiError> {
        match self.outcome() {
            Some(Ok(findings)) => Ok(findings),
            Some(Err(problem)) => Err(ApiError::bad_request(problem)),
            None => Err(ApiError::new(StatusCode::CONFLICT, "the experiment is still running")),
        }
    }

    /// Number of finished runs, and total number of runs.
    pub(crate) fn progress(&self) -> (usize, usize) {
        (self.done.load(Ordering::Relaxed), self.cells.load(Ordering::Relaxed))
    }

    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }
}

impl ExperimentProgress for Job {
    fn begin(&self, cells: usize) {
        self.cells.fetch_add(cells, Ordering::Relaxed);
    }

    fn step(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    fn end(&self) {}

    fn should_continue(&self) -> bool {
        !self.cancelled.load(Ordering::Relaxed)
    }
}
