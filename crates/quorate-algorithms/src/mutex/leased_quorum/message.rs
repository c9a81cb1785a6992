//! Messages between candidates and voters, and between a client and a candidate that runs elsewhere.

use alloc::vec::Vec;
use core::fmt::Debug;
use core::hash::Hash;

use quorate_core::Span;

use super::id::{Beat, Claim, Epoch, RequestId, VoteId};

/// Name of a lock.
pub trait Name: Clone + Ord + Hash + Debug + Send + Sync {}

impl<K: Clone + Ord + Hash + Debug + Send + Sync> Name for K {}

/// A session as a candidate presents it to a voter. The first one that a voter sees opens the session there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Presented {
    /// The session.
    pub session: u128,
    /// Its time-to-live, part of its identity.
    pub ttl: Span,
    /// The newest beat that its client has begun.
    pub beat: Beat,
    /// Whether nodes run candidates for it. Its client may use several of them at once, so everything that the session has
    /// lapses together: what one node was told of a beat holds for what another one has got.
    pub relayed: bool,
}

/// A candidate's message to a voter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ToVoter<K> {
    /// Extends the session. Answered with [`ToCandidate::Echo`].
    Beat {
        /// The session.
        session: Presented,
        /// The last complete list that the candidate has from this voter.
        seen: Option<(Epoch, u64)>,
        /// Stamps of the requests that wait, so that they keep their places at voters they have not asked yet.
        waiting: Vec<(RequestId, u64)>,
    },
    /// Asks for the voter's vote.
    Request {
        /// The session.
        session: Presented,
        /// The lock.
        lock: K,
        /// The request, its attempt and the candidate.
        claim: Claim,
        /// Logical time of the request.
        stamp: u64,
        /// The token, if the client is inside.
        inside: Option<u64>,
        /// Rank of the request: requests of a higher rank come first.
        rank: Rank,
        /// The last attempt that the client has ended, if an earlier turn of the same request has ended. What such attempts
        /// have recorded does not count for this one.
        ended: u64,
    },
    /// Asks the voter to confirm that no later vote for this lock has a number at or below `token`.
    Raise {
        /// The lock.
        lock: K,
        /// The claim that has the vote.
        claim: Claim,
        /// The vote.
        vote: VoteId,
        /// The token.
        token: u64,
        /// Whether the voter also records that the client may be told that it is inside with this token. Such a vote is
        /// freed only by a release, a lapse or by force.
        enters: bool,
    },
    /// Gives a vote back: the request goes back to the voter's queue.
    Yield {
        /// The lock.
        lock: K,
        /// The claim that has the vote.
        claim: Claim,
        /// The vote.
        vote: VoteId,
    },
    /// The candidate no longer pursues its attempt, of which its client was told nothing.
    Withdraw {
        /// The lock.
        lock: K,
        /// The claim. A later attempt, which another candidate pursues by now, goes on.
        claim: Claim,
        /// Whether a token that this attempt has recorded was never told, either.
        untold: bool,
    },
    /// The client has stopped, or no longer wants the lock. Only the client begins this.
    Release {
        /// The lock.
        lock: K,
        /// The request that has ended.
        request: RequestId,
        /// The last attempt that has ended: all of them, unless the client cannot number its requests, so that a later attempt
        /// asks for the lock anew.
        attempt: u64,
        /// Its token if it was inside, so that the voters' numbers agree for the next one.
        token: Option<u64>,
    },
    /// The client ends the session with all its requests.
    End {
        /// The session.
        session: u128,
    },
}

/// Order of requests by the tokens that are on record for them. A client that is inside has the first rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Rank {
    /// A token is on record at voters without which there is no quorum, or is being recorded: the client may have been told
    /// that it is inside, or will be.
    First,
    /// A token of an earlier attempt is on record at some voter, which does not give its vote back.
    Found,
    /// Nothing is known to be on record: requests come in the order of their stamps.
    #[default]
    Waits,
}

impl Rank {
    /// The stamp that stands for this rank: smaller than those of requests that wait.
    pub(super) fn stamp(self) -> Option<u64> {
        match self {
            Self::First => Some(0),
            Self::Found => Some(1),
            Self::Waits => None,
        }
    }
}

