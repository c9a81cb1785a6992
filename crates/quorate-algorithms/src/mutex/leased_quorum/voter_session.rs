//! A session as one voter knows it.

use alloc::collections::BTreeMap;

use quorate_core::{Span, Time};

use super::id::{Beat, Epoch, RequestId};

/// Maximum number of client incarnations of one session whose beats a voter tells apart. Beyond it the voter may take an
/// old beat of a forgotten incarnation for a new one and keep votes longer; it never keeps them shorter.
const INCARNATIONS_MOST: usize = 4;

/// A session at a voter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VoterSession<K> {
    pub(super) ttl: Span,
    pub(super) epoch: Epoch,
    /// When the voter last heard a newer beat, by its own clock.
    pub(super) heard: Time,
    /// Newest beat by client incarnation.
    pub(super) beats: BTreeMap<u64, u64>,
    /// The clock last told to this session in this epoch.
    pub(super) told: Option<u64>,
    /// Changes with everything that the session has here.
    pub(super) version: u64,
    /// Requests with a vote or in a queue, with their stamps.
    pub(super) requests: BTreeMap<RequestId, (K, u64)>,
    /// Stamps of requests that wait elsewhere, told by beats.
    pub(super) announced: BTreeMap<RequestId, u64>,
    /// Requests that were ended by force, until the client lets go of them.
    pub(super) dead: BTreeMap<RequestId, K>,
}

impl<K> VoterSession<K> {
    pub(super) fn new(ttl: Span, epoch: Epoch, now: Time) -> Self {
        Self {
            ttl,
            epoch,
            heard: now,
            beats: BTreeMap::new(),
            told: None,
            version: 0,
            requests: BTreeMap::new(),
            announced: BTreeMap::new(),
            dead: BTreeMap::new(),
        }
    }

    /// Time-to-live of the session.
    pub fn ttl(&self) -> Span {
        self.ttl
    }

    /// When the session ends unless a newer beat is heard, by the voter's clock.
    pub fn lapses(&self) -> Time {
        self.heard + self.ttl
    }

    /// Requests with a vote or in a queue, with their locks.
    pub fn requests(&self) -> impl ExactSizeIterator<Item = (RequestId, &K)> {
        self.requests.iter().map(|(request, (lock, _))| (*request, lock))
    }

    /// Takes note of a beat. A beat that is not newer than those heard before extends nothing.
    pub(super) fn hear(&mut self, beat: Beat, now: Time) {
        let known = self.beats.get(&beat.incarnation);
        if known.is_some_and(|known| *known >= beat.number) {
            return;
        }
        self.heard = now;
        self.beats.insert(beat.incarnation, beat.number);
        while self.beats.len() > INCARNATIONS_MOST {
            let other = self.beats.keys().copied().find(|other| *other != beat.incarnation);
            other.and_then(|other| self.beats.remove(&other));
        }
    }

    /// The newest beat heard from a client incarnation.
    pub(super) fn newest(&self, incarnation: u64) -> Beat {
        let number = self.beats.get(&incarnation).copied().unwrap_or(0);
        Beat { incarnation, number }
    }
}
