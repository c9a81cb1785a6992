//! Picture of the communication topology of a scenario.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use quorate_draw::Theme;
use serde::Deserialize;
use serde_json::{Value, json};

use super::scenario::ScenarioRequest;
use crate::api_error::ApiError;
use crate::lab_state::LabState;
use crate::language::Language;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TopologyRequest {
    toml: Option<String>,
    scenario: Option<Value>,
    #[serde(default)]
    language: Language,
}

pub(super) async fn draw(
    State(lab): State<Arc<LabState>>,
    request: Result<Json<TopologyRequest>, JsonRejection>,
) -> Result<Json<Value>, ApiError> {
    let Json(TopologyRequest { toml, scenario, language }) = request?;
    let scenario = ScenarioRequest { toml, scenario }.into_scenario()?;
    lab.runs.check_size(&scenario)?;
    let vocabulary = language.vocabulary();
    let render = move |_: &_| {
        quorate_lab::topology(&scenario)
            .map(|topology| topology.with_vocabulary(vocabulary).svg(Theme::Auto))
    };
    let svg = lab.runs.run_blocking(render).await??;
    Ok(Json(json!({ "svg": svg })))
}
