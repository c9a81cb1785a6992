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
use crate::measure::Measured;
use crate::processes::Processes;
use crate::service::{Service, Trouble};
use crate::storage::Storage;
use crate::task::{Effort, Task, perform};
use crate::work;

/// How many nodes an ensemble has.
const NODES: usize = 3;

/// A server that does not answer after so long is given up.
const START: Duration = Duration::from_secs(30);

/// One attempt to talk to a server: while it starts it may take a connection and say nothing.
const ATTEMPT: Duration = Duration::from_secs(3);

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
    fn warm_up(self, effort: &Effort) -> Duration {
        match self {
            Self::Zookeeper => effort.warm_up,
            _ => effort.time / 10,
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

impl From<Trouble> for Absent {
    fn from(trouble: Trouble) -> Self {
        Self::Failed(trouble.0)
    }
}

/// What came of a service with a setting.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Which service.
    pub peer: Peer,
    /// Where it keeps what it must remember.
    pub storage: Storage,
    /// What it says that it is, and what came of each task; or why there is nothing.
    pub came: Result<Ran, Absent>,
}

/// What a service did.
#[derive(Clone, Debug)]
pub struct Ran {
    /// What it says that it is.
    pub version: String,
    /// What came of each task.
    pub results: Vec<(Task, Result<Measured, Trouble>)>,
}

/// Starts a service, makes it work and ends it. `tell` hears what is done next.
pub async fn run(
    peer: Peer,
    storage: Storage,
    tasks: &[Task],
    effort: &Effort,
    mut tell: impl FnMut(&str),
) -> Entry {
    tell("starts");
    let warm_up = peer.warm_up(effort);
    let came = match peer {
        Peer::Etcd => match etcd::Etcd::start(storage).await {
            Ok(all) => Ok(ran(&all, all.version(), tasks, effort, warm_up, tell).await),
            Err(absent) => Err(absent),
        },
        Peer::Zookeeper => match zookeeper::Zookeeper::start(storage).await {
            Ok(all) => Ok(ran(&all, all.version(), tasks, effort, warm_up, tell).await),
            Err(absent) => Err(absent),
        },
        Peer::Redis => match redis::Redis::start(storage).await {
            Ok(all) => Ok(ran(&all, all.version(), tasks, effort, warm_up, tell).await),
            Err(absent) => Err(absent),
        },
        Peer::Redlock => match redlock::Redlock::start(storage).await {
            Ok(all) => Ok(ran(&all, all.version(), tasks, effort, warm_up, tell).await),
            Err(absent) => Err(absent),
        },
    };
    Entry { peer, storage, came }
}

/// Waits until a server does for us what it does when it is ready, or says what it said last.
async fn ready<T, F: Future<Output = Result<T, Trouble>>>(
    processes: &mut Processes,
    number: usize,
    attempt: impl Fn() -> F,
) -> Result<(), Absent> {
    let soon = async || {
        let answer = tokio::time::timeout(ATTEMPT, attempt()).await;
        answer.unwrap_or_else(|_| Err(Trouble::new("it does not answer")))
    };
    match loopback::until(START, || processes.is_alive(number), soon).await {
        Ok(_) => Ok(()),
        Err(trouble) => Err(Absent::Failed(processes.last_words(number, &trouble))),
    }
}

async fn ran(
    service: &impl Service,
    version: &str,
    tasks: &[Task],
    effort: &Effort,
    warm_up: Duration,
    mut tell: impl FnMut(&str),
) -> Ran {
    tell("warms up");
    // Whatever is wrong is seen again where it counts.
    let warm = work::apart(service, effort.apart, warm_up);
    let _ = tokio::time::timeout(warm_up + START, warm).await;
    let mut results = Vec::new();
    for task in tasks.iter().filter(|task| task.is_for_all()) {
        tell(task.name());
        results.push((*task, perform(service, *task, effort).await));
    }
    Ran { version: version.to_owned(), results }
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
fn version_line(program: &Path, arguments: &[&str]) -> Result<String, Trouble> {
    let said = Command::new(program).args(arguments).output().map_err(Trouble::new)?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    Ok(said.lines().next().unwrap_or("unknown").to_owned())
}
