//! Nodes over sockets whose members change while clients hold locks and wait for them: three nodes become five, a machine dies
//! and is replaced, and two leave. An observer that trusts no node counts lost locks, tokens that do not grow, and waiters that
//! are overtaken.

#[path = "support/mod.rs"]
mod support;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use quorate_client::{
    Client, Error, Failure, Guard, Member, MemberChange, MembersStatus, RequestInfo, RequestState,
    Session, SessionOptions, TermsChange,
};
use quorate_service::{Extras, FirstStart, Node, NodeConfig, launch, recover};
use serde_json::{Value, json};
use support::Web;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// Time-to-live of all sessions. A change takes about twice as long.
const TTL: Duration = Duration::from_millis(800);

struct Cluster {
    folder: tempfile::TempDir,
    address: String,
    ttl_most_ms: u32,
    nodes: Vec<Option<Node>>,
}

impl Cluster {
    /// Starts the first three nodes of a new cluster. A separate loopback address keeps other processes off their ports.
    async fn start(number: usize) -> Self {
        Self::start_with_ttl(number, 1_000).await
    }

    async fn start_with_ttl(number: usize, ttl_most_ms: u32) -> Self {
        let process = std::process::id() as usize;
        let address = format!("127.{}.{}.{number}", 64 + process % 128, process / 128 % 256);
        let folder = tempfile::tempdir().expect("a folder");
        let nodes = (0..8).map(|_| None).collect();
        let mut cluster = Self { folder, address, ttl_most_ms, nodes };
        for node in 0..3 {
            cluster.launch(node, FirstStart::NewCluster).await.expect("it starts");
        }
        cluster
    }

    async fn launch(&mut self, node: usize, first: FirstStart) -> Result<(), String> {
        let Self { address: at, ttl_most_ms, .. } = self;
        let peers = match node {
            0..3 => format!("[peers]\n0 = \"{at}:7490\"\n1 = \"{at}:7491\"\n2 = \"{at}:7492\"\n"),
            _ => format!("listen = \"{at}:749{node}\"\n"),
        };
        let text = format!(
            "cluster = \"1\"\nid = {node}\nclients = \"{at}:748{node}\"\ndata = \"data-{node}\"\nttl_most_ms = {ttl_most_ms}\nanswer_ms = 50\n{peers}"
        );
        let file = self.folder.path().join(format!("node-{node}.toml"));
        std::fs::write(&file, text).expect("a disk");
        let config = NodeConfig::read(Path::new(&file)).expect("it makes sense");
        let started = launch(&config, first, Extras::default()).await;
        self.nodes[node] = Some(started.map_err(|error| error.to_string())?.0);
        Ok(())
    }

    fn endpoint(&self, node: usize) -> String {
        format!("{}:748{node}", self.address)
    }

    fn member(&self, node: u32) -> Member {
        Member { node, address: format!("{}:749{node}", self.address) }
    }

    fn client(&self, node: usize) -> Client {
        Client::new([self.endpoint(node)])
    }

    fn web(&self, node: usize) -> Web {
        Web { address: self.endpoint(node).parse().expect("an address"), token: None }
    }

    async fn session(&self, nodes: &[usize], relayed: bool) -> Session {
        let client = Client::new(nodes.iter().map(|node| self.endpoint(*node)));
        let options = SessionOptions { ttl: TTL, relayed, ..SessionOptions::default() };
        client.session(options).await.expect("a session")
    }

    /// Changes the numbers of the members through a node, and waits until the change is complete.
    async fn change(&self, through: usize, add: &[u32], remove: &[u32]) -> MembersStatus {
        let add = add.iter().map(|node| self.member(*node)).collect();
        let change = MemberChange { add, remove: remove.to_vec(), ..MemberChange::default() };
        self.carry_out(through, change).await
    }

