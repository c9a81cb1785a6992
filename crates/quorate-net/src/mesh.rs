//! A mesh of nodes: one connection per pair, redialled when it breaks, with bounded queues.
//!
//! In each pair the node with the lower number dials. Messages to a peer arrive exactly once and in order as long as both
//! nodes live, over any number of connections. A peer that restarts has lost its state: the owner is notified, and messages
//! queued for the earlier incarnation are dropped.
//!
//! The owner handles a full queue: [`Mesh::send`] waits, [`Mesh::try_send`] fails. The owner must not wait for capacity
//! without reading events. Otherwise two nodes may wait for each other.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use quorate_core::ProcessId;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::accept::accept_all;
use crate::config::{Config, Security, StartError};
use crate::delivery::DeliveryState;
use crate::dial::keep_dialling;
use crate::event::{Event, Events};
use crate::hello::Incarnation;
use crate::link::{Link, QueueError};
use crate::network::{Listener, Network};
use crate::refusal::RefusalReason;
use crate::shared::{Phase, Shared};

/// Handle of a running mesh. Clones refer to the same mesh. When the last handle is dropped, all connections end
/// immediately; [`Mesh::stop`] flushes them first.
#[derive(Clone)]
pub struct Mesh {
    handle: Arc<Handle>,
}

struct Handle {
    shared: Arc<Shared>,
    phase: watch::Sender<Phase>,
    tasks: Mutex<JoinSet<()>>,
    /// Sender for new tasks; `None` once the mesh has stopped, so that the stream of events ends.
    events: Mutex<Option<mpsc::Sender<Event>>>,
    address: SocketAddr,
}

/// Reason why a message was not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The queue of the peer is full.
    #[error("the queue of {0} is full")]
    Full(ProcessId),
    /// The recipient is not a peer, or no longer.
    #[error("{0} is not a peer")]
    Unknown(ProcessId),
    /// The message exceeds the size limit.
    #[error("a message of {size} bytes; at most {max} are allowed")]
    TooLarge {
        /// Size of the message, in bytes.
        size: usize,
        /// Maximum size of a message, in bytes.
        max: usize,
    },
    /// The mesh is stopping.
    #[error("the mesh is stopping")]
    Stopped,
}

/// Status of a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerStatus {
    /// Number of the peer.
    pub peer: ProcessId,
    /// Address that the peer listens at.
    pub address: String,
    /// Whether the peer is connected.
    pub up: bool,
    /// Latest known incarnation of the peer; `None` if it has never been connected.
    pub incarnation: Option<Incarnation>,
    /// Version of the owner's messages negotiated for the last connection.
    pub version: u16,
    /// Number of messages that are queued or not acknowledged.
    pub queued: usize,
    /// Number of connections so far.
    pub connections: u64,
    /// Reason why there is no connection, or why the last one ended.
    pub last_error: Option<String>,
    /// Reason why one of the two nodes refused the other, if that prevents the connection.
    pub refusal: Option<RefusalReason>,
}

impl Mesh {
    /// Starts a node with this listener. Must be called within a tokio runtime, whose threads do the work.
    pub fn start(
        config: Config,
        network: impl Network,
        listener: Box<dyn Listener>,
    ) -> Result<(Self, Events), StartError> {
        config.validate()?;
        let address = listener.address().map_err(StartError::Listener)?;
        if matches!(config.security, Security::Plain) && !network.is_host_local(address.ip()) {
            return Err(StartError::NotHostLocal(address));
        }
        let (events, receiver) = mpsc::channel(config.limits.events);
        let (sender, phase) = watch::channel(Phase::Running);
        let peers = config.peers.clone();
        let shared = Arc::new(Shared::new(config, Arc::new(network), phase));
        let mut tasks = JoinSet::new();
        tasks.spawn(accept_all(Arc::clone(&shared), listener, events.clone()));
        let (tasks, events) = (Mutex::new(tasks), Mutex::new(Some(events)));
        let handle = Handle { shared, phase: sender, tasks, events, address };
        let mesh = Self { handle: Arc::new(handle) };
        mesh.set_peers(peers);
        Ok((mesh, Events::new(receiver)))
    }

    /// Address that this node listens at.
    pub fn address(&self) -> SocketAddr {
        self.handle.address
    }

