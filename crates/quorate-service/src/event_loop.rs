//! The event loop of a node: it drives the core, writes votes to their file, and then sends the messages of the core.
//!
//! ```text
//!   front ends (connections, HTTP, etcd) - submit -+--> core ---> vote file ---> peers, clients
//!   task of the loop: peers' messages, alarms -----+
//! ```
//!
//! Calls of a client are handled in the task of its connection, under a lock. Passing them to another task would cost two
//! more wake-ups per request.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use quorate_algorithms::mutex::leased_quorum::Record;
use quorate_core::{Drift, ProcessId, SortedMap, Span, Time};
use quorate_net::{Event, Events, Mesh, Tls, codec};
use quorate_protocol::{Call, CallResponse, ClientMessage, Failure, Name, ServerMessage};
use tokio::sync::{Notify, mpsc, oneshot, watch};

use crate::clock;
use crate::core::history::VotesOfNodes;
use crate::core::{Action, CallerId, NodeCore, Owner};
use crate::disk::{Disk, DurableState};
use crate::lease::{LeaseCall, LeaseId};
use crate::node::random_key;
use crate::peer::PeerMessage;
use crate::spans::SpanSink;
use crate::vote_file::VoteFile;

/// Maximum size of a message to a peer, in bytes. It is the limit of the mesh.
const MESSAGE_MOST: usize = 1 << 20;

/// Maximum number of peer events that are handled before their effects are flushed.
const BATCH: usize = 512;

/// Time after which a batch of peer events ends, so that connections of clients take turns with it.
const BATCH_TIME: Duration = Duration::from_millis(2);

/// An input of the event loop that does not come from a peer.
pub(crate) enum Input {
    /// A client has connected. Messages to it go to this channel.
    Connected(CallerId, Owner, mpsc::Sender<ServerMessage>),
    /// A client makes a call.
    Call(CallerId, ClientMessage),
    /// A client makes a call for a lease.
    LeaseCall(CallerId, LeaseId, LeaseCall),
    /// A client asks for the list of its leases.
    ListLeases(CallerId, String),
    /// A client has disconnected. Contains whether it received the answer that it waited for.
    Disconnected(CallerId, bool),
    /// The state file was written with this mark, or could not be written.
    StateWritten(Result<Option<u64>, String>),
    /// The node is about to stop, and clients should use other nodes.
    Leave,
    /// Asks for the votes of all nodes for a lock.
    History(Name, oneshot::Sender<VotesOfNodes>),
    /// Asks for the node's readiness and load.
    Health(oneshot::Sender<Health>),
    /// Asks for the node's metrics.
    Metrics(oneshot::Sender<String>),
}

/// Readiness and load of a node.
#[derive(Clone, Debug)]
pub(crate) struct Health {
    /// Reasons why the node grants no locks; empty if it does.
    pub(crate) reasons: Vec<String>,
    /// Whether a leaving node may stop.
    pub(crate) idle: bool,
    /// Number of other nodes that are connected.
    pub(crate) peers: usize,
}

/// Handle to the event loop for all inputs that do not come from peers.
#[derive(Clone, Default)]
pub(crate) struct Inbox(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// `None` before the node has started and after it has stopped.
    state: Mutex<Option<EventLoop>>,
    /// Notified if something is due before the task of the loop wakes up.
    rearm: Notify,
}

/// Error: the node has stopped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopped;

impl std::fmt::Debug for Inbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inbox").finish_non_exhaustive()
    }
}

impl Inbox {
    /// Handles inputs immediately, in the caller's task.
    pub(crate) fn submit(&self, inputs: impl IntoIterator<Item = Input>) -> Result<(), Stopped> {
        let mut inputs = inputs.into_iter().peekable();
        if inputs.peek().is_none() {
            return Ok(());
        }
        let rearm = self.with(|state| {
            state.wake();
            inputs.for_each(|input| state.on_input(input));
            state.apply_actions();
            state.needs_rearm()
        })?;
        if rearm {
            self.0.rearm.notify_one();
        }
        Ok(())
    }

