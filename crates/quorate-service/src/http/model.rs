//! JSON types of the HTTP API.

use base64::Engine;
use quorate_protocol::{
    Cursor, HolderChange, Kind, Name, Page, RequestInfo, RequestState, SessionKey,
};
use serde::{Deserialize, Serialize};

use super::refusal::Refusal;
use crate::core::grants::asked_at;

/// Parameters of a new session.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct NewSession {
    /// Time-to-live in milliseconds, 100 to 3,600,000: the session ends if its client is silent for this long. The response
    /// contains the value that the node applies, within the bounds of the cluster.
    #[serde(default = "ten_seconds")]
    pub(super) ttl_ms: u32,
    /// Name of the client, shown to other clients; default: the name with which it authenticated.
    #[serde(default)]
    pub(super) who: String,
    /// Location of the client, shown to other clients.
    #[serde(default)]
    pub(super) place: String,
}

const fn ten_seconds() -> u32 {
    10_000
}

/// A session that was opened.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(super) struct Opened {
    /// Secret key of the session. Anyone with the key controls the session and its locks.
    pub(super) session: String,
    /// Time-to-live in milliseconds: the session ends if its client is silent for this long.
    pub(super) ttl_ms: u32,
}

/// A session that is alive.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(super) struct Alive {
    /// Validity of everything that the session holds, in milliseconds, counted from when the client sent the request.
    pub(super) reliable_ms: u64,
    /// Every lock and election that the session holds. A lock that is not listed is lost. A lock whose validity has lapsed
    /// for a moment is lost too, even if it is listed.
    pub(super) held: Vec<Held>,
    /// Numbers of the requests that wait.
    pub(super) waiting: Vec<u64>,
}

/// A lock or an election that a session holds.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(super) struct Held {
    pub(super) name: String,
    /// `lock` or `election`.
    pub(super) kind: &'static str,
    /// The request that holds it.
    pub(super) request: u64,
    pub(super) token: u64,
}

impl From<quorate_protocol::HeldLock> for Held {
    fn from(held: quorate_protocol::HeldLock) -> Self {
        let kind = match held.name.kind() {
            quorate_protocol::Kind::Lock => "lock",
            quorate_protocol::Kind::Election => "election",
        };
        let (request, token) = (held.request, held.token);
        Self { name: held.name.text().to_owned(), kind, request, token }
    }
}

/// Requests of a session.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(super) struct Requests {
    /// Requests that hold a lock or an election, and requests that wait.
    pub(super) requests: Vec<Request>,
}

/// A request for a lock or an election.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// Key of the session.
    pub(super) session: String,
    /// Name of the lock or election.
    pub(super) name: String,
    /// Kind of the name; default: lock.
    #[serde(default)]
    pub(super) kind: NameKind,
    /// Maximum time to wait, in milliseconds; 0 acquires only if the lock is free; default: no limit.
    pub(super) wait_ms: Option<u64>,
    /// Reason, shown to other clients; for an election, the value that the leader proclaims.
    #[serde(default)]
    pub(super) why: String,
    /// Number of the request, chosen by the client: a call with the same number is the same request; default: a random number.
    pub(super) request: Option<u64>,
    /// Token of the lock, if the client still holds a valid lock and continues through another node.
    pub(super) token: Option<u64>,
}

/// A lock that was granted.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(super) struct Granted {
    /// Fencing token, greater than every earlier token of this name.
    pub(super) token: u64,
    /// Number of the request, with which it is released.
    pub(super) request: u64,
    /// Validity without a keep-alive, in milliseconds, counted from when the client sent the request.
    pub(super) reliable_ms: u64,
}

/// A request to release.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Over {
    /// Key of the session.
    pub(super) session: String,
    /// Number of the request.
    pub(super) request: u64,
}

/// A new value that a leader proclaims.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Proclaimed {
    /// Key of the session.
    pub(super) session: String,
    /// Number of the request that made the session the leader.
    pub(super) request: u64,
    /// The new value.
    pub(super) value: String,
}

/// A token to check.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Token {
    /// Name of the lock or election.
    pub(super) name: String,
    /// Kind of the name; default: lock.
    #[serde(default)]
    pub(super) kind: NameKind,
    /// The token.
    pub(super) token: u64,
}

/// State of a token.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(super) struct TokenState {
    /// Whether no session can have had a greater token.
    pub(super) current: bool,
    /// Greatest token known to a quorum of nodes.
    pub(super) greatest: u64,
}

/// A lock or an election to release by force.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Expelled {
    /// Name of the lock or election.
    pub(super) name: String,
    /// Kind of the name; default: lock.
    #[serde(default)]
    pub(super) kind: NameKind,
    /// Reason, which the nodes log.
    pub(super) reason: String,
}

