//! Answers that are computed from a run, so that they cannot differ from what the page shows.

use quorate_sim::{Report, Scenario};
use serde_json::Value;

use super::Unit;

/// Nanoseconds in a millisecond.
const NS_PER_MS: f64 = 1e6;

/// Path of the first violated property, which is `none` if all hold.
const BROKEN: &str = "broken";

/// Returns the value at a path of a report, such as `messages.total`, `order.1` or `waiting.length`. The path `broken`
/// is the first property that is violated, or `none`.
pub fn expected_value(path: &str, unit: Unit, report: &Report) -> Result<Value, String> {
    let report = serde_json::to_value(report).map_err(|error| error.to_string())?;
    if path == BROKEN {
        return Ok(first_violated(&report));
    }
    let missing = || format!("the report of the run has no `{path}`");
    let mut value = &report;
    let mut segments = path.split('.').peekable();
    while let Some(segment) = segments.next() {
        if let (Value::Array(items), "length", None) = (value, segment, segments.peek()) {
            return Ok(items.len().into());
        }
        value = match value {
            Value::Array(items) => segment
                .parse()
                .ok()
                .and_then(|index: usize| items.get(index))
                .ok_or_else(missing)?,
            Value::Object(fields) => fields.get(segment).ok_or_else(missing)?,
            _ => return Err(missing()),
        };
    }
    match value {
        Value::Number(number) if unit == Unit::Ms => {
            Ok(number.as_f64().map(|ns| ns / NS_PER_MS).into())
        }
        Value::Number(_) | Value::String(_) => Ok(value.clone()),
        _ => Err(format!("`{path}` is no number or word in the report of the run")),
    }
}

fn first_violated(report: &Value) -> Value {
    let properties = report["properties"].as_array().into_iter().flatten();
    let mut violated = properties.filter(|property| property["status"] == "violated");
    violated.next().map_or_else(|| "none".into(), |property| property["id"].clone())
}

/// Returns a scenario with the keys of a solution in place of its own. Faults are merged by kind.
pub fn solved_scenario(scenario: &Scenario, solution: &toml::Table) -> Result<Scenario, String> {
    let plain = Scenario { expect: None, ..scenario.clone() };
    let mut keys = toml::Table::try_from(&plain).map_err(|error| error.to_string())?;
    for (key, value) in solution {
        match (keys.get_mut(key), value) {
            (Some(toml::Value::Table(own)), toml::Value::Table(new)) => own.extend(new.clone()),
            _ => drop(keys.insert(key.clone(), value.clone())),
        }
    }
    let text = toml::to_string(&keys).map_err(|error| error.to_string())?;
    quorate_sim::parse(&text, "solution").map_err(|error| error.to_string())
}
