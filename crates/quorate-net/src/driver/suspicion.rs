//! When a peer that is away counts as crashed: after a time, or at once if it has said farewell.
//!
//! On a network nobody can tell a crash from a broken cable, so this detector errs; what it says of a peer that has come
//! back in a new life is right: it was down.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use quorate_core::{Belief, ProcessId};
use tokio::time::Instant;

use super::Told;
use crate::event::Gone;

pub(super) struct Suspicion {
    after: Duration,
    peers: BTreeMap<ProcessId, Standing>,
    met: BTreeSet<ProcessId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Here,
    /// Away, and suspected from then on.
    Away(Instant),
    Suspected,
}

impl Suspicion {
    /// Nobody is there at first, and has so long to come.
    pub(super) fn new(
        peers: impl Iterator<Item = ProcessId>,
        after: Duration,
        now: Instant,
    ) -> Self {
        let peers = peers.map(|peer| (peer, Standing::Away(now + after))).collect();
        Self { after, peers, met: BTreeSet::new() }
    }

    /// When somebody may have to be suspected.
    pub(super) fn next(&self) -> Option<Instant> {
        let deadline = |standing: &Standing| match standing {
            Standing::Away(deadline) => Some(*deadline),
            _ => None,
        };
        self.peers.values().filter_map(deadline).min()
    }

    /// Whom to suspect from now on.
    pub(super) fn due(&mut self, now: Instant) -> Told {
        let mut told = Told::new();
        for (&peer, standing) in &mut self.peers {
            if matches!(standing, Standing::Away(deadline) if *deadline <= now) {
                *standing = Standing::Suspected;
                told.push(Belief::Crashed(peer));
            }
        }
        told
    }

    pub(super) fn down(&mut self, peer: ProcessId, why: &Gone, now: Instant) {
        if let Some(standing @ Standing::Here) = self.peers.get_mut(&peer) {
            let after = if *why == Gone::Stopped { Duration::ZERO } else { self.after };
            *standing = Standing::Away(now + after);
        }
    }

    /// It is there. One that has lost its memory was down, whether anybody had noticed or not.
    pub(super) fn up(&mut self, peer: ProcessId, fresh: bool) -> Told {
        let known = self.peers.insert(peer, Standing::Here);
        let reborn = !self.met.insert(peer) && fresh;
        let (crashed, alive) = (Belief::Crashed(peer), Belief::Alive(peer));
        match known {
            Some(Standing::Suspected) => vec![alive],
            _ if reborn => vec![crashed, alive],
            _ => Told::new(),
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
        let mut suspicion = Suspicion::new([P].into_iter(), AFTER, now);
        assert_eq!(suspicion.due(now), []);
        assert_eq!(suspicion.next(), Some(now + AFTER));
        assert_eq!(suspicion.due(now + AFTER), [Belief::Crashed(P)]);
        assert_eq!(suspicion.due(now + AFTER), []);
        assert_eq!(suspicion.up(P, true), [Belief::Alive(P)]);
        assert_eq!(suspicion.next(), None);
    }

    #[test]
    fn a_farewell_counts_at_once() {
        let now = Instant::now();
        let mut suspicion = Suspicion::new([P].into_iter(), AFTER, now);
        assert_eq!(suspicion.up(P, true), []);
        suspicion.down(P, &Gone::Stopped, now);
        assert_eq!(suspicion.due(now), [Belief::Crashed(P)]);
    }

    #[test]
    fn who_comes_back_without_memory_was_down() {
        let now = Instant::now();
        let mut suspicion = Suspicion::new([P].into_iter(), AFTER, now);
        suspicion.up(P, true);
        suspicion.down(P, &Gone::Silent, now);
        assert_eq!(suspicion.up(P, false), []);
        suspicion.down(P, &Gone::Silent, now);
        assert_eq!(suspicion.up(P, true), [Belief::Crashed(P), Belief::Alive(P)]);
    }
}
