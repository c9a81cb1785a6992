//! A failure detector by timeout: a disconnected peer counts as crashed after a time, or immediately if it has announced
//! that it stops.
//!
//! In a network a crash cannot be distinguished from a broken cable, so this detector makes mistakes. It makes none about a
//! peer that returns in a new incarnation: that peer was down.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use quorate_core::{Belief, ProcessId};
use tokio::time::Instant;

use super::BeliefChanges;
use crate::event::DisconnectReason;

pub(super) struct TimeoutDetector {
    after: Duration,
    peers: BTreeMap<ProcessId, PeerState>,
    seen: BTreeSet<ProcessId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PeerState {
    Up,
    /// Disconnected; suspected from this time on.
    Down(Instant),
    Suspected,
}

impl TimeoutDetector {
    /// All peers are disconnected at first, and have `after` to connect.
    pub(super) fn new(
        peers: impl Iterator<Item = ProcessId>,
        after: Duration,
        now: Instant,
    ) -> Self {
        let peers = peers.map(|peer| (peer, PeerState::Down(now + after))).collect();
        Self { after, peers, seen: BTreeSet::new() }
    }

    /// Earliest time at which a peer may have to be suspected.
    pub(super) fn next(&self) -> Option<Instant> {
        let deadline = |state: &PeerState| match state {
            PeerState::Down(deadline) => Some(*deadline),
            _ => None,
        };
        self.peers.values().filter_map(deadline).min()
    }

    /// Peers to suspect from now on.
    pub(super) fn due(&mut self, now: Instant) -> BeliefChanges {
        let mut changes = BeliefChanges::new();
        for (&peer, state) in &mut self.peers {
            if matches!(state, PeerState::Down(deadline) if *deadline <= now) {
                *state = PeerState::Suspected;
                changes.push(Belief::Crashed(peer));
            }
        }
        changes
    }

    pub(super) fn down(&mut self, peer: ProcessId, why: &DisconnectReason, now: Instant) {
        if let Some(state @ PeerState::Up) = self.peers.get_mut(&peer) {
            let after = if *why == DisconnectReason::Stopped { Duration::ZERO } else { self.after };
            *state = PeerState::Down(now + after);
        }
    }

    /// A peer has connected. A peer that has lost its state was down, whether it was suspected or not.
    pub(super) fn up(&mut self, peer: ProcessId, fresh: bool) -> BeliefChanges {
        let known = self.peers.insert(peer, PeerState::Up);
        let restarted = !self.seen.insert(peer) && fresh;
        let (crashed, alive) = (Belief::Crashed(peer), Belief::Alive(peer));
        match known {
            Some(PeerState::Suspected) => vec![alive],
            _ if restarted => vec![crashed, alive],
            _ => BeliefChanges::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const P: ProcessId = ProcessId::new(1);
    const AFTER: Duration = Duration::from_secs(1);

    #[test]
    fn who_is_away_for_long_is_suspected_once_and_trusted_again() {
        let now = Instant::now();
        let mut detector = TimeoutDetector::new([P].into_iter(), AFTER, now);
        assert_eq!(detector.due(now), []);
        assert_eq!(detector.next(), Some(now + AFTER));
        assert_eq!(detector.due(now + AFTER), [Belief::Crashed(P)]);
        assert_eq!(detector.due(now + AFTER), []);
        assert_eq!(detector.up(P, true), [Belief::Alive(P)]);
        assert_eq!(detector.next(), None);
    }

    #[test]
    fn a_farewell_counts_at_once() {
        let now = Instant::now();
        let mut detector = TimeoutDetector::new([P].into_iter(), AFTER, now);
        assert_eq!(detector.up(P, true), []);
        detector.down(P, &DisconnectReason::Stopped, now);
        assert_eq!(detector.due(now), [Belief::Crashed(P)]);
    }

    #[test]
    fn who_comes_back_without_memory_was_down() {
        let now = Instant::now();
        let mut detector = TimeoutDetector::new([P].into_iter(), AFTER, now);
        detector.up(P, true);
        detector.down(P, &DisconnectReason::Silent, now);
        assert_eq!(detector.up(P, false), []);
        detector.down(P, &DisconnectReason::Silent, now);
        assert_eq!(detector.up(P, true), [Belief::Crashed(P), Belief::Alive(P)]);
    }

    #[test]
    fn a_broken_connection_has_its_time_to_come_back() {
        let now = Instant::now();
        let mut detector = TimeoutDetector::new([P].into_iter(), AFTER, now);
        detector.up(P, true);
        detector.down(P, &DisconnectReason::Silent, now);
        assert_eq!((detector.due(now), detector.next()), (vec![], Some(now + AFTER)));
    }
}
