//! Recordings of parts of a run, to be stepped through.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::response::{IntoResponse, Response};
use quorate_core::{Permission, ProcessId, ProcessSet};
use quorate_sim::trace::Record;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::scenario::ScenarioRequest;
use crate::api_error::ApiError;
use crate::lab_state::LabState;
use crate::recording::{RecordedStep, Recording};
use crate::runs::RecordedRun;

/// [`Recording`] in the form that the page expects.
#[derive(Serialize)]
pub(super) struct RecordingJson<'a> {
    processes: usize,
    /// Number of steps in the whole run.
    total: usize,
    /// Number of the first step in the recording.
    first: usize,
    /// Number of steps that are not in the recording.
    left_out: usize,
    #[serde(rename = "earlier")]
    prefix: PrefixJson<'a>,
    /// Event, time, process, index of the first record, and the new state as an index into `texts`, or -1.
    steps: Vec<(u64, u64, u32, usize, i64)>,
    /// Records of these steps, followed by the violations.
    records: Vec<&'a Record>,
    texts: Vec<&'a str>,
    /// For each of the texts, the processes for which a process in this state waits.
    waits: Vec<Vec<u32>>,
    /// For each of the texts, where the vote or the token of a process in this state is.
    permissions: Vec<PermissionJson>,
}

/// [`Permission`] in the form that the page expects: `null`, `"token"`, or the processes that have the vote.
#[derive(Serialize)]
#[serde(untagged)]
enum PermissionJson {
    Free,
    Token(&'static str),
    GivenTo(Vec<u32>),
}

impl From<&Permission> for PermissionJson {
    fn from(permission: &Permission) -> Self {
        match permission {
            Permission::Free => Self::Free,
            Permission::Token => Self::Token("token"),
            Permission::GivenTo(holders) => Self::GivenTo(numbers(holders)),
        }
    }
}

fn numbers(processes: &ProcessSet) -> Vec<u32> {
    processes.iter().map(ProcessId::number).collect()
}

/// Summary of the run before the first recorded step.
#[derive(Serialize)]
struct PrefixJson<'a> {
    /// State of each process as an index into `texts`, or -1.
    states: Vec<i64>,
    records: Vec<&'a Record>,
    /// Number of messages in flight that are not among the records.
    #[serde(rename = "untold")]
    omitted: usize,
    sent: &'a BTreeMap<String, u64>,
    lost: u64,
}

fn state_index(state: Option<usize>) -> i64 {
    state.map_or(-1, |index| index as i64)
}

impl<'a> RecordingJson<'a> {
    pub(super) fn new(run: &RecordedRun, recording: &'a Recording) -> Self {
        let (processes, total) = (run.diagram.processes(), run.step_index.len());
        let mut records = Vec::new();
        let mut steps = Vec::with_capacity(recording.steps().len());
        for RecordedStep { event, time, process, state, records: own, .. } in recording.steps() {
            steps.push((*event, *time, *process, records.len(), state_index(*state)));
            records.extend(own);
        }
        records.extend(recording.violations());
        let states =
            (0..processes as u32).map(|process| state_index(recording.state_before(process)));
        let prefix = PrefixJson {
            states: states.collect(),
            records: recording.prefix().records(),
            omitted: recording.prefix().omitted(),
            sent: recording.prefix().sent(),
            lost: recording.prefix().lost(),
        };
        let states = recording.states();
        let texts = states.iter().map(|state| state.text.as_str()).collect();
        let waits = states.iter().map(|state| numbers(&state.waits_for)).collect();
        let permissions = states.iter().map(|state| (&state.permission).into()).collect();
        let (first, left_out) = (recording.first(), total - steps.len());
        Self {
            processes,
            total,
            first,
            left_out,
            prefix,
            steps,
            records,
            texts,
            waits,
            permissions,
        }
    }
}

/// Part of a run to record: around a step, the first step of an event, or the last step at a time.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SegmentRequest {
    toml: Option<String>,
    scenario: Option<Value>,
    trace: Option<u64>,
    step: Option<usize>,
    event: Option<u64>,
    time: Option<u64>,
}

/// The recording, and the requested step.
#[derive(Serialize)]
struct SegmentResponse<'a> {
    step: usize,
    #[serde(rename = "film")]
    recording: RecordingJson<'a>,
}

pub(super) async fn segment(
    State(lab): State<Arc<LabState>>,
    request: Result<Json<SegmentRequest>, JsonRejection>,
) -> Result<Response, ApiError> {
    let Json(request) = request?;
    let (run, scenario) = match request.trace {
        Some(name) => (lab.runs.imported_trace(name)?, None),
        None => {
            let scenario = ScenarioRequest { toml: request.toml, scenario: request.scenario }
                .into_scenario()?;
            (lab.runs.run(scenario.clone()).await?, Some(scenario))
        }
    };
    let step = match (request.step, request.event, request.time) {
        (Some(step), None, None) => step,
        (None, Some(event), None) => run.step_index.step_of_event(event),
        (None, None, Some(time)) => run.step_index.step_at_time(time),
        _ => return Err(ApiError::bad_request("expected one of `step`, `event` and `time`")),
    };
    let step = step.min(run.step_index.len().saturating_sub(1));
    let recording = lab.runs.record_segment(run.clone(), scenario, step).await?;
    Ok(Json(SegmentResponse { step, recording: RecordingJson::new(&run, &recording) })
        .into_response())
}
