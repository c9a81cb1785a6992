//! Relays of three nodes that continue what other relays have begun, and the validity that they report.

use quorate_core::Span;
use quorate_protocol::{
    Call, CallResponse, ClientMessage, Mode, Name, RequestState, SessionKey, Validity,
};

use super::{Cluster, links_of};
use crate::core::{CallerId, Owner};
use crate::lease::{GRANT, LeaseCall};

const KEY: SessionKey = SessionKey(7);

impl Cluster {
    /// Calls a node over a native connection, without delivering any message. `sent` is the clock of its client.
    fn begin_native_call(&mut self, node: usize, connection: u64, sent: u64, call: Call) {
        let caller = CallerId::Connection(connection);
        self.nodes[node].connection_opened(caller, Owner::new("test"));
        let message = ClientMessage { number: 1, sent, call };
        self.nodes[node].on_call(caller, message, || KEY, self.now);
    }

    fn open_native(&mut self, node: usize, connection: u64, sent: u64) {
        let (client_name, client_location) = (String::new(), String::new());
        let open = Call::Open { ttl_ms: 8_000, client_name, client_location };
        self.begin_native_call(node, connection, sent, open);
        self.deliver();
    }

    /// The validity that was last reported over a native connection.
    fn reported(&self, connection: u64) -> Option<Validity> {
        match self.answers.get(&CallerId::Connection(connection)) {
            Some(CallResponse::Alive { validity, .. }) => Some(*validity),
            _ => None,
        }
    }

    /// Returns whether a lease holds a lock, according to the voters that this node reaches.
    fn holds(&mut self, node: usize, lease: i64) -> bool {
        let asked = self.call(node, lease, LeaseCall::TimeToLive);
        let Some(CallResponse::LeaseInfo(info)) = self.answers.get(&asked) else { return false };
        info.requests.iter().any(|it| matches!(it.state, RequestState::Holding { .. }))
    }

    fn enqueue(&mut self, node: usize, lease: i64) -> CallerId {
        let (name, value) = (Name::lock("a").expect("a name"), String::new());
        self.call(node, lease, LeaseCall::Enqueue { name, request: 1, value })
    }

    /// Opens two leases, of which the second one holds the lock.
    fn with_two_leases(first: usize, second: usize) -> Self {
        let mut cluster = Self::of_three();
        for (node, lease) in [(first, 1), (second, 2)] {
            let opened = cluster.grant(node, lease, 8_000);
            assert!(cluster.is_alive(opened));
        }
        let held = cluster.acquire(second, 2);
        assert!(cluster.is_granted(held));
        cluster
    }

    /// Opens a lease that holds the lock with the votes of all nodes.
    fn with_spare_votes() -> Self {
        let mut cluster = Self::of_three();
        let opened = cluster.grant(0, 1, 8_000);
        assert!(cluster.is_alive(opened));
        let held = cluster.acquire(0, 1);
        assert!(cluster.is_granted(held));
        cluster.pass(Span::from_millis(500));
        cluster
    }
}

/// The votes of a call that has waited for 5 s are good for a beat that is as old. Before the call is granted the lock, the
/// relay begins another one.
#[test]
fn a_call_that_has_waited_is_granted_votes_of_a_new_beat() {
    let mut cluster = Cluster::with_two_leases(0, 1);
    let waiting = cluster.acquire(0, 1);
    cluster.pass(Span::from_millis(5_000));
    assert_eq!(cluster.answers.get(&waiting), None);
    cluster.release(1, 2);
    let Some(CallResponse::Granted { validity, .. }) = cluster.answers.get(&waiting) else {
        panic!("the lock is free");
    };
    assert!(validity.since + GRANT.0 / 1_000 >= cluster.now.0 / 1_000, "{validity:?}");
}

/// The relay begins a beat for each of two calls. Only the first beat has been echoed.
#[test]
fn validity_counts_from_the_call_whose_beat_was_echoed() {
    let mut cluster = Cluster::of_three();
    cluster.open_native(0, 1, 10);
    cluster.begin_native_call(0, 1, 20, Call::KeepAlive(KEY));
    cluster.deliver_from(0);
    cluster.begin_native_call(0, 1, 30, Call::KeepAlive(KEY));
    cluster.deliver_from(1);
    cluster.deliver_from(0);
    assert_eq!(cluster.reported(1).map(|validity| validity.since), Some(20));
    cluster.deliver();
    assert_eq!(cluster.reported(1).map(|validity| validity.since), Some(30));
}

