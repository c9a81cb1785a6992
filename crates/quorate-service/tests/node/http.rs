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
    assert!(listed["requests"][0]["asked_ms"].as_u64().is_some_and(|ms| ms < 60_000), "{listed}");
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

/// Waits until the newest vote in the history of a lock fits, and returns the history.
async fn until_history(web: &Web, name: &str, fits: impl Fn(&Value) -> bool) -> Value {
    let mut history = Value::Null;
    for _ in 0..300 {
        history = web.get(&format!("/v1/history?name={name}")).await.1;
        if fits(&history["votes"][0]) {
            return history;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("another history is expected: {history}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_shows_the_history_of_a_lock() {
    let cluster = cluster(3).await;
    let (web, other) = (Web::of(&cluster, 0), Web::of(&cluster, 1));
    let mine = open(&web).await;
    let wanted = json!({ "session": mine, "name": "a/b", "why": "first" });
    let (_, granted) = web.post("/v1/acquire", wanted).await;
    for node in [&web, &other] {
        let history = until_history(node, "a/b", |vote| vote["token"] == granted["token"]).await;
        let vote = &history["votes"][0];
        assert_eq!((&vote["who"], &vote["why"]), (&json!("me"), &json!("first")), "{history}");
        assert_eq!((&vote["ended_ms"], &vote["end"]), (&Value::Null, &Value::Null), "{history}");
        let valid = history["valid_ms"].as_u64().expect("the node has voted");
        assert!(valid <= 5_000 && history["ttl_ms"] == 5_000, "{history}");
    }
    let over = json!({ "session": mine, "request": granted["request"] });
    assert_eq!(web.post("/v1/release", over).await.0, 204);
    let history = until_history(&other, "a/b", |vote| vote["end"] == "released").await;
    assert_eq!(history["votes"][0]["who"], "me", "{history}");
    assert_eq!(history["valid_ms"], Value::Null, "{history}");
    let (_, granted) = web.post("/v1/acquire", json!({ "session": mine, "name": "a/b" })).await;
    assert!(granted["token"].is_u64(), "{granted}");
    let force = json!({ "name": "a/b", "reason": "test" });
    assert_eq!(other.post("/v1/force-release", force).await.0, 204);
    let history = until_history(&web, "a/b", |vote| vote["end"] == "revoked").await;
    assert_eq!(history["votes"].as_array().map(Vec::len), Some(2), "{history}");
    let (_, unused) = web.get("/v1/history?name=a/b&kind=election").await;
    assert_eq!(unused["votes"], json!([]), "an election has another name");
    assert_eq!(web.get("/v1/history?name=").await.0, 400);
    // A client that is silent loses its lock.
    let short = json!({ "ttl_ms": 300, "who": "brief" });
    let (_, opened) = web.post("/v1/sessions", short).await;
    let wanted = json!({ "session": opened["session"], "name": "short" });
    assert_eq!(web.post("/v1/acquire", wanted).await.0, 200);
    let history = until_history(&web, "short", |vote| vote["end"] == "expired").await;
    assert_eq!(history["votes"][0]["who"], "brief", "{history}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_votes_of_all_nodes_show_how_a_lock_was_handed_over() {
    let cluster = cluster(3).await;
    let (web, other) = (Web::of(&cluster, 0), Web::of(&cluster, 1));
    let (mine, theirs) = (open(&web).await, open(&other).await);
    let first = json!({ "session": mine, "name": "a/b", "why": "first" });
    let (_, granted) = web.post("/v1/acquire", first).await;
    let over = json!({ "session": mine, "request": granted["request"] });
    assert_eq!(web.post("/v1/release", over).await.0, 204);
    let second = json!({ "session": theirs, "name": "a/b", "why": "second" });
    assert_eq!(other.post("/v1/acquire", second).await.0, 200);
    // The third node may hear of the first request only after its release.
    let handed_over = |voter: &Value| {
        voter["votes"][1]["end"] == "released" && voter["votes"][0]["ended_ms"].is_null()
    };
    let mut shown = Value::Null;
    for _ in 0..100 {
        shown = web.get("/v1/hand-overs?name=a/b").await.1;
        let voters = shown["voters"].as_array().cloned().unwrap_or_default();
        if voters.iter().filter(|voter| handed_over(voter)).count() >= 2 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!((&shown["node"], &shown["silent"]), (&json!(0), &json!([])), "{shown}");
    let (requests, voters) = (&shown["requests"], shown["voters"].as_array().expect("nodes"));
    assert_eq!((requests.as_array().map(Vec::len), voters.len()), (Some(2), 3), "{shown}");
    let voters = voters.iter().filter(|voter| handed_over(voter)).collect::<Vec<_>>();
    assert!(voters.len() >= 2, "{shown}");
    for voter in voters {
        let why = |vote: usize| {
            let request = voter["votes"][vote]["request"].as_u64().expect("an index");
            requests[request as usize]["why"].clone()
        };
        assert_eq!((why(0), why(1)), (json!("second"), json!("first")), "{shown}");
        let (ended, began) = (&voter["votes"][1]["ended_ms"], &voter["votes"][0]["began_ms"]);
        assert!(ended.as_f64() >= began.as_f64(), "{shown}");
    }
    let (_, unused) = web.get("/v1/hand-overs?name=unused").await;
    assert_eq!(unused["requests"], json!([]), "{unused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_lists_sessions_without_their_keys_and_its_links() {
    let cluster = cluster(3).await;
    let web = Web::of(&cluster, 0);
    let mine = open(&web).await;
    let other = json!({ "ttl_ms": 5000, "who": "another" });
    let (_, opened) = web.post("/v1/sessions", other).await;
    let theirs = opened["session"].as_str().expect("a session").to_owned();
    let (_, granted) = web.post("/v1/acquire", json!({ "session": mine, "name": "x" })).await;
    let waits = web.post("/v1/acquire", json!({ "session": theirs, "name": "x", "wait_ms": 3000 }));
    let look = async {
        let mut listed = Value::Null;
        for _ in 0..200 {
            listed = web.get("/v1/sessions").await.1;
            if listed["sessions"].as_array().is_some_and(|all| {
                all.iter().any(|it| it["waiting"] == 1) && all.iter().any(|it| it["holding"] == 1)
            }) {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        let over = json!({ "session": mine, "request": granted["request"] });
        assert_eq!(web.post("/v1/release", over).await.0, 204);
        listed
    };
    let (listed, _) = tokio::join!(look, waits);
    assert_eq!((&listed["count"], &listed["node"]), (&json!(2), &json!(0)), "{listed}");
    let sessions = listed["sessions"].as_array().expect("a list");
    let holder = sessions.iter().find(|it| it["holding"] == 1).expect("a holder");
    assert_eq!(holder["holds"], json!([{ "name": "x", "kind": "lock" }]), "{listed}");
    assert_eq!((&holder["who"], &holder["ttl_ms"]), (&json!("me"), &json!(5_000)), "{listed}");
    let waiter = sessions.iter().find(|it| it["who"] == "another").expect("a waiter");
    assert_eq!(waiter["waits"], json!([{ "name": "x", "kind": "lock" }]), "{listed}");
    let text = listed.to_string();
    assert!(!text.contains(&mine) && !text.contains(&theirs), "keys are secret: {text}");
    let (_, node) = web.get("/v1/node").await;
    assert_eq!(node["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(node["caller"]["admin"], json!([""]), "{node}");
    let peers = node["peers"].as_array().expect("the other nodes");
    assert_eq!(peers.iter().map(|peer| &peer["node"]).collect::<Vec<_>>(), [1, 2], "{node}");
    assert!(peers.iter().all(|peer| peer["connected"] == true), "{node}");
}
