//! Messages between clients and nodes.

use quorate_algorithms::mutex::leased_quorum::{RequestId, ToCandidate, ToVoter};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::direct::{Attached, MembersKnown};
use crate::members::{MemberChange, MembersStatus};
use crate::name::{Kind, Name};
use crate::terms::ClusterTerms;

/// Maximum length of a free text (client name, location, reason, value that a leader proclaims), in bytes.
pub const TEXT_MOST: usize = 4096;

/// Secret key of a session, known only to its client. Anyone with the key controls the session and its locks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SessionKey(pub u128);

impl std::fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionKey(..)")
    }
}

impl SessionKey {
    /// Returns the public identifier of the session: the first 16 bytes of the SHA-256 of its key. Voters and other nodes
    /// know only this identifier, which gives no access.
    pub fn id(self) -> u128 {
        let hash: [u8; 32] = Sha256::digest(self.0.to_be_bytes()).into();
        let (id, _) = hash.split_at(16);
        u128::from_be_bytes(id.try_into().expect("a hash is longer"))
    }
}

/// Mode in which a lock is held. More modes may be added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// At most one session holds the lock at a time.
    #[default]
    Exclusive,
}

/// A message from a client: a numbered call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientMessage {
    /// Number of the call. The response has the same number.
    pub number: u64,
    /// When the client sent the call, by the client's own clock in microseconds. Validity is counted from here.
    pub sent: u64,
    /// The call with its arguments.
    pub call: Call,
}

/// A call that a client can make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Call {
    /// Opens a session. It expires if the cluster receives no call of the client for `ttl_ms`.
    Open {
        /// Requested time-to-live in milliseconds, from 100 to 3,600,000. The cluster clamps it to its bounds.
        ttl_ms: u32,
        /// Name of the client, shown to other users.
        client_name: String,
        /// Host and process of the client, shown to other users.
        client_location: String,
    },
    /// Keeps the session alive.
    KeepAlive(SessionKey),
    /// Ends the session and releases everything that it holds.
    Close(SessionKey),
    /// Requests a lock. The call is idempotent: the same session and request number always mean the same request.
    Acquire {
        /// The session that requests the lock.
        session: SessionKey,
        /// Number of the request, chosen by the client.
        request: u64,
        /// The requested lock or election.
        name: Name,
        /// Mode in which the lock is requested.
        mode: Mode,
        /// Maximum time to wait in milliseconds. `None` waits without a limit; zero takes the lock only if it is free.
        wait_ms: Option<u64>,
        /// Purpose of the request, shown to other users; for an election, the value that the leader proclaims.
        why: String,
        /// The token with which the client holds the lock, if it holds it and now calls another node than before. Only a
        /// client whose lock is still valid by its own clock may set this.
        inside: Option<u64>,
    },
    /// Releases a lock, or withdraws a request that waits.
    Release {
        /// The session that made the request.
        session: SessionKey,
        /// Number of the request.
        request: u64,
    },
    /// Changes the value that a leader proclaims.
    Proclaim {
        /// The session of the leader.
        session: SessionKey,
        /// Number of the request that holds the election.
        request: u64,
        /// The value to proclaim from now on.
        value: String,
    },
    /// Lists holders and waiters of all names with a prefix, page by page.
    List {
        /// Prefix of the names, or the whole name if `exact` is set.
        prefix: String,
        /// Whether to list only the lock and the election whose text equals `prefix`.
        exact: bool,
        /// The cursor from [`Page::next`] of the previous page. The list continues after the name of the cursor.
        after: Option<Cursor>,
        /// Maximum number of requests in the page. A page contains all requests of its last name, so it may exceed this.
        most: u32,
    },
    /// Checks whether a token is current: no holder can have had a greater one.
    CheckToken {
        /// The lock or election of the token.
        name: Name,
        /// The token to check.
        token: u64,
    },
    /// Releases a lock by force, whichever session holds it.
    ForceRelease {
        /// The lock or election to release.
        name: Name,
        /// Reason of the force release, which is logged.
        reason: String,
    },
    /// Watches all names with a prefix: every later change of a holder is sent as [`ServerMessage::Changed`].
    Watch {
        /// Prefix of the watched names.
        prefix: String,
    },
    /// Asks for the status of the node and its cluster.
    Status,
    /// Lists everything that this session holds and waits for.
    Session(SessionKey),
    /// Binds this connection to a session whose candidate runs in the client. Answered with [`CallResponse::Attached`]. The
    /// session itself begins with the first beat that voters receive.
    Attach {
        /// The key of the session.
        session: SessionKey,
        /// Name of the client, shown to other users.
        client_name: String,
        /// Host and process of the client, shown to other users.
        client_location: String,
        /// The candidate that another node has assigned; `None` asks this node to assign one. A client uses one
        /// candidate with all nodes.
        candidate: Option<u64>,
    },
    /// Messages of an attached client's candidate to the voter of this node. There is no direct response:
    /// the voter's messages arrive as [`ServerMessage::FromVoter`]. Messages that name another session or
    /// another candidate are ignored.
    ToVoter(Vec<ToVoter<Name>>),
    /// Sets the text of a request of an attached client, which is shown to other users. For an election it is the value
    /// that the leader proclaims. Not answered.
    Describe {
        /// The request that the text describes.
        request: RequestId,
        /// The text that replaces the earlier one.
        why: String,
    },
    /// Asks for the members of the cluster.
    Members,
    /// Changes the members of the cluster. Answered once the change is chosen, before it is complete.
    ChangeMembers(MemberChange),
}

