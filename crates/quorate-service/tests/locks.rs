//! A cluster in one process, with clients that connect to it over sockets.

#[path = "../../quorate-client/examples/lock/with_lock.rs"]
mod with_lock;

use std::net::SocketAddr;
use std::time::Duration;

use quorate_client::{Client, Error, Failure, Name, Session, SessionOptions};
use quorate_protocol::handshake;
use quorate_service::{LocalCluster, local_cluster};

async fn cluster(n: usize) -> LocalCluster {
    let cluster = local_cluster(n, SocketAddr::from(([127, 0, 0, 1], 0))).await.expect("loopback");
    cluster.ready().await;
    cluster
}

/// Opens a session at this node. Sessions of the second node are relayed; the others are connected to all nodes.
async fn session(cluster: &LocalCluster, node: usize) -> Session {
    let client = Client::new([cluster.nodes[node].address().to_string()]);
    let options = SessionOptions { relayed: node == 1, ..SessionOptions::default() };
    client.session(options).await.expect("a session")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_has_it_and_then_the_next() {
    let cluster = cluster(3).await;
    let (a, b) = (session(&cluster, 0).await, session(&cluster, 1).await);
    let first = a.lock("deploy").expect("a name").acquire().await.expect("it is free");
    assert!(first.is_held());
    let busy = b.lock("deploy").expect("a name").wait(Duration::ZERO).acquire().await;
    assert!(matches!(busy, Err(Error::Failed(Failure::Busy))), "{busy:?}");
    let late = b.lock("deploy").expect("a name").wait(Duration::from_millis(50)).acquire().await;
    assert!(matches!(late, Err(Error::Failed(Failure::TimedOut))), "{late:?}");
    let waiting = tokio::spawn(b.lock("deploy").expect("a name").acquire());
    tokio::time::sleep(Duration::from_millis(50)).await;
    let token = first.token();
    first.release().await.expect("it was held");
    let second = waiting.await.expect("no panic").expect("it is free again");
    assert!(second.token() > token);
}

/// Runs the example `lock` of the client, which needs a cluster.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_example_of_the_client_releases_its_lock() {
    let cluster = cluster(3).await;
    let client = Client::new([cluster.nodes[0].address().to_string()]);
    let mut tokens = Vec::new();
    for _ in 0..2 {
        let token = with_lock::with_lock(&client, "deploy", async |token| token).await;
        tokens.push(token.expect("a quorum").expect("it is not lost"));
    }
    assert!(tokens[0] < tokens[1], "{tokens:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_may_have_its_lock_twice() {
    let cluster = cluster(3).await;
    let (a, b) = (session(&cluster, 0).await, session(&cluster, 2).await);
    let once = a.lock("x").expect("a name").acquire().await.expect("it is free");
    let twice = a.lock("x").expect("a name").acquire().await.expect("it is its own");
    assert_eq!(once.token(), twice.token());
    once.release().await.expect("held");
    let busy = b.lock("x").expect("a name").wait(Duration::ZERO).acquire().await;
    assert!(busy.is_err(), "it is still held once");
    twice.release().await.expect("held");
    b.lock("x").expect("a name").wait(Duration::from_secs(5)).acquire().await.expect("free");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_can_be_checked_and_locks_taken_away() {
    let cluster = cluster(3).await;
    let (a, b) = (session(&cluster, 0).await, session(&cluster, 1).await);
    let name = Name::lock("disk").expect("a name");
    let client = Client::new([cluster.nodes[2].address().to_string()]);
    let first = a.lock("disk").expect("a name").why("format").acquire().await.expect("free");
    let token_status = client.check_token(name.clone(), first.token()).await.expect("a quorum");
    assert!(token_status.current, "{token_status:?}");
    let list = client.list("di", 10).await.expect("a list");
    assert_eq!(list.len(), 1);
    assert_eq!(list[0].why.as_str(), "format");
    client.force_release(name.clone(), "it hangs").await.expect("somebody had it");
    tokio::time::timeout(Duration::from_secs(5), first.expiring()).await.expect("it is told");
    assert!(!first.is_held());
    // The node cannot know that the first client has stopped before the client confirms it: the client might not
    // have received the message.
    let early = b.lock("disk").expect("a name").wait(Duration::from_millis(500)).acquire().await;
    assert!(early.is_err(), "the first may rely on it still");
    let token = first.token();
    first.release().await.expect("it has stopped");
    let second = b.lock("disk").expect("a name").wait(Duration::from_secs(3)).acquire().await;
    let second = second.expect("the first has stopped");
    assert!(second.token() > token);
    let stale = client.check_token(name.clone(), token).await.expect("a quorum");
    assert!(!stale.current, "{stale:?}");
    assert!(client.check_token(name, second.token()).await.expect("a quorum").current);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_dies_is_done_without() {
    let cluster = cluster(3).await;
    let a = session(&cluster, 0).await;
    cluster.nodes[2].abort();
    for round in 0..20 {
        let name = format!("lock {round}");
        let guard = a.lock(&name).expect("a name").wait(Duration::from_secs(10)).acquire().await;
        guard.expect("two of three are enough").release().await.expect("held");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_wait_for_one_lock() {
    let cluster = cluster(3).await;
    let mut clients = Vec::new();
    for node in 0..3 {
        clients.push(Client::new([cluster.nodes[node].address().to_string()]));
    }
    // Half of the sessions are connected to all nodes.
    let (ttl, connect_timeout) = (Duration::from_secs(60), Duration::from_secs(60));
    let options =
        |relayed| SessionOptions { ttl, connect_timeout, relayed, ..SessionOptions::default() };
    let mut tasks = Vec::new();
    for waiter in 0..1_000 {
        let client = clients[waiter % 3].clone();
        let options = options(waiter % 2 == 0);
        tasks.push(tokio::spawn(async move {
            let session = client.session(options).await.expect("a session");
            let guard = session.lock("one").expect("a name").acquire().await.expect("its turn");
            let token = guard.token();
            guard.release().await.expect("held");
            token
        }));
    }
    let mut tokens = Vec::new();
    for task in tasks {
        tokens.push(task.await.expect("no panic"));
    }
    tokens.sort_unstable();
    tokens.dedup();
    assert_eq!(tokens.len(), 1_000, "each grant has a token of its own");
}

/// A leaving node costs no session its locks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_go_to_another_node_when_theirs_leaves() {
    let mut cluster = cluster(3).await;
    let (a, b) = (session(&cluster, 0).await, session(&cluster, 0).await);
    let held = a.lock("deploy").expect("a name").acquire().await.expect("it is free");
    let waiting = tokio::spawn(b.lock("deploy").expect("a name").acquire());
    let alone = a.lock("other").expect("a name").acquire().await.expect("it is free");
    tokio::time::sleep(Duration::from_millis(100)).await;
    cluster.nodes.remove(0).stop(Duration::from_secs(5)).await;
    // The client continues with the other node.
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(held.is_held() && alone.is_held(), "{:?} {:?}", held.loss(), alone.loss());
    let client = Client::new([cluster.nodes[1].address().to_string()]);
    let name = Name::lock("deploy").expect("a name");
    let token_status = client.check_token(name, held.token()).await.expect("a quorum");
    assert!(token_status.current, "{token_status:?}");
    let queue = client.list("deploy", 10).await.expect("it answers");
    assert_eq!(queue.len(), 2, "{queue:?}");
    let token = held.token();
    let before = held.deadline();
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(held.is_held() && held.deadline() > before, "it is kept alive through the other node");
    held.release().await.expect("it is held");
    let next = waiting.await.expect("no panic").expect("its turn has come");
    assert!(next.token() > token);
    alone.release().await.expect("it is held");
}

/// Simulates a node that is paused or cut off: it completes the handshake, and then sends nothing.
async fn silent_node() -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("loopback");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut magic = [0; 4];
            tokio::io::AsyncReadExt::read_exact(&mut stream, &mut magic).await.expect("a client");
            handshake::receive(&mut stream, handshake::VERSIONS).await.expect("a client");
            handshake::respond(&mut stream, handshake::VERSIONS, "").await.expect("a client");
            open.push(stream);
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_says_nothing_is_given_up() {
    let cluster = cluster(3).await;
    let nodes = [silent_node().await, cluster.nodes[0].address()];
    let client = Client::new(nodes.map(|node| node.to_string()));
    let session = client.session(SessionOptions::default()).await.expect("the next node answers");
    session
        .lock("x")
        .expect("a name")
        .acquire()
        .await
        .expect("free")
        .release()
        .await
        .expect("held");
    let connect_timeout = Duration::from_millis(300);
    let relayed = SessionOptions { connect_timeout, relayed: true, ..SessionOptions::default() };
    let first = tokio::time::timeout(Duration::from_secs(5), client.session(relayed.clone())).await;
    let first = first.expect("it does not wait for ever");
    assert!(matches!(first, Err(Error::Unreachable(_))), "{first:?}");
    let second = client.session(relayed).await.expect("the next node answers");
    second.lock("x").expect("a name").acquire().await.expect("free").release().await.expect("held");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_session_keeps_what_it_has_for_longer_than_a_lease() {
    let cluster = cluster(3).await;
    let client = Client::new([cluster.nodes[0].address().to_string()]);
    let ttl = Duration::from_secs(600);
    let session = client.session(SessionOptions { ttl, ..SessionOptions::default() }).await;
    let session = session.expect("a session");
    // The session has time to be kept alive once before it holds a lock.
    tokio::time::sleep(Duration::from_millis(200)).await;
    let guard = session.lock("x").expect("a name").acquire().await.expect("free");
    tokio::time::sleep(Duration::from_secs(9)).await;
    assert!(guard.is_held(), "{:?}", guard.loss());
}
