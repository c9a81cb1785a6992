//! An open session, shared by the handle of its user and by its guards.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use quorate_protocol::{Call, CallResponse, Failure, Name, SessionKey};

use crate::client::Client;
use crate::clock::Moment;
use crate::direct::{self, DirectSession, Opened};
use crate::error::Error;
use crate::job::Job;
use crate::session_options::SessionOptions;
use crate::session_state::SessionState;
use crate::shares::Shares;

/// An open session. It ends when the session and all its guards are dropped.
#[derive(Debug)]
pub(crate) struct OpenSession {
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

impl OpenSession {
    /// Opens a session, direct if possible.
    pub(crate) async fn open(client: Client, options: SessionOptions) -> Result<Arc<Self>, Error> {
        let state = Arc::new(SessionState::new());
        if let Some(cluster) = client.cluster.clone().filter(|_| !options.relayed) {
            match direct::open(&cluster, &options, &state).await? {
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
        tokio::spawn(keep_alive(Arc::downgrade(&session), key, ttl));
        Ok(session)
    }

    fn new(client: Client, state: Arc<SessionState>, ttl: Duration, route: Route) -> Arc<Self> {
        let (shares, requests) = (Shares::default(), AtomicU64::new(0));
        Arc::new(Self { client, state, ttl, route, shares, requests })
    }

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

impl Drop for OpenSession {
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
async fn keep_alive(session: std::sync::Weak<OpenSession>, key: SessionKey, ttl: Duration) {
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
            | Err(Error::Unreachable(_) | Error::NotAdmitted(_))
                if state.deadline() > Moment::now() => {}
            Err(_) => return state.end(),
        }
        state.wait_until_keep_alive_due(ttl).await;
    }
}
