//! A relay: the candidate that a node runs on behalf of a session whose client speaks HTTP or etcd's API, or reaches only
//! one node. A relay is soft state. If its node dies, the client calls another node, which starts another relay.
//!
//! - A client may use several relays at the same time. They cannot be confused: each has its own beats, and a request that
//!   several of them pursue belongs to the relay with the latest attempt.
//! - A token is recorded at a quorum of voters before the client learns it. From then on the voters' lists show any relay
//!   that the lock is held. It is freed by a release of the client, a lapse of the session or a force release. For a lease
//!   it is also freed if the answer to the call was not delivered.
//! - A relay never concludes that a lock is lost. It does not confirm a lock that it cannot verify, and then the client's
//!   validity expires by the client's own clock.

use std::collections::VecDeque;

use quorate_algorithms::mutex::leased_quorum::{
    Beat, Candidate, CandidateId, Claim, Electorate, Entry, Presented, RequestId, RequestStatus,
    Terms, Wanted,
};
use quorate_core::{ProcessId, SortedMap, SortedSet, Span, Time};
use quorate_protocol::{CallResponse, Failure, HeldLock, Name, Validity};

use sha2::{Digest, Sha256};

use super::{CallId, CallerId};
use crate::lease::LeaseId;

/// Maximum number of recent beats from which validity may be counted.
const BEATS_MOST: usize = 1_024;

/// Maximum number of ended requests that a relay remembers.
const ENDED_MOST: usize = 1_024;

/// Incarnation of requests of a session that is identified by its key. The client numbers them, whichever node it calls.
pub(super) const NUMBERED: u64 = 0;

/// Incarnation of requests of a lease. A lease has one request for each lock. One cycle of requesting, holding and
/// releasing the lock is a turn, and attempts distinguish the turns: the upper bits of an attempt are the voters' clock
/// when its turn began, and the lower bits count the attempts of that turn.
const LEASED: u64 = 1;

/// Returns whether nodes run the candidates of this request. A client that runs its own candidate chooses a random
/// incarnation for each process.
pub(super) const fn is_relayed(request: RequestId) -> bool {
    matches!(request.incarnation, NUMBERED | LEASED)
}

/// Number of bits that count the attempts of one turn.
const TURN_BITS: u32 = 16;

/// Returns the last attempt of the turn that an attempt belongs to.
pub(super) fn last_of_turn(attempt: u64) -> u64 {
    attempt | ((1 << TURN_BITS) - 1)
}

/// Number of a lease's request for a lock: the first bytes of a hash of the lock's name.
fn name_number(name: &Name) -> u64 {
    let mut hash = Sha256::new();
    hash.update([name.kind() as u8]);
    hash.update(name.text().as_bytes());
    let hash: [u8; 32] = hash.finalize().into();
    let (number, _) = hash.split_at(8);
    u64::from_be_bytes(number.try_into().expect("a hash is longer"))
}

/// How the client identifies its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// By the session key.
    Key(quorate_protocol::SessionKey),
    /// By the identifier of a lease of etcd's API.
    Lease(LeaseId),
}

impl Origin {
    pub(super) fn id(&self) -> u128 {
        match self {
            Self::Key(key) => key.id(),
            Self::Lease(lease) => lease.session(),
        }
    }

    /// Failure of a call whose session has ended while the call waited.
    pub(super) fn ended(&self) -> Failure {
        match self {
            Self::Key(_) => Failure::NoSession,
            Self::Lease(_) => Failure::Ended,
        }
    }
}

/// When a call was sent, and by which clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sent {
    /// When the call was sent, in microseconds.
    pub(super) at: u64,
    /// The caller whose clock `at` refers to; `None` for this node's own clock.
    pub(super) clock: Option<CallerId>,
}

/// A beat that a call has begun.
#[derive(Clone, Copy, Debug)]
struct Begun {
    number: u64,
    sent: Sent,
    /// When the beat began, by this node's clock.
    at: Time,
}

