//! Redis: one instance, whose locks are keys that go away after a while.
//!
//! The usual recipe: `SET name value NX PX ttl` with a random value, freed by a script that compares the value first.
//! There is no queue: whoever does not get it tries again after a random 0.2 to 2 ms. Libraries wait 100 to 300 ms, which
//! would mean some twenty hand-offs a second, whatever the server does.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::task::JoinHandle;

use super::resp::{Answer, Connection};
use super::{Absent, program, ready, version_line};
use crate::loopback;
use crate::processes::Processes;
use crate::service::{LockClient, Service, Trouble};
use crate::storage::Storage;

/// Frees a lock if it is still ours.
pub(super) const FREE: &str =
    "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end";

/// Keeps a lock for longer if it is still ours.
const RENEW: &str = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('pexpire',KEYS[1],ARGV[2]) else return 0 end";

/// So many instances that know nothing of each other.
pub(super) struct Instances {
    pub(super) doors: Vec<SocketAddr>,
    pub(super) processes: Processes,
    pub(super) version: String,
    _folder: TempDir,
}

impl Instances {
    pub(super) async fn start(count: usize, storage: Storage) -> Result<Self, Absent> {
        let server = program("redis-server")?;
        let version = version_line(&server, &["--version"])?;
        // What comes after that is about how it was built.
        let version = version.split(" sha=").next().unwrap_or_default().to_owned();
        let folder = storage.folder()?;
        let doors = loopback::free_ports(count).map_err(Trouble::new)?;
        let mut processes = Processes::default();
        for door in &doors {
            let home = folder.path().join(door.port().to_string());
            std::fs::create_dir(&home).map_err(Trouble::new)?;
            let (port, log) = (door.port().to_string(), home.join("log"));
            let mut command = Command::new(&server);
            command.current_dir(&home).args(["--port", &port, "--bind", "127.0.0.1", "--save", ""]);
            command.args(match storage {
                Storage::Disk => ["--appendonly", "yes", "--appendfsync", "always"],
                Storage::Memory => ["--appendonly", "no", "--appendfsync", "no"],
            });
            processes.start_logged(&mut command, &log)?;
        }
        let mut all = Self { doors, processes, version, _folder: folder };
        for number in 0..count {
            all.ready(number).await?;
        }
        Ok(all)
    }

    async fn ready(&mut self, number: usize) -> Result<(), Absent> {
        let door = self.doors[number];
        let answers = async || Connection::open(door).await?.ask(&["PING"]).await;
        ready(&mut self.processes, number, answers).await
    }
}

/// One instance.
pub(super) struct Redis(Instances);

impl Redis {
    pub(super) async fn start(storage: Storage) -> Result<Self, Absent> {
        Ok(Self(Instances::start(1, storage).await?))
    }

    pub(super) fn version(&self) -> &str {
        &self.0.version
    }
}

impl Service for Redis {
    type Client = Holder;

    async fn connect(&self, _: usize, ttl: Duration) -> Result<Holder, Trouble> {
        let door = self.0.doors[0];
        let renewal = Renewal::start(vec![door], ttl);
        Ok(Holder { connection: Connection::open(door).await?, renewal, ttl })
    }

    fn processes(&self) -> &Processes {
        &self.0.processes
    }

    async fn messages(&self) -> Option<u64> {
        None
    }
}

pub(super) struct Holder {
    connection: Connection,
    renewal: Renewal,
    ttl: Duration,
}

impl LockClient for Holder {
    async fn acquire(&mut self, name: &str) -> Result<(), Trouble> {
        let (value, ttl) = (random_value()?, self.ttl.as_millis().to_string());
        while self.connection.ask(&["SET", name, &value, "NX", "PX", &ttl]).await?
            == Answer::Nothing
        {
            tokio::time::sleep(retry_delay()?).await;
        }
        self.renewal.has(Some((name.to_owned(), value)));
        Ok(())
    }

    async fn release(&mut self) -> Result<(), Trouble> {
        if let Some((name, value)) = self.renewal.has(None) {
            self.connection.ask(&["EVAL", FREE, "1", &name, &value]).await?;
        }
        Ok(())
    }
}

/// What is held: its name, and the value that says that it is ours.
pub(super) type Held = (String, String);

/// Keeps what is held for longer, every third of its time, as clients with a watchdog do. It opens a connection of its
/// own when there is something to do.
pub(super) struct Renewal {
    held: Arc<Mutex<Option<(Held, Instant)>>>,
    task: JoinHandle<()>,
}

impl Renewal {
    pub(super) fn start(doors: Vec<SocketAddr>, ttl: Duration) -> Self {
        let held = Arc::default();
        let task = tokio::spawn(keep(Arc::clone(&held), doors, ttl));
        Self { held, task }
    }

    /// This is held from now on; what was held before.
    pub(super) fn has(&self, held: Option<Held>) -> Option<Held> {
        let now = held.map(|held| (held, Instant::now()));
        std::mem::replace(&mut *lock(&self.held), now).map(|(held, _)| held)
    }
}

impl Drop for Renewal {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn keep(seen: Arc<Mutex<Option<(Held, Instant)>>>, doors: Vec<SocketAddr>, ttl: Duration) {
    loop {
        tokio::time::sleep(ttl / 12).await;
        let held = lock(&seen).clone();
        if let Some((held, since)) = held.filter(|(_, since)| since.elapsed() >= ttl / 3) {
            for door in &doors {
                let _ = renew(*door, &held, ttl).await;
            }
            // Unless something else is held by now.
            if let Some((_, last)) = lock(&seen).as_mut().filter(|(_, last)| *last == since) {
                *last = Instant::now();
            }
        }
    }
}

fn lock<T>(held: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn renew(door: SocketAddr, (name, value): &Held, ttl: Duration) -> Result<Answer, Trouble> {
    let ttl = ttl.as_millis().to_string();
    Connection::open(door).await?.ask(&["EVAL", RENEW, "1", name, value, &ttl]).await
}

/// A value that nobody else has.
pub(super) fn random_value() -> Result<String, Trouble> {
    let (high, low) = (getrandom::u64(), getrandom::u64());
    Ok(format!("{:016x}{:016x}", high.map_err(Trouble::new)?, low.map_err(Trouble::new)?))
}

/// 0.2 to 2 ms.
pub(super) fn retry_delay() -> Result<Duration, Trouble> {
    let chance = getrandom::u32().map_err(Trouble::new)?;
    Ok(Duration::from_micros(200 + u64::from(chance) % 1_801))
}
