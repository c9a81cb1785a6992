//! The subset of etcd's watch API that recipes for locks and elections use: one key, or all keys of a name.
//!
//! A watched key that is no longer the holder's is reported as deleted. A client that waits behind the key then checks
//! again, and proceeds only if it has been granted the lock (see [`super::keys`]).

use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use quorate_core::SortedMap;
use quorate_protocol::etcd::etcdserverpb::watch_request::RequestUnion;
use quorate_protocol::etcd::etcdserverpb::{WatchCreateRequest, WatchRequest, WatchResponse};
use quorate_protocol::etcd::mvccpb::event::EventType;
use quorate_protocol::etcd::mvccpb::{Event, KeyValue};
use quorate_protocol::{Failure, RequestInfo, RequestState, ServerMessage};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tonic::{Request, Response, Status};

use super::keys::{Key, kv, name_of_range};
use super::methods::{Messages, ResponseStream};
use super::{Caller, Etcd, names, status};
use crate::local_client::LocalConnection;

/// Maximum number of watches of one stream.
const WATCHES_MOST: usize = 1_024;

/// Maximum number of unread responses of one stream.
const UNREAD_MOST: usize = 256;

/// Delay after which a client that watches a placeholder key checks again.
const UNKNOWN_KEY_DELAY: Duration = Duration::from_millis(20);

/// Reason for refusing a watch.
const NOT_WATCHED: &str = "only keys of locks and elections can be watched, at most 1,024 per stream, each with its own watch_id";

/// Channel for the responses of a stream.
type Out = mpsc::Sender<Result<WatchResponse, Status>>;

/// The watched keys: all keys of a name, or one key.
struct Watched {
    name: String,
    key: Option<Vec<u8>>,
    /// Lease of the watched key; 0 for a placeholder key or for all keys, -1 for a key without a lease.
    lease: i64,
}

impl Watched {
    fn read(asked: &WatchCreateRequest) -> Option<Self> {
        if let Some(name) = name_of_range(&asked.key, &asked.range_end) {
            return Some(Self { name, key: None, lease: 0 });
        }
        if !asked.range_end.is_empty() {
            return None;
        }
        let read = Key::read(&asked.key).ok();
        // A request of a session without a lease has a key without a lease.
        let name = match &read {
            Some(key) => key.name.clone(),
            None => std::str::from_utf8(&asked.key).ok()?.rsplit_once('/')?.0.to_owned(),
        };
        let lease = read.map_or(-1, |key| key.lease);
        Some(Self { name, key: Some(asked.key.clone()), lease })
    }
}

impl Etcd {
    pub(super) async fn watch(
        &self,
        request: Request<Messages<WatchRequest>>,
    ) -> Result<Response<ResponseStream<WatchResponse>>, Status> {
        let caller = self.admit(request.metadata(), request.extensions()).await?;
        let (out, events) = mpsc::channel(UNREAD_MOST);
        let requests = request.into_inner();
        let listener = tokio::spawn(self.clone().listen(caller, requests, out)).abort_handle();
        let until = Watching { events, _listener: AbortOnDrop(listener) };
        let events = stream::unfold(until, async |mut watching| {
            watching.events.recv().await.map(|event| (event, watching))
        });
        Ok(Response::new(events.boxed()))
    }
}

/// A stream of responses, with the task that handles the requests of the client.
struct Watching {
    events: mpsc::Receiver<Result<WatchResponse, Status>>,
    _listener: AbortOnDrop,
}

