//! A relay: client and candidate that a node runs on behalf of a session whose client speaks HTTP or etcd's API, or reaches
//! one node only. A relay is soft state. If its node dies, the client calls another node, which starts another relay.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use quorate_algorithms::mutex::leased_quorum::{
    Candidate, CandidateId, Claim, Client, Electorate, Entry, RequestId, Standing, Terms,
    ToCandidate, ToVoter, VoteId,
};
use quorate_core::{Drift, ProcessId, ProcessSet, Span, Time};
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
    /// Requests that are lost or released, with the attempt that has ended: lists that are older may still name them. Another
    /// relay may have gone on with a later attempt.
    ended: BTreeMap<RequestId, u64>,
    /// Requests that may be lost, with their locks: they are released once no client can rely on them, by any clock.
    pub(super) fading: BTreeMap<RequestId, (Name, Time)>,
    /// The newest beat with which each voter has sent or confirmed its complete list.
    heard: BTreeMap<ProcessId, u64>,
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
    /// The beat in which the present attempt began.
    pub(super) taken: u64,
    /// The latest attempt that has recorded a token at voters, and the token.
    pub(super) raising: (u64, u64),
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
            ended: BTreeMap::new(),
            fading: BTreeMap::new(),
            heard: BTreeMap::new(),
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
        !self.pending.is_empty() || self.interests.values().any(Interest::has_calls)
    }

    /// Of the requests that voters have listed since a beat, the one for this lock that the session goes on with: with the
    /// greatest recorded token, because a client asks again only once it has stopped relying on what it had. Its greatest
    /// attempt, and the token that its latest attempt has recorded.
    pub(super) fn listed(&self, lock: &Name, since: u64) -> Option<(RequestId, u64, Option<u64>)> {
        let mut found: BTreeMap<RequestId, (Option<(u64, u64)>, u64)> = BTreeMap::new();
        for entry in self.listed_by_others(since).filter(|entry| entry.lock == *lock) {
            let known = found.entry(entry.claim.request).or_default();
            known.0 = known.0.max(entry.entered);
            known.1 = known.1.max(entry.claim.attempt);
        }
        let found = found.into_iter().map(|(request, (entered, attempt))| {
            (entered.map(|(_, token)| token), attempt, request)
        });
        let (token, attempt, request) = found.max()?;
        Some((request, attempt, token))
    }

    /// Locks that voters have listed with a recorded token since a beat, and that this relay does not know to be held.
    pub(super) fn listed_held(&self, since: u64) -> Vec<Name> {
        let held = self.listed_by_others(since).filter(|entry| entry.entered.is_some());
        let unknown = held.filter(|entry| {
            let interest = self.interests.get(&entry.lock);
            interest.is_none_or(Interest::is_waiting)
        });
        let mut names: Vec<Name> = unknown.map(|entry| entry.lock.clone()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Candidates of other relays that pursue requests of the session.
    pub(super) fn candidates_listed(&self, since: u64) -> BTreeSet<CandidateId> {
        let entries =
            self.listed_by_others(since).filter(|it| !self.interests.contains_key(&it.lock));
        entries.map(|entry| entry.claim.candidate).collect()
    }

    /// The present attempt of a request is over.
    pub(super) fn note_end(&mut self, request: RequestId) {
        let attempt = self.candidate.report(request).map_or(1, |report| report.attempt);
        let wanted = self.client.wanted(request).map_or(1, |wanted| wanted.attempt);
        self.note_end_of(request, attempt.max(wanted));
    }

    pub(super) fn note_end_of(&mut self, request: RequestId, attempt: u64) {
        let ended = self.ended.entry(request).or_default();
        *ended = attempt.max(*ended);
    }

    /// Requests that other relays go on with, or have gone on with.
    fn listed_by_others(&self, since: u64) -> impl Iterator<Item = &Entry<Name>> {
        let entries = self.candidate.listed_since(since).map(|(_, entry)| entry);
        entries.filter(move |entry| {
            let Claim { request, attempt, candidate } = entry.claim;
            let over = self.ended.get(&request).is_some_and(|ended| attempt <= *ended)
                || self.revoked.values().any(|(of, _)| *of == request);
            // This relay has taken the request over, and another one had told the client that it is inside.
            let told = || {
                let waits = |it: &Interest| it.request == request && it.is_waiting();
                entry.entered.is_some_and(|(earlier, _)| earlier < attempt)
                    && self.interests.get(&entry.lock).is_some_and(waits)
            };
            !entry.forced && !over && (candidate != self.id || told())
        })
    }

    /// Whether another relay goes on with a request, as far as voters have told.
    pub(super) fn is_elsewhere(&self, request: RequestId) -> bool {
        let mut claims = self.candidate.listed().map(|(_, entry)| entry.claim);
        claims.any(|claim| claim.request == request && claim.candidate != self.id)
    }

    /// Whether a vote may be given back, because the client of this claim cannot be inside. Another relay may have told the
    /// client that it is, before this one took the request over: a token that it was told is in the lists of a quorum.
    pub(super) fn may_yield(&self, claim: Claim, electorate: &Electorate) -> bool {
        let mut interests = self.interests.values();
        let Some(interest) = interests.find(|it| it.request == claim.request) else {
            return !self.fading.contains_key(&claim.request);
        };
        if interest.recorded.is_some() || claim.attempt == 1 {
            return interest.recorded.is_none();
        }
        let since = interest.taken + 1;
        let own = |(voter, entry): (ProcessId, &Entry<Name>)| {
            (entry.claim == claim || entry.claim.request != claim.request).then_some(voter)
        };
        // A voter that does not know the present attempt may still give its vote to an earlier one.
        let strangers: ProcessSet = self
            .candidate
            .listed_since(since)
            .filter(|of| own(*of).is_none())
            .map(|it| it.0)
            .collect();
        let heard = &self.heard_since(since) - &strangers;
        let told = |token| self.may_be_told(claim.request, token, &heard, electorate);
        let entered = self.candidate.listed().filter(|(_, it)| it.claim.request == claim.request);
        let entered = entered.filter_map(|(_, it)| it.entered);
        let mut earlier = entered.filter(|(attempt, _)| *attempt != claim.attempt);
        electorate.is_quorum(&heard) && !earlier.any(|(_, token)| told(token))
    }

    /// Whether the client may have been told by another relay that it is inside, although this one waits.
    pub(super) fn may_be_inside(&self, interest: &Interest, electorate: &Electorate) -> bool {
        let attempt = self.candidate.report(interest.request).map_or(1, |report| report.attempt);
        let claim = Claim { request: interest.request, attempt, candidate: self.id };
        interest.is_waiting() && !self.may_yield(claim, electorate)
    }

    /// A voter has sent its list, or says that it is unchanged.
    pub(super) fn note_list(&mut self, voter: ProcessId, message: &ToCandidate<Name>) {
        let ToCandidate::Echo { beat, part, .. } = message else { return };
        let own = beat.incarnation == self.client.presented().beat.incarnation;
        if own && part.is_none_or(|part| part.is_last) {
            let heard = self.heard.entry(voter).or_default();
            *heard = beat.number.max(*heard);
        }
    }

    /// Voters whose lists are as new as this beat.
    pub(super) fn heard_since(&self, beat: u64) -> ProcessSet {
        let heard = self.heard.iter().filter(|(_, heard)| **heard >= beat);
        let heard: ProcessSet = heard.map(|(voter, _)| *voter).collect();
        &heard & &self.candidate.lists()
    }

    /// Whether the client may have been told this token of a request, and may rely on the votes of a quorum, as far as these
    /// voters have told. A token is on record at a quorum before a client is told. Votes that were given to a holder
    /// later have the token on record soon.
    pub(super) fn may_be_told(
        &self,
        request: RequestId,
        token: u64,
        heard: &ProcessSet,
        electorate: &Electorate,
    ) -> bool {
        let supports = |entry: &Entry<Name>| {
            let recorded = entry.entered.map(|(_, recorded)| recorded);
            entry.claim.request == request
                && entry.vote.is_some()
                && recorded.is_none_or(|recorded| recorded == token)
        };
        let listed = self.candidate.listed().filter(|(_, entry)| supports(entry));
        let listed: ProcessSet = listed.map(|(voter, _)| voter).collect();
        electorate.is_quorum(&(&(&electorate.all() - heard) | &listed))
    }

    /// Votes for a lock that is held that do not have its token on record, as a voter has told: another relay would not know
    /// that they count.
    pub(super) fn unrecorded(&self, message: &ToCandidate<Name>) -> Vec<ToVoter<Name>> {
        let raise = |lock: &Name, claim: Claim, vote: VoteId, entered: Option<(u64, u64)>| {
            let interest = self.interests.get(lock).filter(|it| it.request == claim.request)?;
            let token = interest.token.filter(|_| claim.candidate == self.id)?;
            let (lock, enters) = (lock.clone(), true);
            let known = entered.is_some_and(|(_, known)| known == token);
            (!known).then_some(ToVoter::Raise { lock, claim, vote, token, enters })
        };
        match message {
            ToCandidate::Vote { lock, claim, vote, entered, .. } => {
                raise(lock, *claim, *vote, *entered).into_iter().collect()
            }
            ToCandidate::Echo { epoch, entries, .. } => {
                let of = |entry: &Entry<Name>| {
                    let vote = VoteId { epoch: *epoch, number: entry.vote? };
                    raise(&entry.lock, entry.claim, vote, entry.entered)
                };
                entries.iter().filter_map(of).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether an interest is lost whose token is on record: too few votes are left, as lists since it was taken over say, or
    /// it could not be confirmed for one ttl.
    pub(super) fn is_lost(&self, interest: &Interest, electorate: &Electorate, now: Time) -> bool {
        let Some(token) = interest.recorded.filter(|_| interest.token.is_none()) else {
            return false;
        };
        let heard = self.heard_since(interest.taken);
        let recorded = |(_, entry): &(ProcessId, &Entry<Name>)| {
            let recorded = entry.entered.is_some_and(|(_, recorded)| recorded == token);
            entry.claim.request == interest.request && entry.vote.is_some() && recorded
        };
        let recorded = self.candidate.listed().filter(recorded).map(|(voter, _)| voter);
        let recorded: ProcessSet = recorded.collect();
        let possible = &(&electorate.all() - &heard) | &recorded;
        interest.since + self.ttl <= now || !electorate.is_quorum(&possible)
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
    /// Whether a client waits for this lock.
    pub(super) fn has_calls(&self) -> bool {
        self.waiting.iter().any(|waiter| waiter.connected)
    }

    /// Whether its client was not told that it has the lock, as far as is known.
    pub(super) fn is_waiting(&self) -> bool {
        self.token.is_none() && self.recorded.is_none()
    }

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
            taken: 0,
            raising: (0, 0),
            place: 0,
        }
    }
}
