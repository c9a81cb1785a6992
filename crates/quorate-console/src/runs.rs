//! Runs on behalf of the page: bounded, a few at once, stopped when nobody waits for them.
//!
//! Of a run are kept its report, a diagram of all of it, its timetable, and the film of its beginning. Whoever wants to
//! see another part has the same run made and filmed again: that takes less than keeping every state would.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use axum::http::StatusCode;
use quorate_draw::spacetime::{Diagram, Draft, DraftBounds};
use quorate_run::CannotRun;
use quorate_sim::trace::{self, Format, Record, TraceSink};
use quorate_sim::{Conditions, Outcome, Report, RunError, Scenario};
use tokio::sync::Semaphore;

use crate::camera::{Camera, First, Part};
use crate::film::{Film, FilmBounds};
use crate::refusal::Refusal;
use crate::timetable::Timetable;

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
    /// How much of a run the page is sent at once.
    pub film: FilmBounds,
    /// How much of a run is drawn.
    pub draft: DraftBounds,
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
            draft: DraftBounds { parts: 2_000_000, bodies: 50_000 },
            at_once: 2,
            waiting: 16,
        }
    }
}

/// How many runs are remembered, so that a window of a diagram needs no second run, and about how many bytes they may
/// take together. The last one is remembered whatever it takes.
const REMEMBERED: usize = 6;
const BYTES_MOST: usize = 256 << 20;

/// A run that was made.
#[derive(Debug)]
pub(crate) struct Shot {
    /// What came of it; none of a trace that somebody brought.
    pub(crate) report: Option<Report>,
    /// How it begins.
    pub(crate) film: Film,
    pub(crate) diagram: Diagram,
    pub(crate) timetable: Timetable,
    /// Everything that a trace says which somebody brought: it cannot be run again.
    records: Option<Vec<Record>>,
}

impl Shot {
    fn bytes(&self) -> usize {
        let records = self.records.iter().flatten().map(Record::bytes).sum::<usize>();
        self.diagram.bytes() + self.timetable.bytes() + records
    }
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

    /// The film of another part of a run: around a step.
    pub(crate) async fn part(
        &self,
        shot: Arc<Shot>,
        scenario: Option<Scenario>,
        step: usize,
    ) -> Result<Film, Refusal> {
        let (runner, bounds) = (self.runner, self.bounds);
        self.work(move |wanted| {
            let processes = shot.diagram.processes();
            let mut film = Film::around(step, &shot.timetable, processes, bounds.film);
            match (&shot.records, scenario) {
                (Some(records), _) => {
                    records.iter().try_for_each(|it| film.record(it)).map_err(Refusal::bad)?;
                }
                (None, Some(scenario)) => {
                    let mut camera = Camera::new(Part { film: &mut film }, wanted);
                    let made = runner(&scenario, conditions(bounds), Some(&mut camera));
                    match (made, camera.is_done()) {
                        (Ok(_), _) | (Err(CannotRun::Run(RunError::Trace(_))), true) => {}
                        (Err(error), _) => return Err(cancelled(error)),
                    }
                }
                (None, None) => return Err(Refusal::bad("expected `toml`, `scenario` or `trace`")),
            }
            Ok(film)
        })
        .await?
    }

    /// Makes a run again and writes its trace.
    pub(crate) async fn retrace(
        &self,
        scenario: Scenario,
        out: impl Write + Send + 'static,
    ) -> Result<(), Refusal> {
        let (runner, bounds) = (self.runner, self.bounds);
        self.work(move |_| {
            let mut writer = Format::JsonLines.writer(scenario.processes, out);
            runner(&scenario, conditions(bounds), Some(&mut *writer)).map_err(cancelled)?;
            Ok(())
        })
        .await?
    }

    fn keep(&self, name: String, shot: Shot) -> Arc<Shot> {
        let shot = Arc::new(shot);
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.push_front((name.clone(), shot.clone()));
        remembered.truncate(REMEMBERED);
        let mut bytes = 0;
        remembered.retain(|(known, shot)| {
            bytes += shot.bytes();
            bytes <= BYTES_MOST || *known == name
        });
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

fn conditions(bounds: Bounds) -> Conditions {
    Conditions { count_self: true, memory: bounds.memory, events: bounds.events }
}

/// A camera that nobody waits for ends the run.
fn cancelled(error: CannotRun) -> Refusal {
    match error {
        CannotRun::Run(RunError::Trace(_)) => CannotRun::Cancelled.into(),
        error => error.into(),
    }
}

fn shoot(
    scenario: &Scenario,
    runner: Runner,
    bounds: Bounds,
    wanted: &AtomicBool,
) -> Result<Shot, Refusal> {
    let mut camera = Camera::new(First::new(scenario.processes, bounds), wanted);
    let outcome = runner(scenario, conditions(bounds), Some(&mut camera)).map_err(cancelled)?;
    Ok(camera.lens.developed(Some(outcome.report), None))
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
    let mut first = First::new(processes, bounds);
    records.iter().try_for_each(|record| first.record(record)).map_err(Refusal::bad)?;
    Ok(first.developed(None, Some(records)))
}

impl First {
    fn new(processes: usize, bounds: Bounds) -> Self {
        let timetable = Timetable::default();
        Self { film: Film::new(bounds.film), draft: Draft::new(processes, bounds.draft), timetable }
    }

    fn developed(self, report: Option<Report>, records: Option<Vec<Record>>) -> Shot {
        let Self { film, draft, timetable } = self;
        Shot { report, film, diagram: draft.diagram(), timetable, records }
    }
}
