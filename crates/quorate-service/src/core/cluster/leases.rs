//! Leases of three nodes that lapse, or are released, while some links are cut.

use quorate_algorithms::mutex::leased_quorum::{ToCandidate, ToVoter};
use quorate_core::{SortedSet, Span};
use quorate_protocol::{CallResponse, Failure};

use super::{Cluster, new_lease};
use crate::lease::LeaseCall;
use crate::peer::PeerMessage;

/// Time after which a lease that no one keeps alive has lapsed. Its time-to-live is 8 s.
const LAPSED: Span = Span::from_millis(8_500);

/// After the first round trip the voters know the lease. Only after the second do they report it as continuous to a node that
/// has to continue it.
#[test]
fn a_lease_is_open_after_two_round_trips() {
    let mut cluster = Cluster::of_three();
    let opened = cluster.begin_call(0, 1, new_lease(8_000));
    // The beats of the relay, the echoes of the two other voters, and the effects of these echoes.
    for node in [0, 1, 2, 0] {
        cluster.deliver_from(node);
    }
    assert_eq!(cluster.answers.get(&opened), None);
    cluster.deliver();
    assert!(cluster.is_alive(opened));
}

/// The relay is kept for longer than the lease, so it has to ask the voters.
#[test]
fn a_keep_alive_of_a_lapsed_lease_is_refused_at_once() {
    let mut cluster = Cluster::of_three();
    let opened = cluster.grant(0, 1, 8_000);
    assert!(cluster.is_alive(opened));
    let held = cluster.acquire(0, 1);
    assert!(cluster.is_granted(held));
    // A call that reaches only its own node keeps the relay, and the session at the voter of that node.
    cluster.pass(Span::from_millis(1_000));
    cluster.cut([(0, 1), (0, 2)]);
    let unheard = cluster.call(0, 1, LeaseCall::KeepAlive);
    cluster.pass(Span::from_millis(7_500));
    assert!(!cluster.is_alive(unheard));
    assert!(cluster.nodes[0].relays.len() == 1, "the relay has not expired");
    cluster.cut([]);
    let late = cluster.call(0, 1, LeaseCall::KeepAlive);
    let refused = CallResponse::Failed(Failure::NoSession);
    assert_eq!(cluster.answers.get(&late), Some(&refused));
}

/// One node stays alone with a client that calls it. The two others have granted the client a lock, let its lease lapse and
/// granted the lock to another client. Then one of them is connected to the lonely node again.
#[test]
fn a_voter_at_which_a_lease_has_lapsed_does_not_keep_it_alive() {
    let mut cluster = Cluster::of_three();
    let opened = cluster.grant(1, 1, 8_000);
    assert!(cluster.is_alive(opened));
    let kept = cluster.call(0, 1, LeaseCall::KeepAlive);
    assert!(cluster.is_alive(kept));
    cluster.cut([(0, 1), (0, 2)]);
    let held = cluster.acquire(1, 1);
    assert!(cluster.is_granted(held));
    for _ in 0..4 {
        let kept = cluster.call(0, 1, LeaseCall::KeepAlive);
        cluster.pass(Span(LAPSED.0 / 4));
        assert!(!cluster.is_alive(kept));
    }
    let opened = cluster.grant(2, 2, 8_000);
    assert!(cluster.is_alive(opened));
    let next = cluster.acquire(2, 2);
    assert!(cluster.is_granted(next), "{:?}", cluster.answers.get(&next));
    cluster.cut([(0, 2)]);
    let late = cluster.call(0, 1, LeaseCall::KeepAlive);
    cluster.pass(Span::from_millis(200));
    assert!(!cluster.is_alive(late), "{:?}", cluster.answers.get(&late));
}

#[test]
fn a_release_through_another_node_is_not_a_loss() {
    let mut cluster = Cluster::of_three();
    let opened = cluster.grant(0, 1, 8_000);
    assert!(cluster.is_alive(opened));
    let held = cluster.acquire(0, 1);
    assert!(cluster.is_granted(held));
    cluster.cut([(0, 1), (0, 2)]);
    let released = cluster.release(1, 1);
    assert_eq!(cluster.answers.get(&released), Some(&CallResponse::Done));
    // The relay at the first node claims the lock until a voter tells it of the release.
    cluster.cut([]);
    cluster.pass(Span::from_millis(500));
    assert!(cluster.nodes[0].relays.values().all(|relay| relay.interests.is_empty()));
    assert!(!cluster.nodes[0].metrics_text(None, cluster.now).contains("why=\"expelled\""));
}

