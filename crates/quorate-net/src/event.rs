//! What the owner of a mesh is told.

use std::fmt;

use bytes::Bytes;
use quorate_core::ProcessId;
use tokio::sync::mpsc;

use crate::hello::Incarnation;

/// Something that happened on a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A message, each exactly once and in the order in which it was sent.
    Message {
        /// From whom.
        from: ProcessId,
        /// What; the owner has encoded it.
        payload: Bytes,
    },
    /// A peer can be talked to.
    Up {
        /// Who.
        peer: ProcessId,
        /// Which life of it.
        incarnation: Incarnation,
        /// Whether this life is new to us: it remembers nothing of what was said before, and what was queued for the life
        /// before has been dropped.
        fresh: bool,
        /// The version of the owner's messages that both speak.
        version: u16,
    },
    /// The connection to a peer is gone. What is queued for it waits for the next one.
    Down {
        /// Who.
        peer: ProcessId,
        /// Why.
        why: DisconnectReason,
    },
}

/// Why a connection is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DisconnectReason {
    /// It has said farewell: it stops.
    Stopped,
    /// It has connected anew.
    Replaced,
    /// It is not a peer any longer.
    Removed,
    /// Nothing was heard for too long.
    Silent,
    /// The connection broke.
    Broken(String),
    /// It sent what no honest peer sends.
    ProtocolViolation(String),
}

impl fmt::Display for DisconnectReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped => f.write_str("it has stopped"),
            Self::Replaced => f.write_str("it has connected anew"),
            Self::Removed => f.write_str("it is not a peer any longer"),
            Self::Silent => f.write_str("nothing was heard for too long"),
            Self::Broken(why) => write!(f, "the connection broke: {why}"),
            Self::ProtocolViolation(cause) => write!(f, "it sent {cause}"),
        }
    }
}

/// The events of a mesh, in order. Peers are not read while too many wait here.
#[derive(Debug)]
pub struct Events {
    queue: mpsc::Receiver<Event>,
}

impl Events {
    pub(crate) const fn new(queue: mpsc::Receiver<Event>) -> Self {
        Self { queue }
    }

    /// The next event; none once the mesh has stopped and everything was told.
    pub async fn next(&mut self) -> Option<Event> {
        self.queue.recv().await
    }

    /// The next event if there is one already.
    pub fn try_next(&mut self) -> Option<Event> {
        self.queue.try_recv().ok()
    }
}
