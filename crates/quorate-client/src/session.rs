//! A session: what it has, it has together, for as long as it is heard of.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use quorate_protocol::{
    Answer, BadName, Call, Failure, Kind, Name, OwnRequest, Reliance, SessionKey,
};
use tokio::sync::{Notify, watch};

use crate::client::{Client, Job};
use crate::clock::Moment;
use crate::direct::{DirectSession, Opened};
use crate::error::Error;
use crate::guard::{LockRequest, Loss};

/// How a session is to be.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// If nothing is heard of it for so long, it is over and its locks are free.
    pub ttl: Duration,
    /// Who, for others to see.
    pub who: String,
    /// Where, for others to see.
    pub place: String,
    /// How long a node may take to be reached.
    pub reach: Duration,
    /// Lets a node collect the votes, although the client could do so itself. Such a session needs one connection, which
    /// sessions of the same client share; if its node stops, another one goes on.
    pub relayed: bool,
}

impl Default for SessionOptions {
    fn default() -> Self {
        let who = std::env::var("USER").unwrap_or_else(|_| "somebody".to_owned());
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname");
        let host = host.map_or_else(|_| "somewhere".to_owned(), |host| host.trim().to_owned());
        let place = format!("{host}, process {}", std::process::id());
        let (ttl, reach) = (Duration::from_secs(10), Duration::from_secs(5));
        Self { ttl, who, place, reach, relayed: false }
    }
}

/// What is known of a session, by the connection and by whoever holds its locks.
#[derive(Debug)]
pub(crate) struct SessionState {
    /// Until when everything that the session has may be relied on.
    deadline: AtomicU64,
    /// A change of the deadline, or the end.
    changed: Notify,
    over: AtomicBool,
    requests: Mutex<BTreeMap<u64, watch::Sender<Fate>>>,
}

/// What has become of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fate {
    pub(crate) lost: Option<Loss>,
    pub(crate) position: Option<u32>,
    /// When the lock was granted, and with which token.
    granted: Option<(Moment, u64)>,
    /// Validity of this lock; without, it is as valid as the session.
    pub(crate) until: Option<Moment>,
}

impl SessionState {
    fn new() -> Self {
        Self {
            deadline: AtomicU64::new(0),
            changed: Notify::new(),
            over: AtomicBool::new(false),
            requests: Mutex::default(),
        }
    }

    fn requests(&self) -> MutexGuard<'_, BTreeMap<u64, watch::Sender<Fate>>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn deadline(&self) -> Moment {
        Moment(self.deadline.load(Ordering::Acquire))
    }

    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Waits until it is time to say again that the session is alive: well before what is relied on ends, whichever ends
    /// first, the session or what nodes lend each other. The latter counts from when a lock is had, which may be soon.
    async fn wait_for_next(&self, ttl: Duration) {
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
                () = changed => if self.is_over() {
                    return;
                },
            }
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// What the node has said is counted from when it was asked. An answer that was long under way says less than a later
    /// one, and what it takes back counts. A lock that was not valid in between is lost, although the node still has it.
    pub(crate) fn rely(&self, reliance: Reliance) {
        let requests = self.requests();
        let before = self.deadline();
        if before <= Moment::now() {
            for request in requests.values() {
                request.send_if_modified(|fate| {
                    let ended = fate.granted.is_some_and(|(at, _)| at < before);
                    let loses = ended && fate.lost.is_none();
                    fate.lost = fate.lost.or(loses.then_some(Loss::NoQuorum));
                    loses
                });
            }
        }
        // Readers look at the deadline first: whoever sees the new one sees what is lost.
        self.set_deadline(Moment(reliance.since.saturating_add(reliance.micros)));
        drop(requests);
        self.changed.notify_waiters();
    }

    pub(crate) fn set_deadline(&self, deadline: Moment) {
        self.deadline.store(deadline.0, Ordering::Release);
    }

    /// The node has listed what the session has. What was granted before it was asked and is not listed is lost.
    pub(crate) fn reconcile(&self, asked: Moment, listed: &[OwnRequest]) {
        for (number, request) in self.requests().iter() {
            request.send_if_modified(|fate| {
                let Some((_, token)) = fate.granted.filter(|(at, _)| *at < asked) else {
                    return false;
                };
                let is_it =
                    |own: &OwnRequest| own.numbers.contains(number) || own.token == Some(token);
                let loses = fate.lost.is_none() && !listed.iter().any(is_it);
                fate.lost = fate.lost.or(loses.then_some(Loss::NoQuorum));
                loses
            });
        }
    }

    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Release);
        for request in self.requests().values() {
            request.send_modify(|fate| fate.lost = fate.lost.or(Some(Loss::SessionOver)));
        }
        self.changed.notify_waiters();
    }

    pub(crate) fn lose(&self, request: u64, loss: Loss) {
        if let Some(request) = self.requests().get(&request) {
            request.send_modify(|fate| fate.lost = fate.lost.or(Some(loss)));
        }
    }

    pub(crate) fn place(&self, request: u64, position: u32) {
        if let Some(request) = self.requests().get(&request) {
            request.send_modify(|fate| fate.position = Some(position));
        }
    }

    /// A lock is held, until then if it has a validity of its own.
    pub(crate) fn grant(&self, request: u64, token: u64, until: Option<Moment>) {
        if let Some(request) = self.requests().get(&request) {
            request.send_modify(|fate| {
                fate.granted = fate.granted.or(Some((Moment::now(), token)));
                fate.until = until;
            });
        }
    }

    /// A lock is valid for longer; tells whether it still was. The clock is read while nobody can look at the guard, so that
    /// a guard that was seen invalid never becomes valid again.
    pub(crate) fn extend(&self, request: u64, until: Moment) -> bool {
        let requests = self.requests();
        let Some(request) = requests.get(&request) else { return true };
        let mut was_valid = true;
        request.send_modify(|fate| {
            was_valid = fate.until.is_some_and(|known| Moment::now() < known);
            match was_valid {
                true => fate.until = fate.until.max(Some(until)),
                false => fate.lost = fate.lost.or(Some(Loss::NoQuorum)),
            }
        });
        was_valid
    }

    pub(crate) fn listen(&self, request: u64) -> watch::Receiver<Fate> {
        let (sender, receiver) = watch::channel(Fate::default());
        self.requests().insert(request, sender);
        receiver
    }

    pub(crate) fn forget(&self, request: u64) {
        self.requests().remove(&request);
    }
}

