//! Peer links, closed connections, and the departure of this node.

use quorate_algorithms::mutex::leased_quorum::RequestId;
use quorate_core::{ProcessId, Span, Time};
use quorate_protocol::{CallResponse, Failure, ServerMessage};

use super::relay::Origin;
use super::{CallerId, NodeCore};
use crate::peer::PeerMessage;

/// Time that a leaving node gives candidates elsewhere to take other votes.
const LEAVE_DELAY: Span = Span::from_millis(300);

impl NodeCore {
    /// Handles a change of the link to a peer. `Err` contains the reason why the peer is unreachable.
    pub fn on_peer_link(&mut self, peer: ProcessId, up: Result<(), String>, now: Time) {
        let is_up = up.is_ok();
        self.up.insert(peer, up);
        if is_up {
            self.greet_peer(peer);
            self.leaving_peers.remove(peer);
            self.voter.linked(now);
            self.watch.forget_votes_of(peer);
            self.send_all_watches(peer);
            if let Some(address) = self.settings.client_address.clone() {
                self.send(peer, PeerMessage::ClientAddress(address));
            }
            self.describe_to(peer);
            self.resume_everywhere(peer, now);
        } else {
            self.membership.foreign.remove(&peer);
            self.avoid_everywhere(peer, now);
        }
        self.deliver_local(now);
    }

    /// Sends texts to a peer: those of sessions that this node relays, and those of sessions that the peer was the last to
    /// relay. A peer that was restarted has lost them.
    fn describe_to(&mut self, peer: ProcessId) {
        let mut all = Vec::new();
        for (session, relay) in &self.relays {
            all.extend(self.texts.describe(*session, None));
            let requests = relay.interests.keys();
            all.extend(requests.filter_map(|it| self.texts.describe(*session, Some(*it))));
        }
        let of_peer = peer.index() as u32;
        let theirs = self.texts.sessions().filter(|(session, known)| {
            known.session_text.relayed
                && known.session_text.node == of_peer
                && !self.relays.contains_key(session)
        });
        for (session, known) in theirs {
            all.extend(self.texts.describe(session, None));
            let requests = known.requests.keys();
            all.extend(requests.filter_map(|it| self.texts.describe(session, Some(*it))));
        }
        for description in all {
            self.send(peer, PeerMessage::Describe(Box::new(description)));
        }
    }

    pub(super) fn peer_leaves(&mut self, peer: ProcessId, now: Time) {
        tracing::info!(%peer, "a node leaves: it was asked to stop");
        self.leaving_peers.insert(peer);
        self.avoid_everywhere(peer, now);
    }

    /// Handles a closed connection. Sessions live until they expire, because their clients may reconnect. A request of a
    /// front end whose caller did not receive the answer is withdrawn from the relay here. The client may have continued
    /// through another node: a closed connection is not a statement of the client that it has stopped.
    pub fn connection_closed(&mut self, caller: CallerId, answer_received: bool, now: Time) {
        self.direct.detach(caller);
        self.unwatch(caller);
        let withdrawn = self.withdrawable.remove(&caller).filter(|_| !answer_received);
        if let Some((session, granted)) = withdrawn {
            self.withdraw_unheard(session, caller, granted, now);
        }
        match caller {
            CallerId::Connection(_) => self.mark_disconnected(caller),
            // The waiting call of a front end is withdrawn above.
            CallerId::FrontEnd(_) | CallerId::Node => {}
        }
        self.deliver_local(now);
    }

    /// Marks the waiting calls of a closed connection. Their requests keep their positions.
    fn mark_disconnected(&mut self, caller: CallerId) {
        for relay in self.relays.values_mut().filter(|it| it.caller == caller) {
            let waiting = relay.interests.values_mut().flat_map(|it| &mut it.waiting);
            for waiter in waiting.filter(|waiter| waiter.call_id.0 == caller) {
                waiter.connected = false;
            }
        }
    }

    fn withdraw_unheard(
        &mut self,
        session: u128,
        caller: CallerId,
        granted: Option<RequestId>,
        now: Time,
    ) {
        let Some(relay) = self.relays.get_mut(&session) else { return };
        let leased = relay.is_lease();
        let mut unheard = Vec::new();
        for (request, interest) in &mut relay.interests {
            let had = interest.waiting.len();
            interest.waiting.retain(|waiter| waiter.call_id.0 != caller);
            if granted == Some(*request) {
                interest.answered -= 1;
            }
            let is_its = interest.waiting.len() < had || granted == Some(*request);
            if is_its && interest.waiting.is_empty() && interest.answered == 0 && !interest.detached
            {
                unheard.push(*request);
            }
        }
        for request in unheard {
            // A client with a session key learns from every keep-alive which locks it holds, and can release them. A client
            // of etcd's API does not learn this, so the recorded token is withdrawn, too.
            if !self.withdraw(session, request, leased, now)
                && let Some(relay) = self.relays.get_mut(&session)
                && let Some(interest) = relay.interests.get_mut(&request)
            {
                interest.detached = true;
            }
        }
    }