/// A relay of one session.
#[derive(Debug)]
pub(super) struct Relay {
    pub(super) origin: Origin,
    pub(super) ttl: Span,
    pub(super) id: CandidateId,
    pub(super) candidate: Candidate<Name>,
    /// When the client last called.
    pub(super) called: Time,
    beats: VecDeque<Begun>,
    /// Calls that wait for the echo of their beat.
    pub(super) pending: Vec<PendingCall>,
    pub(super) interests: SortedMap<RequestId, Interest>,
    /// Requests by their locks.
    by_name: SortedMap<Name, RequestId>,
    /// Requests that the client has ended, with the last ended attempt. A voter that was unreachable then
    /// may still list them.
    ended: SortedMap<RequestId, u64>,
    /// The ended requests in the order in which they ended.
    ended_last: VecDeque<RequestId>,
    /// Requests that were ended by force.
    pub(super) forced: SortedSet<RequestId>,
    /// The caller of the client's latest call.
    pub(super) caller: CallerId,
    /// The newest beat that was announced to relays at other nodes.
    pub(super) announced_beat: u64,
    /// Voters that were not sent the requests of a lease, because the lease is not known to be continuous there, with the beat
    /// that was last sent instead.
    unasked: SortedMap<ProcessId, u64>,
    /// Until when the session, which was opened here, cannot have lapsed at any voter.
    pub(super) young_until: Time,
    /// Whether the lease has lapsed at the voters, or one of its locks was released by force. Then the lease is no longer
    /// kept alive, because its client has no other way to learn of the loss.
    pub(super) doomed: bool,
}

/// A call that is answered once a quorum has echoed its beat.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingCall {
    pub(super) beat: u64,
    pub(super) call_id: CallId,
    pub(super) sent: Sent,
    pub(super) until: Time,
    /// Whether the call opens the session, as opposed to keeping it alive.
    pub(super) opens: bool,
}

/// A request that this relay pursues.
#[derive(Clone, Debug)]
pub(super) struct Interest {
    pub(super) name: Name,
    pub(super) attempt: u64,
    /// When the request began to wait, or to hold the lock.
    pub(super) since: Time,
    pub(super) why: String,
    /// The token, once the client holds the lock.
    pub(super) token: Option<u64>,
    pub(super) waiting: Vec<Waiter>,
    /// Number of calls that were answered with the token, and whose clients may have received it.
    pub(super) answered: usize,
    /// Whether the request continues without a call that waits here, because its client has made it through another node,
    /// or has been answered that it waits.
    pub(super) detached: bool,
    /// The create revision that the client received first, if it is not the token.
    pub(super) revision: Option<u64>,
    /// The beat in which the attempt was last raised because another relay had taken over the request.
    pub(super) raised: u64,
    /// Latest position in a voter's queue; 0 until a voter has reported one.
    pub(super) queue_position: u32,
    /// The last token that voters were asked to record, with its attempt.
    pub(super) recording: Option<(u64, u64)>,
}

/// A call that waits for a lock, or for confirmation that the lock is still held.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiter {
    pub(super) call_id: CallId,
    pub(super) sent: Sent,
    pub(super) beat: u64,
    pub(super) until: Option<Time>,
    pub(super) mode: WaitMode,
    /// The token with which the client claims to be inside.
    pub(super) inside: Option<u64>,
    /// Whether the connection of the call is still open.
    pub(super) connected: bool,
}

/// Condition for which a call waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitMode {
    /// Waits until the lock is granted.
    Granted,
    /// Waits until it is known whether the lock is free. If it is not free, the request is withdrawn.
    OnlyIfFree,
    /// Waits until it is known whether the lock is free. If it is not free, the request stays in the queue.
    Enqueued,
}

impl Relay {
    pub(super) fn new(
        origin: Origin,
        ttl: Span,
        (id, incarnation): (CandidateId, u64),
        (electorate, previous): (Electorate, Option<Electorate>),
        caller: CallerId,
        now: Time,
    ) -> Self {
        let beat = Beat { incarnation, number: 0 };
        let session = Presented { session: origin.id(), ttl, beat, relayed: true, config: 0 };
        Self {
            origin,
            ttl,
            id,
            candidate: Candidate::new(id, electorate, session).recording_entries().after(previous),
            called: now,
            beats: VecDeque::new(),
            pending: Vec::new(),
            interests: SortedMap::new(),
            by_name: SortedMap::new(),
            ended: SortedMap::new(),
            ended_last: VecDeque::new(),
            forced: SortedSet::new(),
            caller,
            announced_beat: 0,
            unasked: SortedMap::new(),
            young_until: Time::ZERO,
            doomed: false,
        }
    }