    /// Reads the state, for answers that need no messages.
    pub(crate) fn inspect<R>(
        &self,
        read: impl FnOnce(&EventLoop, Time) -> R,
    ) -> Result<R, Stopped> {
        self.with(|state| read(state, clock::now()))
    }

    /// Runs `work` on the state. After a panic in the middle of a change the state of the voter is unknown, so the
    /// node counts as stopped.
    fn with<R>(&self, work: impl FnOnce(&mut EventLoop) -> R) -> Result<R, Stopped> {
        let mut state = self.0.state.lock().map_err(|_| Stopped)?;
        state.as_mut().map(work).ok_or(Stopped)
    }

    /// The rate by which clocks may gain or lose, in parts per million. After the node has stopped, nothing is reliable.
    pub(crate) fn drift_ppm(&self) -> u32 {
        let drift = self.with(|state| state.core.drift().0.unsigned_abs());
        drift.map_or(u32::MAX, |drift| (drift / (Drift::ONE.unsigned_abs() / 1_000_000)) as u32)
    }

    /// Starts the loop. The caller has to spawn the returned task, which handles messages of peers and timers. The node
    /// stops when that task ends.
    pub(crate) fn start(
        &self,
        state: EventLoop,
        events: Events,
    ) -> impl Future<Output = ()> + use<> {
        *self.0.state.lock().unwrap_or_else(PoisonError::into_inner) = Some(state);
        let stops = StopOnDrop(self.clone());
        async move {
            let stops = stops;
            stops.0.run(events).await;
        }
    }

    async fn run(&self, mut events: Events) {
        let _ = self.with(EventLoop::apply_actions);
        while let Ok(pause) = self.with(EventLoop::arm) {
            let first = tokio::select! {
                event = events.next() => match event {
                    Some(event) => Some(event),
                    None => return,
                },
                () = tokio::time::sleep(pause) => None,
                () = self.0.rearm.notified() => continue,
            };
            let _ = self.with(|state| {
                state.wake();
                let begun = tokio::time::Instant::now();
                let in_time = || begun.elapsed() < BATCH_TIME;
                let next = || in_time().then(|| events.try_next()).flatten();
                let rest = std::iter::from_fn(next).take(BATCH);
                first.into_iter().chain(rest).for_each(|event| state.on_event(event));
                state.apply_actions();
            });
            // Without this, peers that send without a pause would keep the clients of this node waiting.
            tokio::task::yield_now().await;
        }
    }
}

/// Stops the node when the task of its loop ends, even if it was aborted or never polled.
struct StopOnDrop(Inbox);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        let state = self.0.0.state.lock().unwrap_or_else(PoisonError::into_inner).take();
        // The state is dropped outside the lock, because connections end with it.
        drop(state);
    }
}

/// The event loop of a node and its state.
pub(crate) struct EventLoop {
    core: NodeCore,
    /// The vote file, which is written before messages are sent.
    votes: Option<VoteFile>,
    /// Actions that wait until the records before them are written.
    unsent: Vec<Action>,
    mesh: Mesh,
    clients: SortedMap<CallerId, mpsc::Sender<ServerMessage>>,
    /// Messages to each peer, which are sent together at the end of a batch.
    outgoing: SortedMap<ProcessId, Vec<PeerMessage>>,
    /// The file of the members, if there is a data folder.
    members: Option<MembersFile>,
    /// Desired content of the state file. A separate task writes it.
    disk: Option<watch::Sender<DurableState>>,
    /// Destination of traces, and the difference between the wall clock and the node's clock.
    spans: Option<(SpanSink, Duration)>,
    /// Latest time at which the task of the loop wakes up.
    armed: Time,
    /// Peers that have been connected since this node started.
    links: SortedMap<ProcessId, Link>,
    /// When this node started.
    started: Time,
    /// Questions about the history that are in progress.
    histories: SortedMap<u64, oneshot::Sender<VotesOfNodes>>,
    /// Certificates of the node, whose expiry is a metric.
    tls: Option<Arc<Tls>>,
}

