//! Links between nodes, and connections of clients to nodes.

use quorate_core::ProcessId;
use quorate_protocol::{CallResponse, ServerMessage, SessionKey, Validity};

use super::rng::{MS, SECOND};
use super::world::{Event, Input, World};
use crate::core::CallerId;
use crate::peer::PeerMessage;

/// The link between two nodes. It preserves order, and loses nothing until it breaks.
#[derive(Debug, Default)]
pub(super) struct Link {
    /// Changes whenever the link is established or breaks; odd while it is up.
    epoch: u64,
    /// When the last message in each direction arrives.
    last: [u64; 2],
    /// No new link is established before this time.
    cut_until: u64,
    connecting: bool,
}

impl Link {
    fn is_up(&self) -> bool {
        self.epoch % 2 == 1
    }
}

fn pair(a: usize, b: usize) -> (usize, usize) {
    (a.min(b), a.max(b))
}

/// A connection of a client process to a node process. A call over HTTP or etcd's API has its own connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) client: usize,
    pub(super) client_process: u64,
    pub(super) node: usize,
    node_process: u64,
    /// Whether the client has closed the connection, or has noticed that it is broken.
    pub(super) closed: bool,
    /// Whether the connection no longer delivers anything.
    broken: bool,
    /// Whether the node knows the connection.
    known: bool,
    /// Whether the node knows that the connection is closed.
    closed_at_node: bool,
    last: [u64; 2],
    /// Whether a front end of the node makes the calls.
    pub(super) local: bool,
    /// When the front end made the call, by the node's clock in microseconds.
    called_at: u64,
}

/// Converts an answer as an HTTP front end does: validity is counted from when the client sent its call. The clocks of the
/// client and the node may drift in opposite directions, so the waiting time is scaled by (1 - r)/(1 + r).
fn relative_to_call(message: ServerMessage, called_at: u64) -> ServerMessage {
    let from_call = |validity: Validity| {
        let waited = validity.since.saturating_sub(called_at);
        Validity { since: waited * 19 / 21, ..validity }
    };
    match message {
        ServerMessage::Response(number, CallResponse::Granted { token, validity }) => {
            ServerMessage::Response(
                number,
                CallResponse::Granted { token, validity: from_call(validity) },
            )
        }
        ServerMessage::Response(number, CallResponse::Alive { validity, held, waiting }) => {
            let validity = Validity { since: 0, ..validity };
            ServerMessage::Response(number, CallResponse::Alive { validity, held, waiting })
        }
        message => message,
    }
}

impl World {
    /// Returns the delay of one message.
    fn delay(&mut self) -> u64 {
        let most = match (self.is_stormy(), self.setup.gentle, self.rng.below(150)) {
            (true, false, 0) => 3 * SECOND,
            (true, false, 1..=8) => 300 * MS,
            (true, true, 0..=8) => 40 * MS,
            _ => 5 * MS,
        };
        self.rng.below(most) + 1
    }

    pub(super) fn send_peer(&mut self, from: usize, to: usize, message: PeerMessage) {
        let delay = self.delay();
        // The mesh drops messages that a slow peer does not read.
        let dropped = self.is_stormy() && !self.setup.gentle && self.rng.one_in(300);
        let link = self.links.entry(pair(from, to)).or_default();
        if !link.is_up() || dropped {
            return;
        }
        let last = &mut link.last[usize::from(from < to)];
        *last = (*last + 1).max(self.now + delay);
        let (time, link) = (*last, link.epoch);
        self.plan(time, Event::Peer { from, to, link, message });
    }

    pub(super) fn on_peer_message(
        &mut self,
        from: usize,
        to: usize,
        link: u64,
        message: PeerMessage,
    ) {
        if self.links.get(&pair(from, to)).is_some_and(|it| it.epoch == link) {
            let from = ProcessId::from_index(from);
            self.with_core(to, |core, now| core.on_peer_message(from, message, now));
        }
    }

    /// Connects two nodes, or tries again later until they are connected.
    pub(super) fn connect(&mut self, a: usize, b: usize) {
        let again = self.now + 20 * MS + self.rng.below(30 * MS);
        let up = self.nodes[a].core.is_some() && self.nodes[b].core.is_some();
        let may_connect = a != b && self.may_connect(a, b);
        let running = self.nodes[a].backlog.is_none() && self.nodes[b].backlog.is_none();
        let link = self.links.entry(pair(a, b)).or_default();
        link.connecting = false;
        if link.is_up() || !may_connect {
            return;
        }
        if !up || !running || link.cut_until > self.now {
            link.connecting = true;
            return self.plan(again, Event::Connect { a, b });
        }
        link.epoch += 1;
        link.last = [self.now; 2];
        let link = link.epoch;
        self.plan(self.now, Event::PeerUp { at: a, peer: b, link });
        self.plan(self.now, Event::PeerUp { at: b, peer: a, link });
    }

    /// Breaks the link between two nodes. Each end notices after a while.
    pub(super) fn break_link(&mut self, a: usize, b: usize, cut_until: u64) {
        if a == b {
            return;
        }
        let noticed = [self.rng.below(100 * MS), self.rng.below(100 * MS)];
        let link = self.links.entry(pair(a, b)).or_default();
        link.cut_until = link.cut_until.max(cut_until);
        let (was_up, connecting) = (link.is_up(), std::mem::replace(&mut link.connecting, true));
        if was_up {
            link.epoch += 1;
            for (at, peer, delay) in [(a, b, noticed[0]), (b, a, noticed[1])] {
                let process = self.nodes[at].process;
                self.plan(self.now + delay, Event::PeerDown { at, peer, process });
            }
        }
        if !connecting {
            self.plan(self.now + 110 * MS, Event::Connect { a, b });
        }
    }