/// A session. Dropped, it ends, and its locks are free.
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
    requests: AtomicU64,
}

/// Who collects the votes of a session.
#[derive(Debug)]
pub(crate) enum Route {
    /// The client.
    Direct(DirectSession),
    /// A node, or another backend.
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
                Opened::Relayed(addresses) => client.post(Job::Learn(addresses))?,
            }
        }
        let ttl = client.system().ttl(options.ttl);
        let ttl_ms = u32::try_from(ttl.as_millis()).unwrap_or(u32::MAX);
        let open = Call::Open { ttl_ms, who: options.who, place: options.place };
        let Answer::Opened { session: key, ttl_ms } =
            client.call(open, Some(options.reach)).await?
        else {
            return Err(Error::Confused);
        };
        let ttl = Duration::from_millis(ttl_ms.into());
        client.post(Job::Listen(key, Arc::clone(&state)))?;
        let session = Self::new(client, state, ttl, Route::Relayed(key));
        tokio::spawn(keep_alive(Arc::downgrade(&session.inner), key, ttl));
        Ok(session)
    }

    fn new(client: Client, state: Arc<SessionState>, ttl: Duration, route: Route) -> Self {
        let requests = AtomicU64::new(0);
        Self { inner: Arc::new(Inner { client, state, ttl, route, requests }) }
    }

    /// A lock, to be acquired.
    pub fn lock(&self, name: &str) -> Result<LockRequest, BadName> {
        Ok(LockRequest::new(Arc::clone(&self.inner), Name::new(Kind::Lock, name)?))
    }

    /// An election, to be won.
    pub fn election(&self, name: &str) -> Result<LockRequest, BadName> {
        Ok(LockRequest::new(Arc::clone(&self.inner), Name::new(Kind::Election, name)?))
    }

    /// Until when all that it has may be relied on, if nothing more is heard.
    pub fn deadline(&self) -> Moment {
        self.inner.state.deadline()
    }

    /// Time-to-live: what was asked for, within what the cluster permits.
    pub fn ttl(&self) -> Duration {
        self.inner.ttl
    }

    /// Whether the client is connected to the voters itself, so that the session outlives every single node. Otherwise one
    /// node collects the votes, because only that one could be reached or [`SessionOptions::relayed`] was set.
    pub fn is_direct(&self) -> bool {
        matches!(self.inner.route, Route::Direct(_))
    }

    /// Ends it.
    pub async fn close(self) -> Result<(), Error> {
        match &self.inner.route {
            Route::Direct(session) => {
                session.close().await;
                Ok(())
            }
            Route::Relayed(key) => {
                let client = &self.inner.client;
                let done = client.call(Call::Close(*key), Some(Duration::from_secs(2))).await;
                client.post(Job::Forget(*key))?;
                done.map(drop)
            }
        }
    }
}

impl Inner {
    pub(crate) fn next_request(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed)
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
        // A direct session ends with its handle.
        let Route::Relayed(key) = self.route else { return };
        let (reply, _) = tokio::sync::oneshot::channel();
        let patience = Some(Duration::from_secs(1));
        let _ = self.client.post(Job::Call { call: Call::Close(key), patience, reply });
        let _ = self.client.post(Job::Forget(key));
    }
}

/// Says again and again that a relayed session is alive, and ends it when it was not heard for too long.
async fn keep_alive(session: std::sync::Weak<Inner>, key: SessionKey, ttl: Duration) {
    loop {
        let Some(inner) = session.upgrade() else { return };
        if inner.state.is_over() {
            return;
        }
        let relied = inner.state.deadline().from_now();
        let patience = if relied.is_zero() { ttl } else { relied.min(ttl) };
        let call = inner.client.call(Call::KeepAlive(key), Some(patience));
        let (answer, state) = (call.await, Arc::clone(&inner.state));
        drop(inner);
        match answer {
            Ok(_) => {}
            Err(Error::Failed(Failure::NoSession) | Error::Closed) => return state.end(),
            Err(_) if state.deadline() <= Moment::now() => return state.end(),
            Err(_) => {}
        }
        state.wait_for_next(ttl).await;
    }
}
