//! Runs on behalf of the page: bounded, a few at once, stopped when nobody waits for them.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use axum::http::StatusCode;
use quorate_draw::spacetime::Diagram;
use quorate_run::CannotRun;
use quorate_sim::trace::{self, Record, TraceSink};
use quorate_sim::{Conditions, Outcome, Report, RunError, Scenario};
use tokio::sync::Semaphore;

use crate::film::{Film, FilmBounds};
use crate::refusal::Refusal;

/// What runs a scenario.
pub type Runner =
    fn(&Scenario, Conditions, Option<&mut (dyn TraceSink + '_)>) -> Result<Outcome, CannotRun>;

/// How large a run may be, and how many there may be.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The most processes.
    pub processes: usize,
    /// The most events; a longer run is stopped there.
    pub events: u64,
    /// The bytes that processes and messages under way may take.
    pub memory: u64,
    /// How much of a run the page is sent.
    pub film: FilmBounds,
    /// How many runs go on at once.
    pub at_once: usize,
    /// How many requests may wait for their turn.
    pub waiting: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            processes: 4_096,
            events: 2_000_000,
            memory: 512 << 20,
            film: FilmBounds::default(),
            at_once: 2,
            waiting: 16,
        }
    }
}

/// How many runs are remembered, so that a window of a diagram needs no second run.
const REMEMBERED: usize = 6;

/// A run that was made.
#[derive(Debug)]
pub(crate) struct Shot {
    /// What came of it; none of a trace that somebody brought.
    pub(crate) report: Option<Report>,
    pub(crate) film: Film,
    pub(crate) diagram: Diagram,
}

/// Makes runs.
#[derive(Debug)]
pub(crate) struct Runs {
    pub(crate) bounds: Bounds,
    runner: Runner,
    turns: Arc<Semaphore>,
    places: Semaphore,
    /// The latest used first.
    remembered: Mutex<VecDeque<(String, Arc<Shot>)>>,
    brought: AtomicU64,
}

impl Runs {
    pub(crate) fn new(bounds: Bounds, runner: Runner) -> Self {
        Self {
            bounds,
            runner,
            turns: Arc::new(Semaphore::new(bounds.at_once)),
            places: Semaphore::new(bounds.at_once + bounds.waiting),
            remembered: Mutex::default(),
            brought: AtomicU64::new(0),
        }
    }

    /// Refuses what is too large before anything is done for it.
    pub(crate) fn admit(&self, scenario: &Scenario) -> Result<(), Refusal> {
        let most = self.bounds.processes;
        if scenario.processes > most {
            let found = scenario.processes;
            let problem = format!(
                "processes: at most {most} are run here, not {found}; `quorate sim` has no such bound"
            );
            return Err(Refusal::too_large(problem));
        }
        Ok(())
    }

    /// Runs a scenario that was checked, or remembers it.
    pub(crate) async fn shoot(&self, scenario: Scenario) -> Result<Arc<Shot>, Refusal> {
        self.admit(&scenario)?;
        let name = toml::to_string(&scenario).map_err(Refusal::bad)?;
        if let Some(shot) = self.remember(&name) {
            return Ok(shot);
        }
        let (runner, bounds) = (self.runner, self.bounds);
        let shot = self.work(move |wanted| shoot(&scenario, runner, bounds, wanted)).await??;
        Ok(self.keep(name, shot))
    }

    /// A trace that somebody brought, under a name for it.
    pub(crate) async fn bring(&self, text: Bytes) -> Result<(u64, Arc<Shot>), Refusal> {
        let name = self.brought.fetch_add(1, Ordering::Relaxed) + 1;
        let bounds = self.bounds;
        let shot = self.work(move |_| develop(&text, bounds)).await??;
        Ok((name, self.keep(trace_name(name), shot)))
    }

    /// The trace that was brought under that name.
    pub(crate) fn brought(&self, name: u64) -> Result<Arc<Shot>, Refusal> {
        let forgotten = || Refusal::unknown("that trace is forgotten; bring it again");
        self.remember(&trace_name(name)).ok_or_else(forgotten)
    }

    fn keep(&self, name: String, shot: Shot) -> Arc<Shot> {
        let shot = Arc::new(shot);
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.push_front((name, shot.clone()));
        remembered.truncate(REMEMBERED);
        shot
    }

    fn remember(&self, name: &str) -> Option<Arc<Shot>> {
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        let place = remembered.iter().position(|(known, _)| known == name)?;
        let found = remembered.remove(place)?;
        let shot = found.1.clone();
        remembered.push_front(found);
        Some(shot)
    }

    /// Does something that takes long on a thread of its own, when it is its turn. It is told when nobody waits for
    /// it any more, and if it panics, that is the answer.
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&AtomicBool) -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let busy = |_| {
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "too many runs are waiting; try again")
        };
        let _place = self.places.try_acquire().map_err(busy)?;
        let turn = self.turns.clone().acquire_owned().await.expect("turns are never closed");
        let waiter = Waiter(Arc::new(AtomicBool::new(true)));
        let wanted = waiter.0.clone();
        let done = tokio::task::spawn_blocking(move || {
            // The turn ends with the work, not with whoever waits for it.
            let _turn = turn;
            work(&wanted)
        });
        done.await.map_err(|_| {
            Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "the run broke; the server is well")
        })
    }
}

/// Somebody who waits for a run; gone when dropped.
struct Waiter(Arc<AtomicBool>);

impl Drop for Waiter {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

fn shoot(
    scenario: &Scenario,
    runner: Runner,
    bounds: Bounds,
    wanted: &AtomicBool,
) -> Result<Shot, Refusal> {
    let conditions = Conditions { count_self: true, memory: bounds.memory, events: bounds.events };
    let mut camera = Camera { film: Film::new(bounds.film), wanted };
    let outcome = match runner(scenario, conditions, Some(&mut camera)) {
        Err(CannotRun::Run(RunError::Trace(_))) => return Err(CannotRun::Cancelled.into()),
        outcome => outcome?,
    };
    let film = camera.film;
    let diagram = Diagram::new(scenario.processes, film.records()).without(film.left_out());
    Ok(Shot { report: Some(outcome.report), film, diagram })
}

fn trace_name(name: u64) -> String {
    // No scenario is spelled like this.
    format!("trace {name}")
}

/// A trace as a film; it tells no states.
fn develop(text: &[u8], bounds: Bounds) -> Result<Shot, Refusal> {
    let (processes, records) = trace::read(text).map_err(Refusal::bad)?;
    if processes > bounds.processes {
        let most = bounds.processes;
        return Err(Refusal::too_large(format!(
            "the trace names p{}; at most {most} processes are shown",
            processes - 1
        )));
    }
    let mut film = Film::new(bounds.film);
    records.iter().try_for_each(|record| film.record(record)).map_err(Refusal::bad)?;
    let diagram = Diagram::new(processes, film.records()).without(film.left_out());
    Ok(Shot { report: None, film, diagram })
}

/// Films as long as anybody waits for it.
struct Camera<'a> {
    film: Film,
    wanted: &'a AtomicBool,
}

impl TraceSink for Camera<'_> {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.film.record(record)
    }

    fn wants(&mut self, event: u64, process: u32) -> io::Result<bool> {
        if !self.wanted.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        self.film.wants(event, process)
    }

    fn state(&mut self, event: u64, process: u32, state: &dyn std::fmt::Debug) -> io::Result<()> {
        self.film.state(event, process, state)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.film.finish()
    }
}
