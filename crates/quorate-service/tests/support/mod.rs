//! Helpers for tests over HTTP.

#![allow(dead_code, clippy::allow_attributes, reason = "each test uses its part")]

pub(crate) mod files;

use std::net::SocketAddr;

use quorate_service::{LocalCluster, local_cluster};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

pub(crate) async fn cluster(n: usize) -> LocalCluster {
    let cluster = local_cluster(n, SocketAddr::from(([127, 0, 0, 1], 0))).await.expect("loopback");
    cluster.ready().await;
    cluster
}

/// HTTP client of one node. Each request opens a new connection.
pub(crate) struct Web {
    pub(crate) address: SocketAddr,
    pub(crate) token: Option<&'static str>,
}

impl Web {
    pub(crate) fn of(cluster: &LocalCluster, node: usize) -> Self {
        Self { address: cluster.nodes[node].address(), token: None }
    }

    pub(crate) async fn raw(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(self.address).await.expect("it listens");
        stream.write_all(request.as_bytes()).await.expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("it answers");
        answer
    }

    fn request(&self, method: &str, path: &str, body: Option<&str>) -> String {
        let body = body.unwrap_or("");
        let token = self.token.map(|token| format!("authorization: Bearer {token}\r\n"));
        let (token, length) = (token.unwrap_or_default(), body.len());
        format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/json\r\n\
             {token}content-length: {length}\r\n\r\n{body}",
            self.address
        )
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        body: Option<String>,
    ) -> (u16, Value) {
        let answer = self.raw(&self.request(method, path, body.as_deref())).await;
        let status = answer.get(9..12).and_then(|status| status.parse().ok());
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        (status.expect("a status"), serde_json::from_str(body).unwrap_or(Value::Null))
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        self.send("GET", path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        self.send("POST", path, Some(body.to_string())).await
    }

    pub(crate) async fn text(&self, path: &str) -> String {
        self.raw(&self.request("GET", path, None)).await
    }

    /// The answer to a POST as text, which may be a stream of JSON objects.
    pub(crate) async fn post_text(&self, path: &str, body: Value) -> String {
        self.raw(&self.request("POST", path, Some(&body.to_string()))).await
    }

    pub(crate) async fn watch(&self, path: &str) -> Watching {
        let mut stream = TcpStream::connect(self.address).await.expect("it listens");
        stream.write_all(self.request("GET", path, None).as_bytes()).await.expect("it reads");
        Watching(BufReader::new(stream))
    }
}

/// Stream of server-sent events.
pub(crate) struct Watching(BufReader<TcpStream>);

impl Watching {
    /// Returns the next line that starts with `begins`, without `data: `.
    pub(crate) async fn until(&mut self, begins: &str) -> String {
        let mut line = String::new();
        loop {
            line.clear();
            let read = self.0.read_line(&mut line);
            let read = tokio::time::timeout(std::time::Duration::from_secs(10), read).await;
            assert!(read.expect("in time").expect("it lasts") > 0, "it ended before {begins}");
            if line.starts_with(begins) {
                return line.trim_start_matches("data: ").trim().to_owned();
            }
        }
    }
}
