//! A separate server for each test, and a client that sends requests without changing them.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;

use quorate_console::{LabServer, LabSettings};
use serde_json::Value;

/// Server that runs until the test process ends.
pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
}

/// Status, head and body of a response.
pub(crate) struct TestResponse {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl TestServer {
    pub(crate) fn start() -> Self {
        Self::with(LabSettings::default())
    }

    pub(crate) fn with(settings: LabSettings) -> Self {
        let server = LabServer::bind(settings).expect("a free port");
        let address = server.address();
        thread::spawn(move || server.run());
        Self { address }
    }

    /// Sends a GET request as a page of this server would.
    pub(crate) fn get(&self, path: &str) -> TestResponse {
        self.request("GET", path, &[], b"")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> TestResponse {
        self.request("POST", path, &["Content-Type: application/json"], body.to_string().as_bytes())
    }

    /// Sends a request with additional headers. `Host` is correct unless one of them sets it.
    pub(crate) fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[&str],
        body: &[u8],
    ) -> TestResponse {
        let mut stream = self.send(method, path, headers, body);
        let mut bytes = Vec::new();
        // A server that rejects a body may close the connection before it has read all of it.
        let _ = stream.read_to_end(&mut bytes);
        TestResponse::read(bytes)
    }

    /// Sends a request without waiting for the response.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[&str],
        body: &[u8],
    ) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).expect("the server listens");
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|header| header.starts_with("Host:")) {
            head.push_str(&format!("Host: {}\r\n", self.address));
        }
        headers.iter().for_each(|header| head.push_str(&format!("{header}\r\n")));
        head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
        stream.write_all(head.as_bytes()).expect("the server reads");
        let _ = stream.write_all(body);
        stream
    }
}

impl TestResponse {
    fn read(bytes: Vec<u8>) -> Self {
        let end =
            bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("an answer has a head");
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let chunked = head.to_lowercase().contains("transfer-encoding: chunked");
        let body = bytes[end + 4..].to_vec();
        let body = if chunked { decode_chunked(&body) } else { body };
        Self { status: status.expect("a status"), head, body }
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.text()))
    }

    /// Error message of a rejected request.
    pub(crate) fn error(&self) -> String {
        self.json()["error"].as_str().unwrap_or_default().to_owned()
    }
}

/// Decodes a chunked body.
fn decode_chunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        let length = usize::from_str_radix(&String::from_utf8_lossy(&rest[..end]), 16).unwrap_or(0);
        if length == 0 || rest.len() < end + 2 + length {
            break;
        }
        body.extend_from_slice(&rest[end + 2..end + 2 + length]);
        rest = &rest[(end + 4 + length).min(rest.len())..];
    }
    body
}
