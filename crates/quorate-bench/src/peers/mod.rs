//! The services that quorate is compared with: started here, where they are installed, each with the client that a program
//! would use.
//!
//! Their clients are written here as well, as small as they can be: a library would only add to what is measured, and
//! sixty seconds to our compilation.

mod etcd;
mod redis;
mod redlock;
mod resp;
mod zookeeper;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::Serialize;

use crate::loopback;
use crate::measure::Measurement;
use crate::processes::Processes;
use crate::service::{BenchError, Service};
use crate::storage::Storage;
use crate::task::{BenchConfig, Task, perform};
use crate::work;

/// How many nodes an ensemble has.
const NODES: usize = 3;

/// A server that does not answer after so long is given up.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// One attempt to talk to a server: while it starts it may take a connection and say nothing.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(3);

/// A service that others made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Peer {
    /// etcd, three nodes.
    Etcd,
    /// ZooKeeper, three nodes.
    Zookeeper,
    /// Redis, one instance.
    Redis,
    /// Redlock over five instances of Redis.
    Redlock,
}

impl Peer {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Etcd, Self::Zookeeper, Self::Redis, Self::Redlock];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::Zookeeper => "zookeeper",
            Self::Redis => "redis",
            Self::Redlock => "redlock",
        }
    }

    /// How it is set up, in words.
    pub fn setting(self, storage: Storage) -> &'static str {
        match (self, storage) {
            (Self::Etcd | Self::Zookeeper, Storage::Disk) => "3 nodes, on disk",
            (Self::Etcd | Self::Zookeeper, Storage::Memory) => "3 nodes, in memory",
            (Self::Redis, Storage::Disk) => "1 instance, fsync always",
            (Self::Redis, Storage::Memory) => "1 instance, in memory",
            (Self::Redlock, Storage::Disk) => "5 instances, fsync always",
            (Self::Redlock, Storage::Memory) => "5 instances, in memory",
        }
    }

    /// For so long it works before anything counts.
    fn warm_up(self, config: &BenchConfig) -> Duration {
        match self {
            Self::Zookeeper => config.warm_up,
            _ => config.time / 10,
        }
    }
}

/// Why there is nothing to measure.
#[derive(Clone, Debug)]
pub enum Absent {
    /// It is not installed: what is missing.
    Missing(String),
    /// It did not start: its last words.
    Failed(String),
}

impl Absent {
    /// In a word, for programs.
    pub fn state(&self) -> &'static str {
        match self {
            Self::Missing(_) => "missing",
            Self::Failed(_) => "did-not-start",
        }
    }

    /// What is missing, or the last words.
    pub fn why(&self) -> &str {
        let (Self::Missing(why) | Self::Failed(why)) = self;
        why
    }
}

impl std::fmt::Display for Absent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing(what) => write!(f, "missing: {what}"),
            Self::Failed(why) => write!(f, "did not start: {why}"),
        }
    }
}

impl From<BenchError> for Absent {
    fn from(error: BenchError) -> Self {
        Self::Failed(error.0)
    }
}

/// What came of a service with a setting.
#[derive(Clone, Debug)]
pub struct PeerResult {
    /// Which service.
    pub peer: Peer,
    /// Where it keeps what it must remember.
    pub storage: Storage,
    /// What it says that it is, and what came of each task; or why there is nothing.
    pub outcome: Result<PeerRun, Absent>,
}

/// What a service did.
#[derive(Clone, Debug)]
pub struct PeerRun {
    /// What it says that it is.
    pub version: String,
    /// What came of each task.
    pub results: Vec<(Task, Result<Measurement, BenchError>)>,
}

/// Starts a service, makes it work and ends it. `progress` hears what is done next.
pub async fn run(
    peer: Peer,
    storage: Storage,
    tasks: &[Task],
    config: &BenchConfig,
    mut progress: impl FnMut(&str),
) -> PeerResult {
    progress("starts");
    let warm_up = peer.warm_up(config);
    let outcome = match peer {
        Peer::Etcd => match etcd::Etcd::start(storage).await {
            Ok(all) => Ok(run_tasks(&all, all.version(), tasks, config, warm_up, progress).await),
            Err(absent) => Err(absent),
        },
        Peer::Zookeeper => match zookeeper::Zookeeper::start(storage).await {
            Ok(all) => Ok(run_tasks(&all, all.version(), tasks, config, warm_up, progress).await),
            Err(absent) => Err(absent),
        },
        Peer::Redis => match redis::Redis::start(storage).await {
            Ok(all) => Ok(run_tasks(&all, all.version(), tasks, config, warm_up, progress).await),
            Err(absent) => Err(absent),
        },
        Peer::Redlock => match redlock::Redlock::start(storage).await {
            Ok(all) => Ok(run_tasks(&all, all.version(), tasks, config, warm_up, progress).await),
            Err(absent) => Err(absent),
        },
    };
    PeerResult { peer, storage, outcome }
}

/// Waits until a server does for us what it does when it is ready, or says what it said last.
async fn ready<T, F: Future<Output = Result<T, BenchError>>>(
    processes: &mut Processes,
    number: usize,
    attempt: impl Fn() -> F,
) -> Result<(), Absent> {
    let attempt_with_timeout = async || {
        let reply = tokio::time::timeout(ATTEMPT_TIMEOUT, attempt()).await;
        reply.unwrap_or_else(|_| Err(BenchError::new("it does not answer")))
    };
    match loopback::until(START_TIMEOUT, || processes.is_alive(number), attempt_with_timeout).await
    {
        Ok(_) => Ok(()),
        Err(error) => Err(Absent::Failed(processes.last_log_line(number, &error))),
    }
}

async fn run_tasks(
    service: &impl Service,
    version: &str,
    tasks: &[Task],
    config: &BenchConfig,
    warm_up: Duration,
    mut progress: impl FnMut(&str),
) -> PeerRun {
    progress("warms up");
    // Whatever is wrong is seen again where it counts.
    let warm = work::apart(service, config.apart, warm_up);
    let _ = tokio::time::timeout(warm_up + START_TIMEOUT, warm).await;
    let mut results = Vec::new();
    for task in tasks.iter().filter(|task| task.is_for_all()) {
        progress(task.name());
        results.push((*task, perform(service, *task, config).await));
    }
    PeerRun { version: version.to_owned(), results }
}

/// Where a program is that is called by its name.
pub(crate) fn program(name: &str) -> Result<PathBuf, Absent> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&paths).map(|folder| folder.join(name));
    found
        .into_iter()
        .find(|path| path.is_file())
        .ok_or_else(|| Absent::Missing(format!("{name} is not on the PATH")))
}

/// The first line of what a program says of its version.
fn version_line(program: &Path, arguments: &[&str]) -> Result<String, BenchError> {
    let output = Command::new(program).args(arguments).output().map_err(BenchError::new)?;
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(output.lines().next().unwrap_or("unknown").to_owned())
}
