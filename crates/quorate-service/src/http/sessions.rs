//! Sessions over HTTP.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use quorate_protocol::{Answer, Call};

use super::model::{Alive, NewSession, Opened, Requests, key, shown};
use super::refusal::Refusal;
use super::{Caller, House};

/// Open a session, which ends if nothing is heard of it for its time to live
#[utoipa::path(post, path = "/v1/sessions", request_body = NewSession, responses(
    (status = 201, body = Opened),
    (status = "4XX", body = Refusal),
    (status = 503, body = Refusal, description = "the node is leaving"),
))]
pub(super) async fn open(
    State(house): State<House>,
    Caller(rights): Caller,
    wanted: Result<Json<NewSession>, JsonRejection>,
) -> Result<(StatusCode, Json<Opened>), Refusal> {
    let Json(NewSession { ttl_ms, who, place }) = wanted?;
    let who = if who.is_empty() { rights.name.clone() } else { who };
    match house.door.ask(&rights, Call::Open { ttl_ms, who, place }).await? {
        Answer::Opened { session, ttl_ms } => {
            Ok((StatusCode::CREATED, Json(Opened { session: shown(session), ttl_ms })))
        }
        _ => Err(Refusal::confused()),
    }
}

/// What a session has and wants
#[utoipa::path(get, path = "/v1/sessions/{session}", params(("session" = String, Path)), responses(
    (status = 200, body = Requests),
    (status = 404, body = Refusal, description = "the session is over"),
))]
pub(super) async fn look(
    State(house): State<House>,
    Caller(rights): Caller,
    Path(session): Path<String>,
) -> Result<Json<Requests>, Refusal> {
    match house.door.ask(&rights, Call::Session(key(&session)?)).await? {
        Answer::List(list) => {
            Ok(Json(Requests { requests: list.into_iter().map(Into::into).collect() }))
        }
        _ => Err(Refusal::confused()),
    }
}

/// Keep a session alive
#[utoipa::path(post, path = "/v1/sessions/{session}/keep-alive", params(("session" = String, Path)), responses(
    (status = 200, body = Alive),
    (status = 404, body = Refusal, description = "the session is over, and its locks are lost"),
))]
pub(super) async fn keep_alive(
    State(house): State<House>,
    Caller(rights): Caller,
    Path(session): Path<String>,
) -> Result<Json<Alive>, Refusal> {
    match house.door.ask(&rights, Call::KeepAlive(key(&session)?)).await? {
        Answer::Alive { reliance, held, waiting } => {
            let held = held.into_iter().map(Into::into).collect();
            Ok(Json(Alive { reliable_ms: reliance.micros / 1_000, held, waiting }))
        }
        _ => Err(Refusal::confused()),
    }
}

/// Close a session: all it has is free
#[utoipa::path(delete, path = "/v1/sessions/{session}", params(("session" = String, Path)), responses(
    (status = 204),
    (status = 404, body = Refusal, description = "the session was over"),
))]
pub(super) async fn close(
    State(house): State<House>,
    Caller(rights): Caller,
    Path(session): Path<String>,
) -> Result<StatusCode, Refusal> {
    house.door.ask(&rights, Call::Close(key(&session)?)).await?;
    Ok(StatusCode::NO_CONTENT)
}
