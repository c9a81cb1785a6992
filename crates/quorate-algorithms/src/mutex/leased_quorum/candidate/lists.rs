//! Lists: the requests of the session at a voter, as its echoes tell them. Only votes that are listed are extended.

use alloc::vec::Vec;

use super::super::id::{Beat, Claim, RequestId};
use super::super::message::{Entry, Name, Part, ToVoter};
use super::pursuit::Counted;
use super::{Candidate, CandidateEffect, CandidateEffects};
use quorate_core::ProcessId;

impl<K: Name> Candidate<K> {
    pub(super) fn on_echo(
        &mut self,
        voter: ProcessId,
        version: u64,
        beat: Beat,
        part: Option<Part>,
        entries: Vec<Entry<K>>,
        out: &mut CandidateEffects<K>,
    ) {
        let view = &mut self.views[voter.index()];
        view.avoided = false;
        if !view.take_list(version, part, entries) {
            return;
        }
        let number = (beat.incarnation == self.session.beat.incarnation).then_some(beat.number);
        view.beat = view.beat.max(number);
        self.drop_unlisted(voter, version);
        self.extend(voter, number);
        self.reconcile(voter, out);
        let requests: Vec<RequestId> = self.pursuits.keys().copied().collect();
        for request in requests {
            self.advance(request, out);
        }
    }

    /// Extends the votes that the voter lists to the echoed beat. An echo never adds a vote.
    fn extend(&mut self, voter: ProcessId, beat: Option<u64>) {
        let view = &self.views[voter.index()];
        for (request, pursuit) in &mut self.pursuits {
            let claim = Claim { request: *request, attempt: pursuit.attempt, candidate: self.id };
            let Some(counted) = pursuit.votes.get_mut(&voter) else { continue };
            let listed = view.listed.get(request);
            if listed.is_some_and(|it| it.claim == claim && it.vote == Some(counted.vote.number)) {
                counted.beat = counted.beat.max(beat);
            }
        }
    }

    /// Drops votes that a later list lacks, because they are no longer this candidate's. A vote under a force release
    /// is good until the end of its known validity, and is not extended.
    fn drop_unlisted(&mut self, voter: ProcessId, version: u64) {
        let view = &self.views[voter.index()];
        for (request, pursuit) in &mut self.pursuits {
            let claim = Claim { request: *request, attempt: pursuit.attempt, candidate: self.id };
            let is_listed = |counted: &Counted| {
                let entry = view.listed.get(request).filter(|entry| entry.claim == claim);
                entry.is_some_and(|it| it.forced || it.vote == Some(counted.vote.number))
            };
            let is_newer = |counted: &Counted| counted.version > version;
            let keeps = |counted: &Counted| is_newer(counted) || is_listed(counted);
            let had = pursuit.votes.len();
            pursuit.votes.retain(|of, counted| *of != voter || keeps(counted));
            // Within an epoch a vote of a client that is inside ends only by a release. A client that calls several
            // nodes has released it through another one, so it must not be requested again.
            let released = pursuit.votes.len() < had && !view.listed.contains_key(request);
            if released && self.records_entries && pursuit.inside.is_some() {
                pursuit.gone.insert(voter);
            }
        }
    }

    /// Acts on a list: releases requests that the client no longer wants, and repeats missing requests.
    fn reconcile(&mut self, voter: ProcessId, out: &mut CandidateEffects<K>) {
        let view = &self.views[voter.index()];
        let mut gone = Vec::new();
        for (request, entry) in &view.listed {
            let Some(pursuit) = self.pursuits.get_mut(request) else {
                let own = request.incarnation == self.session.beat.incarnation;
                // Other candidates may continue requests of a relayed session.
                if own && request.number <= self.issued && !self.records_entries {
                    let (lock, request) = (entry.lock.clone(), *request);
                    let token = entry.entered.map(|(_, token)| token);
                    let attempt = u64::MAX;
                    let release = ToVoter::Release { lock, request, attempt, token };
                    out.push(CandidateEffect::Send(voter, release));
                }
                continue;
            };
            if entry.forced {
                gone.push(*request);
            } else if entry.claim.attempt > pursuit.attempt {
                pursuit.stale = Some(entry.claim.attempt);
            } else if pursuit.inside.is_none() && pursuit.forced {
                // The voter has forgotten that the request was ended by force, and a late message has brought it back.
                // Other requests wait behind it there, so the voter must learn its stamp.
                pursuit.gone.remove(voter);
            }
        }
        for request in gone {
            self.on_gone(voter, request, (u64::MAX, true));
        }
        let view = &self.views[voter.index()];
        for (request, pursuit) in &self.pursuits {
            let asks = pursuit.asked.contains(voter) && !pursuit.gone.contains(voter);
            if asks && !view.listed.contains_key(request) && !pursuit.votes.contains_key(&voter) {
                out.push(CandidateEffect::Send(voter, self.request(*request, pursuit)));
            }
        }
    }
}
