//! Messages between nodes.

use quorate_algorithms::detector::VcubeDiagnosis;
use quorate_algorithms::mutex::leased_quorum::{
    CandidateId, PeerMessage as VoterMessage, RequestId, ToCandidate, ToVoter,
};
use quorate_core::{Process, Span};
use quorate_net::Versions;
use quorate_protocol::Name;
use serde::{Deserialize, Serialize};

/// The versions of these messages that this build understands. A change of a message that is not a new variant needs another.
pub(crate) const VERSIONS: Versions = Versions::only(2);

/// A message between nodes. Variants are only ever appended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PeerMessage {
    /// Between failure detectors.
    Detector(<VcubeDiagnosis as Process>::Message),
    /// Between voters.
    Voter(VoterMessage),
    /// From a candidate at the sender to the voter at the receiver.
    ToVoter(CandidateId, ToVoter<Name>),
    /// From the voter at the sender to a candidate that the receiver runs or has a connection to.
    ToCandidate(CandidateId, ToCandidate<Name>),
    /// A question, with the number that its reply has.
    Question(u64, Question),
    /// Reply to a question.
    Reply(u64, Reply),
    /// What clients of the sender watch has changed: the receiver publishes its votes for it.
    WatchUpdate(WatchUpdate),
    /// The sender's votes for locks that the receiver watches.
    Votes(Vec<BallotSeen>),
    /// Client address of the sender.
    ClientAddress(String),
    /// Texts of a session and of one of its requests.
    Describe(Box<Description>),
    /// The client has ended this request: its texts are no longer needed.
    Forget(RequestId),
    /// The sender is about to stop: candidates at the receiver avoid its voter.
    Leaving,
    /// The client of this session has called the sender: the relay with this candidate, at the receiver, begins a beat.
    /// Clients spread their calls over nodes.
    Called(u128, CandidateId),
    /// The receiver has told of a call, and the sender has no such relay: the receiver goes on with what waits there.
    NoRelay(u128),
}

/// A change of what clients of a node watch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchUpdate {
    /// Everything told before is void.
    pub reset: bool,
    /// Prefixes that are watched from now on.
    pub add: Vec<String>,
    /// Prefixes that are not watched any longer.
    pub remove: Vec<String>,
}

/// A question to all voters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Question {
    /// Ballots of these names.
    Ballots(NameFilter),
    /// A session and everything that it has at the voter.
    Session(u128),
    /// Ends a request by force, for this reason.
    Force(Name, RequestId, String),
    /// Releases a request, up to this attempt.
    Release(RequestId, u64),
    /// Ends a session. The reply tells whether the voter knew it.
    End(u128),
    /// Confirms that everything sent before has been processed.
    Barrier,
    /// Leases of this owner.
    Leases(String),
}

/// Names that a question is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NameFilter {
    /// The lock and the election of this name.
    Exact(String),
    /// All names with this prefix that come after `after`.
    Prefix {
        /// The prefix.
        prefix: String,
        /// The last name of the page before.
        after: Option<Name>,
    },
}

/// A voter's reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// Ballots with the texts of their requests, in the order of names.
    Ballots {
        /// The ballots.
        ballots: Vec<BallotSeen>,
        /// Texts of the requests in them.
        texts: Vec<Description>,
        /// Whether there are more.
        more: bool,
    },
    /// The session at this voter; `None` if the voter does not know it.
    Session(Option<Box<SessionSeen>>),
    /// Whether the voter did what the question says.
    Done(bool),
    /// A request is released.
    Released {
        /// Whether the voter knows its session.
        session_known: bool,
        /// Whether the voter knew the request.
        known: bool,
    },
    /// Leases with the time for which they have lived at the voter.
    Leases(Vec<(i64, Span)>),
    /// The voter abstains: its reply would say nothing.
    Abstains,
}

/// One lock at one voter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BallotSeen {
    /// The lock.
    pub name: Name,
    /// The greatest number that the voter has given or confirmed.
    pub last: u64,
    /// The vote.
    pub vote: Option<VoteSeen>,
    /// Requests that wait, with their stamps.
    pub queue: Vec<(u64, RequestId)>,
}

/// A vote that is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoteSeen {
    /// The request that has it.
    pub request: RequestId,
    /// Stamp of the request.
    pub stamp: u64,
    /// Number of the vote.
    pub number: u64,
    /// The token that is recorded for the request.
    pub entered: Option<u64>,
    /// Whether the request was ended by force.
    pub frozen: bool,
}

/// A session at one voter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSeen {
    /// Time-to-live.
    pub ttl: Span,
    /// Remaining lifetime if no newer beat is heard.
    pub left: Span,
    /// Everything that the session has at the voter.
    pub entries: Vec<EntrySeen>,
    /// Texts of the session and of its requests.
    pub texts: Vec<Description>,
}

/// A request of a session at one voter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntrySeen {
    /// The lock.
    pub lock: Name,
    /// The request.
    pub request: RequestId,
    /// The attempt that the voter knows.
    pub attempt: u64,
    /// Stamp of the request.
    pub stamp: u64,
    /// Whether it has the vote, and the vote is renewed.
    pub voted: bool,
    /// The recorded token.
    pub entered: Option<u64>,
    /// The token that was recorded first.
    pub first: Option<u64>,
}

/// Texts for other people to see, and facts that only the front ends need. Soft state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// The session.
    pub session: u128,
    /// Texts of the session.
    pub session_text: SessionText,
    /// A request of it.
    pub request: Option<(RequestId, RequestText)>,
}

/// Texts of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionText {
    /// The client.
    pub client_name: String,
    /// Its host and process.
    pub client_location: String,
    /// The node through which it was last heard.
    pub node: u32,
    /// Whether a node runs its candidate, which records tokens at the voters.
    pub relayed: bool,
    /// Number of the lease; zero if the session is none.
    pub lease: i64,
    /// Owner of the lease.
    pub owner: String,
}

/// Texts of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestText {
    /// Why, or what a leader proclaims.
    pub why: String,
    /// Create revision that the client was told before there was a token.
    pub revision: u64,
}
