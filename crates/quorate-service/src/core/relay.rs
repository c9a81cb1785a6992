//! A relay: client and candidate that a node runs on behalf of a session whose client speaks HTTP or etcd's API, or reaches
//! one node only. A relay is soft state. If its node dies, the client calls another node, which starts another relay.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use quorate_algorithms::mutex::leased_quorum::{
    Candidate, CandidateId, Client, Electorate, Entry, RequestId, Standing, Terms,
};
use quorate_core::{Drift, ProcessSet, Span, Time};
use quorate_protocol::{Answer, Failure, Held, Name, Reliance};

use super::{By, ConnectionId};
use crate::lease::LeaseId;

/// Maximum number of recent calls that validity may be counted from.
const CALLS_MOST: usize = 64;

/// How the clients of a session name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// By its key, which this node does not keep.
    Key(quorate_protocol::SessionKey),
    /// By the number of a lease of etcd's API.
    Lease(LeaseId),
}

impl Origin {
    pub(super) fn id(&self) -> u128 {
        match self {
            Self::Key(key) => key.id(),
            Self::Lease(lease) => lease.session(),
        }
    }

    /// Failure of a request whose session has ended while it waited.
    pub(super) fn ended(&self) -> Failure {
        match self {
            Self::Key(_) => Failure::NoSession,
            Self::Lease(_) => Failure::Ended,
        }
    }
}

/// When a call was sent, by whose clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sent {
    /// In microseconds.
    pub(super) at: u64,
    /// The connection whose client's clock it is; `None` for this node's own clock.
    pub(super) clock: Option<ConnectionId>,
}

/// A relay of one session.
#[derive(Debug)]
pub(super) struct Relay {
    pub(super) origin: Origin,
    pub(super) ttl: Span,
    pub(super) id: CandidateId,
    pub(super) client: Client<Name>,
    pub(super) candidate: Candidate<Name>,
    /// Whether it still waits for the lists of a quorum, to go on with what the session has.
    pub(super) resuming: bool,
    /// When the client last called.
    pub(super) called: Time,
    /// Beats of recent calls, and when the client sent them.
    calls: VecDeque<(u64, Sent)>,
    /// Calls that wait for the echo of their beat.
    pub(super) pending: Vec<Pending>,
    pub(super) interests: BTreeMap<Name, Interest>,
    /// Locks by the client's own numbers.
    pub(super) numbers: BTreeMap<u64, Name>,
    /// Requests that were ended by force while the client was inside, and their tokens. Only the client's word releases
    /// them.
    pub(super) revoked: BTreeMap<u64, (RequestId, Option<u64>)>,
    /// Requests of other relays that are lost or released: lists that are older may still name them.
    pub(super) ended: BTreeSet<RequestId>,
    /// The connection through which the client called last.
    pub(super) connection: ConnectionId,
    /// A lock of a lease is lost: the lease is not kept alive any longer, because its client has no other way to learn it.
    pub(super) doomed: bool,
}

/// A call that is answered once a quorum has echoed its beat.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub(super) beat: u64,
    pub(super) by: By,
    pub(super) sent: Sent,
    pub(super) until: Time,
    pub(super) call: PendingCall,
}

/// What such a call wants.
#[derive(Clone, Debug)]
pub(super) enum PendingCall {
    /// The session has just begun.
    Open,
    /// It is kept alive.
    KeepAlive,
    /// It has to wait until the relay knows what the session has.
    Deferred(Box<super::sessions::SessionCall>),
}

/// What a session holds or waits for of one lock: one request, however often its client asks.
#[derive(Clone, Debug)]
pub(super) struct Interest {
    pub(super) request: RequestId,
    /// When it began to wait, or to hold.
    pub(super) since: Time,
    pub(super) why: String,
    /// The token, once the client is inside.
    pub(super) token: Option<u64>,
    /// The token that voters have recorded for a request that another relay began, until it is confirmed or lost.
    pub(super) recorded: Option<u64>,
    /// The client's numbers for which the lock is held.
    pub(super) holding: Vec<u64>,
    pub(super) waiting: Vec<Waiter>,
    /// The create revision that the client was told before there was a token.
    pub(super) revision: Option<u64>,
    /// The beat in which the attempt was last raised because another relay had taken the request over.
    pub(super) raised: u64,
    /// Greatest position in a queue.
    pub(super) place: u32,
}

