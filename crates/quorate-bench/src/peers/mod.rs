//! Services that quorate is compared with. They are started here if they are installed, each with a typical client.
//!
//! The clients are minimal and part of this crate: a library would add to what is measured, and sixty seconds to the
//! compilation.

mod etcd;
mod redis;
mod redlock;
mod resp;
mod zookeeper;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::Serialize;

use crate::error::BenchError;
use crate::loopback;
use crate::measure::Measurement;
use crate::processes::Processes;
use crate::service::Service;
use crate::storage::Storage;
use crate::task::{BenchConfig, Task, perform};
use crate::work;

/// Number of nodes of an ensemble.
const NODES: usize = 3;

/// Maximum time for a server to start.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Timeout of one attempt to reach a server. A starting server may accept a connection and not answer.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(3);

/// A lock service of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Peer {
    /// etcd with three nodes.
    Etcd,
    /// ZooKeeper with three nodes.
    Zookeeper,
    /// Redis with one instance.
    Redis,
    /// Redlock with five Redis instances.
    Redlock,
}

impl Peer {
    /// All services, in the order of comparison.
    pub const ALL: [Self; 4] = [Self::Etcd, Self::Zookeeper, Self::Redis, Self::Redlock];

    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::Zookeeper => "zookeeper",
            Self::Redis => "redis",
            Self::Redlock => "redlock",
        }
    }

    /// Describes the setting of the service.
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

    /// Duration of the warm-up before measuring.
    fn warm_up(self, config: &BenchConfig) -> Duration {
        match self {
            Self::Zookeeper => config.warm_up,
            _ => config.time / 10,
        }
    }
}

/// Reason why a service could not be measured.
#[derive(Clone, Debug)]
pub enum Absent {
    /// The service is not installed. The text names the missing part.
    Missing(String),
    /// The service did not start. The text is its last log line.
    Failed(String),
}

impl Absent {
    /// Identifier of the reason, for JSON.
    pub fn state(&self) -> &'static str {
        match self {
            Self::Missing(_) => "missing",
            Self::Failed(_) => "did-not-start",
        }
    }

    /// Missing part, or last log line.
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

/// Result of one service with a setting.
#[derive(Clone, Debug)]
pub struct PeerResult {
    /// Service that was measured.
    pub peer: Peer,
    /// Storage of the service.
    pub storage: Storage,
    /// Version and results, or the reason why there are none.
    pub outcome: Result<PeerRun, Absent>,
}

/// Version and results of a service.
#[derive(Clone, Debug)]
pub struct PeerRun {
    /// Version that the service reports.
    pub version: String,
    /// Result of each task.
    pub results: Vec<(Task, Result<Measurement, BenchError>)>,
}

/// Starts a service, runs the tasks, and stops it. `progress` receives a description of each next step.
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

/// Waits until an attempt to use a server succeeds. Fails with the last log line of the server.
async fn ready<T, F: Future<Output = Result<T, BenchError>>>(
    processes: &mut Processes,
    number: usize,
    attempt: impl Fn() -> F,
) -> Result<(), Absent> {
    let attempt_with_timeout = async || {
        let reply = tokio::time::timeout(ATTEMPT_TIMEOUT, attempt()).await;
        reply.unwrap_or_else(|_| Err(BenchError::new("the server does not answer")))
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
    // A failure of the warm-up is ignored: it will recur in the measured tasks.
    let warm = work::apart(service, config.apart, warm_up);
    let _ = tokio::time::timeout(warm_up + START_TIMEOUT, warm).await;
    let mut results = Vec::new();
    for task in tasks.iter().filter(|task| task.is_for_all()) {
        progress(task.name());
        results.push((*task, perform(service, *task, config).await));
    }
    PeerRun { version: version.to_owned(), results }
}

/// Finds a program on the PATH.
pub(crate) fn program(name: &str) -> Result<PathBuf, Absent> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&paths).map(|folder| folder.join(name));
    found
        .into_iter()
        .find(|path| path.is_file())
        .ok_or_else(|| Absent::Missing(format!("{name} is not on the PATH")))
}

/// First line of the version output of a program.
fn version_line(program: &Path, arguments: &[&str]) -> Result<String, BenchError> {
    let output = Command::new(program).args(arguments).output().map_err(BenchError::new)?;
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(output.lines().next().unwrap_or("unknown").to_owned())
}
