//! The HTTP API, on the same port as the native protocol.

use crate::support::{Web, cluster};
use quorate_client::{Client, SessionOptions};
use serde_json::{Value, json};

async fn open(web: &Web) -> String {
    let (status, opened) = web.post("/v1/sessions", json!({ "ttl_ms": 5000, "who": "me" })).await;
    assert_eq!(status, 201, "{opened}");
    opened["session"].as_str().expect("a session").to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_from_asking_to_freeing() {
    let cluster = cluster(3).await;
    let (web, other) = (Web::of(&cluster, 0), Web::of(&cluster, 1));
    let (mine, theirs) = (open(&web).await, open(&other).await);
    let (status, granted) =
        web.post("/v1/acquire", json!({ "session": mine, "name": "a/b", "why": "test" })).await;
    assert_eq!(status, 200, "{granted}");
    assert!(granted["reliable_ms"].as_u64() > Some(1_000), "{granted}");
    let wanted = json!({ "session": theirs, "name": "a/b", "wait_ms": 0 });
    let (status, busy) = other.post("/v1/acquire", wanted).await;
    assert_eq!((status, &busy["code"]), (409, &json!("busy")));
    let (status, listed) = other.get("/v1/locks?prefix=a/").await;
    assert_eq!((status, &listed["requests"][0]["state"]), (200, &json!("holding")));
    assert_eq!(listed["requests"][0]["why"], "test");
    let (_, own) = web.get(&format!("/v1/sessions/{mine}")).await;
    assert_eq!(own["requests"][0]["token"], granted["token"]);
    let token = json!({ "name": "a/b", "token": granted["token"] });
    let (status, token_status) = other.post("/v1/check-token", token).await;
    assert_eq!((status, &token_status["current"]), (200, &json!(true)));
    let (status, alive) = web.post(&format!("/v1/sessions/{mine}/keep-alive"), json!({})).await;
    assert!(status == 200 && alive["reliable_ms"].as_u64() > Some(1_000), "{alive}");
    let held = json!([{
        "name": "a/b",
        "kind": "lock",
        "request": granted["request"],
        "token": granted["token"],
    }]);
    assert_eq!(alive["held"], held);
    let over = json!({ "session": mine, "request": granted["request"] });
    assert_eq!(web.post("/v1/release", over.clone()).await.0, 204);
    assert_eq!(web.post("/v1/release", over).await.0, 404);
    let (_, alive) = web.post(&format!("/v1/sessions/{mine}/keep-alive"), json!({})).await;
    assert_eq!(alive["held"], json!([]));
    let wanted = json!({ "session": theirs, "name": "a/b", "wait_ms": 5000 });
    let (status, next) = other.post("/v1/acquire", wanted).await;
    assert_eq!(status, 200, "{next}");
    assert!(next["token"].as_u64() > granted["token"].as_u64());
    assert_eq!(other.send("DELETE", &format!("/v1/sessions/{theirs}"), None).await.0, 204);
    let (status, gone) = other.get(&format!("/v1/sessions/{theirs}")).await;
    assert_eq!((status, &gone["code"]), (404, &json!("no-session")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_hangs_up_does_not_wait_any_more() {
    let cluster = cluster(3).await;
    let web = Web::of(&cluster, 0);
    let (mine, theirs) = (open(&web).await, open(&web).await);
    let (_, granted) = web.post("/v1/acquire", json!({ "session": mine, "name": "x" })).await;
    {
        let waiting = web.post("/v1/acquire", json!({ "session": theirs, "name": "x" }));
        let late = tokio::time::timeout(std::time::Duration::from_millis(200), waiting).await;
        assert!(late.is_err(), "it is held");
    }
    // The node notices soon. If a grant crosses the disconnect, the session would have to release the lock.
    until_listed(&web, 1).await;
    let over = json!({ "session": mine, "request": granted["request"] });
    assert_eq!(web.post("/v1/release", over).await.0, 204);
    until_listed(&web, 0).await;
}

/// Waits until this many requests are listed.
async fn until_listed(web: &Web, count: usize) {
    let mut listed = Value::Null;
    for _ in 0..200 {
        listed = web.get("/v1/locks").await.1;
        if listed["requests"].as_array().is_some_and(|requests| requests.len() == count) {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("{count} requests expected: {listed}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn elections_proclaim_and_are_seen_as_they_change() {
    let cluster = cluster(3).await;
    let (web, other) = (Web::of(&cluster, 0), Web::of(&cluster, 2));
    let mut events = other.watch("/v1/watch?prefix=lead").await;
    events.until("event: watching").await;
    assert_eq!(other.get("/v1/leader?name=leader").await.0, 404);
    let session = open(&web).await;
    let wanted = json!({ "session": session, "name": "leader", "kind": "election", "why": "a" });
    let (_, granted) = web.post("/v1/acquire", wanted).await;
    let told: Value = serde_json::from_str(&events.until("data: {\"name\"").await).expect("JSON");
    assert_eq!(told["holder"]["why"], "a", "{told}");
    let value = json!({ "session": session, "request": granted["request"], "value": "b" });
    assert_eq!(web.post("/v1/proclaim", value).await.0, 204);
    let told: Value = serde_json::from_str(&events.until("data: {\"name\"").await).expect("JSON");
    assert_eq!(told["holder"]["why"], "b");
    let (_, leader) = other.get("/v1/leader?name=leader").await;
    assert_eq!((&leader["why"], &leader["token"]), (&json!("b"), &granted["token"]));
    let request = json!({ "name": "leader", "kind": "election", "reason": "test" });
    assert_eq!(other.post("/v1/force-release", request).await.0, 204);
    let told: Value = serde_json::from_str(&events.until("data: {\"name\"").await).expect("JSON");
    assert_eq!(told["holder"], Value::Null);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nonsense_is_refused_in_words() {
    let cluster = cluster(1).await;
    let web = Web::of(&cluster, 0);
    let session = open(&web).await;
    let cases = [
        ("/v1/acquire", json!({ "session": "zz", "name": "x" }), 400),
        ("/v1/acquire", json!({ "session": session, "name": "" }), 400),
        ("/v1/acquire", json!({ "session": session, "name": "x", "odd": 1 }), 422),
        ("/v1/acquire", json!({ "session": session }), 422),
        ("/v1/sessions", json!({ "ttl_ms": 1 }), 429),
        ("/v1/nothing", json!({}), 404),
    ];
    for (path, body, expected) in cases {
        let (status, refusal) = web.post(path, body.clone()).await;
        assert_eq!(status, expected, "{path} {body} {refusal}");
        assert!(refusal["error"].is_string(), "{refusal}");
    }
    let foreign =
        web.raw("GET /v1/status HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n");
    assert!(foreign.await.starts_with("HTTP/1.1 403"), "a name that is not ours");
    let huge = format!("{{\"who\": \"{}\"}}", "x".repeat(100_000));
    assert_eq!(web.send("POST", "/v1/sessions", Some(huge)).await.0, 413);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_node_tells_how_it_is() {
    let cluster = cluster(3).await;
    let web = Web::of(&cluster, 0);
    assert_eq!((web.get("/livez").await.0, web.get("/readyz").await.0), (200, 200));
    let (_, description) = web.get("/openapi.json").await;
    assert_eq!(description["info"]["version"], env!("CARGO_PKG_VERSION"));
    let (_, status) = web.get("/v1/status").await;
    assert_eq!(status["members"].as_array().map(Vec::len), Some(3));
    let client = Client::new([cluster.nodes[0].address().to_string()]);
    for relayed in [false, true] {
        let options = SessionOptions { relayed, ..SessionOptions::default() };
        let session = client.session(options).await.expect("a session");
        let guard = session.lock("x").expect("a name").acquire().await.expect("free");
        guard.release().await.expect("held");
    }
    let text = web.text("/metrics").await;
    // The grants of a direct session are known only to its client. Its votes are counted by the nodes.
    for line in ["quorate_grants_total 1", "quorate_wait_seconds_count 1", "quorate_ready 1"] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
    let votes = text.lines().find_map(|line| line.strip_prefix("quorate_votes_total "));
    assert!(votes.is_some_and(|votes| votes != "0"), "{text}");
    assert!(text.contains("quorate_messages_sent_total{kind=\"REQUEST\"}"), "{text}");
}
