//! Events of a mesh, for its owner.

use std::fmt;

use bytes::Bytes;
use quorate_core::ProcessId;
use tokio::sync::mpsc;

use crate::hello::Incarnation;

/// An event on a link to a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A message has arrived. Messages of a peer arrive exactly once, in the order in which they were sent.
    Message {
        /// The sender of the message.
        from: ProcessId,
        /// The bytes of the message, as encoded by the sender's owner.
        payload: Bytes,
    },
    /// A peer is connected.
    Up {
        /// Number of the peer.
        peer: ProcessId,
        /// Incarnation of the peer.
        incarnation: Incarnation,
        /// Whether this incarnation was not announced before, since the peer was added. After a restart the peer has lost
        /// its state, and messages queued for its earlier incarnation have been dropped.
        fresh: bool,
        /// Negotiated version of the owner's messages.
        version: u16,
    },
    /// A peer is disconnected. Messages queued for it wait for the next connection.
    Down {
        /// Number of the peer.
        peer: ProcessId,
        /// Reason of the disconnection.
        why: DisconnectReason,
    },
}

/// Reason why a connection has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DisconnectReason {
    /// The peer has announced that it stops.
    Stopped,
    /// The peer has opened a new connection.
    Replaced,
    /// The peer was removed from the configuration.
    Removed,
    /// Nothing was received for too long.
    Silent,
    /// The connection broke, with this I/O error.
    Broken(String),
    /// The peer violated the protocol.
    ProtocolViolation(String),
}

impl fmt::Display for DisconnectReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped => f.write_str("the peer has stopped"),
            Self::Replaced => f.write_str("the peer has opened a new connection"),
            Self::Removed => f.write_str("the peer was removed from the configuration"),
            Self::Silent => f.write_str("the peer was silent for too long"),
            Self::Broken(why) => write!(f, "the connection broke: {why}"),
            Self::ProtocolViolation(cause) => write!(f, "the peer sent {cause}"),
        }
    }
}

/// The events of a mesh, in order. While too many wait here, peers are not read (backpressure).
/// Once they are dropped, the mesh has no connections any more.
#[derive(Debug)]
pub struct Events {
    queue: mpsc::Receiver<Event>,
}

impl Events {
    pub(crate) const fn new(queue: mpsc::Receiver<Event>) -> Self {
        Self { queue }
    }

    /// Waits for the next event; `None` once the mesh has stopped and all events were read.
    pub async fn next(&mut self) -> Option<Event> {
        self.queue.recv().await
    }

    /// The next event, if one is queued.
    pub fn try_next(&mut self) -> Option<Event> {
        self.queue.try_recv().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_is_queued_is_there_at_once() {
        let (sender, receiver) = mpsc::channel(1);
        let mut events = Events::new(receiver);
        assert_eq!(events.try_next(), None);
        let down = Event::Down { peer: ProcessId::new(1), why: DisconnectReason::Silent };
        sender.try_send(down.clone()).expect("there is room");
        assert_eq!(events.try_next(), Some(down));
    }
}
