//! Sessions over HTTP.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use quorate_protocol::{Call, CallResponse};

use super::model::{Alive, NewSession, Opened, Requests, key, key_text};
use super::refusal::Refusal;
use super::{Caller, HttpState};

/// Open a session, which ends if its client is silent for the time-to-live
#[cfg_attr(feature = "openapi", utoipa::path(post, path = "/v1/sessions", request_body = NewSession, responses(
    (status = 201, body = Opened),
    (status = "4XX", body = Refusal),
    (status = 503, body = Refusal, description = "leaving: the node is shutting down; use another node"),
)))]
pub(super) async fn open(
    State(state): State<HttpState>,
    Caller(permissions): Caller,
    wanted: Result<Json<NewSession>, JsonRejection>,
) -> Result<(StatusCode, Json<Opened>), Refusal> {
    let Json(NewSession { ttl_ms, who, place }) = wanted?;
    let who = if who.is_empty() { permissions.name.clone() } else { who };
    match state
        .local_client
        .call(&permissions, Call::Open { ttl_ms, client_name: who, client_location: place })
        .await?
    {
        CallResponse::Opened { session, ttl_ms } => {
            Ok((StatusCode::CREATED, Json(Opened { session: key_text(session), ttl_ms })))
        }
        _ => Err(Refusal::internal()),
    }
}

/// Show the requests of a session
#[cfg_attr(feature = "openapi", utoipa::path(get, path = "/v1/sessions/{session}", operation_id = "look", params(("session" = String, Path)), responses(
    (status = 200, body = Requests),
    (status = 404, body = Refusal, description = "the session is over"),
)))]
pub(super) async fn show(
    State(state): State<HttpState>,
    Caller(permissions): Caller,
    Path(session): Path<String>,
) -> Result<Json<Requests>, Refusal> {
    match state.local_client.call(&permissions, Call::Session(key(&session)?)).await? {
        CallResponse::List(list) => {
            Ok(Json(Requests { requests: list.into_iter().map(Into::into).collect() }))
        }
        _ => Err(Refusal::internal()),
    }
}

/// Keep a session alive
#[cfg_attr(feature = "openapi", utoipa::path(post, path = "/v1/sessions/{session}/keep-alive", params(("session" = String, Path)), responses(
    (status = 200, body = Alive),
    (status = 404, body = Refusal, description = "the session is over, and its locks are lost"),
)))]
pub(super) async fn keep_alive(
    State(state): State<HttpState>,
    Caller(permissions): Caller,
    Path(session): Path<String>,
) -> Result<Json<Alive>, Refusal> {
    match state.local_client.call(&permissions, Call::KeepAlive(key(&session)?)).await? {
        CallResponse::Alive { validity, held, waiting } => {
            let held = held.into_iter().map(Into::into).collect();
            Ok(Json(Alive { reliable_ms: validity.micros / 1_000, held, waiting }))
        }
        _ => Err(Refusal::internal()),
    }
}

/// Close a session and release everything that it holds
#[cfg_attr(feature = "openapi", utoipa::path(delete, path = "/v1/sessions/{session}", params(("session" = String, Path)), responses(
    (status = 204),
    (status = 404, body = Refusal, description = "the session is already over"),
)))]
pub(super) async fn close(
    State(state): State<HttpState>,
    Caller(permissions): Caller,
    Path(session): Path<String>,
) -> Result<StatusCode, Refusal> {
    state.local_client.call(&permissions, Call::Close(key(&session)?)).await?;
    Ok(StatusCode::NO_CONTENT)
}
