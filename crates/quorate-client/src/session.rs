//! Sessions: all locks of a session live as long as the session is kept alive.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use quorate_protocol::{
    BadName, Call, CallResponse, Failure, HeldLock, Kind, Name, SessionKey, Validity,
};
use tokio::sync::{Notify, watch};

use crate::client::{Client, Job};
use crate::clock::Moment;
use crate::direct::{DirectSession, Opened};
use crate::error::Error;
use crate::guard::{LockRequest, Loss};
use crate::shares::Shares;

/// Options of a session.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// Time-to-live: the session expires and its locks are released if the cluster receives nothing from it for this long.
    pub ttl: Duration,
    /// Name of the client, shown in lists.
    pub client_name: String,
    /// Location of the client, for example host and process, shown in lists.
    pub client_location: String,
    /// Maximum time to reach a node when the session is opened.
    pub connect_timeout: Duration,
    /// Lets a node collect the votes even if the client could collect them itself. A relayed session needs one connection,
    /// which all relayed sessions of a client share. If its node stops, another node takes over.
    pub relayed: bool,
}

impl Default for SessionOptions {
    fn default() -> Self {
        let client_name = std::env::var("USER").unwrap_or_else(|_| "somebody".to_owned());
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname");
        let host = host.map_or_else(|_| "somewhere".to_owned(), |host| host.trim().to_owned());
        let client_location = format!("{host}, process {}", std::process::id());
        let (ttl, connect_timeout) = (Duration::from_secs(10), Duration::from_secs(5));
        Self { ttl, client_name, client_location, connect_timeout, relayed: false }
    }
}

/// State of a session, shared by its connection and its guards.
#[derive(Debug)]
pub(crate) struct SessionState {
    /// End of the validity of everything that the session holds.
    deadline: AtomicU64,
    /// Notified when the deadline changes and when the session ends.
    changed: Notify,
    ended: AtomicBool,
    requests: Mutex<BTreeMap<u64, watch::Sender<LockStatus>>>,
}

/// Status of a request for a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LockStatus {
    pub(crate) lost: Option<Loss>,
    /// The token, once the request holds the lock.
    pub(crate) token: Option<u64>,
    pub(crate) position: Option<u32>,
    /// End of this lock's own validity; `None` if the lock is valid as long as the session.
    pub(crate) until: Option<Moment>,
}

impl SessionState {
    fn new() -> Self {
        Self {
            deadline: AtomicU64::new(0),
            changed: Notify::new(),
            ended: AtomicBool::new(false),
            requests: Mutex::default(),
        }
    }

