//! A node: its core with a clock, a mesh, a vote file and listeners for clients.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use quorate_algorithms::mutex::leased_quorum::{Memory, RestartId};
use quorate_net::{ClusterId, Config, Incarnation, Listener, Mesh, Security, StartError, Tcp, Tls};
use quorate_protocol::SessionKey;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::auth::{Authenticator, ClientConfig};
use crate::clock;
use crate::core::{NodeCore, Settings, VoterStart};
use crate::disk::{Disk, DiskError, DurableState};
use crate::etcd::{self, Etcd};
use crate::event_loop::{EventLoop, Inbox, Input, MembersFile};
use crate::http::{self, HttpState};
use crate::local_client::LocalClient;
use crate::peer;
use crate::serve::{self, ClientListener};
use crate::spans::{SpanSink, Spans, calendar_offset};
use crate::vote_file::VoteFile;

/// Parameters for starting a node.
pub struct Start {
    /// Settings of the core.
    pub settings: Settings,
    /// Transport security between nodes.
    pub security: Security,
    /// Listener for connections of other nodes.
    pub peers: Box<dyn Listener>,
    /// Listener for connections of clients.
    pub clients: TcpListener,
    /// Data folder, and the state that was read from it.
    pub disk: Option<(Disk, DurableState)>,
    /// Whether the cluster is new, so that no voter has ever voted.
    pub first_start: bool,
    /// Configuration of the client listener.
    pub listener_config: ListenerConfig,
    /// Destination of the node's traces, if they are written.
    pub spans: Option<SpanSink>,
}

/// Configuration of the client listener.
pub struct ListenerConfig {
    /// Clients and their permissions. If the list is empty, every client may do everything.
    pub clients: Vec<ClientConfig>,
    /// Maximum number of calls per second of one client, or of one connection if no clients are named. Zero means no limit.
    pub calls_per_second: u32,
    /// Certificates for TLS connections of clients.
    pub tls: Option<Arc<Tls>>,
    /// Whether clients may use plain text on other addresses than loopback.
    pub plain_anywhere: bool,
    /// Host names, besides addresses and `localhost`, by which browsers may call this node.
    pub names: Vec<String>,
    /// Web pages that are served beside the API.
    pub pages: Option<axum::Router>,
    /// Maximum number of connections; fewer if the open-file limit of the process is lower.
    pub connections: usize,
    /// Maximum number of connections from one address; at most half of all.
    pub connections_per_address: usize,
}

impl Default for ListenerConfig {
    fn default() -> Self {
        Self {
            clients: Vec::new(),
            calls_per_second: 0,
            tls: None,
            plain_anywhere: false,
            names: Vec::new(),
            pages: None,
            connections: CONNECTIONS,
            connections_per_address: CONNECTIONS / 2,
        }
    }
}

/// Default maximum number of connections.
pub(crate) const CONNECTIONS: usize = 16_384;

