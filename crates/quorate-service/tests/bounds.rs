//! Limits of clients: connections, bodies, sessions, lists.

mod support;

use std::path::Path;
use std::time::Duration;

use quorate_client::{Client, SessionOptions};
use quorate_service::{Extras, FirstStart, Node, NodeConfig, launch};
use serde_json::json;
use support::{Web, cluster};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Starts a cluster of one node, with these lines in its configuration file.
async fn node(settings: &str) -> (tempfile::TempDir, Node) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("node.toml");
    let text = format!(
        "cluster = \"1\"\nid = 0\nclients = \"127.0.0.1:0\"\n{settings}\n[peers]\n0 = \"127.0.0.1:0\"\n"
    );
    // In TOML, tables come after the top-level values.
    let (values, tables) = settings.split_once("[[").unwrap_or((settings, ""));
    let tables = if tables.is_empty() { String::new() } else { format!("[[{tables}") };
    let text = text.replace(settings, values) + &tables;
    std::fs::write(&file, text).expect("a disk");
    let config = NodeConfig::read(Path::new(&file)).expect("it makes sense");
    let (node, _) =
        launch(&config, FirstStart::of_cluster(true), Extras::default()).await.expect("it starts");
    (folder, node)
}

/// Two clients, whose tokens are `secret` and `other`.
const CLIENTS: &str = r#"
[[client]]
name = "ci"
token_sha256 = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"
acquire = [""]
observe = [""]

[[client]]
name = "web"
token_sha256 = "d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa"
acquire = [""]
observe = [""]
"#;

