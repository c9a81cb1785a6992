//! JSON calls over HTTP/1.1, each on its own connection, and the node that a session uses.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;

/// Pause before the next node is tried.
pub(super) const PAUSE: Duration = Duration::from_millis(20);

/// Maximum size of an answer, in bytes.
const ANSWER_MOST: u64 = 1 << 20;

/// An answer: the status, and the body as JSON. A body that is not JSON becomes null.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl HttpResponse {
    /// Machine-readable code of a refusal.
    pub(crate) fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or("")
    }
}

/// Calls a node, with `GET` if there is no body. Fails if the answer is not complete within `timeout`.
pub(crate) async fn call(
    address: &str,
    path: &str,
    body: Option<&Value>,
    timeout: Duration,
) -> io::Result<HttpResponse> {
    let answered = async {
        let mut stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let text = body.map_or(String::new(), Value::to_string);
        let method = if body.is_some() { "POST" } else { "GET" };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{text}",
            text.len()
        );
        stream.write_all(request.as_bytes()).await?;
        let mut bytes = Vec::new();
        stream.take(ANSWER_MOST).read_to_end(&mut bytes).await?;
        read(&bytes).ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))
    };
    let late = |_| io::Error::from(io::ErrorKind::TimedOut);
    tokio::time::timeout(timeout, answered).await.map_err(late)?
}

/// Parses an answer; `None` if it is incomplete.
fn read(bytes: &[u8]) -> Option<HttpResponse> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let header = |name: &str| {
        let lines = head.lines().filter_map(|line| line.split_once(':'));
        let mut values = lines.filter(|(key, _)| key.eq_ignore_ascii_case(name));
        values.next().map(|(_, value)| value.trim())
    };
    let body = match (header("transfer-encoding"), header("content-length")) {
        (Some("chunked"), _) => dechunked(body)?,
        (_, Some(length)) if length.parse() != Ok(body.len()) => return None,
        _ => body.to_owned(),
    };
    Some(HttpResponse { status, body: serde_json::from_str(&body).unwrap_or(Value::Null) })
}

/// The text of a chunked body; `None` if the last chunk is missing.
fn dechunked(mut body: &str) -> Option<String> {
    let mut text = String::new();
    loop {
        let (length, rest) = body.split_once("\r\n")?;
        match usize::from_str_radix(length.trim(), 16).ok()? {
            0 => return Some(text),
            length => {
                text += rest.get(..length)?;
                body = rest.get(length..)?.strip_prefix("\r\n")?;
            }
        }
    }
}

/// The nodes of the cluster, and the node that a session uses now.
#[derive(Clone, Debug)]
pub(crate) struct NodePool {
    endpoints: Arc<Vec<String>>,
    current: Arc<watch::Sender<usize>>,
}

impl NodePool {
    pub(crate) fn new(endpoints: &[String], first: usize) -> Self {
        let current = Arc::new(watch::Sender::new(first % endpoints.len()));
        Self { endpoints: Arc::new(endpoints.to_vec()), current }
    }

    pub(crate) fn current(&self) -> usize {
        *self.current.borrow()
    }

    /// Switches to the next node after a failure, unless a concurrent call has already done so.
    pub(crate) fn fail_over(&self, failed: usize) {
        self.current.send_if_modified(|current| {
            let is_current = *current == failed;
            if is_current {
                *current = (failed + 1) % self.endpoints.len();
            }
            is_current
        });
    }

    /// Calls a node. Also fails once the session uses another node.
    pub(crate) async fn call(
        &self,
        node: usize,
        path: &str,
        body: &Value,
        timeout: Duration,
    ) -> io::Result<HttpResponse> {
        let mut current = self.current.subscribe();
        tokio::select! {
            biased;
            answer = call(&self.endpoints[node], path, Some(body), timeout) => answer,
            _ = current.wait_for(|current| *current != node) => {
                Err(io::Error::other("the session uses another node"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_answers_are_read_and_others_are_not() {
        let plain = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{\"a\": 12}";
        let answer = read(plain.as_bytes()).expect("it is whole");
        assert_eq!((answer.status, answer.body["a"].as_u64()), (200, Some(12)));
        assert_eq!(read(&plain.as_bytes()[..plain.len() - 1]), None);
        let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\n{\"a\"\r\n4\r\n: 3}\r\n0\r\n\r\n";
        assert_eq!(read(chunked.as_bytes()).expect("it is whole").body["a"].as_u64(), Some(3));
        assert_eq!(read(&chunked.as_bytes()[..chunked.len() - 8]), None);
        let refused =
            "HTTP/1.1 404 Not Found\r\ncontent-length: 21\r\n\r\n{\"code\":\"no-session\"}";
        let answer = read(refused.as_bytes()).expect("it is whole");
        assert_eq!((answer.status, answer.code()), (404, "no-session"));
    }
}
