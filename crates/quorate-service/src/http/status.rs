//! Status of the node, for people, orchestrators and Prometheus.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use quorate_protocol::{Call, CallResponse, NodeStatus};
use serde::Serialize;

use super::refusal::Refusal;
use super::{Caller, HttpState};

/// Status of a node.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(super) struct Status {
    node: u32,
    /// Identifier of the cluster, in hexadecimal.
    cluster: String,
    /// Whether the node votes. A node that has forgotten its votes abstains for a while.
    votes: bool,
    /// Whether a quorum of nodes is reachable.
    quorum: bool,
    /// Name of the quorum system.
    quorums: String,
    /// Maximum duration for which a vote is lent, in milliseconds.
    lease_ms: f64,
    /// Maximum time until a holder whose node crashes is replaced, in milliseconds.
    replaced_within_ms: f64,
    /// Minimum time from the last sign of life of a holder until it is replaced, in milliseconds.
    not_before_ms: f64,
    sessions: u64,
    requests: u64,
    /// Number of locks that the node remembers as a voter.
    locks: u64,
    /// Number of messages sent to other nodes.
    messages: u64,
    /// Reasons why the node is not ready; empty if it is ready.
    reasons: Vec<String>,
    members: Vec<Member>,
}

/// State of a node, as seen from the node that answers.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(super) struct Member {
    node: u32,
    address: String,
    /// Address at which clients reach the node, if known.
    clients: Option<String>,
    up: bool,
    /// Whether the failure detector suspects that the node has crashed.
    suspected: bool,
    trouble: Option<String>,
}

impl From<NodeStatus> for Status {
    fn from(status: NodeStatus) -> Self {
        let ms = |micros: u64| micros as f64 / 1_000.0;
        let member = |member: quorate_protocol::MemberStatus| Member {
            node: member.node,
            address: member.address,
            clients: member.clients,
            up: member.up,
            suspected: member.suspected,
            trouble: member.last_error,
        };
        Self {
            node: status.node,
            cluster: format!("{:032x}", status.cluster),
            votes: status.votes,
            quorum: status.quorum,
            quorums: status.quorums,
            lease_ms: status.terms.ttl_most_ms.into(),
            replaced_within_ms: ms(status.replaced_within_us),
            not_before_ms: ms(status.not_before_us),
            sessions: status.sessions,
            requests: status.requests,
            locks: status.locks,
            messages: status.messages,
            reasons: status.reasons,
            members: status.members.into_iter().map(member).collect(),
        }
    }
}

/// Show the status of the node and its cluster
#[cfg_attr(feature = "openapi", utoipa::path(get, path = "/v1/status", responses((status = 200, body = Status))))]
pub(super) async fn status(
    State(state): State<HttpState>,
    Caller(permissions): Caller,
) -> Result<Json<Status>, Refusal> {
    match state.local_client.call(&permissions, Call::Status).await? {
        CallResponse::Status(status) => Ok(Json((*status).into())),
        _ => Err(Refusal::internal()),
    }
}

/// Check whether the node is alive: its event loop answers
#[cfg_attr(feature = "openapi", utoipa::path(get, path = "/livez", responses((status = 200, body = String))))]
pub(super) async fn live(State(state): State<HttpState>) -> (StatusCode, &'static str) {
    match state.local_client.health().await {
        Some(_) => (StatusCode::OK, "alive\n"),
        None => (StatusCode::SERVICE_UNAVAILABLE, "the event loop has ended\n"),
    }
}

/// Check whether the node grants locks: it votes, reaches a quorum and is not shutting down. If not, each further line is a reason
#[cfg_attr(feature = "openapi", utoipa::path(get, path = "/readyz", responses((status = 200, body = String), (status = 503, body = String))))]
pub(super) async fn ready(State(state): State<HttpState>) -> (StatusCode, String) {
    match state.local_client.health().await {
        Some(health) if health.reasons.is_empty() => (StatusCode::OK, "ready\n".to_owned()),
        Some(health) => {
            let reasons = health.reasons.join("\n");
            (StatusCode::SERVICE_UNAVAILABLE, format!("not ready\n{reasons}\n"))
        }
        None => {
            (StatusCode::SERVICE_UNAVAILABLE, "not ready\nthe event loop has ended\n".to_owned())
        }
    }
}

/// Show the metrics of the node, for Prometheus
#[cfg_attr(feature = "openapi", utoipa::path(get, path = "/metrics", responses((status = 200, body = String))))]
pub(super) async fn metrics(State(state): State<HttpState>) -> Response {
    const TEXT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    match state.local_client.metrics().await {
        Some(text) => ([(header::CONTENT_TYPE, TEXT)], text).into_response(),
        None => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}
