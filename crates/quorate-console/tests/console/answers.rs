//! Responses of the lab API.

use quorate_algorithms::catalogue::PROFILES;
use quorate_console::{LabSettings, RecordingBounds, RunBounds};
use serde_json::{Value, json};

use crate::support::TestServer;

fn run(scenario: Value) -> Value {
    json!({ "scenario": scenario })
}

#[test]
fn a_run_is_the_report_of_sim_and_a_film() {
    let lab = TestServer::start();
    let body = run(json!({ "algorithm": "ricart-agrawala", "processes": 5, "requesters": "all" }));
    let first = lab.post("/api/run", &body);
    let response = first.json();
    assert_eq!(response["report"]["messages"]["total"], 40);
    assert_eq!(response["report"]["verdict"], "holds");
    let recording = &response["film"];
    let steps = recording["steps"].as_array().expect("steps");
    assert_eq!(recording["left_out"], 0);
    // Every state index is valid, and each process has at least one recorded state.
    let texts = recording["texts"].as_array().expect("texts").len() as i64;
    assert!(
        steps.iter().all(|step| step[4].as_i64().is_some_and(|state| (-1..texts).contains(&state)))
    );
    assert!((0..5).all(|process| steps.iter().any(|step| step[2] == process && step[4] != -1)));
    let again = TestServer::start().post("/api/run", &body);
    assert_eq!(first.body, again.body, "the same scenario, the same bytes");
}

#[test]
fn everything_before_a_new_fault_stays_as_it_was() {
    let lab = TestServer::start();
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
    // A planned fault may shift event numbers, but not what happens, when, and to which process.
    assert_eq!(before(&whole), before(&crashed));
}

#[test]
fn every_algorithm_has_a_card_and_runs() {
    let lab = TestServer::start();
    let cards = lab.get("/api/algorithms").json();
    let cards = cards["algorithms"].as_array().expect("cards").clone();
    assert_eq!(cards.len(), PROFILES.len());
    for card in cards {
        for field in ["assumes", "guarantees", "cost", "summary", "family", "source"] {
            assert!(!card[field].is_null(), "{card}");
        }
        let response =
            lab.post("/api/run", &run(json!({ "algorithm": card["name"], "processes": 4 })));
        assert_eq!(response.status, 200, "{}: {}", card["name"], response.text());
    }
}

#[test]
fn seeds_beyond_what_scripts_can_count_survive() {
    let lab = TestServer::start();
    let response = lab.post(
        "/api/scenario",
        &json!({ "toml": "algorithm = \"central\"\nprocesses = 3\nseed = 9223372036854775807" }),
    );
    let scenario = response.json()["scenario"].clone();
    assert_eq!(scenario["seed"], "9223372036854775807");
    let response = lab.post("/api/scenario", &run(scenario));
    assert!(
        response.json()["toml"]
            .as_str()
            .is_some_and(|text| text.contains("seed = 9223372036854775807"))
    );
}

#[test]
fn a_diagram_is_drawn_by_window() {
    let lab = TestServer::start();
    let scenario = json!({ "algorithm": "ricart-agrawala", "processes": 5, "requesters": "all" });
    let body = json!({ "scenario": scenario, "from": 0, "to": 2_000_000, "width": 900 });
    let response = lab.post("/api/diagram", &body).json();
    let svg = response["svg"].as_str().expect("a drawing");
    assert!(svg.starts_with("<svg") && svg.contains("data-message="), "{svg}");
    assert!(!svg.contains("<script") && !svg.contains("href"), "a drawing acts on nothing");
    assert_eq!(response["geometry"]["lanes"].as_array().map(Vec::len), Some(5));
    assert_eq!(response["geometry"]["to"], 2_000_000);
}

/// A long run that is recorded in parts: it has 8,448 events, and a recording holds one hundred.
fn in_parts() -> (TestServer, Value) {
    let recording = RecordingBounds { events: 100, ..RecordingBounds::default() };
    let bounds = RunBounds { recording, ..RunBounds::default() };
    let lab = TestServer::with(LabSettings { bounds, ..LabSettings::default() });
    (lab, json!({ "algorithm": "ricart-agrawala", "processes": 64, "requesters": "all" }))
}

