//! Interface common to all lock services.

use std::future::Future;
use std::time::Duration;

use crate::error::BenchError;
use crate::processes::Processes;

/// A running lock service.
pub trait Service: Send + Sync {
    /// Client type of the service.
    type Client: LockClient;

    /// Opens a client with its own connection. Its locks are released after `ttl` without contact. Clients are distributed
    /// over the nodes by their numbers.
    fn connect(
        &self,
        number: usize,
        ttl: Duration,
    ) -> impl Future<Output = Result<Self::Client, BenchError>> + Send;

    /// Server processes of the service.
    fn processes(&self) -> &Processes;

    /// Number of messages that the servers have sent to each other, if they report it.
    fn messages(&self) -> impl Future<Output = Option<u64>> + Send;
}

/// A client of a lock service.
pub trait LockClient: Send + 'static {
    /// Acquires a lock and waits until it is free.
    fn acquire(&mut self, name: &str) -> impl Future<Output = Result<(), BenchError>> + Send;

    /// Releases the lock that was acquired last.
    fn release(&mut self) -> impl Future<Output = Result<(), BenchError>> + Send;
}
