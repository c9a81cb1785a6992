//! Restart of a voter: it reads its vote file, or it has forgotten its votes and abstains.

use alloc::vec::Vec;

use quorate_core::Time;

use super::super::ballot::{Ballot, GrantedVote};
use super::super::message::Name;
use super::super::voter_session::{LastBeat, VoterSession};
use super::{Abstains, Record, Voter};

/// State that remains of earlier incarnations when a voter has forgotten its votes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Memory {
    /// Greater than every earlier incarnation.
    pub incarnation: u64,
    /// Upper bound of all earlier numbers, if a durable mark exists.
    pub mark: Option<u64>,
}

/// Identifies a process that continues a voter from its vote file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RestartId {
    /// The voter's incarnation, which a restart with memory does not change.
    pub incarnation: u64,
    /// Greater than the number of every earlier process of this incarnation.
    pub number: u64,
}

impl<K: Name> Voter<K> {
    /// The same voter after it has forgotten its votes. It abstains until no client relies on any of them.
    #[must_use]
    pub fn forgotten(mut self, memory: Memory, now: Time) -> Self {
        self.incarnation = memory.incarnation;
        self.floor = memory.mark.unwrap_or(0);
        let (time, has_mark) = (now + self.terms.abstention(), memory.mark.is_some());
        self.trusts_until = time + self.terms.ttl_most;
        self.abstains = Some(Abstains::Until { time, has_mark });
        self
    }

    /// The same voter with the contents of its vote file. Reading it counts as a beat of every session now: the file
    /// does not contain the time of a session's last beat, and the machine's clock may have been reset.
    #[must_use]
    pub fn restored(
        mut self,
        restart_id: RestartId,
        records: impl IntoIterator<Item = Record<K>>,
        now: Time,
    ) -> Self {
        self.incarnation = restart_id.incarnation;
        records.into_iter().for_each(|record| self.read(record));
        self.settle(restart_id, now);
        self
    }

    /// The records that a restart needs, as few as possible.
    pub fn records(&self) -> Vec<Record<K>> {
        let sessions = self.sessions.iter().map(|(id, session)| session.record(*id));
        let dead = self.sessions.values().flat_map(|session| &session.dead);
        let dead =
            dead.map(|(request, lock)| Record::Dead { request: *request, lock: lock.clone() });
        let ballots = self.ballots.iter().map(|(lock, ballot)| {
            let (lock, last, vote) = (lock.clone(), ballot.last, ballot.vote);
            Record::Ballot { lock, last, vote }
        });
        let relayed = self.sessions.values().filter(|session| session.relayed);
        let released = relayed.flat_map(|session| &session.released);
        let released = released
            .map(|(request, attempt)| Record::Released { request: *request, attempt: *attempt });
        let learned = (self.learned_in > 0).then(|| self.learned_record());
        let counters = core::iter::once(self.counters()).chain(learned);
        counters.chain(sessions).chain(dead).chain(released).chain(ballots).collect()
    }

    pub(super) fn counters(&self) -> Record<K> {
        Record::Counters { floor: self.floor, epochs: self.epochs }
    }

    fn read(&mut self, record: Record<K>) {
        match record {
            Record::Session { session, ttl, epoch, relayed, continuous } => {
                self.epochs = self.epochs.max(epoch.number);
                let known = self.sessions.remove(&session).filter(|known| known.epoch == epoch);
                let known = known.unwrap_or_else(|| VoterSession::new(ttl, epoch));
                self.sessions.insert(session, VoterSession { relayed, continuous, ..known });
            }
            Record::Ended { session } => {
                self.sessions.remove(&session);
            }
            Record::Ballot { lock, last, vote } => {
                self.ballots.insert(lock, Ballot { vote, ..Ballot::new(last) });
            }
            Record::Dead { request, lock } => {
                if let Some(session) = self.sessions.get_mut(&request.session) {
                    session.dead.insert(request, lock);
                }
            }
            Record::Released { request, attempt } => {
                if let Some(session) = self.sessions.get_mut(&request.session) {
                    session.dead.remove(&request);
                    session.release(request, attempt);
                }
            }
            Record::Counters { floor, epochs } => {
                self.floor = self.floor.max(floor);
                self.epochs = self.epochs.max(epochs);
            }
            Record::Learned { index, floor } => {
                self.learned = self.learned.max(floor);
                self.learned_in = self.learned_in.max(index);
            }
            Record::Forgotten { lock } => {
                self.ballots.remove(&lock);
            }
        }
    }

    /// Makes the state consistent once all records are read.
    fn settle(&mut self, restart_id: RestartId, now: Time) {
        self.trusts_until = now + self.terms.ttl_most;
        for (lock, ballot) in &mut self.ballots {
            ballot.last = ballot.last.max(self.learned);
            let Some(vote) = &mut ballot.vote else { continue };
            let Some(session) = self.sessions.get_mut(&vote.claim.request.session) else {
                // The session ended while it had the vote. The record of the vote was written first.
                ballot.vote = None;
                continue;
            };
            let GrantedVote { claim, stamp, beats, .. } = *vote;
            session.beats.insert(beats, LastBeat { number: 0, at: now });
            session.requests.insert(claim.request, (lock.clone(), stamp));
            // Frozen times refer to the clock of an earlier process, so they start again.
            if let Some(frozen) = &mut vote.frozen {
                *frozen = now + session.ttl;
                self.frozen.insert((*frozen, lock.clone()));
            }
        }
        // A candidate that does not know of a release must not bring the request back, and a continuous session counts for
        // votes that other voters have given.
        let keeps =
            |session: &&mut VoterSession<K>| session.continuous || !session.released.is_empty();
        for session in self.sessions.values_mut().filter(keeps) {
            session.beats.entry(0).or_insert(LastBeat { number: 0, at: now });
        }
        // A session without votes has nothing to lose, so it begins again.
        self.sessions.retain(|_, session| !session.beats.is_empty());
        for session in self.sessions.values_mut() {
            // List versions of this process must not be confused with those of an earlier one.
            session.version = restart_id.number << 32;
        }
        self.index_lapses();
    }

    pub(super) fn index_lapses(&mut self) {
        let sessions = self.sessions.iter();
        let lapses = sessions.flat_map(|(id, session)| {
            let incarnations = session.beats.iter();
            incarnations.map(|(of, heard)| (heard.at + session.ttl, *id, *of))
        });
        self.lapses = lapses.collect();
    }
}
