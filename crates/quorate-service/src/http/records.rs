//! Records of one node: its links to other nodes, the sessions at its voter, and the history of its votes.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use quorate_core::{SortedMap, Span};
use quorate_protocol::{Failure, Kind, Name};
use serde::{Deserialize, Serialize};

use super::model::{NameKind, name};
use super::refusal::Refusal;
use super::{Caller, HttpState};
use crate::core::history::LockRecord;
use crate::core::session_list::ListedSession;
use crate::event_loop::{NodeRecord, PeerRecord};
use crate::peer::{VoteEnd, VoteRecord};

const fn millis(span: Span) -> u64 {
    span.0 / 1_000_000
}

/// The node that answers, its links, and the rights of the caller.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(super) struct NodeInfo {
    node: u32,
    /// Version of the program.
    version: &'static str,
    /// Time since the node started, in milliseconds.
    up_ms: u64,
    caller: CallerInfo,
    /// The other nodes that have been connected since this node started.
    peers: Vec<Peer>,
}

/// The rights of the caller: prefixes of names. An empty prefix stands for everything.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(super) struct CallerInfo {
    /// Name of the client; empty if the node requires no authentication.
    name: String,
    acquire: Vec<String>,
    observe: Vec<String>,
    admin: Vec<String>,
}

/// The link to another node.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(super) struct Peer {
    node: u32,
    /// Whether the link is up.
    connected: bool,
    /// Time in this state, in milliseconds.
    for_ms: u64,
    /// Number of restarts of the other node since this node started.
    restarts: u32,
    /// Number of times that the link broke although the other node was not restarted.
    breaks: u32,
    /// Version of the messages on the link.
    messages: u16,
}

impl From<PeerRecord> for Peer {
    fn from(record: PeerRecord) -> Self {
        let PeerRecord { node, connected, changed, restarts, breaks, version } = record;
        Self { node, connected, for_ms: millis(changed), restarts, breaks, messages: version }
    }
}

/// Show the node that answers: its version, its links to other nodes, and the rights of the caller
#[cfg_attr(feature = "openapi", utoipa::path(get, path = "/v1/node", responses((status = 200, body = NodeInfo))))]
pub(super) async fn node(
    State(state): State<HttpState>,
    Caller(permissions): Caller,
) -> Result<Json<NodeInfo>, Refusal> {
    let record = state.local_client.inspect(|node, now| node.record(now))?;
    let NodeRecord { node, up, peers } = record;
    let [acquire, observe, admin] = permissions.prefixes();
    Ok(Json(NodeInfo {
        node,
        version: env!("CARGO_PKG_VERSION"),
        up_ms: millis(up),
        caller: CallerInfo { name: permissions.name.clone(), acquire, observe, admin },
        peers: peers.into_iter().map(Peer::from).collect(),
    }))
}

/// Sessions that the voter of a node knows.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(super) struct Sessions {
    node: u32,
    /// Number of sessions. The list may have fewer.
    count: usize,
    sessions: Vec<Session>,
}

/// A session of a client. Its key is secret.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(super) struct Session {
    who: String,
    place: String,
    /// The node through which the client made its last call.
    node: Option<u32>,
    /// Time-to-live in milliseconds.
    ttl_ms: u64,
    /// Time until the session ends unless its client sends a sign of life, in milliseconds.
    left_ms: u64,
    /// Time since the node that answers has heard of the session first, in milliseconds.
    age_ms: Option<u64>,
    /// Number of locks and elections for which the session has the vote of the node that answers.
    holding: usize,
    /// The first of them.
    holds: Vec<Named>,
    /// Number of locks and elections for which it waits.
    waiting: usize,
    /// The first of them.
    waits: Vec<Named>,
}

/// A lock or an election.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(super) struct Named {
    name: String,
    kind: NameKind,
}

impl From<Name> for Named {
    fn from(name: Name) -> Self {
        let kind = match name.kind() {
            Kind::Lock => NameKind::Lock,
            Kind::Election => NameKind::Election,
        };
        Self { name: name.text().to_owned(), kind }
    }
}

