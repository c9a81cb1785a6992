//! Tokens: which votes are sufficient, which token they give, and which tokens voters have on record.

use alloc::vec::Vec;

use quorate_core::{ProcessId, ProcessSet};

use super::super::id::{Beat, RequestId};
use super::super::message::{Name, Rank, Report, RequestStatus, ToVoter};
use super::pursuit::{Counted, Pursuit};
use super::view::View;
use super::{Candidate, CandidateEffect, CandidateEffects};

/// The configurations whose quorums suffice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Among {
    /// Those of the present configuration.
    Present,
    /// Those of the present one or of the one before. Two such quorums have a common voter, unless one is of each of two
    /// further configurations, and voters of those do not answer a candidate of this one.
    PresentOrPrevious,
}

impl<K: Name> Candidate<K> {
    /// The greatest token that voters list as recorded by an earlier attempt, with that attempt.
    pub(super) fn found(
        &self,
        request: RequestId,
        (attempt, ended): (u64, u64),
    ) -> Option<(u64, u64)> {
        let listed = self.views.iter().filter_map(|view| view.listed.get(&request)?.entered);
        let earlier = listed.filter(|(it, _)| self.records_entries && ended < *it && *it < attempt);
        earlier.max_by_key(|(_, token)| *token)
    }

    /// The token with which the client is inside.
    pub fn inside(&self, request: RequestId) -> Option<u64> {
        self.pursuits.get(&request)?.inside
    }

    /// The token that an earlier attempt has recorded. The client may have learned it.
    pub fn found_token(&self, request: RequestId) -> Option<u64> {
        self.pursuits.get(&request)?.found.map(|(_, token)| token)
    }

    /// The token of a request that is recorded at a quorum, and the newest beat for which its votes are good, whichever
    /// candidate pursues the request.
    pub fn recorded(&self, request: RequestId) -> Option<(u64, Beat)> {
        self.recorded_among(request, Among::Present)
    }

    /// The same for the confirmation of new voters: a quorum of the configuration before is enough.
    pub fn recorded_before(&self, request: RequestId) -> Option<(u64, Beat)> {
        self.recorded_among(request, Among::PresentOrPrevious)
    }

    fn recorded_among(&self, request: RequestId, among: Among) -> Option<(u64, Beat)> {
        let known = self.pursuits.get(&request);
        let ended = known.map_or(0, |known| known.ended_before);
        // Token and beat from a voter's list.
        let entry = |(index, view): (usize, &View<K>)| {
            let entry = view.listed.get(&request)?;
            entry.vote?;
            let (_, token) = entry.entered.filter(|(attempt, _)| *attempt > ended)?;
            // In an earlier configuration it may have been lost since, without a voter in common.
            if entry.recorded_in < self.electorate.index() {
                return None;
            }
            Some((ProcessId::from_index(index), token, view.beat?))
        };
        let entries = self.views.iter().enumerate().filter_map(entry);
        let entries: Vec<(ProcessId, u64, u64)> = entries.collect();
        // The token of a request only grows. Lists may be older than what voters have sent with their votes.
        let token = entries.iter().map(|(_, token, _)| *token).max()?;
        if known.is_some_and(|known| known.token() > Some(token)) {
            return None;
        }
        let of_token = entries.into_iter().filter(|(_, of, _)| *of == token);
        let beats = of_token.map(|(voter, _, beat)| (beat, voter));
        let number = self.beat_of(among, beats.collect())?;
        Some((token, Beat { number, ..self.session.beat }))
    }

    /// Asks the voters of a client that is inside to record its token. So other candidates know that their votes count.
    pub(super) fn record(&self, request: RequestId, out: &mut CandidateEffects<K>) {
        let Some(pursuit) = self.pursuits.get(&request).filter(|_| self.records_entries) else {
            return;
        };
        let Some(token) = pursuit.inside.map(|inside| inside.max(pursuit.goal.unwrap_or(0))) else {
            return;
        };
        let claim = self.claim(request, pursuit);
        for (voter, counted) in &pursuit.votes {
            if !counted.has_record(token, self.electorate.index()) {
                let (lock, vote, enters) = (pursuit.lock.clone(), counted.vote, true);
                let raise = ToVoter::Raise { lock, claim, vote, token, enters };
                out.push(CandidateEffect::Send(*voter, raise));
            }
        }
    }

    /// The index of the configuration, and whether tokens are recorded. Then a record counts only if it was made in this
    /// configuration.
    pub(super) fn records_in(&self) -> (u64, bool) {
        (self.electorate.index(), self.records_entries)
    }

