//! Export of OpenTelemetry spans about the client's requests.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use quorate_algorithms::mutex::leased_quorum::RequestId;
use quorate_protocol::spans::{Span, line, request_number, span_id};
use quorate_protocol::{Name, SessionKey};

type Sink = Box<dyn Fn(&str) + Send + Sync>;

/// Sink for lines of OTLP JSON, once one is set.
#[derive(Clone, Default)]
pub(crate) struct Spans(Arc<OnceLock<Sink>>);

impl std::fmt::Debug for Spans {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Spans").field(&self.0.get().is_some()).finish()
    }
}

impl Spans {
    pub(crate) fn set_sink(&self, sink: Sink) {
        let _ = self.0.set(sink);
    }

    /// Records the request of a direct session to the voters, as a child of the span of the client's call.
    pub(crate) fn record_request(
        &self,
        request: RequestId,
        call: u64,
        name: &Name,
        took: Duration,
    ) {
        let Some(sink) = self.0.get() else { return };
        let (end, session) = (unix_nanos(), request.session);
        let id = span_id(session, "request", request_number(request));
        let parent = Some(span_id(session, "acquire", call));
        let start = end.saturating_sub(took.as_nanos() as u64);
        let attributes = vec![("quorate.lock", name.to_string())];
        let (name, failed) = ("request", false);
        let span = Span { session, id, parent, name, start, end, attributes, failed };
        sink(&line("quorate-client", &std::process::id().to_string(), &[span]));
    }

    /// Records a span that ends now: a request, or the time that a lock was held.
    pub(crate) fn record(
        &self,
        (session, request): (SessionKey, u64),
        name: &'static str,
        took: Duration,
        attributes: Vec<(&'static str, String)>,
        failed: bool,
    ) {
        let Some(sink) = self.0.get() else { return };
        let end = unix_nanos();
        let session = session.id();
        let id = span_id(session, name, request);
        let start = end.saturating_sub(took.as_nanos() as u64);
        let span = Span { session, id, parent: None, name, start, end, attributes, failed };
        sink(&line("quorate-client", &std::process::id().to_string(), &[span]));
    }
}

/// Present time in nanoseconds since 1970.
#[expect(clippy::disallowed_methods, reason = "traces use wall-clock time")]
fn unix_nanos() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.unwrap_or_default().as_nanos() as u64
}
