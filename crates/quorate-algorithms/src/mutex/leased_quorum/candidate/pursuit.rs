//! A request as its candidate pursues it.

use alloc::vec::Vec;

use quorate_core::{ProcessId, ProcessSet, SortedMap};

use super::super::id::VoteId;
use super::super::message::Report;

/// The state of a request in its present attempt.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pursuit<K> {
    pub(super) lock: K,
    pub(super) attempt: u64,
    pub(super) stamp: u64,
    /// The token with which the client is inside. Such a pursuit never yields and never computes a token.
    pub(super) inside: Option<u64>,
    /// A greater token that a voter has on record for the client. It is confirmed once a quorum has it on record.
    pub(super) goal: Option<u64>,
    /// The token that was granted to the client. Such a pursuit never yields in this attempt.
    pub(super) granted: Option<u64>,
    /// The votes of a grant were lost, or the voters have changed since, so the attempt has ended.
    pub(super) broken: bool,
    /// A voter knows this attempt, which takes precedence.
    pub(super) stale: Option<u64>,
    pub(super) asked: ProcessSet,
    /// The stamp that was last sent to or received from each voter.
    pub(super) stamps: SortedMap<ProcessId, u64>,
    /// Whether every voter is asked, not only the preferred ones.
    pub(super) asks_all: bool,
    /// Whether a beat has begun since the pursuit began.
    pub(super) is_old: bool,
    /// Voters at which the request has ended.
    pub(super) gone: ProcessSet,
    /// The last attempt that has ended at these voters.
    pub(super) ended: u64,
    /// Whether the request was ended by force.
    pub(super) forced: bool,
    pub(super) votes: SortedMap<ProcessId, Counted>,
    /// The last vote of each voter that was given back. It never counts again, although the same VOTE may arrive once more.
    pub(super) returned: SortedMap<ProcessId, VoteId>,
    /// The token that voters were last asked to confirm.
    pub(super) raising: Option<u64>,
    /// The greatest token that this attempt has asked voters to record. From then on it yields only votes that
    /// cannot be on record.
    pub(super) recording: Option<u64>,
    /// The greatest token that a voter has recorded for an earlier attempt, with that attempt. The client
    /// may have learned it.
    pub(super) found: Option<(u64, u64)>,
    /// The last attempt of an earlier turn that the client has ended. Records of such attempts do not count.
    pub(super) ended_before: u64,
    pub(super) place: u32,
    pub(super) told: Option<Report>,
}

/// A vote that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Counted {
    pub(super) vote: VoteId,
    /// The greatest number that the voter has confirmed.
    pub(super) last: u64,
    /// The request's stamp at the voter.
    pub(super) stamp: u64,
    /// The newest beat for which the voter is known to keep this vote.
    pub(super) beat: Option<u64>,
    /// Version of the voter's list from which on it contains this vote.
    pub(super) version: u64,
    /// The token that the voter has recorded for this attempt.
    pub(super) entered: Option<u64>,
    /// The attempt, this or an earlier one, for which the voter has recorded a token, and that token.
    pub(super) found: Option<(u64, u64)>,
    /// Index of the configuration in which the voter has made the record.
    pub(super) recorded_in: u64,
    /// The vote counts only for a greater token than this one.
    pub(super) floor: u64,
}

impl<K> Pursuit<K> {
    pub(super) fn new(lock: K, attempt: u64, stamp: u64) -> Self {
        Self {
            lock,
            attempt,
            stamp,
            inside: None,
            goal: None,
            granted: None,
            broken: false,
            stale: None,
            asked: ProcessSet::new(),
            stamps: SortedMap::new(),
            asks_all: false,
            is_old: false,
            gone: ProcessSet::new(),
            ended: 0,
            forced: false,
            votes: SortedMap::new(),
            returned: SortedMap::new(),
            raising: None,
            recording: None,
            found: None,
            ended_before: 0,
            place: 0,
            told: None,
        }
    }

