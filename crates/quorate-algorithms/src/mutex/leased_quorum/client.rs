//! The client: the only one who knows whether the critical section is entered. It numbers requests, attempts and beats, and
//! counts validity from when it sent a beat.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use quorate_core::{Span, Time};

use super::id::{Beat, RequestId};
use super::message::{Call, Name, Presented, Report, RequestStatus, Wanted};
use super::terms::Terms;

/// One client process and its session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Client<K: Name> {
    session: u128,
    ttl: Span,
    /// Chosen at random when the process opens the session.
    incarnation: u64,
    validity: Span,
    beats: u64,
    /// When recent beats were sent, by this client's clock.
    sent: BTreeMap<u64, Time>,
    issued: u64,
    requests: BTreeMap<RequestId, Request<K>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Request<K> {
    lock: K,
    attempt: u64,
    stamp: u64,
    inside: Option<Inside>,
}

/// A section that the client is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Inside {
    token: u64,
    until: Time,
}

/// What a client learns about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClientEvent {
    /// It is inside. The candidate has to learn that.
    Entered {
        /// The request.
        request: RequestId,
        /// Greater than every earlier token of the lock.
        token: u64,
    },
    /// It was inside and is no longer: the request is over, and its votes have to be released.
    Lost {
        /// The request.
        request: RequestId,
        /// Its token.
        token: u64,
        /// Whether by a force release, and not because too few voters answered in time.
        forced: bool,
    },
    /// It waited, and was ended by a force release.
    Gone(RequestId),
    /// It waits at this position.
    Waiting(RequestId, u32),
    /// Its attempt was raised: the candidate has to be asked again.
    Again(RequestId),
}

impl<K: Name> Client<K> {
    /// A client process that opens a session, or joins one that another process has opened.
    pub fn new(session: u128, incarnation: u64, ttl: Span, terms: Terms) -> Self {
        Self {
            session,
            ttl,
            incarnation,
            validity: terms.validity(ttl),
            beats: 0,
            sent: BTreeMap::new(),
            issued: 0,
            requests: BTreeMap::new(),
        }
    }

    /// The session with the newest beat.
    pub fn presented(&self) -> Presented {
        let beat = Beat { incarnation: self.incarnation, number: self.beats };
        Presented { session: self.session, ttl: self.ttl, beat, relayed: false }
    }

    /// Number of requests made so far.
    pub fn issued(&self) -> u64 {
        self.issued
    }

    /// Interval between beats.
    pub fn beat_interval(&self) -> Span {
        Terms::beat(self.ttl)
    }

    /// Begins a beat.
    pub fn begin_beat(&mut self, now: Time) -> Beat {
        self.begin_beat_at_least(0, now)
    }

    /// Begins a beat with this number, or with a greater one if the number was used before. An explorer that lets time go by
    /// without end numbers beats by the clock: a state in which everything is as long ago as in another one comes again.
    pub fn begin_beat_at_least(&mut self, number: u64, now: Time) -> Beat {
        self.beats = number.max(self.beats + 1);
        let validity = self.validity;
        self.sent.retain(|_, sent| *sent + validity > now);
        self.sent.insert(self.beats, now);
        self.presented().beat
    }

    /// Makes a request. `stamp` is what the caller takes for the voters' clock at present, or 0: without it, the request is
    /// as old as the last word that the session had of that clock, and may overtake requests that were made since.
    pub fn acquire(&mut self, lock: K, stamp: u64) -> RequestId {
        self.issued += 1;
        let request = Request { lock, attempt: 1, stamp, inside: None };
        let id = self.id_of(self.issued);
        self.requests.insert(id, request);
        id
    }

    /// Ends a request: the client has stopped, or no longer wants the lock.
    pub fn release(&mut self, request: RequestId) -> bool {
        self.requests.remove(&request).is_some()
    }

    /// From now on another candidate is asked: every attempt is raised, so that the two cannot be confused.
    pub fn change_candidate(&mut self) {
        self.requests.values_mut().for_each(|request| request.attempt += 1);
    }

    /// A request as a candidate has to know it.
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

    /// Everything that the client wants.
    pub fn all_wanted(&self) -> Vec<Wanted<K>> {
        self.requests.keys().filter_map(|request| self.wanted(*request)).collect()
    }

    /// The call to a candidate in a node. The caller begins a beat before.
    pub fn call(&self) -> Call<K> {
        Call { session: self.presented(), issued: self.issued, wanted: self.all_wanted() }
    }

    /// Until when, by this client's clock, it may rely on being inside.
    pub fn valid_until(&self, request: RequestId) -> Option<Time> {
        let of = self.requests.get(&request)?;
        of.inside.map(|inside| inside.until)
    }

    /// Locks, requests and tokens of everything that the client is inside.
    pub fn held(&self) -> impl Iterator<Item = (&K, RequestId, u64)> {
        self.requests
            .iter()
            .filter_map(|(request, of)| Some((&of.lock, *request, of.inside?.token)))
    }

    /// Whether a request waits or is inside.
    pub fn has(&self, request: RequestId) -> bool {
        self.requests.contains_key(&request)
    }

    /// A candidate has reported.
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

    /// Ends everything that is no longer valid.
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

    /// Shows every moment that the client remembers, for explorers that let time go by without end.
    pub fn moments(&mut self, show: &mut dyn FnMut(&mut u64)) {
        self.sent.values_mut().for_each(|sent| show(&mut sent.0));
        for of in self.requests.values_mut() {
            of.inside.iter_mut().for_each(|inside| show(&mut inside.until.0));
        }
    }

    /// Shows the number of every beat that the client remembers, where beats are numbered by the clock.
    pub fn beat_numbers(&mut self, show: &mut dyn FnMut(&mut u64)) {
        show(&mut self.beats);
        let sent = core::mem::take(&mut self.sent).into_iter();
        let shown = sent.map(|(mut number, at)| {
            show(&mut number);
            (number, at)
        });
        self.sent = shown.collect();
    }

    fn good_until(&self, beat: Beat) -> Option<Time> {
        let sent = self.sent.get(&beat.number).filter(|_| beat.incarnation == self.incarnation)?;
        Some(*sent + self.validity)
    }

    fn id_of(&self, number: u64) -> RequestId {
        RequestId { session: self.session, incarnation: self.incarnation, number }
    }
}
