//! Changes of holders as server-sent events.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream, StreamExt};
use quorate_protocol::ServerMessage;

use super::model::{Changed, PrefixQuery};
use super::refusal::Refusal;
use super::{Caller, HttpState};

/// Watch changes of holders: one event `changed` for each change, and `watching` at the start
#[cfg_attr(feature = "openapi", utoipa::path(get, path = "/v1/watch", params(PrefixQuery), responses(
    (status = 200, content_type = "text/event-stream", body = Changed),
    (status = 403, body = Refusal),
    (status = 429, body = Refusal, description = "too-much: the client or the node has reached its limit of watches"),
)))]
pub(super) async fn watch(
    State(state): State<HttpState>,
    Caller(permissions): Caller,
    prefix: Result<Query<PrefixQuery>, QueryRejection>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refusal> {
    let Query(PrefixQuery { prefix }) = prefix?;
    let mut connection = state.local_client.watch(&permissions, prefix).await?;
    // A refused watch must be a response with a status, not a stream that stays empty.
    let before = connection.wait_until_watching().await?;
    let changed = |change| Event::default().event("changed").json_data(Changed::from(change)).ok();
    let began = Event::default().event("watching").data("{}");
    let first = [began].into_iter().chain(before.into_iter().filter_map(changed));
    let first = stream::iter(first.map(Ok).collect::<Vec<_>>());
    let events = stream::unfold(connection, async |mut connection| {
        loop {
            let event = match connection.messages.recv().await? {
                ServerMessage::Changed(change) => {
                    Event::default().event("changed").json_data(Changed::from(change)).ok()
                }
                ServerMessage::Leaving => Some(Event::default().event("leaving").data("{}")),
                _ => None,
            };
            if let Some(event) = event {
                return Some((Ok(event), connection));
            }
        }
    });
    Ok(Sse::new(first.chain(events)).keep_alive(KeepAlive::new().interval(Duration::from_secs(10))))
}
