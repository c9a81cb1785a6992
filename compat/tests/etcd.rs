//! One list of expectations for quorate and for etcd, checked with etcd's Rust client. Where the two differ, the list
//! states how and why. docs/etcd.md contains the same table, which `UPDATE=1` rewrites.

mod server;

use std::fmt::Write as _;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::time::Duration;

use etcd_client::{
    Client, Error, LeaseGrantOptions, LeaseTimeToLiveOptions, LockOptions, ProclaimOptions,
    ResignOptions,
};
use server::Server;

/// Timeout for operations that are expected to succeed quickly.
const SOON: Duration = Duration::from_millis(700);

/// An operation and its expected result.
struct Expectation {
    what: &'static str,
    tried: fn(&Server) -> Tried<'_>,
    etcd: &'static str,
    /// Deviating result of quorate and its reason, if quorate differs from etcd.
    quorate: Option<(&'static str, &'static str)>,
}

type Tried<'a> = Pin<Box<dyn Future<Output = Result<String, Error>> + Send + 'a>>;

const fn same(
    what: &'static str,
    tried: fn(&Server) -> Tried<'_>,
    both: &'static str,
) -> Expectation {
    Expectation { what, tried, etcd: both, quorate: None }
}

const fn differs(
    what: &'static str,
    tried: fn(&Server) -> Tried<'_>,
    etcd: &'static str,
    quorate: &'static str,
    why: &'static str,
) -> Expectation {
    Expectation { what, tried, etcd, quorate: Some((quorate, why)) }
}

