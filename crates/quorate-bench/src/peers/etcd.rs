//! etcd: three nodes, with its own lock service (`v3lock`) over gRPC.
//!
//! A client has its own connection and its own lease, which it keeps alive. Waiting happens on the server, so the client
//! never retries.

use std::process::Command;
use std::time::Duration;

use futures_util::stream;
use quorate_protocol::etcd::etcdserverpb::lease_client::LeaseClient;
use quorate_protocol::etcd::etcdserverpb::{LeaseGrantRequest, LeaseKeepAliveRequest};
use quorate_protocol::etcd::v3lockpb::lock_client::LockClient as Locks;
use quorate_protocol::etcd::v3lockpb::{LockRequest, UnlockRequest};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tonic::transport::{Channel, Endpoint};

use super::{Absent, NODES, program, ready, version_line};
use crate::error::BenchError;
use crate::loopback;
use crate::processes::Processes;
use crate::service::{LockClient, Service};
use crate::storage::Storage;

pub(super) struct Etcd {
    endpoints: Vec<String>,
    processes: Processes,
    version: String,
    _folder: TempDir,
}

impl Etcd {
    pub(super) async fn start(storage: Storage) -> Result<Self, Absent> {
        let server = program("etcd")?;
        let version = version_line(&server, &["--version"])?;
        let folder = storage.folder()?;
        let ports = loopback::free_ports(2 * NODES).map_err(BenchError::new)?;
        let url = |port: &std::net::SocketAddr| format!("http://{port}");
        let (peers, endpoints): (Vec<_>, Vec<_>) =
            (ports[..NODES].iter().map(url).collect(), ports[NODES..].iter().map(url).collect());
        let cluster: Vec<String> =
            peers.iter().enumerate().map(|(node, peer)| format!("n{node}={peer}")).collect();
        let mut processes = Processes::default();
        for (node, (peer, endpoint)) in peers.iter().zip(&endpoints).enumerate() {
            let home = folder.path().join(format!("n{node}"));
            let mut command = Command::new(&server);
            command.args(["--name", &format!("n{node}"), "--log-level", "error", "--data-dir"]);
            command.arg(&home);
            command.args(["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer]);
            command.args(["--listen-client-urls", endpoint, "--advertise-client-urls", endpoint]);
            command.args(["--initial-cluster", &cluster.join(",")]);
            // The environment may configure another etcd.
            for (name, _) in std::env::vars_os() {
                if name.to_string_lossy().starts_with("ETCD_") {
                    command.env_remove(name);
                }
            }
            processes.start_logged(&mut command, &folder.path().join(format!("log-{node}")))?;
        }
        let mut all = Self { endpoints, processes, version, _folder: folder };
        for node in 0..NODES {
            all.ready(node).await?;
        }
        Ok(all)
    }

    /// Waits until a node grants a lease, because then it knows a leader.
    async fn ready(&mut self, node: usize) -> Result<(), Absent> {
        let endpoint = self.endpoints[node].clone();
        let leased = async || lease(&mut LeaseClient::new(channel(&endpoint).await?), 2).await;
        ready(&mut self.processes, node, leased).await
    }

    pub(super) fn version(&self) -> &str {
        &self.version
    }
}

async fn channel(endpoint: &str) -> Result<Channel, BenchError> {
    let endpoint = Endpoint::from_shared(endpoint.to_owned()).map_err(BenchError::new)?;
    endpoint.tcp_nodelay(true).connect().await.map_err(BenchError::new)
}

async fn lease(leases: &mut LeaseClient<Channel>, seconds: i64) -> Result<i64, BenchError> {
    let wanted = LeaseGrantRequest { ttl: seconds, id: 0 };
    Ok(leases.lease_grant(wanted).await.map_err(BenchError::new)?.into_inner().id)
}

impl Service for Etcd {
    type Client = EtcdLockClient;

    async fn connect(&self, number: usize, ttl: Duration) -> Result<EtcdLockClient, BenchError> {
        let channel = channel(&self.endpoints[number % NODES]).await?;
        let mut leases = LeaseClient::new(channel.clone());
        let lease = lease(&mut leases, ttl.as_secs().max(1) as i64).await?;
        let keep_alive_task = tokio::spawn(async move {
            let _ = keep_alive(leases, lease, ttl / 3).await;
        });
        Ok(EtcdLockClient { locks: Locks::new(channel), lease, key: Vec::new(), keep_alive_task })
    }

    fn processes(&self) -> &Processes {
        &self.processes
    }

    async fn messages(&self) -> Option<u64> {
        None
    }
}

/// Renews the lease periodically.
async fn keep_alive(
    mut leases: LeaseClient<Channel>,
    lease: i64,
    pause: Duration,
) -> Result<(), tonic::Status> {
    loop {
        tokio::time::sleep(pause).await;
        let alive = stream::iter([LeaseKeepAliveRequest { id: lease }]);
        leases.lease_keep_alive(alive).await?.into_inner().message().await?;
    }
}

pub(super) struct EtcdLockClient {
    locks: Locks<Channel>,
    lease: i64,
    key: Vec<u8>,
    keep_alive_task: JoinHandle<()>,
}

impl LockClient for EtcdLockClient {
    async fn acquire(&mut self, name: &str) -> Result<(), BenchError> {
        let wanted = LockRequest { name: name.as_bytes().to_vec(), lease: self.lease };
        self.key = self.locks.lock(wanted).await.map_err(BenchError::new)?.into_inner().key;
        Ok(())
    }

    async fn release(&mut self) -> Result<(), BenchError> {
        let key = std::mem::take(&mut self.key);
        self.locks.unlock(UnlockRequest { key }).await.map_err(BenchError::new)?;
        Ok(())
    }
}

impl Drop for EtcdLockClient {
    fn drop(&mut self) {
        self.keep_alive_task.abort();
    }
}
