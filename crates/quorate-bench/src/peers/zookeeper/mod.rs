//! ZooKeeper: three nodes, with locks by the recipe that Curator made known.
//!
//! A client creates an ephemeral sequential node. The client with the lowest number holds the lock, and every other client
//! watches the node before its own. Releasing is deleting the node. The recipe lists all nodes again after each event, and
//! so does this client.

mod wire;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{Absent, NODES, program, ready};
use crate::error::BenchError;
use crate::loopback;
use crate::processes::Processes;
use crate::service::{LockClient, Service};
use crate::storage::Storage;
use wire::{CreateMode, NO_NODE, NODE_EXISTS, RequestError, ZookeeperSession};

const MAIN: &str = "org.apache.zookeeper.server.quorum.QuorumPeerMain";

/// The session timeout must be two to twenty ticks: one to ten seconds.
const TICK_MS: u32 = 500;

/// Path of the Debian package.
const DEBIAN: &str = "/usr/share/java/zookeeper.jar";

pub(super) struct Zookeeper {
    addresses: Vec<SocketAddr>,
    processes: Processes,
    version: String,
    _folder: TempDir,
}

impl Zookeeper {
    pub(super) async fn start(storage: Storage) -> Result<Self, Absent> {
        let (java, classes) = (program("java")?, class_path()?);
        let folder = storage.folder()?;
        let ports = loopback::free_ports(3 * NODES).map_err(BenchError::new)?;
        let addresses = ports[2 * NODES..].to_vec();
        let mut processes = Processes::default();
        for node in 0..NODES {
            let file = write_config(folder.path(), node, &ports).map_err(BenchError::new)?;
            let mut command = Command::new(&java);
            command.args(["-Xmx512m", "-Dzookeeper.admin.enableServer=false", "-cp", &classes]);
            command.arg(MAIN).arg(file);
            processes.start_logged(&mut command, &folder.path().join(format!("log-{node}")))?;
        }
        let mut all = Self { addresses, processes, version: String::new(), _folder: folder };
        for node in 0..NODES {
            all.ready(node).await?;
        }
        all.version = version(all.addresses[0]).await?;
        Ok(all)
    }

    /// Waits until a node grants a session, because then it knows a leader.
    async fn ready(&mut self, node: usize) -> Result<(), Absent> {
        let address = self.addresses[node];
        ready(&mut self.processes, node, || ZookeeperSession::open(address, Duration::from_secs(1)))
            .await
    }

    pub(super) fn version(&self) -> &str {
        &self.version
    }
}

/// Java class path: from ZOOKEEPER_HOME, or of the Debian package.
fn class_path() -> Result<String, Absent> {
    if let Some(home) = std::env::var_os("ZOOKEEPER_HOME") {
        let home = PathBuf::from(home);
        return match home.join("lib").is_dir() {
            true => Ok(format!("{}/lib/*", home.display())),
            false => Err(Absent::Missing(format!("{} has no folder lib", home.display()))),
        };
    }
    match Path::new(DEBIAN).exists() {
        true => Ok(DEBIAN.to_owned()),
        false => {
            Err(Absent::Missing(format!("there is no {DEBIAN}, and ZOOKEEPER_HOME is not set")))
        }
    }
}

fn write_config(folder: &Path, node: usize, ports: &[SocketAddr]) -> std::io::Result<PathBuf> {
    let home = folder.join(format!("n{node}"));
    std::fs::create_dir(&home)?;
    std::fs::write(home.join("myid"), format!("{}", node + 1))?;
    let mut text = format!(
        "tickTime={TICK_MS}\ninitLimit=40\nsyncLimit=20\nmaxClientCnxns=0\n4lw.commands.whitelist=srvr\n\
         dataDir={}\nclientPort={}\nclientPortAddress=127.0.0.1\n",
        home.display(),
        ports[2 * NODES + node].port()
    );
    for other in 0..NODES {
        let (peer, election) = (ports[other].port(), ports[NODES + other].port());
        text += &format!("server.{}=127.0.0.1:{peer}:{election}\n", other + 1);
    }
    let file = folder.join(format!("n{node}.cfg"));
    std::fs::write(&file, text)?;
    Ok(file)
}

/// Version that a server reports.
async fn version(address: SocketAddr) -> Result<String, BenchError> {
    let mut stream = loopback::dial(address).await.map_err(BenchError::new)?;
    stream.write_all(b"srvr").await.map_err(BenchError::new)?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply).await.map_err(BenchError::new)?;
    let line = reply.lines().find_map(|line| line.strip_prefix("Zookeeper version: "));
    let number = line.and_then(|line| line.split(['-', ',']).next()).unwrap_or("unknown");
    Ok(format!("ZooKeeper {number}"))
}

impl Service for Zookeeper {
    type Client = ZookeeperLockClient;

    async fn connect(
        &self,
        number: usize,
        ttl: Duration,
    ) -> Result<ZookeeperLockClient, BenchError> {
        let session = ZookeeperSession::open(self.addresses[number % NODES], ttl).await?;
        Ok(ZookeeperLockClient { session, parent: String::new(), own: None })
    }

    fn processes(&self) -> &Processes {
        &self.processes
    }

    async fn messages(&self) -> Option<u64> {
        None
    }
}

pub(super) struct ZookeeperLockClient {
    session: ZookeeperSession,
    /// Parent node of the last lock. It is never deleted.
    parent: String,
    own: Option<String>,
}

impl ZookeeperLockClient {
    /// Creates the parent nodes of a lock, unless the last lock had the same ones.
    async fn parents(&mut self, name: &str) -> Result<(), RequestError> {
        if self.parent.get(1..) == Some(name) {
            return Ok(());
        }
        let mut path = String::new();
        for part in name.split('/') {
            path = format!("{path}/{part}");
            match self.session.create(&path, CreateMode::Persistent).await {
                Ok(_) | Err(RequestError::Code(NODE_EXISTS)) => {}
                Err(other) => return Err(other),
            }
        }
        self.parent = path;
        Ok(())
    }

    async fn take(&mut self, name: &str) -> Result<(), RequestError> {
        self.parents(name).await?;
        let path = format!("{}/lock-", self.parent);
        let own = self.session.create(&path, CreateMode::EphemeralSequential).await?;
        let own_name = own.rsplit('/').next().unwrap_or("").to_owned();
        self.own = Some(own);
        loop {
            let others = self.session.children(&self.parent).await?;
            let Some(before) = others.into_iter().filter(|other| *other < own_name).max() else {
                return Ok(());
            };
            match self.session.watch(&format!("{}/{before}", self.parent)).await {
                Ok(()) => self.session.event().await?,
                // The node was deleted in the meantime.
                Err(RequestError::Code(NO_NODE)) => {}
                Err(other) => return Err(other),
            }
        }
    }
}

impl LockClient for ZookeeperLockClient {
    async fn acquire(&mut self, name: &str) -> Result<(), BenchError> {
        Ok(self.take(name).await?)
    }

    async fn release(&mut self) -> Result<(), BenchError> {
        match self.own.take() {
            Some(own) => Ok(self.session.delete(&own).await?),
            None => Ok(()),
        }
    }
}