    fn requests(&self) -> MutexGuard<'_, BTreeMap<u64, watch::Sender<LockStatus>>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn deadline(&self) -> Moment {
        Moment(self.deadline.load(Ordering::Acquire))
    }

    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Waits until the next keep-alive is due, well before the validity ends. Both limits count: the session's ttl and the
    /// leases that nodes grant each other. The latter apply from when a lock is granted, which may be soon, so that a
    /// change of the deadline recomputes the time.
    async fn wait_until_keep_alive_due(&self, ttl: Duration) {
        let mut next = None::<Moment>;
        loop {
            let changed = self.changed.notified();
            let pause =
                (ttl / 4).min(self.deadline().from_now() / 6).max(Duration::from_millis(10));
            let then = Moment(Moment::now().0 + pause.as_micros() as u64);
            let due = next.map_or(then, |next| next.min(then));
            next = Some(due);
            tokio::select! {
                () = due.reached() => return,
                () = changed => if self.has_ended() {
                    return;
                },
            }
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Sets the validity of the session. It is counted from when the keep-alive was sent, so that a slow answer gives less
    /// validity than a later one. A validity that ends before the known deadline is applied too.
    pub(crate) fn set_validity(&self, validity: Validity) {
        // Before the first answer to a keep-alive there is no deadline that could have passed: a lock may be granted earlier.
        let known = Some(self.deadline()).filter(|deadline| deadline.0 > 0);
        if known.is_some_and(|deadline| deadline <= Moment::now()) {
            // Another session may have held a lock since the deadline passed: the lock does not become valid again.
            self.retain_held(&[]);
        }
        // Readers load the deadline first: a reader that sees the new deadline also sees the losses above.
        self.set_deadline(Moment(validity.since.saturating_add(validity.micros)));
        self.changed.notify_waiters();
    }

    pub(crate) fn set_deadline(&self, deadline: Moment) {
        self.deadline.store(deadline.0, Ordering::Release);
    }

    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::Release);
        for request in self.requests().values() {
            request.send_modify(|status| status.lost = status.lost.or(Some(Loss::SessionOver)));
        }
        self.changed.notify_waiters();
    }

    pub(crate) fn lose(&self, request: u64, loss: Loss) {
        if let Some(request) = self.requests().get(&request) {
            request.send_modify(|status| status.lost = status.lost.or(Some(loss)));
        }
    }

    /// This request holds the lock, until `until` if the lock has a validity of its own.
    pub(crate) fn grant(&self, request: u64, token: u64, until: Option<Moment>) {
        if let Some(request) = self.requests().get(&request) {
            request.send_modify(|status| (status.token, status.until) = (Some(token), until));
        }
    }

    /// This request holds the lock. If the validity of the lock is known, [`Self::grant`] was called before. Otherwise the
    /// lock is valid as long as the session.
    pub(crate) fn set_token(&self, request: u64, token: u64) {
        if let Some(request) = self.requests().get(&request) {
            request.send_modify(|status| status.token = status.token.or(Some(token)));
        }
    }

    /// Extends the validity of a lock; returns whether the lock was still valid. The clock is read while guards cannot read
    /// the status, so that a guard that was seen invalid never becomes valid again.
    pub(crate) fn extend(&self, request: u64, until: Moment) -> bool {
        let requests = self.requests();
        let held = |request: &&watch::Sender<LockStatus>| request.borrow().token.is_some();
        let Some(request) = requests.get(&request).filter(held) else { return true };
        let mut was_valid = true;
        request.send_modify(|status| {
            was_valid = status.until.is_some_and(|known| Moment::now() < known);
            match was_valid {
                true => status.until = status.until.max(Some(until)),
                false => status.lost = status.lost.or(Some(Loss::NoQuorum)),
            }
        });
        was_valid
    }

    /// Whether this request holds its lock and the session's deadline has not passed.
    pub(crate) fn is_valid(&self, request: u64) -> bool {
        let status = self.requests().get(&request).map(|request| *request.borrow());
        let held = status.is_some_and(|status| status.token.is_some() && status.lost.is_none());
        held && Moment::now() < self.deadline()
    }

    /// Every lock that the node does not list as held is lost, even if no notice of the loss has arrived. The token of a
    /// lock that remains held may grow, if a node died just after it granted the lock.
    pub(crate) fn retain_held(&self, held: &[HeldLock]) {
        for (number, request) in self.requests().iter() {
            let listed = held.iter().find(|it| it.request == *number).map(|it| it.token);
            request.send_if_modified(|status| {
                let Some(token) = status.token.filter(|_| status.lost.is_none()) else {
                    return false;
                };
                match listed.filter(|listed| *listed >= token) {
                    Some(listed) => status.token = Some(listed),
                    None => status.lost = Some(Loss::NoQuorum),
                }
                listed != Some(token)
            });
        }
    }

    /// Applies the answer to a keep-alive: the held locks and their validity.
    pub(crate) fn apply_keep_alive(&self, held: &[HeldLock], validity: Validity) {
        let until = Moment(validity.since.saturating_add(validity.micros));
        self.retain_held(held);
        for held in held {
            self.extend(held.request, until);
        }
        self.set_validity(validity);
    }

    pub(crate) fn set_position(&self, request: u64, position: u32) {
        if let Some(request) = self.requests().get(&request) {
            request.send_modify(|status| status.position = Some(position));
        }
    }

    pub(crate) fn track(&self, request: u64) -> watch::Receiver<LockStatus> {
        let (sender, receiver) = watch::channel(LockStatus::default());
        self.requests().insert(request, sender);
        receiver
    }

    pub(crate) fn untrack(&self, request: u64) {
        self.requests().remove(&request);
    }
}

