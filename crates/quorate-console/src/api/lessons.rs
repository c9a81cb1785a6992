//! Lessons of the course, the answers to their questions, and all scenarios.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use quorate_sim::Scenario;
use serde::Deserialize;
use serde_json::{Value, json};

use super::scenario;
use crate::api_error::ApiError;
use crate::assets::SCENARIO_FILES;
use crate::lab_state::LabState;
use crate::lessons::{
    LessonError, LessonSource, NamedLesson, Question, expected_value, read_lesson_folder,
    solved_scenario,
};

/// Lists the lessons in order, with the keys of their scenarios. A teacher's lessons come first. They are read again for
/// each request, so that a reload of the page shows a change; a problem with them does not hide the course.
pub(super) async fn list(State(lab): State<Arc<LabState>>) -> Result<Json<Value>, ApiError> {
    let (own, problem) = match own_lessons(&lab) {
        Ok(own) => (own, None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    let course = built_in_lessons()?;
    let all =
        own.iter().map(|it| to_json(it, true)).chain(course.iter().map(|it| to_json(it, false)));
    let lessons = all.collect::<Result<Vec<Value>, ApiError>>()?;
    Ok(Json(json!({ "lessons": lessons, "problem": problem })))
}

/// Runs a lesson and returns an answer for each of its questions: a value of the report, or a scenario that solves the
/// task. The answer to a choice is in the lesson itself.
pub(super) async fn answers(
    State(lab): State<Arc<LabState>>,
    Path(name): Path<String>,
) -> Result<Json<Value>, ApiError> {
    let mut all = own_lessons(&lab).unwrap_or_default();
    all.extend(built_in_lessons()?);
    let named = all
        .into_iter()
        .find(|named| named.name == name)
        .ok_or_else(|| ApiError::not_found("there is no such lesson"))?;
    Ok(Json(answers_of(&lab, &named).await?.into()))
}

/// Lesson in an address: the two texts that a teacher's folder has as files.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SharedLesson {
    text: String,
    scenario: String,
}

/// Parses a lesson that an address contains, and answers its questions.
pub(super) async fn shared(
    State(lab): State<Arc<LabState>>,
    request: Result<Json<SharedLesson>, JsonRejection>,
) -> Result<Json<Value>, ApiError> {
    let SharedLesson { text, scenario } = request?.0;
    let source = LessonSource {
        text,
        text_file: "text".to_owned(),
        scenario,
        scenario_file: "scenario".to_owned(),
    };
    let named = source.parse("shared".to_owned(), "shared").map_err(ApiError::bad_request)?;
    let answers = answers_of(&lab, &named).await?;
    Ok(Json(json!({ "lesson": to_json(&named, true)?, "answers": answers })))
}

/// Lesson for the page, with the keys of its scenario.
fn to_json(named: &NamedLesson, is_own: bool) -> Result<Value, ApiError> {
    let NamedLesson { name, lesson, scenario } = named;
    let keys = scenario::to_json(&quorate_sim::parse(scenario, &lesson.scenario)?)?;
    Ok(json!({ "name": name, "own": is_own, "lesson": lesson, "keys": keys }))
}

/// Runs a lesson and answers its questions.
async fn answers_of(lab: &LabState, named: &NamedLesson) -> Result<Vec<Value>, ApiError> {
    let parsed = quorate_sim::parse(&named.scenario, &named.lesson.scenario)?;
    let plain = Scenario { expect: None, ..parsed };
    let run = lab.runs.run(plain.clone()).await?;
    let report = run.report.as_ref().ok_or_else(|| ApiError::not_found("the run has no report"))?;
    let answer = |question: &Question| match question {
        Question::Choice { .. } => Ok(Value::Null),
        Question::Predict { value, unit, .. } => {
            let value = expected_value(value, *unit, report).map_err(ApiError::bad_request)?;
            Ok(json!({ "value": value }))
        }
        Question::Break { solution, .. } => {
            let solved = solved_scenario(&plain, solution).map_err(ApiError::bad_request)?;
            Ok(json!({ "solution": scenario::to_json(&solved)? }))
        }
    };
    named.lesson.questions.iter().map(answer).collect()
}

fn own_lessons(lab: &LabState) -> Result<Vec<NamedLesson>, LessonError> {
    lab.lesson_folder.as_deref().map_or(Ok(Vec::new()), read_lesson_folder)
}

fn built_in_lessons() -> Result<Vec<NamedLesson>, ApiError> {
    crate::lessons().map_err(|problem| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, problem))
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
