//! A node: its core with a clock, a mesh, a vote file and listeners for clients.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use quorate_algorithms::mutex::leased_quorum::{Life, Memory, Record};
use quorate_core::quorum::QuorumSystem;
use quorate_core::{Drift, ProcessId, Time};
use quorate_net::{
    ClusterId, Config, Event, Events, Incarnation, Listener, Mesh, Security, StartError, Tcp, Tls,
    codec,
};
use quorate_protocol::{Answer, Ask, Call, Failure, Name, Say, SessionKey};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use crate::clock;
use crate::core::{Action, ConnectionId, NodeCore, Owner, Settings, Trouble, VoterStart};
use crate::disk::{Disk, DiskError, Remembered};
use crate::door::Door;
use crate::etcd::{self, Etcd};
use crate::http::{self, House};
use crate::lease::{LeaseId, Leased};
use crate::peer::PeerMessage;
use crate::rights::{ClientConfig, Entry};
use crate::serve::{self, Doorman};
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
    pub disk: Option<(Disk, Remembered)>,
    /// Whether the cluster is new, so that nobody has ever voted.
    pub begins: bool,
    /// How clients are let in.
    pub reception: Reception,
    /// Where its traces go.
    pub spans: Option<SpanSink>,
}

/// How clients are let in.
pub struct Reception {
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

impl Default for Reception {
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
    door: Door,
    tasks: Vec<JoinHandle<()>>,
}

/// What the loop of a node is told by others than peers.
pub(crate) enum Input {
    /// A client has come, and is told things here.
    Come(ConnectionId, Owner, mpsc::Sender<Say>),
    /// A client asks.
    Ask(ConnectionId, Ask),
    /// A client asks for something of a lease.
    Leased(ConnectionId, LeaseId, Leased),
    /// A client asks which leases it has.
    Leases(ConnectionId, String),
    /// A client is gone, and has heard the answer that it waited for or not.
    Gone(ConnectionId, bool),
    /// The state file was written with this mark, or could not be written.
    Written(Result<Option<u64>, String>),
    /// Clients are to go elsewhere.
    Leave,
    /// How it looks.
    Look(oneshot::Sender<Looks>),
    /// What it counts.
    Measure(oneshot::Sender<String>),
}

/// Readiness and load of a node.
#[derive(Clone, Debug)]
pub(crate) struct Looks {
    /// Why the node gives no locks; empty if it does.
    pub(crate) reasons: Vec<String>,
    /// Whether it may stop.
    pub(crate) idle: bool,
    /// How many others it can talk to.
    pub(crate) peers: usize,
}

/// So many things wait for the loop of a node at most; clients are not read meanwhile.
const INBOX: usize = 8192;

/// So many numbers are reserved when a node starts.
const FIRST_BLOCK: u64 = 1 << 20;

/// So many bytes may a message to a peer have: as many as the mesh takes.
const MESSAGE_MOST: usize = 1 << 20;

/// So many are dealt with before what came of them is done.
const BATCH: usize = 512;

impl Node {
    /// Starts. Needs a runtime of tokio around it.
    pub fn start(start: Start) -> Result<Self, CannotStart> {
        let Start { mut settings, security, peers, clients, disk, begins, reception, spans } =
            start;
        let mut config = Config::new(
            ClusterId(settings.cluster),
            settings.id,
            ProcessId::all(settings.addresses.len()).zip(settings.addresses.iter().cloned()),
            security,
        );
        config.terms = terms_of(&settings);
        let (memory, votes) = match disk {
            Some((disk, before)) => {
                let (remembered, votes) =
                    remember(&disk, before, begins, config.incarnation.0, &mut settings)?;
                config.incarnation = Incarnation(remembered.life);
                (Some((disk, remembered)), Some(votes))
            }
            None => {
                let memory = Memory { incarnation: config.incarnation.0, mark: None };
                settings.voter =
                    if begins { VoterStart::New } else { VoterStart::Forgotten(memory) };
                (None, None)
            }
        };
        let address =
            clients.local_addr().map_err(|error| CannotStart::Io("clients".to_owned(), error))?;
        if settings.client_address.is_none() && !address.ip().is_unspecified() {
            settings.client_address = Some(address.to_string());
        }
        let (mesh, events) = Mesh::start(config, Tcp, peers)?;
        let (inbox, told) = mpsc::channel(INBOX);
        let mut tasks = Vec::new();
        let disk = memory.map(|(disk, remembered)| {
            let (wanted, writes) = watch::channel(remembered);
            tasks.push(tokio::spawn(keep_writing(disk, writes, inbox.clone())));
            wanted
        });
        let (cluster, node) = (settings.cluster as u64, settings.id.index());
        let drift_ppm = ppm(settings.terms.drift);
        let mut core = NodeCore::new(settings, clock::now());
        core.spans = spans.is_some().then(Spans::default);
        let event_loop = EventLoop {
            core,
            votes,
            unsent: Vec::new(),
            mesh: mesh.clone(),
            clients: BTreeMap::new(),
            outgoing: BTreeMap::new(),
            disk,
            spans: spans.map(|sink| (sink, calendar_offset())),
        };
        let door = Door::new(inbox);
        let entry = Arc::new(Entry::new(&reception.clients, reception.calls_per_second));
        let house = House { door: door.clone(), entry: Arc::clone(&entry), drift_ppm };
        let etcd = Etcd { door: door.clone(), entry: Arc::clone(&entry), cluster, node };
        let doorman = Doorman {
            door: door.clone(),
            entry,
            plain: reception.plain_anywhere || address.ip().is_loopback(),
            tls: reception.tls,
            connections: serve::room_for(reception.connections, reception.connections_per_address),
            pages: http::router(
                house,
                address,
                reception.names,
                etcd::router(etcd),
                reception.pages,
            ),
        };
        tasks.push(tokio::spawn(event_loop.run(events, told)));
        tasks.push(tokio::spawn(serve::accept(clients, Arc::new(doorman))));
        Ok(Self { clients: address, mesh, door, tasks })
    }

