//! Messages that a process has sent and the mesh has no capacity for yet, in order for each peer.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use quorate_core::ProcessId;

use super::{DriveExit, Outbox};
use crate::limits::MESSAGE_OVERHEAD;
use crate::mesh::{Mesh, SendError};

pub(super) struct Outgoing {
    waiting: BTreeMap<ProcessId, PendingQueue>,
    max_pending: usize,
}

#[derive(Default)]
struct PendingQueue {
    messages: VecDeque<Bytes>,
    cost: usize,
}

impl Outgoing {
    pub(super) const fn new(max_pending: usize) -> Self {
        Self { waiting: BTreeMap::new(), max_pending }
    }

    /// Whether any message waits for capacity.
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Passes messages to the mesh as far as it has capacity, the oldest first.
    pub(super) fn send(&mut self, mesh: &Mesh, out: &mut Outbox) -> Result<(), DriveExit> {
        for (to, payload) in out.sends.drain(..) {
            if let Some(waiting) = self.waiting.get_mut(&to) {
                waiting.push(payload);
            } else if !offer(mesh, to, &payload)? {
                self.waiting.entry(to).or_default().push(payload);
            }
        }
        let mut overrun = None;
        for (&to, waiting) in &mut self.waiting {
            while let Some(payload) = waiting.messages.front() {
                if !offer(mesh, to, payload)? {
                    break;
                }
                waiting.cost -= payload.len() + MESSAGE_OVERHEAD;
                waiting.messages.pop_front();
            }
            if waiting.cost > self.max_pending {
                overrun = Some(to);
            }
        }
        self.waiting.retain(|_, waiting| !waiting.messages.is_empty());
        overrun.map_or(Ok(()), |peer| Err(DriveExit::Overrun(peer)))
    }
}

impl PendingQueue {
    fn push(&mut self, payload: Bytes) {
        self.cost += payload.len() + MESSAGE_OVERHEAD;
        self.messages.push_back(payload);
    }
}

/// Offers a message to the mesh; returns whether the mesh accepted it.
fn offer(mesh: &Mesh, to: ProcessId, payload: &Bytes) -> Result<bool, DriveExit> {
    match mesh.try_send(to, payload.clone()) {
        Ok(()) => Ok(true),
        Err(SendError::Full(_)) => Ok(false),
        Err(SendError::Stopped) => Err(DriveExit::MeshStopped),
        Err(error) => Err(DriveExit::Unsendable(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClusterId, Config, Network as _, Security, Tcp};

    const PEER: ProcessId = ProcessId::new(1);
    const COST: usize = 1 + MESSAGE_OVERHEAD;

    /// A node whose peer never connects, and whose queue has room for two messages of one byte.
    async fn mesh() -> Mesh {
        let listener = Tcp.listen("127.0.0.1:0").await.expect("a free port");
        let peers = [(PEER, "127.0.0.1:1".to_owned())];
        let mut config = Config::new(ClusterId(1), ProcessId::new(2), peers, Security::Plain);
        (config.limits.message, config.limits.queue) = (1, 2 * COST);
        Mesh::start(config, Tcp, listener).expect("it starts").0
    }

    fn outbox(messages: usize) -> Outbox {
        Outbox { sends: vec![(PEER, Bytes::from_static(b"x")); messages] }
    }

    #[tokio::test]
    async fn messages_wait_for_capacity_up_to_a_limit() {
        let (mesh, mut outgoing) = (mesh().await, Outgoing::new(2 * COST));
        assert_eq!(outgoing.send(&mesh, &mut outbox(2)), Ok(()));
        assert!(!outgoing.is_waiting());
        assert_eq!(outgoing.send(&mesh, &mut outbox(1)), Ok(()));
        assert!(outgoing.is_waiting());
        assert_eq!(outgoing.send(&mesh, &mut outbox(1)), Ok(()), "as much as is allowed");
        assert_eq!(outgoing.send(&mesh, &mut outbox(1)), Err(DriveExit::Overrun(PEER)));
    }

    #[tokio::test]
    async fn messages_that_wait_keep_their_order_and_leave_when_there_is_capacity() {
        let (mesh, mut outgoing) = (mesh().await, Outgoing::new(3 * COST));
        assert_eq!(outgoing.send(&mesh, &mut outbox(5)), Ok(()));
        // Another mesh has capacity for two of the three that wait.
        let other = self::mesh().await;
        assert_eq!(outgoing.send(&other, &mut Outbox::default()), Ok(()));
        assert_eq!(
            (outgoing.waiting[&PEER].cost, outgoing.waiting[&PEER].messages.len()),
            (COST, 1)
        );
        let last = self::mesh().await;
        let mut next = Outbox { sends: vec![(PEER, Bytes::from_static(b"y"))] };
        assert_eq!(outgoing.send(&last, &mut next), Ok(()));
        assert!(!outgoing.is_waiting());
        assert_eq!(last.status()[0].queued, 2);
    }

    #[tokio::test]
    async fn what_cannot_be_sent_ends_the_driver() {
        let (mesh, mut outgoing) = (mesh().await, Outgoing::new(COST));
        let too_large = Outbox { sends: vec![(PEER, Bytes::from_static(b"xx"))] };
        let ended = outgoing.send(&mesh, &mut { too_large });
        assert!(matches!(ended, Err(DriveExit::Unsendable(_))), "{ended:?}");
        mesh.stop().await;
        assert_eq!(outgoing.send(&mesh, &mut outbox(1)), Err(DriveExit::MeshStopped));
    }
}
