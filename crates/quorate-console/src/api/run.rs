//! Runs a scenario and returns its report and a recording to step through.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::{BytesRejection, JsonRejection};
use axum::response::{IntoResponse, Response};
use quorate_sim::Report;
use serde::Serialize;
use serde_json::Value;

use super::recording::RecordingJson;
use super::scenario::{self, ScenarioRequest};
use crate::api_error::ApiError;
use crate::lab_state::LabState;

/// Maximum number of selectable times.
const MOMENTS_MOST: usize = 10_000;

/// Result of a run or of an uploaded trace. The fields are serialized in this order.
#[derive(Serialize)]
struct RunResponse<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scenario: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    toml: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<&'a Report>,
    #[serde(rename = "film")]
    recording: RecordingJson<'a>,
    /// Times at which something happens, each with its last step. Of many, an even selection.
    moments: Vec<(u64, usize)>,
    /// Deviations from the expectations of the scenario; absent if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    differences: Option<Vec<String>>,
    /// Maximum number of events, if the run was stopped there.
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped_at: Option<u64>,
}

impl IntoResponse for RunResponse<'_> {
    fn into_response(self) -> Response {
        Json(self).into_response()
    }
}

pub(super) async fn run(
    State(lab): State<Arc<LabState>>,
    request: Result<Json<ScenarioRequest>, JsonRejection>,
) -> Result<Response, ApiError> {
    let scenario = request?.0.into_scenario()?;
    let run = lab.runs.run(scenario.clone()).await?;
    let report = run.report.as_ref();
    let expected = scenario.expect.as_ref().zip(report);
    let stopped = report.is_some_and(|report| report.ending == "events");
    let response = RunResponse {
        trace: None,
        scenario: Some(scenario::to_json(&scenario)?),
        toml: Some(scenario::to_toml(&scenario)?),
        report,
        recording: RecordingJson::new(&run, &run.recording),
        moments: run.step_index.moments(MOMENTS_MOST),
        differences: expected.map(|(expected, report)| expected.differences(report)),
        stopped_at: stopped.then_some(lab.runs.bounds.events),
    };
    Ok(response.into_response())
}

/// Accepts a trace in the format that `--trace` writes.
pub(super) async fn upload_trace(
    State(lab): State<Arc<LabState>>,
    text: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let text =
        text.map_err(|_| ApiError::too_large("the trace is larger than the limit of the lab"))?;
    let (name, run) = lab.runs.import_trace(text).await?;
    let response = RunResponse {
        trace: Some(name),
        scenario: None,
        toml: None,
        report: None,
        recording: RecordingJson::new(&run, &run.recording),
        moments: run.step_index.moments(MOMENTS_MOST),
        differences: None,
        stopped_at: None,
    };
    Ok(response.into_response())
}