impl Call {
    /// Returns the session that the call belongs to, if any.
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

/// A message from a node to a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ServerMessage {
    /// The response to the call with this number.
    Response(u64, CallResponse),
    /// A session has lost a lock.
    Lost {
        /// The session that held the lock.
        session: SessionKey,
        /// Number of the request that held the lock.
        request: u64,
        /// Whether the lock was revoked, as opposed to lost because too few voters were reachable.
        revoked: bool,
    },
    /// Position of a waiting request in the queue; the first is 1.
    Position {
        /// The session of the request.
        session: SessionKey,
        /// Number of the request.
        request: u64,
        /// Number of requests up to and including this one.
        position: u32,
    },
    /// The holder of a watched name, or its text, has changed.
    Changed(HolderChange),
    /// The node stops. A relayed client continues through another node; a direct client avoids this voter.
    Leaving,
    /// Messages of this node's voter to the candidate of an attached client.
    FromVoter(Vec<ToCandidate<Name>>),
    /// The members of the cluster have changed. Sent to attached clients.
    Changes(Box<MembersKnown>),
}

/// Client-side validity of everything that a session holds: `micros` from `since`, by the client's own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validity {
    /// When the client sent the call from which validity is counted, by the client's own clock in microseconds.
    pub since: u64,
    /// Duration of the validity in microseconds, by the client's own clock.
    pub micros: u64,
}

/// A lock or an election that a session holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldLock {
    /// Number of the request that holds it.
    pub request: u64,
    /// Name of the lock or election.
    pub name: Name,
    /// Fencing token of the holder.
    pub token: u64,
}

/// Response of a node to a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CallResponse {
    /// The session is open.
    Opened {
        /// Key of the new session.
        session: SessionKey,
        /// Time-to-live of the session in milliseconds: the requested one, clamped to the bounds of the cluster.
        ttl_ms: u32,
    },
    /// The session is alive. The response lists everything that the session holds, so that a client that has missed a
    /// message learns of a loss here.
    Alive {
        /// Validity of everything that is listed as held.
        validity: Validity,
        /// Locks and elections that the session holds.
        held: Vec<HeldLock>,
        /// Numbers of the requests that wait.
        waiting: Vec<u64>,
    },
    /// The session holds the lock.
    Granted {
        /// Fencing token, greater than every earlier token of this name.
        token: u64,
        /// Validity of the lock if the session is not kept alive.
        validity: Validity,
    },
    /// The call has succeeded.
    Done,
    /// Requests of the session, in response to [`Call::Session`].
    List(Vec<RequestInfo>),
    /// Status of a token.
    Token(TokenStatus),
    /// Status of the node.
    Status(Box<NodeStatus>),
    /// The call has failed.
    Failed(Failure),
    /// Remaining lifetime of a lease.
    LeaseInfo(LeaseInfo),
    /// Identifiers of all leases of the caller.
    Leases(Vec<i64>),
    /// The request waits in the queue. Contains the create revision of its key in etcd's API.
    Queued(u64),
    /// Cluster parameters that a direct client needs.
    Attached(Box<Attached>),
    /// One page of a list.
    Page(Page),
    /// The members of the cluster.
    Members(Box<MembersStatus>),
}

/// One page of a list, ordered by name, with the holder of each name first and its queue after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// Requests in this page.
    pub requests: Vec<RequestInfo>,
    /// Cursor for the next page; `None` on the last page.
    pub next: Option<Cursor>,
    /// Nodes that did not answer. Requests that only these nodes know are missing.
    pub silent: Vec<u32>,
}

/// A position in a list, after which the next page begins.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cursor {
    /// Name of the last request before this position.
    pub name: Name,
    /// Stamp of that request.
    pub stamp: u64,
    /// Distinguishes requests with the same stamp.
    pub tie_breaker: u64,
}

impl Cursor {
    /// Returns the position after a request.
    pub fn of(info: &RequestInfo) -> Self {
        Self { name: info.name.clone(), stamp: info.stamp, tie_breaker: info.tie_breaker }
    }

    /// Formats the cursor as a text, for protocols without types.
    pub fn text(&self) -> String {
        let kind = if self.name.kind() == Kind::Election { "e" } else { "l" };
        format!("{kind} {} {} {}", self.stamp, self.tie_breaker, self.name.text())
    }

