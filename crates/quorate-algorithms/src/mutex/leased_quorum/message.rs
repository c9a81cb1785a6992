//! Messages between candidates and voters, and between a client and a candidate in a node.

use alloc::vec::Vec;
use core::fmt::Debug;
use core::hash::Hash;

use quorate_core::Span;

use super::id::{Beat, Claim, Epoch, RequestId, VoteId};

/// The name of a lock.
pub trait Name: Clone + Ord + Hash + Debug + Send + Sync {}

impl<K: Clone + Ord + Hash + Debug + Send + Sync> Name for K {}

/// A session as a candidate presents it to a voter. The first presentation to a voter opens the session there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Presented {
    /// The key of the session.
    pub session: u128,
    /// Time-to-live of the session, which is part of its identity.
    pub ttl: Span,
    /// The newest beat that the client has begun.
    pub beat: Beat,
    /// Whether nodes run candidates for the session. Its client may use several of them at the same time, so all votes
    /// of the session lapse together: a beat through one node also extends the votes that another node has collected.
    pub relayed: bool,
    /// Index of the newest configuration that the candidate knows.
    pub config: u64,
}

/// A message of a candidate to a voter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ToVoter<K> {
    /// Extends the session. Answered with [`ToCandidate::Echo`].
    Beat {
        /// The session that is extended.
        session: Presented,
        /// Epoch and version of the last complete list that the candidate has received from this voter.
        seen: Option<(Epoch, u64)>,
        /// Stamps of waiting requests, so that they keep their position at voters that were not asked yet.
        waiting: Vec<(RequestId, u64)>,
        /// Whether the candidate has confirmed that the session is continuous at this voter in the epoch of `seen`.
        confirms: bool,
    },
    /// Requests the voter's vote.
    Request {
        /// The session of the request.
        session: Presented,
        /// The lock that is requested.
        lock: K,
        /// The request, its attempt and the candidate.
        claim: Claim,
        /// Logical time of the request.
        stamp: u64,
        /// The token, if the client is inside.
        inside: Option<u64>,
        /// Rank of the request. Requests of a higher rank come first.
        rank: Rank,
        /// The last attempt that the client has ended, if an earlier turn of the same request has ended. Records of
        /// such attempts do not count for this one.
        ended: u64,
    },
    /// Asks the voter to confirm that every later vote for this lock has a number greater than `token`.
    Raise {
        /// The lock of the vote.
        lock: K,
        /// The claim that has the vote.
        claim: Claim,
        /// The vote that is confirmed.
        vote: VoteId,
        /// The token to confirm.
        token: u64,
        /// Whether the voter also records that the client may learn that it is inside with this token. Such a vote is
        /// freed only by a release, a lapse or a force release.
        enters: bool,
    },
    /// Gives a vote back. The request returns to the voter's queue.
    Yield {
        /// The lock of the vote.
        lock: K,
        /// The claim that has the vote.
        claim: Claim,
        /// The vote that is given back.
        vote: VoteId,
    },
    /// The candidate no longer pursues its attempt, about which it has reported nothing to its client.
    Withdraw {
        /// The lock of the request.
        lock: K,
        /// The claim that is withdrawn. A later attempt, which another candidate may pursue by now, continues.
        claim: Claim,
        /// Whether a token that this attempt has recorded was not reported to the client either.
        untold: bool,
    },
    /// The client has stopped, or no longer wants the lock. Only the client initiates this.
    Release {
        /// The lock of the request.
        lock: K,
        /// The request that has ended.
        request: RequestId,
        /// The last attempt that has ended. It covers all attempts, unless the client cannot number its requests, so
        /// that a later attempt requests the lock again.
        attempt: u64,
        /// The token if the client was inside, so that the voters' numbers agree for the next holder.
        token: Option<u64>,
    },
    /// The client ends the session with all its requests.
    End {
        /// The session that ends.
        session: u128,
    },
}

impl<K> ToVoter<K> {
    /// The session that the message presents, if it extends the session.
    pub(super) fn presented_mut(&mut self) -> Option<&mut Presented> {
        match self {
            Self::Beat { session, .. } | Self::Request { session, .. } => Some(session),
            _ => None,
        }
    }
}

/// Order of requests by the tokens on record for them. A client that is inside has the first rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Rank {
    /// A token is being recorded, or is on record at voters without which there is no quorum. The client may have
    /// learned that it is inside, or will learn it.
    First,
    /// A token of an earlier attempt is on record at some voter, which does not free its vote.
    Found,
    /// No record is known. Requests of this rank are ordered by their stamps.
    #[default]
    Waits,
}

impl Rank {
    /// The stamp that represents this rank. It is smaller than the stamps of all requests that wait.
    pub(super) fn stamp(self) -> Option<u64> {
        match self {
            Self::First => Some(0),
            Self::Found => Some(1),
            Self::Waits => None,
        }
    }
}