/// A session. Dropping it ends the session and releases its locks.
#[derive(Debug)]
pub struct Session {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) client: Client,
    pub(crate) state: Arc<SessionState>,
    pub(crate) ttl: Duration,
    pub(crate) route: Route,
    pub(crate) shares: Shares,
    requests: AtomicU64,
}

/// The process that collects the votes of a session.
#[derive(Debug)]
pub(crate) enum Route {
    /// The client collects them itself.
    Direct(DirectSession),
    /// A node collects them, or the server of another backend.
    Relayed(SessionKey),
}

impl Session {
    pub(crate) async fn open(client: Client, options: SessionOptions) -> Result<Self, Error> {
        let state = Arc::new(SessionState::new());
        if let Some(cluster) = client.cluster.clone().filter(|_| !options.relayed) {
            match crate::direct::open(&cluster, &options, &state).await? {
                Opened::Direct(session) => {
                    let ttl = session.ttl;
                    return Ok(Self::new(client, state, ttl, Route::Direct(session)));
                }
                Opened::Relayed => {}
            }
        }
        let ttl = client.backend_kind().ttl(options.ttl);
        let ttl_ms = u32::try_from(ttl.as_millis()).unwrap_or(u32::MAX);
        let open = Call::Open {
            ttl_ms,
            client_name: options.client_name,
            client_location: options.client_location,
        };
        let CallResponse::Opened { session: key, ttl_ms } =
            client.call(open, Some(options.connect_timeout)).await?
        else {
            return Err(Error::UnexpectedAnswer);
        };
        let ttl = Duration::from_millis(ttl_ms.into());
        client.post(Job::Subscribe(key, Arc::clone(&state)))?;
        let session = Self::new(client, state, ttl, Route::Relayed(key));
        tokio::spawn(keep_alive(Arc::downgrade(&session.inner), key, ttl));
        Ok(session)
    }

    fn new(client: Client, state: Arc<SessionState>, ttl: Duration, route: Route) -> Self {
        let requests = AtomicU64::new(0);
        let shares = Shares::default();
        Self { inner: Arc::new(Inner { client, state, ttl, route, shares, requests }) }
    }

    /// Prepares a request for a lock.
    pub fn lock(&self, name: &str) -> Result<LockRequest, BadName> {
        Ok(LockRequest::new(Arc::clone(&self.inner), Name::new(Kind::Lock, name)?))
    }

    /// Prepares a candidacy in an election.
    pub fn election(&self, name: &str) -> Result<LockRequest, BadName> {
        Ok(LockRequest::new(Arc::clone(&self.inner), Name::new(Kind::Election, name)?))
    }

    /// End of the validity of everything that the session holds. Each successful keep-alive extends it.
    pub fn deadline(&self) -> Moment {
        self.inner.state.deadline()
    }

    /// Time-to-live of the session: the requested one, within the limits of the cluster.
    pub fn ttl(&self) -> Duration {
        self.inner.ttl
    }

    /// Whether the client is connected to the voters itself, so that the session survives the failure of any single node.
    /// Otherwise one node collects the votes, because only that node was reachable or [`SessionOptions::relayed`] was set.
    pub fn is_direct(&self) -> bool {
        matches!(self.inner.route, Route::Direct(_))
    }

    /// Ends the session and releases its locks.
    pub async fn close(self) -> Result<(), Error> {
        match &self.inner.route {
            Route::Direct(session) => {
                session.close().await;
                Ok(())
            }
            Route::Relayed(key) => {
                let client = &self.inner.client;
                let done = client.call(Call::Close(*key), Some(Duration::from_secs(2))).await;
                client.post(Job::Unsubscribe(*key))?;
                done.map(drop)
            }
        }
    }
}

impl Inner {
    pub(crate) fn next_request(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed)
    }

    /// Removes one guard of a relayed session. The last guard releases the lock.
    pub(crate) fn leave(&self, name: &Name, request: u64) {
        if !self.shares.leave(name, request) {
            return;
        }
        self.state.untrack(request);
        let (reply, _) = tokio::sync::oneshot::channel();
        let call = Call::Release { session: self.key(), request };
        let _ = self.client.post(Job::Call { call, timeout: Some(self.ttl), reply });
    }

    pub(crate) fn key(&self) -> SessionKey {
        match &self.route {
            Route::Direct(session) => session.key,
            Route::Relayed(key) => *key,
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // A direct session ends when its handle is dropped.
        let Route::Relayed(key) = self.route else { return };
        let (reply, _) = tokio::sync::oneshot::channel();
        let timeout = Some(Duration::from_secs(1));
        let _ = self.client.post(Job::Call { call: Call::Close(key), timeout, reply });
        let _ = self.client.post(Job::Unsubscribe(key));
    }
}

