//! Space-time diagram of a window of a run.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use quorate_draw::spacetime::DiagramView;
use serde::Deserialize;
use serde_json::{Value, json};

use super::scenario::ScenarioRequest;
use crate::api_error::ApiError;
use crate::lab_state::LabState;
use crate::language::Language;

/// Bounds of a drawing. A wider or fuller one would take long to draw and would be unreadable.
const WIDTH_MOST: u32 = 4_000;
const HEIGHT_MOST: u32 = 4_000;
const ARROWS_MOST: usize = 600;

/// Window of a run or of an uploaded trace.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DiagramRequest {
    toml: Option<String>,
    scenario: Option<Value>,
    trace: Option<u64>,
    from: u64,
    to: Option<u64>,
    width: u32,
    /// Processes to draw; all if empty.
    #[serde(default)]
    processes: Vec<u32>,
    /// Whether to draw a heading and a legend.
    #[serde(default)]
    legend: bool,
    /// Whether events have their Lamport and vector stamps beside them.
    #[serde(default)]
    stamps: bool,
    /// Whether each step has a column of its own.
    #[serde(default)]
    spread: bool,
    /// Height of all lanes together.
    height: Option<u32>,
    #[serde(default)]
    language: Language,
}

/// Returns the drawing and the positions of its lanes and times.
pub(super) async fn draw_window(
    State(lab): State<Arc<LabState>>,
    request: Result<Json<DiagramRequest>, JsonRejection>,
) -> Result<Json<Value>, ApiError> {
    let Json(request) = request?;
    let run = match request.trace {
        Some(name) => lab.runs.imported_trace(name)?,
        None => {
            let scenario = ScenarioRequest { toml: request.toml, scenario: request.scenario };
            lab.runs.run(scenario.into_scenario()?).await?
        }
    };
    let view = DiagramView {
        from: request.from,
        to: request.to,
        width: request.width.min(WIDTH_MOST),
        processes: request.processes,
        max_arrows: ARROWS_MOST,
        legend: request.legend,
        stamps: request.stamps,
        spread: request.spread,
        lanes_height: request.height.map(|height| height.min(HEIGHT_MOST)),
        vocabulary: request.language.vocabulary(),
        ..DiagramView::default()
    };
    let render = move |_: &_| (run.diagram.svg(&view), run.diagram.geometry(&view));
    let (svg, geometry) = lab.runs.run_blocking(render).await?;
    Ok(Json(json!({ "svg": svg, "geometry": geometry })))
}
