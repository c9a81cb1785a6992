//! Requests that the lab rejects, and input that must not bring it down.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use quorate_console::{LabSettings, RecordingBounds, RunBounds};
use quorate_run::CannotRun;
use quorate_sim::trace::TraceSink;
use quorate_sim::{Conditions, Outcome, RunError, Scenario};
use serde_json::{Value, json};

use crate::support::TestServer;

fn five() -> Value {
    json!({ "scenario": { "algorithm": "ricart-agrawala", "processes": 5, "requesters": "all" } })
}

#[test]
fn it_listens_on_this_machine_unless_told_otherwise() {
    assert!(TestServer::start().address.ip().is_loopback());
}

#[test]
fn a_name_that_is_not_its_own_gets_no_answer() {
    let lab = TestServer::start();
    let port = lab.address.port();
    for host in ["evil.example", &format!("evil.example:{port}"), "127.0.0.1:1", ""] {
        let response = lab.request("GET", "/api/algorithms", &[&format!("Host: {host}")], b"");
        assert_eq!(response.status, 403, "{host}");
        assert!(response.error().contains("does not accept that host name"), "{}", response.text());
    }
    let response = lab.request("GET", "/", &[&format!("Host: localhost:{port}")], b"");
    assert_eq!(response.status, 200);
}

#[test]
fn pages_from_elsewhere_get_no_answer() {
    let lab = TestServer::start();
    let body = five().to_string();
    let json = "Content-Type: application/json";
    for origin in ["Origin: http://evil.example", "Origin: null", "Sec-Fetch-Site: cross-site"] {
        let response = lab.request("POST", "/api/run", &[json, origin], body.as_bytes());
        assert_eq!(response.status, 403, "{origin}");
    }
    let own = format!("Origin: http://{}", lab.address);
    assert_eq!(lab.request("POST", "/api/run", &[json, &own], body.as_bytes()).status, 200);
    // A form on another site could send this content type without a preflight request.
    let form = ["Content-Type: text/plain"];
    assert_eq!(lab.request("POST", "/api/run", &form, body.as_bytes()).status, 415);
}

#[test]
fn every_answer_says_what_the_page_may_do() {
    let lab = TestServer::start();
    for path in ["/", "/main.js", "/api/algorithms", "/nowhere", "/api/nowhere"] {
        let head = lab.get(path).head.to_lowercase();
        assert!(
            head.contains("content-security-policy: default-src 'none'; script-src 'self'"),
            "{path}"
        );
        assert!(head.contains("require-trusted-types-for 'script'"), "{path}");
        assert!(head.contains("x-content-type-options: nosniff"), "{path}");
        assert!(!head.contains("unsafe-inline") && !head.contains("unsafe-eval"), "{path}");
        assert!(!head.contains("access-control-allow-origin"), "{path}");
    }
}

#[test]
fn only_the_read_only_view_can_be_framed_and_only_by_named_origins() {
    let policy = |lab: &TestServer, path: &str| {
        let head = lab.get(path).head.to_lowercase();
        head.split("frame-ancestors ")
            .nth(1)
            .and_then(|rest| rest.split(';').next())
            .map(str::to_owned)
    };
    let none = TestServer::start();
    assert_eq!(policy(&none, "/embed").as_deref(), Some("'none'"));
    let framed_by =
        ["https://course.example", "http://localhost:8000"].map(|it| it.parse().unwrap());
    let lab =
        TestServer::with(LabSettings { framed_by: framed_by.into(), ..LabSettings::default() });
    let both = "https://course.example http://localhost:8000";
    assert_eq!(policy(&lab, "/embed").as_deref(), Some(both));
    for path in ["/", "/index.html", "/main.js", "/api/algorithms", "/embed/"] {
        assert_eq!(policy(&lab, path).as_deref(), Some("'none'"), "{path}");
    }
    assert!(lab.get("/embed").text().contains("data-has=\"embed\""));
}

#[test]
fn files_are_compressed_for_clients_that_say_so() {
    let lab = TestServer::start();
    let plain = lab.get("/main.js");
    assert!(!plain.head.to_lowercase().contains("content-encoding"), "{}", plain.head);
    let packed = lab.request("GET", "/main.js", &["Accept-Encoding: gzip, deflate, br"], b"");
    assert!(packed.head.to_lowercase().contains("content-encoding: gzip"), "{}", packed.head);
    assert!(packed.body.len() * 2 < plain.body.len(), "{} bytes", packed.body.len());
    assert_eq!(packed.body[..3], [0x1f, 0x8b, 8]);
    // The tail of a gzip file: the checksum and the length of the content.
    let length = packed.body.len();
    assert_eq!(packed.body[length - 4..], (plain.body.len() as u32).to_le_bytes());
    let page = lab.request("GET", "/", &["Accept-Encoding: gzip"], b"");
    assert!(page.text().contains("data-has=\"lab\""));
}

#[test]
fn nothing_but_the_page_is_served() {
    let lab = TestServer::start();
    let paths = [
        "/../Cargo.toml",
        "/..%2fCargo.toml",
        "/lessons/../../Cargo.toml",
        "/%2e%2e/Cargo.toml",
        "//etc/passwd",
    ];
    for path in paths {
        assert_eq!(lab.get(path).status, 404, "{path}");
    }
}

