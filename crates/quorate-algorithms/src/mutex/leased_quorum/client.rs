//! The client: the only party that knows whether the critical section is entered. It numbers requests, attempts and
//! beats, and counts validity from when it sent a beat.

use alloc::vec::Vec;

use quorate_core::{SortedMap, Span, Time};

use super::id::{Beat, RequestId};
use super::message::{Call, Name, Presented, Report, RequestStatus, Wanted};
use super::terms::Terms;

/// A client process and its session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Client<K: Name> {
    session: u128,
    ttl: Span,
    /// Chosen at random when the process opens the session.
    incarnation: u64,
    validity: Span,
    beats: u64,
    /// The times at which recent beats were sent, by this client's clock.
    sent: SortedMap<u64, Time>,
    issued: u64,
    requests: SortedMap<RequestId, Request<K>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Request<K> {
    lock: K,
    attempt: u64,
    stamp: u64,
    inside: Option<Inside>,
}

/// A critical section in which the client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Inside {
    token: u64,
    until: Time,
}

/// An event about a request of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClientEvent {
    /// The client is inside. The candidate has to learn that.
    Entered {
        /// The request that has entered.
        request: RequestId,
        /// Greater than every earlier token of the lock.
        token: u64,
    },
    /// The client was inside and is not any more. The request has ended, and its votes have to be released.
    Lost {
        /// The request that was lost.
        request: RequestId,
        /// The token of the request.
        token: u64,
        /// Whether it was lost by a force release, and not because too few voters answered in time.
        forced: bool,
    },
    /// The request waited, and was ended by a force release.
    Gone(RequestId),
    /// The request waits at this position.
    Waiting(RequestId, u32),
    /// The attempt was raised. The candidate has to be asked again.
    Again(RequestId),
}

impl<K: Name> Client<K> {
    /// Creates a client process that opens a session, or joins a session that another process has opened.
    pub fn new(session: u128, incarnation: u64, ttl: Span, terms: Terms) -> Self {
        Self {
            session,
            ttl,
            incarnation,
            validity: terms.validity(ttl),
            beats: 0,
            sent: SortedMap::new(),
            issued: 0,
            requests: SortedMap::new(),
        }
    }

    /// The session with the newest beat.
    pub fn presented(&self) -> Presented {
        let beat = Beat { incarnation: self.incarnation, number: self.beats };
        Presented { session: self.session, ttl: self.ttl, beat, relayed: false, config: 0 }
    }

    /// Applies other terms. Beats that were sent before count on the new terms too, but no lock that the client is
    /// inside of ends earlier.
    pub fn set_terms(&mut self, terms: Terms) {
        self.validity = terms.validity(self.ttl);
    }

    /// Number of requests made so far.
    pub fn issued(&self) -> u64 {
        self.issued
    }

    /// Interval between beats of this client.
    pub fn beat_interval(&self) -> Span {
        Terms::beat(self.ttl)
    }

    /// Begins a new beat.
    pub fn begin_beat(&mut self, now: Time) -> Beat {
        self.begin_beat_at_least(0, now)
    }

    /// Begins a beat with this number, or with a greater one if the number was used before. Explorers without a time
    /// limit number beats by the clock, so that states which differ only by a shift in time become equal.
    pub fn begin_beat_at_least(&mut self, number: u64, now: Time) -> Beat {
        self.beats = number.max(self.beats + 1);
        let validity = self.validity;
        self.sent.retain(|_, sent| *sent + validity > now);
        self.sent.insert(self.beats, now);
        self.presented().beat
    }

    /// Makes a request. `stamp` is the caller's estimate of the voters' present clock, or 0. Without it, the request is
    /// as old as the last clock that the session received, and may overtake requests that were made since.
    pub fn acquire(&mut self, lock: K, stamp: u64) -> RequestId {
        self.issued += 1;
        let request = Request { lock, attempt: 1, stamp, inside: None };
        let id = self.id_of(self.issued);
        self.requests.insert(id, request);
        id
    }

    /// Ends a request, because the client has stopped or no longer wants the lock.
    pub fn release(&mut self, request: RequestId) -> bool {
        self.requests.remove(&request).is_some()
    }

    /// Prepares for another candidate: every attempt is raised, so that the two candidates cannot be confused.
    pub fn change_candidate(&mut self) {
        self.requests.values_mut().for_each(|request| request.attempt += 1);
    }

    /// A request in the form that a candidate needs.
    pub fn wanted(&self, request: RequestId) -> Option<Wanted<K>> {
        let of = self.requests.get(&request)?;
        Some(Wanted {
            lock: of.lock.clone(),
            request,
            attempt: of.attempt,
            stamp: of.stamp,
            inside: of.inside.map(|inside| inside.token),
            ended: 0,
        })
    }

    /// All requests that the client wants.
    pub fn all_wanted(&self) -> Vec<Wanted<K>> {
        self.requests.keys().filter_map(|request| self.wanted(*request)).collect()
    }