    /// Where clients come to.
    pub fn address(&self) -> SocketAddr {
        self.clients
    }

    /// Whether it votes and reaches a quorum.
    pub async fn is_ready(&self) -> bool {
        self.door.look().await.is_some_and(|looks| looks.reasons.is_empty())
    }

    /// Why it is not ready, one sentence for each reason; empty if it is ready.
    pub async fn reasons(&self) -> Vec<String> {
        let ended = || vec!["the loop of the node has ended".to_owned()];
        self.door.look().await.map_or_else(ended, |looks| looks.reasons)
    }

    /// How many other nodes it can talk to.
    pub async fn peers_up(&self) -> usize {
        self.door.look().await.map_or(0, |looks| looks.peers)
    }

    /// Whether its loop still answers.
    pub async fn lives(&self) -> bool {
        self.door.look().await.is_some()
    }

    /// Sends clients elsewhere, waits for them until then, and stops.
    pub async fn stop(self, patience: Duration) {
        let _ = self.door.inbox().send(Input::Leave).await;
        let idle = async {
            while self.door.look().await.is_some_and(|looks| !looks.idle) {
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
fn remember(
    disk: &Disk,
    before: Remembered,
    begins: bool,
    clock: u64,
    settings: &mut Settings,
) -> Result<(Remembered, VoteFile), CannotStart> {
    // A node that has lost its folder does not know how often it has started: the clock tells a greater number.
    let lost = before.life == 0 && !begins;
    let life = if lost { clock } else { before.life + 1 };
    let node = settings.id.index() as u32;
    let mut votes = VoteFile::open(disk.folder(), settings.cluster, node, life);
    // A first block of numbers is durable before a request needs one. A node that does not know how far it had come has no
    // mark until other nodes have told it, and it has reserved numbers behind that.
    let block = |mark: u64| mark.saturating_add(FIRST_BLOCK);
    let mark = if begins { Some(block(0)) } else { before.mark };
    let mark = match votes.read(before.life).filter(|_| !begins && !lost) {
        Some((header, records)) => {
            let restarts = header.restarts + 1;
            votes.set_incarnation(header.incarnation, restarts);
            let life = Life { incarnation: header.incarnation, number: restarts };
            settings.voter = VoterStart::Restored { life, records };
            mark
        }
        None if begins => mark,
        None => {
            votes.set_incarnation(life, 0);
            let memory = Memory { incarnation: life, mark };
            settings.voter = VoterStart::Forgotten(memory);
            mark.map(block)
        }
    };
    let remembered = Remembered { life, mark, ..before };
    disk.write(remembered)?;
    settings.ceiling = Some(mark.unwrap_or(0));
    settings.persists = true;
    Ok((remembered, votes))
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

/// The event loop of a node and its state.
struct EventLoop {
    core: NodeCore,
    /// Where votes are written before they are sent.
    votes: Option<VoteFile>,
    /// Actions that wait until the records before them are written.
    unsent: Vec<Action>,
    mesh: Mesh,
    clients: BTreeMap<ConnectionId, mpsc::Sender<Say>>,
    /// Messages to each peer, sent together at the end of a batch.
    outgoing: BTreeMap<ProcessId, Vec<PeerMessage>>,
    /// What the state file should contain; a task of its own writes it.
    disk: Option<watch::Sender<Remembered>>,
    /// Where traces go, and by how much the calendar is ahead of the clock.
    spans: Option<(SpanSink, Duration)>,
}

impl EventLoop {
    async fn run(mut self, mut events: Events, mut inbox: mpsc::Receiver<Input>) {
        self.act();
        loop {
            let pause = self.pause();
            tokio::select! {
                event = events.next() => match event {
                    Some(event) => { self.wake(); self.on_event(event); }
                    None => return,
                },
                input = inbox.recv() => match input {
                    Some(input) => { self.wake(); self.on_input(input); }
                    None => return,
                },
                () = tokio::time::sleep(pause) => self.wake(),
            }
            for _ in 0..BATCH {
                match (events.try_next(), inbox.try_recv()) {
                    (None, Err(_)) => break,
                    (event, input) => {
                        event.into_iter().for_each(|event| self.on_event(event));
                        input.into_iter().for_each(|input| self.on_input(input));
                    }
                }
            }
            self.act();
        }
    }

    fn pause(&self) -> Duration {
        // Votes that could not be written are tried again soon.
        let most = if self.unsent.is_empty() { 1_000_000_000 } else { RETRY_NANOS };
        let next = self.core.next_alarm().unwrap_or(Time::NEVER);
        Duration::from_nanos(next.since(clock::now()).0.min(most))
    }

    /// What is due comes before whatever has arrived: it may have arrived while the machine slept.
    fn wake(&mut self) {
        self.core.wake(clock::now(), clock::wall_millis());
    }

    fn on_event(&mut self, event: Event) {
        let now = clock::now();
        match event {
            Event::Message { from, payload } => match codec::decode::<Vec<PeerMessage>>(&payload) {
                Ok(messages) => {
                    for message in messages {
                        self.core.hear(from, message, now);
                    }
                }
                Err(error) => tracing::warn!(peer = %from, %error, "a peer is not understood"),
            },
            Event::Up { peer, .. } => self.core.peer_is(peer, Ok(()), now),
            Event::Down { peer, why } => {
                tracing::info!(%peer, %why, "a peer is gone");
                self.core.peer_is(peer, Err(why.to_string()), now);
            }
        }
    }

    fn on_input(&mut self, input: Input) {
        let now = clock::now();
        match input {
            Input::Come(connection, owner, say) => {
                self.clients.insert(connection, say);
                self.core.connection_opened(connection, owner);
            }
            Input::Ask(connection, ask) => {
                if matches!(ask.call, Call::Status) {
                    self.learn_troubles();
                }
                self.core.ask(connection, ask, random_key, now);
            }
            Input::Gone(connection, heard) => {
                self.clients.remove(&connection);
                self.core.connection_closed(connection, heard, now);
            }
            Input::Leased(connection, lease, what) => {
                self.core.ask_leased(connection, lease, what, now);
            }
            Input::Leases(connection, owner) => self.core.ask_leases(connection, owner, now),
            Input::Written(Ok(mark)) => {
                self.core.state_written(Ok(()));
                mark.into_iter().for_each(|mark| self.core.reserved(mark, now));
            }
            Input::Written(Err(why)) => self.core.state_written(Err(why)),
            Input::Leave => self.core.leave(now),
            Input::Look(answer) => {
                self.learn_troubles();
                let (reasons, idle) = (self.core.reasons(), self.core.is_idle(now));
                let _ = answer.send(Looks { reasons, idle, peers: self.core.peers_up() });
            }
            Input::Measure(answer) => {
                self.learn_troubles();
                let _ = answer.send(self.core.measured());
            }
        }
    }

    /// Tells the core why connections to peers fail: no event is made of a handshake that fails.
    fn learn_troubles(&mut self) {
        for peer in self.mesh.status() {
            let differs = peer.refusal == Some(quorate_net::Reason::Terms);
            let trouble = peer.trouble.filter(|_| !peer.up);
            self.core.trouble_is(peer.peer, trouble.map(|text| Trouble { text, differs }));
        }
    }

    /// Carries out actions: records are written in one write, then messages are sent, one to each peer.
    fn act(&mut self) {
        let mut records = Vec::new();
        for action in self.core.actions() {
            match action {
                Action::Persist(record) => records.push(record),
                action => self.unsent.push(action),
            }
        }
        if let Err(error) = self.write(&records) {
            tracing::error!(%error, "votes cannot be written");
            self.core.set_disk_trouble(Some(error.to_string()));
            return;
        }
        self.core.set_disk_trouble(None);
        let mut marks = Vec::new();
        for action in std::mem::take(&mut self.unsent) {
            match action {
                Action::Send(peer, message) => self.outgoing.entry(peer).or_default().push(message),
                Action::Say(client, say) => {
                    let Some(to) = self.clients.get(&client) else { continue };
                    if to.try_send(if_it_reads(to, say)).is_err() {
                        // It does not read. Without its end of the channel the connection is closed.
                        self.clients.remove(&client);
                    }
                }
                Action::Reserve(mark) => marks.push(mark),
                Action::Persist(_) => {}
            }
        }
        for (peer, messages) in &mut self.outgoing {
            if messages.is_empty() {
                continue;
            }
            let told = |message: &PeerMessage| matches!(message, PeerMessage::Interest(_));
            if !send_all(&self.mesh, *peer, messages) && messages.iter().any(told) {
                self.core.interest_lost(*peer, clock::now());
            }
            messages.clear();
        }
        marks.into_iter().for_each(|mark| self.reserve(mark));
        if let (Some((sink, offset)), Some(spans)) = (&self.spans, &mut self.core.spans) {
            let over = spans.take();
            if !over.is_empty() {
                sink.put(over, *offset);
            }
        }
    }

    fn write(&mut self, records: &[Record<Name>]) -> std::io::Result<()> {
        let Some(votes) = &mut self.votes else { return Ok(()) };
        match votes.is_active() {
            // What the voter remembers when it begins to vote has the records of this batch in it.
            false if self.core.voter().is_voting() => votes.rewrite(self.core.voter()),
            false => Ok(()),
            true if votes.has_grown() => votes.rewrite(self.core.voter()),
            true => votes.append(records),
        }
    }

    fn reserve(&mut self, mark: u64) {
        if let Some(wanted) = &self.disk {
            wanted.send_modify(|remembered| remembered.mark = remembered.mark.max(Some(mark)));
        }
    }
}

/// Pause before a failed write is retried; each further pause is twice as long.
const RETRY: Duration = Duration::from_millis(50);

/// Longest pause before a failed write is retried.
const RETRY_MOST: Duration = Duration::from_secs(2);

/// Writes the state file whenever it should change, one write at a time. A failed write is retried until it succeeds:
/// until then the voter gives no number above the last mark that is durable.
async fn keep_writing(
    disk: Disk,
    mut wanted: watch::Receiver<Remembered>,
    inbox: mpsc::Sender<Input>,
) {
    while wanted.changed().await.is_ok() {
        let mut pause = RETRY;
        loop {
            let (disk, remembered) = (disk.clone(), *wanted.borrow_and_update());
            let write = tokio::task::spawn_blocking(move || disk.write(remembered));
            let Ok(written) = write.await else { return };
            let failed = written.is_err();
            if let Err(error) = &written {
                tracing::error!(%error, retry_ms = pause.as_millis(), "the state file cannot be written");
            }
            let written = written.map(|()| remembered.mark).map_err(|error| error.to_string());
            if inbox.send(Input::Written(written)).await.is_err() {
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

/// Interval at which votes that could not be written are tried again, in nanoseconds.
const RETRY_NANOS: u64 = 100_000_000;

/// A list is long: whoever has left this many messages unread gets no more of them.
const UNREAD_MOST: usize = 32;

/// What a client is told: instead of a list that it would not read for a while, that it should read.
fn if_it_reads(to: &mpsc::Sender<Say>, say: Say) -> Say {
    match say {
        Say::Answer(number, Answer::List(_) | Answer::Page(_))
            if to.max_capacity() - to.capacity() > UNREAD_MOST =>
        {
            let why = "read what was said before, and ask for a list again";
            Say::Answer(number, Answer::Failed(Failure::TooMuch(why.to_owned())))
        }
        say => say,
    }
}

/// Sends all of it in one message, or in as many as are needed. Whether all of it was queued.
fn send_all(mesh: &Mesh, peer: ProcessId, messages: &[PeerMessage]) -> bool {
    let payload: Bytes = codec::encode(&messages);
    if payload.len() > MESSAGE_MOST && messages.len() > 1 {
        let (first, second) = messages.split_at(messages.len() / 2);
        return send_all(mesh, peer, first) & send_all(mesh, peer, second);
    }
    if let Err(error) = mesh.try_send(peer, payload) {
        tracing::debug!(%peer, %error, "not sent");
        return false;
    }
    true
}

/// A key that nobody can guess.
fn random_key() -> SessionKey {
    let mut bytes = [0; 16];
    // Without chance there is no secret; a machine without any does not get this far.
    getrandom::fill(&mut bytes).expect("the system has randomness");
    SessionKey(u128::from_le_bytes(bytes))
}

/// A number for what has to be new.
pub(crate) fn random_number() -> u128 {
    random_key().0
}

/// Shared by the doors of a node.
pub(crate) type Inbox = mpsc::Sender<Input>;