#[test]
fn too_long_a_request_is_refused() {
    let lab = TestServer::start();
    let body = json!({ "toml": "#".repeat(3 << 20) });
    let response = lab.post("/api/run", &body);
    assert_eq!(response.status, 413, "{}", response.text());
    assert!(response.error().contains("larger than"), "{}", response.text());
}

#[test]
fn too_large_a_run_is_refused_with_a_way_out() {
    let lab = TestServer::start();
    let run =
        |processes: u64| json!({ "scenario": { "algorithm": "central", "processes": processes } });
    let response = lab.post("/api/run", &run(5_000));
    assert_eq!(response.status, 413);
    assert!(response.error().contains("at most 4096 are run here"), "{}", response.text());
    let tokens = json!({ "scenario": { "algorithm": "interactive-consistency", "processes": 64, "bears": 5 } });
    let response = lab.post("/api/run", &tokens);
    assert_eq!(response.status, 413, "{}", response.text());
}

#[test]
fn too_long_a_run_is_stopped_and_says_so() {
    let bounds = RunBounds { events: 100, ..RunBounds::default() };
    let lab = TestServer::with(LabSettings { bounds, ..LabSettings::default() });
    let response = lab.post(
        "/api/run",
        &json!({ "scenario": { "algorithm": "lamport", "processes": 16, "requesters": "all" } }),
    );
    assert_eq!(response.json()["stopped_at"], 100);
    let bounds = RunBounds {
        recording: RecordingBounds { events: 10, ..RecordingBounds::default() },
        ..RunBounds::default()
    };
    let lab = TestServer::with(LabSettings { bounds, ..LabSettings::default() });
    let recording = lab.post("/api/run", &five()).json()["film"].clone();
    assert_eq!(recording["steps"].as_array().map(Vec::len), Some(10));
    assert!(recording["left_out"].as_u64() > Some(10), "{recording}");
}

#[test]
fn garbage_gets_one_clear_sentence() {
    let lab = TestServer::start();
    let garbage = [
        json!({ "toml": "\u{0}\u{1}<script>alert(1)</script>" }),
        json!({ "toml": "algorithm = \"no-such\"\nprocesses = 3" }),
        json!({ "scenario": { "algorithm": "central", "processes": -1 } }),
        json!({ "scenario": { "algorithm": "central", "processes": 3, "faults": { "crash": ["9@x"] } } }),
        json!({ "scenario": 3 }),
        json!({}),
    ];
    for body in garbage {
        let response = lab.post("/api/run", &body);
        assert!((400..500).contains(&response.status), "{body}: {}", response.status);
        assert!(!response.error().is_empty() && !response.error().contains('\n'), "{body}");
    }
    for text in ["", "{", "{\"event\":1}", "\u{ff}\u{fe}", "{\"a\":1}\n".repeat(1_000).as_str()] {
        assert_eq!(lab.request("POST", "/api/trace", &[], text.as_bytes()).status, 400, "{text}");
    }
    let response = lab.request("POST", "/api/run", &["Content-Type: application/json"], b"{{{");
    assert_eq!(response.status, 400);
}

/// Runner that panics like an algorithm with a bug.
fn broken(
    scenario: &Scenario,
    conditions: Conditions,
    trace: Option<&mut (dyn TraceSink + '_)>,
) -> Result<Outcome, CannotRun> {
    assert!(scenario.seed != 13, "a bug, for this test");
    quorate_run::run(scenario, conditions, trace)
}

#[test]
fn a_run_that_panics_is_an_answer() {
    let lab = TestServer::with(LabSettings { runner: broken, ..LabSettings::default() });
    let mut unlucky = five();
    unlucky["scenario"]["seed"] = json!(13);
    for _ in 0..5 {
        let response = lab.post("/api/run", &unlucky);
        assert_eq!(
            (response.status, response.error().as_str()),
            (500, "the run panicked; the server continues")
        );
    }
    assert_eq!(lab.post("/api/run", &five()).status, 200);
}

static STOPPED: AtomicBool = AtomicBool::new(false);
static BEGUN: AtomicBool = AtomicBool::new(false);

/// Runner that never ends.
fn endless(
    _: &Scenario,
    _: Conditions,
    trace: Option<&mut (dyn TraceSink + '_)>,
) -> Result<Outcome, CannotRun> {
    let sink = trace.expect("runs are filmed");
    BEGUN.store(true, Ordering::Relaxed);
    let mut event = 0;
    loop {
        event += 1;
        if let Err(cancelled) = sink.wants(event, 0) {
            STOPPED.store(true, Ordering::Relaxed);
            return Err(RunError::from(cancelled).into());
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a test waits for another thread")]
fn within_seconds(done: impl Fn() -> bool) -> bool {
    (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        done()
    })
}

#[test]
fn a_run_nobody_waits_for_is_stopped() {
    let lab = TestServer::with(LabSettings { runner: endless, ..LabSettings::default() });
    let body = five().to_string();
    let stream = lab.send("POST", "/api/run", &["Content-Type: application/json"], body.as_bytes());
    assert!(within_seconds(|| BEGUN.load(Ordering::Relaxed)));
    drop(stream);
    assert!(within_seconds(|| STOPPED.load(Ordering::Relaxed)));
    assert_eq!(lab.get("/api/algorithms").status, 200);
}
