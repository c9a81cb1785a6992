//! Jobs that a client posts to the worker of its backend.

use std::sync::Arc;
use std::time::Duration;

use quorate_protocol::{Call, CallResponse, HolderChange, SessionKey};
use tokio::sync::{mpsc, oneshot};

use crate::error::Error;
use crate::session_state::SessionState;

/// A job of a client for its backend. Every backend takes calls and returns responses in the types of quorate's protocol.
/// Sessions and guards therefore do not depend on the backend.
pub(crate) enum Job {
    Call {
        call: Call,
        timeout: Option<Duration>,
        reply: oneshot::Sender<Result<CallResponse, Error>>,
    },
    /// Delivers events of this session to this state.
    Subscribe(SessionKey, Arc<SessionState>),
    Unsubscribe(SessionKey),
    /// Delivers changes of names with this prefix to this channel.
    Watch(String, mpsc::UnboundedSender<HolderChange>),
}
