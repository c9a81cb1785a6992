//! Authentication and permissions: tokens, certificates, and permissions by prefix.

use std::path::Path;

use crate::support::Web;
use quorate_client::{Client, Credentials, Error, Failure, Session, SessionOptions};
use quorate_core::ProcessId;
use quorate_net::certs;
use quorate_service::{Extras, FirstStart, Node, NodeConfig, launch};
use serde_json::json;

/// Starts one node with two clients: `ci` with a token and `ops` with a certificate. A certificate for `nobody` exists, but
/// the file does not name that client.
async fn node(folder: &Path) -> Node {
    let nodes = vec![(ProcessId::new(0), Vec::new())];
    let clients = vec!["ops".to_owned(), "nobody".to_owned()];
    let wanted = certs::CertsSpec { nodes, clients, days: 1, renew: false };
    certs::make(&folder.join("certs"), &wanted).expect("certificates");
    let text = r#"
        cluster = "1"
        id = 0
        clients = "127.0.0.1:0"
        [peers]
        0 = "127.0.0.1:0"
        [tls]
        authority = "certs/ca.pem"
        certificate = "certs/node-0.pem"
        key = "certs/node-0.key"
        [[client]]
        name = "ci"   # its token is: secret
        token_sha256 = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"
        acquire = ["deploy/"]
        observe = ["deploy/"]
        [[client]]
        name = "ops"
        certificate = true
        acquire = [""]
        observe = [""]
        admin = [""]
    "#;
    let file = folder.join("node.toml");
    std::fs::write(&file, text).expect("a file");
    let config = NodeConfig::read(&file).expect("it is sound");
    let (node, _) =
        launch(&config, FirstStart::of_cluster(true), Extras::default()).await.expect("it starts");
    while !node.is_ready().await {
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    node
}

fn pem(folder: &Path, name: &str) -> Vec<u8> {
    std::fs::read(folder.join("certs").join(name)).expect("it was made")
}

async fn session(node: &Node, credentials: Credentials) -> Result<Session, Error> {
    let client = Client::with_credentials([node.address().to_string()], credentials)?;
    client.session(SessionOptions::default()).await
}

fn refused<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    result.expect_err("it is refused").to_string()
}

#[tokio::test]
async fn tokens_and_certificates_open_the_door() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = node(folder.path()).await;
    let tls = Credentials { authority: Some(pem(folder.path(), "ca.pem")), ..Default::default() };
    let own = |name: &str| {
        let part = |kind: &str| pem(folder.path(), &format!("client-{name}.{kind}"));
        Some((part("pem"), part("key")))
    };
    let ci = Credentials { token: Some("secret".to_owned()), ..tls.clone() };
    let by_token = session(&node, ci).await.expect("its token is good");
    let guard = by_token.lock("deploy/x").expect("a name").acquire().await.expect("it may");
    let elsewhere = by_token.lock("other").expect("a name").acquire().await;
    assert!(matches!(elsewhere, Err(Error::Failed(Failure::NotAllowed(_)))), "{elsewhere:?}");
    let ops = Credentials { certificate: own("ops"), ..tls.clone() };
    let client = Client::with_credentials([node.address().to_string()], ops).expect("it fits");
    let name = quorate_client::Name::lock("deploy/x").expect("a name");
    client.force_release(name, "test").await.expect("it may take locks away");
    guard.expiring().await;
    assert_eq!(guard.loss(), Some(quorate_client::Loss::Expelled));

    assert!(refused(session(&node, tls.clone()).await).contains("a token or a client certificate"));
    let wrong = Credentials { token: Some("wrong".to_owned()), ..tls.clone() };
    assert!(refused(session(&node, wrong).await).contains("unknown token"));
    let nobody = Credentials { certificate: own("nobody"), ..tls };
    assert!(refused(session(&node, nobody).await).contains("matches this certificate"));
    assert!(refused(session(&node, Credentials::default()).await).contains("a token"));
}