/// The newest beat belongs to a call of another connection, whose clock is ahead.
#[test]
fn validity_counts_by_the_clock_of_its_connection() {
    let mut cluster = Cluster::of_three();
    cluster.open_native(0, 1, 10);
    cluster.isolate(&[0]);
    cluster.begin_native_call(0, 1, 20, Call::KeepAlive(KEY));
    cluster.begin_native_call(0, 2, 1_000_000, Call::KeepAlive(KEY));
    cluster.deliver();
    assert_eq!(cluster.reported(1), None);
    cluster.isolate(&[]);
    assert_eq!(cluster.reported(1).map(|validity| validity.since), Some(20));
    assert_eq!(cluster.reported(2).map(|validity| validity.since), Some(1_000_000));
}

#[test]
fn a_request_that_waits_at_a_node_that_stops_is_continued() {
    let mut cluster = Cluster::with_two_leases(0, 1);
    let queued = cluster.enqueue(0, 1);
    assert!(matches!(cluster.answers.get(&queued), Some(CallResponse::Queued(_))));
    cluster.isolate(&[0]);
    let kept = cluster.call(2, 1, LeaseCall::KeepAlive);
    assert!(cluster.is_alive(kept));
    cluster.release(1, 2);
    cluster.pass(Span::from_millis(500));
    assert!(cluster.holds(2, 1));
}

/// The client keeps its lease alive through another node for longer than a relay lives without a call.
#[test]
fn a_request_waits_while_its_client_calls_another_node() {
    let mut cluster = Cluster::with_two_leases(0, 1);
    let queued = cluster.enqueue(0, 1);
    assert!(matches!(cluster.answers.get(&queued), Some(CallResponse::Queued(_))));
    for _ in 0..10 {
        cluster.pass(Span::from_millis(2_000));
        let kept = [(2, 1), (1, 2)].map(|(node, it)| cluster.call(node, it, LeaseCall::KeepAlive));
        assert!(kept.iter().all(|call| cluster.is_alive(*call)));
    }
    cluster.release(1, 2);
    cluster.pass(Span::from_millis(500));
    assert!(cluster.holds(2, 1));
}

/// The lists of the voters show that the lock is held. The new relay does not wait until the votes are its own.
#[test]
fn a_keep_alive_through_another_node_takes_one_round_trip() {
    let mut cluster = Cluster::with_spare_votes();
    let kept = cluster.begin_call(1, 1, LeaseCall::KeepAlive);
    for node in [1, 0, 2, 1] {
        cluster.deliver_from(node);
    }
    assert!(cluster.is_alive(kept));
}

#[test]
fn a_voter_that_was_away_learns_of_a_release() {
    let mut cluster = Cluster::with_spare_votes();
    cluster.isolate(&[2]);
    let released = cluster.release(0, 1);
    assert_eq!(cluster.answers.get(&released), Some(&CallResponse::Done));
    cluster.isolate(&[]);
    let kept = cluster.call(0, 1, LeaseCall::KeepAlive);
    assert!(cluster.is_alive(kept));
    cluster.isolate(&[0]);
    let opened = cluster.grant(1, 2, 8_000);
    assert!(cluster.is_alive(opened));
    let next = cluster.acquire(1, 2);
    assert!(cluster.is_granted(next), "the voter of the third node is needed");
}

/// The answers of the voters that have recorded the token arrive after the time for which the client waits.
#[test]
fn a_call_waits_for_the_outcome_while_its_token_is_recorded() {
    let mut cluster = Cluster::of_three();
    cluster.open_native(0, 1, 10);
    let (session, name, why) = (KEY, Name::lock("a").expect("a name"), String::new());
    let (request, mode, wait_ms, inside) = (1, Mode::Exclusive, Some(500), None);
    let acquire = Call::Acquire { session, request, name, mode, wait_ms, why, inside };
    cluster.begin_native_call(0, 2, 20, acquire);
    for node in [0, 1, 2] {
        cluster.deliver_from(node);
    }
    cluster.silent = links_of(3, 0).collect();
    cluster.pass(Span::from_millis(1_000));
    assert_eq!(cluster.answers.get(&CallerId::Connection(2)), None);
    cluster.restore_silent();
    assert!(cluster.is_granted(CallerId::Connection(2)));
}
