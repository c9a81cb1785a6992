//! Changes of the voters: which configuration this voter knows, and which part it has in leaving the one before.
//!
//! `docs/membership.md` describes the protocol. The driver determines the configurations, and makes each of them durable before
//! the voter adopts it.

use quorate_core::{ProcessId, ProcessSet, SortedSet, Span, Time};

use super::super::electorate::Electorate;
use super::super::id::CandidateId;
use super::super::message::{Name, ToCandidate, ToVoter};
use super::super::terms::Terms;
use super::{Abstains, PeerMessage, Record, Voter, VoterEffect, VoterEffects};

/// Maximum number of messages that wait until the voter knows the configuration of their candidates. Candidates repeat what
/// is lost.
const EARLY_MOST: usize = 1_024;

/// A change from the configuration before the present one, until the present one is settled.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Change {
    /// The electorate of the configuration before.
    pub(super) previous: Electorate,
    /// All sessions that the voter knew when it learned of the present configuration have lapsed by this time, unless
    /// their clients have sent beats since. Those know the present configuration.
    pub(super) closes: Time,
    /// Voters of the configuration before that have sent their numbers, and the greatest of these.
    told: ProcessSet,
    floor: u64,
    /// Whether the voter has learned the numbers of a quorum of the configuration before.
    has_learned: bool,
}

impl<K: Name> Voter<K> {
    /// Adopts a configuration that is newer than the present one. From now on the voter accepts only candidates that know
    /// it. `previous` is the configuration before, unless the new one is known to be settled.
    pub fn adopt(
        &mut self,
        electorate: Electorate,
        previous: Option<Electorate>,
        now: Time,
        out: &mut VoterEffects<K>,
    ) {
        if electorate.index() > self.electorate.index() {
            self.begin_in(electorate, previous, now);
            self.learn_own(out);
            self.gossip(out);
            self.tell_candidates(out);
            for (candidate, message) in core::mem::take(&mut self.early) {
                self.on_message(candidate, message, now, out);
            }
        }
    }

    /// Applies the terms of the configuration that the voter adopts next. Drivers call this before [`Self::stay_out`]: a
    /// voter that has lost more than its votes has begun to abstain on the terms that its cluster had at first, and its votes
    /// may have been given on later ones.
    pub fn set_terms(&mut self, terms: Terms) {
        let longer = Span(terms.abstention().0.saturating_sub(self.terms.abstention().0));
        if self.stays_out
            && let Some(Abstains::Until { time, .. }) = &mut self.abstains
        {
            *time = *time + longer;
            self.trusts_until = self.trusts_until.max(*time + terms.ttl_most);
        }
        self.terms = terms;
    }

    /// Makes a voter that has forgotten its votes stay out, or lets it return. A voter that has lost more than its votes
    /// has no durable mark either.
    pub fn stay_out(&mut self, stays_out: bool) {
        self.stays_out = stays_out && self.abstains.is_some();
    }

    /// The same voter in the configuration that it knew before a restart.
    #[must_use]
    pub fn in_configuration(
        mut self,
        electorate: Electorate,
        previous: Option<Electorate>,
        now: Time,
    ) -> Self {
        let has_learned = self.learned_in == electorate.index();
        self.begin_in(electorate, previous, now);
        if let Some(change) = &mut self.change {
            change.has_learned = has_learned && self.abstains.is_none();
        }
        self
    }

    /// Tells the candidates of all requests that there is a newer configuration, so that they ask again at once.
    fn tell_candidates(&self, out: &mut VoterEffects<K>) {
        let index = self.electorate.index();
        let claims = self.ballots.values().flat_map(|ballot| {
            let waiting = ballot.queue().map(|(_, claim)| claim.candidate);
            ballot.vote().map(|vote| vote.claim.candidate).into_iter().chain(waiting)
        });
        for candidate in claims.collect::<SortedSet<CandidateId>>() {
            out.push(VoterEffect::Send(candidate, ToCandidate::Outdated { index }));
        }
    }

    fn begin_in(&mut self, electorate: Electorate, previous: Option<Electorate>, now: Time) {
        // A new voter does not know which clocks the others have told to sessions. Waiters keep their places.
        if !self.electorate.contains(self.id) && electorate.contains(self.id) {
            self.trusts_until = now + self.terms.ttl_most;
        }
        self.electorate = electorate;
        let lapses = self.sessions.values().map(|session| session.lapses());
        let ends = match &mut self.abstains {
            // The numbers of the configuration before do not suffice.
            Some(Abstains::Learning { told, .. }) => {
                *told = ProcessSet::new();
                None
            }
            Some(Abstains::Until { time, .. }) => Some(*time),
            None => None,
        };
        let closes = lapses.chain(ends).chain([now]).max().unwrap_or(now);
        let (told, floor, has_learned) = (ProcessSet::new(), 0, false);
        self.change =
            previous.map(|previous| Change { previous, closes, told, floor, has_learned });
    }

    /// Takes note that the present configuration is settled.
    pub fn settled(&mut self) {
        self.change = None;
    }

    /// The configuration that the voter knows.
    pub fn electorate(&self) -> &Electorate {
        &self.electorate
    }

    /// Returns `true` if no client relies on this voter because of a beat of the configuration before.
    pub fn is_closed(&self, now: Time) -> bool {
        self.change.as_ref().is_none_or(|change| change.closes <= now)
    }

