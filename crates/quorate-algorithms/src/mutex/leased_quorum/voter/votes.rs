//! Votes: how they are requested, given, confirmed, given back and freed.

use quorate_core::Time;

use super::super::ballot::{Ballot, GrantedVote, Waiter};
use super::super::id::{Claim, RequestId, VoteId};
use super::super::message::{Name, Presented, Rank, ToCandidate};
use super::{Record, Voter, VoterEffect, VoterEffects};

/// Numbers are reserved in blocks of this size, so that few grants wait for the disk.
const BLOCK: u64 = 1 << 20;

/// Maximum by which a client may raise a voter's numbers in one step. Voters that restarted with a durable mark differ
/// by a few blocks. Without a bound one client could exhaust all numbers.
const LEAP_MOST: u64 = 1 << 32;

/// Relation of a claim to the known claim for the same request.
enum Precedence {
    Newer,
    Same,
    Stale,
}

fn precedence(known: Claim, claim: Claim) -> Precedence {
    match claim.attempt.cmp(&known.attempt) {
        core::cmp::Ordering::Greater => Precedence::Newer,
        core::cmp::Ordering::Equal if claim.candidate == known.candidate => Precedence::Same,
        _ => Precedence::Stale,
    }
}

/// Attempt and token of a client that its candidate reports as inside, if the voter can accept the token.
fn told_inside(claim: Claim, inside: Option<u64>, last: u64) -> Option<(u64, u64)> {
    let token = inside.filter(|token| *token <= last.saturating_add(LEAP_MOST))?;
    Some((claim.attempt, token))
}

/// Merges a new record with the known one. The token of a request only grows.
fn grown((attempt, token): (u64, u64), known: Option<(u64, u64)>) -> (u64, u64) {
    (attempt, known.map_or(token, |(_, known)| token.max(known)))
}

impl<K: Name> Voter<K> {
    pub(super) fn on_request(
        &mut self,
        presented: Presented,
        lock: K,
        claim: Claim,
        (stamp, inside, rank): (u64, Option<u64>, Rank),
        now: Time,
        out: &mut VoterEffects<K>,
    ) {
        let Claim { request, candidate, .. } = claim;
        if !self.accept(presented, candidate, now, out) {
            return;
        }
        let Some(session) = self.sessions.get(&request.session) else { return };
        let forced = session.dead.contains_key(&request);
        let ended = if forced { Some(u64::MAX) } else { session.released(request) };
        if let Some(attempt) = ended.filter(|ended| *ended >= claim.attempt) {
            let gone = ToCandidate::Gone { lock, request, attempt, forced };
            return out.push(VoterEffect::Send(candidate, gone));
        }
        let known = session.requests.get(&request);
        if known.is_some_and(|(known, _)| *known != lock) {
            return;
        }
        let old = known.map(|(_, stamp)| *stamp);
        // A client that is inside comes before all waiters. Otherwise a waiter with an older stamp could keep the spare
        // vote, and the client could lose its lock with a single voter.
        let lifted = || self.lifted(request.session, request, stamp, now);
        let stamp = rank.stamp().unwrap_or_else(lifted);
        let (floor, relayed) = (self.floor, session.relayed);
        let ballot = self.ballots.entry(lock.clone()).or_insert_with(|| Ballot::new(floor));
        let (beats, config) = (presented.beat.incarnation, presented.config);
        let voted = ballot.vote.filter(|vote| vote.claim.request == request);
        let queued = old.and_then(|old| ballot.queue.get(&(old, request)).copied());
        let known = voted.map(|vote| vote.claim).or(queued.map(|waiter| waiter.claim));
        let changed = match known.map(|known| (precedence(known, claim), known.attempt)) {
            Some((Precedence::Stale, attempt)) => {
                let stale = ToCandidate::Stale { lock, claim, attempt };
                return out.push(VoterEffect::Send(candidate, stale));
            }
            Some((Precedence::Same, _)) => old != Some(stamp),
            Some((Precedence::Newer, _)) | None => true,
        };
        if let Some(vote) = voted {
            let told = told_inside(claim, inside, ballot.last).filter(|_| !relayed);
            let entered = told.map(|told| grown(told, vote.entered)).or(vote.entered);
            let first = vote.first.or(entered.map(|(_, token)| token));
            // A message that was sent before the candidate knew this configuration may arrive late.
            let known = if vote.claim == claim { vote.config } else { 0 };
            let config = config.max(known);
            let changes = GrantedVote { claim, stamp, beats, entered, first, config, ..vote };
            ballot.vote = Some(changes);
            if changes != vote {
                self.persist(&lock, out);
            }
        } else {
            old.and_then(|old| ballot.queue.remove(&(old, request)));
            ballot.queue.insert((stamp, request), Waiter { claim, inside, beats, config });
        }
        let clock = self.clock;
        if let Some(session) = self.sessions.get_mut(&request.session) {
            session.requests.insert(request, (lock.clone(), stamp));
            session.version += u64::from(changed);
            // The answer carries the clock. So even without beats the stamp of the session's next request
            // need not be lifted.
            session.told = Some(clock);
        }
        match voted {
            Some(_) => self.send_vote(&lock, out),
            None => self.give(&lock, out),
        }
        self.tell_place(&lock, (stamp, request), out);
        self.inquire(&lock, out);
    }