    /// The call to a candidate in a node. The caller has to begin a beat before.
    pub fn call(&self) -> Call<K> {
        Call { session: self.presented(), issued: self.issued, wanted: self.all_wanted() }
    }

    /// The time, by this client's clock, until which it may rely on being inside.
    pub fn valid_until(&self, request: RequestId) -> Option<Time> {
        let of = self.requests.get(&request)?;
        of.inside.map(|inside| inside.until)
    }

    /// Locks, requests and tokens of all sections in which the client is.
    pub fn held(&self) -> impl Iterator<Item = (&K, RequestId, u64)> {
        self.requests
            .iter()
            .filter_map(|(request, of)| Some((&of.lock, *request, of.inside?.token)))
    }

    /// Returns `true` if a request waits or is inside.
    pub fn has(&self, request: RequestId) -> bool {
        self.requests.contains_key(&request)
    }

    /// Handles a report of a candidate.
    pub fn on_report(&mut self, report: Report, now: Time, out: &mut Vec<ClientEvent>) {
        let Report { request, attempt, stamp, standing } = report;
        let until = |beat: Beat| self.good_until(beat);
        let until = match standing {
            RequestStatus::Granted { beat, .. } | RequestStatus::Held(Some(beat)) => until(beat),
            _ => None,
        };
        let Some(of) = self.requests.get_mut(&request) else { return };
        // Only the latest attempt counts: an earlier candidate may have given votes back since.
        if of.attempt != attempt {
            return;
        }
        of.stamp = of.stamp.max(stamp);
        match (standing, of.inside) {
            (RequestStatus::Granted { token, .. }, None) => {
                let Some(until) = until.filter(|until| *until > now) else { return };
                of.inside = Some(Inside { token, until });
                out.push(ClientEvent::Entered { request, token });
            }
            // Once invalid, it never becomes valid again.
            (RequestStatus::Held(_), Some(inside)) if inside.until > now => {
                let until = until.map_or(inside.until, |until| until.max(inside.until));
                of.inside = Some(Inside { until, ..inside });
            }
            (RequestStatus::Broken, None) => {
                of.attempt += 1;
                out.push(ClientEvent::Again(request));
            }
            (RequestStatus::Stale(known), _) => {
                of.attempt = known.max(of.attempt).saturating_add(1);
                out.push(ClientEvent::Again(request));
            }
            (RequestStatus::Gone, None) => {
                self.requests.remove(&request);
                out.push(ClientEvent::Gone(request));
            }
            (RequestStatus::Gone, Some(Inside { token, .. })) => {
                self.requests.remove(&request);
                out.push(ClientEvent::Lost { request, token, forced: true });
            }
            (RequestStatus::Waiting(place), None) => {
                out.push(ClientEvent::Waiting(request, place));
            }
            _ => {}
        }
    }

    /// The earliest time at which [`Self::wake`] has something to do.
    pub fn next_wake(&self) -> Option<Time> {
        self.requests.values().filter_map(|of| Some(of.inside?.until)).min()
    }

    /// Ends all requests that are no longer valid.
    pub fn wake(&mut self, now: Time, out: &mut Vec<ClientEvent>) {
        let ended = |of: &Request<K>| of.inside.filter(|inside| inside.until <= now);
        let ended: Vec<(RequestId, u64)> = self
            .requests
            .iter()
            .filter_map(|(request, of)| Some((*request, ended(of)?.token)))
            .collect();
        for (request, token) in ended {
            self.requests.remove(&request);
            out.push(ClientEvent::Lost { request, token, forced: false });
        }
    }

    /// Visits every time that the client remembers, for explorers without a time limit.
    pub fn moments(&mut self, show: &mut dyn FnMut(&mut u64)) {
        self.sent.values_mut().for_each(|sent| show(&mut sent.0));
        for of in self.requests.values_mut() {
            of.inside.iter_mut().for_each(|inside| show(&mut inside.until.0));
        }
    }

    /// Visits the number of every beat that the client remembers, for explorers that number beats by the clock.
    pub fn beat_numbers(&mut self, show: &mut dyn FnMut(&mut u64)) {
        show(&mut self.beats);
        let sent = core::mem::take(&mut self.sent).into_iter();
        let shown = sent.map(|(mut number, at)| {
            show(&mut number);
            (number, at)
        });
        self.sent = shown.collect();
    }

    /// Numbers of recent beats, with the ends of their validity by this client's clock.
    pub(super) fn ends(&self) -> impl Iterator<Item = (u64, Time)> {
        self.sent.iter().map(|(number, sent)| (*number, *sent + self.validity))
    }

    fn good_until(&self, beat: Beat) -> Option<Time> {
        let sent = self.sent.get(&beat.number).filter(|_| beat.incarnation == self.incarnation)?;
        Some(*sent + self.validity)
    }

    fn id_of(&self, number: u64) -> RequestId {
        RequestId { session: self.session, incarnation: self.incarnation, number }
    }
}
