//! Identifiers of requests, attempts, beats, epochs and votes.

/// A request of one client. A number is never reused, so a request that has ended stays ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RequestId {
    /// The session to which the request belongs.
    pub session: u128,
    /// The client process that made the request. Two processes with the same session key have different incarnations.
    pub incarnation: u64,
    /// Number of the request, counted by that client process.
    pub number: u64,
}

/// Identifies a candidate: the state machine that collects votes for one session, in a client or in a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CandidateId(pub u64);

/// A request as one candidate pursues it. A vote belongs to exactly one claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Claim {
    /// The request that is pursued.
    pub request: RequestId,
    /// Raised by the client whenever it uses another candidate. Greater attempts take votes over.
    pub attempt: u64,
    /// The candidate that pursues the request.
    pub candidate: CandidateId,
}

/// A sign of life that a client began. Voters keep its votes for one ttl after the newest beat they have received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Beat {
    /// The client process, as in [`RequestId::incarnation`].
    pub incarnation: u64,
    /// Number of the beat, counted by that client process.
    pub number: u64,
}

/// An uninterrupted stay of a session at one voter. All votes given in an epoch end with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Epoch {
    /// The voter's incarnation, which changes when the voter has forgotten its votes.
    pub incarnation: u64,
    /// Taken from one counter per voter, which is monotonic.
    pub number: u64,
}

/// Identifies a vote of one voter for one lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct VoteId {
    /// The session's epoch at the voter.
    pub epoch: Epoch,
    /// Greater than the number of every earlier vote of this voter for this lock.
    pub number: u64,
}
