//! What the lab answers.

use quorate_algorithms::catalogue::PROFILES;
use serde_json::{Value, json};

use crate::support::Lab;

fn run(scenario: Value) -> Value {
    json!({ "scenario": scenario })
}

#[test]
fn a_run_is_the_report_of_sim_and_a_film() {
    let lab = Lab::open();
    let asked = run(json!({ "algorithm": "ricart-agrawala", "processes": 5, "requesters": "all" }));
    let first = lab.post("/api/run", &asked);
    let answer = first.json();
    assert_eq!(answer["report"]["messages"]["total"], 40);
    assert_eq!(answer["report"]["verdict"], "holds");
    let film = &answer["film"];
    let steps = film["steps"].as_array().expect("steps");
    assert_eq!(film["left_out"], 0);
    // Every state that a step names is there, and something has been filmed of each process.
    let texts = film["texts"].as_array().expect("texts").len() as i64;
    assert!(
        steps.iter().all(|step| step[4].as_i64().is_some_and(|state| (-1..texts).contains(&state)))
    );
    assert!((0..5).all(|process| steps.iter().any(|step| step[2] == process && step[4] != -1)));
    let again = Lab::open().post("/api/run", &asked);
    assert_eq!(first.body, again.body, "the same scenario, the same bytes");
}

#[test]
fn everything_before_a_new_fault_stays_as_it_was() {
    let lab = Lab::open();
    let scenario = json!({ "algorithm": "lamport", "processes": 5, "requesters": "all", "delay": "uniform:1ms..4ms", "seed": 3 });
    let mut broken = scenario.clone();
    broken["faults"] = json!({ "crash": ["2@5ms"] });
    let records = |scenario| lab.post("/api/run", &run(scenario)).json()["film"]["records"].clone();
    let before = |records: &Value| -> Vec<Value> {
        let records = records.as_array().expect("records");
        records.iter().filter(|record| record["time"].as_u64() < Some(5_000_000)).cloned().collect()
    };
    let (whole, crashed) = (records(scenario), records(broken));
    assert_ne!(whole, crashed);
    // The numbers of events may shift where a fault is planned; what happens, when and to whom does not.
    assert_eq!(before(&whole), before(&crashed));
}

#[test]
fn every_algorithm_has_a_card_and_runs() {
    let lab = Lab::open();
    let cards = lab.get("/api/algorithms").json();
    let cards = cards["algorithms"].as_array().expect("cards").clone();
    assert_eq!(cards.len(), PROFILES.len());
    for card in cards {
        for field in ["assumes", "guarantees", "cost", "summary", "family", "source"] {
            assert!(!card[field].is_null(), "{card}");
        }
        let answer =
            lab.post("/api/run", &run(json!({ "algorithm": card["name"], "processes": 4 })));
        assert_eq!(answer.status, 200, "{}: {}", card["name"], answer.text());
    }
}

#[test]
fn seeds_beyond_what_scripts_can_count_survive() {
    let lab = Lab::open();
    let answer = lab.post(
        "/api/scenario",
        &json!({ "toml": "algorithm = \"central\"\nprocesses = 3\nseed = 9223372036854775807" }),
    );
    let scenario = answer.json()["scenario"].clone();
    assert_eq!(scenario["seed"], "9223372036854775807");
    let answer = lab.post("/api/scenario", &run(scenario));
    assert!(
        answer.json()["toml"]
            .as_str()
            .is_some_and(|text| text.contains("seed = 9223372036854775807"))
    );
}

#[test]
fn a_diagram_is_drawn_by_window() {
    let lab = Lab::open();
    let scenario = json!({ "algorithm": "ricart-agrawala", "processes": 5, "requesters": "all" });
    let asked = json!({ "scenario": scenario, "from": 0, "to": 2_000_000, "width": 900 });
    let answer = lab.post("/api/diagram", &asked).json();
    let svg = answer["svg"].as_str().expect("a drawing");
    assert!(svg.starts_with("<svg") && svg.contains("data-message="), "{svg}");
    assert!(!svg.contains("<script") && !svg.contains("href"), "a drawing acts on nothing");
    assert_eq!(answer["geometry"]["lanes"].as_array().map(Vec::len), Some(5));
    assert_eq!(answer["geometry"]["to"], 2_000_000);
}