    /// Ends earlier attempts of a request that the client has ended and now makes again. Their release may not have
    /// arrived yet. The vote that such an attempt holds, or with which it has recorded a token, is freed. So this attempt
    /// gets a vote with a greater number, in the order of the queue.
    pub(super) fn end_earlier(
        &mut self,
        lock: &K,
        claim: Claim,
        ended: u64,
        out: &mut VoterEffects<K>,
    ) {
        let request = claim.request;
        let Some(known) = self.claim_of(lock, request) else { return };
        if ended == 0 || ended >= claim.attempt {
            return;
        }
        if known.attempt <= ended {
            self.release(request, ended, None, out);
            return;
        }
        // The claim of this turn has taken the vote over before its candidate knew that the earlier turn had ended.
        let is_earlier = |given: &mut GrantedVote| {
            let recorded = given.entered.filter(|(attempt, _)| *attempt <= ended);
            given.claim.request == request && given.frozen.is_none() && recorded.is_some()
        };
        let Some(ballot) = self.ballots.get_mut(lock) else { return };
        let Some(given) = ballot.vote.take_if(is_earlier) else { return };
        let GrantedVote { claim, stamp, beats, config, .. } = given;
        ballot.queue.insert((stamp, request), Waiter { claim, inside: None, beats, config });
        if let Some(session) = self.sessions.get_mut(&request.session) {
            session.version += 1;
            session.release(request, ended);
            out.push(VoterEffect::Persist(Record::Released { request, attempt: ended }));
        }
        self.after_freed(lock, out);
    }

    /// Sends a waiting claim its position in the queue.
    fn tell_place(&self, lock: &K, key: (u64, RequestId), out: &mut VoterEffects<K>) {
        let Some(ballot) = self.ballots.get(lock) else { return };
        let Some(waiter) = ballot.queue.get(&key) else { return };
        let Some((epoch, ..)) = self.echo_of(key.1, waiter.beats) else { return };
        let place = ballot.queue.range(..=key).count() as u32;
        let (lock, claim, clock) = (lock.clone(), waiter.claim, self.clock);
        let (stamp, ended) = (key.0, self.ended(key.1));
        let behind = ToCandidate::Behind { lock, claim, epoch, stamp, place, clock, ended };
        out.push(VoterEffect::Send(waiter.claim.candidate, behind));
    }

    /// Asks for the vote back if an older request waits.
    fn inquire(&self, lock: &K, out: &mut VoterEffects<K>) {
        let index = self.electorate.index();
        let Some(vote) = self.ballots.get(lock).and_then(|ballot| ballot.asks_back(index)) else {
            return;
        };
        let Some(id) = self.vote_id(&vote) else { return };
        let inquire = ToCandidate::Inquire { lock: lock.clone(), claim: vote.claim, vote: id };
        out.push(VoterEffect::Send(vote.claim.candidate, inquire));
    }

    fn vote_id(&self, vote: &GrantedVote) -> Option<VoteId> {
        let session = self.sessions.get(&vote.claim.request.session)?;
        Some(VoteId { epoch: session.epoch, number: vote.number })
    }

