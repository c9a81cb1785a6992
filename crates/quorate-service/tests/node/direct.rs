//! Direct sessions: the client is connected to all nodes itself, and no node's failure takes its locks.

use std::path::Path;
use std::time::Duration;

use crate::support::cluster;
use quorate_client::{Client, Error, Failure, Loss, Moment, Session, SessionOptions};
use quorate_service::{Extras, FirstStart, LocalCluster, Node, NodeConfig, launch};

const TTL: Duration = Duration::from_millis(1_500);

fn options() -> SessionOptions {
    SessionOptions { ttl: TTL, ..SessionOptions::default() }
}

/// Opens a session whose client knows only one node at first.
async fn session(cluster: &LocalCluster, node: usize) -> Session {
    let client = Client::new([cluster.nodes[node].address().to_string()]);
    let session = client.session(options()).await.expect("a session");
    assert!(session.is_direct(), "all nodes can be reached");
    session
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_one_node_may_die_while_a_lock_is_held() {
    for dies in 0..3 {
        let cluster = cluster(3).await;
        let (a, b) = (session(&cluster, 0).await, session(&cluster, 0).await);
        let guard = a.lock("x").expect("a name").acquire().await.expect("it is free");
        let token = guard.token();
        let waiting = tokio::spawn(b.lock("x").expect("a name").acquire());
        tokio::time::sleep(Duration::from_millis(100)).await;
        cluster.nodes[dies].abort();
        let until = Moment::now().later(TTL * 3);
        while Moment::now() < until {
            assert!(guard.is_held(), "node {dies}: {:?}", guard.loss());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(!waiting.is_finished() && guard.token() == token);
        guard.release().await.expect("it is held");
        let next = tokio::time::timeout(Duration::from_secs(5), waiting).await.expect("in time");
        assert!(next.expect("no panic").expect("its turn").token() > token);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_quorum_a_lock_ends_in_time_and_nothing_is_granted() {
    let cluster = cluster(3).await;
    let (a, b) = (session(&cluster, 0).await, session(&cluster, 1).await);
    let guard = a.lock("x").expect("a name").acquire().await.expect("it is free");
    let waiting = tokio::spawn(b.lock("x").expect("a name").acquire());
    tokio::time::sleep(Duration::from_millis(100)).await;
    cluster.nodes[0].abort();
    cluster.nodes[1].abort();
    let killed = Moment::now();
    guard.expiring().await;
    assert!(guard.is_held(), "there is time to stop: {:?}", guard.loss());
    guard.expiring_within(Duration::ZERO).await;
    assert!(!guard.is_held());
    assert!(Moment::now() < killed.later(TTL + Duration::from_millis(500)));
    tokio::time::sleep(TTL).await;
    assert!(!guard.is_held() && guard.loss() == Some(Loss::NoQuorum), "{:?}", guard.loss());
    assert!(!waiting.is_finished(), "one voter grants nothing");
    let none = a.lock("y").expect("a name").wait(Duration::ZERO).acquire().await;
    assert!(matches!(none, Err(Error::Failed(Failure::NoQuorum))), "{none:?}");
}

/// Three nodes with a configuration file each, at a separate loopback address.
struct Nodes {
    folder: tempfile::TempDir,
    address: String,
    /// Client address that nodes advertise, if it differs from the address that they listen on.
    advertise: Option<&'static str>,
    nodes: Vec<Option<Node>>,
}

impl Nodes {
    async fn start(number: usize, advertise: Option<&'static str>) -> Self {
        let process = std::process::id() as usize;
        let address = format!("127.{}.{}.{number}", 64 + process % 128, process / 128 % 256);
        let folder = tempfile::tempdir().expect("a folder");
        let mut nodes = Self { folder, address, advertise, nodes: vec![None, None, None] };
        for node in 0..3 {
            nodes.launch(node, true).await;
        }
        nodes.until_ready().await;
        nodes
    }

    async fn launch(&mut self, node: usize, new: bool) {
        let at = &self.address;
        let advertise =
            self.advertise.map_or(String::new(), |to| format!("advertise = \"{to}\"\n"));
        let text = format!(
            "cluster = \"1\"\nid = {node}\nclients = \"{at}:748{node}\"\ndata = \"data-{node}\"\n{advertise}\
             ttl_most_ms = 10000\nanswer_ms = 100\n[peers]\n0 = \"{at}:7490\"\n1 = \"{at}:7491\"\n2 = \"{at}:7492\"\n"
        );
        let file = self.folder.path().join(format!("node-{node}.toml"));
        std::fs::write(&file, text).expect("a disk");
        let config = NodeConfig::read(Path::new(&file)).expect("it makes sense");
        let (started, _) = launch(&config, FirstStart::of_cluster(new), Extras::default())
            .await
            .expect("it starts");
        self.nodes[node] = Some(started);
    }

    fn endpoint(&self, node: usize) -> String {
        format!("{}:748{node}", self.address)
    }

    /// Waits until all nodes run and are connected.
    async fn until_ready(&self) {
        for node in self.nodes.iter().flatten() {
            while !(node.is_ready().await && node.peers_up().await == 2) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    }

    async fn restart(&mut self, node: usize) {
        let stopped = self.nodes[node].take().expect("it runs");
        stopped.stop(Duration::from_secs(2)).await;
        self.launch(node, false).await;
        self.until_ready().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn holders_and_waiters_keep_their_places_while_all_nodes_restart() {
    let mut nodes = Nodes::start(21, None).await;
    let client = Client::new([nodes.endpoint(0)]);
    let options = || SessionOptions { ttl: Duration::from_secs(4), ..SessionOptions::default() };
    let mut sessions = Vec::new();
    for _ in 0..3 {
        let session = client.session(options()).await.expect("a session");
        assert!(session.is_direct());
        sessions.push(session);
    }
    let held = sessions[0].lock("x").expect("a name").acquire().await.expect("it is free");
    let second = tokio::spawn(sessions[1].lock("x").expect("a name").acquire());
    tokio::time::sleep(Duration::from_millis(200)).await;
    let third = tokio::spawn(sessions[2].lock("x").expect("a name").acquire());
    for node in 0..3 {
        nodes.restart(node).await;
        assert!(held.is_held(), "node {node}: {:?}", held.loss());
    }
    assert!(!second.is_finished() && !third.is_finished());
    let token = held.token();
    held.release().await.expect("it is held");
    let second = tokio::time::timeout(Duration::from_secs(8), second).await.expect("in time");
    let second = second.expect("no panic").expect("the first in the queue");
    assert!(second.token() > token && !third.is_finished());
    drop(second);
    let third = tokio::time::timeout(Duration::from_secs(8), third).await.expect("in time");
    third.expect("no panic").expect("the last in the queue");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_reaches_one_node_only_is_relayed() {
    // Nothing listens on this port.
    let nodes = Nodes::start(22, Some("127.0.0.1:9")).await;
    let client = Client::new([nodes.endpoint(0)]);
    let session = client.session(options()).await.expect("a session");
    assert!(!session.is_direct());
    let guard = session.lock("x").expect("a name").acquire().await.expect("it is free");
    let other = Client::new((0..3).map(|node| nodes.endpoint(node)));
    let direct = other.session(options()).await.expect("a session");
    assert!(direct.is_direct(), "the user has named all nodes");
    let busy = direct.lock("x").expect("a name").wait(Duration::ZERO).acquire().await;
    assert!(matches!(busy, Err(Error::Failed(Failure::Busy))), "{busy:?}");
    let token = guard.token();
    tokio::time::sleep(TTL * 2).await;
    assert!(guard.is_held(), "{:?}", guard.loss());
    guard.release().await.expect("it is held");
    let next = direct.lock("x").expect("a name").wait(Duration::from_secs(5)).acquire().await;
    assert!(next.expect("it is free").token() > token);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_cluster_bounds_the_ttl() {
    let cluster = cluster(3).await;
    let client = Client::new([cluster.nodes[0].address().to_string()]);
    let ttl = Duration::from_millis(1);
    let session = client.session(SessionOptions { ttl, ..options() }).await.expect("a session");
    assert!(session.ttl() > ttl, "{:?}", session.ttl());
    let why = "x".repeat(5_000);
    let long = session.lock("x").expect("a name").why(&why).acquire().await;
    assert!(matches!(long, Err(Error::Failed(Failure::TooMuch(_)))), "{long:?}");
}