    /// Parses the output of [`Cursor::text`].
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

/// Lifetime of a session that is an etcd lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseInfo {
    /// Time-to-live that is reported to clients, in milliseconds. Clients count it from when an answer arrives, so it is
    /// shorter than the time for which voters keep the session.
    pub ttl_ms: u64,
    /// Client-side validity of the lease and of everything that it holds, in milliseconds from when the
    /// client receives the answer.
    pub valid_ms: u64,
    /// Requests of the lease that hold a lock or wait for one.
    pub requests: Vec<RequestInfo>,
}

/// Reason why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Failure {
    /// Another session holds the lock.
    #[error("held by another session")]
    Busy,
    /// The lock was not granted within the requested time.
    #[error("not granted in time")]
    TimedOut,
    /// The session does not exist, or has ended.
    #[error("the session is over")]
    NoSession,
    /// The request does not exist, or has ended.
    #[error("there is no such request")]
    NoRequest,
    /// The client lacks a permission. Contains the explanation.
    #[error("not allowed: {0}")]
    NotAllowed(String),
    /// A limit or quota is exceeded. Contains the explanation.
    #[error("too much: {0}")]
    TooMuch(String),
    /// No session holds the lock.
    #[error("not held by any session")]
    Free,
    /// Fewer voters than a quorum are reachable.
    #[error("not enough nodes of the cluster are reachable")]
    NoQuorum,
    /// The node is stopping. The client should call another node.
    #[error("the node is shutting down: use another one")]
    Leaving,
    /// The session existed, but ended while the request waited.
    #[error("the session ended while the request waited")]
    Ended,
    /// The cluster cannot do this in its present state. Contains the explanation.
    #[error("{0}")]
    NotNow(String),
}

/// A request as it is shown to users.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestInfo {
    /// Name of the lock or election.
    pub name: Name,
    /// Stamp of the request in logical time. Requests with smaller stamps are served first.
    pub stamp: u64,
    /// Distinguishes requests with the same stamp.
    pub tie_breaker: u64,
    /// The node through which the client last made a call for the session.
    pub node: u32,
    /// Name of the client.
    pub client_name: String,
    /// Host and process of the client.
    pub client_location: String,
    /// Purpose of the request, or the value that a leader proclaims.
    pub why: String,
    /// The lease of the session in etcd's API; zero if the session is not a lease.
    pub lease: i64,
    /// Create revision of the request's key in etcd's API: the token, unless its client was given another number before the
    /// token was known. Zero if there is neither.
    pub revision: u64,
    /// Time in milliseconds since the text of the request was last updated.
    pub for_ms: u64,
    /// Whether the request holds the lock or waits.
    pub state: RequestState,
}

/// State of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestState {
    /// The request waits in the queue.
    Waiting,
    /// The request holds the lock.
    Holding {
        /// Fencing token of the holder.
        token: u64,
        /// Number of times that the session holds the lock; always 1.
        times: u32,
    },
}

/// Status of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenStatus {
    /// Whether no holder can have had a greater token.
    pub current: bool,
    /// Token of the holder if the lock is held and the checked token is current. Otherwise the greatest number that
    /// the voters have reported.
    pub greatest: u64,
}

/// A change of the holder of a name, or of the holder's text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HolderChange {
    /// The lock or election that has changed.
    pub name: Name,
    /// The present holder, if there is one.
    pub holder: Option<RequestInfo>,
}

/// Status of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeStatus {
    /// Number of the node.
    pub node: u32,
    /// Identifier of the cluster.
    pub cluster: u128,
    /// Whether the node's voter votes. A voter that has forgotten its votes abstains for a while.
    pub votes: bool,
    /// Whether the reachable voters contain a quorum.
    pub quorum: bool,
    /// Name of the quorum system.
    pub quorums: String,
    /// The terms of new sessions.
    pub terms: ClusterTerms,
    /// Maximum time in microseconds from the last beat of a client that has crashed until its locks can be granted again.
    pub replaced_within_us: u64,
    /// Minimum time in microseconds for which a client can rely on its locks after its last beat.
    pub not_before_us: u64,
    /// Number of sessions that use this node, relayed and direct.
    pub sessions: u64,
    /// Number of requests that relays of this node pursue.
    pub requests: u64,
    /// Number of locks that this node's voter remembers.
    pub locks: u64,
    /// Number of messages that this node has sent to other nodes since it started.
    pub messages: u64,
    /// Reasons why the node is not ready; empty if it is ready.
    pub reasons: Vec<String>,
    /// All nodes of the cluster, including this one.
    pub members: Vec<MemberStatus>,
}

/// Status of a node as another node sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberStatus {
    /// Number of the node.
    pub node: u32,
    /// Peer address of the node.
    pub address: String,
    /// Client address of the node, if it is known.
    pub clients: Option<String>,
    /// Whether the node is connected.
    pub up: bool,
    /// Whether the failure detector suspects the node of having crashed.
    pub suspected: bool,
    /// Last error of the connection to this node, if it is not connected.
    pub last_error: Option<String>,
}
