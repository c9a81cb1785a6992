//! Blocking sessions and guards, for code that is not async. A runtime with its own thread does the I/O.

use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use crate::backend::{Backend, BackendKind};
use crate::credentials::Credentials;
use crate::error::Error;
use crate::session_options::SessionOptions;

/// A session with blocking calls.
#[derive(Debug)]
pub struct Session {
    // Declared before the runtime: fields are dropped in order, and dropping the session needs the runtime.
    session: Option<crate::Session>,
    runtime: Runtime,
}

impl Session {
    /// Opens a session of the cluster with these nodes.
    pub fn open<E: Into<String>>(
        endpoints: impl IntoIterator<Item = E>,
        options: SessionOptions,
    ) -> Result<Self, Error> {
        Self::open_with(endpoints, Credentials::default(), options)
    }

    /// Opens a session that authenticates itself with `credentials`, over TLS if they contain an authority.
    pub fn open_with<E: Into<String>>(
        endpoints: impl IntoIterator<Item = E>,
        credentials: Credentials,
        options: SessionOptions,
    ) -> Result<Self, Error> {
        let endpoints = endpoints.into_iter().map(Into::into).collect();
        Self::open_backend(Backend { kind: BackendKind::Quorate, endpoints }, credentials, options)
    }

    /// Opens a session of the given backend.
    pub fn open_backend(
        backend: Backend,
        credentials: Credentials,
        options: SessionOptions,
    ) -> Result<Self, Error> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| Error::Unreachable(error.to_string()))?;
        let session = runtime.block_on(async {
            crate::Client::with_backend(backend, credentials)?.session(options).await
        })?;
        Ok(Self { session: Some(session), runtime })
    }

    /// Acquires a lock. Waits at most `wait`; `None` waits without a limit.
    pub fn lock(&self, name: &str, wait: Option<Duration>) -> Result<Guard<'_>, Error> {
        let session = self.session.as_ref().ok_or(Error::Closed)?;
        let mut request = session.lock(name)?;
        if let Some(wait) = wait {
            request = request.wait(wait);
        }
        let guard = self.runtime.block_on(request.acquire())?;
        Ok(Guard { guard, runtime: &self.runtime })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            let _ = self.runtime.block_on(session.close());
        }
    }
}

/// A held lock. Dropping the guard releases the lock.
#[derive(Debug)]
pub struct Guard<'s> {
    guard: crate::Guard,
    runtime: &'s Runtime,
}

impl Guard<'_> {
    /// Fencing token, greater than that of any earlier holder of this lock.
    pub fn token(&self) -> u64 {
        self.guard.token()
    }

    /// Whether the lock is valid now.
    pub fn is_held(&self) -> bool {
        self.guard.is_held()
    }

    /// Releases the lock. Waits like [`Guard::release`](crate::Guard::release).
    pub fn release(self) -> Result<(), Error> {
        self.runtime.block_on(self.guard.release())
    }
}