    /// Ends earlier attempts up to this one. Their records belong to an earlier turn, and votes with such a record have
    /// to be given again. Returns `true` if the found token was one of them.
    pub(super) fn end_earlier(&mut self, ended: u64) -> bool {
        if ended <= self.ended_before || ended >= self.attempt {
            return false;
        }
        self.ended_before = ended;
        let is_earlier = |(attempt, _): (u64, u64)| attempt <= ended;
        let found = self.found.take_if(|found| is_earlier(*found));
        self.votes.retain(|_, counted| !counted.found.is_some_and(is_earlier));
        found.is_some()
    }

    /// Records a token of an earlier attempt.
    pub(super) fn find(&mut self, recorded: Option<(u64, u64)>) {
        self.found = self.found.into_iter().chain(recorded).max_by_key(|(_, token)| *token);
    }

    /// Handles a token that a voter has recorded. Another candidate may have given the client a greater token
    /// than the known one.
    pub(super) fn grow(&mut self, token: u64) {
        if let Some(known) = &mut self.recording {
            *known = token.max(*known);
        }
        if self.inside.is_some_and(|inside| token > inside) {
            self.goal = self.goal.max(Some(token));
        }
    }

    /// The greatest token that the client may have learned.
    pub(super) fn token(&self) -> Option<u64> {
        let told = self.inside.max(self.goal);
        told.max(self.recording).max(self.found.map(|(_, token)| token))
    }

    /// Beats and voters of the votes that count towards validity once the client is inside: all votes, or
    /// those with a record that was made in this configuration.
    pub(super) fn good(&self, (index, records): (u64, bool)) -> Vec<(u64, ProcessId)> {
        let is_recorded =
            |counted: &Counted| counted.found.is_some() && counted.recorded_in >= index;
        let counts = |counted: &Counted| !records || is_recorded(counted);
        let good = self.votes.iter().filter(|(_, counted)| counts(counted));
        good.filter_map(|(voter, it)| Some((it.beat?, *voter))).collect()
    }

    /// Returns `true` if the voter may have a token on record with its vote, because it reported one or was
    /// asked to record one.
    pub(super) fn may_be_recorded(&self, counted: &Counted, index: u64) -> bool {
        let recording = self.recording.is_some_and(|token| counted.fits(token, index));
        counted.found.is_some() || recording
    }

    /// Beats and voters of the votes with which the client may enter. Such a vote fits the token, and the voter has
    /// confirmed that later votes have greater numbers.
    pub(super) fn entering(
        &self,
        token: u64,
        (index, records): (u64, bool),
    ) -> Vec<(u64, ProcessId)> {
        let enters = |counted: &Counted| {
            counted.fits(token, index)
                && token <= counted.last
                && (!records || counted.has_record(token, index))
        };
        let votes = self.votes.iter().filter(|(_, counted)| enters(counted));
        votes.filter_map(|(voter, counted)| Some((counted.beat?, *voter))).collect()
    }
}

impl Counted {
    /// Returns `true` if the vote may count for this token in the configuration of this index: its number is at most the
    /// token, or the voter has recorded this token with it. A vote that was given before its voter learned numbers of others
    /// counts for no smaller token than these, unless the token was recorded in this configuration: then its client had kept
    /// the lock until then.
    pub(super) fn fits(&self, token: u64, index: u64) -> bool {
        let has_found = self.found.is_some_and(|(_, found)| found == token);
        let is_recent = has_found && self.recorded_in >= index;
        is_recent || (token > self.floor && (self.vote.number <= token || has_found))
    }

    /// The smallest token that the vote fits, unless it has a record.
    pub(super) fn least(&self) -> u64 {
        self.vote.number.max(self.floor + 1)
    }

    /// Returns `true` if the voter has recorded this token for this attempt in this configuration or a later one.
    pub(super) fn has_record(&self, token: u64, index: u64) -> bool {
        self.entered == Some(token) && self.recorded_in >= index
    }
}