#[test]
fn any_part_of_a_long_run_can_be_seen() {
    let (lab, scenario) = in_parts();
    let whole = TestServer::start().post("/api/run", &run(scenario.clone())).json()["film"].clone();
    let all = whole["steps"].as_array().expect("steps").clone();
    let first = lab.post("/api/run", &run(scenario.clone())).json();
    assert_eq!(first["film"]["total"], all.len());
    let moments = first["moments"].as_array().expect("moments").clone();
    assert_eq!(moments.last().expect("an end")[1], all.len() - 1);
    // A step without the indices of its records and texts, which differ between recordings.
    let step_json = |recording: &Value, index: usize| {
        let step = &recording["steps"][index];
        let state = recording["texts"][step[4].as_u64().unwrap_or(u64::MAX) as usize].clone();
        json!([step[0], step[1], step[2], state])
    };
    for wanted in [0, 99, 100, 4_000, all.len() - 1] {
        let body = json!({ "scenario": scenario, "step": wanted });
        let response = lab.post("/api/film", &body).json();
        let (recording, start) =
            (&response["film"], response["film"]["first"].as_u64().expect("a place"));
        let steps = recording["steps"].as_array().expect("steps").len();
        let start = start as usize;
        assert!((start..start + steps).contains(&wanted), "{wanted} is not in {start}+{steps}");
        for index in 0..steps {
            // A state that is new in one recording may have occurred earlier in the whole run.
            let (here, there) = (step_json(recording, index), step_json(&whole, start + index));
            assert_eq!(here, there, "step {}", start + index);
        }
    }
}

#[test]
fn a_part_knows_what_came_before_it() {
    let (lab, scenario) = in_parts();
    let whole = TestServer::start().post("/api/run", &run(scenario.clone())).json()["film"].clone();
    let response = lab.post("/api/film", &json!({ "scenario": scenario, "step": 5_000 })).json();
    let (recording, first) =
        (&response["film"], response["film"]["first"].as_u64().expect("a place"));
    let from = whole["steps"][first as usize][3].as_u64().expect("a record") as usize;
    let before = &whole["records"].as_array().expect("records")[..from];
    let count = |kind: &str| before.iter().filter(|record| record["type"] == kind).count();
    let prefix = &recording["earlier"];
    let sent: u64 =
        prefix["sent"].as_object().expect("kinds").values().filter_map(Value::as_u64).sum();
    assert_eq!(sent as usize, count("send"));
    let records = prefix["records"].as_array().expect("records");
    let in_flight = records.iter().filter(|record| record["type"] == "send").count();
    let omitted = prefix["untold"].as_u64().expect("a number") as usize;
    assert_eq!(in_flight + omitted, count("send") - count("deliver"));
    // The last state of each process is included.
    for process in 0..64u64 {
        let last = whole["steps"].as_array().expect("steps")[..first as usize]
            .iter()
            .rfind(|step| step[2] == process && step[4] != -1)
            .expect("everybody has started");
        let state = &recording["texts"]
            [prefix["states"][process as usize].as_u64().expect("a state") as usize];
        assert_eq!(*state, whole["texts"][last[4].as_u64().expect("a state") as usize]);
    }
}

#[test]
fn a_part_is_found_by_its_event_and_by_its_time() {
    let (lab, scenario) = in_parts();
    let request = |key: &str, value: u64| {
        lab.post("/api/film", &json!({ "scenario": scenario, (key): value })).json()
    };
    let at = |response: &Value| {
        let index =
            response["step"].as_u64().unwrap() - response["film"]["first"].as_u64().unwrap();
        response["film"]["steps"][index as usize].clone()
    };
    assert_eq!(at(&request("event", 5_000))[0], 5_000);
    assert_eq!(at(&request("time", 9_500_000))[1], 9_000_000);
    assert_eq!(request("step", u64::MAX)["step"], request("time", u64::MAX)["step"], "the end");
    let wrong = json!({ "scenario": scenario, "step": 1, "time": 1 });
    assert_eq!(lab.post("/api/film", &wrong).status, 400);
    assert_eq!(lab.post("/api/film", &json!({ "trace": 7, "step": 1 })).status, 404);
}

#[test]
fn a_diagram_is_of_the_whole_run_however_little_is_filmed() {
    let (lab, scenario) = in_parts();
    let body = json!({ "scenario": scenario, "from": 60_000_000, "to": 66_000_000, "width": 900, "legend": true });
    let svg = lab.post("/api/diagram", &body).json()["svg"].as_str().expect("a drawing").to_owned();
    assert!(svg.contains("REQUEST ×4,032") || svg.contains("REPLY ×4,032"), "{svg}");
    assert!(svg.contains("class=\"stay inside\""), "somebody is inside");
    assert!(!svg.contains("The run goes on"), "nothing is left out");
}

#[test]
fn the_trace_of_a_long_run_is_whole() {
    let (lab, scenario) = in_parts();
    let whole = TestServer::start().post("/api/run", &run(scenario.clone())).json();
    let trace = lab.post("/api/trace-file", &run(scenario)).text();
    let records = whole["film"]["records"].as_array().expect("records");
    let lines: Vec<Value> =
        trace.lines().map(|line| serde_json::from_str(line).expect("a record")).collect();
    assert_eq!(&lines, records);
}

