//! Traces for OpenTelemetry: spans of a request at its client, its node and the voters.
//!
//! A session is a trace. Trace and span identifiers are hashes of the session's public identifier, which the client, the
//! node and the voters know, so no context has to be propagated. A client's `acquire` span is the parent of the `request`
//! span. The node writes the `request` span if the session is relayed, and the client writes it if the session is direct.
//! The `request` span is the parent of each voter's `vote` span. Spans are written as lines of OTLP in JSON, which the
//! collector's `otlpjsonfile` receiver reads.

use quorate_algorithms::mutex::leased_quorum::RequestId;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// A span: one operation with a start and an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Identifier of the session, [`SessionKey::id`](crate::SessionKey::id).
    pub session: u128,
    /// Identifier of the span, see [`span_id`].
    pub id: u64,
    /// Identifier of the parent span.
    pub parent: Option<u64>,
    /// Name of the operation.
    pub name: &'static str,
    /// Start of the span, in nanoseconds since 1970.
    pub start: u64,
    /// End of the span, in nanoseconds since 1970.
    pub end: u64,
    /// Attributes as pairs of key and value.
    pub attributes: Vec<(&'static str, String)>,
    /// Whether the operation failed.
    pub failed: bool,
}

/// Returns the identifier of the span with this kind and number in a session.
pub fn span_id(session: u128, kind: &str, number: u64) -> u64 {
    let hash = digest(session, kind, number);
    u64::from_be_bytes(hash[..8].try_into().expect("a hash is longer"))
}

/// Returns the number that represents a request in span identifiers.
pub fn request_number(request: RequestId) -> u64 {
    request.incarnation ^ request.number.rotate_left(32)
}

fn digest(session: u128, kind: &str, number: u64) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(session.to_be_bytes());
    hash.update(number.to_be_bytes());
    hash.update(kind.as_bytes());
    hash.finalize().into()
}

/// Formats the spans of one process as a line of OTLP in JSON, including the line break.
pub fn line(service: &str, instance: &str, spans: &[Span]) -> String {
    let spans: Vec<Value> = spans.iter().map(span_json).collect();
    let resource = [attribute("service.name", service), attribute("service.instance.id", instance)];
    let scope = json!({ "scope": { "name": "quorate" }, "spans": spans });
    let all = json!({ "resourceSpans": [{
        "resource": { "attributes": resource },
        "scopeSpans": [scope],
    }] });
    format!("{all}\n")
}

fn attribute(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

fn span_json(span: &Span) -> Value {
    let trace = digest(span.session, "trace", 0);
    let trace: String = trace[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    let attributes: Vec<Value> =
        span.attributes.iter().map(|(key, value)| attribute(key, value)).collect();
    // OTLP's codes: span kind `INTERNAL` is 1, status `ERROR` is 2.
    let (internal, status) = (1, if span.failed { 2 } else { 0 });
    json!({
        "traceId": trace,
        "spanId": format!("{:016x}", span.id),
        "parentSpanId": span.parent.map_or(String::new(), |parent| format!("{parent:016x}")),
        "name": span.name,
        "kind": internal,
        "startTimeUnixNano": span.start.to_string(),
        "endTimeUnixNano": span.end.to_string(),
        "attributes": attributes,
        "status": { "code": status },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_what_collectors_read() {
        let key = crate::SessionKey(7);
        let session = key.id();
        let span = Span {
            session,
            id: span_id(session, "request", 1),
            parent: Some(span_id(session, "acquire", 0)),
            name: "request",
            start: 1,
            end: 2,
            attributes: vec![("quorate.lock", "a\"b".to_owned())],
            failed: false,
        };
        let line = line("quorate-node", "0", &[span]);
        let read: Value = serde_json::from_str(&line).expect("JSON");
        let written = &read["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
        assert_eq!(written["traceId"].as_str().map(str::len), Some(32));
        assert_eq!(written["spanId"].as_str().map(str::len), Some(16));
        assert_eq!(written["attributes"][0]["value"]["stringValue"], "a\"b");
        // The session key is a secret and must not appear in traces.
        assert!(!line.contains(&format!("{:032x}", 7)), "{line}");
    }
}
