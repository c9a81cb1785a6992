//! The same for code that is not async: a thread of its own does the talking.

use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use crate::backend::{Backend, BackendKind};
use crate::credentials::Credentials;
use crate::error::Error;
use crate::session::SessionOptions;

/// A session for code that is not async.
#[derive(Debug)]
pub struct Session {
    // Before the runtime, which has to be there when it is dropped.
    session: Option<crate::Session>,
    runtime: Runtime,
}

impl Session {
    /// Of the cluster with these nodes.
    pub fn open<E: Into<String>>(
        endpoints: impl IntoIterator<Item = E>,
        options: SessionOptions,
    ) -> Result<Self, Error> {
        Self::open_with(endpoints, Credentials::default(), options)
    }

    /// The same, showing something and speaking TLS.
    pub fn open_with<E: Into<String>>(
        endpoints: impl IntoIterator<Item = E>,
        credentials: Credentials,
        options: SessionOptions,
    ) -> Result<Self, Error> {
        let endpoints = endpoints.into_iter().map(Into::into).collect();
        Self::open_backend(Backend { kind: BackendKind::Quorate, endpoints }, credentials, options)
    }

    /// Of whatever gives the locks.
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

    /// Acquires a lock, waiting no longer than that if something is said.
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

/// A lock that is held. Dropped, it is free.
#[derive(Debug)]
pub struct Guard<'s> {
    guard: crate::Guard,
    runtime: &'s Runtime,
}

impl Guard<'_> {
    /// Greater than that of anybody who had this lock before.
    pub fn token(&self) -> u64 {
        self.guard.token()
    }

    /// Whether it may be relied on just now.
    pub fn is_held(&self) -> bool {
        self.guard.is_held()
    }

    /// Frees it, and waits until the node knows.
    pub fn release(self) -> Result<(), Error> {
        self.runtime.block_on(self.guard.release())
    }
}
