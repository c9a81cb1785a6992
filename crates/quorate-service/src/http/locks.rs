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

/// Take a lock, or become the leader of an election; the answer comes when it is granted
///
/// If the connection is closed before, the request is taken back.
#[utoipa::path(post, path = "/v1/acquire", request_body = Wanted, responses(
    (status = 200, body = Granted),
    (status = 404, body = Refusal, description = "no-session: the session is over"),
    (status = 409, body = Refusal, description = "busy or timed-out: somebody else has it"),
    (status = "4XX", body = Refusal),
    (status = 503, body = Refusal, description = "no-quorum or leaving: ask another node"),
))]
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
            let drift = waited.saturating_mul(2 * u64::from(state.drift_ppm)) / 1_000_000;
            let reliable_ms = (waited.saturating_sub(drift) + validity.micros) / 1_000;
            Ok(Json(Granted { token, request, reliable_ms }))
        }
        _ => Err(Refusal::internal()),
    }
}

/// Free a lock, step down as a leader, or take a request back
#[utoipa::path(post, path = "/v1/release", request_body = Over, responses(
    (status = 204),
    (status = 404, body = Refusal, description = "there is no such request, or not any more"),
))]
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

/// Proclaim something else as a leader
#[utoipa::path(post, path = "/v1/proclaim", request_body = Proclaimed, responses(
    (status = 204),
    (status = 404, body = Refusal, description = "it is not the leader"),
))]
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

/// Who has and who waits, page by page: `next`, if there is one, is the `after` of the next page
#[utoipa::path(get, path = "/v1/locks", params(ListQuery), responses(
    (status = 200, body = Listed),
    (status = 403, body = Refusal),
))]
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

/// Who leads
#[utoipa::path(get, path = "/v1/leader", params(NameQuery), responses(
    (status = 200, body = Request, description = "`why` is what it proclaims, and `token` its term"),
    (status = 404, body = Refusal, description = "nobody does"),
))]
pub(super) async fn leader(
    State(state): State<HttpState>,
    Caller(permissions): Caller,
    query: Result<Query<NameQuery>, QueryRejection>,
) -> Result<Json<Request>, Refusal> {
    let Query(NameQuery { name }) = query?;
    let leads = state.local_client.leader_of(&permissions, &name).await?;
    leads.map(|info| Json(info.into())).ok_or_else(|| Refusal::unknown("nobody leads"))
}

/// Whether a token is the last one: for whatever a lock guards
#[utoipa::path(post, path = "/v1/check-token", request_body = Token, responses(
    (status = 200, body = TokenState),
    (status = 503, body = Refusal, description = "too few nodes can be heard to know"),
))]
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

/// Take a lock away from whoever has it
#[utoipa::path(post, path = "/v1/force-release", request_body = Expelled, responses(
    (status = 204),
    (status = 403, body = Refusal),
    (status = 404, body = Refusal, description = "nobody has it"),
))]
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