/// A call that waits for a lock, or for confirmation that it is still held.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiter {
    pub(super) number: u64,
    pub(super) by: By,
    pub(super) sent: Sent,
    pub(super) beat: u64,
    pub(super) until: Option<Time>,
    pub(super) mode: WaitMode,
    /// Whether the connection of the call is still there.
    pub(super) connected: bool,
}

/// How long a call waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitMode {
    /// Until the lock is granted.
    Granted,
    /// Until it is known whether the lock is free; otherwise the request is withdrawn.
    OnlyIfFree,
    /// Until it is known whether the lock is free; otherwise the request stays in the queue.
    Enqueued,
}

impl Relay {
    pub(super) fn new(
        origin: Origin,
        ttl: Span,
        (id, incarnation): (CandidateId, u64),
        electorate: Electorate,
        connection: ConnectionId,
        now: Time,
    ) -> Self {
        // The client counts from when it sent a call, and this node from when it heard it. By this node's clock, whatever its
        // rate, the client has stopped after one ttl: only then may the node conclude that a lock is lost and release it.
        let terms = Terms::fixed(ttl, Drift::NONE);
        let client = Client::new(origin.id(), incarnation, ttl, terms);
        let candidate = Candidate::new(id, electorate, client.presented()).recording_entries();
        Self {
            origin,
            ttl,
            id,
            client,
            candidate,
            resuming: false,
            called: now,
            calls: VecDeque::new(),
            pending: Vec::new(),
            interests: BTreeMap::new(),
            numbers: BTreeMap::new(),
            revoked: BTreeMap::new(),
            ended: BTreeSet::new(),
            connection,
            doomed: false,
        }
    }

    /// The client calls: a beat begins.
    pub(super) fn call(&mut self, connection: ConnectionId, sent: Sent, now: Time) -> u64 {
        let beat = self.client.begin_beat(now).number;
        (self.called, self.connection) = (now, connection);
        self.calls.push_back((beat, sent));
        if self.calls.len() > CALLS_MOST {
            self.calls.pop_front();
        }
        beat
    }

    /// The newest beat that the client has begun.
    pub(super) fn beat(&self) -> u64 {
        self.client.presented().beat.number
    }

    /// The newest beat that a quorum has echoed.
    pub(super) fn echoed(&self) -> u64 {
        self.candidate.echoed().map_or(0, |beat| beat.number)
    }

    /// The newest beat for which the votes of a lock that is held are known to be good at a quorum.
    pub(super) fn good(&self, interest: &Interest) -> u64 {
        match self.candidate.report(interest.request).map(|report| report.standing) {
            Some(Standing::Held(Some(beat))) => beat.number,
            _ => 0,
        }
    }

    /// The newest beat for which everything that the session holds is good; 0 while that is not known.
    pub(super) fn all_good(&self) -> u64 {
        let interests = self.interests.values();
        let held = interests.filter(|it| it.token.is_some() || it.recorded.is_some());
        let good = held.map(|it| if it.token.is_some() { self.good(it) } else { 0 });
        good.fold(self.echoed(), u64::min)
    }

    /// Validity as the client of a call may count it: from the latest call by the same clock whose beat is known to be good.
    pub(super) fn reliance(&self, good: u64, sent: Sent, terms: Terms) -> Reliance {
        let same = self.calls.iter().rev().filter(|(_, call)| call.clock == sent.clock);
        let latest = same.clone().find(|(beat, _)| *beat <= good).map(|(_, call)| call.at);
        let micros = terms.validity(self.ttl).0 / 1_000;
        Reliance { since: latest.unwrap_or(sent.at).max(sent.at), micros }
    }

    pub(super) fn name_of(&self, request: RequestId) -> Option<Name> {
        let mut interests = self.interests.iter();
        interests.find(|(_, it)| it.request == request).map(|(name, _)| name.clone())
    }

    /// Whether a client waits for an answer.
    pub(super) fn has_calls(&self) -> bool {
        let waiting = self.interests.values().flat_map(|it| &it.waiting);
        !self.pending.is_empty() || waiting.into_iter().any(|waiter| waiter.connected)
    }

    /// Of the requests that voters have listed since a beat, the one for this lock that the session goes on with: with the
    /// greatest recorded token, because a client asks again only once it has stopped relying on what it had. Its greatest
    /// attempt and its token.
    pub(super) fn listed(&self, lock: &Name, since: u64) -> Option<(RequestId, u64, Option<u64>)> {
        let mut found: BTreeMap<RequestId, (Option<u64>, u64)> = BTreeMap::new();
        for entry in self.listed_by_others(since).filter(|entry| entry.lock == *lock) {
            let known = found.entry(entry.claim.request).or_default();
            known.0 = known.0.max(entry.entered.map(|(_, token)| token));
            known.1 = known.1.max(entry.claim.attempt);
        }
        let best = found.into_iter().max_by_key(|(_, known)| *known)?;
        Some((best.0, best.1.1, best.1.0))
    }