impl From<ListedSession> for Session {
    fn from(session: ListedSession) -> Self {
        let named = |names: Vec<Name>| names.into_iter().map(Named::from).collect();
        let ((holding, holds), (waiting, waits)) = (session.holds, session.waits);
        Self {
            who: session.client_name,
            place: session.client_location,
            node: session.node,
            ttl_ms: millis(session.ttl),
            left_ms: millis(session.left),
            age_ms: session.age.map(millis),
            holding,
            holds: named(holds),
            waiting,
            waits: named(waits),
        }
    }
}

/// List the sessions that the voter of the node knows
#[cfg_attr(feature = "openapi", utoipa::path(get, path = "/v1/sessions", operation_id = "sessions", responses(
    (status = 200, body = Sessions),
    (status = 403, body = Refusal, description = "not-allowed: the caller has no right to observe everything"),
)))]
pub(super) async fn sessions(
    State(state): State<HttpState>,
    Caller(permissions): Caller,
) -> Result<Json<Sessions>, Refusal> {
    permissions.may_observe("").map_err(Failure::NotAllowed)?;
    let (node, (sessions, count)) = state
        .local_client
        .inspect(|node, now| (node.core().number(), node.core().listed_sessions(now)))?;
    Ok(Json(Sessions { node, count, sessions: sessions.into_iter().map(Session::from).collect() }))
}

/// Lock whose history is shown.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
pub(super) struct HistoryQuery {
    /// Name of the lock or election.
    name: String,
    /// Kind of the name; default: lock.
    #[serde(default)]
    kind: NameKind,
}

/// The knowledge of one node about a lock.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(super) struct LockHistory {
    node: u32,
    /// Greatest number that the voter of the node has given or confirmed. No token can be greater if all voters agree.
    last: u64,
    /// Time until the voter frees its vote unless the holder's client sends a sign of life, in milliseconds; null if it has not voted.
    valid_ms: Option<u64>,
    /// Time-to-live of the holder's session, in milliseconds.
    ttl_ms: Option<u64>,
    /// Votes of the node, the newest first.
    votes: Vec<Vote>,
}

/// A vote for a request whose client may have been inside.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(super) struct Vote {
    /// Number of the vote.
    number: u64,
    /// The token, if the node knows it: it may be the greater number of another node's vote.
    token: Option<u64>,
    /// The node through which the client made its last call; null if the node has no texts of the request.
    node: Option<u32>,
    who: String,
    place: String,
    why: String,
    /// Time since the vote was given, in milliseconds.
    began_ms: u64,
    /// Time since the vote ended, in milliseconds; null if it has not.
    ended_ms: Option<u64>,
    end: Option<End>,
}

/// Reason why a vote has ended.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub(super) enum End {
    /// The client has released the lock.
    Released,
    /// The client was silent for its time-to-live.
    Expired,
    /// An operator has released the lock by force.
    Revoked,
    /// Another reason, such as a change of the members.
    Moved,
}

impl From<VoteEnd> for End {
    fn from(end: VoteEnd) -> Self {
        match end {
            VoteEnd::Released => Self::Released,
            VoteEnd::Expired => Self::Expired,
            VoteEnd::Revoked => Self::Revoked,
            VoteEnd::NotEntered | VoteEnd::Moved => Self::Moved,
        }
    }
}

impl From<VoteRecord> for Vote {
    fn from(vote: VoteRecord) -> Self {
        let node = vote.texts.as_ref().map(|texts| texts.node);
        let texts = vote.texts.unwrap_or_default();
        Self {
            number: vote.number,
            token: vote.token,
            node,
            who: texts.client_name,
            place: texts.client_location,
            why: texts.why,
            began_ms: millis(vote.began),
            ended_ms: vote.ended.map(|(ended, _)| millis(ended)),
            end: vote.ended.map(|(_, end)| end.into()),
        }
    }
}