/// Sends keep-alives of a relayed session, and ends the session when its validity passes without an answer.
async fn keep_alive(session: std::sync::Weak<Inner>, key: SessionKey, ttl: Duration) {
    loop {
        let Some(inner) = session.upgrade() else { return };
        if inner.state.has_ended() {
            return;
        }
        let relied = inner.state.deadline().from_now();
        // A stopped or partitioned node does not answer: there must be time left to call another node.
        let timeout = if relied.is_zero() { ttl } else { relied.min(ttl) / 4 };
        let call = inner.client.call(Call::KeepAlive(key), Some(timeout));
        let (answer, state) = (call.await, Arc::clone(&inner.state));
        drop(inner);
        match answer {
            Ok(_) => {}
            // A node that leaves or has no quorum cannot confirm the session. Another node may.
            Err(Error::Failed(Failure::NoQuorum | Failure::Leaving))
            | Err(Error::Unreachable(_))
                if state.deadline() > Moment::now() => {}
            Err(_) => return state.end(),
        }
        state.wait_until_keep_alive_due(ttl).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn validity(micros: u64) -> Validity {
        Validity { since: Moment::now().0, micros }
    }

    fn held(request: u64, token: u64) -> HeldLock {
        HeldLock { request, name: Name::lock("x").expect("a name"), token }
    }

    #[test]
    fn what_a_keep_alive_does_not_list_is_lost() {
        let state = SessionState::new();
        let [kept, gone, other, waits] = [1, 2, 3, 4].map(|request| state.track(request));
        state.set_validity(validity(60_000_000));
        [1, 2, 3].into_iter().for_each(|request| state.grant(request, 10 + request, None));
        state.retain_held(&[held(1, 12), held(3, 9)]);
        assert_eq!((kept.borrow().lost, waits.borrow().lost), (None, None));
        assert_eq!(kept.borrow().token, Some(12), "a token may grow");
        assert_eq!(gone.borrow().lost, Some(Loss::NoQuorum));
        assert_eq!(other.borrow().lost, Some(Loss::NoQuorum), "a token does not shrink");
    }

    #[test]
    fn a_lock_whose_time_has_passed_does_not_come_back() {
        let state = SessionState::new();
        let status = state.track(1);
        state.set_validity(validity(0));
        state.grant(1, 11, None);
        state.set_validity(validity(60_000_000));
        assert_eq!(status.borrow().lost, Some(Loss::NoQuorum));
    }

    #[test]
    fn a_guard_that_was_invalid_is_not_extended() {
        let state = SessionState::new();
        let [ended, valid] = [1, 2].map(|request| state.track(request));
        let now = Moment::now();
        let (before, later) = (now, now.later(Duration::from_secs(60)));
        state.grant(1, 11, Some(before));
        state.grant(2, 12, Some(later));
        let latest = later.later(Duration::from_secs(1));
        assert!(!state.extend(1, latest) && state.extend(2, latest));
        assert_eq!(
            (ended.borrow().until, ended.borrow().lost),
            (Some(before), Some(Loss::NoQuorum))
        );
        assert_eq!((valid.borrow().until, valid.borrow().lost), (Some(latest), None));
    }

    #[test]
    fn the_first_keep_alive_leaves_a_lock_that_was_granted_before() {
        let state = SessionState::new();
        let status = state.track(1);
        state.grant(1, 11, Some(Moment::now().later(Duration::from_secs(60))));
        state.apply_keep_alive(&[held(1, 11)], validity(0));
        assert_eq!(status.borrow().lost, None);
        // Now a deadline is known, and it has passed.
        state.apply_keep_alive(&[held(1, 11)], validity(1_000_000));
        assert_eq!(status.borrow().lost, Some(Loss::NoQuorum), "it does not become valid again");
    }
}
