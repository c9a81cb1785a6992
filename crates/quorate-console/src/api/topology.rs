//! Who talks to whom in a scenario, as a picture.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use quorate_draw::Theme;
use serde_json::{Value, json};

use super::scenario::Said;
use crate::refusal::Refusal;
use crate::server::Lab;

pub(super) async fn picture(
    State(lab): State<Arc<Lab>>,
    said: Result<Json<Said>, JsonRejection>,
) -> Result<Json<Value>, Refusal> {
    let scenario = said?.0.settle()?;
    lab.runs.admit(&scenario)?;
    let drawn =
        move |_: &_| quorate_lab::topology(&scenario).map(|topology| topology.svg(Theme::Auto));
    let svg = lab.runs.work(drawn).await??;
    Ok(Json(json!({ "svg": svg })))
}
