//! Identifiers: requests, attempts, beats, epochs and votes.

/// One request of one client. A number is never reused, so a request that has ended stays ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RequestId {
    /// The session that the request belongs to.
    pub session: u128,
    /// The client process that made it: two processes with the same session key differ here.
    pub incarnation: u64,
    /// Counted by that client process.
    pub number: u64,
}

/// A candidate: the state machine that collects votes for one session, in a client or in a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CandidateId(pub u64);

/// A request as one candidate pursues it. A vote belongs to exactly one claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Claim {
    /// The request.
    pub request: RequestId,
    /// Raised by the client whenever it asks through another candidate. Greater attempts take votes over.
    pub attempt: u64,
    /// The candidate.
    pub candidate: CandidateId,
}

/// A sign of life that a client began. Voters keep what they gave for one ttl after the newest beat they heard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Beat {
    /// The client process, as in [`RequestId::incarnation`].
    pub incarnation: u64,
    /// Counted by that client process.
    pub number: u64,
}

/// One uninterrupted stay of a session at one voter. What was given in an epoch ends with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Epoch {
    /// The voter's incarnation: it changes when the voter has forgotten its votes.
    pub incarnation: u64,
    /// From one counter per voter, which never goes back.
    pub number: u64,
}

/// One vote of one voter for one lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct VoteId {
    /// The session's epoch at the voter.
    pub epoch: Epoch,
    /// Greater than the number of every earlier vote of this voter for this lock.
    pub number: u64,
}
