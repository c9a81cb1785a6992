//! Sessions at a voter: beats, echoes and lapses.

use alloc::vec::Vec;

use quorate_core::Time;

use super::super::ballot::{Ballot, GrantedVote, STAMPS_FROM};
use super::super::id::{Beat, CandidateId, Claim, Epoch, RequestId};
use super::super::message::{Entry, Name, Part, Presented, ToCandidate};
use super::super::voter_session::VoterSession;
use super::{Record, Voter, VoterEffect, VoterEffects};

/// Maximum number of entries in one part of a list.
const PART_MOST: usize = 512;

/// Maximum number of requests per session whose stamps are known before the vote is requested. Further requests may
/// lose their position when their first voters stop.
const ANNOUNCED_MOST: usize = 4_096;

impl<K: Name> Voter<K> {
    /// Opens or extends the session that a candidate presents. Returns `true` if the candidate may continue.
    pub(super) fn accept(
        &mut self,
        presented: Presented,
        candidate: CandidateId,
        now: Time,
        out: &mut VoterEffects<K>,
    ) -> bool {
        let Presented { session: id, ttl, beat, relayed, .. } = presented;
        if !self.is_voting() {
            out.push(VoterEffect::Send(candidate, ToCandidate::Unavailable));
            return false;
        }
        if self.lapse_of(id, beat.incarnation).is_some_and(|lapses| lapses <= now) {
            self.end_incarnation(id, beat.incarnation, now, out);
        }
        let applied = self.sessions.get(&id).map_or_else(|| self.terms.clamp(ttl), |it| it.ttl);
        if applied != ttl {
            let refused = ToCandidate::Refused { session: id, ttl: applied };
            out.push(VoterEffect::Send(candidate, refused));
            return false;
        }
        if !self.sessions.contains_key(&id) {
            self.epochs += 1;
            let epoch = Epoch { incarnation: self.incarnation, number: self.epochs };
            let begins = VoterSession { relayed, ..VoterSession::new(ttl, epoch) };
            out.push(VoterEffect::Persist(begins.record(id)));
            self.sessions.insert(id, begins);
        }
        let Some(session) = self.sessions.get_mut(&id) else { return false };
        if relayed && !core::mem::replace(&mut session.relayed, true) {
            out.push(VoterEffect::Persist(session.record(id)));
        }
        let before = session.lapses_alone(beat.incarnation);
        before.map(|time| self.lapses.remove(&(time, id, beat.incarnation)));
        let has_room = session.hear(beat, now);
        let lapses = session.lapses_alone(beat.incarnation);
        self.lapses.extend(lapses.map(|time| (time, id, beat.incarnation)));
        has_room
    }