async fn read_some(stream: &mut TcpStream, within: Duration) -> String {
    let mut answer = vec![0; 4096];
    let read = timeout(within, stream.read(&mut answer)).await.expect("it answers in time");
    String::from_utf8_lossy(&answer[..read.unwrap_or(0)]).into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_are_refused_before_their_body_is_read() {
    let (_folder, node) = node(CLIENTS).await;
    for (path, kind) in [
        ("/v3/lock/lock", "application/json"),
        ("/v3/lease/grant", "application/json"),
        ("/v1/sessions", "application/json"),
        ("/v1/acquire", "application/json"),
    ] {
        let mut stream = TcpStream::connect(node.address()).await.expect("it listens");
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: {kind}\r\ncontent-length: 1000\r\n\r\n{{",
            node.address()
        );
        stream.write_all(head.as_bytes()).await.expect("it reads");
        let answer = read_some(&mut stream, Duration::from_secs(5)).await;
        assert!(answer.starts_with("HTTP/1.1 401"), "{path}: {answer}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_say_nothing_do_not_keep_clients_out() {
    let (_folder, node) = node(&format!("connections = 40\n{CLIENTS}")).await;
    let mut silent = Vec::new();
    for number in 0..300 {
        let mut stream = TcpStream::connect(node.address()).await.expect("it listens");
        if number % 2 == 0 {
            let head =
                "POST /v3/auth/authenticate HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n{";
            let _ = stream.write_all(head.as_bytes()).await;
        }
        silent.push(stream);
    }
    let web = Web { address: node.address(), token: Some("secret") };
    let opened = timeout(Duration::from_secs(5), web.post("/v1/sessions", json!({}))).await;
    assert_eq!(opened.expect("there is room").0, 201);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_does_not_arrive_is_given_up() {
    let (_folder, node) = node("").await;
    let mut stream = TcpStream::connect(node.address()).await.expect("it listens");
    let address = node.address();
    let head = format!(
        "POST /v1/sessions HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{{"
    );
    stream.write_all(head.as_bytes()).await.expect("it reads");
    let answer = read_some(&mut stream, Duration::from_secs(20)).await;
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("too-slow"), "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_client_does_not_take_all_sessions() {
    let (_folder, node) = node(&format!("sessions = 8\n{CLIENTS}")).await;
    let ci = Web { address: node.address(), token: Some("secret") };
    let web = Web { address: node.address(), token: Some("other") };
    let mut keys = Vec::new();
    for _ in 0..2 {
        let (status, opened) = ci.post("/v1/sessions", json!({})).await;
        assert_eq!(status, 201, "{opened}");
        keys.push(opened["session"].as_str().expect("a key").to_owned());
    }
    let (status, refused) = ci.post("/v1/sessions", json!({})).await;
    assert_eq!((status, &refused["code"]), (429, &json!("too-much")));
    assert_eq!(refused["error"], "too much: one client may have at most 2 sessions");
    assert_eq!(web.post("/v1/sessions", json!({})).await.0, 201);
    assert_eq!(ci.send("DELETE", &format!("/v1/sessions/{}", keys[0]), None).await.0, 204);
    tokio::time::sleep(Duration::from_millis(150)).await;
    assert_eq!(ci.post("/v1/sessions", json!({})).await.0, 201);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_address_has_quotas_where_nobody_shows_who_it_is() {
    let limits = "requests_per_client = 2\nwatches_per_client = 1\ntext_bytes_per_client = 2000";
    let (_folder, node) = node(limits).await;
    let web = Web { address: node.address(), token: None };
    let (_, opened) = web.post("/v1/sessions", json!({})).await;
    let session = opened["session"].as_str().expect("a session");
    let take = |name: &str, why: &str| {
        let wanted = json!({ "session": session, "name": name, "why": why, "wait_ms": 1000 });
        web.post("/v1/acquire", wanted)
    };
    assert_eq!(take("a", "").await.0, 200);
    let (status, refused) = take("b", &"x".repeat(2_000)).await;
    assert_eq!(status, 429, "{refused}");
    assert_eq!(
        refused["error"],
        "too much: one client may have at most 2000 bytes of names and texts"
    );
    assert_eq!(take("b", "").await.0, 200);
    let (status, refused) = take("c", "").await;
    assert_eq!((status, &refused["code"]), (429, &json!("too-much")));
    let mut first = web.watch("/v1/watch?prefix=a").await;
    first.until("event: watching").await;
    let (status, refused) = web.get("/v1/watch?prefix=b").await;
    assert_eq!((status, &refused["code"]), (429, &json!("too-much")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn direct_sessions_have_the_same_quotas() {
    let (_folder, node) = node("sessions = 8\nrequests_per_client = 2").await;
    let client = Client::new([node.address().to_string()]);
    let session = client.session(SessionOptions::default()).await.expect("a session");
    assert!(session.is_direct());
    let a = session.lock("a").expect("a name").acquire().await.expect("it is free");
    let _b = session.lock("b").expect("a name").acquire().await.expect("it is free");
    let wait = Duration::from_secs(5);
    let refused = session.lock("c").expect("a name").wait(wait).acquire().await;
    let why = refused.expect_err("two requests are the most").to_string();
    assert!(why.contains("one client may have at most 2 requests"), "{why}");
    assert!(a.is_held(), "what it has it keeps");
    a.release().await.expect("it is held");
    tokio::time::sleep(Duration::from_millis(150)).await;
    session.lock("c").expect("a name").wait(wait).acquire().await.expect("there is room again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_are_complete_however_long_they_are() {
    let cluster = cluster(3).await;
    let address = cluster.nodes[0].address().to_string();
    let client = Client::new([address]);
    let session = client.session(SessionOptions::default()).await.expect("a session");
    let mut held = Vec::new();
    for number in 0..300 {
        let request = session.lock(&format!("a/{number}")).expect("a name").why(&"x".repeat(4_000));
        held.push(request.acquire().await.expect("it is free"));
    }
    let web = Web::of(&cluster, 1);
    let (_, opened) = web.post("/v1/sessions", json!({})).await;
    let wanted = json!({ "session": opened["session"], "name": "a", "kind": "election" });
    assert_eq!(web.post("/v1/acquire", wanted).await.0, 200);
    // The name of the election is a prefix of the names of all the locks.
    let (status, leader) = Web::of(&cluster, 2).get("/v1/leader?name=a").await;
    assert_eq!((status, &leader["name"]), (200, &json!("a")));
    let list = client.list("a", u32::MAX).await.expect("a list");
    assert_eq!(list.len(), 301);
    assert_eq!(client.list("a", 7).await.expect("a list").len(), 7);
    let (mut names, mut after) = (Vec::new(), String::new());
    loop {
        let (status, page) = web.get(&format!("/v1/locks?prefix=a&most=100{after}")).await;
        assert_eq!((status, &page["silent"]), (200, &json!([])));
        let requests = page["requests"].as_array().expect("a list").iter();
        names.extend(requests.map(|request| request["name"].to_string()));
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 301);
    assert_eq!(web.get("/v1/locks?after=nonsense").await.0, 400);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_lasts_longer_than_strangers_may() {
    let (_folder, node) = node("").await;
    let web = Web { address: node.address(), token: None };
    let mut watching = web.watch("/v1/watch").await;
    watching.until("event: watching").await;
    tokio::time::sleep(Duration::from_secs(17)).await;
    let client = Client::new([node.address().to_string()]);
    let session = client.session(SessionOptions::default()).await.expect("a session");
    let guard = session.lock("x").expect("a name").acquire().await.expect("it is free");
    watching.until("event: changed").await;
    drop(guard);
}