    /// Prepares the node to stop: clients continue through other nodes, and candidates take the votes of other voters.
    pub fn leave(&mut self, now: Time) {
        if self.leaving.is_some() {
            return;
        }
        self.leaving = Some(now);
        tracing::info!(sessions = self.relays.len(), "this node leaves: it was asked to stop");
        for peer in self.peers_that_are_up() {
            self.send(peer, PeerMessage::Leaving);
        }
        // Locks that are held through this node get votes elsewhere, so that another relay finds a quorum of them.
        self.avoid_everywhere(self.settings.id, now);
        let relayed = self.relays.values().filter(|relay| matches!(relay.origin, Origin::Key(_)));
        let mut notified: Vec<CallerId> = relayed.map(|relay| relay.caller).collect();
        notified.extend(self.direct.callers().chain(self.watch.callers()));
        notified.sort_unstable();
        notified.dedup();
        for caller in notified {
            self.send_client(caller, ServerMessage::Leaving);
        }
        self.fail_local_calls();
        self.deliver_local(now);
    }

    /// Fails the waiting calls of the front ends, so that their clients call another node. Their
    /// requests keep their positions.
    fn fail_local_calls(&mut self) {
        let mut failed = Vec::new();
        for relay in self.relays.values_mut() {
            for waiter in relay.interests.values_mut().flat_map(|it| &mut it.waiting) {
                if waiter.connected && waiter.call_id.0.is_front_end() {
                    waiter.connected = false;
                    failed.push(waiter.call_id);
                }
            }
        }
        for call_id in failed {
            self.withdrawable.remove(&call_id.0);
            self.answer(call_id, CallResponse::Failed(Failure::Leaving));
        }
    }

    /// Returns whether a leaving node may stop: it has no votes, or candidates elsewhere have had time to take other votes.
    pub fn is_idle(&self, now: Time) -> bool {
        let waited = self.leaving.is_some_and(|since| now.since(since) >= LEAVE_DELAY);
        let votes = self.voter.ballots().any(|(_, ballot)| ballot.vote().is_some());
        waited || !votes || self.electorate.len() == 1
    }
}

#[cfg(test)]
mod tests {
    use quorate_algorithms::mutex::leased_quorum::{
        Beat, CandidateId, Claim, Presented, Rank, ToVoter,
    };
    use quorate_protocol::Name;

    use super::*;
    use crate::core::testing::node_of_three;

    /// The node's clock, in milliseconds.
    const CLOCK: u64 = 10_000;

    /// Two clients have requested a lock while no link to this node was up. The one that was first is heard last.
    #[test]
    fn requests_keep_their_stamps_after_a_link_has_come_up() {
        let (mut core, peer, lock) = (node_of_three(0), ProcessId::new(1), Name::lock("a"));
        let lock = lock.expect("a name");
        core.wake(Time(1), CLOCK);
        core.on_peer_link(peer, Ok(()), Time(1));
        let mut stamp_of = |session: u128, stamp: u64, now: Time| {
            let request = RequestId { session, incarnation: 1, number: 1 };
            let claim = Claim { request, attempt: 1, candidate: CandidateId(1 << 56) };
            let beat = Beat { incarnation: 1, number: 1 };
            let ttl = Span::from_millis(8_000);
            let session = Presented { session, ttl, beat, relayed: false, config: 0 };
            let (lock, inside, rank) = (lock.clone(), None, Rank::Waits);
            let asked = ToVoter::Request { session, lock, claim, stamp, inside, rank, ended: 0 };
            core.on_peer_message(peer, PeerMessage::ToVoter(claim.candidate, asked), now);
            let ballot = core.voter.ballot(&Name::lock("a").expect("a name")).expect("it is asked");
            let voted = ballot.vote().filter(|vote| vote.claim == claim).map(|vote| vote.stamp);
            let queued = ballot.queue().find(|(_, of)| *of == claim).map(|(stamp, _)| stamp);
            voted.or(queued).expect("it is known")
        };
        let (first, last) = (stamp_of(1, 4_000, Time(1)), stamp_of(2, 3_000, Time(2)));
        assert_eq!((first, last), (4_000, 3_000));
        // Long after the last link has come up, a request that the voter hears of is new.
        let later = Time(2) + Span::from_millis(8_001);
        assert!(stamp_of(3, 2_000, later) >= CLOCK);
    }
}