#[test]
fn any_part_of_a_trace_that_is_brought_can_be_seen() {
    let (lab, scenario) = in_parts();
    let trace = lab.post("/api/trace-file", &run(scenario)).text();
    let imported = lab.request("POST", "/api/trace", &[], trace.as_bytes()).json();
    assert_eq!(
        imported["film"]["left_out"],
        imported["film"]["total"].as_u64().expect("steps") - 100
    );
    let body = json!({ "trace": imported["trace"], "event": 5_000 });
    let part = lab.post("/api/film", &body).json();
    let index =
        part["step"].as_u64().expect("a step") - part["film"]["first"].as_u64().expect("a step");
    assert_eq!(part["film"]["steps"][index as usize][0], 5_000);
}

#[test]
fn pictures_speak_the_language_that_is_asked_for() {
    let lab = TestServer::start();
    let scenario = json!({ "algorithm": "ricart-agrawala", "processes": 3, "requesters": "all" });
    let draw = |language: &str| {
        let body = json!({ "scenario": scenario, "from": 0, "width": 900, "legend": true, "language": language });
        lab.post("/api/diagram", &body)
    };
    for (language, words) in [
        ("en", "inside the critical section"),
        ("pt", "dentro da seção crítica"),
        ("es", "dentro de la sección crítica"),
    ] {
        let svg = draw(language).json()["svg"].as_str().expect("a drawing").to_owned();
        assert!(svg.contains(words), "{language}: {svg}");
    }
    assert!((400..500).contains(&draw("tlh").status));
    let response = lab.get("/api/quorum?system=vcube&n=8&language=pt").json();
    assert!(response["picture"].as_str().is_some_and(|svg| svg.contains("o quórum de p0")));
}

#[test]
fn a_trace_that_is_brought_is_shown_like_a_run() {
    let lab = TestServer::start();
    let body = run(json!({ "algorithm": "central", "processes": 3, "requesters": "all" }));
    let recording = lab.post("/api/run", &body).json()["film"].clone();
    let lines: Vec<String> =
        recording["records"].as_array().expect("records").iter().map(Value::to_string).collect();
    let response = lab.request("POST", "/api/trace", &[], lines.join("\n").as_bytes()).json();
    assert_eq!(
        response["film"]["steps"].as_array().map(Vec::len),
        recording["steps"].as_array().map(Vec::len)
    );
    let body = json!({ "trace": response["trace"], "from": 0, "width": 800 });
    assert!(lab.post("/api/diagram", &body).json()["svg"].as_str().is_some());
    let body = json!({ "trace": 999, "from": 0, "width": 800 });
    assert_eq!(lab.post("/api/diagram", &body).status, 404);
}

#[test]
fn who_talks_to_whom_is_drawn() {
    let lab = TestServer::start();
    let body = run(json!({ "algorithm": "raymond", "processes": 7, "tree": "binary" }));
    let response = lab.post("/api/topology", &body).json();
    assert!(response["svg"].as_str().is_some_and(|svg| svg.contains("data-process")), "{response}");
    let many = run(json!({ "algorithm": "raymond", "processes": 5_000 }));
    assert_eq!(lab.post("/api/topology", &many).status, 413);
}

#[test]
fn quorums_change_with_the_failed() {
    let lab = TestServer::start();
    let response = lab.get("/api/quorum?system=vcube&n=8&failed=1,2").json();
    assert_eq!(response["failed"], json!([1, 2]));
    assert!(response["picture"].as_str().is_some_and(|svg| svg.contains("data-process")));
    for (system, monotone) in [("wall", true), ("grid-rebuilt", false)] {
        let response = lab.get(&format!("/api/quorum?system={system}&n=10")).json();
        assert_eq!(response["monotone"], monotone, "{response}");
        assert_eq!(response["not_monotone"].is_null(), monotone, "{response}");
        let offered = lab.get("/api/algorithms").json()["quorums"].clone();
        assert!(offered.as_array().is_some_and(|all| all.contains(&json!(system))), "{offered}");
    }
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
    let lab = TestServer::start();
    assert!(lab.get("/api/experiments").json().as_array().is_some_and(|all| all.len() >= 8));
    let body = json!({ "name": "consensus-rounds", "seeds": 1 });
    let id = lab.post("/api/experiments", &body).json()["id"].clone();
    // The stream ends when the experiment does.
    let progress = lab.get(&format!("/api/experiments/{id}/progress")).text();
    assert!(progress.contains("\"state\":\"done\""), "{progress}");
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
    let lab = TestServer::start();
    let body = json!({ "name": "mutex-cost", "seeds": 1000 });
    let id = lab.post("/api/experiments", &body).json()["id"].clone();
    assert_eq!(lab.post("/api/experiments", &body).status, 409);
    assert_eq!(lab.request("DELETE", &format!("/api/experiments/{id}"), &[], b"").status, 200);
    let progress = lab.get(&format!("/api/experiments/{id}/progress")).text();
    assert!(progress.contains("it was cancelled"), "{progress}");
}

