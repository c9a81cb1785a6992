//! Commands of users with a real etcd as the backend. etcd is started on loopback if it is installed.
//!
//! Without `etcd` on the PATH the tests are skipped with a message. With QUORATE_PEERS=required that is a failure.

#![expect(clippy::disallowed_methods, reason = "real processes take real time")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quorate_client::{Client, Credentials, Error, Failure, Loss, Name, SessionOptions};
use serde_json::{Value, json};

/// Single-member etcd cluster, stopped when dropped.
struct Etcd {
    process: Child,
    address: String,
    _folder: tempfile::TempDir,
}

impl Etcd {
    /// Starts etcd; returns `None` if it is not installed and not required.
    fn start() -> Option<Self> {
        // Both listeners are bound at the same time, so that the two free ports differ.
        let free = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("loopback"));
        let [address, peers] =
            free.map(|listener| listener.local_addr().expect("it is bound").to_string());
        let peers = format!("http://{peers}");
        let url = format!("http://{address}");
        let folder = tempfile::tempdir().expect("a folder");
        let process = Command::new("etcd")
            .arg("--data-dir")
            .arg(folder.path())
            .args(["--listen-client-urls", &url, "--advertise-client-urls", &url])
            .args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers])
            .args(["--initial-cluster", &format!("default={peers}")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let required = std::env::var("QUORATE_PEERS").is_ok_and(|how| how == "required");
        match process {
            Ok(process) => {
                let etcd = Self { process, address, _folder: folder };
                etcd.wait_until(|| etcd.run(&["locks"]).status.success(), "etcd answers");
                Some(etcd)
            }
            Err(error) => {
                assert!(!required, "QUORATE_PEERS=required, and etcd cannot be started: {error}");
                let line = b"not run: etcd cannot be started (Debian has it in etcd-server)\n";
                let _ = std::io::stderr().write_all(line);
                None
            }
        }
    }

    fn wait_until(&self, mut condition: impl FnMut() -> bool, what: &str) {
        let start = Instant::now();
        while !condition() {
            assert!(start.elapsed() < Duration::from_secs(20), "never: {what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn quorate(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quorate"));
        command.args(arguments).env("QUORATE_BACKEND", format!("etcd://{}", self.address));
        command.env_remove("QUORATE_ENDPOINT");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.quorate(arguments).output().expect("it runs")
    }

    /// Starts a command under a lock, and waits until the lock is held.
    fn holder(&self, name: &str, more: &[&str]) -> Child {
        let mut command = self.quorate(&["lock", name]);
        let holder = command.args(more).stdin(Stdio::piped()).spawn().expect("it starts");
        self.wait_until(|| self.find_request(name, "holding").is_some(), "somebody has the lock");
        holder
    }

    /// Finds a request for a lock by its state.
    fn find_request(&self, name: &str, state: &str) -> Option<Value> {
        let output = self.run(&["locks", name, "--json"]);
        let list: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let list = list["locks"].as_array().cloned().unwrap_or_default();
        list.into_iter().find(|lock| lock["name"] == name && lock["standing"] == state)
    }

    /// Sends a request to the HTTP API of etcd.
    fn post(&self, path: &str, body: &Value) -> Value {
        let body = body.to_string();
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
        let length = body.len();
        write!(stream, "POST {path} HTTP/1.1\r\nHost: etcd\r\nContent-Length: {length}\r\n")
            .and_then(|()| write!(stream, "Connection: close\r\n\r\n{body}"))
            .expect("it listens");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        assert!(head.contains("200 OK"), "{answer}");
        serde_json::from_str(body).unwrap_or_else(|_| panic!("{answer}"))
    }

    fn revoke(&self, lock: &Value) {
        let lease =
            lock["who"].as_str().and_then(|who| who.strip_prefix("lease ")).expect("a lease");
        let id = i64::from_str_radix(lease, 16).expect("in hexadecimal");
        self.post("/v3/lease/revoke", &json!({ "ID": id.to_string() }));
    }

    fn signal(&self, signal: &str) {
        kill(signal, &self.process);
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn kill(signal: &str, process: &Child) {
    let id = process.id().to_string();
    let sent = Command::new("/bin/sh").args(["-c", &format!("kill -{signal} {id}")]).status();
    assert!(sent.expect("a shell").success());
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn base64(text: &str) -> String {
    STANDARD.encode(text)
}

#[test]
fn a_command_runs_under_a_lock_of_etcd() {
    let Some(etcd) = Etcd::start() else { return };
    let shell = |script: &str| etcd.run(&["lock", "a", "--", "/bin/sh", "-c", script]);
    let token = |output: &Output| -> u64 {
        text(&output.stdout).trim().parse().unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
    };
    let first = shell("echo $QUORATE_TOKEN; test $QUORATE_DEADLINE -gt 0 && exit 7");
    assert_eq!(first.status.code(), Some(7), "{}", text(&first.stderr));
    let second = shell("echo $QUORATE_TOKEN; kill -9 $$");
    assert_eq!(second.status.code(), Some(128 + 9));
    assert!(token(&second) > token(&first), "it was released, and tokens grow");
    assert_eq!(etcd.run(&["lock", "a", "--", "/no/such/command"]).status.code(), Some(127));

    let mut holder = etcd.holder("a", &["--", "cat"]);
    let late = etcd.run(&["lock", "a", "--timeout", "100ms", "--", "true"]);
    assert_eq!(late.status.code(), Some(75), "{}", text(&late.stderr));
    assert!(text(&late.stderr).contains("number 1 in the queue"), "{}", text(&late.stderr));
    assert!(etcd.find_request("a", "waiting").is_none(), "who gave up waits no longer");
    assert_eq!(etcd.run(&["lock", "a", "--timeout", "0s", "--", "true"]).status.code(), Some(75));
    let mut waiter = etcd.quorate(&["lock", "a", "--", "/bin/sh", "-c", "echo $QUORATE_TOKEN"]);
    let waiter = waiter.spawn().expect("it starts");
    etcd.wait_until(|| etcd.find_request("a", "waiting").is_some(), "somebody waits");
    let held =
        etcd.find_request("a", "holding").expect("a holder")["token"].as_u64().expect("a token");
    holder.stdin.take().expect("piped").write_all(b"hello").expect("it reads");
    let ended = holder.wait_with_output().expect("it ends");
    assert_eq!((text(&ended.stdout).as_str(), ended.status.code()), ("hello", Some(0)));
    let next = waiter.wait_with_output().expect("it ends");
    assert!(token(&next) > held && held > token(&second), "{} after {held}", token(&next));

    let script = "trap 'echo told; exit 9' TERM; while true; do sleep 0.02; done";
    let holder = etcd.holder("a", &["--", "/bin/sh", "-c", script]);
    // Wait until the command has set its trap.
    std::thread::sleep(Duration::from_millis(200));
    kill("TERM", &holder);
    let ended = holder.wait_with_output().expect("it ends");
    assert_eq!((text(&ended.stdout).as_str(), ended.status.code()), ("told\n", Some(9)));
    assert!(etcd.find_request("a", "holding").is_none(), "it was released");
}

#[test]
fn others_see_us_and_we_see_them() {
    let Some(etcd) = Etcd::start() else { return };
    let script = ["elect", "b", "--why", "http://here:1", "--", "sleep", "60"];
    let leader = etcd.quorate(&script).spawn().expect("it starts");
    etcd.wait_until(|| etcd.find_request("b", "holding").is_some(), "somebody leads");
    let seen = etcd.find_request("b", "holding").expect("a leader");
    assert_eq!((&seen["why"], &seen["kind"]), (&"http://here:1".into(), &"election".into()));
    assert_eq!((&seen["node"], &seen["for_ms"]), (&Value::Null, &Value::Null), "not known");
    let told = etcd.post("/v3/election/leader", &json!({ "name": base64("b") }));
    assert_eq!(told["kv"]["value"], base64("http://here:1"), "{told}");
    assert_eq!(told["kv"]["create_revision"], seen["token"].to_string());
    kill("TERM", &leader);
    assert_eq!(leader.wait_with_output().expect("it ends").status.code(), Some(128 + 15));

    // A lock taken through etcd's own lock API excludes our clients.
    let lease = etcd.post("/v3/lease/grant", &json!({ "TTL": "60" }))["ID"].clone();
    etcd.post("/v3/lock/lock", &json!({ "name": base64("c"), "lease": lease }));
    assert_eq!(etcd.run(&["lock", "c", "--timeout", "0s", "--", "true"]).status.code(), Some(75));
    let free = ["release", "c", "--force", "--reason", "a test"];
    let refused = etcd.run(&free);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("etcdctl lease revoke"), "{}", text(&refused.stderr));
    etcd.post("/v3/lease/revoke", &json!({ "ID": lease }));
    assert_eq!(etcd.run(&["lock", "c", "--timeout", "5s", "--", "true"]).status.code(), Some(0));
    assert_eq!(etcd.run(&free).status.code(), Some(1), "nobody has it");

    let status = etcd.run(&["status"]);
    assert_eq!(status.status.code(), Some(2));
    assert!(text(&status.stderr).contains("etcdctl endpoint status"), "{}", text(&status.stderr));
    let brief = etcd.run(&["lock", "c", "--ttl", "1s", "--grace", "300ms", "--", "true"]);
    assert!(text(&brief.stderr).contains("at least two"), "{}", text(&brief.stderr));
    let both = etcd.run(&["locks", "--backend", "etcd://a:1", "--endpoint", "a:1"]);
    assert_eq!(both.status.code(), Some(2));
}

#[test]
fn a_session_that_is_ended_ends_the_command_and_grants_nothing() {
    let Some(etcd) = Etcd::start() else { return };
    let holder = etcd.holder("d", &["--", "sleep", "60"]);
    let waiter = etcd.quorate(&["lock", "d", "--", "echo", "never"]).spawn().expect("it starts");
    etcd.wait_until(|| etcd.find_request("d", "waiting").is_some(), "somebody waits");
    // A waiter whose session has ended must not become the holder when its turn comes.
    etcd.revoke(&etcd.find_request("d", "waiting").expect("a waiter"));
    etcd.revoke(&etcd.find_request("d", "holding").expect("a holder"));
    let ended = holder.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(76), "{}", text(&ended.stderr));
    let ended = waiter.wait_with_output().expect("it ends");
    assert_eq!((ended.status.code(), text(&ended.stdout).as_str()), (Some(69), ""));
    assert!(text(&ended.stderr).contains("session is over"), "{}", text(&ended.stderr));

    // Deleting the key of a lock loses the lock, although the session is alive.
    let holder = etcd.holder("d", &["--", "sleep", "60"]);
    let lease = etcd.find_request("d", "holding").expect("a holder")["who"].clone();
    let key = lease.as_str().expect("text").replace("lease ", "d/");
    etcd.post("/v3/kv/deleterange", &json!({ "key": base64(&key) }));
    let ended = holder.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(76), "{}", text(&ended.stderr));
}

