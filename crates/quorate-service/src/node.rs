//! A node: a keeper with a clock, a mesh and a door for clients.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use quorate_algorithms::mutex::leased::Terms;
use quorate_core::quorum::QuorumSystem;
use quorate_core::{Drift, ProcessId, Time};
use quorate_net::{
    ClusterId, Config, Event, Events, Incarnation, Listener, Mesh, Security, StartError, Tcp, Tls,
    codec,
};
use quorate_protocol::{Answer, Ask, Call, Failure, Say, SessionKey};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use crate::clock;
use crate::disk::{Disk, DiskError, Remembered};
use crate::door::Door;
use crate::etcd::{self, Etcd};
use crate::http::{self, House};
use crate::keeper::{Client, Deed, Keeper, Owner, Settings, Trouble};
use crate::lease::{LeaseId, Leased};
use crate::peer::PeerMessage;
use crate::rights::{ClientConfig, Entry};
use crate::serve::{self, Doorman};
use crate::spans::{SpanSink, Spans, calendar_offset};

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
    Come(Client, Owner, mpsc::Sender<Say>),
    /// A client asks.
    Ask(Client, Ask),
    /// A client asks for something of a lease.
    Leased(Client, LeaseId, Leased),
    /// A client asks which leases it has.
    Leases(Client, String),
    /// A client is gone, and has heard the answer that it waited for or not.
    Gone(Client, bool),
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
    /// Whether no session has or wants a lock through it.
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
        let Start { mut settings, security, peers, clients, disk, reception, spans } = start;
        let mut config = Config::new(
            ClusterId(settings.cluster),
            settings.id,
            ProcessId::all(settings.addresses.len()).zip(settings.addresses.iter().cloned()),
            security,
        );
        config.terms = terms_of(&settings);
        let memory = match disk {
            Some((disk, before)) => {
                // Whoever has lost its memory does not know how often it has lived: the clock tells a greater number.
                let forgot = before.life == 0 && settings.life > 0;
                let life = if forgot { config.incarnation.0 } else { before.life + 1 };
                // A first block of numbers is there before anybody asks for one. Who does not know how far it had come says
                // so, until it has been told and has reserved numbers behind that: the next life believes what is there.
                let mark = settings.mark.map(|mark| mark.saturating_add(FIRST_BLOCK));
                let remembered = Remembered { life, mark, ..before };
                disk.write(remembered)?;
                config.incarnation = Incarnation(life);
                settings.ceiling = Some(mark.unwrap_or(0));
                Some((disk, remembered))
            }
            None => None,
        };
        // A life of a later start is greater, and one of a cluster that begins is none.
        if settings.life > 0 {
            settings.life = config.incarnation.0;
        }
        let address =
            clients.local_addr().map_err(|error| CannotStart::Io("clients".to_owned(), error))?;
        if settings.door.is_none() && !address.ip().is_unspecified() {
            settings.door = Some(address.to_string());
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
        let mut keeper = Keeper::new(settings, clock::now());
        keeper.spans = spans.is_some().then(Spans::default);
        let desk = Desk {
            keeper,
            mesh: mesh.clone(),
            clients: BTreeMap::new(),
            outgoing: BTreeMap::new(),
            disk,
            spans: spans.map(|sink| (sink, calendar_offset())),
        };
        let door = Door::new(inbox);
        let entry = Arc::new(Entry::new(&reception.clients, reception.calls_per_second));
        let house = House { door: door.clone(), entry: Arc::clone(&entry) };
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
        tasks.push(tokio::spawn(desk.run(events, told)));
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

    /// Stops at once, as a crash would.
    pub fn abort(&self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// Terms that all nodes must agree on: with other leases, drift bounds, quorums or members two holders could overlap.
fn terms_of(settings: &Settings) -> quorate_net::Terms {
    let Terms { lease, drift } = settings.terms;
    let members = ProcessId::all(settings.addresses.len()).zip(settings.addresses.iter().cloned());
    quorate_net::Terms::default()
        .with("lease_ms", lease.0 as f64 / 1e6)
        .with("drift_ppm", drift.0 / (Drift::ONE / 1_000_000))
        .with("quorums", QuorumSystem::name(&settings.coterie))
        .with("nodes", settings.addresses.len())
        .with_members(members.collect())
}

/// The loop of a node and what it works on.
struct Desk {
    keeper: Keeper,
    mesh: Mesh,
    clients: BTreeMap<Client, mpsc::Sender<Say>>,
    /// What goes to each peer when all that is here has been dealt with.
    outgoing: BTreeMap<ProcessId, Vec<PeerMessage>>,
    /// Contents that the state file should have; a task of its own writes it.
    disk: Option<watch::Sender<Remembered>>,
    /// Where traces go, and by how much the calendar is ahead of the clock.
    spans: Option<(SpanSink, Duration)>,
}

impl Desk {
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
        let next = self.keeper.next_alarm().unwrap_or(Time::NEVER);
        Duration::from_nanos(next.since(clock::now()).0.min(1_000_000_000))
    }

    /// What is due comes before whatever has arrived: it may have arrived while the machine slept.
    fn wake(&mut self) {
        self.keeper.wake(clock::now());
    }

    fn on_event(&mut self, event: Event) {
        let now = clock::now();
        match event {
            Event::Message { from, payload } => match codec::decode::<Vec<PeerMessage>>(&payload) {
                Ok(messages) => {
                    for message in messages {
                        self.keeper.hear(from, message, now);
                    }
                }
                Err(error) => tracing::warn!(peer = %from, %error, "a peer is not understood"),
            },
            Event::Up { peer, .. } => self.keeper.peer_is(peer, Ok(()), now),
            Event::Down { peer, why } => {
                tracing::info!(%peer, %why, "a peer is gone");
                self.keeper.peer_is(peer, Err(why.to_string()), now);
            }
        }
    }

    fn on_input(&mut self, input: Input) {
        let now = clock::now();
        match input {
            Input::Come(client, owner, say) => {
                self.clients.insert(client, say);
                self.keeper.client_comes(client, owner);
            }
            Input::Ask(client, ask) => {
                if matches!(ask.call, Call::Status) {
                    self.learn_troubles();
                }
                self.keeper.ask(client, ask, random_key, now);
            }
            Input::Gone(client, heard) => {
                self.clients.remove(&client);
                self.keeper.client_is_gone(client, heard, now);
            }
            Input::Leased(client, lease, what) => {
                if self.keeper.refuses_leased(client, &lease, &what, now) {
                    return;
                }
                self.keeper.ask_leased(client, lease, what, random_key, now);
            }
            Input::Leases(client, owner) => self.keeper.ask_leases(client, owner, now),
            Input::Written(Ok(mark)) => {
                self.keeper.disk_is(Ok(()));
                mark.into_iter().for_each(|mark| self.keeper.reserved(mark, now));
            }
            Input::Written(Err(why)) => self.keeper.disk_is(Err(why)),
            Input::Leave => self.keeper.leave(now),
            Input::Look(answer) => {
                self.learn_troubles();
                let (reasons, idle) = (self.keeper.reasons(), self.keeper.is_idle());
                let _ = answer.send(Looks { reasons, idle, peers: self.keeper.peers_up() });
            }
            Input::Measure(answer) => {
                self.learn_troubles();
                let _ = answer.send(self.keeper.measured());
            }
        }
    }

    /// Tells the keeper why connections to peers fail: no event is made of a handshake that fails.
    fn learn_troubles(&mut self) {
        for peer in self.mesh.status() {
            let differs = peer.refusal == Some(quorate_net::Reason::Terms);
            let trouble = peer.trouble.filter(|_| !peer.up);
            self.keeper.trouble_is(peer.peer, trouble.map(|text| Trouble { text, differs }));
        }
    }

    /// Does what came of it all: one message to each peer, however much is in it.
    fn act(&mut self) {
        let mut marks = Vec::new();
        for deed in self.keeper.deeds() {
            match deed {
                Deed::Send(peer, message) => self.outgoing.entry(peer).or_default().push(message),
                Deed::Say(client, say) => {
                    let Some(to) = self.clients.get(&client) else { continue };
                    if to.try_send(if_it_reads(to, say)).is_err() {
                        // It does not read. Without its end of the channel the connection is closed.
                        self.clients.remove(&client);
                    }
                }
                Deed::Reserve(mark) => marks.push(mark),
            }
        }
        for (peer, messages) in &mut self.outgoing {
            if messages.is_empty() {
                continue;
            }
            let told = |message: &PeerMessage| matches!(message, PeerMessage::Interest(_));
            if !send_all(&self.mesh, *peer, messages) && messages.iter().any(told) {
                self.keeper.interest_lost(*peer, clock::now());
            }
            messages.clear();
        }
        marks.into_iter().for_each(|mark| self.reserve(mark));
        if let (Some((sink, offset)), Some(spans)) = (&self.spans, &mut self.keeper.spans) {
            let over = spans.take();
            if !over.is_empty() {
                sink.put(over, *offset);
            }
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
