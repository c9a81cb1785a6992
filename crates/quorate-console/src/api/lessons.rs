//! Lessons of the course, and all scenarios.

use axum::Json;
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::scenario;
use crate::api_error::ApiError;
use crate::assets::SCENARIO_FILES;

/// Lists the lessons in order, with the keys of their scenarios.
pub(super) async fn list() -> Result<Json<Value>, ApiError> {
    let broken = |problem| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, problem);
    let lessons = crate::lessons().map_err(broken)?.into_iter().map(|(lesson, text)| {
        let scenario = quorate_sim::parse(&text, &lesson.scenario)?;
        Ok(json!({ "lesson": lesson, "keys": scenario::to_json(&scenario)? }))
    });
    Ok(Json(lessons.collect::<Result<Vec<Value>, ApiError>>()?.into()))
}

/// Lists all scenarios with the comment at the top of each file.
pub(super) async fn list_scenarios() -> Json<Value> {
    let scenarios = SCENARIO_FILES.names().filter_map(|name| {
        let file = SCENARIO_FILES.get(name)?;
        let text = str::from_utf8(&file).ok()?;
        let comment: Vec<&str> =
            text.lines().map_while(|line| line.strip_prefix('#')).map(str::trim).collect();
        Some(json!({ "name": name, "comment": comment.join(" "), "toml": text }))
    });
    Json(scenarios.collect())
}