    /// Gives the vote to the first waiter, if it is free.
    pub(super) fn give(&mut self, lock: &K, out: &mut VoterEffects<K>) {
        let Some(ballot) = self.ballots.get_mut(lock) else { return };
        if ballot.vote.is_some() {
            return;
        }
        let Some(((stamp, request), waiter)) = ballot.first_waiter(self.electorate.index()) else {
            return self.forget_idle(out);
        };
        let told = told_inside(waiter.claim, waiter.inside, ballot.last);
        let number = ballot.last.saturating_add(1).max(told.map_or(0, |(_, token)| token));
        if number > self.ceiling {
            self.held_up.insert(lock.clone());
            return self.reserve(number, out);
        }
        ballot.queue.remove(&(stamp, request));
        let Waiter { claim, beats, config, .. } = waiter;
        // The node of a relayed session may have sent `inside` long ago, and its client may have lost the lock since.
        // The token is recorded once the node confirms it for this very vote.
        let relayed = self.sessions.get(&request.session).is_some_and(|session| session.relayed);
        let told = told.filter(|_| !relayed);
        let (entered, first, frozen) = (told, told.map(|(_, token)| token), None);
        let given = GrantedVote {
            claim,
            stamp,
            number,
            beats,
            entered,
            first,
            recorded_in: config,
            config,
            frozen,
        };
        ballot.vote = Some(given);
        ballot.last = number;
        self.changed(request.session);
        self.persist(lock, out);
        self.send_vote(lock, out);
        if self.ceiling - number < BLOCK / 2 {
            self.reserve(number, out);
        }
    }

    fn send_vote(&self, lock: &K, out: &mut VoterEffects<K>) {
        let Some(ballot) = self.ballots.get(lock) else { return };
        let Some(given) = ballot.vote else { return };
        let request = given.claim.request;
        if given.frozen.is_some() {
            let (lock, attempt, forced) = (lock.clone(), u64::MAX, true);
            let gone = ToCandidate::Gone { lock, request, attempt, forced };
            return out.push(VoterEffect::Send(given.claim.candidate, gone));
        }
        let Some((epoch, beat, version)) = self.echo_of(request, given.beats) else { return };
        let vote = ToCandidate::Vote {
            lock: lock.clone(),
            claim: given.claim,
            vote: VoteId { epoch, number: given.number },
            last: ballot.last,
            stamp: given.stamp,
            beat,
            clock: self.clock,
            version,
            entered: given.entered,
            recorded_in: given.recorded_in,
            ended: self.ended(request),
            config: given.config,
            floor: self.learned,
        };
        out.push(VoterEffect::Send(given.claim.candidate, vote));
    }

    /// The last attempt of a request that the client has ended, as far as this voter knows.
    fn ended(&self, request: RequestId) -> u64 {
        let session = self.sessions.get(&request.session);
        session.and_then(|session| session.released(request)).unwrap_or(0)
    }

    /// The ballot of a lock, if its vote is exactly this one.
    pub(super) fn given(&mut self, lock: &K, claim: Claim, id: VoteId) -> Option<&mut Ballot> {
        let given = self.ballots.get(lock)?.vote.filter(|vote| vote.claim == claim)?;
        if self.vote_id(&given) != Some(id) {
            return None;
        }
        self.ballots.get_mut(lock)
    }

    pub(super) fn on_raise(
        &mut self,
        lock: K,
        claim: Claim,
        vote: VoteId,
        (token, enters): (u64, bool),
        out: &mut VoterEffects<K>,
    ) {
        let ceiling = self.ceiling;
        let Some(ballot) = self.given(&lock, claim, vote) else { return };
        let Some(given) = ballot.vote.as_mut().filter(|given| given.frozen.is_none()) else {
            return;
        };
        if token > ballot.last.saturating_add(LEAP_MOST) {
            return;
        }
        if token > ceiling {
            // The candidate repeats it with the next beat.
            return self.reserve(token, out);
        }
        let before = (ballot.last, given.entered, given.recorded_in);
        ballot.last = ballot.last.max(token);
        if enters {
            given.recorded_in = given.config;
            given.entered = Some(grown((claim.attempt, token), given.entered));
            given.first = given.first.or(Some(token));
        }
        let (last, entered, recorded_in) = (ballot.last, given.entered, given.recorded_in);
        if before != (last, entered, recorded_in) {
            self.changed(claim.request.session);
            self.persist(&lock, out);
        }
        let entered = entered.filter(|(attempt, _)| *attempt == claim.attempt);
        let entered = entered.map(|(_, token)| token);
        let raised = ToCandidate::Raised { lock, claim, vote, last, entered, recorded_in };
        out.push(VoterEffect::Send(claim.candidate, raised));
    }

