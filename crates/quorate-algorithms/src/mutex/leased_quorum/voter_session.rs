//! A session as known to one voter.

use alloc::vec::Vec;

use quorate_core::{SortedMap, Span, Time};

use super::id::{Beat, Epoch, RequestId};
use super::voter::Record;

/// Maximum number of released requests per session that a voter remembers.
const RELEASED_MOST: usize = 64;

/// Maximum number of client incarnations per session at the same time.
const INCARNATIONS_MOST: usize = 64;

/// The newest beat of a client incarnation, and the time at which the voter received it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct LastBeat {
    pub(super) number: u64,
    pub(super) at: Time,
}

/// The state of a session at a voter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VoterSession<K> {
    pub(super) ttl: Span,
    pub(super) epoch: Epoch,
    /// Whether nodes run candidates for the session. If so, all its votes lapse together.
    pub(super) relayed: bool,
    /// Whether the voter has kept the session since before any lock was granted that its client may rely on. Only a
    /// candidate can know this. A session that has lapsed and is presented again is not continuous.
    pub(super) continuous: bool,
    /// The newest beat of each client incarnation. The votes of an incarnation are kept for one ttl after its newest
    /// beat. A process that has died does not keep its locks because another process of the same session lives.
    pub(super) beats: SortedMap<u64, LastBeat>,
    /// The clock that was last sent to this session in this epoch.
    pub(super) told: Option<u64>,
    /// Changes whenever the session's votes or requests at this voter change.
    pub(super) version: u64,
    /// Requests with a vote or in a queue, with their stamps.
    pub(super) requests: SortedMap<RequestId, (K, u64)>,
    /// Stamps of requests that wait at other voters, as announced by beats.
    pub(super) announced: SortedMap<RequestId, u64>,
    /// Requests that were ended by force, until the client releases them.
    pub(super) dead: SortedMap<RequestId, K>,
    /// The requests that the client has released last, with the attempt that has ended. A relay at another node may not
    /// know this yet, and must not get votes for them again.
    pub(super) released: Vec<(RequestId, u64)>,
}

impl<K> VoterSession<K> {
    pub(super) fn new(ttl: Span, epoch: Epoch) -> Self {
        Self {
            ttl,
            epoch,
            relayed: false,
            continuous: false,
            beats: SortedMap::new(),
            told: None,
            version: 0,
            requests: SortedMap::new(),
            announced: SortedMap::new(),
            dead: SortedMap::new(),
            released: Vec::new(),
        }
    }

    /// Time-to-live of the session.
    pub fn ttl(&self) -> Span {
        self.ttl
    }

    /// Returns `true` if a candidate has confirmed that the session is continuous.
    pub fn is_continuous(&self) -> bool {
        self.continuous
    }

    /// The record of the session in the vote file.
    pub(super) fn record(&self, session: u128) -> Record<K> {
        let Self { ttl, epoch, relayed, continuous, .. } = *self;
        Record::Session { session, ttl, epoch, relayed, continuous }
    }

    /// The time, by the voter's clock, at which the session ends unless a newer beat arrives.
    pub fn lapses(&self) -> Time {
        self.beats.values().map(|heard| heard.at + self.ttl).max().unwrap_or(Time::ZERO)
    }

    /// The time at which the voter frees the votes of a client incarnation unless a newer beat arrives.
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

    /// Records a release, and evicts the oldest one if there are too many.
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

    /// The last released attempt of a request, if the voter remembers the release.
    pub(super) fn released(&self, request: RequestId) -> Option<u64> {
        self.released.iter().find(|(of, _)| *of == request).map(|(_, attempt)| *attempt)
    }

    /// Returns `true` if a restart has restored votes of this client incarnation and no beat that extends
    /// them has arrived since.
    pub(super) fn is_unheard(&self, incarnation: u64) -> bool {
        let beats = self.beats.iter().filter(|(of, _)| self.relayed || **of == incarnation);
        beats.map(|(_, heard)| heard.number).max() == Some(0)
    }

    /// Returns `true` if a request has a vote or is in a queue.
    pub fn has(&self, request: RequestId) -> bool {
        self.requests.contains_key(&request)
    }

    /// Requests with a vote or in a queue, with their locks.
    pub fn requests(&self) -> impl ExactSizeIterator<Item = (RequestId, &K)> {
        self.requests.iter().map(|(request, (lock, _))| (*request, lock))
    }

    /// Records a beat. Returns `false` if there are too many incarnations. A beat that is not newer than an
    /// earlier one extends nothing.
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

    /// The newest beat received from a client incarnation.
    pub(super) fn newest(&self, incarnation: u64) -> Beat {
        let number = self.beats.get(&incarnation).map_or(0, |heard| heard.number);
        Beat { incarnation, number }
    }
}
