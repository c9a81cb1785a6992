//! Locks outlive nodes: relayed sessions continue through other nodes, and voters keep their votes over restarts.

use std::path::Path;
use std::time::Duration;

use quorate_client::{Client, Guard, Name, Session, SessionOptions};
use quorate_service::{Extras, FirstStart, Node, NodeConfig, launch};

/// Three nodes with a configuration file and a data folder each. They have a separate loopback address, so that no other
/// process takes their ports while they are stopped.
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
        cluster.ready().await;
        cluster
    }

    async fn launch(&mut self, node: usize, new: bool) {
        let at = &self.address;
        let text = format!(
            "cluster = \"1\"\nid = {node}\nclients = \"{at}:748{node}\"\ndata = \"data-{node}\"\nttl_most_ms = 30000\nanswer_ms = 100\n[peers]\n0 = \"{at}:7490\"\n1 = \"{at}:7491\"\n2 = \"{at}:7492\"\n"
        );
        let file = self.folder.path().join(format!("node-{node}.toml"));
        std::fs::write(&file, text).expect("a disk");
        let config = NodeConfig::read(Path::new(&file)).expect("it makes sense");
        let (started, _) = launch(&config, FirstStart::of_cluster(new), Extras::default())
            .await
            .expect("it starts");
        self.nodes[node] = Some(started);
    }

    /// Waits until all running nodes vote and are connected. A voter that had forgotten its votes would
    /// abstain for much longer.
    async fn ready(&self) {
        let running = self.nodes.iter().flatten().count();
        let ready = async {
            for node in self.nodes.iter().flatten() {
                while !(node.is_ready().await && node.peers_up().await + 1 == running) {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(15), ready).await.expect("they vote at once");
    }

    /// Creates a client that knows all nodes, beginning with this one.
    fn client(&self, first: usize) -> Client {
        Client::new((0..3).map(|place| format!("{}:748{}", self.address, (first + place) % 3)))
    }

    async fn session(&self, first: usize) -> Session {
        let ttl = Duration::from_secs(8);
        let options = SessionOptions { ttl, relayed: true, ..SessionOptions::default() };
        self.client(first).session(options).await.expect("a session")
    }

    /// Returns the texts of the requests for a lock in order: the holder first.
    async fn queue(&self, node: usize, lock: &str) -> Vec<String> {
        let list = self.client(node).list(lock, 10).await.expect("a list");
        list.into_iter().map(|about| about.why).collect()
    }
}

async fn acquire(session: &Session, lock: &str, why: &str) -> Guard {
    session.lock(lock).expect("a name").why(why).acquire().await.expect("its turn")
}

/// Makes a request that waits.
async fn wait(session: &Session, lock: &str, why: &str) -> tokio::task::JoinHandle<Guard> {
    let request = session.lock(lock).expect("a name").why(why);
    let waiting = tokio::spawn(async move { request.acquire().await.expect("its turn") });
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!waiting.is_finished(), "it is held");
    waiting
}

/// Checks that the guard is valid with the same token, and stays valid through another node.
async fn goes_on(cluster: &Cluster, node: usize, guard: &Guard) {
    let before = guard.deadline();
    tokio::time::timeout(Duration::from_secs(6), async {
        while guard.deadline() <= before {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
    .expect("it is kept alive");
    assert!(guard.is_held(), "{:?}", guard.loss());
    let token_status = cluster.client(node).check_token(guard.name().clone(), guard.token()).await;
    assert!(token_status.expect("a quorum").current);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_outlives_the_node_that_it_came_through() {
    let mut cluster = Cluster::start(3).await;
    let (a, b, c) = (cluster.session(0).await, cluster.session(0).await, cluster.session(1).await);
    let held = acquire(&a, "deploy", "a").await;
    let second = wait(&b, "deploy", "b").await;
    let third = wait(&c, "deploy", "c").await;
    let token = held.token();
    cluster.nodes[0].take().expect("it runs").kill().await;
    goes_on(&cluster, 1, &held).await;
    assert_eq!(held.token(), token);
    assert_eq!(cluster.queue(1, "deploy").await, ["a", "b", "c"], "nobody has lost its place");
    assert!(!second.is_finished() && !third.is_finished());
    held.release().await.expect("it is held");
    let second = tokio::time::timeout(Duration::from_secs(5), second).await;
    let second = second.expect("in time").expect("no panic");
    assert!(second.token() > token && second.is_held() && !third.is_finished());
    let token = second.token();
    second.release().await.expect("it is held");
    let third = tokio::time::timeout(Duration::from_secs(5), third).await;
    assert!(third.expect("in time").expect("no panic").token() > token);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn votes_outlive_nodes_that_are_killed() {
    let mut cluster = Cluster::start(4).await;
    let a = cluster.session(0).await;
    let held = acquire(&a, "deploy", "a").await;
    // Spare votes are taken shortly after the grant.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let before = held.deadline();
    for node in 0..3 {
        cluster.nodes[node].take().expect("it runs").kill().await;
    }
    for node in 0..3 {
        cluster.launch(node, false).await;
    }
    cluster.ready().await;
    goes_on(&cluster, 2, &held).await;
    assert!(held.deadline() > before);
    let b = cluster.session(1).await;
    let busy = b.lock("deploy").expect("a name").wait(Duration::ZERO).acquire().await;
    assert!(busy.is_err(), "it is held");
    let token = held.token();
    held.release().await.expect("it is held");
    assert!(acquire(&b, "deploy", "b").await.token() > token);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rolling_restart_loses_nothing() {
    let mut cluster = Cluster::start(5).await;
    let sessions = [cluster.session(0).await, cluster.session(1).await, cluster.session(2).await];
    let mut guards = Vec::new();
    for (place, session) in sessions.iter().enumerate() {
        guards.push(acquire(session, &format!("lock {place}"), "holds").await);
    }
    let waiter = cluster.session(0).await;
    let waiting = wait(&waiter, "lock 0", "waits").await;
    let tokens: Vec<u64> = guards.iter().map(Guard::token).collect();
    for node in 0..3 {
        let stops = cluster.nodes[node].take().expect("it runs");
        stops.stop(Duration::from_secs(3)).await;
        cluster.launch(node, false).await;
        cluster.ready().await;
        for guard in &guards {
            assert!(guard.is_held(), "{:?} after node {node}", guard.loss());
        }
    }
    for (guard, token) in guards.iter().zip(&tokens) {
        goes_on(&cluster, 0, guard).await;
        assert_eq!(guard.token(), *token);
    }
    assert_eq!(cluster.queue(1, "lock 0").await, ["holds", "waits"]);
    assert!(!waiting.is_finished());
    guards.remove(0).release().await.expect("it is held");
    let next = tokio::time::timeout(Duration::from_secs(5), waiting).await;
    assert!(next.expect("in time").expect("no panic").token() > tokens[0]);
    let name = Name::lock("lock 0").expect("a name");
    let token_status = cluster.client(2).check_token(name, tokens[0]).await.expect("a quorum");
    assert!(!token_status.current, "{token_status:?}");
}
