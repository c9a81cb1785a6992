//! A lock that is asked for, and one that is held.

use std::sync::Arc;
use std::time::Duration;

use quorate_protocol::{Answer, Call, Failure, Mode, Name};
use tokio::sync::{oneshot, watch};

use crate::client::Job;
use crate::clock::Moment;
use crate::error::Error;
use crate::session::{Fate, Inner};

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
        self.acquire_telling(|_| {}).await
    }

    /// Asks, and tells while it waits where it is in the queue.
    pub async fn acquire_telling(self, mut tell: impl FnMut(u32)) -> Result<Guard, Error> {
        let Self { session, name, wait, why } = self;
        let request = session.next_request();
        let mut fate = session.state.listen(request);
        let began = Moment::now();
        // If nobody waits any longer, the request is taken back.
        let mut guard = Guard {
            session,
            request,
            name: name.clone(),
            token: 0,
            fate: fate.clone(),
            open: true,
            since: began,
        };
        let call = Call::Acquire {
            session: guard.session.key,
            request,
            name,
            mode: Mode::Exclusive,
            wait_ms: wait.map(|wait| wait.as_millis() as u64),
            why,
            inside: None,
        };
        let patience = wait.map(|wait| wait + Duration::from_secs(2));
        let client = guard.session.client.clone();
        let answer = client.call(call, patience);
        tokio::pin!(answer);
        let answer = loop {
            tokio::select! {
                answer = &mut answer => break answer,
                Ok(()) = fate.changed() => {
                    let Fate { lost, position, .. } = *fate.borrow_and_update();
                    if lost == Some(Loss::SessionOver) {
                        break Err(Error::Failed(Failure::NoSession));
                    }
                    position.into_iter().for_each(&mut tell);
                }
            }
        };
        let failed = !matches!(answer, Ok(Answer::Granted { .. }));
        guard.tell_span("acquire", failed);
        match answer {
            Ok(Answer::Granted { token, .. }) => {
                (guard.token, guard.since) = (token, Moment::now());
                Ok(guard)
            }
            Ok(_) => Err(Error::Confused),
            Err(error) => {
                // It may have been heard all the same: dropping the guard takes it back.
                if matches!(error, Error::Failed(_)) {
                    guard.open = false;
                    guard.session.state.forget(request);
                }
                Err(error)
            }
        }
    }
}

/// A lock that is held. Dropped, it is free.
#[derive(Debug)]
pub struct Guard {
    session: Arc<Inner>,
    request: u64,
    name: Name,
    token: u64,
    fate: watch::Receiver<Fate>,
    open: bool,
    /// Since when it is asked for, and then since when it is held.
    since: Moment,
}

impl Guard {
    /// What it is the lock of.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// Greater than that of anybody who had this lock before: tell it to whatever the lock guards.
    pub fn token(&self) -> u64 {
        self.token
    }

    /// Until when it may be relied on if nothing more is heard. Later, if more is.
    pub fn deadline(&self) -> Moment {
        self.session.state.deadline()
    }

    /// Whether it may be relied on just now. Ask after anything that may have taken long.
    pub fn is_held(&self) -> bool {
        self.loss().is_none() && Moment::now() < self.deadline()
    }

    /// Why it is lost, if it is known to be.
    pub fn loss(&self) -> Option<Loss> {
        let over = self.session.state.is_over().then_some(Loss::SessionOver);
        self.fate.borrow().lost.or(over)
    }

    /// Waits until it is lost, or so near its deadline that one should stop what it guards: an eighth of the session's
    /// time is left to do so.
    pub async fn in_danger(&self) {
        self.in_danger_before(self.session.ttl / 8).await;
    }

    /// The same with another time to stop.
    pub async fn in_danger_before(&self, margin: Duration) {
        let mut fate = self.fate.clone();
        loop {
            let deadline = self.deadline().earlier(margin);
            if self.loss().is_some() || deadline <= Moment::now() {
                return;
            }
            tokio::select! {
                () = deadline.reached() => {}
                () = self.session.state.changed() => {}
                _ = fate.changed() => {}
            }
        }
    }

    /// A leader proclaims something else.
    pub async fn proclaim(&self, value: &str) -> Result<(), Error> {
        let (session, request) = (self.session.key, self.request);
        let call = Call::Proclaim { session, request, value: value.to_owned() };
        match self.session.client.call(call, Some(Duration::from_secs(5))).await? {
            Answer::Done => Ok(()),
            _ => Err(Error::Confused),
        }
    }

    fn tell_span(&self, name: &'static str, failed: bool) {
        let took = Duration::from_micros(Moment::now().0.saturating_sub(self.since.0));
        let mut attributes = vec![("quorate.lock", self.name.to_string())];
        if self.token > 0 {
            attributes.push(("quorate.token", self.token.to_string()));
        }
        let whose = (self.session.key, self.request);
        self.session.client.spans.put(whose, name, took, attributes, failed);
    }

    /// Frees it, and waits until the node knows.
    pub async fn release(mut self) -> Result<(), Error> {
        self.open = false;
        self.tell_span("hold", self.loss().is_some());
        self.session.state.forget(self.request);
        let release = Call::Release { session: self.session.key, request: self.request };
        match self.session.client.call(release, Some(Duration::from_secs(5))).await {
            Ok(Answer::Done) | Err(Error::Failed(Failure::NoRequest | Failure::NoSession)) => {
                Ok(())
            }
            Ok(_) => Err(Error::Confused),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if self.open {
            if self.token > 0 {
                self.tell_span("hold", self.loss().is_some());
            }
            self.session.state.forget(self.request);
            let (reply, _) = oneshot::channel();
            let call = Call::Release { session: self.session.key, request: self.request };
            let patience = Some(self.session.ttl);
            let _ = self.session.client.post(Job::Call { call, patience, reply });
        }
    }
}
