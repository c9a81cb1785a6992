//! Tests of leases with three node cores, which exchange messages without delay, except over links that are cut.

use super::testing::node_of_three;
use super::*;
use crate::core::{Action, Owner};
use crate::lease::{LeaseCall, LeaseId};
use quorate_protocol::Failure;

/// Interval at which the nodes look at their alarms.
const STEP: Span = Span::from_millis(50);

/// Time after which a lease that no one keeps alive has lapsed. Its time-to-live is 8 s.
const LAPSED: Span = Span::from_millis(8_500);

struct Cluster {
    nodes: Vec<NodeCore>,
    now: Time,
    /// Links that deliver nothing, as pairs in ascending order.
    cuts: BTreeSet<(usize, usize)>,
    answers: BTreeMap<CallerId, CallResponse>,
    calls: u64,
}

impl Cluster {
    fn new() -> Self {
        let nodes = (0..3).map(node_of_three).collect();
        let (now, cuts) = (Time(1), BTreeSet::new());
        Self { nodes, now, cuts, answers: BTreeMap::new(), calls: 0 }
    }

    /// Cuts the links between these nodes, and restores all others.
    fn cut(&mut self, cuts: &[(usize, usize)]) {
        self.cuts = cuts.iter().copied().collect();
        for (a, b) in [(0, 1), (0, 2), (1, 2)] {
            let link = || match cuts.contains(&(a, b)) {
                true => Err("cut".to_owned()),
                false => Ok(()),
            };
            self.nodes[a].on_peer_link(ProcessId::from_index(b), link(), self.now);
            self.nodes[b].on_peer_link(ProcessId::from_index(a), link(), self.now);
        }
        self.deliver();
    }

    fn deliver(&mut self) {
        while (0..3).map(|at| self.deliver_from(at)).sum::<usize>() > 0 {}
    }

    /// Applies what a node has decided to do, and returns how much that was.
    fn deliver_from(&mut self, from: usize) -> usize {
        let actions: Vec<Action> = self.nodes[from].actions().collect();
        let count = actions.len();
        for action in actions {
            match action {
                Action::Send(to, message) => {
                    let (to, sender) = (to.index(), ProcessId::from_index(from));
                    if !self.cuts.contains(&(from.min(to), from.max(to))) {
                        self.nodes[to].on_peer_message(sender, message, self.now);
                    }
                }
                Action::SendClient(caller, ServerMessage::Response(_, answer)) => {
                    self.answers.insert(caller, answer);
                }
                Action::Reserve(mark) => self.nodes[from].reserved(mark, self.now),
                Action::SendClient(..) | Action::Persist(_) => {}
            }
        }
        count
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
        self.calls += 1;
        let caller = CallerId::FrontEnd(self.calls);
        let lease = LeaseId { owner: String::new(), id: lease };
        self.nodes[node].connection_opened(caller, Owner::new("test"));
        self.nodes[node].on_lease_call(caller, lease, call, self.now);
        self.deliver();
        caller
    }

    fn grant(&mut self, node: usize, lease: i64) {
        let client_location = String::new();
        let call = LeaseCall::Grant { ttl_ms: 8_000, fresh: true, client_location };
        let call = self.call(node, lease, call);
        assert!(self.is_alive(call), "{:?}", self.answers.get(&call));
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

/// The relay is kept for longer than the lease, so it has to ask the voters.
#[test]
fn a_keep_alive_of_a_lapsed_lease_is_refused_at_once() {
    let mut cluster = Cluster::new();
    cluster.grant(0, 1);
    let held = cluster.acquire(0, 1);
    assert!(cluster.is_granted(held));
    // A call that reaches only its own node keeps the relay, and the session at the voter of that node.
    cluster.pass(Span::from_millis(1_000));
    cluster.cut(&[(0, 1), (0, 2)]);
    let unheard = cluster.call(0, 1, LeaseCall::KeepAlive);
    cluster.pass(Span::from_millis(7_500));
    assert!(!cluster.is_alive(unheard));
    assert!(cluster.nodes[0].relays.len() == 1, "the relay has not expired");
    cluster.cut(&[]);
    let late = cluster.call(0, 1, LeaseCall::KeepAlive);
    let refused = CallResponse::Failed(Failure::NoSession);
    assert_eq!(cluster.answers.get(&late), Some(&refused));
}

/// One node stays alone with a client that calls it. The two others have granted the client a lock, let its lease lapse and
/// granted the lock to another client. Then one of them is connected to the lonely node again.
#[test]
fn a_voter_at_which_a_lease_has_lapsed_does_not_keep_it_alive() {
    let mut cluster = Cluster::new();
    cluster.grant(1, 1);
    let kept = cluster.call(0, 1, LeaseCall::KeepAlive);
    assert!(cluster.is_alive(kept));
    cluster.cut(&[(0, 1), (0, 2)]);
    let held = cluster.acquire(1, 1);
    assert!(cluster.is_granted(held));
    for _ in 0..4 {
        let kept = cluster.call(0, 1, LeaseCall::KeepAlive);
        cluster.pass(Span(LAPSED.0 / 4));
        assert!(!cluster.is_alive(kept));
    }
    cluster.grant(2, 2);
    let next = cluster.acquire(2, 2);
    assert!(cluster.is_granted(next), "{:?}", cluster.answers.get(&next));
    cluster.cut(&[(0, 2)]);
    let late = cluster.call(0, 1, LeaseCall::KeepAlive);
    cluster.pass(Span::from_millis(200));
    assert!(!cluster.is_alive(late), "{:?}", cluster.answers.get(&late));
}

#[test]
fn a_release_through_another_node_is_not_a_loss() {
    let mut cluster = Cluster::new();
    cluster.grant(0, 1);
    let held = cluster.acquire(0, 1);
    assert!(cluster.is_granted(held));
    cluster.cut(&[(0, 1), (0, 2)]);
    let released = cluster.release(1, 1);
    assert_eq!(cluster.answers.get(&released), Some(&CallResponse::Done));
    // The relay at the first node claims the lock until a voter tells it of the release.
    cluster.cut(&[]);
    cluster.pass(Span::from_millis(500));
    assert!(cluster.nodes[0].relays.values().all(|relay| relay.interests.is_empty()));
    assert!(!cluster.nodes[0].metrics_text().contains("why=\"expelled\""));
}
