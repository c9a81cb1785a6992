//! The space-time diagram of a window of a run.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use quorate_draw::spacetime::View;
use serde::Deserialize;
use serde_json::{Value, json};

use super::scenario::Said;
use crate::refusal::Refusal;
use crate::server::Lab;
use crate::words::Language;

/// The bounds of a drawing: wider or fuller ones would take long, and nobody could read them.
const WIDTH_MOST: u32 = 4_000;
const ARROWS_MOST: usize = 600;

/// A window of a run, or of a trace that was brought.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    toml: Option<String>,
    scenario: Option<Value>,
    trace: Option<u64>,
    from: u64,
    to: Option<u64>,
    width: u32,
    /// Whose lines; everybody's if not said.
    #[serde(default)]
    processes: Vec<u32>,
    /// With a heading and a legend.
    #[serde(default)]
    legend: bool,
    #[serde(default)]
    language: Language,
}

/// The drawing, and where things are in it.
pub(super) async fn window(
    State(lab): State<Arc<Lab>>,
    asked: Result<Json<Asked>, JsonRejection>,
) -> Result<Json<Value>, Refusal> {
    let Json(asked) = asked?;
    let shot = match asked.trace {
        Some(name) => lab.runs.brought(name)?,
        None => {
            let said = Said { toml: asked.toml, scenario: asked.scenario };
            lab.runs.shoot(said.settle()?).await?
        }
    };
    let view = View {
        from: asked.from,
        to: asked.to,
        width: asked.width.min(WIDTH_MOST),
        processes: asked.processes,
        most: ARROWS_MOST,
        legend: asked.legend,
        words: asked.language.words(),
        ..View::default()
    };
    let drawn = move |_: &_| (shot.diagram.svg(&view), shot.diagram.geometry(&view));
    let (svg, geometry) = lab.runs.work(drawn).await?;
    Ok(Json(json!({ "svg": svg, "geometry": geometry })))
}