/// Reason why a node cannot start.
#[derive(Debug, thiserror::Error)]
pub enum CannotStart {
    /// The mesh cannot start.
    #[error(transparent)]
    Mesh(#[from] StartError),
    /// The data folder cannot be used.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// An operation of the operating system failed.
    #[error("{0}: {1}")]
    Io(String, std::io::Error),
    /// The certificates cannot be used.
    #[error(transparent)]
    Tls(#[from] quorate_net::TlsError),
    /// The configuration or the data folder does not fit this node.
    #[error("{0}")]
    Wrong(String),
}

/// A running node and its tasks.
pub struct Node {
    clients: SocketAddr,
    mesh: Mesh,
    local_client: LocalClient,
    tasks: Vec<JoinHandle<()>>,
}

/// Number of vote numbers that are reserved when a node starts.
const FIRST_BLOCK: u64 = 1 << 20;

impl Node {
    /// Starts a node. Must be called within a tokio runtime.
    pub fn start(start: Start) -> Result<Self, CannotStart> {
        let Start {
            mut settings,
            security,
            peers,
            clients,
            disk,
            first_start,
            listener_config,
            spans,
        } = start;
        // The core names the peers with its first action.
        let mut config = Config::new(ClusterId(settings.cluster), settings.id, [], security);
        config.joins = settings.members.present.voters.nodes.is_empty();
        config.messages = peer::VERSIONS;
        let (memory, votes) = match disk {
            Some((disk, before)) => {
                let (durable, votes) =
                    prepare_voter(&disk, before, first_start, config.incarnation.0, &mut settings)?;
                config.incarnation = Incarnation(durable.incarnation);
                (Some((disk, durable)), Some(votes))
            }
            None => {
                let memory = Memory { incarnation: config.incarnation.0, mark: None };
                settings.voter =
                    if first_start { VoterStart::New } else { VoterStart::Forgotten(memory) };
                (None, None)
            }
        };
        let address =
            clients.local_addr().map_err(|error| CannotStart::Io("clients".to_owned(), error))?;
        if settings.client_address.is_none() && !address.ip().is_unspecified() {
            settings.client_address = Some(address.to_string());
        }
        let (mesh, events) = Mesh::start(config, Tcp, peers)?;
        let (cluster, node) = (settings.cluster as u64, settings.id.index());
        let (cluster_id, number) = (settings.cluster, settings.id.number());
        let (inbox, mut tasks) = (Inbox::default(), Vec::new());
        let members = memory.as_ref().map(|(disk, _)| MembersFile {
            disk: disk.clone(),
            cluster: cluster_id,
            node: number,
        });
        let disk = memory.map(|(disk, durable)| {
            let (wanted, writes) = watch::channel(durable);
            tasks.push(tokio::spawn(write_state_file(disk, writes, inbox.clone())));
            wanted
        });
        let mut core = NodeCore::new(settings, clock::now());
        core.spans = spans.is_some().then(Spans::default);
        let spans = spans.map(|sink| (sink, calendar_offset()));
        let tls = listener_config.tls.clone();
        let event_loop = EventLoop::new(core, (votes, members), mesh.clone(), disk, spans, tls);
        let local_client = LocalClient::new(inbox.clone());
        let authenticator = Arc::new(Authenticator::new(
            &listener_config.clients,
            listener_config.calls_per_second,
        ));
        let http_state = HttpState {
            local_client: local_client.clone(),
            authenticator: Arc::clone(&authenticator),
        };
        let etcd = Etcd {
            local_client: local_client.clone(),
            authenticator: Arc::clone(&authenticator),
            cluster,
            node,
        };
        let client_listener = ClientListener {
            local_client: local_client.clone(),
            authenticator,
            allow_plaintext: listener_config.plain_anywhere || address.ip().is_loopback(),
            tls: listener_config.tls,
            connections: serve::connection_limits(
                listener_config.connections,
                listener_config.connections_per_address,
            ),
            router: http::router(
                http_state,
                address,
                listener_config.names,
                etcd::router(etcd),
                listener_config.pages,
            ),
        };
        tasks.push(tokio::spawn(inbox.start(event_loop, events)));
        tasks.push(tokio::spawn(serve::accept(clients, Arc::new(client_listener))));
        Ok(Self { clients: address, mesh, local_client, tasks })
    }

    /// Returns the address on which the node listens for clients.
    pub fn address(&self) -> SocketAddr {
        self.clients
    }

    /// Returns whether the node is ready: it votes, reaches a quorum and has no other reason against it.
    pub async fn is_ready(&self) -> bool {
        self.local_client.health().await.is_some_and(|health| health.reasons.is_empty())
    }

    /// Returns the reasons why the node is not ready, one sentence each; empty if it is ready.
    pub async fn reasons(&self) -> Vec<String> {
        let ended = || vec!["the event loop of the node has ended".to_owned()];
        self.local_client.health().await.map_or_else(ended, |health| health.reasons)
    }

    /// Returns the number of other nodes that are connected.
    pub async fn peers_up(&self) -> usize {
        self.local_client.health().await.map_or(0, |health| health.peers)
    }

    /// Returns whether the event loop still answers.
    pub async fn is_alive(&self) -> bool {
        self.local_client.health().await.is_some()
    }

    /// Asks clients to use other nodes, waits at most `patience` until the node is idle, and stops.
    pub async fn stop(self, patience: Duration) {
        let _ = self.local_client.inbox().submit([Input::Leave]);
        let idle = async {
            while self.local_client.health().await.is_some_and(|health| !health.idle) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let _ = tokio::time::timeout(patience, idle).await;
        self.mesh.stop().await;
        self.abort();
        // When this returns, the ports are free for another process.
        for task in self.tasks {
            let _ = task.await;
        }
    }

    /// Stops immediately, as a killed process does, and frees the ports.
    pub async fn kill(self) {
        self.abort();
        self.mesh.stop().await;
        for task in self.tasks {
            let _ = task.await;
        }
    }

    /// Stops immediately, as a crash would.
    pub fn abort(&self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// Prepares the voter from the contents of its data folder, and makes durable that this process has begun.
fn prepare_voter(
    disk: &Disk,
    before: DurableState,
    first_start: bool,
    clock: u64,
    settings: &mut Settings,
) -> Result<(DurableState, VoteFile), CannotStart> {
    // A node that has lost its folder does not know its number of starts. The clock yields a greater number.
    let lost = before.incarnation == 0 && !first_start;
    let incarnation = if lost { clock } else { before.incarnation + 1 };
    let node = settings.id.index() as u32;
    let mut votes = VoteFile::open(disk.folder(), settings.cluster, node, incarnation);
    // A first block of numbers is durable before a request needs one. A node that does not know which numbers it has used
    // has no mark until other nodes have reported theirs and it has reserved numbers above those.
    let block = |mark: u64| mark.saturating_add(FIRST_BLOCK);
    let mark = if first_start { Some(block(0)) } else { before.mark };
    let mark = match votes.read(before.incarnation).filter(|_| !first_start && !lost) {
        Some((header, records)) => {
            let restarts = header.restarts + 1;
            votes.set_incarnation(header.incarnation, restarts);
            let restart_id = RestartId { incarnation: header.incarnation, number: restarts };
            settings.voter = VoterStart::Restored { restart_id, records };
            mark
        }
        None if first_start => mark,
        None => {
            votes.set_incarnation(incarnation, 0);
            let memory = Memory { incarnation, mark };
            settings.voter = VoterStart::Forgotten(memory);
            mark.map(block)
        }
    };
    let durable = DurableState { incarnation, mark, ..before };
    disk.write(durable)?;
    settings.ceiling = Some(mark.unwrap_or(0));
    settings.persists = true;
    Ok((durable, votes))
}

/// Pause before a failed write is retried. The pause doubles with each retry.
const RETRY: Duration = Duration::from_millis(50);

/// Maximum pause before a failed write is retried.
const RETRY_MOST: Duration = Duration::from_secs(2);

/// Writes the state file whenever it should change, one write at a time. A failed write is retried until it succeeds. Until
/// then the voter gives no number above the last durable mark.
async fn write_state_file(disk: Disk, mut wanted: watch::Receiver<DurableState>, inbox: Inbox) {
    while wanted.changed().await.is_ok() {
        let mut pause = RETRY;
        loop {
            let (disk, durable) = (disk.clone(), *wanted.borrow_and_update());
            let write = tokio::task::spawn_blocking(move || disk.write(durable));
            let Ok(written) = write.await else { return };
            let failed = written.is_err();
            if let Err(error) = &written {
                tracing::error!(%error, retry_ms = pause.as_millis(), "the state file cannot be written");
            }
            let written = written.map(|()| durable.mark).map_err(|error| error.to_string());
            if inbox.submit([Input::StateWritten(written)]).is_err() {
                return;
            }
            if !failed {
                break;
            }
            tokio::time::sleep(pause).await;
            pause = (2 * pause).min(RETRY_MOST);
        }
    }
}

/// Returns a random key that cannot be guessed.
pub(crate) fn random_key() -> SessionKey {
    let mut bytes = [0; 16];
    // Without randomness there is no secret. A machine without a random source does not get this far.
    getrandom::fill(&mut bytes).expect("the system has randomness");
    SessionKey(u128::from_le_bytes(bytes))
}

/// Returns a random number, for identifiers that must be new.
pub(crate) fn random_number() -> u128 {
    random_key().0
}