/// History of the link to a peer.
#[derive(Clone, Copy, Debug)]
struct Link {
    connected: bool,
    changed: Time,
    restarts: u32,
    breaks: u32,
    version: u16,
}

/// The link to a peer, as it is shown to users.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerRecord {
    pub(crate) node: u32,
    pub(crate) connected: bool,
    /// Time since the link came up or went down.
    pub(crate) changed: Span,
    /// Number of restarts of the peer since this node started.
    pub(crate) restarts: u32,
    /// Number of times that the link broke although the peer was not restarted.
    pub(crate) breaks: u32,
    /// Negotiated version of the messages.
    pub(crate) version: u16,
}

/// This node and its links, as they are shown to users.
#[derive(Clone, Debug)]
pub(crate) struct NodeRecord {
    pub(crate) node: u32,
    /// Time since the start.
    pub(crate) up: Span,
    pub(crate) peers: Vec<PeerRecord>,
}

/// The file in which a node remembers the members.
pub(crate) struct MembersFile {
    pub(crate) disk: Disk,
    pub(crate) cluster: u128,
    pub(crate) node: u32,
}

impl EventLoop {
    pub(crate) fn new(
        core: NodeCore,
        (votes, members): (Option<VoteFile>, Option<MembersFile>),
        mesh: Mesh,
        disk: Option<watch::Sender<DurableState>>,
        spans: Option<(SpanSink, Duration)>,
        tls: Option<Arc<Tls>>,
    ) -> Self {
        let (unsent, clients, outgoing) = (Vec::new(), SortedMap::new(), SortedMap::new());
        let (armed, links, started) = (Time::ZERO, SortedMap::new(), clock::now());
        Self {
            core,
            votes,
            unsent,
            mesh,
            clients,
            outgoing,
            members,
            disk,
            spans,
            armed,
            links,
            started,
            histories: SortedMap::new(),
            tls,
        }
    }

    /// Returns the time until something is due, and records when the task will wake up.
    fn arm(&mut self) -> Duration {
        let pause = self.pause();
        self.armed = clock::now() + Span(pause.as_nanos() as u64);
        pause
    }

    /// Returns whether something is due before the task wakes up.
    fn needs_rearm(&self) -> bool {
        clock::now() + Span(self.pause().as_nanos() as u64) < self.armed
    }

    fn pause(&self) -> Duration {
        // A failed write of votes is retried soon.
        let most = if self.unsent.is_empty() { 1_000_000_000 } else { RETRY_NANOS };
        let next = self.core.next_alarm().unwrap_or(Time::NEVER);
        Duration::from_nanos(next.since(clock::now()).0.min(most))
    }

    /// Handles timers that are due. They come before inputs, which may have arrived while the machine was suspended.
    fn wake(&mut self) {
        self.core.wake(clock::now(), clock::wall_millis());
    }

    fn on_event(&mut self, event: Event) {
        let now = clock::now();
        match event {
            Event::Message { from, payload } => match codec::decode::<Vec<PeerMessage>>(&payload) {
                Ok(messages) => {
                    for message in messages {
                        self.core.on_peer_message(from, message, now);
                    }
                }
                Err(error) => tracing::warn!(peer = %from, %error, "malformed message from a peer"),
            },
            Event::Up { peer, fresh, version, .. } => {
                self.link_is_up(peer, fresh, version, now);
                self.core.set_peer_version(peer, version);
                self.core.on_peer_link(peer, Ok(()), now);
            }
            Event::Down { peer, why } => {
                tracing::info!(%peer, %why, "a node has left: its connection is broken");
                if let Some(link) = self.links.get_mut(&peer) {
                    (link.connected, link.changed) = (false, now);
                }
                self.core.on_peer_link(peer, Err(why.to_string()), now);
            }
        }
    }

