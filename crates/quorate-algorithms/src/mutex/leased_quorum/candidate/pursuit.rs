//! One request as its candidate pursues it.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use quorate_core::{ProcessId, ProcessSet};

use super::super::id::VoteId;
use super::super::message::Report;

/// A request in its present attempt.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pursuit<K> {
    pub(super) lock: K,
    pub(super) attempt: u64,
    pub(super) stamp: u64,
    /// The token with which the client is inside. Such a pursuit never yields and never computes a token.
    pub(super) inside: Option<u64>,
    /// A greater token that a voter has on record for the client. It is confirmed once a quorum has it on record.
    pub(super) goal: Option<u64>,
    /// The token that the client was told. Such a pursuit never yields in this attempt.
    pub(super) granted: Option<u64>,
    /// The votes of a grant were lost: the attempt is over.
    pub(super) broken: bool,
    /// A voter knows this attempt, which takes precedence.
    pub(super) stale: Option<u64>,
    pub(super) asked: ProcessSet,
    /// The stamp that each voter was last told, or has told.
    pub(super) stamps: BTreeMap<ProcessId, u64>,
    /// Whether every voter is asked, and not only the preferred ones.
    pub(super) asks_all: bool,
    /// Whether a beat has begun since the pursuit did.
    pub(super) is_old: bool,
    /// Voters at which the request has ended.
    pub(super) gone: ProcessSet,
    /// The last attempt that has ended there.
    pub(super) ended: u64,
    /// Whether by force.
    pub(super) forced: bool,
    pub(super) votes: BTreeMap<ProcessId, Counted>,
    /// The last vote of each voter that was given back. It never counts again, although word of it may arrive once more.
    pub(super) returned: BTreeMap<ProcessId, VoteId>,
    /// The token that voters were last asked to confirm.
    pub(super) raising: Option<u64>,
    /// The greatest token that this attempt has asked voters to record. From then on the attempt yields nothing.
    pub(super) recording: Option<u64>,
    /// The newest attempt before this one, and its token, that a voter has recorded: the client may have been told.
    pub(super) found: Option<(u64, u64)>,
    /// The last attempt of an earlier turn that the client has ended. What such attempts have recorded does not count.
    pub(super) ended_before: u64,
    pub(super) place: u32,
    pub(super) told: Option<Report>,
}

/// A vote that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Counted {
    pub(super) vote: VoteId,
    /// The voter's confirmed last number.
    pub(super) last: u64,
    /// The request's stamp at the voter.
    pub(super) stamp: u64,
    /// The newest beat for which the voter is known to keep this vote.
    pub(super) beat: Option<u64>,
    /// Version of the voter's list from which on it has this vote.
    pub(super) version: u64,
    /// The token that the voter has recorded for this attempt.
    pub(super) entered: Option<u64>,
    /// The token that the voter has recorded for this or an earlier attempt, and that attempt.
    pub(super) found: Option<(u64, u64)>,
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
            stamps: BTreeMap::new(),
            asks_all: false,
            is_old: false,
            gone: ProcessSet::new(),
            ended: 0,
            forced: false,
            votes: BTreeMap::new(),
            returned: BTreeMap::new(),
            raising: None,
            recording: None,
            found: None,
            ended_before: 0,
            place: 0,
            told: None,
        }
    }

    /// The client has ended earlier attempts, up to this one: what they have recorded was of an earlier turn, and votes with
    /// such a record have to be given anew. Tells whether there was one.
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

    /// Takes note of a token that an earlier attempt has recorded.
    pub(super) fn find(&mut self, recorded: Option<(u64, u64)>) {
        self.found = self.found.into_iter().chain(recorded).max_by_key(|(_, token)| *token);
    }

    /// A voter has recorded this token. Another candidate may have given the client a greater one than this one knows.
    pub(super) fn grow(&mut self, token: u64) {
        if let Some(known) = &mut self.recording {
            *known = token.max(*known);
        }
        if self.inside.is_some_and(|inside| token > inside) {
            self.goal = self.goal.max(Some(token));
        }
    }

    /// The greatest token that the client may have been told.
    pub(super) fn token(&self) -> Option<u64> {
        let told = self.inside.max(self.goal);
        told.max(self.recording).max(self.found.map(|(_, token)| token))
    }

    /// Beats and voters of the votes that count towards validity once the client is inside: all, or those with a record.
    pub(super) fn good(&self, recorded: bool) -> Vec<(u64, ProcessId)> {
        let good = self.votes.iter().filter(|(_, it)| !recorded || it.found.is_some());
        good.filter_map(|(voter, it)| Some((it.beat?, *voter))).collect()
    }

    /// Whether the voter may have a token on record with its vote: it has told so, or was asked for it.
    pub(super) fn may_be_recorded(&self, counted: &Counted) -> bool {
        counted.found.is_some() || self.recording.is_some_and(|token| counted.fits(token))
    }

    /// Beats and voters of the votes with which the client may enter: the voter gave it no later than the token, and has
    /// confirmed that later votes are greater.
    pub(super) fn entering(&self, token: u64, recorded: bool) -> Vec<(u64, ProcessId)> {
        let enters = |counted: &Counted| {
            counted.fits(token)
                && token <= counted.last
                && (!recorded || counted.entered == Some(token))
        };
        let votes = self.votes.iter().filter(|(_, counted)| enters(counted));
        votes.filter_map(|(voter, counted)| Some((counted.beat?, *voter))).collect()
    }
}

impl Counted {
    /// Whether the vote may stand for this token: it was given no later, or to a client that was inside with it already.
    pub(super) fn fits(&self, token: u64) -> bool {
        self.vote.number <= token || self.found.is_some_and(|(_, found)| found == token)
    }
}
