//! Requests for locks, and the guards of held locks.

use std::sync::Arc;
use std::time::Duration;

use quorate_protocol::{Call, CallResponse, Failure, Mode, Name, SessionKey, TEXT_MOST};
use tokio::sync::{oneshot, watch};

use crate::clock::Moment;
use crate::direct::{Command, DirectSession, Granted};
use crate::error::Error;
use crate::lock_status::{LockStatus, Loss};
use crate::open_session::{OpenSession, Route};
use crate::shares::Joined;

/// A request for a lock, not yet sent.
#[derive(Debug)]
pub struct LockRequest {
    session: Arc<OpenSession>,
    name: Name,
    wait: Option<Duration>,
    why: String,
}

impl LockRequest {
    pub(crate) fn new(session: Arc<OpenSession>, name: Name) -> Self {
        Self { session, name, wait: None, why: String::new() }
    }

    /// Waits at most this long; zero acquires the lock only if it is free. Default: no limit.
    #[must_use]
    pub fn wait(mut self, most: Duration) -> Self {
        self.wait = Some(most);
        self
    }

    /// Text shown to other clients. In an election it is the value that the leader proclaims.
    #[must_use]
    pub fn why(mut self, why: &str) -> Self {
        why.clone_into(&mut self.why);
        self
    }

    /// Requests the lock and waits for it.
    pub async fn acquire(self) -> Result<Guard, Error> {
        self.acquire_with_progress(|_| {}).await
    }

    /// Requests the lock and waits for it. Calls `on_position` with the position in the queue whenever that changes.
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
            // The shared request has failed: this guard sends its own.
        };
        // If the caller drops this future, the guard's `Drop` cancels the request.
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
                // The cluster may have received the request anyway: dropping the guard cancels it.
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

/// Waits for a lock that another guard of the session requests; `None` if that request fails.
async fn shared(
    session: &OpenSession,
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

/// Requests a lock from the voters. The client enforces the timeout.
async fn direct(
    session: &DirectSession,
    ticket: u64,
    name: Name,
    wait: Option<Duration>,
    why: String,
) -> Result<Granted, Error> {
    if why.len() > TEXT_MOST {
        return Err(Failure::TooMuch(format!("a text has at most {TEXT_MOST} bytes")).into());
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

/// Requests a lock from a node, which enforces the timeout.
async fn relayed(
    inner: &OpenSession,
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

/// A held lock. Dropping the guard releases the lock.
#[derive(Debug)]
pub struct Guard {
    session: Arc<OpenSession>,
    request: u64,
    name: Name,
    token: u64,
    status: watch::Receiver<LockStatus>,
    release_on_drop: bool,
    /// Start of the request, and once the lock is granted, start of the hold.
    since: Moment,
}

impl Guard {
    /// Name of the lock or election.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// Fencing token, greater than that of any earlier holder of this lock. Pass it to the resource that the lock guards.
    /// The token may grow while the lock is held, if a node died just after it granted the lock.
    pub fn token(&self) -> u64 {
        self.status.borrow().token.map_or(self.token, |token| token.max(self.token))
    }

    /// End of the validity of the lock. It moves on as keep-alives succeed.
    pub fn deadline(&self) -> Moment {
        let session = self.session.state.deadline();
        self.status.borrow().until.unwrap_or(session)
    }

    /// Whether the lock is valid now. Check this after anything that may have taken long. A guard that was invalid once
    /// never becomes valid again.
    pub fn is_held(&self) -> bool {
        // The order matters: a writer that extends the deadline has recorded the losses before.
        let session = self.session.state.deadline();
        let status = self.status.borrow();
        let valid = Moment::now() < status.until.unwrap_or(session);
        valid && status.lost.is_none() && !self.session.state.has_ended()
    }

    /// Reason of the loss, if the lock is known to be lost.
    pub fn loss(&self) -> Option<Loss> {
        let over = self.session.state.has_ended().then_some(Loss::SessionOver);
        self.status.borrow().lost.or(over)
    }

    /// Waits until the lock is lost, or so near its deadline that its user should stop: an eighth of the session's ttl
    /// remains.
    pub async fn expiring(&self) {
        self.expiring_within(self.session.ttl / 8).await;
    }

    /// Like [`expiring`](Self::expiring), with another margin before the deadline.
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

    /// Changes the value that the leader of an election proclaims.
    pub async fn proclaim(&self, value: &str) -> Result<(), Error> {
        let (request, value) = (self.request, value.to_owned());
        match &self.session.route {
            Route::Direct(_) if value.len() > TEXT_MOST => {
                Err(Failure::TooMuch(format!("a text has at most {TEXT_MOST} bytes")).into())
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

    /// Releases the lock. Returns once the voters of a direct session have been written to, or once the node of a relayed
    /// session has answered.
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