#[test]
fn an_etcd_that_says_nothing_loses_the_lock_before_its_lease_is_over() {
    let Some(mut etcd) = Etcd::start() else { return };
    // The command is stopped 2.75 s before the lease can expire.
    let more = ["--ttl", "6s", "--grace", "2500ms", "--", "sleep", "60"];
    let holder = etcd.holder("e", &more);
    let before = etcd.find_request("e", "holding").expect("a holder");
    etcd.signal("STOP");
    let ended = holder.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(76), "{}", text(&ended.stderr));
    etcd.signal("CONT");
    let after = etcd.find_request("e", "holding").expect("the lease is not over yet");
    assert_eq!(after["who"], before["who"], "nobody else can have had it");

    let holder = etcd.holder("f", &["--ttl", "2s", "--grace", "300ms", "--", "sleep", "60"]);
    etcd.process.kill().and_then(|()| etcd.process.wait()).expect("it can be killed");
    let ended = holder.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(76), "{}", text(&ended.stderr));
    let nobody = etcd.run(&["locks"]);
    assert_eq!(nobody.status.code(), Some(2));
    assert!(text(&nobody.stderr).contains("cannot reach etcd"), "{}", text(&nobody.stderr));
}

#[test]
fn a_program_uses_it_like_a_cluster_of_quorate() {
    let Some(etcd) = Etcd::start() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let backend = format!("etcd://{}", etcd.address).parse().expect("a backend");
        let client = Client::with_backend(backend, Credentials::default())
            .expect("nothing is connected yet");
        let ours = client.session(SessionOptions::default()).await.expect("a session");
        let theirs = client.session(SessionOptions::default()).await.expect("another");
        let name = Name::lock("g").expect("a name");

        // A session that acquires a lock again gets the same token. It holds the lock until it has released it as often.
        let first = ours.lock("g").expect("a name").acquire().await.expect("it is free");
        let again = ours.lock("g").expect("a name").acquire().await.expect("it has it");
        assert_eq!(first.token(), again.token());
        assert!(client.check_token(name.clone(), first.token()).await.expect("held").current);
        first.release().await.expect("it is held");
        let busy = theirs.lock("g").expect("a name").wait(Duration::ZERO).acquire().await;
        assert!(matches!(busy, Err(Error::Failed(Failure::Busy))), "{busy:?}");
        // An abandoned request leaves nothing behind, and dropping a guard releases the lock.
        let waiting = theirs.lock("g").expect("a name").acquire();
        assert!(tokio::time::timeout(Duration::from_millis(300), waiting).await.is_err());
        let old = again.token();
        drop(again);
        let patience = Duration::from_secs(10);
        let next = theirs.lock("g").expect("a name").wait(patience).acquire().await;
        let next = next.expect("it is free");
        assert!(next.token() > old && next.is_held());
        assert!(!client.check_token(name.clone(), old).await.expect("held").current);
        next.release().await.expect("it is held");
        let free = client.check_token(name, old).await;
        assert!(matches!(free, Err(Error::Failed(Failure::Free))), "{free:?}");

        let leader = ours.election("h").expect("a name").why("one").acquire().await.expect("free");
        leader.proclaim("two").await.expect("it leads");
        let list = client.list("h", 10).await.expect("a list");
        assert_eq!(list.iter().map(|about| about.why.as_str()).collect::<Vec<_>>(), ["two"]);
        // The end of a session reaches all its guards.
        etcd.revoke(&json!({ "who": list[0].client_name }));
        tokio::time::timeout(patience, leader.expiring()).await.expect("it is lost");
        assert!(matches!(leader.loss(), Some(Loss::Expelled | Loss::SessionOver)));
        let over = ours.lock("g").expect("a name").wait(patience).acquire().await;
        assert!(matches!(over, Err(Error::Failed(Failure::NoSession))), "{over:?}");
        theirs.close().await.expect("it is there");
    });
}
