//! Nodes whose folder is lost, with all that they remembered.

use std::path::Path;
use std::time::Duration;

use quorate_client::{Client, SessionOptions};
use quorate_service::{Disk, Extras, Node, NodeConfig, launch};

/// Three nodes of a file each, with short leases. They have an address of their own, so that nobody takes their ports while
/// they are away.
struct Cluster {
    folder: tempfile::TempDir,
    address: String,
    nodes: Vec<Option<Node>>,
}

impl Cluster {
    async fn start(number: usize) -> Self {
        let process = std::process::id() as usize;
        let address = format!("127.{}.{}.{number}", 64 + process % 128, process / 128 % 256);
        let folder = tempfile::tempdir().expect("a folder");
        let mut cluster = Self { folder, address, nodes: vec![None, None, None] };
        for node in 0..3 {
            cluster.launch(node, true).await;
        }
        cluster.well().await;
        cluster
    }

    fn data(&self, node: usize) -> std::path::PathBuf {
        self.folder.path().join(format!("data-{node}"))
    }

    async fn launch(&mut self, node: usize, new: bool) {
        let at = &self.address;
        let text = format!(
            "cluster = \"1\"\nid = {node}\nclients = \"{at}:748{node}\"\ndata = \"data-{node}\"\nlease_ms = 400\nanswer_ms = 50\n[peers]\n0 = \"{at}:7490\"\n1 = \"{at}:7491\"\n2 = \"{at}:7492\"\n"
        );
        let file = self.folder.path().join(format!("node-{node}.toml"));
        std::fs::write(&file, text).expect("a disk");
        let config = NodeConfig::read(Path::new(&file)).expect("it makes sense");
        let (started, _) = launch(&config, new, Extras::default()).await.expect("it starts");
        self.nodes[node] = Some(started);
    }

    async fn stop(&mut self, node: usize) {
        self.nodes[node].take().expect("it runs").stop(Duration::ZERO).await;
    }

    async fn restart(&mut self, node: usize) {
        self.stop(node).await;
        self.launch(node, false).await;
        self.well().await;
    }

    fn client(&self, node: usize) -> Client {
        Client::new([format!("{}:748{node}", self.address)])
    }

    /// All nodes that run vote and hear each other.
    async fn well(&self) {
        let running = self.nodes.iter().flatten().count();
        for node in (0..3).filter(|node| self.nodes[*node].is_some()) {
            let well = async {
                loop {
                    let status = self.client(node).status().await.expect("it answers");
                    let up = status.members.iter().filter(|member| member.up).count();
                    if status.votes && status.quorum && up >= running {
                        return;
                    }
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            };
            let waited = tokio::time::timeout(Duration::from_secs(20), well).await;
            assert!(
                waited.is_ok(),
                "node {node} does not take part: {:?}",
                self.client(node).status().await
            );
        }
    }

    async fn token(&self, node: usize) -> u64 {
        let session =
            self.client(node).session(SessionOptions::default()).await.expect("a session");
        let request = session.lock("x").expect("a name").wait(Duration::from_secs(20));
        let guard = request.acquire().await.expect("a quorum is there");
        let token = guard.token();
        guard.release().await.expect("held");
        token
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_without_its_folder_takes_part_again() {
    let mut cluster = Cluster::start(1).await;
    cluster.restart(1).await;
    cluster.token(0).await;
    cluster.stop(1).await;
    std::fs::remove_dir_all(cluster.data(1)).expect("it is there");
    cluster.launch(1, false).await;
    cluster.well().await;
    // And it goes on living from there.
    cluster.restart(1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_node_votes_after_it_has_forgotten_is_on_its_disk() {
    let mut cluster = Cluster::start(2).await;
    // Numbers of those who start again begin a block later, so that they are far from those of the others.
    for _ in 0..3 {
        cluster.restart(0).await;
    }
    cluster.stop(2).await;
    let before = cluster.token(0).await;
    cluster.launch(2, false).await;
    cluster.well().await;
    cluster.stop(1).await;
    std::fs::remove_dir_all(cluster.data(1)).expect("it is there");
    cluster.launch(1, false).await;
    let disk = Disk::open(&cluster.data(1)).expect("a folder");
    let early = disk.read().expect("readable").expect("it has started");
    assert_eq!(early.mark, None, "nobody has told it how far it had come");
    cluster.well().await;
    // Only it and node 0 are left to vote.
    cluster.stop(2).await;
    let after = cluster.token(0).await;
    assert!(after > before, "{after} after {before}");
    let late = disk.read().expect("readable").expect("it is there");
    assert!(late.mark >= Some(after), "{late:?} and it has voted for {after}");
    // In its next life it does not fall back, though node 0, which knows better, is gone.
    cluster.stop(1).await;
    cluster.launch(1, false).await;
    cluster.launch(2, false).await;
    cluster.stop(0).await;
    cluster.well().await;
    let last = cluster.token(1).await;
    assert!(last > after, "{last} after {after}");
}
