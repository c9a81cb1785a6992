//! Locks and elections over HTTP.

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Query, State};
use axum::http::StatusCode;
use quorate_protocol::{Call, CallResponse, Mode};

use super::model::{
    Expelled, Granted, ListQuery, Listed, NameQuery, Over, Proclaimed, Request, Token, TokenState,
    Wanted, cursor, key, name,
};
use super::refusal::Refusal;
use super::{Caller, HttpState};
use crate::node::random_number;

/// Acquire a lock, or become the leader of an election; the response is sent when the request is granted
///
/// If the connection closes before that, the request is withdrawn.
#[cfg_attr(feature = "openapi", utoipa::path(post, path = "/v1/acquire", request_body = Wanted, responses(
    (status = 200, body = Granted),
    (status = 404, body = Refusal, description = "no-session: the session is over"),
    (status = 409, body = Refusal, description = "busy or timed-out: another session holds it"),
    (status = "4XX", body = Refusal),
    (status = 503, body = Refusal, description = "no-quorum or leaving: use another node"),
)))]
pub(super) async fn acquire(
    State(state): State<HttpState>,
    Caller(permissions): Caller,
    wanted: Result<Json<Wanted>, JsonRejection>,
) -> Result<Json<Granted>, Refusal> {
    let Json(wanted) = wanted?;
    let (session, name) = (key(&wanted.session)?, name(wanted.kind, &wanted.name)?);
    // A random number of 53 bits, which JSON clients can represent exactly.
    let request = wanted.request.unwrap_or_else(|| random_number() as u64 >> 11);
    let Wanted { wait_ms, why, token: inside, .. } = wanted;
    let mode = Mode::Exclusive;
    let call = Call::Acquire { session, request, name, mode, wait_ms, why, inside };
    let asked = crate::clock::now().0 / 1_000;
    match state.local_client.call(&permissions, call).await? {
        CallResponse::Granted { token, validity } => {
            // The session may have been kept alive while the request waited. The clocks of the client and of
            // this node both drift.
            let waited = validity.since.saturating_sub(asked);
            let ppm = u64::from(state.local_client.inbox().drift_ppm());
            let drift = waited.saturating_mul(2 * ppm) / 1_000_000;
            let reliable_ms = (waited.saturating_sub(drift) + validity.micros) / 1_000;
            Ok(Json(Granted { token, request, reliable_ms }))
        }
        _ => Err(Refusal::internal()),
    }
}

/// Release a lock, step down as a leader, or withdraw a request
#[cfg_attr(feature = "openapi", utoipa::path(post, path = "/v1/release", request_body = Over, responses(
    (status = 204),
    (status = 404, body = Refusal, description = "the request does not exist, or has ended"),
)))]
pub(super) async fn release(
    State(state): State<HttpState>,
    Caller(permissions): Caller,
    request: Result<Json<Over>, JsonRejection>,
) -> Result<StatusCode, Refusal> {
    let Json(Over { session, request }) = request?;
    state
        .local_client
        .call(&permissions, Call::Release { session: key(&session)?, request })
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Change the value that a leader proclaims
#[cfg_attr(feature = "openapi", utoipa::path(post, path = "/v1/proclaim", request_body = Proclaimed, responses(
    (status = 204),
    (status = 404, body = Refusal, description = "the session is not the leader"),
)))]
pub(super) async fn proclaim(
    State(state): State<HttpState>,
    Caller(permissions): Caller,
    proclaimed: Result<Json<Proclaimed>, JsonRejection>,
) -> Result<StatusCode, Refusal> {
    let Json(Proclaimed { session, request, value }) = proclaimed?;
    let call = Call::Proclaim { session: key(&session)?, request, value };
    state.local_client.call(&permissions, call).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List holders and waiters, page by page: `next`, if not null, is the `after` of the next page
#[cfg_attr(feature = "openapi", utoipa::path(get, path = "/v1/locks", params(ListQuery), responses(
    (status = 200, body = Listed),
    (status = 403, body = Refusal),
)))]
pub(super) async fn list(
    State(state): State<HttpState>,
    Caller(permissions): Caller,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Result<Json<Listed>, Refusal> {
    let Query(ListQuery { prefix, name, after, most }) = query?;
    let (exact, prefix) = (name.is_some(), name.unwrap_or(prefix));
    let after = after.as_deref().map(cursor).transpose()?;
    match state.local_client.call(&permissions, Call::List { prefix, exact, after, most }).await? {
        CallResponse::Page(page) => Ok(Json(page.into())),
        _ => Err(Refusal::internal()),
    }
}

/// Show the leader of an election
#[cfg_attr(feature = "openapi", utoipa::path(get, path = "/v1/leader", params(NameQuery), responses(
    (status = 200, body = Request, description = "`why` is the value that the leader proclaims, and `token` is its term"),
    (status = 404, body = Refusal, description = "the election has no leader"),
)))]
pub(super) async fn leader(
    State(state): State<HttpState>,
    Caller(permissions): Caller,
    query: Result<Query<NameQuery>, QueryRejection>,
) -> Result<Json<Request>, Refusal> {
    let Query(NameQuery { name }) = query?;
    let leads = state.local_client.leader_of(&permissions, &name).await?;
    leads
        .map(|info| Json(info.into()))
        .ok_or_else(|| Refusal::unknown("the election has no leader"))
}

/// Check whether a token is the latest, for the resource that the lock guards
#[cfg_attr(feature = "openapi", utoipa::path(post, path = "/v1/check-token", request_body = Token, responses(
    (status = 200, body = TokenState),
    (status = 503, body = Refusal, description = "no-quorum: too few nodes are reachable to know"),
)))]
pub(super) async fn check_token(
    State(state): State<HttpState>,
    Caller(permissions): Caller,
    token: Result<Json<Token>, JsonRejection>,
) -> Result<Json<TokenState>, Refusal> {
    let Json(token) = token?;
    let call = Call::CheckToken { name: name(token.kind, &token.name)?, token: token.token };
    match state.local_client.call(&permissions, call).await? {
        CallResponse::Token(token_status) => {
            Ok(Json(TokenState { current: token_status.current, greatest: token_status.greatest }))
        }
        _ => Err(Refusal::internal()),
    }
}

/// Release a lock by force, whichever session holds it
#[cfg_attr(feature = "openapi", utoipa::path(post, path = "/v1/force-release", request_body = Expelled, responses(
    (status = 204),
    (status = 403, body = Refusal),
    (status = 404, body = Refusal, description = "free: no session holds it"),
)))]
pub(super) async fn force_release(
    State(state): State<HttpState>,
    Caller(permissions): Caller,
    request: Result<Json<Expelled>, JsonRejection>,
) -> Result<StatusCode, Refusal> {
    let Json(Expelled { name: text, kind, reason }) = request?;
    state
        .local_client
        .call(&permissions, Call::ForceRelease { name: name(kind, &text)?, reason })
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
