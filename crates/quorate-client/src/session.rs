//! Sessions: all locks of a session live as long as the session is kept alive.

use std::sync::Arc;
use std::time::Duration;

use quorate_protocol::{BadName, Call, Kind, Name};

use crate::client::Client;
use crate::clock::Moment;
use crate::error::Error;
use crate::guard::LockRequest;
use crate::job::Job;
use crate::open_session::{OpenSession, Route};
use crate::session_options::SessionOptions;

impl Client {
    /// Opens a session, which keeps itself alive until it is dropped.
    pub async fn session(&self, options: SessionOptions) -> Result<Session, Error> {
        Ok(Session { inner: OpenSession::open(self.clone(), options).await? })
    }
}

/// A session. Dropping it ends the session and releases its locks.
#[derive(Debug)]
pub struct Session {
    inner: Arc<OpenSession>,
}

impl Session {
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
