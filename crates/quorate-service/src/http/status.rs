//! Status of the node, for people, orchestrators and Prometheus.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use quorate_protocol::{Call, CallResponse, NodeStatus};
use serde::Serialize;
use utoipa::ToSchema;

use super::refusal::Refusal;
use super::{Caller, HttpState};

/// How a node is.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Status {
    node: u32,
    /// Which cluster, in hexadecimal.
    cluster: String,
    /// Whether it votes: one that has forgotten everything waits for a while.
    votes: bool,
    /// Whether enough nodes can be heard.
    quorum: bool,
    /// Which quorums decide.
    quorums: String,
    /// How long a vote is lent.
    lease_ms: f64,
    /// A holder whose node dies is replaced after at most so many milliseconds.
    replaced_within_ms: f64,
    /// And no earlier than so many after its last sign of life.
    not_before_ms: f64,
    sessions: u64,
    requests: u64,
    /// How many locks it remembers as a voter.
    locks: u64,
    /// How many messages it has sent to other nodes.
    messages: u64,
    /// Why the node is not ready; empty if it is.
    reasons: Vec<String>,
    members: Vec<Member>,
}

/// How a node looks from this one.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Member {
    node: u32,
    address: String,
    /// Where clients reach it, if that is known.
    clients: Option<String>,
    up: bool,
    /// Whether the detector takes it for crashed.
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
            lease_ms: ms(status.lease_us),
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

/// How the node and its cluster are
#[utoipa::path(get, path = "/v1/status", responses((status = 200, body = Status)))]
pub(super) async fn status(
    State(state): State<HttpState>,
    Caller(permissions): Caller,
) -> Result<Json<Status>, Refusal> {
    match state.local_client.call(&permissions, Call::Status).await? {
        CallResponse::Status(status) => Ok(Json((*status).into())),
        _ => Err(Refusal::internal()),
    }
}

/// Whether the node lives: it answers
#[utoipa::path(get, path = "/livez", responses((status = 200, body = String)))]
pub(super) async fn live(State(state): State<HttpState>) -> (StatusCode, &'static str) {
    match state.local_client.health().await {
        Some(_) => (StatusCode::OK, "alive\n"),
        None => (StatusCode::SERVICE_UNAVAILABLE, "its loop has ended\n"),
    }
}

/// Whether the node gives locks: it votes, reaches a quorum and does not leave. If it does not, each further line is a reason
#[utoipa::path(get, path = "/readyz", responses((status = 200, body = String), (status = 503, body = String)))]
pub(super) async fn ready(State(state): State<HttpState>) -> (StatusCode, String) {
    match state.local_client.health().await {
        Some(health) if health.reasons.is_empty() => (StatusCode::OK, "ready\n".to_owned()),
        Some(health) => {
            let reasons = health.reasons.join("\n");
            (StatusCode::SERVICE_UNAVAILABLE, format!("not ready\n{reasons}\n"))
        }
        None => (StatusCode::SERVICE_UNAVAILABLE, "not ready\nits loop has ended\n".to_owned()),
    }
}

/// What the node counts, for Prometheus
#[utoipa::path(get, path = "/metrics", responses((status = 200, body = String)))]
pub(super) async fn metrics(State(state): State<HttpState>) -> Response {
    const TEXT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    match state.local_client.metrics().await {
        Some(text) => ([(header::CONTENT_TYPE, TEXT)], text).into_response(),
        None => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}
