//! The words: what a client asks, and what a node says.

use quorate_algorithms::mutex::leased_quorum::{RequestId, ToCandidate, ToVoter};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::direct::Attached;
use crate::name::{Kind, Name};

/// The longest free text (who, where, why, a value that a leader proclaims), in bytes.
pub const TEXT_MOST: usize = 4096;

/// A session is known by this to its client and to nobody else: who has it has its locks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SessionKey(pub u128);

impl std::fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionKey(..)")
    }
}

impl SessionKey {
    /// The public identifier of the session: the first 16 bytes of the SHA-256 of its key. Voters and other nodes know
    /// only this, and it gives no access.
    pub fn id(self) -> u128 {
        let hash: [u8; 32] = Sha256::digest(self.0.to_be_bytes()).into();
        let (id, _) = hash.split_at(16);
        u128::from_be_bytes(id.try_into().expect("a hash is longer"))
    }
}

/// How a lock is held. There is room for more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// By one at a time.
    #[default]
    Exclusive,
}

/// What a client says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientMessage {
    /// The answer has the same number.
    pub number: u64,
    /// When it was said, by the client's own clock in microseconds: what it may rely on is counted from here.
    pub sent: u64,
    /// What.
    pub call: Call,
}

/// What can be asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Call {
    /// A session, which ends if nothing is heard of it for so many milliseconds.
    Open {
        /// How long.
        ttl_ms: u32,
        /// Who, for others to see.
        client_name: String,
        /// Where, for others to see.
        client_location: String,
    },
    /// The session is alive.
    KeepAlive(SessionKey),
    /// The session is over: all it has is free.
    Close(SessionKey),
    /// A lock. The same request of the same session is one request, however often it is sent.
    Acquire {
        /// Whose.
        session: SessionKey,
        /// Which one.
        request: u64,
        /// Of what.
        name: Name,
        /// How.
        mode: Mode,
        /// How many milliseconds to wait; none to wait as long as it takes, zero to take it only if it is free.
        wait_ms: Option<u64>,
        /// Why, for others to see; what a leader proclaims.
        why: String,
        /// The token with which the client holds the lock, if it does and asks through another node than before. Only a
        /// client whose lock is still valid by its own clock may say so.
        inside: Option<u64>,
    },
    /// A lock is free again, or is no longer wanted.
    Release {
        /// Whose.
        session: SessionKey,
        /// Which request.
        request: u64,
    },
    /// A leader proclaims something else.
    Proclaim {
        /// Whose.
        session: SessionKey,
        /// Which request.
        request: u64,
        /// What.
        value: String,
    },
    /// Who has and who wants what, of names that begin so.
    List {
        /// What names begin with.
        prefix: String,
        /// Whether names are exactly this.
        exact: bool,
        /// Only requests after this place: where the page before ended.
        after: Option<Cursor>,
        /// Maximum number of requests in the page.
        most: u32,
    },
    /// Whether nobody has had a greater token.
    CheckToken {
        /// Of what.
        name: Name,
        /// Which.
        token: u64,
    },
    /// Takes a lock away from whoever has it.
    ForceRelease {
        /// Which.
        name: Name,
        /// Why: it is written down.
        reason: String,
    },
    /// Tells of all changes from now on, of names that begin so.
    Watch {
        /// What names begin with.
        prefix: String,
    },
    /// How the node and its cluster are.
    Status,
    /// What this session has and wants.
    Session(SessionKey),
    /// Binds this connection to a session whose candidate runs in the client. Answered with [`CallResponse::Attached`]. The
    /// session itself begins with the first beat that voters hear.
    Attach {
        /// The key of the session.
        session: SessionKey,
        /// The client, for others to see.
        client_name: String,
        /// Host and process of the client, for others to see.
        client_location: String,
        /// The candidate that another node has assigned; `None` asks this node to assign one. A client uses one candidate
        /// with all nodes.
        candidate: Option<u64>,
    },
    /// Messages of an attached client's candidate to the voter of this node. Not answered as such: the voter's messages
    /// arrive as [`ServerMessage::FromVoter`]. Messages that name another session or another candidate are ignored.
    ToVoter(Vec<ToVoter<Name>>),
    /// The text of a request of an attached client, for others to see; for an election, the value that its leader
    /// proclaims. Not answered.
    Describe {
        /// The request.
        request: RequestId,
        /// The text.
        why: String,
    },
}