#[tokio::test]
async fn http_wants_the_token_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = node(folder.path()).await;
    let stranger = Web { address: node.address(), token: None };
    assert_eq!(stranger.post("/v1/sessions", json!({})).await.0, 401);
    assert_eq!(stranger.get("/readyz").await.0, 200);
    let ci = Web { address: node.address(), token: Some("secret") };
    let (status, opened) = ci.post("/v1/sessions", json!({})).await;
    assert_eq!(status, 201, "{opened}");
    let wanted = json!({ "session": opened["session"], "name": "other" });
    assert_eq!(ci.post("/v1/acquire", wanted).await.0, 403);
    assert_eq!(ci.get("/v1/locks?prefix=").await.0, 403);
    assert_eq!(ci.get("/v1/locks?prefix=deploy/").await.0, 200);
    assert_eq!(ci.get("/v1/sessions").await.0, 403);
    assert_eq!(ci.get("/v1/history?name=deploy/web").await.0, 200);
    assert_eq!(ci.get("/v1/history?name=other").await.0, 403);
    assert_eq!(ci.get("/v1/hand-overs?name=deploy/web").await.0, 200);
    assert_eq!(ci.get("/v1/hand-overs?name=other").await.0, 403);
    let (_, node) = ci.get("/v1/node").await;
    assert_eq!(node["caller"]["observe"], json!(["deploy/"]), "{node}");
    assert_eq!((&node["caller"]["name"], &node["caller"]["admin"]), (&json!("ci"), &json!([])));
    let request = json!({ "name": "deploy/x", "reason": "because" });
    assert_eq!(ci.post("/v1/force-release", request).await.0, 403);
}

#[tokio::test]
async fn the_words_of_etcd_want_the_token_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = node(folder.path()).await;
    let stranger = Web { address: node.address(), token: None };
    let lease = json!({ "TTL": 30, "ID": 7 });
    let (status, why) = stranger.post("/v3/lease/grant", lease.clone()).await;
    assert_eq!((status, &why["code"]), (401, &json!(16)), "{why}");
    let show = |password: &str| json!({ "name": "ci", "password": password });
    let (status, why) = stranger.post("/v3/auth/authenticate", show("guess")).await;
    assert_eq!(status, 400, "{why}");
    let (status, shown) = stranger.post("/v3/auth/authenticate", show("secret")).await;
    assert_eq!((status, &shown["token"]), (200, &json!("secret")), "{shown}");
    let ci = Web { address: node.address(), token: Some("secret") };
    assert_eq!(ci.post("/v3/lease/grant", lease).await.0, 200);
    // The names in base64 are `deploy/x` and `other`.
    let lock = |name: &str| json!({ "name": name, "lease": 7 });
    let (status, held) = ci.post("/v3/lock/lock", lock("ZGVwbG95L3g=")).await;
    assert_eq!(status, 200, "{held}");
    let (status, why) = ci.post("/v3/lock/lock", lock("b3RoZXI=")).await;
    assert_eq!((status, &why["code"]), (403, &json!(7)), "{why}");
    // For another client the same number is another lease, and the key alone gives no access.
    assert_eq!(stranger.post("/v3/lock/unlock", json!({ "key": held["key"] })).await.0, 401);
}

#[test]
fn an_open_door_is_for_loopback_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("node.toml");
    let begin = "cluster = \"1\"\nid = 0\nclients = \"0.0.0.0:0\"\n";
    let read = |text: &str| {
        std::fs::write(&file, text).expect("a file");
        NodeConfig::read(&file).map(drop).map_err(|error| error.to_string())
    };
    let why = read(&format!("{begin}[peers]\n0 = \"127.0.0.1:0\"\n")).expect_err("no");
    assert!(why.contains("is not loopback: set [tls] certificates"), "{why}");
    let certificates = "[tls]\nauthority = \"a\"\ncertificate = \"b\"\nkey = \"c\"\n";
    let why =
        read(&format!("{begin}[peers]\n0 = \"127.0.0.1:0\"\n{certificates}")).expect_err("no");
    assert!(why.contains("list the clients with [[client]]"), "{why}");
    read(&format!("{begin}plain_clients = true\n[peers]\n0 = \"127.0.0.1:0\"\n")).expect("as said");
}
