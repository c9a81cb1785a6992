//! Three nodes with a configuration file each.

use std::path::Path;
use std::time::Duration;

use quorate_client::{Client, SessionOptions};
use quorate_service::{Extras, FirstStart, Node, NodeConfig, launch};

use super::Web;

/// Settings with short leases.
pub(crate) const SHORT: &str = "lease_ms = 400\nanswer_ms = 50\n";

/// Three nodes with a configuration file each and short leases. They have a separate loopback address, so that no other
/// process takes their ports while they are stopped.
pub(crate) struct Cluster {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) address: String,
    pub(crate) nodes: Vec<Option<Node>>,
    /// Lines before `[peers]` in the file of each node.
    pub(crate) settings: [&'static str; 3],
}

impl Cluster {
    pub(crate) async fn start(number: usize) -> Self {
        let mut cluster = Self::new(number);
        for node in 0..3 {
            cluster.launch(node, true).await;
        }
        cluster.until_ready().await;
        cluster
    }

    /// Creates three nodes that are not started yet.
    pub(crate) fn new(number: usize) -> Self {
        let process = std::process::id() as usize;
        let address = format!("127.{}.{}.{number}", 64 + process % 128, process / 128 % 256);
        let folder = tempfile::tempdir().expect("a folder");
        Self { folder, address, nodes: vec![None, None, None], settings: [SHORT; 3] }
    }

    pub(crate) fn data(&self, node: usize) -> std::path::PathBuf {
        self.folder.path().join(format!("data-{node}"))
    }

    pub(crate) async fn launch(&mut self, node: usize, new: bool) {
        let config = self.config(node);
        let (started, _) = launch(&config, FirstStart::of_cluster(new), Extras::default())
            .await
            .expect("it starts");
        self.nodes[node] = Some(started);
    }

    pub(crate) fn config(&self, node: usize) -> NodeConfig {
        let (at, settings) = (&self.address, self.settings[node]);
        let text = format!(
            "cluster = \"1\"\nid = {node}\nclients = \"{at}:748{node}\"\ndata = \"data-{node}\"\n{settings}[peers]\n0 = \"{at}:7490\"\n1 = \"{at}:7491\"\n2 = \"{at}:7492\"\n"
        );
        let file = self.folder.path().join(format!("node-{node}.toml"));
        std::fs::write(&file, text).expect("a disk");
        NodeConfig::read(Path::new(&file)).expect("it makes sense")
    }

    pub(crate) fn web(&self, node: usize) -> Web {
        let address = format!("{}:748{node}", self.address).parse().expect("an address");
        Web { address, token: None }
    }

    /// Waits until the response of `/readyz` contains `wanted`.
    pub(crate) async fn readyz(&self, node: usize, wanted: &str) -> String {
        let mut last = String::new();
        for _ in 0..500 {
            last = self.web(node).text("/readyz").await;
            if last.contains(wanted) {
                return last;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("node {node} does not say {wanted}: {last}");
    }

    pub(crate) async fn stop(&mut self, node: usize) {
        self.nodes[node].take().expect("it runs").stop(Duration::ZERO).await;
    }

    pub(crate) async fn restart(&mut self, node: usize) {
        self.stop(node).await;
        self.launch(node, false).await;
        self.until_ready().await;
    }

    pub(crate) fn client(&self, node: usize) -> Client {
        Client::new([format!("{}:748{node}", self.address)])
    }

    /// Waits until all running nodes vote and are connected.
    pub(crate) async fn until_ready(&self) {
        let running = self.nodes.iter().flatten().count();
        for node in (0..3).filter(|node| self.nodes[*node].is_some()) {
            let until_ready = async {
                loop {
                    let status = self.client(node).status().await.expect("it answers");
                    let up = status.members.iter().filter(|member| member.up).count();
                    if status.votes && status.quorum && up >= running {
                        return;
                    }
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            };
            let waited = tokio::time::timeout(Duration::from_secs(20), until_ready).await;
            assert!(
                waited.is_ok(),
                "node {node} does not take part: {:?}",
                self.client(node).status().await
            );
        }
    }

    pub(crate) async fn token(&self, node: usize) -> u64 {
        let session =
            self.client(node).session(SessionOptions::default()).await.expect("a session");
        let request = session.lock("x").expect("a name").wait(Duration::from_secs(20));
        let guard = request.acquire().await.expect("a quorum is there");
        let token = guard.token();
        guard.release().await.expect("held");
        token
    }
}