/// A voter's message to a candidate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ToCandidate<K> {
    /// Answers a beat. Everything listed is kept for one ttl after the voter heard that beat.
    Echo {
        /// The session's epoch at this voter.
        epoch: Epoch,
        /// The newest beat that the voter has heard from the same client incarnation.
        beat: Beat,
        /// The voter's logical clock.
        clock: u64,
        /// Version of the list.
        version: u64,
        /// Position of this part of the list; `None` if the candidate has the list of this version already.
        part: Option<Part>,
        /// This part of the list.
        entries: Vec<Entry<K>>,
    },
    /// Gives the vote, or confirms that it is given.
    Vote {
        /// The lock.
        lock: K,
        /// The claim that has the vote.
        claim: Claim,
        /// The vote.
        vote: VoteId,
        /// The greatest number that the voter has given or confirmed for this lock.
        last: u64,
        /// The request's stamp at this voter.
        stamp: u64,
        /// As in an echo.
        beat: Beat,
        /// As in an echo.
        clock: u64,
        /// Version of the session's list that has this vote in it.
        version: u64,
        /// Attempt and token with which the client may have been told that it is inside.
        entered: Option<(u64, u64)>,
        /// The last attempt of this request that the client has ended, as far as the voter knows.
        ended: u64,
    },
    /// The request waits in this voter's queue.
    Behind {
        /// The lock.
        lock: K,
        /// The claim that waits.
        claim: Claim,
        /// The session's epoch at this voter.
        epoch: Epoch,
        /// The request's stamp at this voter.
        stamp: u64,
        /// Position in the queue, from 1.
        place: u32,
        /// The voter's logical clock.
        clock: u64,
        /// As in a vote.
        ended: u64,
    },
    /// Confirms [`ToVoter::Raise`].
    Raised {
        /// The lock.
        lock: K,
        /// The claim that has the vote.
        claim: Claim,
        /// The vote.
        vote: VoteId,
        /// The number up to which is confirmed.
        last: u64,
        /// The token that is recorded as entered by this claim, if one is.
        entered: Option<u64>,
    },
    /// An older request waits: the voter asks for its vote back.
    Inquire {
        /// The lock.
        lock: K,
        /// The claim that has the vote.
        claim: Claim,
        /// The vote.
        vote: VoteId,
    },
    /// The voter knows a greater attempt of this request, or the same attempt of another candidate.
    Stale {
        /// The lock.
        lock: K,
        /// The claim that is stale.
        claim: Claim,
        /// The attempt that the voter knows.
        attempt: u64,
    },
    /// The request has ended.
    Gone {
        /// The lock.
        lock: K,
        /// The request.
        request: RequestId,
        /// The last attempt that has ended.
        attempt: u64,
        /// Whether by force, and not by its client.
        forced: bool,
    },
    /// The voter does not vote now.
    Unavailable,
    /// The voter knows this session with another time-to-live, or its terms do not permit this one.
    Refused {
        /// The session.
        session: u128,
        /// The time-to-live that the voter applies.
        ttl: Span,
    },
}

/// Position of a part within a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Part {
    /// From 0.
    pub index: u32,
    /// Whether the list is complete with this part.
    pub is_last: bool,
}

/// What a session has at a voter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Entry<K> {
    /// The lock.
    pub lock: K,
    /// The claim.
    pub claim: Claim,
    /// Number of the vote that is renewed; `None` if the claim waits, or its vote is no longer renewed.
    pub vote: Option<u64>,
    /// Whether the request was ended by force.
    pub forced: bool,
    /// Attempt and token with which the client may have been told that it is inside.
    pub entered: Option<(u64, u64)>,
}

/// One call of a client to a candidate that runs in a node. It is a beat and states everything that the client wants, so
/// that any candidate can go on from it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Call<K> {
    /// The session and the beat that this call begins.
    pub session: Presented,
    /// Number of requests that the client has made so far: requests up to this number that are not wanted have ended.
    pub issued: u64,
    /// Every request that the client waits for or holds.
    pub wanted: Vec<Wanted<K>>,
}

/// A request that a client waits for or holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Wanted<K> {
    /// The lock.
    pub lock: K,
    /// The request.
    pub request: RequestId,
    /// The client's present attempt.
    pub attempt: u64,
    /// The greatest stamp that the client knows of.
    pub stamp: u64,
    /// The token, if the client is inside.
    pub inside: Option<u64>,
    /// The last attempt that the client has ended, if it asks for the lock anew with the same request.
    pub ended: u64,
}

/// How a request stands, as its candidate sees it. Every answer to a call has one for every request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Report {
    /// The request.
    pub request: RequestId,
    /// The attempt that this is about.
    pub attempt: u64,
    /// The greatest stamp that the candidate knows of.
    pub stamp: u64,
    /// How it stands.
    pub standing: RequestStatus,
}

/// How a request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum RequestStatus {
    /// It waits; its greatest position in a queue is this, or 0 if no voter has told one.
    Waiting(u32),
    /// The client may enter with this token while the votes are good.
    Granted {
        /// The token.
        token: u64,
        /// A quorum has echoed this beat or a later one.
        beat: Beat,
    },
    /// The client is inside, and a quorum has echoed this beat or a later one; `None` if no quorum has.
    Held(Option<Beat>),
    /// The votes of the grant are no longer good: a client that is not inside raises the attempt.
    Broken,
    /// A voter knows this attempt, which is not smaller: the client raises the attempt above it.
    Stale(u64),
    /// The request was ended by force.
    Gone,
}