impl Call {
    /// Which session it is about, if it is about one.
    pub fn session(&self) -> Option<SessionKey> {
        match self {
            Self::KeepAlive(key) | Self::Close(key) | Self::Session(key) => Some(*key),
            Self::Acquire { session, .. }
            | Self::Release { session, .. }
            | Self::Proclaim { session, .. }
            | Self::Attach { session, .. } => Some(*session),
            _ => None,
        }
    }
}

/// What a node says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ServerMessage {
    /// The answer to what was asked under this number.
    Response(u64, CallResponse),
    /// A lock was lost.
    Lost {
        /// Whose.
        session: SessionKey,
        /// Which request.
        request: u64,
        /// Whether somebody wanted so, and not because too few nodes could be heard.
        revoked: bool,
    },
    /// Where a request is in the queue, the first being 1.
    Position {
        /// Whose.
        session: SessionKey,
        /// Which request.
        request: u64,
        /// How many are before it, and itself.
        position: u32,
    },
    /// Something has changed that is watched.
    Changed(HolderChange),
    /// The node stops. A relayed client goes on through another node; a direct client avoids this voter.
    Leaving,
    /// Messages of this node's voter to the candidate of an attached client.
    FromVoter(Vec<ToCandidate<Name>>),
}

/// How long a client may rely on what its session has: so long from when it said what it said at `since`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validity {
    /// By the client's own clock.
    pub since: u64,
    /// In microseconds, also by the client's own clock.
    pub micros: u64,
}

/// A lock that a session holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldLock {
    /// The request that holds it.
    pub request: u64,
    /// The lock or election.
    pub name: Name,
    /// Its token.
    pub token: u64,
}

/// What a node answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CallResponse {
    /// A session.
    Opened {
        /// Its key.
        session: SessionKey,
        /// Its time-to-live: what was asked for, within the bounds of the cluster.
        ttl_ms: u32,
    },
    /// The session is alive. Everything that it holds is listed, so that a client that has missed a message learns of a loss
    /// here.
    Alive {
        /// Validity of everything that is listed as held.
        validity: Validity,
        /// What it holds.
        held: Vec<HeldLock>,
        /// Requests that wait.
        waiting: Vec<u64>,
    },
    /// It has the lock.
    Granted {
        /// Greater than all before of this name.
        token: u64,
        /// How long to rely on it without another word.
        validity: Validity,
    },
    /// It is so.
    Done,
    /// Who has and who wants what.
    List(Vec<RequestInfo>),
    /// How a token stands.
    Token(TokenStatus),
    /// How the node is.
    Status(Box<NodeStatus>),
    /// It could not be done.
    Failed(Failure),
    /// How long a session lives.
    LeaseInfo(LeaseInfo),
    /// The leases that there are.
    Leases(Vec<i64>),
    /// It waits in the queue; the create revision of its key.
    Queued(u64),
    /// Everything that a direct client needs.
    Attached(Box<Attached>),
    /// A part of a list.
    Page(Page),
}

/// A part of a list, in the order of names, then of requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// The requests.
    pub requests: Vec<RequestInfo>,
    /// Where the next page begins; none if this is the last.
    pub next: Option<Cursor>,
    /// Nodes that did not answer: requests through them are missing.
    pub silent: Vec<u32>,
}

/// A place in a list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cursor {
    /// The name of the last request before it.
    pub name: Name,
    /// The stamp of that request.
    pub stamp: u64,
    /// Tells requests of the same stamp apart.
    pub tie_breaker: u64,
}

impl Cursor {
    /// The place behind a request.
    pub fn of(info: &RequestInfo) -> Self {
        Self { name: info.name.clone(), stamp: info.stamp, tie_breaker: info.tie_breaker }
    }

    /// As a text, for protocols without types.
    pub fn text(&self) -> String {
        let kind = if self.name.kind() == Kind::Election { "e" } else { "l" };
        format!("{kind} {} {} {}", self.stamp, self.tie_breaker, self.name.text())
    }

    /// From such a text.
    pub fn read(text: &str) -> Option<Self> {
        let mut parts = text.splitn(4, ' ');
        let kind = match parts.next()? {
            "e" => Kind::Election,
            "l" => Kind::Lock,
            _ => return None,
        };
        let (stamp, tie_breaker) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        Some(Self { name: Name::new(kind, parts.next()?).ok()?, stamp, tie_breaker })
    }
}