    /// The greatest beat that the voters of a quorum have echoed.
    pub(super) fn quorum_beat(&self, echoed: Vec<(u64, ProcessId)>) -> Option<u64> {
        self.beat_of(Among::Present, echoed)
    }

    pub(super) fn beat_of(&self, among: Among, mut echoed: Vec<(u64, ProcessId)>) -> Option<u64> {
        echoed.sort_unstable_by(|a, b| b.cmp(a));
        let mut voters = ProcessSet::new();
        let before = self.previous.as_ref().filter(|_| among == Among::PresentOrPrevious);
        echoed.into_iter().find_map(|(beat, voter)| {
            voters.insert(voter);
            let before = || before.is_some_and(|before| before.is_quorum(&voters));
            (self.electorate.is_quorum(&voters) || before()).then_some(beat)
        })
    }

    /// Checks whether the votes are sufficient, and reports changes to the client.
    pub(super) fn advance(&mut self, request: RequestId, out: &mut CandidateEffects<K>) {
        let Some(pursuit) = self.pursuits.get(&request) else { return };
        if pursuit.inside.is_none() && pursuit.granted.is_none() && !pursuit.broken {
            self.try_grant(request, out);
        }
        let Some(pursuit) = self.pursuits.get(&request) else { return };
        if let (None, Some(token), false) = (pursuit.inside, pursuit.granted, pursuit.broken) {
            let good = pursuit.entering(token, self.records_in());
            if self.quorum_beat(good).is_none()
                && let Some(pursuit) = self.pursuits.get_mut(&request)
            {
                (pursuit.granted, pursuit.broken) = (None, true);
            }
        }
        self.reach_goal(request);
        self.tell(request, out);
    }

    /// Adopts a greater token once a quorum has confirmed and recorded it.
    fn reach_goal(&mut self, request: RequestId) {
        let Some(pursuit) = self.pursuits.get(&request) else { return };
        let Some(goal) = pursuit.goal else { return };
        let index = self.electorate.index();
        let has = |counted: &Counted| counted.has_record(goal, index) && counted.last >= goal;
        let voters = pursuit.votes.iter().filter(|(_, counted)| has(counted));
        let voters: ProcessSet = voters.map(|(voter, _)| *voter).collect();
        if self.electorate.is_quorum(&voters)
            && let Some(pursuit) = self.pursuits.get_mut(&request)
        {
            (pursuit.inside, pursuit.goal) = (Some(goal), None);
        }
    }

    /// Grants if every voter of a quorum has given a vote and confirmed the greatest of their numbers.
    fn try_grant(&mut self, request: RequestId, out: &mut CandidateEffects<K>) {
        let Some(pursuit) = self.pursuits.get(&request) else { return };
        let Some(token) = self.token_of(pursuit) else { return };
        let (index, records) = self.records_in();
        if self.quorum_beat(pursuit.entering(token, (index, records))).is_some() {
            if let Some(pursuit) = self.pursuits.get_mut(&request) {
                pursuit.granted = Some(token);
            }
            return;
        }
        if pursuit.raising == Some(token) {
            return;
        }
        let claim = self.claim(request, pursuit);
        for (voter, counted) in &pursuit.votes {
            let lags = counted.last < token || (records && !counted.has_record(token, index));
            if counted.fits(token, index) && lags {
                let (lock, vote) = (pursuit.lock.clone(), counted.vote);
                let raise = ToVoter::Raise { lock, claim, vote, token, enters: records };
                out.push(CandidateEffect::Send(*voter, raise));
            }
        }
        let rank = self.rank(request);
        if let Some(pursuit) = self.pursuits.get_mut(&request) {
            pursuit.raising = Some(token);
            pursuit.recording = records.then_some(token);
        }
        if self.rank(request) < rank {
            self.ask_the_rest(request, out);
        }
    }

    /// Takes back every grant with which the client is not inside, although it has received all reports: the votes were no
    /// longer valid when they completed a quorum. Of these votes, only those with the newest beat are kept. The others may
    /// be of voters that are down, so their voters are asked once more. From then on the request gives votes back again.
    pub fn take_back_grants(&mut self) {
        for pursuit in self.pursuits.values_mut() {
            if pursuit.inside.is_none() && pursuit.granted.take().is_some() {
                let newest = pursuit.votes.values().map(|counted| counted.beat).max();
                pursuit.votes.retain(|_, counted| Some(counted.beat) == newest);
            }
        }
    }

    /// Takes note that messages with this token were not sent, so that no voter records it. `sent` is the last token of the
    /// present attempt that was sent before. A token that is found on record can then still be kept, if further votes fit it.
    pub fn not_raised(&mut self, request: RequestId, token: u64, sent: Option<u64>) {
        if let Some(pursuit) = self.pursuits.get_mut(&request)
            && pursuit.recording == Some(token)
        {
            (pursuit.raising, pursuit.recording) = (sent, sent);
        }
    }