    pub(super) fn is_lease(&self) -> bool {
        matches!(self.origin, Origin::Lease(_))
    }

    /// Begins a beat for a call of the client, and returns its number.
    pub(super) fn call(&mut self, caller: CallerId, sent: Sent, now: Time) -> u64 {
        (self.called, self.caller) = (now, caller);
        self.begin(sent, now)
    }

    /// Begins a beat, and returns its number.
    pub(super) fn begin(&mut self, sent: Sent, now: Time) -> u64 {
        let number = self.beat() + 1;
        self.candidate.note_beat(number, 0);
        self.beats.push_back(Begun { number, sent, at: now });
        if self.beats.len() > BEATS_MOST {
            self.beats.pop_front();
        }
        number
    }

    /// The newest beat that the client has begun.
    pub(super) fn beat(&self) -> u64 {
        self.candidate.session().beat.number
    }

    /// The newest beat that a quorum has echoed.
    pub(super) fn echoed(&self) -> u64 {
        self.candidate.echoed().map_or(0, |beat| beat.number)
    }

    /// The newest beat that keeps the session alive. The client of a lease is not told what it holds, but concludes it from
    /// the answer to a keep-alive. So the voters that count for a lease are those that have kept it without a gap: a lease
    /// that has lapsed at others, and has been presented to them again, has lost its locks there.
    pub(super) fn kept_alive(&self) -> u64 {
        match self.is_lease() {
            true => self.candidate.echoed_continuously().map_or(0, |beat| beat.number),
            false => self.echoed(),
        }
    }

    /// The newest beat with which further voters may be confirmed.
    pub(super) fn kept_alive_before(&self) -> u64 {
        self.candidate.echoed_to_confirm().map_or(0, |beat| beat.number)
    }

    /// The same as [`Self::held_up_to`], for the confirmation of further voters.
    pub(super) fn confirms_up_to(&self, beat: u64) -> u64 {
        let good = |request: &RequestId| {
            let listed = self.candidate.recorded_before(*request).map(|(_, beat)| beat.number);
            let held = self.held(*request).map(|(_, beat)| beat);
            held.max(listed).unwrap_or(0)
        };
        self.recorded_since(beat).keys().map(good).fold(beat, u64::min)
    }

    /// Returns whether the client may learn that its session is open. Whichever node continues a lease has to find it
    /// continuous at a voter of every quorum.
    pub(super) fn is_open(&self) -> bool {
        !self.is_lease() || self.candidate.is_continuous()
    }

    /// Returns whether a voter may be asked for votes. A lease that has lapsed must not get votes again, because a late call
    /// or a node that was cut off has presented it to the voters once more.
    pub(super) fn may_ask(&self, voter: ProcessId) -> bool {
        !self.is_lease() || self.candidate.counts(voter)
    }

    /// Records that a voter was not sent a request; returns whether it has to be sent the present beat, so that its echo shows
    /// whether it may be asked.
    pub(super) fn note_unasked(&mut self, voter: ProcessId) -> bool {
        let beat = self.beat();
        self.unasked.insert(voter, beat) != Some(beat)
    }

    /// Takes the voters that have not been sent the requests of a lease, and may be asked now.
    pub(super) fn take_askable(&mut self) -> Vec<ProcessId> {
        let counts = |voter: &ProcessId| self.candidate.counts(*voter);
        let askable: Vec<ProcessId> = self.unasked.keys().copied().filter(counts).collect();
        self.unasked.retain(|voter, _| !askable.contains(voter));
        askable
    }

    /// Returns whether a lease has lapsed, according to voters that have received a call that waits for its answer.
    pub(super) fn has_lapsed(&self) -> bool {
        let calls = self.pending.iter().filter(|it| !it.opens).map(|it| it.beat);
        self.is_lease() && calls.min().is_some_and(|beat| self.candidate.is_broken(beat))
    }

