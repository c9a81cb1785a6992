//! Spans that a node writes about requests, for OpenTelemetry.

use std::io::Write;
use std::time::Duration;

use quorate_algorithms::mutex::leased_quorum::RequestId;
use quorate_core::{ProcessId, SortedMap, Time};
use quorate_protocol::Name;
use quorate_protocol::spans::{Span, line, request_number, span_id};
use tokio::sync::mpsc;

/// Maximum number of requests that are remembered until a vote is given. When it is reached, all are forgotten.
const HEARD_MOST: usize = 65_536;

/// Spans of a node, in progress and finished.
#[derive(Debug, Default)]
pub(crate) struct Spans {
    /// When this voter received each request.
    heard: SortedMap<RequestId, Time>,
    finished: Vec<Span>,
}

impl Spans {
    /// Records that the voter has received a request.
    pub(crate) fn note_request(&mut self, request: RequestId, now: Time) {
        if self.heard.len() >= HEARD_MOST {
            self.heard.clear();
        }
        self.heard.entry(request).or_insert(now);
    }

    /// Finishes the span of a vote that the voter sends.
    pub(crate) fn vote(&mut self, me: ProcessId, lock: &Name, request: RequestId, now: Time) {
        let number = request_number(request).rotate_left(8) ^ me.index() as u64;
        self.finished.push(Span {
            session: request.session,
            id: span_id(request.session, "vote", number ^ (now.0 << 1)),
            parent: Some(span_id(request.session, "request", request_number(request))),
            name: "vote",
            start: self.heard.remove(&request).unwrap_or(now).0,
            end: now.0,
            attributes: vec![("quorate.lock", lock.to_string())],
            failed: false,
        });
    }

    /// Finishes the span of a relay's request that was granted, or has ended without a grant.
    pub(crate) fn request(
        &mut self,
        lock: &Name,
        request: RequestId,
        asked_by: Option<u64>,
        (asked, now): (Time, Time),
        token: Option<u64>,
    ) {
        let mut attributes = vec![("quorate.lock", lock.to_string())];
        attributes.extend(token.map(|token| ("quorate.token", token.to_string())));
        self.finished.push(Span {
            session: request.session,
            id: span_id(request.session, "request", request_number(request)),
            parent: asked_by.map(|by| span_id(request.session, "acquire", by)),
            name: "request",
            start: asked.0,
            end: now.0,
            attributes,
            failed: token.is_none(),
        });
    }

    /// Takes the finished spans. Their times are those of the node's clock.
    pub(crate) fn take(&mut self) -> Vec<Span> {
        std::mem::take(&mut self.finished)
    }
}

/// Destination to which finished spans are written.
#[derive(Clone, Debug)]
pub struct SpanSink {
    spans: mpsc::Sender<Vec<Span>>,
}

impl SpanSink {
    /// Writes spans to `to` from a separate thread, as spans of this instance of a service. Spans that arrive while the
    /// thread is too slow are dropped.
    pub fn new(
        service: &str,
        instance: &str,
        mut to: impl Write + Send + 'static,
    ) -> std::io::Result<Self> {
        let (spans, mut received) = mpsc::channel::<Vec<Span>>(1_024);
        let (service, instance) = (service.to_owned(), instance.to_owned());
        std::thread::Builder::new().name("spans".to_owned()).spawn(move || {
            while let Some(spans) = received.blocking_recv() {
                let written = to.write_all(line(&service, &instance, &spans).as_bytes());
                if let Err(error) = written.and_then(|()| to.flush()) {
                    return tracing::error!(%error, "traces cannot be written; tracing stops");
                }
            }
        })?;
        Ok(Self { spans })
    }

    /// Queues spans. Their times are converted from the node's clock to wall-clock time by `offset`.
    pub(crate) fn put(&self, mut spans: Vec<Span>, offset: Duration) {
        for span in &mut spans {
            span.start += offset.as_nanos() as u64;
            span.end += offset.as_nanos() as u64;
        }
        let _ = self.spans.try_send(spans);
    }
}

/// Returns the difference between the wall clock and the node's clock.
#[expect(clippy::disallowed_methods, reason = "traces use wall-clock time")]
pub(crate) fn calendar_offset() -> Duration {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.unwrap_or_default().saturating_sub(Duration::from_nanos(crate::clock::now().0))
}
