//! A node: its core with a clock, a mesh, a vote file and listeners for clients.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use quorate_algorithms::mutex::leased_quorum::{Memory, RestartId};
use quorate_core::quorum::QuorumSystem;
use quorate_core::{Drift, ProcessId};
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
use crate::event_loop::{EventLoop, Inbox, Input};
use crate::http::{self, HttpState};
use crate::local_client::LocalClient;
use crate::peer;
use crate::serve::{self, ClientListener};
use crate::spans::{SpanSink, Spans, calendar_offset};
use crate::vote_file::VoteFile;

/// What a node needs to start.
pub struct Start {
    /// Who it is.
    pub settings: Settings,
    /// How nodes protect what they say to each other.
    pub security: Security,
    /// Where it listens for other nodes.
    pub peers: Box<dyn Listener>,
    /// Where it listens for clients.
    pub clients: TcpListener,
    /// Where it remembers, and what it does already.
    pub disk: Option<(Disk, DurableState)>,
    /// Whether the cluster is new, so that nobody has ever voted.
    pub first_start: bool,
    /// How clients are let in.
    pub listener_config: ListenerConfig,
    /// Where its traces go.
    pub spans: Option<SpanSink>,
}

/// How clients are let in.
pub struct ListenerConfig {
    /// Who may do what; where nobody is named, everybody may do everything.
    pub clients: Vec<ClientConfig>,
    /// How many calls one client may make in a second; none where it is zero.
    pub calls_per_second: u32,
    /// The certificates with which TLS is spoken.
    pub tls: Option<Arc<Tls>>,
    /// Whether clients may speak in plain text elsewhere than on loopback.
    pub plain_anywhere: bool,
    /// Names, apart from addresses and `localhost`, by which browsers may call this node.
    pub names: Vec<String>,
    /// Pages beside the API.
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

/// Default of the maximum number of connections.
pub(crate) const CONNECTIONS: usize = 16_384;

/// Why a node cannot start.
#[derive(Debug, thiserror::Error)]
pub enum CannotStart {
    /// The mesh says so.
    #[error(transparent)]
    Mesh(#[from] StartError),
    /// The disk says so.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The system says so.
    #[error("{0}: {1}")]
    Io(String, std::io::Error),
    /// The certificates say so.
    #[error(transparent)]
    Tls(#[from] quorate_net::TlsError),
    /// The file says so.
    #[error("{0}")]
    Wrong(String),
}

/// A node that runs.
pub struct Node {
    clients: SocketAddr,
    mesh: Mesh,
    local_client: LocalClient,
    tasks: Vec<JoinHandle<()>>,
}

/// So many numbers are reserved when a node starts.
const FIRST_BLOCK: u64 = 1 << 20;

impl Node {
    /// Starts. Needs a runtime of tokio around it.
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
        let mut config = Config::new(
            ClusterId(settings.cluster),
            settings.id,
            ProcessId::all(settings.addresses.len()).zip(settings.addresses.iter().cloned()),
            security,
        );
        config.messages = peer::VERSIONS;
        config.terms = terms_of(&settings);
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
        let (inbox, mut tasks) = (Inbox::default(), Vec::new());
        let disk = memory.map(|(disk, durable)| {
            let (wanted, writes) = watch::channel(durable);
            tasks.push(tokio::spawn(write_state_file(disk, writes, inbox.clone())));
            wanted
        });
        let (cluster, node) = (settings.cluster as u64, settings.id.index());
        let drift_ppm = ppm(settings.terms.drift);
        let mut core = NodeCore::new(settings, clock::now());
        core.spans = spans.is_some().then(Spans::default);
        let spans = spans.map(|sink| (sink, calendar_offset()));
        let event_loop = EventLoop::new(core, votes, mesh.clone(), disk, spans);
        let local_client = LocalClient::new(inbox.clone());
        let authenticator = Arc::new(Authenticator::new(
            &listener_config.clients,
            listener_config.calls_per_second,
        ));
        let http_state = HttpState {
            local_client: local_client.clone(),
            authenticator: Arc::clone(&authenticator),
            drift_ppm,
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

    /// Where clients come to.
    pub fn address(&self) -> SocketAddr {
        self.clients
    }

    /// Whether it votes and reaches a quorum.
    pub async fn is_ready(&self) -> bool {
        self.local_client.health().await.is_some_and(|health| health.reasons.is_empty())
    }

    /// Why it is not ready, one sentence for each reason; empty if it is ready.
    pub async fn reasons(&self) -> Vec<String> {
        let ended = || vec!["the loop of the node has ended".to_owned()];
        self.local_client.health().await.map_or_else(ended, |health| health.reasons)
    }

    /// How many other nodes it can talk to.
    pub async fn peers_up(&self) -> usize {
        self.local_client.health().await.map_or(0, |health| health.peers)
    }

    /// Whether its loop still answers.
    pub async fn is_alive(&self) -> bool {
        self.local_client.health().await.is_some()
    }

    /// Sends clients elsewhere, waits for them until then, and stops.
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
        // Whoever starts it again finds its ports free.
        for task in self.tasks {
            let _ = task.await;
        }
    }

    /// Stops at once, as a process that is killed does, and frees its ports.
    pub async fn kill(self) {
        self.abort();
        self.mesh.stop().await;
        for task in self.tasks {
            let _ = task.await;
        }
    }

    /// Stops at once, as a crash would.
    pub fn abort(&self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// Prepares the voter from what its data folder says, and makes durable that this process has begun.
fn prepare_voter(
    disk: &Disk,
    before: DurableState,
    first_start: bool,
    clock: u64,
    settings: &mut Settings,
) -> Result<(DurableState, VoteFile), CannotStart> {
    // A node that has lost its folder does not know how often it has started: the clock tells a greater number.
    let lost = before.incarnation == 0 && !first_start;
    let incarnation = if lost { clock } else { before.incarnation + 1 };
    let node = settings.id.index() as u32;
    let mut votes = VoteFile::open(disk.folder(), settings.cluster, node, incarnation);
    // A first block of numbers is durable before a request needs one. A node that does not know how far it had come has no
    // mark until other nodes have told it, and it has reserved numbers behind that.
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

/// A drift in millionths.
fn ppm(drift: Drift) -> u32 {
    (drift.0 / (Drift::ONE / 1_000_000)) as u32
}

/// What all nodes must agree on: with other leases, drift bounds, quorums or members two holders could overlap.
fn terms_of(settings: &Settings) -> quorate_net::Terms {
    let terms = settings.terms;
    let millis = |span: quorate_core::Span| span.0 as f64 / 1e6;
    let members = ProcessId::all(settings.addresses.len()).zip(settings.addresses.iter().cloned());
    quorate_net::Terms::default()
        .with("ttl_least_ms", millis(terms.ttl_least))
        .with("ttl_most_ms", millis(terms.ttl_most))
        .with("drift_ppm", ppm(terms.drift))
        .with("quorums", QuorumSystem::name(&settings.coterie))
        .with("nodes", settings.addresses.len())
        .with_members(members.collect())
}

/// Pause before a failed write is retried; each further pause is twice as long.
const RETRY: Duration = Duration::from_millis(50);

/// Longest pause before a failed write is retried.
const RETRY_MOST: Duration = Duration::from_secs(2);

/// Writes the state file whenever it should change, one write at a time. A failed write is retried until it succeeds:
/// until then the voter gives no number above the last mark that is durable.
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

/// A key that nobody can guess.
pub(crate) fn random_key() -> SessionKey {
    let mut bytes = [0; 16];
    // Without chance there is no secret; a machine without any does not get this far.
    getrandom::fill(&mut bytes).expect("the system has randomness");
    SessionKey(u128::from_le_bytes(bytes))
}

/// A number for what has to be new.
pub(crate) fn random_number() -> u128 {
    random_key().0
}
