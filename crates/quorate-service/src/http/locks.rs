//! Locks and elections over HTTP.

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Query, State};
use axum::http::StatusCode;
use quorate_protocol::{Answer, Call, Mode};

use super::model::{
    Expelled, Granted, Listed, Named, Over, Proclaimed, Request, Token, TokenState, Wanted, Which,
    cursor, key, name,
};
use super::refusal::Refusal;
use super::{Caller, House};
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
    State(house): State<House>,
    Caller(rights): Caller,
    wanted: Result<Json<Wanted>, JsonRejection>,
) -> Result<Json<Granted>, Refusal> {
    let Json(wanted) = wanted?;
    let (session, name) = (key(&wanted.session)?, name(wanted.kind, &wanted.name)?);
    // A number that scripts can tell from its neighbours.
    let request = wanted.request.unwrap_or_else(|| random_number() as u64 >> 11);
    let Wanted { wait_ms, why, token: inside, .. } = wanted;
    let mode = Mode::Exclusive;
    let call = Call::Acquire { session, request, name, mode, wait_ms, why, inside };
    let asked = crate::clock::now().0 / 1_000;
    match house.door.ask(&rights, call).await? {
        Answer::Granted { token, reliance } => {
            // The session may have been kept alive while it waited. Its clock and that of this node both drift.
            let waited = reliance.since.saturating_sub(asked);
            let drift = waited.saturating_mul(2 * u64::from(house.drift_ppm)) / 1_000_000;
            let reliable_ms = (waited.saturating_sub(drift) + reliance.micros) / 1_000;
            Ok(Json(Granted { token, request, reliable_ms }))
        }
        _ => Err(Refusal::confused()),
    }
}

/// Free a lock, step down as a leader, or take a request back
#[utoipa::path(post, path = "/v1/release", request_body = Over, responses(
    (status = 204),
    (status = 404, body = Refusal, description = "there is no such request, or not any more"),
))]
pub(super) async fn release(
    State(house): State<House>,
    Caller(rights): Caller,
    over: Result<Json<Over>, JsonRejection>,
) -> Result<StatusCode, Refusal> {
    let Json(Over { session, request }) = over?;
    house.door.ask(&rights, Call::Release { session: key(&session)?, request }).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Proclaim something else as a leader
#[utoipa::path(post, path = "/v1/proclaim", request_body = Proclaimed, responses(
    (status = 204),
    (status = 404, body = Refusal, description = "it is not the leader"),
))]
pub(super) async fn proclaim(
    State(house): State<House>,
    Caller(rights): Caller,
    proclaimed: Result<Json<Proclaimed>, JsonRejection>,
) -> Result<StatusCode, Refusal> {
    let Json(Proclaimed { session, request, value }) = proclaimed?;
    let call = Call::Proclaim { session: key(&session)?, request, value };
    house.door.ask(&rights, call).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Who has and who waits, page by page: `next`, if there is one, is the `after` of the next page
#[utoipa::path(get, path = "/v1/locks", params(Which), responses(
    (status = 200, body = Listed),
    (status = 403, body = Refusal),
))]
pub(super) async fn list(
    State(house): State<House>,
    Caller(rights): Caller,
    which: Result<Query<Which>, QueryRejection>,
) -> Result<Json<Listed>, Refusal> {
    let Query(Which { prefix, name, after, most }) = which?;
    let (exact, prefix) = (name.is_some(), name.unwrap_or(prefix));
    let after = after.as_deref().map(cursor).transpose()?;
    match house.door.ask(&rights, Call::List { prefix, exact, after, most }).await? {
        Answer::Page(page) => Ok(Json(page.into())),
        _ => Err(Refusal::confused()),
    }
}

/// Who leads
#[utoipa::path(get, path = "/v1/leader", params(Named), responses(
    (status = 200, body = Request, description = "`why` is what it proclaims, and `token` its term"),
    (status = 404, body = Refusal, description = "nobody does"),
))]
pub(super) async fn leader(
    State(house): State<House>,
    Caller(rights): Caller,
    named: Result<Query<Named>, QueryRejection>,
) -> Result<Json<Request>, Refusal> {
    let Query(Named { name }) = named?;
    let leads = house.door.leader_of(&rights, &name).await?;
    leads.map(|about| Json(about.into())).ok_or_else(|| Refusal::unknown("nobody leads"))
}

/// Whether a token is the last one: for whatever a lock guards
#[utoipa::path(post, path = "/v1/check-token", request_body = Token, responses(
    (status = 200, body = TokenState),
    (status = 503, body = Refusal, description = "too few nodes can be heard to know"),
))]
pub(super) async fn check_token(
    State(house): State<House>,
    Caller(rights): Caller,
    token: Result<Json<Token>, JsonRejection>,
) -> Result<Json<TokenState>, Refusal> {
    let Json(token) = token?;
    let call = Call::CheckToken { name: name(token.kind, &token.name)?, token: token.token };
    match house.door.ask(&rights, call).await? {
        Answer::Token(standing) => {
            Ok(Json(TokenState { current: standing.current, greatest: standing.greatest }))
        }
        _ => Err(Refusal::confused()),
    }
}

/// Take a lock away from whoever has it
#[utoipa::path(post, path = "/v1/force-release", request_body = Expelled, responses(
    (status = 204),
    (status = 403, body = Refusal),
    (status = 404, body = Refusal, description = "nobody has it"),
))]
pub(super) async fn force_release(
    State(house): State<House>,
    Caller(rights): Caller,
    expelled: Result<Json<Expelled>, JsonRejection>,
) -> Result<StatusCode, Refusal> {
    let Json(Expelled { name: text, kind, reason }) = expelled?;
    house.door.ask(&rights, Call::Expel { name: name(kind, &text)?, reason }).await?;
    Ok(StatusCode::NO_CONTENT)
}