    /// Returns the newest beat up to this one for which everything is held that voters have listed since `since`. Lists count
    /// for leases, too: the answer to a keep-alive contains no token, and a token that the client knows is not withdrawn.
    pub(super) fn held_up_to(&self, beat: u64, since: u64) -> u64 {
        let good = |request: &RequestId| {
            let listed = self.candidate.recorded(*request).map(|(_, beat)| beat.number);
            let held = self.held(*request).map(|(_, beat)| beat);
            held.max(listed).unwrap_or(0)
        };
        self.recorded_since(since).keys().map(good).fold(beat, u64::min)
    }

    /// Returns whether a lease has lost a lock: it would be granted again, with another token than the client may have
    /// learned, and no call waits for it. Another client may have held the lock meanwhile, and the answers to keep-alives
    /// do not say so.
    pub(super) fn has_lost(&self, request: RequestId, token: u64) -> bool {
        let asked = self.interests.get(&request).is_none_or(Interest::has_calls);
        let found = self.candidate.found_token(request).filter(|found| *found != token);
        let inside = self.candidate.inside(request).is_some();
        self.is_lease() && found.is_some() && !inside && !asked
    }

    /// Records that voters are asked to record a token for an attempt.
    pub(super) fn note_recording(&mut self, claim: Claim, token: u64) {
        if let Some(interest) = self.interests.get_mut(&claim.request) {
            interest.recording = Some((claim.attempt, token));
        }
    }

    /// Tells the candidate that voters are not asked to record a token. Otherwise it would insist on that token, although
    /// votes that fit the known one may still arrive.
    pub(super) fn keep_token(&mut self, claim: Claim, token: u64) {
        let sent = self.interests.get(&claim.request).and_then(|interest| interest.recording);
        let sent = sent.filter(|(attempt, _)| *attempt == claim.attempt).map(|(_, token)| token);
        if sent != Some(token) {
            self.candidate.not_raised(claim.request, token, sent);
        }
    }

    /// Returns whether a lock that a lease has lost is given up. A call for the lock may be on its way here, because another
    /// node has stopped while it was granting the lock.
    pub(super) fn is_given_up(&self, request: RequestId, now: Time) -> bool {
        self.interests.get(&request).is_some_and(|interest| interest.since + self.ttl <= now)
    }

    /// Takes all calls that wait for an answer.
    pub(super) fn take_calls(&mut self) -> Vec<CallId> {
        let waiters = self.interests.values_mut().flat_map(|it| std::mem::take(&mut it.waiting));
        let waiters = waiters.filter(|waiter| waiter.connected).map(|waiter| waiter.call_id);
        let pending = std::mem::take(&mut self.pending).into_iter();
        waiters.chain(pending.map(|pending| pending.call_id)).collect()
    }

    /// Returns the identifier of a request: by the client's number, or by the lock for a lease, whose
    /// client has no numbers.
    pub(super) fn request(&self, number: u64, name: &Name) -> RequestId {
        let session = self.origin.id();
        match self.is_lease() {
            true => RequestId { session, incarnation: LEASED, number: name_number(name) },
            false => RequestId { session, incarnation: NUMBERED, number },
        }
    }

    /// Returns the request of this session for this lock, if the relay pursues one.
    pub(super) fn interest_in(&self, name: &Name) -> Option<RequestId> {
        self.by_name.get(name).copied()
    }

    /// Starts pursuing a request.
    pub(super) fn put(&mut self, request: RequestId, interest: Interest) {
        self.by_name.insert(interest.name.clone(), request);
        self.interests.insert(request, interest);
    }

    /// Stops pursuing a request.
    pub(super) fn take(&mut self, request: RequestId) -> Option<Interest> {
        let interest = self.interests.remove(&request)?;
        if self.by_name.get(&interest.name) == Some(&request) {
            self.by_name.remove(&interest.name);
        }
        Some(interest)
    }

    /// Returns the description of a request for the candidate.
    pub(super) fn wanted(&self, request: RequestId) -> Option<Wanted<Name>> {
        let interest = self.interests.get(&request)?;
        let (lock, attempt, inside) = (interest.name.clone(), interest.attempt, interest.token);
        let ended = Some(self.ended(request)).filter(|ended| *ended < attempt).unwrap_or(0);
        // A stamp of zero lets the voters stamp the request, because another relay may have made it before.
        Some(Wanted { lock, request, attempt, stamp: 0, inside, ended })
    }

