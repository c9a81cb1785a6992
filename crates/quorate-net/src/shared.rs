//! State that the tasks of a mesh share with its handle.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use quorate_core::ProcessId;
use tokio::sync::watch;

use crate::config::Config;
use crate::delivery::DeliveryState;
use crate::link::Link;
use crate::network::Network;

/// State shared by all tasks of a mesh.
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) network: Arc<dyn Network>,
    pub(crate) phase: watch::Receiver<Phase>,
    /// Number of incoming connections that were refused or dropped.
    pub(crate) refused: AtomicU64,
    /// Whether the owner has not named any peers yet.
    pub(crate) joins: AtomicBool,
    links: RwLock<Links>,
}

/// Links to the peers of a mesh.
#[derive(Default)]
pub(crate) struct Links {
    pub(crate) current: BTreeMap<ProcessId, Arc<Link>>,
    /// Delivery states of removed peers. A peer that is added again in the same incarnation continues from there.
    pub(crate) former: BTreeMap<ProcessId, DeliveryState>,
}

/// Phase in the life of a mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Running,
    /// No new messages are accepted; queued messages are sent.
    Flushing,
}

impl Shared {
    pub(crate) fn new(
        config: Config,
        network: Arc<dyn Network>,
        phase: watch::Receiver<Phase>,
    ) -> Self {
        let (refused, joins) = (AtomicU64::new(0), AtomicBool::new(config.joins));
        Self { config, network, phase, refused, joins, links: RwLock::default() }
    }

    pub(crate) fn link(&self, peer: ProcessId) -> Option<Arc<Link>> {
        self.links().current.get(&peer).cloned()
    }

    /// The link to a peer that has connected. A node that joins a cluster accepts peers that it does not know.
    pub(crate) fn link_from(&self, peer: ProcessId) -> Option<Arc<Link>> {
        let known = self.link(peer);
        if known.is_some() || !self.joins.load(Ordering::Relaxed) || peer >= self.config.me {
            return known;
        }
        let mut links = self.links_mut();
        let room = self.config.limits.queue;
        let new = || Arc::new(Link::new(peer, String::new(), room, DeliveryState::new()));
        Some(Arc::clone(links.current.entry(peer).or_insert_with(new)))
    }

    pub(crate) fn all_links(&self) -> Vec<Arc<Link>> {
        self.links().current.values().cloned().collect()
    }

    fn links(&self) -> RwLockReadGuard<'_, Links> {
        self.links.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn links_mut(&self) -> RwLockWriteGuard<'_, Links> {
        self.links.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the mesh is no longer running.
    pub(crate) async fn stopping(&self) {
        let _ = self.phase.clone().wait_for(|&phase| phase != Phase::Running).await;
    }
}
