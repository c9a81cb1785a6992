//! A quorate cluster on loopback, with one process per node.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use quorate_client::{Client, Guard, Session, SessionOptions};
use quorate_core::ProcessId;
use quorate_net::certs;
use tempfile::TempDir;

use crate::error::BenchError;
use crate::loopback::free_ports;
use crate::processes::Processes;
use crate::service::{LockClient, Service};

/// Command that starts a node. The path of the node's configuration file is appended.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Path of the program.
    pub program: PathBuf,
    /// Arguments before the configuration file.
    pub arguments: Vec<String>,
}

/// Transport between the nodes of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// Mutual TLS with certificates on both sides.
    Tls,
    /// Plain TCP without encryption.
    Plain,
}

/// Cluster that runs until it is dropped.
#[derive(Debug)]
pub struct QuorateCluster {
    endpoints: Vec<String>,
    processes: Processes,
    _folder: TempDir,
}

impl QuorateCluster {
    /// Starts a cluster of `nodes` nodes and waits until it grants locks.
    pub async fn start(launch: &Launch, nodes: usize, wire: Wire) -> Result<Self, BenchError> {
        let folder = tempfile::tempdir().map_err(BenchError::new)?;
        let addresses = free_ports(2 * nodes).map_err(BenchError::new)?;
        let (peers, clients) = addresses.split_at(nodes);
        if wire == Wire::Tls {
            let nodes = (0..nodes).map(|node| (ProcessId::from_index(node), Vec::new())).collect();
            let wanted = certs::CertsSpec { nodes, clients: Vec::new(), days: 1, renew: false };
            certs::make(&folder.path().join("certs"), &wanted).map_err(BenchError::new)?;
        }
        let mut processes = Processes::default();
        for (node, address) in clients.iter().enumerate() {
            let file = write_config(folder.path(), node, peers, *address, wire);
            let mut command = Command::new(&launch.program);
            processes.start(command.args(&launch.arguments).arg(file.map_err(BenchError::new)?))?;
        }
        let endpoints = clients.iter().map(ToString::to_string).collect();
        let cluster = Self { endpoints, processes, _folder: folder };
        cluster.ready().await?;
        Ok(cluster)
    }

    async fn ready(&self) -> Result<(), BenchError> {
        let start = Instant::now();
        for endpoint in &self.endpoints {
            loop {
                let status = Client::new([endpoint.as_str()]).status().await;
                match status {
                    Ok(status) if status.votes && status.quorum => break,
                    _ if start.elapsed() < Duration::from_secs(20) => {}
                    Ok(_) => {
                        return Err(BenchError(format!("{endpoint} does not reach a quorum")));
                    }
                    Err(error) => return Err(BenchError(format!("{endpoint}: {error}"))),
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        Ok(())
    }
}

fn write_config(
    folder: &Path,
    node: usize,
    peers: &[SocketAddr],
    clients: SocketAddr,
    wire: Wire,
) -> std::io::Result<PathBuf> {
    let mut text = format!(
        "cluster = \"b\"\nid = {node}\nclients = \"{clients}\"\ndata = \"data-{node}\"\n[peers]\n"
    );
    for (peer, address) in peers.iter().enumerate() {
        text += &format!("{peer} = \"{address}\"\n");
    }
    if wire == Wire::Tls {
        text += &format!(
            "[tls]\nauthority = \"certs/ca.pem\"\ncertificate = \"certs/node-{node}.pem\"\nkey = \"certs/node-{node}.key\"\n"
        );
    }
    let file = folder.join(format!("node-{node}.toml"));
    std::fs::write(&file, text)?;
    Ok(file)
}

impl Service for QuorateCluster {
    type Client = QuorateLockClient;

    async fn connect(&self, number: usize, ttl: Duration) -> Result<QuorateLockClient, BenchError> {
        let endpoint = &self.endpoints[number % self.endpoints.len()];
        let client = Client::new([endpoint.as_str()]);
        let session = client
            .session(SessionOptions { ttl, ..SessionOptions::default() })
            .await
            .map_err(BenchError::new)?;
        Ok(QuorateLockClient { session, guard: None })
    }

    fn processes(&self) -> &Processes {
        &self.processes
    }

    async fn messages(&self) -> Option<u64> {
        let mut sum = 0;
        for endpoint in &self.endpoints {
            sum += Client::new([endpoint.as_str()]).status().await.ok()?.messages;
        }
        Some(sum)
    }
}

/// Client of a quorate cluster.
#[derive(Debug)]
pub struct QuorateLockClient {
    session: Session,
    guard: Option<Guard>,
}

impl LockClient for QuorateLockClient {
    async fn acquire(&mut self, name: &str) -> Result<(), BenchError> {
        let request = self.session.lock(name).map_err(BenchError::new)?;
        self.guard = Some(request.acquire().await.map_err(BenchError::new)?);
        Ok(())
    }

    async fn release(&mut self) -> Result<(), BenchError> {
        match self.guard.take() {
            Some(guard) => guard.release().await.map_err(BenchError::new),
            None => Ok(()),
        }
    }
}