    pub(super) fn peer_is_up(&mut self, at: usize, peer: usize, link: u64) {
        if self.links.get(&pair(at, peer)).is_some_and(|it| it.epoch == link) {
            let peer = ProcessId::from_index(peer);
            self.with_core(at, |core, now| core.on_peer_link(peer, Ok(()), now));
        }
    }

    pub(super) fn peer_is_down(&mut self, at: usize, peer: usize, process: u64) {
        // A driver reports the latest state: a link that is up again is not down.
        let is_up = self.links.get(&pair(at, peer)).is_some_and(Link::is_up);
        if self.nodes[at].process == process && !is_up {
            let peer = ProcessId::from_index(peer);
            self.with_core(at, |core, now| core.on_peer_link(peer, Err("broken".to_owned()), now));
        }
    }

    /// Opens a connection of a client to a node.
    pub(super) fn open_connection(&mut self, client: usize, node: usize, local: bool) -> CallerId {
        self.numbers += 1;
        let id = match local {
            true => CallerId::FrontEnd(self.numbers),
            false => CallerId::Connection(self.numbers),
        };
        let connection = Connection {
            client,
            client_process: self.clients[client].process,
            node,
            node_process: self.nodes[node].process,
            closed: false,
            broken: false,
            known: false,
            closed_at_node: false,
            last: [self.now; 2],
            local,
            called_at: 0,
        };
        self.connections.insert(id, connection);
        id
    }

    fn is_cut(&self, client: usize, node: usize) -> Option<u64> {
        self.cuts.get(&(client, node)).copied().filter(|until| *until > self.now)
    }

    /// Returns when a message over a connection arrives; `None` if it is lost, which also breaks the connection.
    fn arrival(&mut self, connection: CallerId, to_node: bool) -> Option<u64> {
        let delay = self.delay();
        let lost = self.is_stormy() && !self.setup.gentle && self.rng.one_in(60);
        let (client, node) = self.connections.get(&connection).map(|it| (it.client, it.node))?;
        let cut = self.is_cut(client, node);
        let lost = lost || (cut.is_some() && self.rng.one_in(2));
        let noticed = (self.now + self.rng.below(SECOND), self.now + self.rng.below(4 * SECOND));
        let it = self.connections.get_mut(&connection)?;
        if it.broken {
            return None;
        }
        if lost {
            it.broken = true;
            self.plan(noticed.0, Event::Broken { connection });
            self.plan(
                noticed.1,
                Event::ToNode { connection, input: Input::Closed { answer_received: false } },
            );
            return None;
        }
        let last = &mut it.last[usize::from(to_node)];
        *last = (*last + 1).max(cut.unwrap_or(self.now) + delay);
        Some(*last)
    }

    pub(super) fn send_to_node(&mut self, connection: CallerId, input: Input) {
        if let Some(time) = self.arrival(connection, true) {
            self.plan(time, Event::ToNode { connection, input });
        }
    }

    pub(super) fn send_to_client(&mut self, connection: CallerId, message: ServerMessage) {
        let Some(it) = self.connections.get(&connection) else { return };
        if it.local && !matches!(message, ServerMessage::Response(..)) {
            return;
        }
        let message = if it.local { relative_to_call(message, it.called_at) } else { message };
        if it.local {
            // The front end has received the answer, whether or not it reaches the client.
            let closed = Input::Closed { answer_received: true };
            self.plan(self.now + 1, Event::ToNode { connection, input: closed });
        }
        if let Some(time) = self.arrival(connection, false) {
            self.plan(time, Event::ToClient { connection, message });
        }
    }

    /// Closes a connection, because the client has closed it or its process has died.
    pub(super) fn close_connection(&mut self, connection: CallerId) {
        let Some(it) = self.connections.get_mut(&connection) else { return };
        if !std::mem::replace(&mut it.closed, true) {
            self.send_to_node(connection, Input::Closed { answer_received: false });
        }
    }

    /// Handles an input that arrives at a node over a connection.
    pub(super) fn on_node_input(&mut self, connection: CallerId, input: Input) {
        let refused = self.now + 1 + self.rng.below(200 * MS);
        let silent = self.rng.one_in(3);
        let Some(it) = self.connections.get_mut(&connection) else { return };
        let node = it.node;
        if self.nodes[node].core.is_none() || self.nodes[node].process != it.node_process {
            it.broken = true;
            if !silent {
                self.plan(refused, Event::Broken { connection });
            }
            return;
        }
        if it.closed_at_node {
            return;
        }
        let fresh = !std::mem::replace(&mut it.known, true);
        let (local, client) = (it.local, it.client);
        if fresh {
            let owner = crate::core::Owner::new(&format!("client {client}"));
            self.with_core(node, |core, _| core.connection_opened(connection, owner));
        }
        let key = SessionKey(self.rng.next_u128());
        match input {
            Input::Call(mut message) => {
                if local {
                    message.sent = self.nodes[node].clock.local_time(self.now).0 / 1_000;
                }
                if let Some(it) = self.connections.get_mut(&connection) {
                    it.called_at = message.sent;
                }
                self.with_core(node, |core, now| core.on_call(connection, message, || key, now));
            }
            Input::LeaseCall(lease, call) => {
                self.with_core(node, |core, now| core.on_lease_call(connection, lease, call, now));
            }
            Input::Closed { answer_received } => {
                let Some(it) = self.connections.get_mut(&connection) else { return };
                it.closed_at_node = true;
                self.with_core(node, |core, now| {
                    core.connection_closed(connection, answer_received, now)
                });
            }
        }
    }
}
