//! etcd's API, on the same port as the other protocols, through any node.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::support::{Web, cluster};
use quorate_protocol::etcd::etcdserverpb::kv_client::KvClient;
use quorate_protocol::etcd::etcdserverpb::lease_client::LeaseClient;
use quorate_protocol::etcd::etcdserverpb::watch_client::WatchClient;
use quorate_protocol::etcd::etcdserverpb::{
    Compare, DeleteRangeRequest, PutRequest, RequestOp, TxnRequest, WatchCreateRequest,
    WatchRequest, compare, range_request, request_op, response_op, watch_request,
};
use quorate_protocol::etcd::etcdserverpb::{
    LeaseGrantRequest, LeaseKeepAliveRequest, LeaseLeasesRequest, LeaseRevokeRequest,
    LeaseTimeToLiveRequest, LeaseTimeToLiveResponse, RangeRequest,
};
use quorate_protocol::etcd::mvccpb::event;
use quorate_protocol::etcd::v3electionpb::election_client::ElectionClient;
use quorate_protocol::etcd::v3electionpb::{
    CampaignRequest, LeaderKey, LeaderRequest, ProclaimRequest, ResignRequest,
};
use quorate_protocol::etcd::v3lockpb::lock_client::LockClient;
use quorate_protocol::etcd::v3lockpb::{LockRequest, LockResponse, UnlockRequest};
use quorate_service::LocalCluster;
use serde_json::json;
use tonic::transport::Channel;
use tonic::{Code, Status};

/// Timeout for events that must happen, and time to wait for events that must not happen.
const LONG: Duration = Duration::from_secs(10);
const SHORT: Duration = Duration::from_millis(300);

async fn channel(cluster: &LocalCluster, node: usize) -> Channel {
    let address = format!("http://{}", cluster.nodes[node].address());
    Channel::from_shared(address).expect("an address").connect().await.expect("it listens")
}

async fn grant(channel: &Channel, ttl: i64, id: i64) -> Result<(i64, i64), Status> {
    let request = LeaseGrantRequest { ttl, id };
    let granted = LeaseClient::new(channel.clone()).lease_grant(request).await?.into_inner();
    Ok((granted.id, granted.ttl))
}

async fn lock(channel: &Channel, name: &str, lease: i64) -> Result<LockResponse, Status> {
    let request = LockRequest { name: name.as_bytes().to_vec(), lease };
    let mut locks = LockClient::new(channel.clone());
    let locked = tokio::time::timeout(LONG, locks.lock(request)).await.expect("it is answered");
    locked.map(tonic::Response::into_inner)
}

async fn unlock(channel: &Channel, key: &[u8]) -> Result<(), Status> {
    let request = UnlockRequest { key: key.to_vec() };
    LockClient::new(channel.clone()).unlock(request).await.map(drop)
}

fn revision(locked: &LockResponse) -> i64 {
    locked.header.as_ref().expect("a header").revision
}

async fn time_to_live(channel: &Channel, id: i64) -> LeaseTimeToLiveResponse {
    let request = LeaseTimeToLiveRequest { id, keys: true };
    let time_to_live = LeaseClient::new(channel.clone()).lease_time_to_live(request).await;
    time_to_live.expect("it is answered").into_inner()
}