const LIST: [Expectation; 25] = [
    same("the key of a lock", |s| Box::pin(key_of_a_lock(s)), "key/309"),
    same("a lease locks twice", |s| Box::pin(locks_twice(s)), "the same key, at once"),
    same(
        "a waiter, after unlock",
        |s| Box::pin(handed_on(s)),
        "waits; then granted, with a greater revision",
    ),
    same("a waiter, after the holder's lease is revoked", |s| Box::pin(revoked(s)), "granted"),
    same("a waiter that gives up", |s| Box::pin(gives_up(s)), "does not have it later"),
    same("unlock of a key that nobody has", |s| Box::pin(unlocks(s, "nobody/309")), "done"),
    differs(
        "unlock of something that is no lock's key",
        |s| Box::pin(unlocks(s, "plain")),
        "done",
        "InvalidArgument: etcdserver: key is not provided: Unlock takes the key that Lock returned",
        "etcd deletes whatever key it is given, another's data too",
    ),
    differs(
        "`a` while somebody has `a/b`",
        |s| Box::pin(nested(s)),
        "waits",
        "granted",
        "etcd looks for keys that begin with `a/`; names do not nest here",
    ),
    differs(
        "a lock with an empty name",
        |s| Box::pin(no_name(s)),
        "granted",
        "InvalidArgument: etcdserver: key is not provided",
        "a name left out is a mistake",
    ),
    differs(
        "a lock with a lease that there is not",
        |s| Box::pin(no_lease(s)),
        "Unknown: etcdserver: requested lease not found",
        "NotFound: etcdserver: requested lease not found",
        "the code says what the text says",
    ),
    differs(
        "a waiter whose own lease ends",
        |s| Box::pin(expired_waiter(s)),
        "waits on",
        "FailedPrecondition: mutex: session is expired",
        "etcd tells it when the holder leaves, and 3.4 tells it then that it has the lock",
    ),
    differs(
        "a lock without a lease, after its connection is gone",
        |s| Box::pin(without_lease(s)),
        "held",
        "free",
        "etcd keeps it for 60 s, and takes it away after 60 s from a client that is still there",
    ),
    same(
        "leader of an election that nobody leads, in words",
        |s| Box::pin(no_leader_text(s)),
        "election: no leader",
    ),
    differs(
        "leader of an election that nobody leads, the code",
        |s| Box::pin(no_leader_code(s)),
        "Unknown",
        "NotFound",
        "the code says what the text says",
    ),
    same(
        "campaign, leader, proclaim, resign",
        |s| Box::pin(election(s)),
        "leads with one; proclaims two; nobody leads",
    ),
    same(
        "a leader campaigns again",
        |s| Box::pin(campaigns_again(s)),
        "the same revision; proclaims again",
    ),
    same(
        "an observer sees leaders and what they proclaim",
        |s| Box::pin(observes(s)),
        "one, two, three",
    ),
    differs(
        "proclaim by one that does not lead any more",
        |s| Box::pin(proclaims_late(s)),
        "Unknown: election: not leader",
        "FailedPrecondition: election: not leader",
        "the code says what the text says",
    ),
    same("resign by one that does not lead any more", |s| Box::pin(resigns_late(s)), "done"),
    same("leases of 0, 1 and 30 seconds", |s| Box::pin(ttls(s)), "2, 2, 30"),
    same(
        "a lease that is too long",
        |s| Box::pin(too_long(s)),
        "OutOfRange: etcdserver: too large lease TTL",
    ),
    same(
        "a lease whose number is taken",
        |s| Box::pin(taken(s)),
        "FailedPrecondition: etcdserver: lease already exists",
    ),
    same(
        "a lease that is over",
        |s| Box::pin(over(s)),
        "revoke: NotFound: etcdserver: requested lease not found; keep-alive: 0; time to live: -1",
    ),
    same(
        "what a lease tells of itself",
        |s| Box::pin(life(s)),
        "granted 30; keys told/30a; listed; kept alive",
    ),
    same(
        "for how long keep-alive says that a lease with a lock may be relied on",
        |s| Box::pin(relied(s)),
        "30",
    ),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn etcd_and_quorate_do_what_is_expected() {
    let (etcd, quorate) = (Server::etcd().await, Server::quorate().await);
    let mut wrong = String::new();
    for Expectation { what, tried, etcd: expected, quorate: other } in &LIST {
        let ours = other.map_or(*expected, |(ours, _)| ours);
        let came = tokio::join!(tried(&etcd), tried(&quorate));
        for (server, came, expected) in [(&etcd, came.0, *expected), (&quorate, came.1, ours)] {
            let came = shown(came);
            if came != expected {
                let _ = writeln!(wrong, "{}, {what}: {came}, not {expected}", server.name);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn the_table_in_the_documents_is_this_one() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/etcd.md");
    let text = std::fs::read_to_string(&file).expect("the document");
    let (before, rest) = text.split_once("<!-- differences -->\n").expect("a beginning");
    let (table, after) = rest.split_once("<!-- end -->").expect("an end");
    let mut fresh = String::from("| | etcd | quorate | why |\n|---|---|---|---|\n");
    for Expectation { what, etcd, quorate, .. } in &LIST {
        if let Some((ours, why)) = quorate {
            let _ = writeln!(fresh, "| {what} | {etcd} | {ours} | {why} |");
        }
    }
    let _ = writeln!(fresh, "\nThe same with both:\n");
    for Expectation { what, etcd, quorate, .. } in &LIST {
        if quorate.is_none() {
            let _ = writeln!(fresh, "- {what}: {etcd}");
        }
    }
    if std::env::var_os("UPDATE").is_some() {
        let text = format!("{before}<!-- differences -->\n{fresh}<!-- end -->{after}");
        std::fs::write(&file, text).expect("the document can be written");
        return;
    }
    assert!(table == fresh, "docs/etcd.md is old: UPDATE=1 cargo xtask verify compat writes it");
}

/// The result, or the code and message of the error.
fn shown(came: Result<String, Error>) -> String {
    match came {
        Ok(came) => came,
        Err(Error::GRpcStatus(status)) => format!("{:?}: {}", status.code(), status.message()),
        Err(error) => error.to_string(),
    }
}

async fn lease(client: &mut Client, ttl: i64, id: i64) -> Result<i64, Error> {
    let options = LeaseGrantOptions::new().with_id(id);
    Ok(client.lease_grant(ttl, Some(options)).await?.id())
}

async fn lock(client: &mut Client, name: &str, lease: i64) -> Result<(Vec<u8>, i64), Error> {
    let locked = client.lock(name, Some(LockOptions::new().with_lease(lease))).await?;
    let revision = locked.header().map_or(0, |header| header.revision());
    Ok((locked.key().to_vec(), revision))
}

/// Whether the lock is granted within [`SOON`].
async fn granted(client: &mut Client, name: &str, lease: i64) -> Result<bool, Error> {
    match tokio::time::timeout(SOON, lock(client, name, lease)).await {
        Ok(locked) => locked.map(|_| true),
        Err(_) => Ok(false),
    }
}

async fn key_of_a_lock(server: &Server) -> Result<String, Error> {
    let mut client = server.client().await?;
    let lease = lease(&mut client, 30, 0x309).await?;
    let (key, _) = lock(&mut client, "key", lease).await?;
    client.lease_revoke(lease).await?;
    Ok(String::from_utf8_lossy(&key).into_owned())
}

async fn locks_twice(server: &Server) -> Result<String, Error> {
    let mut client = server.client().await?;
    let lease = lease(&mut client, 30, 0).await?;
    let (first, second) =
        (lock(&mut client, "twice", lease).await?, lock(&mut client, "twice", lease).await?);
    Ok(if first == second { "the same key, at once" } else { "another key" }.to_owned())
}

async fn handed_on(server: &Server) -> Result<String, Error> {
    let (mut one, mut two) = (server.client().await?, server.client().await?);
    let (first, second) = (lease(&mut one, 30, 0).await?, lease(&mut two, 30, 0).await?);
    let (key, before) = lock(&mut one, "handed", first).await?;
    let waiting = tokio::spawn(async move { lock(&mut two, "handed", second).await });
    tokio::time::sleep(SOON).await;
    let waits = !waiting.is_finished();
    one.unlock(key).await?;
    let (_, after) = waiting.await.expect("it ends")?;
    let how = if after > before { "a greater" } else { "no greater" };
    Ok(format!("{}; then granted, with {how} revision", if waits { "waits" } else { "has it" }))
}

async fn revoked(server: &Server) -> Result<String, Error> {
    let (mut one, mut two) = (server.client().await?, server.client().await?);
    let (first, second) = (lease(&mut one, 30, 0).await?, lease(&mut two, 30, 0).await?);
    lock(&mut one, "revoked", first).await?;
    let waiting = tokio::spawn(async move { lock(&mut two, "revoked", second).await });
    tokio::time::sleep(SOON).await;
    one.lease_revoke(first).await?;
    waiting.await.expect("it ends")?;
    Ok("granted".to_owned())
}

async fn gives_up(server: &Server) -> Result<String, Error> {
    let (mut one, mut two) = (server.client().await?, server.client().await?);
    let (first, second) = (lease(&mut one, 30, 0).await?, lease(&mut two, 30, 0).await?);
    let (key, _) = lock(&mut one, "given-up", first).await?;
    assert!(!granted(&mut two, "given-up", second).await?, "it is held");
    tokio::time::sleep(SOON).await;
    one.unlock(key).await?;
    tokio::time::sleep(SOON).await;
    let free = granted(&mut one, "given-up", first).await?;
    Ok(if free { "does not have it later" } else { "has it later" }.to_owned())
}

async fn unlocks(server: &Server, key: &str) -> Result<String, Error> {
    server.client().await?.unlock(key).await?;
    Ok("done".to_owned())
}

async fn nested(server: &Server) -> Result<String, Error> {
    let mut client = server.client().await?;
    let (inner, outer) = (lease(&mut client, 30, 0).await?, lease(&mut client, 30, 0).await?);
    lock(&mut client, "a/b", inner).await?;
    let granted = granted(&mut client, "a", outer).await?;
    Ok(if granted { "granted" } else { "waits" }.to_owned())
}

async fn no_name(server: &Server) -> Result<String, Error> {
    let mut client = server.client().await?;
    let lease = lease(&mut client, 30, 0).await?;
    lock(&mut client, "", lease).await?;
    Ok("granted".to_owned())
}

async fn no_lease(server: &Server) -> Result<String, Error> {
    lock(&mut server.client().await?, "leaseless", 5).await?;
    Ok("granted".to_owned())
}

async fn expired_waiter(server: &Server) -> Result<String, Error> {
    let (mut one, mut two) = (server.client().await?, server.client().await?);
    let (long, short) = (lease(&mut one, 30, 0).await?, lease(&mut two, 2, 0).await?);
    lock(&mut one, "expiry", long).await?;
    let waiting = lock(&mut two, "expiry", short);
    match tokio::time::timeout(Duration::from_secs(5), waiting).await {
        Ok(came) => came.map(|_| "granted".to_owned()),
        Err(_) => Ok("waits on".to_owned()),
    }
}

async fn without_lease(server: &Server) -> Result<String, Error> {
    let mut one = server.client().await?;
    one.lock("bare", None).await?;
    drop(one);
    tokio::time::sleep(SOON).await;
    let mut two = server.client().await?;
    let lease = lease(&mut two, 30, 0).await?;
    Ok(if granted(&mut two, "bare", lease).await? { "free" } else { "held" }.to_owned())
}

async fn no_leader(server: &Server) -> tonic_status::Status {
    let refused = server.client().await.expect("a client").leader("nobody").await;
    tonic_status::of(refused.expect_err("nobody leads"))
}

async fn no_leader_text(server: &Server) -> Result<String, Error> {
    Ok(no_leader(server).await.text)
}

async fn no_leader_code(server: &Server) -> Result<String, Error> {
    Ok(no_leader(server).await.code)
}

/// Code and message of an error.
mod tonic_status {
    pub(crate) struct Status {
        pub(crate) code: String,
        pub(crate) text: String,
    }

    pub(crate) fn of(error: etcd_client::Error) -> Status {
        let shown = super::shown(Err(error));
        let (code, text) = shown.split_once(": ").expect("a code and a text");
        Status { code: code.to_owned(), text: text.to_owned() }
    }
}

async fn value(client: &mut Client, name: &str) -> Result<String, Error> {
    let leader = client.leader(name).await?;
    let value = leader.kv().map_or(&b""[..], |kv| kv.value());
    Ok(String::from_utf8_lossy(value).into_owned())
}

async fn election(server: &Server) -> Result<String, Error> {
    let mut client = server.client().await?;
    let lease = lease(&mut client, 30, 0).await?;
    let won = client.campaign("captain", "one", lease).await?;
    let one = value(&mut client, "captain").await?;
    let key = won.leader().cloned().expect("a key");
    client.proclaim("two", Some(ProclaimOptions::new().with_leader(key.clone()))).await?;
    let two = value(&mut client, "captain").await?;
    client.resign(Some(ResignOptions::new().with_leader(key))).await?;
    let led = client.leader("captain").await.is_ok();
    Ok(format!(
        "leads with {one}; proclaims {two}; {}",
        if led { "it leads" } else { "nobody leads" }
    ))
}

async fn campaigns_again(server: &Server) -> Result<String, Error> {
    let mut client = server.client().await?;
    let lease = lease(&mut client, 30, 0).await?;
    let first = client.campaign("again", "once", lease).await?;
    let second = client.campaign("again", "again", lease).await?;
    let same = first.leader().map(|it| it.rev()) == second.leader().map(|it| it.rev());
    let said = value(&mut client, "again").await?;
    Ok(format!("{}; proclaims {said}", if same { "the same revision" } else { "another revision" }))
}

async fn observes(server: &Server) -> Result<String, Error> {
    let (mut one, mut two) = (server.client().await?, server.client().await?);
    let (first, second) = (lease(&mut one, 30, 0).await?, lease(&mut two, 30, 0).await?);
    let won = one.campaign("seen", "one", first).await?;
    let mut seen = server.client().await?.observe("seen").await?;
    let mut values = Vec::new();
    let mut next = async |values: &mut Vec<String>| -> Result<(), Error> {
        let led = tokio::time::timeout(Duration::from_secs(5), seen.message()).await;
        let led = led.expect("it is seen")?.expect("it lasts");
        let value = led.kv().map_or(&b""[..], |kv| kv.value());
        values.push(String::from_utf8_lossy(value).into_owned());
        Ok(())
    };
    next(&mut values).await?;
    let key = won.leader().cloned().expect("a key");
    one.proclaim("two", Some(ProclaimOptions::new().with_leader(key.clone()))).await?;
    next(&mut values).await?;
    one.resign(Some(ResignOptions::new().with_leader(key))).await?;
    two.campaign("seen", "three", second).await?;
    next(&mut values).await?;
    Ok(values.join(", "))
}

async fn late(server: &Server, name: &str) -> Result<(Client, etcd_client::LeaderKey), Error> {
    let mut client = server.client().await?;
    let lease = lease(&mut client, 30, 0).await?;
    let won = client.campaign(name, "x", lease).await?;
    let key = won.leader().cloned().expect("a key");
    client.resign(Some(ResignOptions::new().with_leader(key.clone()))).await?;
    Ok((client, key))
}

async fn proclaims_late(server: &Server) -> Result<String, Error> {
    let (mut client, key) = late(server, "late-proclaim").await?;
    client.proclaim("y", Some(ProclaimOptions::new().with_leader(key))).await?;
    Ok("done".to_owned())
}

async fn resigns_late(server: &Server) -> Result<String, Error> {
    let (mut client, key) = late(server, "late-resign").await?;
    client.resign(Some(ResignOptions::new().with_leader(key))).await?;
    Ok("done".to_owned())
}

async fn ttls(server: &Server) -> Result<String, Error> {
    let mut client = server.client().await?;
    let mut lives = Vec::new();
    for ttl in [0, 1, 30] {
        lives.push(client.lease_grant(ttl, None).await?.ttl().to_string());
    }
    Ok(lives.join(", "))
}

async fn too_long(server: &Server) -> Result<String, Error> {
    server.client().await?.lease_grant(9_000_000_001, None).await?;
    Ok("granted".to_owned())
}

async fn taken(server: &Server) -> Result<String, Error> {
    let mut client = server.client().await?;
    lease(&mut client, 30, 4711).await?;
    lease(&mut client, 30, 4711).await?;
    Ok("granted".to_owned())
}

async fn over(server: &Server) -> Result<String, Error> {
    let mut client = server.client().await?;
    let id = lease(&mut client, 30, 0).await?;
    client.lease_revoke(id).await?;
    let revoked = shown(client.lease_revoke(id).await.map(|_| "done".to_owned()));
    let kept = match client.lease_keep_alive(id).await {
        Ok((_, mut answers)) => answers.message().await?.map_or(-1, |answer| answer.ttl()),
        // The client treats a lease without remaining time as an error.
        Err(_) => 0,
    };
    let left = client.lease_time_to_live(id, None).await?.ttl();
    Ok(format!("revoke: {revoked}; keep-alive: {kept}; time to live: {left}"))
}

async fn life(server: &Server) -> Result<String, Error> {
    let mut client = server.client().await?;
    let id = lease(&mut client, 30, 0x30a).await?;
    lock(&mut client, "told", id).await?;
    let options = LeaseTimeToLiveOptions::new().with_keys();
    let life = client.lease_time_to_live(id, Some(options)).await?;
    let keys: Vec<_> =
        life.keys().iter().map(|key| String::from_utf8_lossy(key).into_owned()).collect();
    let listed = client.leases().await?.leases().iter().any(|lease| lease.id() == id);
    let (mut keeper, mut answers) = client.lease_keep_alive(id).await?;
    keeper.keep_alive().await?;
    let alive = answers.message().await?.is_some_and(|answer| answer.ttl() > 0);
    client.lease_revoke(id).await?;
    let (listed, alive) =
        (if listed { "listed" } else { "not listed" }, if alive { "kept alive" } else { "over" });
    Ok(format!("granted {}; keys {}; {listed}; {alive}", life.granted_ttl(), keys.join(" ")))
}

async fn relied(server: &Server) -> Result<String, Error> {
    let mut client = server.client().await?;
    let id = lease(&mut client, 30, 0).await?;
    lock(&mut client, "relied", id).await?;
    let (mut keeper, mut answers) = client.lease_keep_alive(id).await?;
    keeper.keep_alive().await?;
    Ok(answers.message().await?.map_or(0, |answer| answer.ttl()).to_string())
}
