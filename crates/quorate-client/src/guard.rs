//! A lock that is asked for, and one that is held.

use std::sync::Arc;
use std::time::Duration;

use quorate_protocol::{Call, CallResponse, Failure, Mode, Name, SessionKey, TEXT_MOST};
use tokio::sync::{oneshot, watch};

use crate::clock::Moment;
use crate::direct::{Command, DirectSession, Granted};
use crate::error::Error;
use crate::session::{Inner, LockStatus, Route};
use crate::shares::Joined;

/// A lock that is to be asked for.
#[derive(Debug)]
pub struct LockRequest {
    session: Arc<Inner>,
    name: Name,
    wait: Option<Duration>,
    why: String,
}

/// Why a lock was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Too few nodes could be heard for too long.
    NoQuorum,
    /// Somebody took it away.
    Expelled,
    /// The session was not heard of for too long.
    SessionOver,
}

impl LockRequest {
    pub(crate) fn new(session: Arc<Inner>, name: Name) -> Self {
        Self { session, name, wait: None, why: String::new() }
    }

    /// Not longer than this; nothing at all means only if it is free. Without, as long as it takes.
    #[must_use]
    pub fn wait(mut self, most: Duration) -> Self {
        self.wait = Some(most);
        self
    }

    /// For others to see; for an election, what the leader proclaims.
    #[must_use]
    pub fn why(mut self, why: &str) -> Self {
        why.clone_into(&mut self.why);
        self
    }

    /// Asks, and waits.
    pub async fn acquire(self) -> Result<Guard, Error> {
        self.acquire_with_progress(|_| {}).await
    }

    /// Asks, and tells while it waits where it is in the queue.
    pub async fn acquire_with_progress(
        self,
        mut on_position: impl FnMut(u32),
    ) -> Result<Guard, Error> {
        let Self { session, name, wait, why } = self;
        let began = Moment::now();
        let shares = matches!(session.route, Route::Relayed(_));
        let (request, mut status, shared) = loop {
            let request = session.next_request();
            let status = session.state.track(request);
            let joined = match shares {
                true => session.shares.join(&name, request, &status),
                false => Joined::First,
            };
            let Joined::Shared(other, status_of_other) = joined else {
                break (request, status, false);
            };
            session.state.untrack(request);
            let shares = shared(&session, &name, (other, status_of_other), wait, began);
            if let Some(status) = shares.await {
                break (other, status?, true);
            }
            // It has failed: this one asks itself.
        };
        // If nobody waits any longer, the request is taken back.
        let mut guard = Guard {
            session,
            request,
            name: name.clone(),
            token: 0,
            status: status.clone(),
            release_on_drop: true,
            since: began,
        };
        if let (true, Some(token)) = (shared, status.borrow().token) {
            guard.token = token;
        }
        if shared {
            return Ok(guard);
        }
        let inner = Arc::clone(&guard.session);
        let granted = async {
            match &inner.route {
                Route::Direct(session) => {
                    let granted = direct(session, request, name.clone(), wait, why).await?;
                    let took = Duration::from_micros(Moment::now().0.saturating_sub(began.0));
                    inner.client.spans.record_request(granted.request, request, &name, took);
                    Ok(granted.token)
                }
                Route::Relayed(key) => relayed(&inner, *key, request, name, wait, why).await,
            }
        };
        tokio::pin!(granted);
        let granted = loop {
            tokio::select! {
                biased;
                granted = &mut granted => break granted,
                Ok(()) = status.changed() => {
                    let LockStatus { lost, position, .. } = *status.borrow_and_update();
                    if lost == Some(Loss::SessionOver) {
                        break Err(Error::Failed(Failure::NoSession));
                    }
                    position.into_iter().for_each(&mut on_position);
                }
            }
        };
        guard.record_span("acquire", granted.is_err());
        match granted {
            Ok(token) => {
                (guard.token, guard.since) = (token, Moment::now());
                Ok(guard)
            }
            Err(error) => {
                // It may have been heard all the same: dropping the guard takes it back.
                if matches!(error, Error::Failed(_)) && shares {
                    guard.release_on_drop = false;
                    guard.session.shares.fail(&guard.name, request);
                    guard.session.state.untrack(request);
                }
                Err(error)
            }
        }
    }
}