/// A message of a voter to a candidate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ToCandidate<K> {
    /// Answers a beat. The voter keeps all listed votes for one ttl after it received that beat.
    Echo {
        /// The session's epoch at this voter.
        epoch: Epoch,
        /// The newest beat that the voter has received from the same client incarnation.
        beat: Beat,
        /// Whether a candidate has confirmed that the session is continuous at this voter.
        continuous: bool,
        /// The voter's logical clock.
        clock: u64,
        /// Version of the session's list at this voter.
        version: u64,
        /// Position of this part of the list. `None` if the candidate already has the list of this version.
        part: Option<Part>,
        /// The entries of this part of the list.
        entries: Vec<Entry<K>>,
    },
    /// Gives the vote, or confirms that it is given.
    Vote {
        /// The lock of the vote.
        lock: K,
        /// The claim that has the vote.
        claim: Claim,
        /// The vote that is given.
        vote: VoteId,
        /// The greatest number that the voter has given or confirmed for this lock.
        last: u64,
        /// The request's stamp at this voter.
        stamp: u64,
        /// The newest beat received, as in an echo.
        beat: Beat,
        /// The voter's logical clock, as in an echo.
        clock: u64,
        /// Version of the session's list that contains this vote.
        version: u64,
        /// Attempt and token of the record: the client may have learned that it is inside with this token.
        entered: Option<(u64, u64)>,
        /// Index of the configuration in which the record was made.
        recorded_in: u64,
        /// The last attempt of this request that the client has ended, as far as the voter knows.
        ended: u64,
        /// Index of the configuration in which the candidate has requested the vote.
        config: u64,
        /// The vote counts only for a greater token than this one, which the voter has learned from other voters.
        floor: u64,
    },
    /// The request waits in this voter's queue.
    Behind {
        /// The lock of the request.
        lock: K,
        /// The claim that waits.
        claim: Claim,
        /// The session's epoch at this voter.
        epoch: Epoch,
        /// The request's stamp at this voter.
        stamp: u64,
        /// Position in the queue, starting at 1.
        place: u32,
        /// The voter's logical clock.
        clock: u64,
        /// The last attempt that the client has ended, as in a vote.
        ended: u64,
    },
    /// Confirms the token of a [`ToVoter::Raise`].
    Raised {
        /// The lock of the vote.
        lock: K,
        /// The claim that has the vote.
        claim: Claim,
        /// The vote that is confirmed.
        vote: VoteId,
        /// The number up to which the voter has confirmed.
        last: u64,
        /// The token that the voter has recorded for this claim, if any.
        entered: Option<u64>,
        /// Index of the configuration in which the record was made.
        recorded_in: u64,
    },
    /// The voter asks for its vote back, because an older request waits.
    Inquire {
        /// The lock of the vote.
        lock: K,
        /// The claim that has the vote.
        claim: Claim,
        /// The vote that is asked back.
        vote: VoteId,
    },
    /// The voter knows a greater attempt of this request, or the same attempt of another candidate.
    Stale {
        /// The lock of the request.
        lock: K,
        /// The claim that is stale.
        claim: Claim,
        /// The attempt that the voter knows.
        attempt: u64,
    },
    /// The request has ended at this voter.
    Gone {
        /// The lock of the request.
        lock: K,
        /// The request that has ended.
        request: RequestId,
        /// The last attempt that has ended.
        attempt: u64,
        /// Whether the request was ended by force, not by its client.
        forced: bool,
    },
    /// The voter does not vote at present.
    Unavailable,
    /// The voter knows a configuration that is newer than the candidate's, and answers only candidates that know it.
    Outdated {
        /// Index of that configuration.
        index: u64,
    },
    /// The voter knows this session with another time-to-live, or its terms do not permit the presented one.
    Refused {
        /// The session that is refused.
        session: u128,
        /// The time-to-live that the voter applies.
        ttl: Span,
    },
}

/// The position of a part within a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Part {
    /// Index of the part, starting at 0.
    pub index: u32,
    /// Whether the list is complete with this part.
    pub is_last: bool,
}

/// An entry of the list of a session's requests at a voter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Entry<K> {
    /// The lock of the request.
    pub lock: K,
    /// The claim that has the vote or waits.
    pub claim: Claim,
    /// Number of the vote that is renewed. `None` if the claim waits, or if its vote is no longer renewed.
    pub vote: Option<u64>,
    /// Whether the request was ended by force.
    pub forced: bool,
    /// Attempt and token of the record: the client may have learned that it is inside with this token.
    pub entered: Option<(u64, u64)>,
    /// Index of the configuration in which the record was made.
    pub recorded_in: u64,
}

/// A call of a client to a candidate in a node. It is a beat and lists everything that the client wants, so that any
/// candidate can continue from it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Call<K> {
    /// The session, with the beat that this call begins.
    pub session: Presented,
    /// Number of requests that the client has made so far. Requests up to this number that are not wanted have ended.
    pub issued: u64,
    /// All requests that the client waits for or holds.
    pub wanted: Vec<Wanted<K>>,
}

/// A request that a client waits for or holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Wanted<K> {
    /// The lock of the request.
    pub lock: K,
    /// The request that is wanted.
    pub request: RequestId,
    /// The client's present attempt.
    pub attempt: u64,
    /// The greatest stamp that the client knows.
    pub stamp: u64,
    /// The token, if the client is inside.
    pub inside: Option<u64>,
    /// The last attempt that the client has ended, if it requests the lock again with the same request.
    pub ended: u64,
}

/// The status of a request as its candidate sees it. Every answer to a call contains one for every request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Report {
    /// The request that is reported.
    pub request: RequestId,
    /// The attempt that the report is about.
    pub attempt: u64,
    /// The greatest stamp that the candidate knows.
    pub stamp: u64,
    /// The status of the request.
    pub standing: RequestStatus,
}

/// The status of a request as its candidate sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum RequestStatus {
    /// The request waits. The number is the last queue position that a voter has reported, or 0 if there is none.
    Waiting(u32),
    /// The client may enter with this token while the votes are good.
    Granted {
        /// The token of the grant.
        token: u64,
        /// A quorum has echoed this beat or a later one.
        beat: Beat,
    },
    /// The client is inside, and a quorum has echoed this beat or a later one. `None` if no quorum has.
    Held(Option<Beat>),
    /// The votes of the grant are no longer good. A client that is not inside raises the attempt.
    Broken,
    /// A voter knows this attempt, which is not smaller. The client raises the attempt above it.
    Stale(u64),
    /// The request has ended: by force, or by a release through another candidate.
    Gone,
}