    /// Returns `true` if the voter has learned the numbers of a quorum of the configuration before, and will not vote below
    /// them after any restart: a voter that forgets its votes knows its ceiling.
    pub fn has_learned(&self) -> bool {
        let is_durable = self.learned <= self.ceiling;
        is_durable
            && self.is_voting()
            && self.change.as_ref().is_none_or(|change| change.has_learned)
    }

    /// Tokens are greater than this number, which the voter has learned from others.
    pub fn learned_floor(&self) -> u64 {
        self.learned
    }

    /// All other voters that need messages of this one.
    pub(super) fn others(&self) -> ProcessSet {
        let mut others = self.electorate.all();
        if let Some(change) = &self.change {
            others.union_with(&change.previous.all());
        }
        others.remove(self.id);
        others
    }

    /// Returns `true` if the voter needs the numbers of others because of a change.
    pub(super) fn has_to_learn(&self) -> bool {
        let voter = self.electorate.contains(self.id);
        voter && self.change.as_ref().is_some_and(|change| !change.has_learned)
    }

    /// The voter's own numbers count like those of others. A single voter learns from no other one.
    pub(super) fn learn_own(&mut self, out: &mut VoterEffects<K>) {
        if self.is_voting() && self.has_to_learn() {
            let (id, furthest) = (self.id, self.furthest());
            self.learn_for_change(id, furthest, out);
        }
    }

    /// Learns the numbers of a voter of the configuration before, which accepts no candidate of that configuration any more.
    /// Every token that was confirmed in it was confirmed by a voter of each of its quorums.
    pub(super) fn learn_for_change(
        &mut self,
        from: ProcessId,
        told: u64,
        out: &mut VoterEffects<K>,
    ) {
        let (remembers, own) = (self.is_voting(), self.furthest());
        let Some(change) = self.change.as_mut().filter(|change| !change.has_learned) else {
            return;
        };
        change.told.insert(from);
        change.floor = change.floor.max(told);
        if remembers {
            change.told.insert(self.id);
            change.floor = change.floor.max(own);
        }
        if !change.previous.is_quorum(&change.told) || self.abstains.is_some() {
            return;
        }
        change.has_learned = true;
        let floor = change.floor;
        self.raise_floor(floor, out);
    }

    /// From now on all votes count only for tokens above this number, those that were given before, too.
    pub(super) fn raise_floor(&mut self, floor: u64, out: &mut VoterEffects<K>) {
        self.floor = self.floor.max(floor);
        self.learned = self.learned.max(floor);
        self.learned_in = self.electorate.index();
        for ballot in self.ballots.values_mut() {
            ballot.last = ballot.last.max(floor);
        }
        out.push(VoterEffect::Persist(self.counters()));
        out.push(VoterEffect::Persist(self.learned_record()));
        if self.learned > self.ceiling {
            self.reserve(self.learned, out);
        }
    }

    pub(super) fn learned_record(&self) -> Record<K> {
        Record::Learned { index: self.learned_in, floor: self.learned }
    }

    /// The configuration of the candidate of a message that is answered only in the same one. What frees a vote is accepted
    /// in every configuration.
    pub(super) fn config_of(&mut self, message: &ToVoter<K>) -> Option<u64> {
        match message {
            ToVoter::Beat { session, .. } | ToVoter::Request { session, .. } => {
                Some(session.config)
            }
            // A vote is confirmed in the configuration in which its candidate has requested it last.
            ToVoter::Raise { lock, claim, vote, .. } => {
                self.given(lock, *claim, *vote)?.vote().map(|given| given.config)
            }
            ToVoter::Yield { .. }
            | ToVoter::Withdraw { .. }
            | ToVoter::Release { .. }
            | ToVoter::End { .. } => None,
        }
    }

    /// Returns `true` if the candidate uses the voter's configuration. It is told that there is a newer one. If it knows a
    /// newer one itself, its message waits.
    pub(super) fn shares(
        &mut self,
        candidate: CandidateId,
        config: u64,
        message: &ToVoter<K>,
        out: &mut VoterEffects<K>,
    ) -> bool {
        let index = self.electorate.index();
        if config < index {
            out.push(VoterEffect::Send(candidate, ToCandidate::Outdated { index }));
        } else if config > index && config <= index + 2 && self.early.len() < EARLY_MOST {
            self.early.push((candidate, message.clone()));
        }
        config == index
    }

    /// Returns `true` if the numbers that the voter has learned after it had forgotten its own are enough.
    pub(super) fn knows_numbers(&self, told: &ProcessSet) -> bool {
        let previous = self.change.as_ref().map(|change| &change.previous);
        self.electorate.is_quorum(told) && previous.is_none_or(|previous| previous.is_quorum(told))
    }

    /// Marks the numbers as learned, because the voter has just learned numbers of both configurations.
    pub(super) fn has_learned_all(&mut self, out: &mut VoterEffects<K>) {
        if let Some(change) = &mut self.change {
            change.has_learned = true;
            let floor = self.floor;
            self.raise_floor(floor, out);
        }
    }

    /// Asks for the numbers of another voter.
    pub(super) fn asks_for_numbers(&self) -> PeerMessage {
        PeerMessage::Learn { asked: self.incarnation, config: self.electorate.index() }
    }
}