/// Show what the node knows of a lock: the validity of its holder, and the earlier holders
///
/// A voter does not know whether other voters have voted for the same request. The history begins when the node starts.
#[cfg_attr(feature = "openapi", utoipa::path(get, path = "/v1/history", params(HistoryQuery), responses(
    (status = 200, body = LockHistory),
    (status = 403, body = Refusal),
)))]
pub(super) async fn history(
    State(state): State<HttpState>,
    Caller(permissions): Caller,
    query: Result<Query<HistoryQuery>, QueryRejection>,
) -> Result<Json<LockHistory>, Refusal> {
    let Query(HistoryQuery { name: text, kind }) = query?;
    let name = name(kind, &text)?;
    permissions.may_observe(name.text()).map_err(Failure::NotAllowed)?;
    let (node, record) = state
        .local_client
        .inspect(|node, now| (node.core().number(), node.core().lock_record(&name, now)))?;
    let LockRecord { last, validity, votes } = record;
    let (valid_ms, ttl_ms) = validity.map(|(left, ttl)| (millis(left), millis(ttl))).unzip();
    let votes = votes.into_iter().map(Vote::from).collect();
    Ok(Json(LockHistory { node, last, valid_ms, ttl_ms, votes }))
}

/// The last votes of all nodes for a lock.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(super) struct HandOvers {
    node: u32,
    /// The requests that had votes.
    requests: Vec<Requester>,
    /// Nodes that did not answer.
    silent: Vec<u32>,
    voters: Vec<VotesOfNode>,
}

/// A request that had votes.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(super) struct Requester {
    who: String,
    place: String,
    why: String,
    /// The node through which the client made its last call; null if no node has texts of the request.
    node: Option<u32>,
    /// The token, if a node knows it.
    token: Option<u64>,
}

/// The last votes of one node.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(super) struct VotesOfNode {
    node: u32,
    votes: Vec<NodeVote>,
}

/// A vote of one node. Times are ages at the moment of its answer, so that the clocks of nodes need not agree.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(super) struct NodeVote {
    /// Index of the request.
    request: usize,
    number: u64,
    /// Time since the vote was given, in milliseconds.
    began_ms: f64,
    /// Time since the vote ended, in milliseconds; null if it has not.
    ended_ms: Option<f64>,
    end: Option<End>,
}

fn fine_millis(span: Span) -> f64 {
    (span.0 / 1_000) as f64 / 1_000.0
}

/// Show the last votes of all nodes for a lock, from the records of the nodes: how it went from one holder to the next
#[cfg_attr(feature = "openapi", utoipa::path(get, path = "/v1/hand-overs", params(HistoryQuery), responses(
    (status = 200, body = HandOvers),
    (status = 403, body = Refusal),
)))]
pub(super) async fn hand_overs(
    State(state): State<HttpState>,
    Caller(permissions): Caller,
    query: Result<Query<HistoryQuery>, QueryRejection>,
) -> Result<Json<HandOvers>, Refusal> {
    let Query(HistoryQuery { name: text, kind }) = query?;
    let name = name(kind, &text)?;
    permissions.may_observe(name.text()).map_err(Failure::NotAllowed)?;
    let (node, members) = state.local_client.inspect(|node, _| {
        let core = node.core();
        (core.number(), core.member_numbers())
    })?;
    let votes = state.local_client.votes_for(name).await?;
    let answered = |node: &u32| votes.keys().any(|id| id.number() == *node);
    let silent = members.into_iter().filter(|node| !answered(node)).collect();
    let (mut requests, mut known) = (Vec::<Requester>::new(), SortedMap::new());
    let voters = votes.into_iter().map(|(id, votes)| {
        let votes = votes.into_iter().map(|vote| {
            let request = *known.entry(vote.request).or_insert_with(|| {
                let (who, place, why) = (String::new(), String::new(), String::new());
                requests.push(Requester { who, place, why, node: None, token: None });
                requests.len() - 1
            });
            let requester = &mut requests[request];
            requester.token = requester.token.or(vote.token);
            if let (None, Some(texts)) = (requester.node, vote.texts) {
                requester.node = Some(texts.node);
                requester.who = texts.client_name;
                requester.place = texts.client_location;
                requester.why = texts.why;
            }
            NodeVote {
                request,
                number: vote.number,
                began_ms: fine_millis(vote.began),
                ended_ms: vote.ended.map(|(ended, _)| fine_millis(ended)),
                end: vote.ended.map(|(_, end)| end.into()),
            }
        });
        VotesOfNode { node: id.number(), votes: votes.collect() }
    });
    let voters = voters.collect();
    Ok(Json(HandOvers { node, requests, silent, voters }))
}
