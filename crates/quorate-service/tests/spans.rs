//! Traces: the spans of the client, its node and the voters for one request fit together.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use quorate_client::{Client, SessionOptions};
use quorate_service::{Extras, FirstStart, NodeConfig, SpanSink, launch};
use serde_json::Value;

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<String>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").push_str(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lines {
    fn spans(&self) -> Vec<Value> {
        let text = self.0.lock().expect("no panic").clone();
        let of_line = |line: &str| {
            let line: Value = serde_json::from_str(line).expect("JSON");
            line["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().cloned().expect("spans")
        };
        text.lines().flat_map(of_line).collect()
    }

    fn named(&self, name: &str) -> Option<Value> {
        self.spans().into_iter().find(|span| span["name"] == name)
    }
}

#[tokio::test]
async fn a_request_is_one_trace_from_client_to_voter() {
    for relayed in [false, true] {
        trace(relayed).await;
    }
}

/// Checks the spans of one request. The client writes the `request` span if the session is direct, and the node otherwise.
async fn trace(relayed: bool) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("node.toml");
    let text = "cluster = \"1\"\nid = 0\nclients = \"127.0.0.1:0\"\n[peers]\n0 = \"127.0.0.1:0\"\n";
    std::fs::write(&file, text).expect("a file");
    let (config, lines) = (NodeConfig::read(&file).expect("it is sound"), Lines::default());
    let sink = SpanSink::new("quorate-node", "0", lines.clone()).expect("a thread");
    let extras = Extras { spans: Some(sink), ..Extras::default() };
    let (node, _) = launch(&config, FirstStart::of_cluster(true), extras).await.expect("it starts");
    let client = Client::new([node.address().to_string()]);
    let own = lines.clone();
    client.export_spans(move |line| drop(own.clone().write_all(line.as_bytes())));
    let session = client
        .session(SessionOptions { relayed, ..SessionOptions::default() })
        .await
        .expect("a session");
    let guard = session.lock("x").expect("a name").acquire().await.expect("free");
    guard.release().await.expect("held");
    for _ in 0..200 {
        if ["acquire", "request", "vote", "hold"].iter().all(|name| lines.named(name).is_some()) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let [acquire, request, vote, hold] =
        ["acquire", "request", "vote", "hold"].map(|name| lines.named(name).expect(name));
    assert_eq!(request["parentSpanId"], acquire["spanId"]);
    assert_eq!(vote["parentSpanId"], request["spanId"]);
    for span in [&request, &vote, &hold] {
        assert_eq!(span["traceId"], acquire["traceId"]);
    }
    let time = |span: &Value, what: &str| span[what].as_str().and_then(|t| t.parse::<u64>().ok());
    // The tolerance of a millisecond is the accuracy with which the two clocks are compared.
    let (end, asked) = (time(&request, "endTimeUnixNano"), time(&acquire, "endTimeUnixNano"));
    assert!(end.expect("a time") <= asked.expect("a time") + 1_000_000, "{request} {acquire}");
}
