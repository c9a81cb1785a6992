//! A whole cluster in one process, on loopback.

use std::net::SocketAddr;
use std::time::Duration;

use quorate_algorithms::mutex::leased_quorum::{ChainState, Configuration};
use quorate_core::{DelayBounds, ProcessId, Span};
use quorate_net::{Network, Security, Tcp};
use quorate_protocol::{Members, QUORUM_SYSTEMS};
use tokio::net::TcpListener;

use crate::core::{Quotas, Settings, VoterStart};
use crate::node::{CannotStart, ListenerConfig, Node, Start, random_number};

/// A cluster whose nodes run in one process.
pub struct LocalCluster {
    /// Nodes in the order of their numbers.
    pub nodes: Vec<Node>,
}

/// Starts `n` nodes on loopback. The first node listens for clients on `clients`, the others on free ports. The cluster is
/// new and has a new identifier, so no client can have an old vote.
pub async fn local_cluster(n: usize, clients: SocketAddr) -> Result<LocalCluster, CannotStart> {
    local_cluster_with(n, clients, None).await
}

/// Starts a cluster like [`local_cluster`], with additional web pages on the first node.
pub async fn local_cluster_with(
    n: usize,
    clients: SocketAddr,
    pages: Option<axum::Router>,
) -> Result<LocalCluster, CannotStart> {
    let mut peers = Vec::new();
    for _ in 0..n {
        let listener = Tcp.listen("127.0.0.1:0").await;
        peers.push(listener.map_err(|error| CannotStart::Io("127.0.0.1".to_owned(), error))?);
    }
    let addresses: Result<Vec<String>, _> = peers
        .iter()
        .map(|listener| listener.address().map(|address| address.to_string()))
        .collect();
    let addresses = addresses.map_err(|error| CannotStart::Io("127.0.0.1".to_owned(), error))?;
    let members = Members::numbered(addresses, QUORUM_SYSTEMS[0]);
    let members = ChainState::new(Configuration::first(members), true);
    let members = ChainState { volatile: true, ..members };
    let cluster = random_number();
    let mut nodes = Vec::new();
    for (id, peers) in ProcessId::all(n).zip(peers) {
        let bind_address =
            if id.index() == 0 { clients } else { SocketAddr::from(([127, 0, 0, 1], 0)) };
        let listener = TcpListener::bind(bind_address).await;
        let clients = listener.map_err(|error| CannotStart::Io(bind_address.to_string(), error))?;
        let settings = Settings {
            id,
            cluster,
            members: members.clone(),
            delay_bounds: DelayBounds {
                delay: Span::from_millis(250),
                bound: Span::from_millis(250),
            },
            voter: VoterStart::New,
            ceiling: None,
            persists: false,
            client_address: None,
            sessions_most: 100_000,
            requests_most: 1_000_000,
            seed: random_number(),
            quotas: Quotas::default(),
        };
        let pages = pages.clone().filter(|_| id.index() == 0);
        let listener_config = ListenerConfig { pages, ..ListenerConfig::default() };
        let (security, disk) = (Security::Plain, None);
        let (first_start, spans) = (true, None);
        let start =
            Start { settings, security, peers, clients, disk, first_start, listener_config, spans };
        nodes.push(Node::start(start)?);
    }
    Ok(LocalCluster { nodes })
}

impl LocalCluster {
    /// Waits until all nodes are ready and connected to each other.
    pub async fn ready(&self) {
        for node in &self.nodes {
            while !(node.is_ready().await && node.peers_up().await + 1 == self.nodes.len()) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        }
    }
}