/// Starts a check and waits for its end.
fn check(lab: &TestServer, body: &Value) -> Value {
    let id = lab.post("/api/checks", body).json()["id"].clone();
    let progress = lab.get(&format!("/api/checks/{id}/progress")).text();
    assert!(progress.contains("\"state\":\"done\""), "{progress}");
    lab.get(&format!("/api/checks/{id}")).json()
}

#[test]
fn a_check_visits_every_state_of_a_world() {
    let lab = TestServer::start();
    // Times and faults of the scenario have no meaning in a check, which chooses them itself.
    let scenario = json!({
        "algorithm": "ricart-agrawala", "processes": 3, "request": ["0@5ms", "2@7ms"],
        "delay": "uniform:1ms..9ms", "faults": { "loss": 0.5, "crash": ["1@2ms"] },
    });
    let checked = check(&lab, &json!({ "scenario": scenario }));
    assert_eq!(checked["report"]["verdict"], "holds", "{checked}");
    assert!(checked["report"]["states"].as_u64().is_some_and(|states| states > 20), "{checked}");
    assert_eq!(checked["scenario"], Value::Null);
    let twice = check(&lab, &json!({ "scenario": scenario, "requests": 2 }));
    assert!(twice["report"]["states"].as_u64() > checked["report"]["states"].as_u64(), "{twice}");
}

#[test]
fn a_counterexample_of_a_check_is_a_run_of_the_page() {
    let lab = TestServer::start();
    let scenario = json!({ "algorithm": "maekawa-original", "processes": 3, "requesters": "all" });
    let checked = check(&lab, &json!({ "scenario": scenario }));
    assert_eq!(checked["report"]["verdict"], "violated", "{checked}");
    let steps = checked["steps"].as_array().map(Vec::len);
    assert_eq!(checked["report"]["counterexample_steps"].as_u64().map(|it| it as usize), steps);
    let replayed = lab.post("/api/run", &run(checked["scenario"].clone())).json();
    assert_eq!(replayed["report"]["verdict"], "violated", "{replayed}");
    // A crash is needed for this one.
    let scenario = json!({ "algorithm": "ricart-agrawala", "processes": 3, "requesters": "all" });
    assert_eq!(check(&lab, &json!({ "scenario": scenario }))["report"]["verdict"], "holds");
    let crashed = check(&lab, &json!({ "scenario": scenario, "crashes": 1 }));
    assert!(crashed["report"]["properties"].to_string().contains("\"violated\""), "{crashed}");
}

#[test]
fn a_check_is_bounded_and_can_be_cancelled() {
    let bounds = RunBounds { check_memory: 8 << 20, ..RunBounds::default() };
    let lab = TestServer::with(LabSettings { bounds, ..LabSettings::default() });
    let world = json!({ "algorithm": "lamport", "processes": 3, "requesters": "all" });
    let full = check(&lab, &json!({ "scenario": world, "requests": 2 }));
    assert_eq!(full["report"]["bounded_by"], "memory", "{full}");
    let lab = TestServer::start();
    let body = json!({ "scenario": world, "requests": 4 });
    let ids: Vec<Value> =
        (0..2).map(|_| lab.post("/api/checks", &body).json()["id"].clone()).collect();
    assert_eq!(lab.post("/api/checks", &body).status, 409);
    for id in &ids {
        assert_eq!(lab.request("DELETE", &format!("/api/checks/{id}"), &[], b"").status, 200);
        lab.get(&format!("/api/checks/{id}/progress"));
        let stopped = lab.get(&format!("/api/checks/{id}")).json();
        assert_eq!(stopped["report"]["bounded_by"], "stopped", "{stopped}");
    }
    let many = json!({ "algorithm": "lamport", "processes": 9 });
    let id = lab.post("/api/checks", &json!({ "scenario": many })).json()["id"].clone();
    let refused = lab.get(&format!("/api/checks/{id}/progress")).text();
    assert!(refused.contains("at most 8 processes"), "{refused}");
    assert_eq!(
        lab.post("/api/checks", &json!({ "scenario": { "algorithm": "nothing" } })).status,
        400
    );
    assert_eq!(lab.get("/api/checks/99").status, 404);
}