/// Names to list.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
pub(super) struct ListQuery {
    /// Prefix of the names; default: all names.
    #[serde(default)]
    pub(super) prefix: String,
    /// Exact name, instead of a prefix.
    pub(super) name: Option<String>,
    /// The `next` of the previous page; default: the first page.
    pub(super) after: Option<String>,
    /// Maximum number of requests in the page; default: 1,000.
    #[serde(default = "a_thousand")]
    pub(super) most: u32,
}

/// Encoding of a cursor in a URL.
const CURSOR_ENCODING: base64::engine::GeneralPurpose =
    base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Decodes a cursor from a URL.
pub(super) fn cursor(text: &str) -> Result<Cursor, Refusal> {
    let bytes = CURSOR_ENCODING.decode(text).ok();
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    text.and_then(|text| Cursor::read(&text))
        .ok_or_else(|| Refusal::bad("`after` is not the `next` of an earlier page"))
}

const fn a_thousand() -> u32 {
    1_000
}

/// Names to watch.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
pub(super) struct PrefixQuery {
    /// Prefix of the names; default: all names.
    #[serde(default)]
    pub(super) prefix: String,
}

/// Election to show.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
pub(super) struct NameQuery {
    /// Name of the election.
    pub(super) name: String,
}

/// Kind of a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub(super) enum NameKind {
    /// A lock.
    #[default]
    Lock,
    /// An election.
    Election,
}

impl From<NameKind> for Kind {
    fn from(kind: NameKind) -> Self {
        match kind {
            NameKind::Lock => Self::Lock,
            NameKind::Election => Self::Election,
        }
    }
}

/// Holders and waiters: for each name the holder first, then the queue in order.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(super) struct Listed {
    /// Requests of this page.
    requests: Vec<Request>,
    /// Value of `after` for the next page; null on the last page.
    next: Option<String>,
    /// Nodes that did not answer: requests through them are missing.
    silent: Vec<u32>,
}

impl From<Page> for Listed {
    fn from(page: Page) -> Self {
        let Page { requests, next, silent } = page;
        let next = next.map(|next| CURSOR_ENCODING.encode(next.text()));
        Self { requests: requests.into_iter().map(Into::into).collect(), next, silent }
    }
}

/// A request, as it is shown to clients.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(super) struct Request {
    name: String,
    kind: NameKind,
    /// Whether the request holds the lock or waits.
    state: State,
    /// The holder's token.
    token: Option<u64>,
    /// Number of times that the session holds the lock.
    times: Option<u32>,
    /// Node through which the request was made.
    node: u32,
    who: String,
    place: String,
    why: String,
    /// Time in this state, in milliseconds.
    for_ms: u64,
    /// Time since the request was made, in milliseconds, by the clock of the node that answers; null if it is not known.
    asked_ms: Option<u64>,
}

/// State of a request.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub(super) enum State {
    /// The request holds the lock.
    Holding,
    /// The request waits.
    Waiting,
}

impl From<RequestInfo> for Request {
    fn from(info: RequestInfo) -> Self {
        let (state, token, times) = match info.state {
            RequestState::Holding { token, times } => (State::Holding, Some(token), Some(times)),
            RequestState::Waiting => (State::Waiting, None, None),
        };
        let RequestInfo {
            name,
            stamp,
            node,
            client_name: who,
            client_location: place,
            why,
            for_ms,
            ..
        } = info;
        let kind = match name.kind() {
            Kind::Lock => NameKind::Lock,
            Kind::Election => NameKind::Election,
        };
        Self {
            name: name.text().to_owned(),
            kind,
            state,
            token,
            times,
            node,
            who,
            place,
            why,
            for_ms,
            asked_ms: asked_at(stamp).map(|at| crate::clock::wall_millis().saturating_sub(at)),
        }
    }
}

/// A change of the holder of a name.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(super) struct Changed {
    name: String,
    /// The holder after the change; null if the name is free.
    holder: Option<Request>,
}

impl From<HolderChange> for Changed {
    fn from(change: HolderChange) -> Self {
        let holder = change.holder.map(Request::from);
        Self { name: change.name.text().to_owned(), holder }
    }
}

/// Creates a name of this kind.
pub(super) fn name(kind: NameKind, text: &str) -> Result<Name, Refusal> {
    Ok(Name::new(kind.into(), text)?)
}

/// Formats a session key as text.
pub(super) fn key_text(key: SessionKey) -> String {
    format!("{:032x}", key.0)
}

/// Parses a session key.
pub(super) fn key(text: &str) -> Result<SessionKey, Refusal> {
    match u128::from_str_radix(text, 16) {
        Ok(key) if text.len() == 32 => Ok(SessionKey(key)),
        _ => Err(Refusal::bad(
            "a session key has 32 hexadecimal digits, as POST /v1/sessions returned it",
        )),
    }
}
