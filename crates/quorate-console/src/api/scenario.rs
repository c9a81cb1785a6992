//! A scenario as the page sends it: the text of a file, or its keys as JSON.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use quorate_sim::Scenario;
use serde::Deserialize;
use serde_json::{Value, json};

use super::for_scripts;
use crate::refusal::Refusal;

/// The keys whose numbers may be larger than a script can count, and come as text.
const LARGE: [&str; 4] = ["seed", "ids", "clocks", "values"];

/// A scenario in one of two spellings.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Said {
    /// As the text of a file.
    pub(super) toml: Option<String>,
    /// As an object with the keys of a file.
    pub(super) scenario: Option<Value>,
}

impl Said {
    /// The scenario, if there is one and its algorithm can run it.
    pub(crate) fn settle(self) -> Result<Scenario, Refusal> {
        let scenario = match self {
            Self { toml: Some(text), scenario: None } => quorate_sim::parse(&text, "scenario")?,
            Self { toml: None, scenario: Some(keys) } => of_keys(keys)?,
            _ => return Err(Refusal::bad("expected either `toml` or `scenario`")),
        };
        quorate_run::check(&scenario)?;
        Ok(scenario)
    }
}

fn of_keys(mut keys: Value) -> Result<Scenario, Refusal> {
    for key in LARGE {
        if let Some(value) = keys.get_mut(key) {
            counted(value);
        }
    }
    let scenario: Scenario = serde_json::from_value(keys).map_err(Refusal::bad)?;
    scenario.validate()?;
    Ok(scenario)
}

/// Digits in a text are a number.
fn counted(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Ok(number) = text.parse::<u64>() {
                *value = Value::from(number);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(counted),
        _ => {}
    }
}

/// The scenario's keys, for scripts, without what was expected of it.
pub(super) fn keys(scenario: &Scenario) -> Result<Value, Refusal> {
    let plain = Scenario { expect: None, ..scenario.clone() };
    let mut keys = serde_json::to_value(&plain).map_err(Refusal::bad)?;
    for_scripts(&mut keys);
    Ok(keys)
}

/// The scenario as the text of a file.
pub(super) fn text(scenario: &Scenario) -> Result<String, Refusal> {
    toml::to_string(scenario).map_err(Refusal::bad)
}

/// Reads a scenario without running it.
pub(super) async fn read(said: Result<Json<Said>, JsonRejection>) -> Result<Json<Value>, Refusal> {
    let scenario = said?.0.settle()?;
    Ok(Json(json!({ "scenario": keys(&scenario)?, "toml": text(&scenario)? })))
}