    /// Returns whether a client waits for an answer.
    pub(super) fn has_calls(&self) -> bool {
        !self.pending.is_empty() || self.interests.values().any(Interest::has_calls)
    }

    /// Returns the token of a lock that the session holds, and the newest beat for which its votes are known to be good at
    /// a quorum. The source is the votes that this relay has collected, or the lists of the voters. Lists do not count for a
    /// lease: another relay may be about to withdraw the token at voters whose votes this relay has not taken over.
    pub(super) fn held(&self, request: RequestId) -> Option<(u64, u64)> {
        let own = self.interests.get(&request).and_then(|interest| {
            let report = self.candidate.report(request)?;
            match report.standing {
                RequestStatus::Held(Some(beat)) => {
                    Some((self.candidate.inside(request).or(interest.token)?, beat.number))
                }
                _ => None,
            }
        });
        let recorded = self.recorded(request).map(|(token, beat)| (token, beat.number));
        match (own, recorded) {
            (Some(own), Some(recorded)) => Some(own.max(recorded)),
            (own, recorded) => own.or(recorded),
        }
    }

    /// Returns the token that voters list as recorded at a quorum, and the newest beat for which its votes are good. Returns
    /// `None` for a lease, see [`Self::held`].
    pub(super) fn recorded(&self, request: RequestId) -> Option<(u64, Beat)> {
        self.candidate.recorded(request).filter(|_| !self.is_lease())
    }

    /// Everything of the session that voters have listed since a beat, except requests that have ended.
    pub(super) fn listed_since(&self, beat: u64) -> impl Iterator<Item = &Entry<Name>> {
        let lease = self.is_lease();
        let entries = self.candidate.listed_since(beat).map(|(_, entry)| entry);
        entries.filter(move |entry| {
            let request = entry.claim.request;
            let kind = if lease { LEASED } else { NUMBERED };
            request.incarnation == kind && entry.claim.attempt > self.ended(request)
        })
    }

    /// Requests that voters have listed with a recorded token since a beat, or that are held through this
    /// relay, with their locks.
    pub(super) fn recorded_since(&self, beat: u64) -> SortedMap<RequestId, Name> {
        let listed = self.listed_since(beat).filter(|entry| self.is_recorded(entry));
        let forced = self.forced();
        let listed = listed.filter(|entry| !forced.contains(&entry.claim.request));
        let listed = listed.map(|entry| (entry.claim.request, entry.lock.clone()));
        let held = self.interests.iter().filter(|(_, it)| it.token.is_some());
        listed.chain(held.map(|(request, it)| (*request, it.name.clone()))).collect()
    }

    /// Returns whether an entry has a recorded token that the client has not ended since.
    fn is_recorded(&self, entry: &Entry<Name>) -> bool {
        let ended = self.ended(entry.claim.request);
        entry.entered.is_some_and(|(attempt, _)| attempt > ended)
    }

    /// Returns the greatest attempt of a request that voters have listed.
    pub(super) fn attempt_listed(&self, request: RequestId) -> u64 {
        let entries = self.candidate.listed().filter(|(_, it)| it.claim.request == request);
        entries.map(|(_, entry)| entry.claim.attempt).max().unwrap_or(0)
    }

    /// Requests that were ended by force, as far as voters have reported. Their client may not know.
    pub(super) fn forced(&self) -> SortedSet<RequestId> {
        let listed = self.candidate.listed().filter(|(_, entry)| entry.forced);
        let listed = listed.map(|(_, entry)| entry.claim.request);
        listed.chain(self.forced.iter().copied()).collect()
    }

    /// Requests without a recorded token that only other candidates pursue.
    pub(super) fn claims_of_others(&self, beat: u64) -> SortedMap<RequestId, (Name, CandidateId)> {
        let entries = self.listed_since(beat).filter(|entry| !self.is_recorded(entry));
        let forced = self.forced();
        let entries = entries.filter(|it| !forced.contains(&it.claim.request));
        let others = entries.filter(|it| !self.interests.contains_key(&it.claim.request));
        let claim = |entry: &Entry<Name>| {
            let Claim { request, candidate, .. } = entry.claim;
            (request, (entry.lock.clone(), candidate))
        };
        others.map(claim).collect()
    }

