//! A mesh of nodes: one connection per pair, made again when it breaks, with queues that are bounded.
//!
//! Of each pair the node with the lower number dials. Messages to a peer arrive once and in order as long as both nodes
//! live, over as many connections as it takes. A peer that has started anew has lost its memory: the owner is told, and
//! what was queued for its former life is dropped.
//!
//! A full queue is the owner's business: [`Mesh::send`] waits, [`Mesh::try_send`] refuses. The owner should not wait for
//! room without reading events, or two nodes may wait for each other.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

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

/// The handle of a running mesh; clones are handles of the same one. When the last is dropped, everything ends at once;
/// [`Mesh::stop`] is the polite way.
#[derive(Clone)]
pub struct Mesh {
    handle: Arc<Handle>,
}

struct Handle {
    shared: Arc<Shared>,
    phase: watch::Sender<Phase>,
    tasks: Mutex<JoinSet<()>>,
    /// For tasks to come; none once it has stopped, so that events come to an end.
    events: Mutex<Option<mpsc::Sender<Event>>>,
    address: SocketAddr,
}

/// What all tasks of a mesh share.
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) network: Arc<dyn Network>,
    pub(crate) phase: watch::Receiver<Phase>,
    pub(crate) refused: AtomicU64,
    links: RwLock<Links>,
}

#[derive(Default)]
struct Links {
    current: BTreeMap<ProcessId, Arc<Link>>,
    /// The books of those who were peers: one that comes back in the same life goes on where it was.
    former: BTreeMap<ProcessId, DeliveryState>,
}

/// Where a mesh is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Running,
    /// Nothing new; what is queued goes out.
    Flushing,
}

/// Why a message was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// Its queue is full.
    #[error("the queue of {0} is full")]
    Full(ProcessId),
    /// Nobody of this name, or not any longer.
    #[error("{0} is not a peer")]
    Unknown(ProcessId),
    /// Larger than allowed.
    #[error("a message of {size} bytes, where {max} are allowed")]
    TooLarge {
        /// Its size.
        size: usize,
        /// The largest allowed.
        max: usize,
    },
    /// The mesh is stopping.
    #[error("the mesh is stopping")]
    Stopped,
}

/// What is known about a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerStatus {
    /// Who.
    pub peer: ProcessId,
    /// Where it waits for connections.
    pub address: String,
    /// Whether it can be talked to.
    pub up: bool,
    /// Its life, if it has ever been heard of.
    pub incarnation: Option<Incarnation>,
    /// The version of the owner's messages that both speak, of the last connection.
    pub version: u16,
    /// How many messages wait or are not acknowledged.
    pub queued: usize,
    /// How many connections there have been.
    pub connections: u64,
    /// Why there is no connection, or why the last one ended.
    pub last_error: Option<String>,
    /// Why one of the two nodes refused the other, if that is the trouble.
    pub refusal: Option<RefusalReason>,
}

impl Mesh {
    /// Starts a node behind this listener. Needs to be called within a runtime of tokio, whose threads do the work.
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
        let (network, refused) = (Arc::new(network), AtomicU64::new(0));
        let links = RwLock::default();
        let shared = Arc::new(Shared { config, network, phase, refused, links });
        let mut tasks = JoinSet::new();
        tasks.spawn(accept_all(Arc::clone(&shared), listener, events.clone()));
        let (tasks, events) = (Mutex::new(tasks), Mutex::new(Some(events)));
        let handle = Handle { shared, phase: sender, tasks, events, address };
        let mesh = Self { handle: Arc::new(handle) };
        mesh.set_peers(peers);
        Ok((mesh, Events::new(receiver)))
    }

    /// Where it waits for connections.
    pub fn address(&self) -> SocketAddr {
        self.handle.address
    }

    /// Queues a message, as soon as there is room.
    pub async fn send(&self, to: ProcessId, payload: impl Into<Bytes>) -> Result<(), SendError> {
        let (link, payload) = self.prepare(to, payload.into())?;
        link.push_when_room(payload).await.map_err(|why| self.send_error(&link, why))
    }

    /// Queues a message if there is room.
    pub fn try_send(&self, to: ProcessId, payload: impl Into<Bytes>) -> Result<(), SendError> {
        let (link, payload) = self.prepare(to, payload.into())?;
        link.try_push(payload).map_err(|why| self.send_error(&link, why))
    }

    /// What is known about each peer.
    pub fn status(&self) -> Vec<PeerStatus> {
        self.handle.shared.all_links().iter().map(|link| status(link)).collect()
    }

    /// How many connections this node has refused, or dropped before they had said who they are.
    pub fn refused(&self) -> u64 {
        self.handle.shared.refused.load(Ordering::Relaxed)
    }

    /// Exchanges the configuration of peers: new ones are dialled or awaited, those that are gone are dropped with what
    /// is queued for them, and the next connection to a peer goes to its new address.
    pub fn set_peers(&self, mut peers: BTreeMap<ProcessId, String>) {
        let shared = &self.handle.shared;
        let Some(events) = self.events().clone() else { return };
        peers.remove(&shared.config.me);
        let mut links = shared.links.write().unwrap_or_else(PoisonError::into_inner);
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

    /// Stops: nothing new is taken, what is queued for peers that are there is sent and acknowledged, they are told, and
    /// connections are closed. Gives up after the limit; says how many messages were not acknowledged. Who reads events
    /// should go on doing so meanwhile.
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

impl Shared {
    pub(crate) fn link(&self, peer: ProcessId) -> Option<Arc<Link>> {
        self.links.read().unwrap_or_else(PoisonError::into_inner).current.get(&peer).cloned()
    }

    fn all_links(&self) -> Vec<Arc<Link>> {
        self.links
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .current
            .values()
            .cloned()
            .collect()
    }

    /// Waits until the mesh is not running any longer.
    pub(crate) async fn stopping(&self) {
        let _ = self.phase.clone().wait_for(|&phase| phase != Phase::Running).await;
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
