//! Scenarios in requests: the text of a file, or its keys as JSON.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use quorate_sim::Scenario;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api_error::ApiError;

/// Keys whose numbers may exceed what JavaScript represents exactly. The page sends such numbers as strings.
const LARGE_NUMBER_KEYS: [&str; 4] = ["seed", "ids", "clocks", "values"];

/// Largest integer that JavaScript represents exactly, together with all smaller ones.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// Scenario in one of two forms.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScenarioRequest {
    /// Text of a scenario file.
    pub(super) toml: Option<String>,
    /// Object with the keys of a scenario file.
    pub(super) scenario: Option<Value>,
}

impl ScenarioRequest {
    /// Parses the scenario and checks that its algorithm can run it.
    pub(crate) fn into_scenario(self) -> Result<Scenario, ApiError> {
        let scenario = match self {
            Self { toml: Some(text), scenario: None } => quorate_sim::parse(&text, "scenario")?,
            Self { toml: None, scenario: Some(keys) } => from_json(keys)?,
            _ => return Err(ApiError::bad_request("expected either `toml` or `scenario`")),
        };
        quorate_run::check(&scenario)?;
        Ok(scenario)
    }
}

fn from_json(mut keys: Value) -> Result<Scenario, ApiError> {
    for key in LARGE_NUMBER_KEYS {
        if let Some(value) = keys.get_mut(key) {
            parse_digits(value);
        }
    }
    // One parser for files and for the page, so that its problems have the same words.
    let text = toml::to_string(&keys).map_err(ApiError::bad_request)?;
    quorate_sim::parse(&text, "scenario")
        .map_err(|error| ApiError::of_key(error.key, error.problem))
}

/// Converts strings of digits to numbers.
fn parse_digits(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Ok(number) = text.parse::<u64>() {
                *value = Value::from(number);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(parse_digits),
        _ => {}
    }
}

/// Returns the keys of a scenario for the page, without its expectations.
pub(super) fn to_json(scenario: &Scenario) -> Result<Value, ApiError> {
    let plain = Scenario { expect: None, ..scenario.clone() };
    let mut keys = serde_json::to_value(&plain).map_err(ApiError::bad_request)?;
    stringify_large_integers(&mut keys);
    Ok(keys)
}

/// Returns the scenario as the text of a file.
pub(super) fn to_toml(scenario: &Scenario) -> Result<String, ApiError> {
    toml::to_string(scenario).map_err(ApiError::bad_request)
}

/// Parses a scenario without running it.
pub(super) async fn validate(
    request: Result<Json<ScenarioRequest>, JsonRejection>,
) -> Result<Json<Value>, ApiError> {
    let scenario = request?.0.into_scenario()?;
    Ok(Json(json!({ "scenario": to_json(&scenario)?, "toml": to_toml(&scenario)? })))
}

/// Replaces integers that JavaScript would round by strings.
fn stringify_large_integers(value: &mut Value) {
    match value {
        Value::Number(number)
            if number.as_u64().is_some_and(|number| number > MAX_SAFE_INTEGER) =>
        {
            *value = Value::String(number.to_string());
        }
        Value::Array(values) => values.iter_mut().for_each(stringify_large_integers),
        Value::Object(fields) => fields.values_mut().for_each(stringify_large_integers),
        _ => {}
    }
}
