//! A node withdraws a recorded token of a lease while another node continues the request. The client has no answer yet, so it
//! asks the other node.

use quorate_algorithms::mutex::leased_quorum::{ToCandidate, ToVoter};
use quorate_core::{ProcessId, ProcessSet, Span};
use quorate_protocol::Name;

use super::{Cluster, new_lease};
use crate::core::CallerId;
use crate::lease::LeaseCall;
use crate::peer::PeerMessage;

impl Cluster {
    /// Calls a node for a lock whose preferred voters are those of the first two nodes.
    fn acquire_from_first(&mut self, node: usize, lease: i64) -> CallerId {
        let first: ProcessSet = [0, 1].map(ProcessId::new).into_iter().collect();
        let none = ProcessSet::new();
        let mut names = (0..100).map(|number| Name::lock(&number.to_string()).expect("a name"));
        let electorate = &self.nodes[node].electorate;
        let name = names.find(|name| electorate.preferred(name, &none) == first).expect("a lock");
        self.call(node, lease, LeaseCall::Acquire { name, request: 1, value: String::new() })
    }
}

/// News for the first node that its token is recorded, the withdrawal of this token at the third node, and inquiries.
fn is_late(_: usize, to: usize, message: &PeerMessage) -> bool {
    match message {
        PeerMessage::ToVoter(_, ToVoter::Withdraw { .. }) => to == 2,
        PeerMessage::ToCandidate(_, ToCandidate::Raised { .. }) => to == 0,
        PeerMessage::ToCandidate(_, ToCandidate::Inquire { .. }) => true,
        _ => false,
    }
}

/// The client of the first lease calls the first node, which gets the votes of the first and the third node. A rival has the
/// vote of the second one. The client keeps its lease alive through the third node, loses the connection to the first one,
/// and calls the third one, which knows from the voters that a token is recorded.
#[test]
fn a_token_that_another_node_withdraws_is_not_reported() {
    let mut cluster = Cluster::of_three();
    for lease in [1, 2] {
        let opened = cluster.call(0, lease, new_lease(8_000));
        assert!(cluster.is_alive(opened));
    }
    let kept = cluster.call(2, 1, LeaseCall::KeepAlive);
    assert!(cluster.is_alive(kept));
    cluster.is_late = |_, to, message| {
        matches!(message, PeerMessage::ToVoter(_, ToVoter::Request { .. })) && to == 1
    };
    let unheard = cluster.acquire_from_first(0, 1);
    cluster.is_late = is_late;
    cluster.pass(Span::from_millis(100));
    let rival = cluster.acquire_from_first(0, 2);
    // The first node asks the third voter for the first lease, and then for the second one.
    cluster.pass(Span::from_millis(100));
    for _ in 0..2 {
        cluster.call(0, 2, LeaseCall::KeepAlive);
    }
    assert_eq!(cluster.answers.get(&unheard), None);
    cluster.call(2, 1, LeaseCall::KeepAlive);
    cluster.close(0, unheard);
    let again = cluster.acquire_from_first(2, 1);
    let is_withdrawn = |it: &(usize, usize, PeerMessage)| is_late(it.0, it.1, &it.2) && it.1 == 2;
    assert!(cluster.late.iter().any(is_withdrawn), "the token is withdrawn");
    cluster.is_late =
        |_, _, message| matches!(message, PeerMessage::ToCandidate(_, ToCandidate::Inquire { .. }));
    cluster.deliver_late(0, 2);
    cluster.pass(Span::from_millis(500));
    let granted = [again, rival].map(|call| cluster.is_granted(call));
    assert!(granted[0] != granted[1], "one of them holds the lock: {granted:?}");
}