    async fn carry_out(&self, through: usize, change: MemberChange) -> MembersStatus {
        let client = self.client(through);
        let mut status = client.change_members(change).await.expect("it is chosen");
        let last = status.configuration.index + u64::from(status.configuration.is_joint());
        let begun = Instant::now();
        while !(status.settled && status.configuration.index >= last) {
            assert!(begun.elapsed() < Duration::from_secs(20), "{status:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
            status = client.members().await.expect("the node answers");
        }
        status
    }
}

fn numbers(status: &MembersStatus) -> Vec<u32> {
    status.configuration.voters.nodes.iter().map(|member| member.node).collect()
}

async fn acquire(session: &Session, lock: &str) -> Guard {
    let request = session.lock(lock).expect("a name");
    request.wait(Duration::from_secs(60)).acquire().await.expect("its turn")
}

/// Requests a lock that is held, behind `waiters` other requests. The order of the calls is the order of the waiters: the request
/// is in the queue when this returns.
async fn wait(
    cluster: &Cluster,
    session: Session,
    lock: &'static str,
    waiters: usize,
) -> JoinHandle<(Session, Guard)> {
    let waiting = tokio::spawn(async move {
        let guard = acquire(&session, lock).await;
        (session, guard)
    });
    let (client, begun) = (cluster.client(1), Instant::now());
    loop {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let listed = client.list(lock, 20).await.expect("the node answers");
        let is_waiting = |it: &&RequestInfo| it.state == RequestState::Waiting;
        if listed.iter().filter(is_waiting).count() > waiters {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{listed:?}");
    }
    assert!(!waiting.is_finished(), "it is held");
    waiting
}

/// Takes a lock again and again. Returns the longest time that a grant took, and the number of grants.
async fn probe(session: Session, stops: Arc<AtomicBool>) -> (Duration, u64) {
    let (mut longest, mut grants, mut last) = (Duration::ZERO, 0, 0);
    while !stops.load(Ordering::Relaxed) {
        let begun = Instant::now();
        let guard = acquire(&session, "probe").await;
        longest = longest.max(begun.elapsed());
        assert!(guard.token() > last, "{} after {last}", guard.token());
        (last, grants) = (guard.token(), grants + 1);
        guard.release().await.expect("it is held");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    (longest, grants)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_are_added_replaced_and_removed_under_clients() {
    let mut cluster = Cluster::start(1).await;
    // Holders and waiters that reach the voters themselves, and others through a node.
    let direct = cluster.session(&[0, 1, 2], false).await;
    let relayed = cluster.session(&[1, 0, 2], true).await;
    let held = [acquire(&direct, "direct").await, acquire(&relayed, "relayed").await];
    let tokens: Vec<u64> = held.iter().map(Guard::token).collect();
    let mut waiting = Vec::new();
    for (lock, is_relayed) in
        [("direct", false), ("direct", true), ("relayed", true), ("relayed", false)]
    {
        let session = cluster.session(&[0, 1], is_relayed).await;
        waiting.push(wait(&cluster, session, lock, waiting.len() % 2).await);
    }
    let stops = Arc::new(AtomicBool::new(false));
    let probes = [false, true].map(|is_relayed| (is_relayed, Arc::clone(&stops)));
    let mut probing = Vec::new();
    for (is_relayed, stops) in probes {
        let session = cluster.session(&[0, 1, 2], is_relayed).await;
        probing.push(tokio::spawn(probe(session, stops)));
    }

    for node in 3..5 {
        cluster.launch(node, FirstStart::NewNode).await.expect("it starts");
    }
    let grown = cluster.change(0, &[3, 4], &[]).await;
    assert_eq!((numbers(&grown), grown.configuration.index), (vec![0, 1, 2, 3, 4], 2));
    // A machine dies, and another one takes its place.
    cluster.nodes[2].take().expect("it runs").kill().await;
    cluster.launch(5, FirstStart::NewNode).await.expect("it starts");
    let replaced = cluster.change(1, &[5], &[2]).await;
    assert_eq!(numbers(&replaced), [0, 1, 3, 4, 5]);
    // The node through which the first change was made leaves, too.
    let shrunk = cluster.change(4, &[], &[0, 3]).await;
    assert_eq!((numbers(&shrunk), shrunk.configuration.index), (vec![1, 4, 5], 6));

    for (guard, token) in held.iter().zip(&tokens) {
        assert!(guard.is_held(), "{:?} of {}", guard.loss(), guard.name());
        assert!(guard.token() >= *token);
    }
    assert_eq!(held[0].token(), tokens[0], "the client itself fixes its token");
    assert!(waiting.iter().all(|waiting| !waiting.is_finished()), "nobody has entered");
    stops.store(true, Ordering::Relaxed);
    for probing in probing {
        let (longest, grants) = probing.await.expect("tokens grow");
        assert!(grants > 50 && longest < Duration::from_secs(10), "{longest:?}, {grants} grants");
    }
    // Nodes 0 and 3 can be stopped now, and those that wait enter in their order.
    for node in [0, 3] {
        cluster.nodes[node].take().expect("it runs").stop(Duration::ZERO).await;
    }
    let mut last: Vec<u64> = held.iter().map(Guard::token).collect();
    for guard in held {
        guard.release().await.expect("it is held");
    }
    for index in 0..waiting.len() {
        let lock = index / 2;
        let entered = tokio::time::timeout(Duration::from_secs(20), &mut waiting[index]).await;
        let Ok(entered) = entered else {
            let entered: Vec<bool> = waiting.iter().map(JoinHandle::is_finished).collect();
            panic!("waiter {index} has not entered in its turn; others: {entered:?}");
        };
        let (session, guard) = entered.expect("its turn");
        assert!(guard.token() > last[lock], "{} after {}", guard.token(), last[lock]);
        last[lock] = guard.token();
        guard.release().await.expect("it is held");
        drop(session);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_is_not_possible_is_refused_with_its_reason() {
    let mut cluster = Cluster::start(2).await;
    cluster.change(0, &[], &[]).await;
    let refused = async |change: MemberChange| match cluster.client(0).change_members(change).await
    {
        Err(Error::Failed(Failure::NotNow(why))) => why,
        other => panic!("it is refused: {other:?}"),
    };
    let add = |node| MemberChange { add: vec![cluster.member(node)], ..MemberChange::default() };
    let remove =
        |remove: &[u32]| MemberChange { remove: remove.to_vec(), ..MemberChange::default() };
    assert!(refused(remove(&[7])).await.contains("not a member"));
    assert!(refused(remove(&[0, 1, 2])).await.contains("1 to 64"));
    let begun = Instant::now();
    let nobody = refused(add(3)).await;
    assert!(nobody.contains("p3") && begun.elapsed() > Duration::from_secs(9), "{nobody}");
    // A removed node says so, and does not start again. Its number is not used again.
    cluster.change(1, &[], &[2]).await;
    cluster.nodes[2].take().expect("it runs").stop(Duration::ZERO).await;
    let stopped = cluster.launch(2, FirstStart::No).await.expect_err("it is not a member");
    assert!(stopped.contains("not a member of the cluster any more"), "{stopped}");
    let again = MemberChange { add: vec![cluster.member(2)], ..MemberChange::default() };
    let why = cluster.client(0).change_members(again).await.expect_err("it was used").to_string();
    assert!(why.contains("the next one is 3"), "{why}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_are_remembered_and_changed_over_http() {
    let mut cluster = Cluster::start(3).await;
    cluster.launch(3, FirstStart::NewNode).await.expect("it starts");
    let (status, alone) = cluster.web(3).send("GET", "/v1/members", None).await;
    assert_eq!((status, alone["nodes"].as_array().map(Vec::len)), (200, Some(0)), "{alone}");
    let node = cluster.member(3);
    let change = json!({ "add": [{ "node": 3, "address": node.address }], "remove": [0] });
    let (status, chosen) =
        cluster.web(1).send("POST", "/v1/members", Some(change.to_string())).await;
    assert_eq!((status, chosen["complete"].as_bool()), (200, Some(false)), "{chosen}");
    assert_eq!(chosen["next"].as_array().map(Vec::len), Some(3), "{chosen}");
    let begun = Instant::now();
    loop {
        let (_, members) = cluster.web(1).send("GET", "/v1/members", None).await;
        if members["complete"] == true && members["configuration"] == 2 {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{members}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // All members restart at the same time. They know each other, although the file of node 3 lists no peers.
    for node in 0..4 {
        cluster.nodes[node].take().expect("it runs").kill().await;
    }
    for node in [1, 2, 3] {
        cluster.launch(node, FirstStart::No).await.expect("it is a member");
    }
    let session = cluster.session(&[1, 2, 3], false).await;
    acquire(&session, "x").await.release().await.expect("it is held");
    let bad = json!({ "add": [{ "node": 4, "address": "nowhere" }] });
    let (status, why) = cluster.web(1).send("POST", "/v1/members", Some(bad.to_string())).await;
    assert_eq!(status, 409, "{why}");
    assert!(
        why["error"].as_str().is_some_and(|why| why.contains("HOST:PORT"))
            || why.to_string().contains("HOST:PORT"),
        "{why}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn terms_change_under_clients_and_outlive_the_files_of_nodes() {
    let mut cluster = Cluster::start(3).await;
    let (direct, relayed) =
        (cluster.session(&[0, 1, 2], false).await, cluster.session(&[1, 2], true).await);
    let held = [acquire(&direct, "direct").await, acquire(&relayed, "relayed").await];
    let longer = TermsChange {
        ttl_least_ms: Some(1_000),
        ttl_most_ms: Some(20_000),
        drift_ppm: Some(100_000),
    };
    let change =
        MemberChange { terms: longer, quorums: Some("tree".to_owned()), ..MemberChange::default() };
    let changed = cluster.carry_out(2, change).await;
    assert_eq!((numbers(&changed), changed.configuration.index), (vec![0, 1, 2], 2));
    for guard in &held {
        assert!(guard.is_held(), "{:?} of {}", guard.loss(), guard.name());
    }
    // New sessions have the new bounds, and rely on a lock for a shorter time.
    let open = async |ttl, relayed| {
        let options = SessionOptions { ttl, relayed, ..SessionOptions::default() };
        cluster.client(0).session(options).await.expect("a session")
    };
    for relayed in [false, true] {
        let long = open(Duration::from_secs(60), relayed).await;
        assert_eq!(long.ttl(), Duration::from_secs(20), "relayed: {relayed}");
        let guard = acquire(&long, "long").await;
        let left = guard.deadline().from_now();
        assert!(left > Duration::from_secs(12) && left < Duration::from_secs(18), "{left:?}");
        guard.release().await.expect("it is held");
        assert_eq!(open(Duration::from_millis(100), relayed).await.ttl(), Duration::from_secs(1));
    }
    // The files of the nodes still have the terms of the new cluster.
    for node in 0..3 {
        cluster.nodes[node].take().expect("it runs").kill().await;
    }
    for node in 0..3 {
        cluster.launch(node, FirstStart::No).await.expect("it is a member");
    }
    let begun = Instant::now();
    let status = loop {
        match cluster.client(1).status().await {
            Ok(status) if status.quorum => break status,
            other => assert!(begun.elapsed() < Duration::from_secs(20), "{other:?}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(status.quorums, "tree");
    let terms = status.terms;
    assert_eq!((terms.ttl_least_ms, terms.ttl_most_ms, terms.drift_ppm), (1_000, 20_000, 100_000));
    let bad = json!({ "ttl_most_ms": 10 });
    let (status, why) = cluster.web(1).send("POST", "/v1/members", Some(bad.to_string())).await;
    assert_eq!(status, 409, "{why}");
    assert!(why.to_string().contains("ttl_most_ms must be from 100 to 3600000"), "{why}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_that_has_lost_its_majority_is_started_again_from_one_node() {
    let mut cluster = Cluster::start(5).await;
    cluster.launch(3, FirstStart::NewNode).await.expect("it starts");
    cluster.change(0, &[3], &[2]).await;
    let session = cluster.session(&[0, 1], false).await;
    let token = acquire(&session, "x").await.token();
    drop(session);
    let file = cluster.folder.path().join("node-1.toml");
    let config = NodeConfig::read(&file).expect("it makes sense");
    let running = recover(&config, true).expect_err("it runs").to_string();
    assert!(running.contains("in use"), "{running}");
    for node in [0, 1, 3, 2] {
        cluster.nodes[node].take().expect("it runs").kill().await;
    }
    let told = recover(&config, false).expect("it would do").clone();
    assert_eq!(told.lost.iter().map(|member| member.node).collect::<Vec<_>>(), [0, 3]);
    // Nothing was done: the node still belongs to the old cluster.
    let recovered = recover(&config, true).expect("it is stopped");
    assert!(recovered.tokens_above > token && recovered.cluster != told.cluster);
    let text = std::fs::read_to_string(&file).expect("it is there");
    let old = cluster.launch(1, FirstStart::No).await.expect_err("another cluster");
    assert!(old.contains("another cluster"), "{old}");
    let new = text.replace("cluster = \"1\"", &format!("cluster = \"{:x}\"", recovered.cluster));
    std::fs::write(&file, new).expect("a disk");
    let config = NodeConfig::read(&file).expect("it makes sense");
    let (node, _) = launch(&config, FirstStart::No, Extras::default()).await.expect("it starts");
    cluster.nodes[1] = Some(node);
    let begun = Instant::now();
    let session = cluster.session(&[1], false).await;
    let later = acquire(&session, "x").await;
    assert!(later.token() > recovered.tokens_above && begun.elapsed() > TTL, "{recovered:?}");
    let members = cluster.client(1).members().await.expect("it answers");
    assert_eq!((numbers(&members), members.configuration.voters.unused), (vec![1], 4));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_moves_on_when_its_node_is_removed() {
    let mut cluster = Cluster::start(4).await;
    for node in 3..5 {
        cluster.launch(node, FirstStart::NewNode).await.expect("it starts");
    }
    let relayed = cluster.session(&[1, 0, 2], true).await;
    let held = acquire(&relayed, "x").await;
    let session = cluster.session(&[0], true).await;
    let waiting = wait(&cluster, session, "x", 0).await;
    cluster.change(0, &[3, 4], &[]).await;
    cluster.nodes[2].take().expect("it runs").kill().await;
    cluster.launch(5, FirstStart::NewNode).await.expect("it starts");
    cluster.change(1, &[5], &[2]).await;
    // The waiter may have moved to the other node that leaves.
    cluster.change(4, &[], &[0, 3]).await;
    for node in [0, 3] {
        cluster.nodes[node].take().expect("it runs").stop(Duration::ZERO).await;
    }
    held.release().await.expect("it is held");
    match tokio::time::timeout(Duration::from_secs(10), waiting).await {
        Ok(entered) => drop(entered.expect("its turn")),
        Err(_) => panic!("{:?}", cluster.client(1).list("", 20).await),
    }
}

/// A client of etcd's API keeps its lease alive while the node through which it did so is replaced. Nothing but the answer tells it
/// whether it still holds its lock, so the lock must not get another token.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_keeps_its_lock_while_its_machine_is_replaced() {
    // A lease of two seconds is kept for three quarters of a second longer.
    let mut cluster = Cluster::start_with_ttl(6, 3_000).await;
    let web = |node: usize| cluster.web(node);
    let call = async |node: usize, path: &str, body: Value| {
        let (status, answer) = web(node).post(path, body).await;
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    };
    let lease = call(0, "/v3/lease/grant", json!({ "TTL": "2" })).await["ID"].clone();
    let held = call(0, "/v3/lock/lock", json!({ "name": "YQ==", "lease": lease })).await;
    tokio::time::sleep(Duration::from_millis(700)).await;
    call(0, "/v3/lease/keepalive", json!({ "ID": lease })).await;
    cluster.nodes[0].take().expect("it runs").kill().await;
    cluster.launch(3, FirstStart::NewNode).await.expect("it starts");
    let changed = async {
        let status = cluster.change(1, &[3], &[0]).await;
        assert_eq!(numbers(&status), [1, 2, 3]);
    };
    let keeps = async {
        for node in [1, 2, 3].into_iter().cycle().take(9) {
            tokio::time::sleep(Duration::from_millis(400)).await;
            let web = cluster.web(node);
            let kept = web.post_text("/v3/lease/keepalive", json!({ "ID": lease })).await;
            assert!(kept.contains(r#""TTL":"2""#), "{node}: {kept}");
        }
    };
    tokio::join!(changed, keeps);
    let listed = cluster.client(1).list("a", 20).await.expect("a quorum answers");
    let tokens: Vec<RequestState> = listed.iter().map(|request| request.state).collect();
    let token = held["header"]["revision"].as_str().and_then(|it| it.parse().ok());
    let token = token.expect("a number");
    assert_eq!(tokens, [RequestState::Holding { token, times: 1 }]);
}
