//! The pseudo-code of the algorithms agrees with what they do: every event of many runs is a step of it, and every step occurs.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::support::TestServer;

/// Runs of each algorithm: with many delays, so that requests overtake each other.
const SEEDS: u64 = 30;

fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value[key].as_str()
}

/// Name of a command or an output, without its contents.
fn first_word(text: &str) -> &str {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'))
        .next()
        .unwrap_or_default()
}

/// The step that the records of an event execute, by the rules of the page; `None` for an event that is not a step.
fn executed(steps: &[Value], records: &[&Value]) -> Option<Result<usize, String>> {
    let cause = records
        .iter()
        .find(|record| ["command", "deliver"].contains(&text(record, "type").unwrap_or("")))?;
    let on = match text(cause, "command") {
        Some(command) => first_word(command),
        None => text(cause, "kind")?,
    };
    // An answer that comes too late is not a step of the paper, and neither is a command that is refused.
    if records.iter().any(|record| record["type"] == "ignore" || record["type"] == "refuse") {
        return None;
    }
    let effects: BTreeSet<&str> = records
        .iter()
        .filter_map(|record| match text(record, "type")? {
            "send" => text(record, "kind"),
            "output" => text(record, "output").map(first_word),
            _ => None,
        })
        .collect();
    let applies = |step: &Value| {
        step["on"] == on && text(step, "doing").is_none_or(|doing| effects.contains(doing))
    };
    Some(steps.iter().position(applies).ok_or_else(|| format!("{on} with {effects:?}")))
}

#[test]
fn every_event_is_a_step_and_every_step_occurs() {
    let lab = TestServer::start();
    let catalogue = lab.get("/api/algorithms").json();
    let cards = catalogue["algorithms"].as_array().expect("a list");
    let described: Vec<&Value> = cards
        .iter()
        .filter(|card| card["steps"].as_array().is_some_and(|steps| !steps.is_empty()))
        .collect();
    assert!(described.len() >= 13, "only {} algorithms have steps", described.len());
    for card in described {
        let name = card["name"].as_str().expect("a name");
        let steps = card["steps"].as_array().expect("a list");
        let needs_order =
            card["assumes"].as_array().is_some_and(|all| all.contains(&json!("fifo")));
        let mut occurred = BTreeSet::new();
        for seed in 0..SEEDS {
            let scenario = json!({
                "algorithm": name, "processes": 4 + seed % 4, "requesters": "all", "repeat": 2, "seed": seed,
                "delay": "uniform:1ms..9ms", "spread": format!("{}ms", seed % 3 * 20), "think": "2ms", "fifo": needs_order || seed % 2 == 0,
            });
            let run = lab.post("/api/run", &json!({ "scenario": scenario })).json();
            let mut events: BTreeMap<(u64, u64), Vec<&Value>> = BTreeMap::new();
            for record in run["film"]["records"].as_array().expect("records") {
                let key = (record["event"].as_u64(), record["process"].as_u64());
                if let (Some(event), Some(process)) = key {
                    events.entry((event, process)).or_default().push(record);
                }
            }
            for (place, records) in &events {
                match executed(steps, records) {
                    Some(Ok(step)) => drop(occurred.insert(step)),
                    Some(Err(event)) => {
                        panic!("{name}, seed {seed}, {place:?}: no step for {event}")
                    }
                    None => {}
                }
            }
        }
        let missing: Vec<&Value> = (0..steps.len())
            .filter(|step| !occurred.contains(step))
            .map(|step| &steps[step])
            .collect();
        assert!(missing.is_empty(), "{name}: these steps never occur: {missing:?}");
    }
}