    fn link_is_up(&mut self, peer: ProcessId, fresh: bool, version: u16, now: Time) {
        let known = self.links.get(&peer).copied();
        let (mut restarts, mut breaks) = known.map_or((0, 0), |link| (link.restarts, link.breaks));
        match known {
            None => tracing::info!(%peer, "a node has joined: it is connected for the first time"),
            Some(_) if fresh => {
                restarts += 1;
                tracing::info!(%peer, "a node has joined again: it was restarted");
            }
            Some(_) => {
                breaks += 1;
                tracing::info!(%peer, "a node has joined again: its connection was broken");
            }
        }
        self.links.insert(peer, Link { connected: true, changed: now, restarts, breaks, version });
    }

    /// Returns the state of the node without I/O.
    pub(crate) fn core(&self) -> &NodeCore {
        &self.core
    }

    /// Returns this node and its links, as they are shown to users.
    pub(crate) fn record(&self, now: Time) -> NodeRecord {
        let peer = |(peer, link): (&ProcessId, &Link)| PeerRecord {
            node: peer.number(),
            connected: link.connected,
            changed: now.since(link.changed),
            restarts: link.restarts,
            breaks: link.breaks,
            version: link.version,
        };
        let peers = self.links.iter().map(peer).collect();
        NodeRecord { node: self.core.number(), up: now.since(self.started), peers }
    }

    fn on_input(&mut self, input: Input) {
        let now = clock::now();
        match input {
            Input::Connected(caller, owner, sender) => {
                self.clients.insert(caller, sender);
                self.core.connection_opened(caller, owner);
            }
            Input::Call(caller, message) => {
                if matches!(message.call, Call::Status) {
                    self.update_peer_errors();
                }
                self.core.on_call(caller, message, random_key, now);
            }
            Input::Disconnected(caller, answer_received) => {
                self.clients.remove(&caller);
                self.core.connection_closed(caller, answer_received, now);
            }
            Input::LeaseCall(caller, lease, call) => {
                self.core.on_lease_call(caller, lease, call, now);
            }
            Input::ListLeases(caller, owner) => self.core.list_leases(caller, owner, now),
            Input::StateWritten(Ok(mark)) => {
                self.core.state_written(Ok(()));
                mark.into_iter().for_each(|mark| self.core.reserved(mark, now));
            }
            Input::StateWritten(Err(why)) => self.core.state_written(Err(why)),
            Input::History(name, answer) => {
                let number = self.core.ask_history(name, now);
                self.histories.insert(number, answer);
            }
            Input::Leave => self.core.leave(now),
            Input::Health(answer) => {
                self.update_peer_errors();
                let (reasons, idle) = (self.core.reasons(), self.core.is_idle(now));
                let _ = answer.send(Health { reasons, idle, peers: self.core.peers_up().len() });
            }
            Input::Metrics(answer) => {
                self.update_peer_errors();
                let expiry = self.tls.as_ref().and_then(|tls| tls.expiry());
                let _ = answer.send(self.core.metrics_text(expiry, now));
            }
        }
    }

    /// Passes the errors of peer connections to the core, because a failed handshake causes no event.
    fn update_peer_errors(&mut self) {
        for peer in self.mesh.status() {
            self.core.set_peer_error(peer.peer, peer.last_error.filter(|_| !peer.up));
        }
    }

