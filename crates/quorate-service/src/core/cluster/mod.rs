//! Node cores that exchange messages without delay, except over links that are cut, and tests of leases with them.

mod leases;
mod one_node_away;
mod relays;
mod withdrawn;

use quorate_core::{ProcessId, SortedMap, SortedSet, Span, Time};
use quorate_protocol::{CallResponse, Name, ServerMessage};

use super::testing::{node_of, node_of_three, terms};
use super::{Action, CallerId, NodeCore, Owner};
use crate::lease::{LeaseCall, LeaseId};
use crate::peer::PeerMessage;

/// Interval at which the nodes look at their alarms.
const STEP: Span = Span::from_millis(50);

/// Two nodes, the lower one first.
type Pair = (usize, usize);

struct Cluster {
    nodes: Vec<NodeCore>,
    now: Time,
    /// Links that are broken, and known to be broken at both ends.
    cuts: SortedSet<Pair>,
    /// Links that deliver nothing until they are restored. Neither end has noticed it.
    silent: SortedSet<Pair>,
    /// Messages that are delivered late, by sender and receiver.
    is_late: fn(usize, usize, &PeerMessage) -> bool,
    /// Messages on silent links, and those that are delivered late: sender, receiver, message.
    late: Vec<(usize, usize, PeerMessage)>,
    answers: SortedMap<CallerId, CallResponse>,
    calls: u64,
}

impl Cluster {
    fn of_three() -> Self {
        Self::new((0..3).map(node_of_three).collect())
    }

    fn of_five() -> Self {
        Self::new((0..5).map(|at| node_of(5, at, terms())).collect())
    }

    fn new(nodes: Vec<NodeCore>) -> Self {
        Self {
            nodes,
            now: Time(1),
            cuts: SortedSet::new(),
            silent: SortedSet::new(),
            is_late: |_, _, _| false,
            late: Vec::new(),
            answers: SortedMap::new(),
            calls: 0,
        }
    }

    /// Cuts these links, and restores all others. Messages on silent links are lost.
    fn cut(&mut self, cuts: impl IntoIterator<Item = Pair>) {
        self.cuts = cuts.into_iter().collect();
        self.silent.clear();
        self.late.clear();
        let n = self.nodes.len();
        for (a, b) in (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b))) {
            let link = || match self.cuts.contains(&(a, b)) {
                true => Err("cut".to_owned()),
                false => Ok(()),
            };
            let (at_a, at_b) = (link(), link());
            self.nodes[a].on_peer_link(ProcessId::from_index(b), at_a, self.now);
            self.nodes[b].on_peer_link(ProcessId::from_index(a), at_b, self.now);
        }
        self.deliver();
    }

    /// Cuts all links of these nodes, and restores all others.
    fn isolate(&mut self, nodes: &[usize]) {
        let links = nodes.iter().flat_map(|node| links_of(self.nodes.len(), *node));
        self.cut(links.collect::<Vec<Pair>>());
    }

    /// Restores silent links, over which all messages arrive now.
    fn restore_silent(&mut self) {
        self.silent.clear();
        for (from, to, message) in std::mem::take(&mut self.late) {
            self.nodes[to].on_peer_message(ProcessId::from_index(from), message, self.now);
        }
        self.deliver();
    }

    /// Delivers the late messages of a link.
    fn deliver_late(&mut self, from: usize, to: usize) {
        let arrives = |it: &mut (usize, usize, PeerMessage)| (it.0, it.1) == (from, to);
        for (_, _, message) in self.late.extract_if(.., arrives).collect::<Vec<_>>() {
            self.nodes[to].on_peer_message(ProcessId::from_index(from), message, self.now);
        }
        self.deliver();
    }

    fn deliver(&mut self) {
        while (0..self.nodes.len()).map(|at| self.deliver_from(at)).sum::<usize>() > 0 {}
    }

    /// Applies the actions of a node, and returns their number.
    fn deliver_from(&mut self, from: usize) -> usize {
        let actions: Vec<Action> = self.nodes[from].actions().collect();
        let count = actions.len();
        for action in actions {
            match action {
                Action::Send(to, message) => self.send(from, to.index(), message),
                Action::SendClient(caller, ServerMessage::Response(_, answer)) => {
                    self.answers.insert(caller, answer);
                }
                Action::Reserve(mark) => self.nodes[from].reserved(mark, self.now),
                Action::SendClient(..)
                | Action::Persist(_)
                | Action::PersistChain(_)
                | Action::Peers(_) => {}
            }
        }
        count
    }

    fn send(&mut self, from: usize, to: usize, message: PeerMessage) {
        let link = (from.min(to), from.max(to));
        if self.silent.contains(&link) || (self.is_late)(from, to, &message) {
            self.late.push((from, to, message));
        } else if !self.cuts.contains(&link) {
            self.nodes[to].on_peer_message(ProcessId::from_index(from), message, self.now);
        }
    }

    fn pass(&mut self, time: Span) {
        let end = self.now + time;
        while self.now < end {
            self.now = self.now + STEP;
            let (now, wall) = (self.now, self.now.0 / 1_000_000);
            self.nodes.iter_mut().for_each(|node| node.wake(now, wall));
            self.deliver();
        }
    }

    /// Calls a node on behalf of a lease. The answer arrives under the number that is returned.
    fn call(&mut self, node: usize, lease: i64, call: LeaseCall) -> CallerId {
        let caller = self.begin_call(node, lease, call);
        self.deliver();
        caller
    }

    /// The same, without delivering any message.
    fn begin_call(&mut self, node: usize, lease: i64, call: LeaseCall) -> CallerId {
        self.calls += 1;
        let caller = CallerId::FrontEnd(self.calls);
        let lease = LeaseId { owner: String::new(), id: lease };
        self.nodes[node].connection_opened(caller, Owner::new("test"));
        self.nodes[node].on_lease_call(caller, lease, call, self.now);
        caller
    }

    /// Closes the connection of a call.
    fn close(&mut self, node: usize, call: CallerId) {
        let answered = self.answers.contains_key(&call);
        self.nodes[node].connection_closed(call, answered, self.now);
        self.deliver();
    }

    fn grant(&mut self, node: usize, lease: i64, ttl_ms: u32) -> CallerId {
        self.call(node, lease, new_lease(ttl_ms))
    }

    fn acquire(&mut self, node: usize, lease: i64) -> CallerId {
        let (name, value) = (Name::lock("a").expect("a name"), String::new());
        self.call(node, lease, LeaseCall::Acquire { name, request: 1, value })
    }

    fn release(&mut self, node: usize, lease: i64) -> CallerId {
        let name = Name::lock("a").expect("a name");
        self.call(node, lease, LeaseCall::Release { name, token: None })
    }

    fn is_alive(&self, call: CallerId) -> bool {
        matches!(self.answers.get(&call), Some(CallResponse::LeaseInfo(info)) if info.ttl_ms > 0)
    }

    fn is_granted(&self, call: CallerId) -> bool {
        matches!(self.answers.get(&call), Some(CallResponse::Granted { .. }))
    }
}

/// The links of a node to the others of `n` nodes.
fn links_of(n: usize, node: usize) -> impl Iterator<Item = Pair> {
    (0..n).filter(move |other| *other != node).map(move |it| (it.min(node), it.max(node)))
}

/// The call that opens a new lease.
fn new_lease(ttl_ms: u32) -> LeaseCall {
    LeaseCall::Grant { ttl_ms, fresh: true, client_location: String::new() }
}
