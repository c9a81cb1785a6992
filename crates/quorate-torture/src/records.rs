//! Records of a node: its trace events, including grants and releases, in a file of its own.

use std::fmt::{self, Debug, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use quorate_client::Moment;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::log::Log;

/// Writes the trace events of a node to its records.
pub(crate) struct Records(Mutex<Log>);

impl Records {
    pub(crate) fn open(path: &Path) -> std::io::Result<Self> {
        Ok(Self(Mutex::new(Log::open(path)?)))
    }
}

/// Text of an event: the message, then `name=value` for each field.
#[derive(Default)]
struct EventText {
    message: String,
    rest: String,
}

impl Visit for EventText {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.rest, " {name}={value:?}"),
        };
    }
}

impl fmt::Display for EventText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.message, self.rest)
    }
}

impl Subscriber for Records {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let own = metadata.target().starts_with("quorate_service");
        *metadata.level() <= if own { Level::DEBUG } else { Level::INFO }
    }

    fn event(&self, event: &Event<'_>) {
        let mut event_text = EventText::default();
        event.record(&mut event_text);
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.line(format_args!("{event_text} written={}", Moment::now().0 * 1_000));
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}