    pub(super) fn on_yield(
        &mut self,
        lock: K,
        claim: Claim,
        vote: VoteId,
        out: &mut VoterEffects<K>,
    ) {
        let Some(ballot) = self.given(&lock, claim, vote) else { return };
        // If the client may have learned that it is inside, only the client itself can give the vote back.
        let Some(given) = ballot.vote.take_if(|given| given.entered.is_none()) else { return };
        let GrantedVote { stamp, beats, frozen, config, .. } = given;
        if let Some(time) = frozen {
            self.frozen.remove(&(time, lock.clone()));
            self.forget_request(claim.request);
        } else {
            let waiter = Waiter { claim, inside: None, beats, config };
            ballot.queue.insert((stamp, claim.request), waiter);
        }
        self.changed(claim.request.session);
        self.after_freed(&lock, out);
    }

    /// Handles a candidate that no longer pursues its attempt.
    pub(super) fn on_withdraw(
        &mut self,
        lock: K,
        claim: Claim,
        untold: bool,
        out: &mut VoterEffects<K>,
    ) {
        let request = claim.request;
        let Some(known) = self.claim_of(&lock, request) else { return };
        if matches!(precedence(known, claim), Precedence::Stale) {
            return;
        }
        // Once a token is recorded, any node may have read it and reported it to the client.
        let entered = self.ballots.get_mut(&lock).and_then(|it| it.vote_of(request)?.entered);
        if entered.is_some_and(|(attempt, _)| !untold || attempt != claim.attempt) {
            return;
        }
        let Some(session) = self.sessions.get_mut(&request.session) else { return };
        let Some((_, stamp)) = session.requests.remove(&request) else { return };
        session.version += 1;
        self.remove(lock, request, stamp, out);
    }

    /// Ends a request up to this attempt, because the client has stopped or no longer wants the lock. It stays ended,
    /// whatever other candidates do. Returns `true` if the voter knew the request.
    pub fn release(
        &mut self,
        request: RequestId,
        attempt: u64,
        token: Option<u64>,
        out: &mut VoterEffects<K>,
    ) -> bool {
        // Another candidate may have begun a new turn before the release arrived.
        if self.attempt_of(request).is_some_and(|known| known > attempt) {
            return false;
        }
        let Some(session) = self.sessions.get_mut(&request.session) else { return false };
        let mut known = session.announced.remove(&request).is_some();
        known |= session.dead.remove(&request).is_some();
        session.release(request, attempt);
        if session.relayed {
            out.push(VoterEffect::Persist(Record::Released { request, attempt }));
        }
        let Some((lock, stamp)) = session.requests.remove(&request) else { return known };
        session.version += 1;
        let ceiling = self.ceiling;
        if let Some(ballot) = self.ballots.get_mut(&lock)
            && let Some(token) = token.filter(|token| *token <= ceiling)
            && ballot.vote_of(request).is_some()
            && token <= ballot.last.saturating_add(LEAP_MOST)
        {
            ballot.last = ballot.last.max(token);
        }
        self.remove(lock, request, stamp, out);
        true
    }

    /// The attempt of a request that the voter knows, if any.
    fn attempt_of(&self, request: RequestId) -> Option<u64> {
        let (lock, _) = self.sessions.get(&request.session)?.requests.get(&request)?;
        self.claim_of(lock, request).map(|claim| claim.attempt)
    }

    /// The claim of a request at this voter, if any.
    fn claim_of(&self, lock: &K, request: RequestId) -> Option<Claim> {
        let ballot = self.ballots.get(lock)?;
        let voted = ballot.vote.map(|vote| vote.claim).filter(|claim| claim.request == request);
        let (_, stamp) = self.sessions.get(&request.session)?.requests.get(&request)?;
        voted.or_else(|| ballot.queue.get(&(*stamp, request)).map(|waiter| waiter.claim))
    }

    /// Removes a request from a ballot, and gives the vote to the next waiter if it has become free.
    pub(super) fn remove(
        &mut self,
        lock: K,
        request: RequestId,
        stamp: u64,
        out: &mut VoterEffects<K>,
    ) {
        let Some(ballot) = self.ballots.get_mut(&lock) else { return };
        ballot.queue.remove(&(stamp, request));
        let Some(frozen) = ballot.vote_of(request).map(|vote| vote.frozen) else { return };
        ballot.vote = None;
        if let Some(time) = frozen {
            self.frozen.remove(&(time, lock.clone()));
        }
        self.after_freed(&lock, out);
    }

    /// Gives the freed vote to the next waiter, or records in the vote file that it is free.
    fn after_freed(&mut self, lock: &K, out: &mut VoterEffects<K>) {
        self.give(lock, out);
        if self.ballots.get(lock).is_some_and(|ballot| ballot.vote.is_none()) {
            self.persist(lock, out);
        }
    }

