//! Runs a scenario: what came of it, and the film to step through.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::{BytesRejection, JsonRejection};
use quorate_sim::Film;
use serde_json::{Value, json};

use super::scenario::{self, Said};
use crate::refusal::Refusal;
use crate::server::Lab;

pub(super) async fn run(
    State(lab): State<Arc<Lab>>,
    said: Result<Json<Said>, JsonRejection>,
) -> Result<Json<Value>, Refusal> {
    let scenario = said?.0.settle()?;
    let shot = lab.runs.shoot(scenario.clone()).await?;
    let report = shot.report.as_ref();
    let expected = scenario.expect.as_ref();
    Ok(Json(json!({
        "scenario": scenario::keys(&scenario)?,
        "toml": scenario::text(&scenario)?,
        "report": report,
        "film": film(&shot.film, scenario.processes),
        "differences": expected.zip(report).map(|(expected, report)| expected.differences(report)),
        "stopped_at": report.filter(|report| report.ending == "events").map(|_| lab.runs.bounds.events),
    })))
}

/// A trace that somebody brings, as `--trace` writes one.
pub(super) async fn trace(
    State(lab): State<Arc<Lab>>,
    text: Result<Bytes, BytesRejection>,
) -> Result<Json<Value>, Refusal> {
    let text =
        text.map_err(|_| Refusal::too_large("the trace is longer than what is read here"))?;
    let (name, shot) = lab.runs.bring(text).await?;
    let film = film(&shot.film, shot.diagram.processes());
    Ok(Json(json!({ "trace": name, "film": film })))
}

/// A film for scripts: `steps` are `[event, time, process, first record, state or -1]`.
fn film(film: &Film, processes: usize) -> Value {
    let step = |step: &quorate_sim::Step| {
        let state = step.state.map_or(-1, |place| place as i64);
        json!([step.event, step.time, step.process, step.first, state])
    };
    json!({
        "processes": processes,
        "steps": film.steps().iter().map(step).collect::<Vec<_>>(),
        "records": film.records(),
        "texts": film.texts(),
        "left_out": film.left_out(),
    })
}