    /// Applies actions: writes all records in one write, then sends the messages, combined per peer.
    fn apply_actions(&mut self) {
        for (number, votes) in self.core.answered_histories() {
            if let Some(asker) = self.histories.remove(&number) {
                // The asker may have disconnected.
                let _ = asker.send(votes);
            }
        }
        let mut records = Vec::new();
        for action in self.core.actions() {
            match action {
                Action::Persist(record) => records.push(record),
                action => self.unsent.push(action),
            }
        }
        if let Err(error) = self.write(&records).and_then(|()| self.write_members()) {
            tracing::error!(%error, "votes or members cannot be written");
            self.core.set_disk_error(Some(error.to_string()));
            return;
        }
        self.core.set_disk_error(None);
        let mut marks = Vec::new();
        for action in std::mem::take(&mut self.unsent) {
            match action {
                Action::Send(peer, message) => self.outgoing.entry(peer).or_default().push(message),
                Action::SendClient(client, message) => {
                    let Some(to) = self.clients.get(&client) else { continue };
                    if to.try_send(unless_backlogged(to, message)).is_err() {
                        // The client does not read. Dropping its channel closes the connection.
                        self.clients.remove(&client);
                    }
                }
                Action::Reserve(mark) => marks.push(mark),
                Action::Peers(peers) => self.mesh.set_peers(peers),
                Action::Persist(_) | Action::PersistChain(_) => {}
            }
        }
        for (peer, messages) in &mut self.outgoing {
            if messages.is_empty() {
                continue;
            }
            let is_watch_update =
                |message: &PeerMessage| matches!(message, PeerMessage::WatchUpdate(_));
            if !send_all(&self.mesh, *peer, messages) && messages.iter().any(is_watch_update) {
                self.core.watch_update_lost(*peer, clock::now());
            }
            messages.clear();
        }
        marks.into_iter().for_each(|mark| self.reserve(mark));
        if let (Some((sink, offset)), Some(spans)) = (&self.spans, &mut self.core.spans) {
            let finished = spans.take();
            if !finished.is_empty() {
                sink.put(finished, *offset);
            }
        }
    }

    /// Makes the newest state of the chain durable. It is written rarely, and nothing may be sent before.
    fn write_members(&mut self) -> std::io::Result<()> {
        let mut states = self.unsent.iter().filter_map(|action| match action {
            Action::PersistChain(state) => Some(state),
            _ => None,
        });
        let (Some(state), Some(members)) = (states.next_back(), &self.members) else {
            return Ok(());
        };
        let MembersFile { disk, cluster, node } = members;
        disk.write_members(*cluster, *node, state).map_err(std::io::Error::other)?;
        self.unsent.retain(|action| !matches!(action, Action::PersistChain(_)));
        Ok(())
    }

    fn write(&mut self, records: &[Record<Name>]) -> std::io::Result<()> {
        let Some(votes) = &mut self.votes else { return Ok(()) };
        match votes.is_active() {
            // The voter's state when it begins to vote includes the records of this batch.
            false if self.core.voter().is_voting() => votes.rewrite(self.core.voter()),
            false => Ok(()),
            true if votes.has_grown() => votes.rewrite(self.core.voter()),
            true => votes.append(records),
        }
    }

    fn reserve(&mut self, mark: u64) {
        if let Some(wanted) = &self.disk {
            wanted.send_modify(|durable| durable.mark = durable.mark.max(Some(mark)));
        }
    }
}

/// Interval at which a failed write of votes is retried, in nanoseconds.
const RETRY_NANOS: u64 = 100_000_000;

/// Number of unread messages above which a client receives no more lists, because lists are long.
const UNREAD_MOST: usize = 32;

/// Returns the message for a client. A list for a client with a backlog is replaced by a failure that asks
/// it to read first.
fn unless_backlogged(to: &mpsc::Sender<ServerMessage>, message: ServerMessage) -> ServerMessage {
    match message {
        ServerMessage::Response(number, CallResponse::List(_) | CallResponse::Page(_))
            if to.max_capacity() - to.capacity() > UNREAD_MOST =>
        {
            let why = "too many unread responses: read them, then request the list again";
            ServerMessage::Response(number, CallResponse::Failed(Failure::TooMuch(why.to_owned())))
        }
        message => message,
    }
}

/// Sends all messages as one payload, or as several if they are too large; returns whether all were queued.
fn send_all(mesh: &Mesh, peer: ProcessId, messages: &[PeerMessage]) -> bool {
    let payload: Bytes = codec::encode(&messages);
    if payload.len() > MESSAGE_MOST && messages.len() > 1 {
        let (first, second) = messages.split_at(messages.len() / 2);
        return send_all(mesh, peer, first) & send_all(mesh, peer, second);
    }
    if let Err(error) = mesh.try_send(peer, payload) {
        tracing::debug!(%peer, %error, "a message to a peer was not sent");
        return false;
    }
    true
}
