//! Long computations that requests start and follow: the running ones, and the results of recent ones.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use axum::http::StatusCode;

use crate::api_error::ApiError;

/// Maximum number of jobs of one kind that are kept.
const JOBS_MOST: usize = 8;

/// Jobs of one kind, the latest first. `P` is the progress of a job, and `R` its result.
#[derive(Debug)]
pub(crate) struct Jobs<P, R> {
    all: Mutex<VecDeque<Arc<Job<P, R>>>>,
    started: AtomicUsize,
    /// Maximum number of jobs that run at a time.
    running_most: usize,
    /// Noun for messages, such as "experiment".
    noun: &'static str,
}

/// A computation that was started.
#[derive(Debug)]
pub(crate) struct Job<P, R> {
    pub(crate) id: usize,
    /// Name of an experiment or of an algorithm.
    pub(crate) name: String,
    progress: Mutex<P>,
    cancelled: AtomicBool,
    outcome: OnceLock<Result<R, String>>,
}

impl<P, R> Jobs<P, R>
where
    P: Copy + Default + Send + Sync + 'static,
    R: Send + Sync + 'static,
{
    pub(crate) fn new(noun: &'static str, running_most: usize) -> Self {
        Self { all: Mutex::default(), started: AtomicUsize::new(0), running_most, noun }
    }

    /// Starts a job on a blocking thread.
    pub(crate) fn begin(
        &self,
        name: &str,
        work: impl FnOnce(&Job<P, R>) -> Result<R, String> + Send + 'static,
    ) -> Result<Arc<Job<P, R>>, ApiError> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let running = all.iter().filter(|job| job.outcome().is_none()).count();
        if running >= self.running_most {
            let noun = self.noun;
            let problem = format!("another {noun} is running; wait for it, or cancel it");
            return Err(ApiError::new(StatusCode::CONFLICT, problem));
        }
        let job = Arc::new(Job {
            id: self.started.fetch_add(1, Ordering::Relaxed) + 1,
            name: name.to_owned(),
            progress: Mutex::default(),
            cancelled: AtomicBool::new(false),
            outcome: OnceLock::new(),
        });
        all.push_front(job.clone());
        all.truncate(JOBS_MOST);
        let (own, noun) = (job.clone(), self.noun);
        tokio::task::spawn_blocking(move || {
            // The job must end even if the work panics: otherwise no other could be started.
            let work = std::panic::AssertUnwindSafe(|| work(&own));
            let outcome = std::panic::catch_unwind(work)
                .unwrap_or_else(|_| Err(format!("the {noun} panicked; the server continues")));
            let _ = own.outcome.set(outcome);
        });
        Ok(job)
    }

    pub(crate) fn get(&self, id: usize) -> Result<Arc<Job<P, R>>, ApiError> {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let found = all.iter().find(|job| job.id == id).cloned();
        found.ok_or_else(|| {
            let noun = self.noun;
            ApiError::not_found(format!("that {noun} is no longer stored; start it again"))
        })
    }
}

impl<P: Copy, R> Job<P, R> {
    pub(crate) fn outcome(&self) -> Option<&Result<R, String>> {
        self.outcome.get()
    }

    /// Returns the result; fails if the job is running or has failed.
    pub(crate) fn result(&self) -> Result<&R, ApiError> {
        match self.outcome() {
            Some(Ok(result)) => Ok(result),
            Some(Err(problem)) => Err(ApiError::bad_request(problem)),
            None => Err(ApiError::new(StatusCode::CONFLICT, "there is no result yet")),
        }
    }

    pub(crate) fn progress(&self) -> P {
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn update(&self, change: impl FnOnce(&mut P)) {
        change(&mut self.progress.lock().unwrap_or_else(PoisonError::into_inner));
    }

    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// State for the page: `running`, `done` or `failed`; and the reason of a failure.
    pub(crate) fn state(&self) -> (&'static str, Option<&str>) {
        match self.outcome() {
            None => ("running", None),
            Some(Ok(_)) => ("done", None),
            Some(Err(problem)) => ("failed", Some(problem)),
        }
    }
}
