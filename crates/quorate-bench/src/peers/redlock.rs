//! Redlock: five independent Redis instances, used by the published algorithm.
//!
//! The client sends the same name and value to all instances. It holds the lock if a majority accepted, and if time
//! remains after subtracting the elapsed time and the possible clock drift. Otherwise it releases what it got and retries
//! later. The requests are sent to all five instances in parallel, as its author recommends.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::Absent;
use super::redis::{LockRenewer, RELEASE_SCRIPT, RedisInstances, random_value, retry_delay};
use super::resp::{RespConnection, RespReply};
use crate::error::BenchError;
use crate::processes::Processes;
use crate::service::{LockClient, Service};
use crate::storage::Storage;

const INSTANCES: usize = 5;
const MAJORITY: usize = INSTANCES / 2 + 1;

/// Timeout of a reply. An instance that exceeds it does not count, so that a dead one causes only a short delay.
const REPLY_TIMEOUT: Duration = Duration::from_millis(500);

pub(super) struct Redlock(RedisInstances);

impl Redlock {
    pub(super) async fn start(storage: Storage) -> Result<Self, Absent> {
        Ok(Self(RedisInstances::start(INSTANCES, storage).await?))
    }

    pub(super) fn version(&self) -> &str {
        &self.0.version
    }
}

impl Service for Redlock {
    type Client = RedlockClient;

    async fn connect(&self, _: usize, ttl: Duration) -> Result<RedlockClient, BenchError> {
        let mut instances = Vec::new();
        for address in &self.0.addresses {
            instances.push(InstanceConnection {
                address: *address,
                connection: Some(RespConnection::open(*address).await?),
            });
        }
        Ok(RedlockClient {
            instances,
            renewer: LockRenewer::start(self.0.addresses.clone(), ttl),
            ttl,
        })
    }

    fn processes(&self) -> &Processes {
        &self.0.processes
    }

    async fn messages(&self) -> Option<u64> {
        None
    }
}

/// Connection to an instance; `None` if the instance did not answer the last request.
struct InstanceConnection {
    address: SocketAddr,
    connection: Option<RespConnection>,
}

impl InstanceConnection {
    async fn send(&mut self, arguments: &[&str]) {
        if self.connection.is_none() {
            self.connection = RespConnection::open(self.address).await.ok();
        }
        if let Some(connection) = &mut self.connection
            && connection.send(arguments).await.is_err()
        {
            self.connection = None;
        }
    }

    async fn reply(&mut self) -> Option<RespReply> {
        let reply = tokio::time::timeout(REPLY_TIMEOUT, self.connection.as_mut()?.reply()).await;
        match reply {
            Ok(Ok(reply)) => Some(reply),
            // A late reply would be taken for the reply to the next request.
            _ => {
                self.connection = None;
                None
            }
        }
    }
}

pub(super) struct RedlockClient {
    instances: Vec<InstanceConnection>,
    renewer: LockRenewer,
    ttl: Duration,
}

impl RedlockClient {
    /// Sends a command to all instances and returns the number of successes.
    async fn command_all(&mut self, arguments: &[&str]) -> usize {
        for instance in &mut self.instances {
            instance.send(arguments).await;
        }
        let mut done = 0;
        for instance in &mut self.instances {
            let reply = instance.reply().await;
            done += usize::from(matches!(reply, Some(RespReply::Text(_) | RespReply::Number(1))));
        }
        done
    }

    async fn free(&mut self, name: &str, value: &str) {
        self.command_all(&["EVAL", RELEASE_SCRIPT, "1", name, value]).await;
    }
}

/// Remaining validity of the lock, assuming that clocks drift by at most one percent.
fn validity(ttl: Duration, asking_took: Duration) -> Duration {
    let drift = ttl / 100 + Duration::from_millis(2);
    ttl.saturating_sub(asking_took).saturating_sub(drift)
}

impl LockClient for RedlockClient {
    async fn acquire(&mut self, name: &str) -> Result<(), BenchError> {
        let ttl = self.ttl.as_millis().to_string();
        loop {
            let (value, started) = (random_value()?, Instant::now());
            let votes = self.command_all(&["SET", name, &value, "NX", "PX", &ttl]).await;
            if votes >= MAJORITY && !validity(self.ttl, started.elapsed()).is_zero() {
                self.renewer.set_held(Some((name.to_owned(), value)));
                return Ok(());
            }
            self.free(name, &value).await;
            tokio::time::sleep(retry_delay()?).await;
        }
    }

    async fn release(&mut self) -> Result<(), BenchError> {
        if let Some((name, value)) = self.renewer.set_held(None) {
            self.free(&name, &value).await;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asked_for_too_long_has_nothing() {
        let ttl = Duration::from_secs(1);
        assert_eq!(validity(ttl, Duration::ZERO), Duration::from_millis(988));
        assert!(validity(ttl, Duration::from_millis(988)).is_zero());
        assert!(validity(Duration::from_millis(2), Duration::ZERO).is_zero());
    }
}
