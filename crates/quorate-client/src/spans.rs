//! What a client tells about its requests for OpenTelemetry.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use quorate_protocol::SessionKey;
use quorate_protocol::spans::{Span, line, span_id};

type Sink = Box<dyn Fn(&str) + Send + Sync>;

/// Where lines of OTLP in JSON go, once somebody wants them.
#[derive(Clone, Default)]
pub(crate) struct Spans(Arc<OnceLock<Sink>>);

impl std::fmt::Debug for Spans {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Spans").field(&self.0.get().is_some()).finish()
    }
}

impl Spans {
    pub(crate) fn tell(&self, sink: Sink) {
        let _ = self.0.set(sink);
    }

    /// A request has taken so long, or a lock was held so long, until now.
    pub(crate) fn put(
        &self,
        (session, request): (SessionKey, u64),
        name: &'static str,
        took: Duration,
        attributes: Vec<(&'static str, String)>,
        failed: bool,
    ) {
        let Some(sink) = self.0.get() else { return };
        let end = calendar();
        let session = session.id();
        let id = span_id(session, name, request);
        let start = end.saturating_sub(took.as_nanos() as u64);
        let span = Span { session, id, parent: None, name, start, end, attributes, failed };
        sink(&line("quorate-client", &std::process::id().to_string(), &[span]));
    }
}

/// In nanoseconds since 1970.
#[expect(clippy::disallowed_methods, reason = "traces are told in the time of the real world")]
fn calendar() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.unwrap_or_default().as_nanos() as u64
}