/// Lifetime of a session that is a lease of etcd's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseInfo {
    /// Time-to-live that clients are told, in milliseconds. They count it from when an answer arrives, so it is shorter than
    /// the time for which voters keep the session.
    pub ttl_ms: u64,
    /// How long the client may rely on it and on what it holds, in milliseconds from when the client gets the answer.
    pub valid_ms: u64,
    /// Everything that the lease holds and waits for.
    pub requests: Vec<RequestInfo>,
}

/// Why something could not be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Failure {
    /// Somebody else has it.
    #[error("somebody else has it")]
    Busy,
    /// It took too long.
    #[error("it was not granted in time")]
    TimedOut,
    /// There is no such session, or not any more.
    #[error("the session is over")]
    NoSession,
    /// There is no such request, or not any more.
    #[error("there is no such request")]
    NoRequest,
    /// Not allowed.
    #[error("not allowed: {0}")]
    NotAllowed(String),
    /// Too much.
    #[error("too much: {0}")]
    TooMuch(String),
    /// Nobody holds it.
    #[error("nobody has it")]
    Free,
    /// Not enough nodes can be heard.
    #[error("not enough nodes of the cluster can be heard")]
    NoQuorum,
    /// The node stops.
    #[error("the node is leaving: ask another one")]
    Leaving,
    /// There was a session, and it ended while it waited.
    #[error("the session ended while it waited")]
    Ended,
}

/// A request, for others to see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestInfo {
    /// Of what.
    pub name: Name,
    /// When in logical time: who is earlier goes first.
    pub stamp: u64,
    /// Tells requests of the same stamp apart.
    pub tie_breaker: u64,
    /// The node that it came through.
    pub node: u32,
    /// Who.
    pub client_name: String,
    /// Where.
    pub client_location: String,
    /// Why, or what a leader proclaims.
    pub why: String,
    /// Its lease, if it came through etcd's API; otherwise zero.
    pub lease: i64,
    /// The create revision of its key for those who speak etcd's language: the token, unless they were told another number
    /// before there was one.
    pub revision: u64,
    /// For how many milliseconds it has been like this.
    pub for_ms: u64,
    /// Like what.
    pub state: RequestState,
}

/// How a request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestState {
    /// It waits.
    Waiting,
    /// It has it, with this token, so many times over.
    Holding {
        /// The token.
        token: u64,
        /// How often it was asked for by the same session.
        times: u32,
    },
}

/// How a token stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenStatus {
    /// Whether nobody may have had a greater one.
    pub current: bool,
    /// The greatest that a quorum knows of.
    pub greatest: u64,
}

/// Something that happened to a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HolderChange {
    /// To which.
    pub name: Name,
    /// Who has it now, if somebody has.
    pub holder: Option<RequestInfo>,
}

/// How a node is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeStatus {
    /// Which node.
    pub node: u32,
    /// Of which cluster.
    pub cluster: u128,
    /// Whether it votes: after it has forgotten everything it waits for a while.
    pub votes: bool,
    /// Whether enough nodes can be heard.
    pub quorum: bool,
    /// Which quorums decide.
    pub quorums: String,
    /// How long a vote is lent, in microseconds.
    pub lease_us: u64,
    /// A holder's node that dies is replaced after at most so many microseconds.
    pub replaced_within_us: u64,
    /// And no earlier than so many after its last sign of life.
    pub not_before_us: u64,
    /// How many sessions there are here.
    pub sessions: u64,
    /// How many requests have come through this node and are not over.
    pub requests: u64,
    /// How many locks this node remembers as a voter.
    pub locks: u64,
    /// How many messages this node has sent to others.
    pub messages: u64,
    /// Why the node is not ready; empty if it is.
    pub reasons: Vec<String>,
    /// All nodes.
    pub members: Vec<MemberStatus>,
}

/// How a node looks from another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberStatus {
    /// Which.
    pub node: u32,
    /// Where.
    pub address: String,
    /// Where clients reach it, if that is known.
    pub clients: Option<String>,
    /// Whether it can be talked to.
    pub up: bool,
    /// Whether the detector takes it for crashed.
    pub suspected: bool,
    /// What is wrong, if anything.
    pub last_error: Option<String>,
}