#[test]
fn a_trace_that_is_brought_is_shown_like_a_run() {
    let lab = Lab::open();
    let asked = run(json!({ "algorithm": "central", "processes": 3, "requesters": "all" }));
    let film = lab.post("/api/run", &asked).json()["film"].clone();
    let lines: Vec<String> =
        film["records"].as_array().expect("records").iter().map(Value::to_string).collect();
    let answer = lab.ask("POST", "/api/trace", &[], lines.join("\n").as_bytes()).json();
    assert_eq!(
        answer["film"]["steps"].as_array().map(Vec::len),
        film["steps"].as_array().map(Vec::len)
    );
    let asked = json!({ "trace": answer["trace"], "from": 0, "width": 800 });
    assert!(lab.post("/api/diagram", &asked).json()["svg"].as_str().is_some());
    let asked = json!({ "trace": 999, "from": 0, "width": 800 });
    assert_eq!(lab.post("/api/diagram", &asked).status, 404);
}

#[test]
fn who_talks_to_whom_is_drawn() {
    let lab = Lab::open();
    let asked = run(json!({ "algorithm": "raymond", "processes": 7, "tree": "binary" }));
    let answer = lab.post("/api/topology", &asked).json();
    assert!(answer["svg"].as_str().is_some_and(|svg| svg.contains("data-process")), "{answer}");
    let many = run(json!({ "algorithm": "raymond", "processes": 5_000 }));
    assert_eq!(lab.post("/api/topology", &many).status, 413);
}

#[test]
fn quorums_change_with_the_failed() {
    let lab = Lab::open();
    let answer = lab.get("/api/quorum?system=vcube&n=8&failed=1,2").json();
    assert_eq!(answer["failed"], json!([1, 2]));
    assert!(answer["picture"].as_str().is_some_and(|svg| svg.contains("data-process")));
    for wrong in [
        "system=vcube&n=0",
        "system=none&n=4",
        "system=vcube&n=4&failed=9",
        "n=4",
        "system=vcube&n=100000",
    ] {
        assert_eq!(lab.get(&format!("/api/quorum?{wrong}")).status, 400, "{wrong}");
    }
}

#[test]
fn an_experiment_is_begun_watched_and_read() {
    let lab = Lab::open();
    assert!(lab.get("/api/experiments").json().as_array().is_some_and(|all| all.len() >= 8));
    let asked = json!({ "name": "consensus-rounds", "seeds": 1 });
    let id = lab.post("/api/experiments", &asked).json()["id"].clone();
    // The stream ends when the experiment does.
    let told = lab.get(&format!("/api/experiments/{id}/progress")).text();
    assert!(told.contains("\"state\":\"done\""), "{told}");
    let job = lab.get(&format!("/api/experiments/{id}")).json();
    assert!(job["blocks"].as_array().is_some_and(|blocks| !blocks.is_empty()), "{job}");
    let csv = lab.get(&format!("/api/experiments/{id}/table.csv"));
    assert!(csv.head.contains("text/csv") && csv.text().lines().count() > 1);
    let charts = job["charts"].as_array().cloned().unwrap_or_default();
    for chart in charts {
        let path =
            format!("/api/experiments/{id}/charts/{}.svg", chart["name"].as_str().expect("a name"));
        let dark = lab.get(&format!("{path}?theme=dark"));
        assert!(
            dark.head.contains("default-src 'none'; style-src 'unsafe-inline'; sandbox"),
            "{}",
            dark.head
        );
        assert_ne!(dark.body, lab.get(&format!("{path}?theme=light")).body);
        assert_eq!(lab.get(&format!("{path}?theme=<b>")).status, 400);
    }
    assert_eq!(lab.get("/api/experiments/99").status, 404);
    assert_eq!(lab.post("/api/experiments", &json!({ "name": "no-such" })).status, 400);
}

#[test]
fn an_experiment_can_be_cancelled_and_is_alone() {
    let lab = Lab::open();
    let asked = json!({ "name": "mutex-cost", "seeds": 1000 });
    let id = lab.post("/api/experiments", &asked).json()["id"].clone();
    assert_eq!(lab.post("/api/experiments", &asked).status, 409);
    assert_eq!(lab.ask("DELETE", &format!("/api/experiments/{id}"), &[], b"").status, 200);
    let told = lab.get(&format!("/api/experiments/{id}/progress")).text();
    assert!(told.contains("it was cancelled"), "{told}");
}