/// Waits for a lock that another guard of the session asks for; `None` if that one has not got it.
async fn shared(
    session: &Inner,
    name: &Name,
    (request, mut status): (u64, watch::Receiver<LockStatus>),
    wait: Option<Duration>,
    began: Moment,
) -> Option<Result<watch::Receiver<LockStatus>, Error>> {
    let granted = async {
        let granted =
            status.wait_for(|status| status.token.is_some() || status.lost.is_some()).await;
        granted.is_ok_and(|status| status.lost.is_none())
    };
    let left = wait.map(|wait| began.later(wait).from_now());
    let granted = match left {
        Some(left) => tokio::time::timeout(left, granted).await,
        None => Ok(granted.await),
    };
    match granted {
        Ok(true) => Some(Ok(status)),
        Ok(false) => {
            session.shares.leave(name, request);
            None
        }
        Err(_) => {
            session.leave(name, request);
            let is_try = wait.is_some_and(|wait| wait.is_zero());
            Some(Err(if is_try { Failure::Busy } else { Failure::TimedOut }.into()))
        }
    }
}

/// Asks the voters. Waiting ends in the client.
async fn direct(
    session: &DirectSession,
    ticket: u64,
    name: Name,
    wait: Option<Duration>,
    why: String,
) -> Result<Granted, Error> {
    if why.len() > TEXT_MOST {
        return Err(Failure::TooMuch(format!("a text has {TEXT_MOST} bytes at most")).into());
    }
    let only_if_free = wait.is_some_and(|wait| wait.as_millis() == 0);
    let (reply, granted) = oneshot::channel();
    session.post(Command::Acquire { ticket, name, only_if_free, why, reply })?;
    let granted = async { granted.await.map_err(|_| Error::Closed)?.map_err(Error::Failed) };
    match wait.filter(|_| !only_if_free) {
        None => granted.await,
        Some(wait) => match tokio::time::timeout(wait, granted).await {
            Ok(granted) => granted,
            Err(_) => Err(Failure::TimedOut.into()),
        },
    }
}

/// Asks a node, which waits as long as it is told to.
async fn relayed(
    inner: &Inner,
    session: SessionKey,
    request: u64,
    name: Name,
    wait: Option<Duration>,
    why: String,
) -> Result<u64, Error> {
    let (mode, wait_ms) = (Mode::Exclusive, wait.map(|wait| wait.as_millis() as u64));
    let call = Call::Acquire { session, request, name, mode, wait_ms, why, inside: None };
    let timeout = wait.map(|wait| wait + Duration::from_secs(2));
    match inner.client.call(call, timeout).await? {
        CallResponse::Granted { token, .. } => {
            inner.state.set_token(request, token);
            Ok(token)
        }
        _ => Err(Error::UnexpectedAnswer),
    }
}

/// A lock that is held. Dropped, it is free.
#[derive(Debug)]
pub struct Guard {
    session: Arc<Inner>,
    request: u64,
    name: Name,
    token: u64,
    status: watch::Receiver<LockStatus>,
    release_on_drop: bool,
    /// Since when it is asked for, and then since when it is held.
    since: Moment,
}

impl Guard {
    /// What it is the lock of.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// Greater than that of anybody who had this lock before: tell it to whatever the lock guards. It may grow while the lock
    /// is held, if a node died when it had just granted the lock.
    pub fn token(&self) -> u64 {
        self.status.borrow().token.map_or(self.token, |token| token.max(self.token))
    }

    /// Until when it may be relied on if nothing more is heard. Later, if more is.
    pub fn deadline(&self) -> Moment {
        let session = self.session.state.deadline();
        self.status.borrow().until.unwrap_or(session)
    }

