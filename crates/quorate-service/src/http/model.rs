//! JSON types of the HTTP API.

use base64::Engine;
use quorate_protocol::{
    Cursor, HolderChange, Kind, Name, Page, RequestInfo, RequestState, SessionKey,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::refusal::Refusal;

/// A session to be opened.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewSession {
    /// It ends if nothing is heard of it for so many milliseconds, 100 to 3,600,000. The answer tells the time-to-live
    /// within the bounds of the cluster.
    #[serde(default = "ten_seconds")]
    pub(super) ttl_ms: u32,
    /// Who, for others to see.
    #[serde(default)]
    pub(super) who: String,
    /// Where, for others to see.
    #[serde(default)]
    pub(super) place: String,
}

const fn ten_seconds() -> u32 {
    10_000
}

/// A session that was opened.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Opened {
    /// The secret by which it is known: who has it has its locks.
    pub(super) session: String,
    /// It ends if nothing is heard of it for so many milliseconds.
    pub(super) ttl_ms: u32,
}

/// A session that is alive.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Alive {
    /// All that it has may be relied on for so long, counted from when the request was sent.
    pub(super) reliable_ms: u64,
    /// Every lock and election that it holds. What is missing here is lost. A lock that could not be relied on for a moment
    /// is lost too, even if it is listed.
    pub(super) held: Vec<Held>,
    /// Requests that wait.
    pub(super) waiting: Vec<u64>,
}

/// A lock or an election that a session holds.
#[derive(Debug, Serialize, ToSchema)]
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

/// What a session has and wants.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Requests {
    /// Each of them.
    pub(super) requests: Vec<Request>,
}

/// A lock that is wanted.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// By which session.
    pub(super) session: String,
    /// Which lock, or which election.
    pub(super) name: String,
    /// Of which kind: lock or election.
    #[serde(default)]
    pub(super) kind: NameKind,
    /// How many milliseconds to wait; zero takes it only if it is free. Without, as long as it takes.
    pub(super) wait_ms: Option<u64>,
    /// Why, for others to see; what a leader proclaims.
    #[serde(default)]
    pub(super) why: String,
    /// A number of one's own for this request: the same one again is the same request. Without, one is chosen.
    pub(super) request: Option<u64>,
    /// The token, if the lock is held and still valid, and its client goes on through another node.
    pub(super) token: Option<u64>,
}

/// A lock that was granted.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Granted {
    /// Greater than all before of this name.
    pub(super) token: u64,
    /// The number of the request, to free it by.
    pub(super) request: u64,
    /// It may be relied on for so long, counted from when the request was sent, if the session is not kept alive.
    pub(super) reliable_ms: u64,
}

/// A request that is over.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Over {
    /// Of which session.
    pub(super) session: String,
    /// Which request.
    pub(super) request: u64,
}

/// What a leader proclaims.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Proclaimed {
    /// By which session.
    pub(super) session: String,
    /// Which request made it the leader.
    pub(super) request: u64,
    /// What.
    pub(super) value: String,
}

/// A token that somebody shows.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Token {
    /// Of which lock, or election.
    pub(super) name: String,
    /// Of which kind: lock or election.
    #[serde(default)]
    pub(super) kind: NameKind,
    /// The token.
    pub(super) token: u64,
}

/// How a token stands.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TokenState {
    /// Whether nobody can have had a greater one.
    pub(super) current: bool,
    /// The greatest that a quorum of nodes knows of.
    pub(super) greatest: u64,
}

/// A lock that is to be taken away.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Expelled {
    /// Which lock, or election.
    pub(super) name: String,
    /// Of which kind: lock or election.
    #[serde(default)]
    pub(super) kind: NameKind,
    /// Why: it is written down.
    pub(super) reason: String,
}

/// Which names.
#[derive(Debug, Deserialize, IntoParams)]
pub(super) struct ListQuery {
    /// What they begin with.
    #[serde(default)]
    pub(super) prefix: String,
    /// Exactly this name, instead of a prefix.
    pub(super) name: Option<String>,
    /// The `next` of the page before.
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
        .ok_or_else(|| Refusal::bad("after is not what an earlier page had as next"))
}

const fn a_thousand() -> u32 {
    1_000
}

/// Which names to watch.
#[derive(Debug, Deserialize, IntoParams)]
pub(super) struct PrefixQuery {
    /// What they begin with.
    #[serde(default)]
    pub(super) prefix: String,
}

/// Which election.
#[derive(Debug, Deserialize, IntoParams)]
pub(super) struct NameQuery {
    /// What it is called.
    pub(super) name: String,
}

/// What a name is the name of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
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

/// Who has and who waits: for each name the holder first, then the queue in its order.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Listed {
    /// Each of them.
    requests: Vec<Request>,
    /// What to ask for with `after` to get the next page; null on the last one.
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

/// A request, for others to see.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Request {
    name: String,
    kind: NameKind,
    /// Whether it has it, or waits.
    state: State,
    /// The holder's token.
    token: Option<u64>,
    /// How often the same session has taken it.
    times: Option<u32>,
    /// The node that it came through.
    node: u32,
    who: String,
    place: String,
    why: String,
    /// For how many milliseconds it has been so.
    for_ms: u64,
}

/// How a request stands.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum State {
    /// It has it.
    Holding,
    /// It waits.
    Waiting,
}

impl From<RequestInfo> for Request {
    fn from(info: RequestInfo) -> Self {
        let (state, token, times) = match info.state {
            RequestState::Holding { token, times } => (State::Holding, Some(token), Some(times)),
            RequestState::Waiting => (State::Waiting, None, None),
        };
        let RequestInfo {
            name, node, client_name: who, client_location: place, why, for_ms, ..
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
        }
    }
}

/// What has become of a name.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Changed {
    name: String,
    /// Who has it now; null if nobody.
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
        _ => Err(Refusal::bad("a session is 32 hexadecimal digits, as it was opened with")),
    }
}