/// A task that is aborted when this is dropped.
struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Etcd {
    /// Handles the requests of a watch stream.
    async fn listen(self, caller: Caller, mut requests: Messages<WatchRequest>, out: Out) {
        let (mut watches, mut numbers) = (SortedMap::new(), 0);
        while let Ok(Some(request)) = requests.next().await {
            if let Some(pause) = caller.permissions.throttle_delay() {
                tokio::time::sleep(pause).await;
            }
            match request.request_union {
                Some(RequestUnion::CreateRequest(asked)) => {
                    numbers += 1;
                    let id = if asked.watch_id > 0 { asked.watch_id } else { numbers };
                    watches.retain(|_, watch: &mut AbortOnDrop| !watch.0.is_finished());
                    let room = watches.len() < WATCHES_MOST && !watches.contains_key(&id);
                    let created = WatchResponse { watch_id: id, created: true, ..self.event() };
                    if out.send(Ok(created)).await.is_err() {
                        return;
                    }
                    match Watched::read(&asked).filter(|_| room) {
                        Some(watched) => {
                            let (etcd, caller, out) = (self.clone(), caller.clone(), out.clone());
                            let watch =
                                async move { etcd.watch_one(&caller, id, watched, out).await };
                            watches.insert(id, AbortOnDrop(tokio::spawn(watch).abort_handle()));
                        }
                        None => self.cancel(id, NOT_WATCHED, &out).await,
                    }
                }
                Some(RequestUnion::CancelRequest(asked)) => {
                    if watches.remove(&asked.watch_id).is_some() {
                        self.cancel(asked.watch_id, "", &out).await;
                    }
                }
                Some(RequestUnion::ProgressRequest(_)) | None => {}
            }
        }
        // A client that sends no further requests still receives events.
        out.closed().await;
    }

    fn event(&self) -> WatchResponse {
        WatchResponse { header: self.header(1), ..WatchResponse::default() }
    }

    async fn cancel(&self, id: i64, why: &str, out: &Out) {
        let cancel_reason = why.to_owned();
        let over = WatchResponse { watch_id: id, canceled: true, cancel_reason, ..self.event() };
        let _ = out.send(Ok(over)).await;
    }

    async fn watch_one(&self, caller: &Caller, id: i64, watched: Watched, out: Out) {
        if let Err(refused) = self.tell_changes(caller, id, &watched, &out).await {
            self.cancel(id, refused.message(), &out).await;
        }
    }

    async fn tell_changes(
        &self,
        caller: &Caller,
        id: i64,
        watched: &Watched,
        out: &Out,
    ) -> Result<(), Status> {
        let watch = self.local_client.watch(&caller.permissions, watched.name.clone()).await;
        let mut connection = watch.map_err(|failure| status::of(failure, "mutex"))?;
        connection.wait_until_watching().await.map_err(|failure| status::of(failure, "mutex"))?;
        let mut last: Option<RequestInfo> = None;
        if watched.lease == 0 && watched.key.is_some() {
            // The holder behind a placeholder key becomes known soon.
            let _ = tokio::time::timeout(UNKNOWN_KEY_DELAY, next_change(&mut connection, watched))
                .await;
        }
        loop {
            let all = self.requests(caller, &watched.name).await?;
            let holder = all.iter().find(|info| matches!(info.state, RequestState::Holding { .. }));
            let events = match &watched.key {
                Some(key) => {
                    // A lease that has released a lock and requests it again has the same key. A client that watches the
                    // key waits for the holder, so only the holder's key counts.
                    changes(holder.filter(|info| names::key_of(info) == *key), key, &mut last)
                }
                None => leaders(holder, &mut last),
            };
            if !events.is_empty() {
                let gone = events.iter().any(|event| event.r#type() == EventType::Delete);
                let response = WatchResponse { watch_id: id, events, ..self.event() };
                if out.send(Ok(response)).await.is_err() {
                    return Ok(());
                }
                if gone && watched.key.is_some() {
                    return Ok(());
                }
            }
            next_change(&mut connection, watched).await?;
        }
    }
}

/// Waits until the holder of the name has changed, or its text.
async fn next_change(connection: &mut LocalConnection, watched: &Watched) -> Result<(), Status> {
    loop {
        match connection.messages.recv().await {
            Some(ServerMessage::Changed(change)) if change.name.text() == watched.name => {
                return Ok(());
            }
            Some(ServerMessage::Leaving) | None => {
                return Err(status::of(Failure::Leaving, "mutex"));
            }
            Some(_) => {}
        }
    }
}

fn put(info: &RequestInfo) -> Event {
    Event { r#type: EventType::Put.into(), kv: Some(kv(info)), prev_kv: None }
}

fn deleted(key: &[u8]) -> Event {
    let kv = KeyValue { key: key.to_vec(), mod_revision: 1, ..KeyValue::default() };
    Event { r#type: EventType::Delete.into(), kv: Some(kv), prev_kv: None }
}

/// Returns the events of a holder's key: it was deleted, belongs to a later holding, or has another value.
fn changes(holder: Option<&RequestInfo>, key: &[u8], last: &mut Option<RequestInfo>) -> Vec<Event> {
    let before = std::mem::replace(last, holder.cloned());
    match (holder, before) {
        (None, _) => vec![deleted(key)],
        (Some(now), Some(before)) if now.revision != before.revision => vec![deleted(key)],
        (Some(now), Some(before)) if now.why != before.why => vec![put(now)],
        _ => Vec::new(),
    }
}

/// Returns the events of an election: a new leader, a new value, or no leader any more.
fn leaders(holder: Option<&RequestInfo>, last: &mut Option<RequestInfo>) -> Vec<Event> {
    let before = std::mem::replace(last, holder.cloned());
    let same = |one: &RequestInfo, two: &RequestInfo| one.state == two.state && one.why == two.why;
    match (holder, before) {
        (Some(now), Some(before)) if same(now, &before) => Vec::new(),
        (Some(now), _) => vec![put(now)],
        (None, Some(before)) => vec![deleted(&names::key_of(&before))],
        (None, None) => Vec::new(),
    }
}