/// Returns the remaining time of a lease in seconds; zero if it has ended.
async fn keep_alive(channel: &Channel, id: i64) -> i64 {
    let once = futures_util::stream::iter([LeaseKeepAliveRequest { id }]);
    let answers = LeaseClient::new(channel.clone()).lease_keep_alive(once).await;
    let answer = answers.expect("a stream").into_inner().message().await;
    answer.expect("it is answered").expect("one answer").ttl
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_goes_from_one_lease_to_the_next() {
    let cluster = cluster(3).await;
    let (here, there) = (channel(&cluster, 0).await, channel(&cluster, 1).await);
    let (mine, _) = grant(&here, 60, 777).await.expect("a lease");
    let (theirs, _) = grant(&there, 60, 0).await.expect("a lease");
    let held = lock(&here, "foo", mine).await.expect("it is free");
    assert_eq!(held.key, b"foo/309");
    assert!(revision(&held) > 0);
    let again = lock(&here, "foo", mine).await.expect("it has it");
    assert_eq!(again, held);
    let waiting = tokio::spawn(async move { lock(&there, "foo", theirs).await });
    tokio::time::sleep(SHORT).await;
    assert!(!waiting.is_finished(), "it is held");
    unlock(&here, &held.key).await.expect("it has it");
    unlock(&here, &held.key).await.expect("it may not know that it was heard");
    let next = waiting.await.expect("it ends").expect("it is free");
    assert!(revision(&next) > revision(&held));
    assert_eq!(next.key, format!("foo/{theirs:x}").into_bytes());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unlock_frees_nothing_but_what_its_key_says() {
    let cluster = cluster(3).await;
    let channel = channel(&cluster, 0).await;
    let (mine, _) = grant(&channel, 60, 0).await.expect("a lease");
    let (theirs, _) = grant(&channel, 60, 0).await.expect("a lease");
    let held = lock(&channel, "a", mine).await.expect("it is free");
    // Names do not nest in either direction.
    lock(&channel, "a/b", theirs).await.expect("another lock");
    unlock(&channel, format!("a/{theirs:x}").as_bytes()).await.expect("nothing of it");
    unlock(&channel, b"a/1234").await.expect("nothing of it");
    for no_key in [&b"a"[..], b"a/", b"", b"\xff/1"] {
        let error = unlock(&channel, no_key).await.expect_err("no key");
        assert_eq!(error.code(), Code::InvalidArgument, "{error}");
    }
    let kept = tokio::time::timeout(SHORT, lock(&channel, "a", theirs)).await;
    assert!(kept.is_err(), "somebody has it");
    // A client that gives up does not get the lock later, once the node has noticed.
    tokio::time::sleep(SHORT).await;
    unlock(&channel, &held.key).await.expect("it has it");
    lock(&channel, "a", mine).await.expect("nobody has it");
    let error = lock(&channel, "", mine).await.expect_err("no name");
    assert_eq!(
        (error.code(), error.message()),
        (Code::InvalidArgument, "etcdserver: key is not provided")
    );
    let error = lock(&channel, "a", 5).await.expect_err("no lease");
    assert_eq!(
        (error.code(), error.message()),
        (Code::NotFound, "etcdserver: requested lease not found")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expired_waiter_is_told_at_once() {
    let cluster = cluster(3).await;
    let (here, there) = (channel(&cluster, 0).await, channel(&cluster, 2).await);
    let (holder, _) = grant(&here, 60, 0).await.expect("a lease");
    let held = lock(&here, "x", holder).await.expect("it is free");
    for through in [&here, &there] {
        let (waiter, ttl) = grant(&here, 1, 0).await.expect("a lease");
        assert_eq!(ttl, 2, "as etcd's least is");
        let error = lock(through, "x", waiter).await.expect_err("its lease is over");
        assert_eq!(error.code(), Code::FailedPrecondition, "{error}");
        assert_eq!(error.message(), "mutex: session is expired");
        assert_eq!(keep_alive(through, waiter).await, 0);
    }
    assert_eq!(time_to_live(&there, holder).await.keys, [held.key]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_is_used_through_any_node() {
    let cluster = cluster(3).await;
    let channels =
        [channel(&cluster, 0).await, channel(&cluster, 1).await, channel(&cluster, 2).await];
    let (id, ttl) = grant(&channels[0], 30, 0).await.expect("a lease");
    // Voters keep a lease slightly longer than the time that its client receives.
    assert!(id > 0 && ttl == 30, "{ttl}");
    assert_eq!(keep_alive(&channels[1], id).await, 30);
    for through in &channels {
        let name = "through";
        let held = lock(through, name, id).await.expect("it is free");
        assert_eq!(keep_alive(through, id).await, 30);
        let time_to_live = time_to_live(through, id).await;
        assert_eq!(
            (time_to_live.granted_ttl, time_to_live.keys.as_slice()),
            (30, &[held.key.clone()][..])
        );
        assert!((28..=30).contains(&time_to_live.ttl), "{time_to_live:?}");
        unlock(through, &held.key).await.expect("it has it");
        assert_eq!(keep_alive(through, id).await, 30, "it has nothing");
        let error = grant(through, 30, id).await.expect_err("it exists");
        assert_eq!(error.message(), "etcdserver: lease already exists");
        assert_eq!(error.code(), Code::FailedPrecondition);
        let mut leases = LeaseClient::new(through.clone());
        let all = leases.lease_leases(LeaseLeasesRequest {}).await.expect("a list").into_inner();
        assert_eq!(all.leases.iter().map(|it| it.id).collect::<Vec<_>>(), [id]);
    }
    let error = grant(&channels[1], 9_000_000_001, 0).await.expect_err("too long");
    assert_eq!(
        (error.code(), error.message()),
        (Code::OutOfRange, "etcdserver: too large lease TTL")
    );
    let revoke = |node: usize| {
        let mut leases = LeaseClient::new(channels[node].clone());
        async move { leases.lease_revoke(LeaseRevokeRequest { id }).await }
    };
    lock(&channels[0], "kept", id).await.expect("it is free");
    revoke(1).await.expect("it is there");
    let error = revoke(2).await.expect_err("it is gone");
    assert_eq!(
        (error.code(), error.message()),
        (Code::NotFound, "etcdserver: requested lease not found")
    );
    assert_eq!(time_to_live(&channels[1], id).await.ttl, -1);
    let (next, _) = grant(&channels[2], 5, 0).await.expect("a lease");
    lock(&channels[2], "kept", next).await.expect("it is free again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_without_a_lease_lives_with_its_connection() {
    let cluster = cluster(3).await;
    let (first, second) = (channel(&cluster, 0).await, channel(&cluster, 0).await);
    lock(&first, "bare", 0).await.expect("it is free");
    let (lease, _) = grant(&second, 60, 0).await.expect("a lease");
    let early = tokio::time::timeout(SHORT, lock(&second, "bare", lease)).await;
    assert!(early.is_err(), "it is held");
    drop(first);
    lock(&second, "bare", lease).await.expect("nobody is there any more");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_is_seen_and_resigns() {
    let cluster = cluster(3).await;
    let (here, there) = (channel(&cluster, 0).await, channel(&cluster, 1).await);
    let mut elections = ElectionClient::new(here.clone());
    let (name, who) = (b"captain".to_vec(), LeaderRequest { name: b"captain".to_vec() });
    let error = elections.leader(who.clone()).await.expect_err("nobody leads");
    assert_eq!(error.message(), "election: no leader");
    let mut seen = ElectionClient::new(there.clone())
        .observe(who.clone())
        .await
        .expect("a stream")
        .into_inner();
    let (lease, _) = grant(&here, 60, 0).await.expect("a lease");
    let campaign =
        |value: &[u8]| CampaignRequest { name: name.clone(), lease, value: value.to_vec() };
    let won = elections.campaign(campaign(b"one")).await.expect("nobody leads").into_inner();
    let leader = won.leader.expect("a key");
    assert_eq!(leader.key, format!("captain/{lease:x}").into_bytes());
    let kv = elections.leader(who.clone()).await.expect("it leads").into_inner().kv.expect("a key");
    assert_eq!(
        (kv.value.as_slice(), kv.lease, kv.create_revision),
        (&b"one"[..], lease, leader.rev)
    );
    // A leader that campaigns again proclaims the new value. Values may be any bytes.
    let again = elections.campaign(campaign(b"\xff\x00")).await.expect("it leads").into_inner();
    assert_eq!(again.leader.as_ref().map(|it| it.rev), Some(leader.rev));
    let proclaim = |leader: &LeaderKey, value: &[u8]| ProclaimRequest {
        leader: Some(leader.clone()),
        value: value.to_vec(),
    };
    elections.proclaim(proclaim(&leader, b"three")).await.expect("it leads");
    let wrong = LeaderKey { rev: leader.rev + 1, ..leader.clone() };
    let error = elections.proclaim(proclaim(&wrong, b"four")).await.expect_err("another's");
    assert_eq!((error.code(), error.message()), (Code::FailedPrecondition, "election: not leader"));
    elections.resign(ResignRequest { leader: Some(wrong) }).await.expect("nothing to resign from");
    let mut values = Vec::new();
    for _ in 0..3 {
        let next = tokio::time::timeout(LONG, seen.message()).await.expect("in time");
        values.push(next.expect("it lasts").expect("it lasts").kv.expect("a key").value);
    }
    assert_eq!(values, [b"one".to_vec(), b"\xff\x00".to_vec(), b"three".to_vec()]);
    let (other, _) = grant(&there, 60, 0).await.expect("a lease");
    let mut rivals = ElectionClient::new(there.clone());
    let rival = CampaignRequest { name: name.clone(), lease: other, value: b"rival".to_vec() };
    let waiting = tokio::spawn(async move { rivals.campaign(rival).await });
    tokio::time::sleep(SHORT).await;
    assert!(!waiting.is_finished(), "it is led");
    elections.resign(ResignRequest { leader: Some(leader.clone()) }).await.expect("it leads");
    let won = waiting.await.expect("it ends").expect("nobody leads").into_inner();
    assert!(won.leader.expect("a key").rev > leader.rev);
    let next = tokio::time::timeout(LONG, seen.message()).await.expect("in time");
    assert_eq!(next.expect("it lasts").expect("it lasts").kv.expect("a key").value, b"rival");
    let error = elections.resign(ResignRequest { leader: None }).await.expect_err("whose?");
    assert_eq!(error.message(), "\"leader\" field must be provided");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_in_json() {
    let cluster = cluster(3).await;
    let (web, other) = (Web::of(&cluster, 0), Web::of(&cluster, 1));
    let (status, granted) = web.post("/v3/lease/grant", json!({ "TTL": 30, "ID": "777" })).await;
    assert_eq!((status, &granted["ID"], &granted["TTL"]), (200, &json!("777"), &json!("30")));
    let (status, held) = other.post("/v3/lock/lock", json!({ "name": "Zm9v", "lease": 777 })).await;
    assert_eq!((status, &held["key"]), (200, &json!("Zm9vLzMwOQ==")), "{held}");
    assert!(held["header"]["revision"].as_str().is_some_and(|it| it != "0"), "{held}");
    let request = format!(
        "POST /v3/lease/keepalive HTTP/1.0\r\nhost: {}\r\ncontent-length: 10\r\n\r\n{{\"ID\":777}}",
        web.address
    );
    let alive = web.raw(&request).await;
    assert!(alive.contains("{\"result\":{") && alive.contains("\"TTL\":\"30\""), "{alive}");
    let (_, time_to_live) =
        web.post("/v3/lease/timetolive", json!({ "ID": 777, "keys": true })).await;
    assert_eq!(time_to_live["keys"], json!(["Zm9vLzMwOQ=="]), "{time_to_live}");
    assert_eq!(web.post("/v3/lock/unlock", json!({ "key": held["key"] })).await.0, 200);
    let (status, no) = web.post("/v3/lock/lock", json!({ "name": "Zm9v", "lease": 3 })).await;
    assert_eq!((status, &no["code"]), (404, &json!(5)), "{no}");
    assert_eq!(no["error"], "etcdserver: requested lease not found");
    // Each call has its own connection: the lock stays.
    let (status, bare) = web.post("/v3/lock/lock", json!({ "name": "Zm9v" })).await;
    assert_eq!(status, 200, "{bare}");
    let (_, listed) = web.get("/v1/locks?prefix=foo").await;
    assert_eq!(listed["requests"][0]["state"], "holding", "{listed}");
    let (_, won) = web
        .post("/v3/election/campaign", json!({ "name": "YQ==", "lease": 777, "value": "Yg==" }))
        .await;
    let (_, leads) = other.post("/v3/election/leader", json!({ "name": "YQ==" })).await;
    assert_eq!(
        (&leads["kv"]["value"], &leads["kv"]["key"]),
        (&json!("Yg=="), &won["leader"]["key"])
    );
    let (status, _) = web.post("/v3/lock/lock", json!("what")).await;
    assert_eq!(status, 400);
    let (status, instead) = web.post("/v3/kv/compaction", json!({})).await;
    assert_eq!((status, &instead["code"]), (501, &json!(12)), "{instead}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_there_is_not_names_what_there_is() {
    let cluster = cluster(1).await;
    let channel = channel(&cluster, 0).await;
    let request = RangeRequest { key: b"foo".to_vec(), ..Default::default() };
    let error = KvClient::new(channel).range(request).await.expect_err("no keys");
    assert_eq!(error.code(), Code::Unimplemented);
    assert!(error.message().contains("v3lockpb.Lock"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_leases_through_all_nodes_never_have_one_lock_at_once() {
    let cluster = cluster(3).await;
    let inside = std::sync::Arc::new(std::sync::atomic::AtomicI64::new(0));
    let mut clients = tokio::task::JoinSet::new();
    for number in 0..9 {
        // Each lease is created through one node, and its locks are requested through another.
        let (home, other) =
            (channel(&cluster, number % 3).await, channel(&cluster, number / 3).await);
        let (lease, _) = grant(&home, 60, 0).await.expect("a lease");
        let inside = std::sync::Arc::clone(&inside);
        clients.spawn(async move {
            let mut revisions = Vec::new();
            for _ in 0..20 {
                let held = lock(&other, "one", lease).await.expect("its turn comes");
                let order = std::sync::atomic::Ordering::SeqCst;
                assert_eq!(inside.swap(lease, order), 0, "somebody else has it");
                tokio::task::yield_now().await;
                assert_eq!(inside.swap(0, order), lease, "somebody else has it");
                revisions.push(revision(&held));
                unlock(&home, &held.key).await.expect("it has it");
            }
            revisions
        });
    }
    let mut all: Vec<i64> = clients.join_all().await.into_iter().flatten().collect();
    assert_eq!(all.len(), 180);
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 180, "each holder has a token of its own");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_goes_to_another_node_when_its_own_leaves() {
    let mut cluster = cluster(3).await;
    let (home, other) = (channel(&cluster, 0).await, channel(&cluster, 1).await);
    let (holder, _) = grant(&home, 30, 0).await.expect("a lease");
    let (waiter, _) = grant(&home, 30, 0).await.expect("a lease");
    let held = lock(&home, "moves", holder).await.expect("it is free");
    let through = other.clone();
    let waiting = tokio::spawn(async move { lock(&through, "moves", waiter).await });
    tokio::time::sleep(SHORT).await;
    cluster.nodes.remove(0).stop(Duration::from_secs(5)).await;
    assert_eq!(time_to_live(&other, holder).await.keys, std::slice::from_ref(&held.key));
    let again = lock(&other, "moves", holder).await.expect("it has it");
    assert_eq!((&again.key, revision(&again)), (&held.key, revision(&held)), "the same token");
    assert!(!waiting.is_finished(), "it is held");
    unlock(&other, &held.key).await.expect("it has it");
    let next = waiting.await.expect("it ends").expect("its turn has come");
    assert!(revision(&next) > revision(&held));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_is_found_while_it_goes_to_another_node() {
    let mut cluster = cluster(3).await;
    let home = channel(&cluster, 0).await;
    let (lease, _) = grant(&home, 30, 0).await.expect("a lease");
    let held = lock(&home, "moves", lease).await.expect("it is free");
    let gone = Arc::new(AtomicBool::new(false));
    let mut asking = Vec::new();
    for node in [1, 2] {
        let (through, key, gone) = (channel(&cluster, node).await, held.key.clone(), gone.clone());
        let ask = async move {
            while !gone.load(Ordering::Relaxed) {
                assert_eq!(time_to_live(&through, lease).await.keys, std::slice::from_ref(&key));
            }
            assert_eq!(time_to_live(&through, lease).await.keys, [key]);
        };
        asking.push(tokio::spawn(ask));
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    cluster.nodes.remove(0).stop(Duration::from_secs(5)).await;
    gone.store(true, Ordering::Relaxed);
    for asks in asking {
        tokio::time::timeout(LONG, asks).await.expect("it ends").expect("each is answered");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_quorum_a_key_is_not_said_to_be_gone() {
    let mut cluster = cluster(3).await;
    let here = channel(&cluster, 0).await;
    let (lease, _) = grant(&here, 30, 0).await.expect("a lease");
    let key = format!("gone/{lease:x}").into_bytes();
    let delete = DeleteRangeRequest { key, ..DeleteRangeRequest::default() };
    let deleted = KvClient::new(here.clone()).delete_range(delete.clone()).await;
    assert_eq!(deleted.expect("all nodes say so").into_inner().deleted, 0);
    for node in cluster.nodes.drain(1..).collect::<Vec<_>>() {
        node.stop(Duration::from_secs(5)).await;
    }
    // The nodes that are stopped may know of the request.
    let error = KvClient::new(here).delete_range(delete).await.expect_err("it cannot be known");
    assert_eq!(error.code(), Code::Unavailable, "{error}");
}

/// Runs the transaction of Go's concurrency package for acquiring a lock: puts the key if it does not exist, and
/// reads the first key.
async fn recipe(
    channel: &Channel,
    name: &str,
    lease: i64,
) -> Result<(i64, Option<Vec<u8>>), Status> {
    let key = format!("{name}/{lease:x}").into_bytes();
    let compare = Compare {
        result: compare::CompareResult::Equal.into(),
        target: compare::CompareTarget::Create.into(),
        key: key.clone(),
        target_union: Some(compare::TargetUnion::CreateRevision(0)),
        ..Compare::default()
    };
    let put = PutRequest { key, lease, ..PutRequest::default() };
    let first = RangeRequest {
        key: format!("{name}/").into_bytes(),
        range_end: format!("{name}0").into_bytes(),
        limit: 1,
        sort_order: range_request::SortOrder::Ascend.into(),
        sort_target: range_request::SortTarget::Create.into(),
        ..RangeRequest::default()
    };
    let op = |request| RequestOp { request: Some(request) };
    let success = vec![
        op(request_op::Request::RequestPut(put)),
        op(request_op::Request::RequestRange(first)),
    ];
    let txn = TxnRequest { compare: vec![compare], success, failure: Vec::new() };
    let done = KvClient::new(channel.clone()).txn(txn).await?.into_inner();
    let revision = done.header.expect("a header").revision;
    let Some(response_op::Response::ResponseRange(first)) = done.responses[1].response.clone()
    else {
        panic!("a range was asked for");
    };
    let owner = first.kvs.first().filter(|kv| kv.create_revision != revision);
    Ok((revision, owner.map(|kv| kv.key.clone())))
}

/// Returns the keys before the request with this create revision.
async fn before(channel: &Channel, name: &str, revision: i64) -> Result<Vec<Vec<u8>>, Status> {
    let range = RangeRequest {
        key: format!("{name}/").into_bytes(),
        range_end: format!("{name}0").into_bytes(),
        limit: 1,
        sort_order: range_request::SortOrder::Descend.into(),
        sort_target: range_request::SortTarget::Create.into(),
        max_create_revision: revision - 1,
        ..RangeRequest::default()
    };
    let ranged = KvClient::new(channel.clone()).range(range).await?.into_inner();
    Ok(ranged.kvs.into_iter().map(|kv| kv.key).collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recipes_over_keys_conclude_what_was_granted() {
    let cluster = cluster(3).await;
    let (here, there) = (channel(&cluster, 0).await, channel(&cluster, 1).await);
    let (mine, _) = grant(&here, 60, 0).await.expect("a lease");
    let (theirs, _) = grant(&there, 60, 0).await.expect("a lease");
    let (short, _) = grant(&there, 2, 0).await.expect("a lease");
    let (_, owner) = recipe(&here, "r", mine).await.expect("it is free");
    assert_eq!(owner, None);
    let key = |lease: i64| format!("r/{lease:x}").into_bytes();
    let (revision, owner) = recipe(&there, "r", theirs).await.expect("it waits");
    assert_eq!(owner, Some(key(mine)));
    let (late, _) = recipe(&there, "r", short).await.expect("it waits");
    assert_eq!(before(&there, "r", revision).await.expect("it waits"), [key(mine)]);
    // A client whose lease has ended must not conclude that no request is before its own.
    tokio::time::sleep(Duration::from_millis(3_500)).await;
    let error = before(&there, "r", late).await.expect_err("its lease is over");
    assert_eq!(error.message(), "mutex: session is expired");
    let watched = WatchCreateRequest { key: key(mine), ..WatchCreateRequest::default() };
    let create = watch_request::RequestUnion::CreateRequest(watched);
    let asks = futures_util::stream::iter([WatchRequest { request_union: Some(create) }]);
    let events = WatchClient::new(there.clone()).watch(asks).await.expect("a stream");
    let mut events = events.into_inner();
    assert!(events.message().await.expect("it lasts").expect("it lasts").created);
    let delete = DeleteRangeRequest { key: key(mine), ..DeleteRangeRequest::default() };
    KvClient::new(here.clone()).delete_range(delete).await.expect("it has it");
    let told = tokio::time::timeout(LONG, events.message()).await.expect("in time");
    let told = told.expect("it lasts").expect("it lasts").events;
    assert_eq!(told[0].r#type(), event::EventType::Delete);
    assert!(before(&there, "r", revision).await.expect("it has it").is_empty());
    // Other keys are not stored.
    let plain = PutRequest { key: b"plain".to_vec(), ..PutRequest::default() };
    let error = KvClient::new(here).put(plain).await.expect_err("no store");
    assert_eq!(error.code(), Code::Unimplemented);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_that_asks_again_at_once_does_not_hold_up_clients_that_watch_its_key() {
    let cluster = cluster(3).await;
    let (here, there) = (channel(&cluster, 0).await, channel(&cluster, 1).await);
    let (mine, _) = grant(&here, 60, 0).await.expect("a lease");
    let (theirs, _) = grant(&there, 60, 0).await.expect("a lease");
    let (_, owner) = recipe(&here, "again", mine).await.expect("it is free");
    assert_eq!(owner, None);
    let (revision, owner) = recipe(&there, "again", theirs).await.expect("it waits");
    let key = format!("again/{mine:x}").into_bytes();
    assert_eq!(owner.as_ref(), Some(&key));
    let delete = DeleteRangeRequest { key: key.clone(), ..DeleteRangeRequest::default() };
    KvClient::new(here.clone()).delete_range(delete).await.expect("it has it");
    let (_, owner) = recipe(&here, "again", mine).await.expect("it waits");
    assert!(owner.is_some());
    // The key exists again, for a lease that waits.
    let watched = WatchCreateRequest { key, ..WatchCreateRequest::default() };
    let create = watch_request::RequestUnion::CreateRequest(watched);
    let asks = futures_util::stream::iter([WatchRequest { request_union: Some(create) }]);
    let events = WatchClient::new(there.clone()).watch(asks).await.expect("a stream");
    let mut events = events.into_inner();
    assert!(events.message().await.expect("it lasts").expect("it lasts").created);
    let told = tokio::time::timeout(LONG, events.message()).await.expect("in time");
    let told = told.expect("it lasts").expect("it lasts").events;
    assert_eq!(told[0].r#type(), event::EventType::Delete);
    assert!(before(&there, "again", revision).await.expect("it has it").is_empty());
}