    fn persist(&self, lock: &K, out: &mut VoterEffects<K>) {
        let Some(ballot) = self.ballots.get(lock) else { return };
        let (lock, last, vote) = (lock.clone(), ballot.last, ballot.vote);
        out.push(VoterEffect::Persist(Record::Ballot { lock, last, vote }));
    }

    /// Ends a request by force. Its vote is no longer renewed. The next waiter gets it when the client has released it,
    /// or can no longer rely on it.
    pub fn force(&mut self, lock: &K, request: RequestId, out: &mut VoterEffects<K>) -> bool {
        let Some(session) = self.sessions.get_mut(&request.session) else { return false };
        let Some((_, stamp)) = session.requests.get(&request).filter(|(of, _)| of == lock) else {
            return false;
        };
        let stamp = *stamp;
        session.dead.insert(request, lock.clone());
        session.version += 1;
        out.push(VoterEffect::Persist(Record::Dead { request, lock: lock.clone() }));
        let Some(ballot) = self.ballots.get_mut(lock) else { return false };
        if let Some(vote) = ballot.vote_of(request) {
            // Renewal is frozen at the last beat that was received.
            let lapses = session.lapses_of(vote.beats).unwrap_or(Time::ZERO);
            let (time, candidate) = (*vote.frozen.get_or_insert(lapses), vote.claim.candidate);
            self.frozen.insert((time, lock.clone()));
            self.persist(lock, out);
            let (lock, attempt, forced) = (lock.clone(), u64::MAX, true);
            let gone = ToCandidate::Gone { lock, request, attempt, forced };
            out.push(VoterEffect::Send(candidate, gone));
        } else if let Some(waiter) = ballot.queue.remove(&(stamp, request)) {
            self.forget_request(request);
            let (lock, attempt, forced) = (lock.clone(), u64::MAX, true);
            let gone = ToCandidate::Gone { lock, request, attempt, forced };
            out.push(VoterEffect::Send(waiter.claim.candidate, gone));
        }
        true
    }

    /// Frees a vote that was ended by force, because its client can no longer rely on it.
    pub(super) fn thaw(&mut self, lock: K, out: &mut VoterEffects<K>) {
        self.frozen.retain(|(_, frozen)| *frozen != lock);
        let Some(ballot) = self.ballots.get_mut(&lock) else { return };
        let Some(vote) = ballot.vote.take_if(|vote| vote.frozen.is_some()) else { return };
        self.forget_request(vote.claim.request);
        self.changed(vote.claim.request.session);
        self.after_freed(&lock, out);
    }

    fn forget_request(&mut self, request: RequestId) {
        if let Some(session) = self.sessions.get_mut(&request.session) {
            session.requests.remove(&request);
        }
    }

    pub(super) fn reserve(&mut self, number: u64, out: &mut VoterEffects<K>) {
        if !self.reserving && self.ceiling < u64::MAX {
            self.reserving = true;
            out.push(VoterEffect::Reserve(number.max(self.ceiling).saturating_add(BLOCK)));
        }
    }

    /// Confirms that numbers up to this one are durable.
    pub fn reserved(&mut self, ceiling: u64, out: &mut VoterEffects<K>) {
        self.ceiling = self.ceiling.max(ceiling);
        self.reserving = false;
        if self.learned > self.ceiling {
            self.reserve(self.learned, out);
        }
        for lock in core::mem::take(&mut self.held_up) {
            self.give(&lock, out);
        }
    }

    /// Evicts idle ballots once there are many. The floor bounds their numbers.
    fn forget_idle(&mut self, out: &mut VoterEffects<K>) {
        if self.ballots.len() <= self.ballots_most.saturating_mul(2) {
            return;
        }
        let idle = self.ballots.extract(|_, ballot| ballot.is_idle());
        self.floor = idle.iter().map(|(_, ballot)| ballot.last).fold(self.floor, u64::max);
        out.push(VoterEffect::Persist(self.counters()));
        for (lock, _) in idle {
            out.push(VoterEffect::Persist(Record::Forgotten { lock }));
        }
        self.ballots_most = self.ballots_most.max(self.ballots.len());
    }

    /// The greatest number given or confirmed for any lock.
    pub(super) fn furthest(&self) -> u64 {
        self.ballots.values().map(Ballot::last).fold(self.floor, u64::max)
    }
}
