//! Who talks to whom in a scenario, as a picture.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use quorate_draw::Theme;
use serde::Deserialize;
use serde_json::{Value, json};

use super::scenario::Said;
use crate::refusal::Refusal;
use crate::server::Lab;
use crate::words::Language;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    toml: Option<String>,
    scenario: Option<Value>,
    #[serde(default)]
    language: Language,
}

pub(super) async fn picture(
    State(lab): State<Arc<Lab>>,
    asked: Result<Json<Asked>, JsonRejection>,
) -> Result<Json<Value>, Refusal> {
    let Json(Asked { toml, scenario, language }) = asked?;
    let scenario = Said { toml, scenario }.settle()?;
    lab.runs.admit(&scenario)?;
    let words = language.words();
    let drawn = move |_: &_| {
        quorate_lab::topology(&scenario).map(|drawn| drawn.in_words(words).svg(Theme::Auto))
    };
    let svg = lab.runs.work(drawn).await??;
    Ok(Json(json!({ "svg": svg })))
}
