//! Messages between nodes.

use quorate_algorithms::detector::VcubeDiagnosis;
use quorate_algorithms::mutex::leased_quorum::{
    CandidateId, ChainMessage, PeerMessage as VoterMessage, RequestId, ToCandidate, ToVoter,
};
use quorate_core::{Process, Span};
use quorate_net::Versions;
use quorate_protocol::{Members, Name};
use serde::{Deserialize, Serialize};

/// Versions of these messages that this build understands. A change of a message other than a new variant
/// requires a new version.
pub(crate) const VERSIONS: Versions = Versions { oldest: 4, newest: 5 };

/// The first version with [`Question::History`].
pub(crate) const HISTORY_SINCE: u16 = 5;

/// A message between nodes. Variants are only ever appended. The name is for the record of the format, in which that of the
/// messages between voters is taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename = "NodeMessage")]
pub enum PeerMessage {
    /// A message between failure detectors.
    /// Contains the index of the configuration whose members are tested.
    Detector(u64, <VcubeDiagnosis as Process>::Message),
    /// A message between voters.
    Voter(VoterMessage),
    /// A message from a candidate at the sender to the voter at the receiver.
    ToVoter(CandidateId, ToVoter<Name>),
    /// A message from the voter at the sender to a candidate that the receiver has assigned. The receiver delivers it
    /// to its relays only.
    ToCandidate(CandidateId, ToCandidate<Name>),
    /// A question, with the number that its reply has, and the index of the newest configuration that the sender knows.
    Question(u64, u64, Question),
    /// Reply to the question with this number.
    Reply(u64, Reply),
    /// A change of the prefixes that clients of the sender watch. The receiver publishes its votes for them.
    WatchUpdate(WatchUpdate),
    /// The sender's votes for locks that the receiver watches.
    Votes(Vec<BallotSeen>),
    /// Client address of the sender.
    ClientAddress(String),
    /// Texts of a session and of one of its requests.
    Describe(Box<Description>),
    /// The client has ended this request, so its texts are no longer needed.
    Forget(RequestId),
    /// The sender is about to stop. Candidates at the receiver avoid its voter.
    Leaving,
    /// The client of this session has called the sender. The relay with this candidate, at the receiver, begins a beat,
    /// because clients may distribute their calls over nodes.
    Called(u128, CandidateId),
    /// A message about the chain of configurations. The first one on a new link is the sender's newest configuration.
    Chain(Box<ChainMessage<Members>>),
    /// Answers [`PeerMessage::Called`] if the sender has no such relay. The receiver takes over the
    /// requests that wait there.
    NoRelay(u128),
}

/// A change of the prefixes that clients of a node watch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchUpdate {
    /// Whether all prefixes that were sent before are void.
    pub reset: bool,
    /// Prefixes that are watched from now on.
    pub add: Vec<String>,
    /// Prefixes that are no longer watched.
    pub remove: Vec<String>,
}

/// A question to all voters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Question {
    /// Asks for the ballots of these names.
    Ballots(NameFilter),
    /// Asks for a session and everything that it has at the voter.
    Session(u128),
    /// Ends a request by force, for this reason.
    Force(Name, RequestId, String),
    /// Releases a request, up to this attempt.
    Release(RequestId, u64),
    /// Ends a session. The reply tells whether the voter knew it.
    End(u128),
    /// Confirms that everything sent before has been processed.
    Barrier,
    /// Asks for the leases of this owner.
    Leases(String),
    /// Asks for the last votes for this lock. It is not sent to nodes of versions before 5.
    History(Name),
}

/// Names that a question is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NameFilter {
    /// The lock and the election with this name.
    Exact(String),
    /// All names with this prefix that come after `after`.
    Prefix {
        /// Prefix of the names.
        prefix: String,
        /// The last name of the previous page.
        after: Option<Name>,
    },
}

/// A voter's reply to a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// Ballots with the texts of their requests, ordered by name.
    Ballots {
        /// The ballots of this page.
        ballots: Vec<BallotSeen>,
        /// Texts of the requests in the ballots.
        texts: Vec<Description>,
        /// Whether the voter has more ballots.
        more: bool,
    },
    /// The session at this voter; `None` if the voter does not know it.
    Session(Option<Box<SessionSeen>>),
    /// Whether the voter has done what the question demands.
    Done(bool),
    /// Result of a release.
    Released {
        /// Whether the voter knows the session of the request.
        session_known: bool,
        /// Whether the voter knew the request.
        known: bool,
    },
    /// Leases, with the time for which this node has known each.
    Leases(Vec<(i64, Span)>),
    /// The voter abstains or cannot write its votes, so it gives no information.
    Abstains,
    /// The last votes for a lock, the newest first.
    History(Vec<VoteRecord>),
}

/// A vote that a node has given to a request whose client may have been inside. Its times are ages, so that the clocks of
/// nodes need not agree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoteRecord {
    /// The request that had the vote.
    pub request: RequestId,
    /// Number of the vote.
    pub number: u64,
    /// The token of the request, if the node knows it.
    pub token: Option<u64>,
    /// Texts of the request, if the node knows them.
    pub texts: Option<HolderTexts>,
    /// Time since the vote was given.
    pub began: Span,
    /// Time since the vote ended, and the reason.
    pub ended: Option<(Span, VoteEnd)>,
}