    /// Locks that voters have listed with a recorded token since a beat.
    pub(super) fn listed_held(&self, since: u64) -> Vec<Name> {
        let held = self.listed_by_others(since).filter(|entry| entry.entered.is_some());
        let mut names: Vec<Name> = held.map(|entry| entry.lock.clone()).collect();
        names.sort_unstable();
        names.dedup();
        names.retain(|name| !self.interests.contains_key(name));
        names
    }

    /// Candidates of other relays that pursue requests of the session.
    pub(super) fn candidates_listed(&self, since: u64) -> BTreeSet<CandidateId> {
        let entries =
            self.listed_by_others(since).filter(|it| !self.interests.contains_key(&it.lock));
        entries.map(|entry| entry.claim.candidate).collect()
    }

    /// Requests that other relays have begun. Those of this relay that it does not pursue have ended.
    fn listed_by_others(&self, since: u64) -> impl Iterator<Item = &Entry<Name>> {
        let incarnation = self.client.presented().beat.incarnation;
        let entries = self.candidate.listed_since(since).map(|(_, entry)| entry);
        let over = |request| {
            self.ended.contains(&request) || self.revoked.values().any(|(of, _)| *of == request)
        };
        entries.filter(move |entry| {
            let request = entry.claim.request;
            !entry.forced && request.incarnation != incarnation && !over(request)
        })
    }

    /// Whether the votes of a request may still be at a quorum. For a client that is inside, any vote counts.
    pub(super) fn may_be_held(&self, request: RequestId, electorate: &Electorate) -> bool {
        let unheard = &electorate.all() - &self.candidate.lists();
        let has_vote = |entry: &Entry<Name>| entry.claim.request == request && entry.vote.is_some();
        let listed = self.candidate.listed().filter(|(_, entry)| has_vote(entry));
        let listed: ProcessSet = listed.map(|(voter, _)| voter).collect();
        electorate.is_quorum(&(&unheard | &listed))
    }

    /// Whether a quorum has recorded this token with its votes, so that the client may be inside. A voter records a token
    /// when it confirms it, or when it gives a vote to a client that is inside already: either way, the client has entered
    /// or may enter with this very token.
    pub(super) fn is_recorded(
        &self,
        request: RequestId,
        token: u64,
        electorate: &Electorate,
    ) -> bool {
        let records = |entry: &Entry<Name>| {
            let entered = entry.entered.map(|(_, token)| token);
            entry.claim.request == request && entry.vote.is_some() && entered == Some(token)
        };
        let listed = self.candidate.listed().filter(|(_, entry)| records(entry));
        electorate.is_quorum(&listed.map(|(voter, _)| voter).collect())
    }

    /// Whether a request was made here, and no other relay has gone on with it: nobody but this node can have told its client
    /// that it is inside.
    pub(super) fn is_own(&self, request: RequestId) -> bool {
        let made_here = request.incarnation == self.client.presented().beat.incarnation;
        made_here && self.candidate.report(request).is_none_or(|report| report.attempt == 1)
    }

    /// Bytes of its names and texts.
    pub(super) fn text_bytes(&self) -> usize {
        self.interests.iter().map(|(name, it)| name.text().len() + it.why.len()).sum()
    }

    /// The answer to a keep-alive: everything that the session holds and waits for.
    pub(super) fn alive(&self, good: u64, sent: Sent, terms: Terms) -> Answer {
        let (mut held, mut waiting) = (Vec::new(), Vec::new());
        for (name, interest) in &self.interests {
            if let Some(token) = interest.token {
                held.extend(interest.holding.iter().map(|request| {
                    let (request, name) = (*request, name.clone());
                    Held { request, name, token }
                }));
            } else {
                waiting.extend(interest.waiting.iter().map(|waiter| waiter.number));
            }
        }
        Answer::Alive { reliance: self.reliance(good, sent, terms), held, waiting }
    }
}

impl Interest {
    pub(super) fn new(request: RequestId, why: String, now: Time) -> Self {
        Self {
            request,
            since: now,
            why,
            token: None,
            recorded: None,
            holding: Vec::new(),
            waiting: Vec::new(),
            revision: None,
            raised: 0,
            place: 0,
        }
    }
}
