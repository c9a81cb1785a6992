//! A request for a lock or an election: creates its key, waits until no key is older, watches the key, and deletes it.
//!
//! This is etcd's client-side recipe and not its `Lock` call. That call deletes the key of a client to which it loses the
//! connection, even if the client has acquired the lock through another member by then. It also reports no queue position.

use std::sync::Arc;
use std::time::Duration;

use quorate_protocol::etcd::etcdserverpb::{RangeRequest, TxnRequest};
use quorate_protocol::etcd::mvccpb::KeyValue;
use quorate_protocol::{CallResponse, Failure, Name};
use tokio::sync::{Mutex, MutexGuard, mpsc, oneshot};

use super::lease::{HeldKey, Lease};
use super::members::Members;
use super::{keys, store};
use crate::clock::Moment;
use crate::error::Error;
use crate::lock_status::Loss;

/// Channel for the answer to a call.
pub(super) type Reply = oneshot::Sender<Result<CallResponse, Error>>;

/// Timeout of updates to a key.
const UPDATE_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout for the withdrawal of a request.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(2);

/// A command to a request that already exists.
pub(super) enum RequestCommand {
    Release(Reply),
    Proclaim(String, Reply),
}

/// A request and its context.
pub(super) struct Request {
    pub(super) members: Arc<Members>,
    pub(super) lease: Arc<Lease>,
    pub(super) hold: Arc<Mutex<HeldKey>>,
    pub(super) number: u64,
    pub(super) name: Name,
    pub(super) wait: Option<Duration>,
    pub(super) value: String,
}

/// Position of the key after it was created.
enum QueuePosition {
    /// The key, created at this revision, is the oldest.
    First(i64),
    /// The key, created at this revision, has older ones before it.
    Behind(i64),
}

impl Request {
    /// Acquires the lock, holds it, and releases it.
    pub(super) async fn run(
        self,
        mut reply: Reply,
        mut commands: mpsc::UnboundedReceiver<RequestCommand>,
    ) {
        let granted = async {
            let created = self.acquire(&mut reply).await?;
            let validity = self.lease.validity(&self.members, UPDATE_TIMEOUT).await;
            match validity {
                Ok(validity) => Ok((created, validity)),
                Err(error) => {
                    let _ = self.release(created).await;
                    Err(error)
                }
            }
        };
        let (created, validity) = match granted.await {
            Ok(granted) => granted,
            Err(error) => return drop(reply.send(Err(error))),
        };
        let answer = CallResponse::Granted { token: created as u64, validity };
        if reply.send(Ok(answer)).is_err() {
            // The caller has given up.
            return drop(self.release(created).await);
        }
        self.hold_until_released(created, &mut commands).await;
    }

    fn key(&self) -> Vec<u8> {
        keys::request_key(self.name.text(), self.lease.id)
    }

    /// Waits until the lock is acquired; returns the revision at which its key was created.
    async fn acquire(&self, reply: &mut Reply) -> Result<i64, Error> {
        let until = self.wait.map(|wait| Moment::now().later(wait));
        let mut hold = match self.wait {
            // If this fails, another request of the same session is waiting for the key.
            Some(Duration::ZERO) => self.hold.try_lock().map_err(|_| Failure::Busy)?,
            _ => with_deadline(until, reply, async { Ok(self.hold.lock().await) }).await?,
        };
        if hold.times == 0 {
            hold.created = self.wait_for_turn(until, reply).await?;
        }
        hold.times += 1;
        Ok(hold.created)
    }

    async fn wait_for_turn(&self, until: Option<Moment>, reply: &mut Reply) -> Result<i64, Error> {
        loop {
            let created = match self.enter(until, reply).await? {
                QueuePosition::First(created) => return Ok(created),
                QueuePosition::Behind(created) => created,
            };
            match with_deadline(until, reply, self.become_first(created)).await {
                Ok(true) => return Ok(created),
                // The key was deleted by another client: creates it again, if the lease still exists.
                Ok(false) => {}
                Err(error) => {
                    // If etcd is unreachable, the key is deleted with the lease.
                    let _ = self.delete_key(created, CANCEL_TIMEOUT).await;
                    return Err(error);
                }
            }
        }
    }

    /// Creates the key. This is not cancelled at the deadline: it would be unknown whether the key exists.
    async fn enter(&self, until: Option<Moment>, reply: &Reply) -> Result<QueuePosition, Error> {
        let (key, name) = (self.key(), self.name.text());
        let only_if_free = self.wait == Some(Duration::ZERO);
        let free = match only_if_free {
            true => keys::created(&keys::prefix(name), keys::range_end(&keys::prefix(name)), 0),
            false => keys::created(&key, Vec::new(), 0),
        };
        let txn = TxnRequest {
            compare: vec![free],
            success: vec![
                keys::put(&key, &self.value, self.lease.id),
                keys::read(keys::exact_key(&key)),
                keys::read(keys::oldest(name)),
            ],
            failure: vec![keys::read(keys::exact_key(&key)), keys::read(keys::oldest(name))],
        };
        let answer = loop {
            match store::txn(&self.members, &txn, CANCEL_TIMEOUT).await {
                Err(Error::Unreachable(why)) => {
                    let late = until.is_some_and(|until| until.from_now().is_zero());
                    if late || reply.is_closed() {
                        return Err(Error::Unreachable(why));
                    }
                }
                answer => break answer?,
            }
        };
        let mut answers = answer.responses.into_iter().rev().map(keys::first);
        let (oldest, own) = (answers.next().flatten(), answers.next().flatten());
        match (own, oldest) {
            (Some(own), Some(oldest)) if own.key == oldest.key => {
                Ok(QueuePosition::First(own.create_revision))
            }
            (Some(own), Some(_)) if !only_if_free => Ok(QueuePosition::Behind(own.create_revision)),
            (_, Some(_)) => Err(Failure::Busy.into()),
            (_, None) => Err(Error::UnexpectedAnswer),
        }
    }