    /// Rank of a request. Votes with a record are not given back. So a request without whose votes there is no quorum
    /// comes before a request that has found a record, and the latter before requests without a record. Otherwise two
    /// of them could wait for each other.
    pub(super) fn rank(&self, request: RequestId) -> Rank {
        let Some(pursuit) = self.pursuits.get(&request) else { return Rank::Waits };
        if pursuit.inside.is_some() {
            return Rank::First;
        }
        if pursuit.found.is_none() && pursuit.recording.is_none() {
            return Rank::Waits;
        }
        let index = self.electorate.index();
        let has_record = |voter: &ProcessId| {
            let listed = self.views[voter.index()].listed.get(&request);
            let listed = listed.and_then(|entry| entry.entered);
            listed.is_some_and(|(attempt, _)| attempt > pursuit.ended_before)
                || pursuit.votes.get(voter).is_some_and(|it| pursuit.may_be_recorded(it, index))
        };
        let others = self.electorate.all().iter().filter(|voter| !has_record(voter)).collect();
        if self.electorate.is_quorum(&others) { Rank::Found } else { Rank::First }
    }

    /// Asks the voters that have not given their votes once more, because the rank has changed.
    pub(super) fn ask_the_rest(&mut self, request: RequestId, out: &mut CandidateEffects<K>) {
        let Some(pursuit) = self.pursuits.get(&request) else { return };
        for voter in &(&pursuit.asked - &pursuit.gone) {
            if !pursuit.votes.contains_key(&voter) {
                out.push(CandidateEffect::Send(voter, self.request(request, pursuit)));
            }
        }
    }

    /// The token that the present votes give: the greatest number in the quorum with the newest beats. A token that the
    /// client may have learned before is kept if a quorum of votes fits it.
    fn token_of(&self, pursuit: &Pursuit<K>) -> Option<u64> {
        if let Some(token) = pursuit.token() {
            let index = self.electorate.index();
            let fitting = pursuit.votes.iter().filter(|(_, counted)| counted.fits(token, index));
            let fitting: ProcessSet = fitting.map(|(voter, _)| *voter).collect();
            if self.electorate.is_quorum(&fitting) {
                return Some(token);
            }
        }
        // No quorum fits that token, so every quorum has a vote with a greater number: tokens only grow.
        let mut votes: Vec<_> = pursuit.votes.iter().collect();
        votes
            .sort_unstable_by_key(|(voter, it)| (core::cmp::Reverse(it.beat), it.least(), **voter));
        let (mut voters, mut token) = (ProcessSet::new(), 0);
        for (voter, counted) in votes {
            voters.insert(*voter);
            token = counted.least().max(token);
            if self.electorate.is_quorum(&voters) {
                return Some(token);
            }
        }
        None
    }

    /// The present status of a request.
    pub fn report(&self, request: RequestId) -> Option<Report> {
        let pursuit = self.pursuits.get(&request)?;
        let beat = |number| Beat { number, ..self.session.beat };
        let alive = &self.electorate.all() - &pursuit.gone;
        // One voter that knows of the client's release is enough.
        let enters = pursuit.inside.or(pursuit.granted).is_some();
        let released = pursuit.ended > 0 && !pursuit.forced && !enters;
        let ended = !pursuit.gone.is_empty() && !self.electorate.is_quorum(&alive);
        let standing = if released || ended {
            RequestStatus::Gone
        } else if let Some(attempt) = pursuit.stale {
            RequestStatus::Stale(attempt)
        } else if pursuit.inside.is_some() {
            // While a greater token is on record, nothing is reported as held until it is known which token holds.
            let good = self.quorum_beat(pursuit.good(self.records_in()));
            RequestStatus::Held(good.filter(|_| pursuit.goal.is_none()).map(beat))
        } else if pursuit.broken {
            RequestStatus::Broken
        } else if let Some(token) = pursuit.granted {
            let good = self.quorum_beat(pursuit.entering(token, self.records_in()));
            RequestStatus::Granted { token, beat: beat(good?) }
        } else {
            RequestStatus::Waiting(pursuit.place)
        };
        Some(Report { request, attempt: pursuit.attempt, stamp: pursuit.stamp, standing })
    }

    pub(super) fn tell(&mut self, request: RequestId, out: &mut CandidateEffects<K>) {
        let Some(report) = self.report(request) else { return };
        let Some(pursuit) = self.pursuits.get_mut(&request) else { return };
        if pursuit.told != Some(report) {
            pursuit.told = Some(report);
            out.push(CandidateEffect::Report(report));
        }
    }
}