/// Texts of a request when it had the vote.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HolderTexts {
    /// Name of the client.
    pub client_name: String,
    /// Host and process of the client.
    pub client_location: String,
    /// Purpose of the request.
    pub why: String,
    /// The node through which the client made its last call.
    pub node: u32,
}

/// Reason why a vote has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum VoteEnd {
    /// The client or its session has released the lock.
    Released,
    /// The client was silent for its time-to-live.
    Expired,
    /// An operator has released the lock by force.
    Revoked,
    /// The request had the vote but never the lock.
    NotEntered,
    /// For another reason, such as a change of the members.
    #[default]
    Moved,
}

/// State of one lock at one voter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BallotSeen {
    /// Name of the lock or election.
    pub name: Name,
    /// The greatest number that the voter has given or confirmed.
    pub last: u64,
    /// The vote, if it is given.
    pub vote: Option<VoteSeen>,
    /// Requests that wait, with their stamps.
    pub queue: Vec<(u64, RequestId)>,
}

/// A vote that is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoteSeen {
    /// The request that has the vote.
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

/// State of one session at one voter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSeen {
    /// Time-to-live of the session.
    pub ttl: Span,
    /// Remaining lifetime if no newer beat arrives.
    pub left: Span,
    /// Whether the voter is known to have kept the session without a gap.
    pub continuous: bool,
    /// Requests of the session at this voter.
    pub entries: Vec<EntrySeen>,
    /// Texts of the session and of its requests.
    pub texts: Vec<Description>,
}

/// State of one request of a session at one voter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntrySeen {
    /// The requested lock or election.
    pub lock: Name,
    /// Identifier of the request.
    pub request: RequestId,
    /// The attempt that the voter knows.
    pub attempt: u64,
    /// Stamp of the request.
    pub stamp: u64,
    /// Whether the request has the vote, and the vote is renewed.
    pub voted: bool,
    /// The token that is recorded for the request.
    pub entered: Option<u64>,
    /// The first token that was recorded for the request.
    pub first: Option<u64>,
}

/// Texts that are shown to users, and data that only the front ends need. This is soft state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// Identifier of the session.
    pub session: u128,
    /// Texts of the session.
    pub session_text: SessionText,
    /// A request of the session, with its texts.
    pub request: Option<(RequestId, RequestText)>,
}

/// Texts of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionText {
    /// Name of the client.
    pub client_name: String,
    /// Host and process of the client.
    pub client_location: String,
    /// The node through which the client last made a call for the session.
    pub node: u32,
    /// Whether a node runs the candidate of the session, which records tokens at the voters.
    pub relayed: bool,
    /// Number of the lease; zero if the session is not a lease.
    pub lease: i64,
    /// Owner of the lease.
    pub owner: String,
}

/// Texts of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestText {
    /// Purpose of the request, or the value that a leader proclaims.
    pub why: String,
    /// Create revision that the client received first, if it is not the token; otherwise zero.
    pub revision: u64,
}

#[cfg(test)]
pub(crate) mod formats {
    use quorate_algorithms::mutex::leased_quorum::Rank;
    use quorate_protocol::Kind;
    use serde::de::DeserializeOwned;
    use serde_reflection::{Samples, Tracer, TracerConfig};

    use super::*;

    /// A recorder of formats. Names must not be empty.
    pub(crate) fn tracer() -> Tracer {
        Tracer::new(TracerConfig::default().default_string_value("a".to_owned()))
    }

    /// Records the format of a type. Of an enum within it, only the first variant is seen.
    pub(crate) fn see<T: DeserializeOwned>(tracer: &mut Tracer) {
        tracer.trace_type::<T>(&Samples::new()).expect("it can be read");
    }

    /// One line for each type that was seen.
    pub(crate) fn lines(tracer: Tracer) -> String {
        let registry = tracer.registry().expect("every variant has been seen");
        let line = |(name, format)| {
            let format = serde_json::to_string(format).expect("a format is plain data");
            format!("{name}: {format}")
        };
        registry.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// Messages have no field names on the wire. A change of their format needs a new version, and the old format has to be read
    /// and written for nodes of the release before. An appended variant needs none, but must not be sent to a node that does not
    /// know it.
    #[test]
    fn messages_keep_their_format_within_a_version() {
        let mut tracer = tracer();
        see::<PeerMessage>(&mut tracer);
        see::<<VcubeDiagnosis as Process>::Message>(&mut tracer);
        see::<VoterMessage>(&mut tracer);
        see::<ToVoter<Name>>(&mut tracer);
        see::<ToCandidate<Name>>(&mut tracer);
        see::<Question>(&mut tracer);
        see::<NameFilter>(&mut tracer);
        see::<Reply>(&mut tracer);
        see::<VoteEnd>(&mut tracer);
        see::<ChainMessage<Members>>(&mut tracer);
        see::<Kind>(&mut tracer);
        see::<Rank>(&mut tracer);
        insta::assert_snapshot!(format!("messages_of_version_{}", VERSIONS.newest), lines(tracer));
    }
}