    /// Waits until no key is older; returns false if the request's own key was deleted.
    async fn become_first(&self, created: i64) -> Result<bool, Error> {
        let older = keys::older(self.name.text(), created);
        loop {
            let older = self.read_keys(&older).await?;
            let Some(before) = older.first() else { break };
            self.lease
                .state
                .set_position(self.number, u32::try_from(older.len()).unwrap_or(u32::MAX));
            store::wait_deleted(&self.members, &before.key, before.create_revision).await;
        }
        let own = self.read_keys(&keys::exact_key(&self.key())).await?;
        Ok(own.first().is_some_and(|own| own.create_revision == created))
    }

    /// Reads the keys of a range. Retries forever while no member is reachable.
    async fn read_keys(&self, range: &RangeRequest) -> Result<Vec<KeyValue>, Error> {
        loop {
            match store::range(&self.members, range, UPDATE_TIMEOUT).await {
                Err(Error::Unreachable(_)) => {}
                response => return response.map(|response| response.kvs),
            }
        }
    }

    /// Holds the lock until it is released or the session ends.
    async fn hold_until_released(
        &self,
        created: i64,
        commands: &mut mpsc::UnboundedReceiver<RequestCommand>,
    ) {
        let key = self.key();
        let gone = store::wait_deleted(&self.members, &key, created);
        tokio::pin!(gone);
        let mut lost = false;
        loop {
            let command = tokio::select! {
                () = &mut gone, if !lost => {
                    lost = true;
                    self.lease.state.lose(self.number, Loss::Expelled);
                    self.reset_hold(created).await;
                    continue;
                }
                command = commands.recv() => command,
            };
            match command {
                Some(RequestCommand::Release(reply)) => {
                    let released = self.release(created).await;
                    let mut unreachable = matches!(released, Err(Error::Unreachable(_)));
                    drop(reply.send(released.map(|()| CallResponse::Done)));
                    // The session lives on and would keep the key: retry.
                    while unreachable && !commands.is_closed() {
                        unreachable =
                            matches!(self.release(created).await, Err(Error::Unreachable(_)));
                    }
                    return;
                }
                Some(RequestCommand::Proclaim(value, reply)) => {
                    drop(reply.send(self.proclaim(created, &value).await));
                }
                // The session has ended, and its keys with it.
                None => return,
            }
        }
    }

    /// The session's key for this name, if it is still the key created at revision `created`. Returns `None` after
    /// [`UPDATE_TIMEOUT`]: a request of the session that locks it for that long is waiting for another key.
    async fn held(&self, created: i64) -> Option<MutexGuard<'_, HeldKey>> {
        let hold = tokio::time::timeout(UPDATE_TIMEOUT, self.hold.lock()).await.ok()?;
        Some(hold).filter(|hold| hold.created == created && hold.times > 0)
    }

    /// Forgets the deleted key, so that the next request of the session creates a new one.
    async fn reset_hold(&self, created: i64) {
        if let Some(mut hold) = self.held(created).await {
            *hold = HeldKey::default();
        }
    }

    async fn release(&self, created: i64) -> Result<(), Error> {
        let Some(mut hold) = self.held(created).await else { return Ok(()) };
        if hold.times == 1 {
            self.delete_key(created, UPDATE_TIMEOUT).await?;
        }
        hold.times -= 1;
        Ok(())
    }

    /// Deletes the request's own key, but not a key that was created later under the same name.
    async fn delete_key(&self, created: i64, timeout: Duration) -> Result<(), Error> {
        let key = self.key();
        let txn = TxnRequest {
            compare: vec![keys::created(&key, Vec::new(), created)],
            success: vec![keys::delete(&key)],
            failure: Vec::new(),
        };
        store::txn(&self.members, &txn, timeout).await.map(drop)
    }

    async fn proclaim(&self, created: i64, value: &str) -> Result<CallResponse, Error> {
        let key = self.key();
        let txn = TxnRequest {
            compare: vec![keys::created(&key, Vec::new(), created)],
            success: vec![keys::put(&key, value, self.lease.id)],
            failure: Vec::new(),
        };
        match store::txn(&self.members, &txn, UPDATE_TIMEOUT).await?.succeeded {
            true => Ok(CallResponse::Done),
            false => Err(Failure::NoRequest.into()),
        }
    }
}

/// Runs `doing` until the deadline passes or the caller gives up.
async fn with_deadline<T>(
    until: Option<Moment>,
    reply: &mut Reply,
    doing: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let late = async {
        match until {
            Some(until) => until.reached().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        done = doing => done,
        () = late => Err(Failure::TimedOut.into()),
        () = reply.closed() => Err(Error::Closed),
    }
}
