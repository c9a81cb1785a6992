//! A client that reaches the voters itself: client and candidate in one process.

use alloc::vec::Vec;

use quorate_core::{ProcessId, Span, Time};

use super::candidate::{Candidate, CandidateEffect, CandidateEffects};
use super::client::{Client, ClientEvent};
use super::electorate::Electorate;
use super::id::{CandidateId, RequestId};
use super::message::{Name, ToCandidate, ToVoter};
use super::terms::Terms;

/// A client with its own candidate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DirectClient<K: Name> {
    client: Client<K>,
    candidate: Candidate<K>,
}

/// An effect of a direct client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DirectEffect<K> {
    /// Sends a message to a voter.
    Send(ProcessId, ToVoter<K>),
    /// Reports an event to the user.
    Event(ClientEvent),
    /// Reports that a voter applies another time-to-live to this session.
    Refused(Span),
}

/// Buffer of effects of a direct client.
pub type DirectEffects<K> = Vec<DirectEffect<K>>;

impl<K: Name> DirectClient<K> {
    /// Creates a client that asks these voters.
    pub fn new(client: Client<K>, id: CandidateId, electorate: Electorate) -> Self {
        let candidate = Candidate::new(id, electorate, client.presented());
        Self { client, candidate }
    }

    /// Returns the client without its candidate.
    pub fn client(&self) -> &Client<K> {
        &self.client
    }

    /// Returns the candidate of this client.
    pub fn candidate(&self) -> &Candidate<K> {
        &self.candidate
    }

    /// Visits every time and the number of every beat, for explorers without a time limit that number beats by the clock.
    pub fn moments(&mut self, show: &mut dyn FnMut(&mut u64)) {
        self.client.moments(show);
        self.client.beat_numbers(show);
        self.candidate.beat_numbers(show);
    }

    /// Begins a beat and sends it to all voters.
    pub fn beat(&mut self, now: Time, out: &mut DirectEffects<K>) {
        self.beat_at_least(0, now, out);
    }

    /// Begins a beat with this number or a greater one; see [`Client::begin_beat_at_least`].
    pub fn beat_at_least(&mut self, number: u64, now: Time, out: &mut DirectEffects<K>) {
        self.candidate.take_back_grants();
        let beat = self.client.begin_beat_at_least(number, now);
        let issued = self.client.issued();
        self.with_candidate(now, out, |candidate, effects| {
            candidate.begin_beat(beat.number, issued, effects);
        });
    }

    /// Begins a beat that the next requests carry to the voters that they ask; see [`Client::begin_beat_at_least`].
    pub fn note_beat(&mut self, number: u64, now: Time) {
        let beat = self.client.begin_beat_at_least(number, now);
        self.candidate.note_beat(beat.number, self.client.issued());
    }

    /// Makes a request; see [`Client::acquire`] for the stamp. The session must have begun a beat, because the validity
    /// of votes is counted from a beat.
    pub fn acquire(
        &mut self,
        lock: K,
        stamp: u64,
        now: Time,
        out: &mut DirectEffects<K>,
    ) -> RequestId {
        let request = self.client.acquire(lock, stamp);
        self.pursue(request, now, out);
        request
    }

    /// Ends a request. Returns `true` if the client had it.
    pub fn release(&mut self, request: RequestId, now: Time, out: &mut DirectEffects<K>) -> bool {
        let had = self.client.release(request);
        self.with_candidate(now, out, |candidate, effects| candidate.release(request, effects));
        had
    }

    /// Asks all voters, not only the preferred ones.
    pub fn widen(&mut self, request: RequestId, now: Time, out: &mut DirectEffects<K>) {
        self.with_candidate(now, out, |candidate, effects| {
            // The first call marks the request as old, the second one then asks all voters.
            candidate.widen(request, effects);
            candidate.widen(request, effects);
        });
    }

    /// Ends the session with all its requests.
    pub fn end(&mut self, now: Time, out: &mut DirectEffects<K>) {
        self.with_candidate(now, out, |candidate, effects| candidate.end(effects));
    }

    /// Handles a message of a voter.
    pub fn on_message(
        &mut self,
        voter: ProcessId,
        message: ToCandidate<K>,
        now: Time,
        out: &mut DirectEffects<K>,
    ) {
        self.with_candidate(now, out, |candidate, effects| {
            candidate.on_message(voter, message, effects);
        });
    }

    /// Handles a voter that is unreachable or leaves.
    pub fn avoid(&mut self, voter: ProcessId, now: Time, out: &mut DirectEffects<K>) {
        self.with_candidate(now, out, |candidate, effects| candidate.avoid(voter, effects));
    }

    /// Handles a voter that is reachable again.
    pub fn resume(&mut self, voter: ProcessId, now: Time, out: &mut DirectEffects<K>) {
        self.with_candidate(now, out, |candidate, effects| candidate.resume(voter, effects));
    }

    /// Adopts a configuration with other voters or other terms, if it is newer.
    pub fn adopt(
        &mut self,
        electorate: Electorate,
        terms: Terms,
        now: Time,
        out: &mut DirectEffects<K>,
    ) {
        if electorate.index() > self.candidate.electorate().index() {
            self.client.set_terms(terms);
        }
        self.with_candidate(now, out, |candidate, effects| {
            // A direct client knows what it holds, so its voters need not be confirmed.
            candidate.adopt(electorate, None, effects);
        });
    }

    /// The earliest time at which [`Self::wake`] has something to do. The driver schedules the beats.
    pub fn next_wake(&self) -> Option<Time> {
        self.client.next_wake()
    }

    /// Ends all requests that are no longer valid.
    pub fn wake(&mut self, now: Time, out: &mut DirectEffects<K>) {
        let mut events = Vec::new();
        self.client.wake(now, &mut events);
        self.handle(events, now, out);
    }

    fn pursue(&mut self, request: RequestId, now: Time, out: &mut DirectEffects<K>) {
        if let Some(wanted) = self.client.wanted(request) {
            self.with_candidate(now, out, |candidate, effects| candidate.pursue(wanted, effects));
        }
    }

    fn with_candidate(
        &mut self,
        now: Time,
        out: &mut DirectEffects<K>,
        input: impl FnOnce(&mut Candidate<K>, &mut CandidateEffects<K>),
    ) {
        let (mut effects, mut events) = (Vec::new(), Vec::new());
        input(&mut self.candidate, &mut effects);
        for effect in effects {
            match effect {
                CandidateEffect::Send(voter, message) => {
                    out.push(DirectEffect::Send(voter, message));
                }
                CandidateEffect::Report(report) => self.client.on_report(report, now, &mut events),
                CandidateEffect::Refused(ttl) => out.push(DirectEffect::Refused(ttl)),
            }
        }
        self.handle(events, now, out);
    }

    /// Reports events to the user, and passes them to the candidate if it needs them.
    fn handle(&mut self, events: Vec<ClientEvent>, now: Time, out: &mut DirectEffects<K>) {
        for event in events {
            match event {
                ClientEvent::Entered { request, .. } => {
                    out.push(DirectEffect::Event(event));
                    self.pursue(request, now, out);
                }
                ClientEvent::Again(request) => self.pursue(request, now, out),
                ClientEvent::Lost { request, .. } | ClientEvent::Gone(request) => {
                    out.push(DirectEffect::Event(event));
                    self.with_candidate(now, out, |candidate, effects| {
                        candidate.release(request, effects);
                    });
                }
                ClientEvent::Waiting(..) => out.push(DirectEffect::Event(event)),
            }
        }
    }
}