    /// Records that a session is continuous, if it is still in the epoch that the candidate has confirmed.
    pub(super) fn confirm(
        &mut self,
        id: u128,
        seen: Option<(Epoch, u64)>,
        out: &mut VoterEffects<K>,
    ) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let is_same = seen.is_some_and(|(epoch, _)| epoch == session.epoch);
        if is_same && !core::mem::replace(&mut session.continuous, true) {
            out.push(VoterEffect::Persist(session.record(id)));
        }
    }

    fn lapse_of(&self, session: u128, incarnation: u64) -> Option<Time> {
        self.sessions.get(&session)?.lapses_of(incarnation)
    }

    /// Answers a beat that has been accepted.
    pub(super) fn on_beat(
        &mut self,
        from: CandidateId,
        presented: Presented,
        seen: Option<(Epoch, u64)>,
        waiting: Vec<(RequestId, u64)>,
        now: Time,
        out: &mut VoterEffects<K>,
    ) {
        let id = presented.session;
        // Requests of a relayed session do not belong to a particular candidate.
        let relayed = presented.relayed;
        let own = |request: &RequestId| {
            let own = relayed || request.incarnation == presented.beat.incarnation;
            request.session == id && own
        };
        let announced: Vec<(RequestId, u64)> = waiting
            .into_iter()
            .filter(|(request, _)| own(request))
            .map(|(request, stamp)| (request, self.lifted(id, request, stamp, now)))
            .collect();
        let clock = self.clock;
        let Some(session) = self.sessions.get_mut(&id) else { return };
        session.announced.retain(|request, _| relayed || !own(request));
        let room = ANNOUNCED_MOST.saturating_sub(session.announced.len());
        session.announced.extend(announced.into_iter().take(room));
        session.told = Some(clock);
        let (epoch, version, continuous) = (session.epoch, session.version, session.continuous);
        let beat = session.newest(presented.beat.incarnation);
        let mut echo = |part, entries| {
            let echo = ToCandidate::Echo { epoch, beat, continuous, clock, version, part, entries };
            out.push(VoterEffect::Send(from, echo));
        };
        if seen == Some((epoch, version)) {
            return echo(None, Vec::new());
        }
        let mut entries = self.entries(id).into_iter().peekable();
        for index in 0.. {
            let entries_of_part = entries.by_ref().take(PART_MOST).collect();
            let is_last = entries.peek().is_none();
            echo(Some(Part { index, is_last }), entries_of_part);
            if is_last {
                break;
            }
        }
    }

    /// All requests of a session at this voter, including those that were ended by force.
    pub fn entries(&self, session: u128) -> Vec<Entry<K>> {
        let Some(session) = self.sessions.get(&session) else { return Vec::new() };
        let entry = |(request, (lock, stamp)): (&RequestId, &(K, u64))| {
            let ballot = self.ballots.get(lock)?;
            if let Some(vote) = ballot.vote.filter(|vote| vote.claim.request == *request) {
                let renewed = vote.frozen.is_none().then_some(vote.number);
                let GrantedVote { claim, entered, recorded_in, .. } = vote;
                let (lock, forced) = (lock.clone(), vote.frozen.is_some());
                return Some(Entry { lock, claim, vote: renewed, forced, entered, recorded_in });
            }
            let waiter = ballot.queue.get(&(*stamp, *request))?;
            let (claim, lock) = (waiter.claim, lock.clone());
            let (entered, recorded_in) = (None, 0);
            Some(Entry { lock, claim, vote: None, forced: false, entered, recorded_in })
        };
        let ended =
            session.dead.iter().filter(|(request, _)| !session.requests.contains_key(request));
        let ended = ended.map(|(request, lock)| {
            let claim = Claim { request: *request, attempt: 0, candidate: CandidateId(0) };
            let (lock, entered, recorded_in) = (lock.clone(), None, 0);
            Entry { lock, claim, vote: None, forced: true, entered, recorded_in }
        });
        session.requests.iter().filter_map(entry).chain(ended).collect()
    }

    /// The stamp of a request that the voter sees for the first time. Stamps are lifted, not refused: a request
    /// cannot claim to be older than the clock that its session had received before. A request without a stamp is as
    /// old as this moment.
    pub(super) fn lifted(&self, session: u128, request: RequestId, stamp: u64, now: Time) -> u64 {
        let Some(session) = self.sessions.get(&session) else { return stamp };
        let known = session.requests.get(&request).map(|(_, stamp)| *stamp);
        // A request that came before others by its rank has no stamp of its own yet.
        let known = known.filter(|stamp| *stamp >= STAMPS_FROM);
        if let Some(known) = known.or_else(|| session.announced.get(&request).copied()) {
            return stamp.max(known);
        }
        match session.told {
            _ if stamp > 0 && now < self.trusts_until => stamp.max(STAMPS_FROM),
            Some(told) if stamp > 0 => stamp.max(told + 1),
            told => stamp.max(self.clock).max(told.map_or(0, |told| told + 1)),
        }
    }

    /// Ends a client incarnation that has sent no beat for one ttl, and frees all its votes. The session ends
    /// with its last incarnation.
    pub(super) fn end_incarnation(
        &mut self,
        id: u128,
        incarnation: u64,
        now: Time,
        out: &mut VoterEffects<K>,
    ) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let lives = session.relayed && session.lapses() > now;
        let lapses = session.lapses_alone(incarnation);
        lapses.map(|time| self.lapses.remove(&(time, id, incarnation)));
        session.beats.remove(&incarnation);
        if lives {
            return;
        }
        session.announced.retain(|request, _| request.incarnation != incarnation);
        if session.relayed || session.beats.is_empty() {
            return self.end_session(id, out);
        }
        session.version += 1;
        let is_its = |ballot: &Ballot, request: RequestId, stamp: u64| {
            let vote = ballot.vote.filter(|vote| vote.claim.request == request);
            let waiter = ballot.queue.get(&(stamp, request));
            vote.map(|vote| vote.beats).or(waiter.map(|waiter| waiter.beats)) == Some(incarnation)
        };
        let ballots = &self.ballots;
        let ended = session.requests.extract(|request, (lock, stamp)| {
            ballots.get(lock).is_some_and(|ballot| is_its(ballot, *request, *stamp))
        });
        for (request, (lock, stamp)) in ended {
            self.remove(lock, request, stamp, out);
        }
    }

    /// Ends a session whose last incarnation has lapsed or whose client has ended it, and frees all its votes.
    pub(super) fn end_session(&mut self, id: u128, out: &mut VoterEffects<K>) {
        let Some(session) = self.sessions.remove(&id) else { return };
        for incarnation in session.beats.keys() {
            let lapses = session.lapses_alone(*incarnation);
            lapses.map(|time| self.lapses.remove(&(time, id, *incarnation)));
        }
        out.push(VoterEffect::Persist(Record::Ended { session: id }));
        for (request, (lock, stamp)) in session.requests {
            self.remove(lock, request, stamp, out);
        }
    }

    /// Epoch, newest beat and list version to send with a vote.
    pub(super) fn echo_of(&self, request: RequestId, beats: u64) -> Option<(Epoch, Beat, u64)> {
        let session = self.sessions.get(&request.session)?;
        Some((session.epoch, session.newest(beats), session.version))
    }

    pub(super) fn changed(&mut self, session: u128) {
        if let Some(session) = self.sessions.get_mut(&session) {
            session.version += 1;
        }
    }
}