    /// Records that the client has ended a request, up to this attempt.
    pub(super) fn note_end(&mut self, request: RequestId, attempt: u64) {
        self.forced.remove(&request);
        let known = self.ended.insert(request, attempt.max(self.ended(request)));
        if known.is_some() {
            return;
        }
        self.ended_last.push_back(request);
        if self.ended_last.len() > ENDED_MOST
            && let Some(oldest) = self.ended_last.pop_front()
        {
            self.ended.remove(&oldest);
        }
    }

    /// Returns the first attempt of a request that is not known here.
    pub(super) fn first_attempt(&self, request: RequestId, clock: u64) -> u64 {
        let turn = if self.is_lease() { clock << TURN_BITS } else { 1 };
        turn.max(self.ended(request).saturating_add(1))
    }

    /// Returns the last attempt of a request that the client has ended; 0 if there is none.
    pub(super) fn ended(&self, request: RequestId) -> u64 {
        self.ended.get(&request).copied().unwrap_or(0)
    }

    /// Returns the voters that still list a request that the client has ended.
    pub(super) fn ended_but_listed(&self) -> Vec<(ProcessId, RequestId, u64, Name)> {
        if self.ended.is_empty() {
            return Vec::new();
        }
        let listed = self.candidate.listed().filter_map(|(voter, entry)| {
            let Claim { request, attempt, .. } = entry.claim;
            let ended = self.ended(request);
            (attempt <= ended).then(|| (voter, request, ended, entry.lock.clone()))
        });
        listed.collect()
    }

    /// Returns when the newest beat up to this one began, by this node's clock.
    pub(super) fn begun(&self, beat: u64) -> Option<Time> {
        self.beats.iter().rev().find(|begun| begun.number <= beat).map(|begun| begun.at)
    }

    /// Returns validity as the client of a call may count it: from the latest call by the same clock whose beat is
    /// known to be good.
    pub(super) fn validity(&self, good: u64, sent: Sent, terms: Terms) -> Validity {
        let mut same = self.beats.iter().rev().filter(|begun| begun.sent.clock == sent.clock);
        let latest = same.find(|begun| begun.number <= good).map(|begun| begun.sent.at);
        let micros = terms.validity(self.ttl).0 / 1_000;
        Validity { since: latest.unwrap_or(sent.at).max(sent.at), micros }
    }

    /// Returns the number of bytes of its names and texts.
    pub(super) fn text_bytes(&self) -> usize {
        self.interests.values().map(|it| it.name.text().len() + it.why.len()).sum()
    }

    /// Returns the answer to a keep-alive: everything that the session holds and waits for.
    pub(super) fn alive(&self, pending: &PendingCall, good: u64, terms: Terms) -> CallResponse {
        let (mut held, mut waiting) = (Vec::new(), SortedSet::new());
        let recorded = self.recorded_since(pending.beat);
        for (request, name) in &recorded {
            if let Some((token, _)) = self.held(*request) {
                held.push(HeldLock { request: request.number, name: name.clone(), token });
            }
        }
        let listed = self.listed_since(pending.beat).map(|entry| entry.claim.request);
        let known = listed.chain(self.interests.keys().copied());
        let others = known.filter(|request| !recorded.contains_key(request));
        waiting.extend(others.map(|request| request.number));
        let validity = self.validity(good, pending.sent, terms);
        CallResponse::Alive { validity, held, waiting: waiting.into_iter().collect() }
    }
}

impl Interest {
    pub(super) fn new(name: Name, why: String, now: Time) -> Self {
        Self {
            name,
            attempt: 1,
            since: now,
            why,
            token: None,
            waiting: Vec::new(),
            answered: 0,
            detached: false,
            revision: None,
            raised: 0,
            queue_position: 0,
            recording: None,
        }
    }

    /// Returns whether a client waits for this lock.
    pub(super) fn has_calls(&self) -> bool {
        self.waiting.iter().any(|waiter| waiter.connected)
    }
}
