//! Redis: one instance, whose locks are keys that expire.
//!
//! The usual recipe: `SET name value NX PX ttl` with a random value, released by a script that compares the value first.
//! There is no queue: a client that does not get the lock retries after a random 0.2 to 2 ms. Libraries wait 100 to
//! 300 ms, which would allow only some twenty hand-offs per second, whatever the server does.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::task::JoinHandle;

use super::resp::{RespConnection, RespReply};
use super::{Absent, program, ready, version_line};
use crate::error::BenchError;
use crate::loopback;
use crate::processes::Processes;
use crate::service::{LockClient, Service};
use crate::storage::Storage;

/// Deletes a lock if its value is still ours.
pub(super) const RELEASE_SCRIPT: &str =
    "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end";

/// Extends a lock if its value is still ours.
const RENEW_SCRIPT: &str = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('pexpire',KEYS[1],ARGV[2]) else return 0 end";

/// Redis instances that do not know each other.
pub(super) struct RedisInstances {
    pub(super) addresses: Vec<SocketAddr>,
    pub(super) processes: Processes,
    pub(super) version: String,
    _folder: TempDir,
}

impl RedisInstances {
    pub(super) async fn start(count: usize, storage: Storage) -> Result<Self, Absent> {
        let server = program("redis-server")?;
        let version = version_line(&server, &["--version"])?;
        // The rest of the line is about the build.
        let version = version.split(" sha=").next().unwrap_or_default().to_owned();
        let folder = storage.folder()?;
        let addresses = loopback::free_ports(count).map_err(BenchError::new)?;
        let mut processes = Processes::default();
        for address in &addresses {
            let home = folder.path().join(address.port().to_string());
            std::fs::create_dir(&home).map_err(BenchError::new)?;
            let (port, log) = (address.port().to_string(), home.join("log"));
            let mut command = Command::new(&server);
            command.current_dir(&home).args(["--port", &port, "--bind", "127.0.0.1", "--save", ""]);
            command.args(match storage {
                Storage::Disk => ["--appendonly", "yes", "--appendfsync", "always"],
                Storage::Memory => ["--appendonly", "no", "--appendfsync", "no"],
            });
            processes.start_logged(&mut command, &log)?;
        }
        let mut all = Self { addresses, processes, version, _folder: folder };
        for number in 0..count {
            all.ready(number).await?;
        }
        Ok(all)
    }

    async fn ready(&mut self, number: usize) -> Result<(), Absent> {
        let address = self.addresses[number];
        let ping = async || RespConnection::open(address).await?.command(&["PING"]).await;
        ready(&mut self.processes, number, ping).await
    }
}

/// Lock service on a single Redis instance.
pub(super) struct Redis(RedisInstances);

impl Redis {
    pub(super) async fn start(storage: Storage) -> Result<Self, Absent> {
        Ok(Self(RedisInstances::start(1, storage).await?))
    }

    pub(super) fn version(&self) -> &str {
        &self.0.version
    }
}

impl Service for Redis {
    type Client = RedisLockClient;

    async fn connect(&self, _: usize, ttl: Duration) -> Result<RedisLockClient, BenchError> {
        let address = self.0.addresses[0];
        let renewer = LockRenewer::start(vec![address], ttl);
        Ok(RedisLockClient { connection: RespConnection::open(address).await?, renewer, ttl })
    }

    fn processes(&self) -> &Processes {
        &self.0.processes
    }

    async fn messages(&self) -> Option<u64> {
        None
    }
}

pub(super) struct RedisLockClient {
    connection: RespConnection,
    renewer: LockRenewer,
    ttl: Duration,
}

impl LockClient for RedisLockClient {
    async fn acquire(&mut self, name: &str) -> Result<(), BenchError> {
        let (value, ttl) = (random_value()?, self.ttl.as_millis().to_string());
        while self.connection.command(&["SET", name, &value, "NX", "PX", &ttl]).await?
            == RespReply::Nil
        {
            tokio::time::sleep(retry_delay()?).await;
        }
        self.renewer.set_held(Some((name.to_owned(), value)));
        Ok(())
    }

    async fn release(&mut self) -> Result<(), BenchError> {
        if let Some((name, value)) = self.renewer.set_held(None) {
            self.connection.command(&["EVAL", RELEASE_SCRIPT, "1", &name, &value]).await?;
        }
        Ok(())
    }
}

/// Name of a held lock, and the random value that identifies its holder.
pub(super) type HeldKey = (String, String);

/// Extends the held lock every third of its lifetime, as clients with a watchdog do. Each renewal opens a separate
/// connection to the server.
pub(super) struct LockRenewer {
    held: Arc<Mutex<Option<(HeldKey, Instant)>>>,
    task: JoinHandle<()>,
}

impl LockRenewer {
    pub(super) fn start(addresses: Vec<SocketAddr>, ttl: Duration) -> Self {
        let held = Arc::default();
        let task = tokio::spawn(renew_while_held(Arc::clone(&held), addresses, ttl));
        Self { held, task }
    }

    /// Sets the held lock and returns the previous one.
    pub(super) fn set_held(&self, held: Option<HeldKey>) -> Option<HeldKey> {
        let now = held.map(|held| (held, Instant::now()));
        std::mem::replace(&mut *lock(&self.held), now).map(|(held, _)| held)
    }
}

impl Drop for LockRenewer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn renew_while_held(
    shared: Arc<Mutex<Option<(HeldKey, Instant)>>>,
    addresses: Vec<SocketAddr>,
    ttl: Duration,
) {
    loop {
        tokio::time::sleep(ttl / 12).await;
        let held = lock(&shared).clone();
        if let Some((held, since)) = held.filter(|(_, since)| since.elapsed() >= ttl / 3) {
            for address in &addresses {
                let _ = renew(*address, &held, ttl).await;
            }
            // Only if the same lock is still held.
            if let Some((_, last)) = lock(&shared).as_mut().filter(|(_, last)| *last == since) {
                *last = Instant::now();
            }
        }
    }
}

fn lock<T>(held: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn renew(
    address: SocketAddr,
    (name, value): &HeldKey,
    ttl: Duration,
) -> Result<RespReply, BenchError> {
    let ttl = ttl.as_millis().to_string();
    RespConnection::open(address)
        .await?
        .command(&["EVAL", RENEW_SCRIPT, "1", name, value, &ttl])
        .await
}

/// Random value that is unique to the holder.
pub(super) fn random_value() -> Result<String, BenchError> {
    let (high, low) = (getrandom::u64(), getrandom::u64());
    Ok(format!("{:016x}{:016x}", high.map_err(BenchError::new)?, low.map_err(BenchError::new)?))
}

/// Random delay of 0.2 to 2 ms before the next attempt.
pub(super) fn retry_delay() -> Result<Duration, BenchError> {
    let chance = getrandom::u32().map_err(BenchError::new)?;
    Ok(Duration::from_micros(200 + u64::from(chance) % 1_801))
}
