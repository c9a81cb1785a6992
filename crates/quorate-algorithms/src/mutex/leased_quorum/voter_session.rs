//! A session as one voter knows it.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use quorate_core::{Span, Time};

use super::id::{Beat, Epoch, RequestId};

/// Maximum number of released requests of one session that a voter remembers.
const RELEASED_MOST: usize = 64;

/// Maximum number of client incarnations of one session at one time.
const INCARNATIONS_MOST: usize = 64;

/// The newest beat of a client incarnation, and when the voter heard it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct LastBeat {
    pub(super) number: u64,
    pub(super) at: Time,
}

/// A session at a voter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VoterSession<K> {
    pub(super) ttl: Span,
    pub(super) epoch: Epoch,
    /// Whether nodes run candidates for it: then everything that it has lapses together.
    pub(super) relayed: bool,
    /// By client incarnation. What an incarnation has is kept for one ttl after its newest beat: a process that has died does
    /// not keep its locks because another process of the same session lives.
    pub(super) beats: BTreeMap<u64, LastBeat>,
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
    /// Requests that the client has released last, with the attempt that has ended. A relay at another node may not know yet,
    /// and must not get their votes again.
    pub(super) released: Vec<(RequestId, u64)>,
}

impl<K> VoterSession<K> {
    pub(super) fn new(ttl: Span, epoch: Epoch) -> Self {
        Self {
            ttl,
            epoch,
            relayed: false,
            beats: BTreeMap::new(),
            told: None,
            version: 0,
            requests: BTreeMap::new(),
            announced: BTreeMap::new(),
            dead: BTreeMap::new(),
            released: Vec::new(),
        }
    }

    /// Time-to-live of the session.
    pub fn ttl(&self) -> Span {
        self.ttl
    }

    /// When the session ends unless a newer beat is heard, by the voter's clock.
    pub fn lapses(&self) -> Time {
        self.beats.values().map(|heard| heard.at + self.ttl).max().unwrap_or(Time::ZERO)
    }

    /// When the voter frees what a client incarnation has, unless it hears a newer beat.
    pub(super) fn lapses_of(&self, incarnation: u64) -> Option<Time> {
        match self.relayed {
            true => Some(self.lapses()),
            false => self.lapses_alone(incarnation),
        }
    }

    /// One ttl after the newest beat of this incarnation.
    pub(super) fn lapses_alone(&self, incarnation: u64) -> Option<Time> {
        self.beats.get(&incarnation).map(|heard| heard.at + self.ttl)
    }

    /// Takes note of a release.
    pub(super) fn release(&mut self, request: RequestId, attempt: u64) {
        if let Some((_, known)) = self.released.iter_mut().find(|(of, _)| *of == request) {
            *known = attempt.max(*known);
            return;
        }
        if self.released.len() >= RELEASED_MOST {
            self.released.remove(0);
        }
        self.released.push((request, attempt));
    }

    /// The attempt of a request that was released not long ago.
    pub(super) fn released(&self, request: RequestId) -> Option<u64> {
        self.released.iter().find(|(of, _)| *of == request).map(|(_, attempt)| *attempt)
    }

    /// Whether a restart has brought back what this client incarnation has, and no beat that extends it was heard since.
    pub(super) fn is_unheard(&self, incarnation: u64) -> bool {
        let beats = self.beats.iter().filter(|(of, _)| self.relayed || **of == incarnation);
        beats.map(|(_, heard)| heard.number).max() == Some(0)
    }

    /// Whether a request has a vote or is in a queue.
    pub fn has(&self, request: RequestId) -> bool {
        self.requests.contains_key(&request)
    }

    /// Requests with a vote or in a queue, with their locks.
    pub fn requests(&self) -> impl ExactSizeIterator<Item = (RequestId, &K)> {
        self.requests.iter().map(|(request, (lock, _))| (*request, lock))
    }

    /// Takes note of a beat; tells whether there is room for its incarnation. A beat that is not newer than those heard
    /// before extends nothing.
    pub(super) fn hear(&mut self, beat: Beat, now: Time) -> bool {
        let Beat { incarnation, number } = beat;
        if !self.beats.contains_key(&incarnation) && self.beats.len() >= INCARNATIONS_MOST {
            return false;
        }
        let heard = self.beats.entry(incarnation).or_insert(LastBeat { number, at: now });
        if number > heard.number {
            *heard = LastBeat { number, at: now };
        }
        true
    }

    /// The newest beat heard from a client incarnation.
    pub(super) fn newest(&self, incarnation: u64) -> Beat {
        let number = self.beats.get(&incarnation).map_or(0, |heard| heard.number);
        Beat { incarnation, number }
    }
}
