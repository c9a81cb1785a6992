//! JSON that other programs rely on: its shape, its sums, its exit codes, and an independent recount of all its
//! numbers from the trace alone.

mod campaigns;
mod formats;
mod parts;
mod quorums;
mod recount;
mod searches;
mod shape;
#[path = "../support/mod.rs"]
mod support;

use std::path::Path;

use serde_json::Value;

use support::{Run, quorate};

/// Report of a run, and the run itself for messages.
fn report(directory: &Path, arguments: &str) -> (Value, Run) {
    let run = quorate(directory, &format!("{arguments} --json"));
    let report = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}\n{run}"));
    (report, run)
}

/// Reads a whole number of the report.
#[track_caller]
fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is not a whole number"))
}

/// Reads a list of whole numbers of the report.
#[track_caller]
fn numbers(value: &Value) -> Vec<u64> {
    let list = value.as_array().unwrap_or_else(|| panic!("{value} is not a list"));
    list.iter().map(number).collect()
}

/// Status of a property in the report.
#[track_caller]
fn status<'a>(report: &'a Value, id: &str) -> &'a str {
    let properties = report["properties"].as_array().expect("properties are a list");
    let property = properties.iter().find(|property| property["id"] == id);
    property.and_then(|property| property["status"].as_str()).expect("the property is listed")
}
