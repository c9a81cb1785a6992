//! The members of the cluster, and changes of them.

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use quorate_protocol::{
    Call, CallResponse, ClusterTerms, MemberChange, MembersStatus, TermsChange,
};
use serde::{Deserialize, Serialize};

use super::refusal::Refusal;
use super::{Caller, HttpState};

/// The members of the cluster, as the node that answers knows them.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(super) struct Members {
    /// Index of the configuration. It grows with every step of a change.
    configuration: u64,
    /// The voters.
    nodes: Vec<Node>,
    /// Name of the quorum system.
    quorums: String,
    /// Minimum time-to-live of new sessions, in milliseconds. While a change is in progress, these are the terms after it.
    ttl_least_ms: u32,
    /// Maximum time-to-live of new sessions, in milliseconds.
    ttl_most_ms: u32,
    /// Maximum rate by which a clock gains or loses, in parts per million.
    drift_ppm: u32,
    /// The voters that will follow, while a change is in progress.
    next: Option<Vec<Node>>,
    /// Whether the last change is complete, so that another one can begin.
    complete: bool,
    /// The reasons why a change is not complete, one sentence each.
    waits_for: Vec<String>,
}

/// A node that votes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Node {
    /// Number of the node. It is never used again for another machine.
    node: u32,
    /// Address (host:port) at which other nodes reach the node.
    address: String,
}

/// A change of the members.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub(super) struct Change {
    /// Nodes to add. A member gets the new address.
    add: Vec<Node>,
    /// Numbers of the nodes to remove.
    remove: Vec<u32>,
    /// Name of the quorum system from then on.
    quorums: Option<String>,
    /// Minimum time-to-live of new sessions from then on, in milliseconds.
    ttl_least_ms: Option<u32>,
    /// Maximum time-to-live of new sessions from then on, in milliseconds.
    ttl_most_ms: Option<u32>,
    /// Maximum rate by which a clock gains or loses, in parts per million.
    drift_ppm: Option<u32>,
}

impl From<quorate_protocol::Member> for Node {
    fn from(member: quorate_protocol::Member) -> Self {
        Self { node: member.node, address: member.address }
    }
}

impl From<MembersStatus> for Members {
    fn from(status: MembersStatus) -> Self {
        let nodes = |members: quorate_protocol::Members| {
            members.nodes.into_iter().map(Node::from).collect::<Vec<_>>()
        };
        let MembersStatus { configuration, settled, waits_for } = status;
        let complete = settled && !configuration.is_joint();
        let ClusterTerms { ttl_least_ms, ttl_most_ms, drift_ppm, .. } =
            configuration.target().terms;
        Self {
            ttl_least_ms,
            ttl_most_ms,
            drift_ppm,
            configuration: configuration.index,
            quorums: configuration.voters.quorums.clone(),
            nodes: nodes(configuration.voters),
            next: configuration.next.map(nodes),
            complete,
            waits_for,
        }
    }
}

/// Show the members of the cluster
#[cfg_attr(feature = "openapi", utoipa::path(get, path = "/v1/members", responses((status = 200, body = Members))))]
pub(super) async fn show(
    State(state): State<HttpState>,
    Caller(permissions): Caller,
) -> Result<Json<Members>, Refusal> {
    answer(state.local_client.call(&permissions, Call::Members).await?)
}

/// Change the members of the cluster. Answered once the change is chosen; `complete` becomes true later
#[cfg_attr(feature = "openapi", utoipa::path(post, path = "/v1/members", request_body = Change, responses(
    (status = 200, body = Members),
    (status = 403, body = Refusal, description = "not-allowed: the caller has no admin right to everything"),
    (status = 409, body = Refusal, description = "not-now: the change is not possible, with the reason"),
)))]
pub(super) async fn change(
    State(state): State<HttpState>,
    Caller(permissions): Caller,
    request: Result<Json<Change>, JsonRejection>,
) -> Result<Json<Members>, Refusal> {
    let Json(Change { add, remove, quorums, ttl_least_ms, ttl_most_ms, drift_ppm }) = request?;
    let add = add.into_iter();
    let add = add.map(|Node { node, address }| quorate_protocol::Member { node, address });
    let terms = TermsChange { ttl_least_ms, ttl_most_ms, drift_ppm };
    let change = MemberChange { add: add.collect(), remove, quorums, terms };
    answer(state.local_client.call(&permissions, Call::ChangeMembers(change)).await?)
}

fn answer(response: CallResponse) -> Result<Json<Members>, Refusal> {
    match response {
        CallResponse::Members(status) => Ok(Json((*status).into())),
        _ => Err(Refusal::internal()),
    }
}
