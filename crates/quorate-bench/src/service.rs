//! What all services have in common that give locks.

use std::future::Future;
use std::time::Duration;

use crate::processes::Processes;

/// Something went wrong, in words.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct BenchError(pub String);

impl BenchError {
    /// In the words of whatever went wrong.
    pub fn new(what: impl ToString) -> Self {
        Self(what.to_string())
    }
}

/// A service that runs.
pub trait Service: Send + Sync {
    /// One of its clients.
    type Client: LockClient;

    /// A client with a connection of its own, whose locks are free if it is not heard of for so long. Clients are spread
    /// over the nodes by their numbers.
    fn connect(
        &self,
        number: usize,
        ttl: Duration,
    ) -> impl Future<Output = Result<Self::Client, BenchError>> + Send;

    /// The processes of the servers.
    fn processes(&self) -> &Processes;

    /// How many messages the servers have sent each other so far, if they say.
    fn messages(&self) -> impl Future<Output = Option<u64>> + Send;
}

/// A client of a service.
pub trait LockClient: Send + 'static {
    /// Takes a lock, whenever it is free.
    fn acquire(&mut self, name: &str) -> impl Future<Output = Result<(), BenchError>> + Send;

    /// Frees what was taken last.
    fn release(&mut self) -> impl Future<Output = Result<(), BenchError>> + Send;
}