/// A lease whose lock another lease has held meanwhile. One voter has kept the record of the lock, one has kept the lease
/// since before it got the lock, and one has let it lapse. The first two are a quorum at which the lease is continuous, and
/// nothing but the token of the next vote shows the loss.
fn cluster_with_a_lost_lock() -> Cluster {
    let mut cluster = Cluster::of_three();
    let opened = cluster.grant(0, 1, 8_000);
    assert!(cluster.is_alive(opened));
    let kept = cluster.call(2, 1, LeaseCall::KeepAlive);
    assert!(cluster.is_alive(kept));
    cluster.isolate(&[2]);
    let held = cluster.acquire(0, 1);
    assert!(cluster.is_granted(held));
    cluster.isolate(&[0, 1, 2]);
    for _ in 0..4 {
        let unheard = [0, 2].map(|node| cluster.call(node, 1, LeaseCall::KeepAlive));
        cluster.pass(Span(LAPSED.0 / 4));
        assert!(unheard.iter().all(|call| !cluster.is_alive(*call)));
    }
    cluster.isolate(&[0]);
    let opened = cluster.grant(1, 2, 8_000);
    assert!(cluster.is_alive(opened));
    let other = cluster.acquire(1, 2);
    assert!(cluster.is_granted(other), "{:?}", cluster.answers.get(&other));
    let released = cluster.release(1, 2);
    assert_eq!(cluster.answers.get(&released), Some(&CallResponse::Done));
    cluster.isolate(&[1]);
    cluster
}

#[test]
fn a_lease_is_not_kept_alive_by_a_lock_that_it_has_lost() {
    let mut cluster = cluster_with_a_lost_lock();
    for _ in 0..10 {
        let kept = cluster.call(0, 1, LeaseCall::KeepAlive);
        cluster.pass(Span::from_millis(500));
        assert!(!cluster.is_alive(kept), "its client would believe that it has held the lock");
    }
}

#[test]
fn a_lease_that_has_lost_a_lock_ends() {
    let mut cluster = cluster_with_a_lost_lock();
    let mut last = cluster.call(0, 1, LeaseCall::KeepAlive);
    for _ in 0..9 {
        cluster.pass(Span::from_millis(1_000));
        last = cluster.call(0, 1, LeaseCall::KeepAlive);
    }
    let refused = CallResponse::Failed(Failure::NoSession);
    assert_eq!(cluster.answers.get(&last), Some(&refused));
}

/// A lease was revoked while one node was cut off. A call arrives at that node late, and its relay presents the lease to the
/// other voters again.
#[test]
fn a_lease_that_was_revoked_is_not_in_the_way_of_the_next_holder() {
    let mut cluster = Cluster::of_three();
    let opened = cluster.grant(1, 1, 8_000);
    assert!(cluster.is_alive(opened));
    cluster.isolate(&[0]);
    let revoked = cluster.call(1, 1, LeaseCall::Revoke);
    assert_eq!(cluster.answers.get(&revoked), Some(&CallResponse::Done));
    cluster.isolate(&[]);
    let late = cluster.acquire(0, 1);
    cluster.pass(Span::from_millis(500));
    assert!(!cluster.is_granted(late));
    let opened = cluster.grant(1, 2, 8_000);
    assert!(cluster.is_alive(opened));
    let next = cluster.acquire(1, 2);
    // The voter of the first node has voted for the revoked lease, so all voters are asked.
    cluster.pass(Span::from_millis(200));
    assert!(cluster.is_granted(next), "{:?}", cluster.answers.get(&next));
}

/// The node that has granted a lock stops before the lock has spare votes. The next relay needs one more vote. The first that
/// arrives does not fit the token, and the second does.
#[test]
fn a_lock_keeps_its_token_if_a_later_vote_fits_it() {
    let mut cluster = Cluster::of_five();
    for (node, lease) in [(0, 1), (3, 2)] {
        let opened = cluster.grant(node, lease, 8_000);
        assert!(cluster.is_alive(opened));
    }
    // The vote of the fourth node is given and withdrawn, so that its number is greater than those of the others.
    cluster.isolate(&[3, 4]);
    for _ in 0..3 {
        let waiting = cluster.acquire(3, 2);
        cluster.pass(Span::from_millis(200));
        cluster.close(3, waiting);
    }
    let held = cluster.acquire(0, 1);
    assert!(cluster.is_granted(held));
    cluster.isolate(&[0]);
    let kept = cluster.call(1, 1, LeaseCall::KeepAlive);
    cluster.pass(Span::from_millis(500));
    assert!(cluster.is_alive(kept), "{:?}", cluster.answers.get(&kept));
}

/// A node is paused for longer than its client may rely on a lock, and then finds a spare vote before it looks at its alarms.
#[test]
fn no_token_is_recorded_for_a_client_whose_validity_is_over() {
    let mut cluster = Cluster::of_three();
    let opened = cluster.grant(0, 1, 8_000);
    assert!(cluster.is_alive(opened));
    cluster.is_late =
        |_, _, message| matches!(message, PeerMessage::ToCandidate(_, ToCandidate::Vote { .. }));
    let held = cluster.acquire(0, 1);
    let voters: SortedSet<usize> = cluster.late.iter().map(|(from, ..)| *from).collect();
    for voter in &voters {
        cluster.deliver_late(*voter, 0);
    }
    assert!(cluster.is_granted(held));
    cluster.pass(Span::from_millis(200));
    assert!(!cluster.late.is_empty(), "a spare vote is on its way");
    cluster.now = cluster.now + LAPSED;
    cluster.is_late = |_, _, message| {
        matches!(message, PeerMessage::ToVoter(_, ToVoter::Raise { enters: true, .. }))
    };
    for voter in [1, 2] {
        cluster.deliver_late(voter, 0);
    }
    assert_eq!(cluster.late, []);
}
