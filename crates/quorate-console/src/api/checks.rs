//! Checks of every interleaving of a small world: progress, verdict, and the counterexample as a scenario.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::response::sse::{Event, Sse};
use futures_util::stream::Stream;
use quorate_check::{Bounds, Budget, Progress};
use quorate_core::Time;
use quorate_lab::exhaustive::{self, CheckConfig, CheckOutcome};
use quorate_sim::Scenario;
use quorate_sim::fault::{Faults, ProcessAt};
use quorate_sim::notation::When;
use serde::Deserialize;
use serde_json::{Value, json};

use super::progress::stream_progress;
use super::scenario::{self, ScenarioRequest};
use crate::api_error::ApiError;
use crate::jobs::{Job, Jobs};
use crate::lab_state::LabState;

/// Checks of this server.
pub(crate) type CheckJobs = Jobs<Progress, CheckOutcome>;

type CheckJob = Job<Progress, CheckOutcome>;

/// Maximum number of threads of a check.
const THREADS_MOST: usize = 4;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckRequest {
    /// Keys of the scenario whose world is checked. Its times and its faults, except traitors, are left out.
    scenario: Value,
    #[serde(default = "one")]
    requests: u8,
    #[serde(default)]
    crashes: u8,
    #[serde(default)]
    recoveries: u8,
    #[serde(default)]
    losses: u8,
    #[serde(default)]
    suspicions: u8,
    #[serde(default)]
    timeouts: u8,
}

const fn one() -> u8 {
    1
}

pub(super) async fn begin(
    State(lab): State<Arc<LabState>>,
    request: Result<Json<CheckRequest>, JsonRejection>,
) -> Result<Json<Value>, ApiError> {
    let Json(request) = request?;
    let CheckRequest { requests, crashes, recoveries, losses, suspicions, timeouts, scenario } =
        request;
    let scenario = ScenarioRequest { toml: None, scenario: Some(scenario) }.into_scenario()?;
    let bounds = Bounds { memory: lab.runs.bounds.check_memory, depth: u32::MAX };
    let config = CheckConfig {
        requests,
        budget: Budget { crashes, recoveries, losses, suspicions, timeouts },
        allow_partial: true,
        threads: std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MOST),
        ..CheckConfig::new(world_of(scenario), bounds)
    };
    let name = config.scenario.algorithm.clone();
    let job = lab.checks.begin(&name, move |job| {
        let follow = |progress: &Progress| {
            job.update(|own| *own = *progress);
            match job.is_cancelled() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        };
        exhaustive::explore(&config, follow).map_err(|error| error.to_string())
    })?;
    Ok(Json(summary(&job)))
}

/// The world of a scenario, without what the explorer chooses itself: the times and the faults.
fn world_of(scenario: Scenario) -> Scenario {
    let at_once = |request: ProcessAt| ProcessAt { at: When::At(Time::ZERO), ..request };
    Scenario {
        requesters: scenario.requesters,
        request: scenario.request.into_iter().map(at_once).collect(),
        to: scenario.to,
        fifo: scenario.fifo,
        server: scenario.server,
        tree: scenario.tree,
        quorums: scenario.quorums,
        quorum_sets: scenario.quorum_sets,
        quorum_of: scenario.quorum_of,
        no_cancel: scenario.no_cancel,
        hand_over: scenario.hand_over,
        ids: scenario.ids,
        values: scenario.values,
        script: scenario.script,
        tolerates: scenario.tolerates,
        capacity: scenario.capacity,
        conflicts: scenario.conflicts,
        claim_of: scenario.claim_of,
        watch: scenario.watch,
        faults: Faults { traitor: scenario.faults.traitor, ..Faults::default() },
        ..Scenario::new(&scenario.algorithm, scenario.processes)
    }
}

pub(super) async fn status(
    State(lab): State<Arc<LabState>>,
    Path(id): Path<usize>,
) -> Result<Json<Value>, ApiError> {
    let job = lab.checks.get(id)?;
    let mut status = summary(&job);
    if let Some(Ok(checked)) = job.outcome() {
        status["report"] = serde_json::to_value(&checked.report).map_err(ApiError::bad_request)?;
        status["steps"] = json!(checked.steps);
        status["scenario"] = match &checked.scenario {
            Some(scenario) => scenario::to_json(scenario)?,
            None => Value::Null,
        };
    }
    Ok(Json(status))
}

pub(super) async fn cancel(
    State(lab): State<Arc<LabState>>,
    Path(id): Path<usize>,
) -> Result<Json<Value>, ApiError> {
    let job = lab.checks.get(id)?;
    job.cancel();
    Ok(Json(summary(&job)))
}

/// Streams the progress of a check until it has ended.
pub(super) async fn progress(
    State(lab): State<Arc<LabState>>,
    Path(id): Path<usize>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    Ok(stream_progress(lab.checks.get(id)?, summary))
}

fn summary(job: &CheckJob) -> Value {
    let (state, problem) = job.state();
    let Progress { states, steps, depth, queue, bytes, expected } = job.progress();
    let expected = expected.map(|it| {
        json!({ "states_least": it.states_least, "states_most": it.states_most, "depth": it.depth })
    });
    json!({
        "id": job.id, "name": job.name, "state": state, "problem": problem, "states": states, "steps": steps,
        "depth": depth, "queue": queue, "bytes": bytes, "expected": expected,
    })
}
