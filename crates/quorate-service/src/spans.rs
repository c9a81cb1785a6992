//! What a node writes about requests for OpenTelemetry.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use quorate_algorithms::mutex::leased::{Message, Ticket};
use quorate_core::{Layered, ProcessId, Time};
use quorate_protocol::spans::{Span, line, span_id};
use quorate_protocol::{Name, SessionKey};
use tokio::sync::mpsc;

use crate::peer::PeerMessage;

/// So many requests are remembered until a vote is given.
const HEARD_MOST: usize = 65_536;

/// The spans of a node while they last.
#[derive(Debug, Default)]
pub(crate) struct Spans {
    /// When each request was heard of, by this voter.
    heard: BTreeMap<Ticket, Time>,
    over: Vec<Span>,
}

impl Spans {
    /// A voter hears of a request.
    pub(crate) fn hear(&mut self, message: &PeerMessage, now: Time) {
        let PeerMessage::Process(Layered::Upper(Message::Request(_, ticket, ..))) = message else {
            return;
        };
        if self.heard.len() >= HEARD_MOST {
            self.heard.clear();
        }
        self.heard.entry(*ticket).or_insert(now);
    }

    /// A vote of this node leaves.
    pub(crate) fn vote(&mut self, me: ProcessId, lock: &Name, ticket: Ticket, now: Time) {
        let session = SessionKey(ticket.session);
        let number = ticket.number << 8 | me.index() as u64;
        self.over.push(Span {
            session,
            id: span_id(session, "vote", number ^ (now.0 << 1)),
            parent: Some(span_id(session, "request", ticket.number)),
            name: "vote",
            start: self.heard.remove(&ticket).unwrap_or(now).0,
            end: now.0,
            attributes: vec![("quorate.lock", lock.to_string())],
            failed: false,
        });
    }

    /// A request that has come through this node was granted, or is over without.
    pub(crate) fn request(
        &mut self,
        lock: &Name,
        ticket: Ticket,
        asked_by: Option<u64>,
        (asked, now): (Time, Time),
        token: Option<u64>,
    ) {
        let session = SessionKey(ticket.session);
        let mut attributes = vec![("quorate.lock", lock.to_string())];
        attributes.extend(token.map(|token| ("quorate.token", token.to_string())));
        self.over.push(Span {
            session,
            id: span_id(session, "request", ticket.number),
            parent: asked_by.map(|request| span_id(session, "acquire", request)),
            name: "request",
            start: asked.0,
            end: now.0,
            attributes,
            failed: token.is_none(),
        });
    }

    /// Those that are over, by the clock of the node.
    pub(crate) fn take(&mut self) -> Vec<Span> {
        std::mem::take(&mut self.over)
    }
}

/// Where spans go.
#[derive(Clone, Debug)]
pub struct SpanSink {
    spans: mpsc::Sender<Vec<Span>>,
}

impl SpanSink {
    /// Writes them to a file or whatever it is, from a thread of its own, as those of this instance of a service. Those for
    /// which it is too slow are left out.
    pub fn new(
        service: &str,
        instance: &str,
        mut to: impl Write + Send + 'static,
    ) -> std::io::Result<Self> {
        let (spans, mut told) = mpsc::channel::<Vec<Span>>(1_024);
        let (service, instance) = (service.to_owned(), instance.to_owned());
        std::thread::Builder::new().name("spans".to_owned()).spawn(move || {
            while let Some(spans) = told.blocking_recv() {
                let written = to.write_all(line(&service, &instance, &spans).as_bytes());
                if let Err(error) = written.and_then(|()| to.flush()) {
                    return tracing::error!(%error, "no more traces are written");
                }
            }
        })?;
        Ok(Self { spans })
    }

    /// Takes spans whose times are those of the node's clock.
    pub(crate) fn put(&self, mut spans: Vec<Span>, offset: Duration) {
        for span in &mut spans {
            span.start += offset.as_nanos() as u64;
            span.end += offset.as_nanos() as u64;
        }
        let _ = self.spans.try_send(spans);
    }
}

/// By how much the calendar is ahead of the node's clock.
#[expect(clippy::disallowed_methods, reason = "traces are told in the time of the real world")]
pub(crate) fn calendar_offset() -> Duration {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.unwrap_or_default().saturating_sub(Duration::from_nanos(crate::clock::now().0))
}