    /// Queues a message; waits until there is capacity.
    pub async fn send(&self, to: ProcessId, payload: impl Into<Bytes>) -> Result<(), SendError> {
        let (link, payload) = self.prepare(to, payload.into())?;
        link.push_when_room(payload).await.map_err(|why| self.send_error(&link, why))
    }

    /// Queues a message; fails with [`SendError::Full`] if there is no capacity.
    pub fn try_send(&self, to: ProcessId, payload: impl Into<Bytes>) -> Result<(), SendError> {
        let (link, payload) = self.prepare(to, payload.into())?;
        link.try_push(payload).map_err(|why| self.send_error(&link, why))
    }

    /// Status of each peer.
    pub fn status(&self) -> Vec<PeerStatus> {
        self.handle.shared.all_links().iter().map(|link| status(link)).collect()
    }

    /// Number of incoming connections that this node has refused, or dropped before the handshake was complete.
    pub fn refused(&self) -> u64 {
        self.handle.shared.refused.load(Ordering::Relaxed)
    }

    /// Replaces the peers. New peers are dialled or awaited. Peers that are missing here are dropped, along with the
    /// messages queued for them. The next connection to a peer uses its new address.
    pub fn set_peers(&self, mut peers: BTreeMap<ProcessId, String>) {
        let shared = &self.handle.shared;
        let Some(events) = self.events().clone() else { return };
        peers.remove(&shared.config.me);
        if !peers.is_empty() {
            shared.joins.store(false, Ordering::Relaxed);
        }
        let mut links = shared.links_mut();
        let gone: Vec<_> =
            links.current.extract_if(.., |peer, _| !peers.contains_key(peer)).collect();
        links.former.extend(gone.into_iter().map(|(peer, link)| (peer, link.remove())));
        for (peer, address) in peers {
            if let Some(link) = links.current.get(&peer) {
                link.state().address = address;
                continue;
            }
            let delivery = links.former.remove(&peer).unwrap_or_else(DeliveryState::new);
            let link = Arc::new(Link::new(peer, address, shared.config.limits.queue, delivery));
            links.current.insert(peer, Arc::clone(&link));
            if shared.config.me < peer {
                self.tasks().spawn(keep_dialling(Arc::clone(shared), link, events.clone()));
            }
        }
    }

    /// Stops the mesh. No new messages are accepted. Messages queued for connected peers are sent and acknowledged, the
    /// peers are notified, and connections are closed. Gives up after [`Limits::stop`](crate::Limits::stop). Returns the
    /// number of messages that were not acknowledged. The owner should continue to read events meanwhile.
    pub async fn stop(&self) -> usize {
        let shared = &self.handle.shared;
        shared.all_links().iter().for_each(|link| link.close());
        self.handle.phase.send_replace(Phase::Flushing);
        drop(self.events().take());
        let mut tasks = std::mem::take(&mut *self.tasks());
        let all = async { while tasks.join_next().await.is_some() {} };
        if timeout(shared.config.limits.stop, all).await.is_err() {
            tasks.shutdown().await;
        }
        shared.all_links().iter().map(|link| link.state().delivery.queued()).sum()
    }

    fn prepare(&self, to: ProcessId, payload: Bytes) -> Result<(Arc<Link>, Bytes), SendError> {
        let (shared, size) = (&self.handle.shared, payload.len());
        let max = shared.config.limits.message;
        if size > max {
            return Err(SendError::TooLarge { size, max });
        }
        Ok((shared.link(to).ok_or(SendError::Unknown(to))?, payload))
    }

    fn send_error(&self, link: &Link, why: QueueError) -> SendError {
        match why {
            QueueError::Full => SendError::Full(link.peer),
            QueueError::Closed if link.state().removed => SendError::Unknown(link.peer),
            QueueError::Closed => SendError::Stopped,
        }
    }

    fn events(&self) -> std::sync::MutexGuard<'_, Option<mpsc::Sender<Event>>> {
        self.handle.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tasks(&self) -> std::sync::MutexGuard<'_, JoinSet<()>> {
        self.handle.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn status(link: &Link) -> PeerStatus {
    let state = link.state();
    PeerStatus {
        peer: link.peer,
        address: state.address.clone(),
        up: state.up,
        incarnation: state.delivery.peer_incarnation(),
        version: state.version,
        queued: state.delivery.queued(),
        connections: state.connections,
        last_error: state.last_error.clone(),
        refusal: state.refusal,
    }
}