    /// Whether it may be relied on just now. Ask after anything that may have taken long. Once it may not, it never may
    /// again.
    pub fn is_held(&self) -> bool {
        // The order matters: whatever makes the deadline later has told before what was lost.
        let session = self.session.state.deadline();
        let status = self.status.borrow();
        let valid = Moment::now() < status.until.unwrap_or(session);
        valid && status.lost.is_none() && !self.session.state.has_ended()
    }

    /// Why it is lost, if it is known to be.
    pub fn loss(&self) -> Option<Loss> {
        let over = self.session.state.has_ended().then_some(Loss::SessionOver);
        self.status.borrow().lost.or(over)
    }

    /// Waits until it is lost, or so near its deadline that one should stop what it guards: an eighth of the session's
    /// time is left to do so.
    pub async fn expiring(&self) {
        self.expiring_within(self.session.ttl / 8).await;
    }

    /// The same with another time to stop.
    pub async fn expiring_within(&self, margin: Duration) {
        let mut status = self.status.clone();
        loop {
            let deadline = self.deadline().earlier(margin);
            if self.loss().is_some() || deadline <= Moment::now() {
                return;
            }
            tokio::select! {
                () = deadline.reached() => {}
                () = self.session.state.changed() => {}
                _ = status.changed() => {}
            }
        }
    }

    /// A leader proclaims something else.
    pub async fn proclaim(&self, value: &str) -> Result<(), Error> {
        let (request, value) = (self.request, value.to_owned());
        match &self.session.route {
            Route::Direct(_) if value.len() > TEXT_MOST => {
                Err(Failure::TooMuch(format!("a text has {TEXT_MOST} bytes at most")).into())
            }
            Route::Direct(session) => {
                let (reply, done) = oneshot::channel();
                session.post(Command::Describe { ticket: request, text: value, reply })?;
                done.await.map_err(|_| Error::Closed)?.map_err(Error::Failed)
            }
            Route::Relayed(key) => {
                let call = Call::Proclaim { session: *key, request, value };
                match self.session.client.call(call, Some(Duration::from_secs(5))).await? {
                    CallResponse::Done => Ok(()),
                    _ => Err(Error::UnexpectedAnswer),
                }
            }
        }
    }

    fn record_span(&self, name: &'static str, failed: bool) {
        let took = Duration::from_micros(Moment::now().0.saturating_sub(self.since.0));
        let mut attributes = vec![("quorate.lock", self.name.to_string())];
        if self.token > 0 {
            attributes.push(("quorate.token", self.token.to_string()));
        }
        let ids = (self.session.key(), self.request);
        self.session.client.spans.record(ids, name, took, attributes, failed);
    }

    /// Frees it. Returns once the voters of a direct session have been written to, or the node of another one knows.
    pub async fn release(mut self) -> Result<(), Error> {
        self.release_on_drop = false;
        self.record_span("hold", self.loss().is_some());
        if let Route::Direct(session) = &self.session.route {
            self.session.state.untrack(self.request);
            return session.release(self.request).await;
        }
        if !self.session.shares.leave(&self.name, self.request) {
            return Ok(());
        }
        self.session.state.untrack(self.request);
        let key = self.session.key();
        let release = Call::Release { session: key, request: self.request };
        match self.session.client.call(release, Some(Duration::from_secs(5))).await {
            Ok(CallResponse::Done)
            | Err(Error::Failed(Failure::NoRequest | Failure::NoSession)) => Ok(()),
            Ok(_) => Err(Error::UnexpectedAnswer),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if !self.release_on_drop {
            return;
        }
        if self.token > 0 {
            self.record_span("hold", self.loss().is_some());
        }
        match &self.session.route {
            Route::Direct(session) => {
                self.session.state.untrack(self.request);
                let _ = session.post(Command::Release { ticket: self.request, unwritten: None });
            }
            Route::Relayed(_) => self.session.leave(&self.name, self.request),
        }
    }
}
