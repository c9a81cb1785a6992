//! etcd's command line, which implements locks by a recipe over keys and watches.

mod server;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use server::Server;

fn etcdctl(server: &Server, words: &[&str]) -> Command {
    let mut command = Command::new("etcdctl");
    command.env("ETCDCTL_API", "3").args(["--endpoints", &server.endpoint]).args(words);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn said(command: &mut Command) -> (bool, String, String) {
    let came = command.output().expect("Debian has etcdctl in etcd-client");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (came.status.success(), text(came.stdout), text(came.stderr))
}

/// Reads a key and its value, one line each.
fn two_lines(child: &mut Child) -> (String, String) {
    let mut lines = BufReader::new(child.stdout.as_mut().expect("it is piped")).lines();
    let mut next = || lines.next().expect("a line").expect("text");
    (next(), next())
}

fn interrupt(mut child: Child) {
    let id = child.id().to_string();
    let done = Command::new("kill").args(["-INT", &id]).status();
    assert!(done.expect("it can be told").success());
    child.wait().expect("it ends");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locks_exclude_each_other() {
    let server = Server::quorate().await;
    let folder = tempfile::tempdir().expect("a folder");
    let mark = folder.path().join("inside").display().to_string();
    // `mkdir` fails if the directory exists, so two holders at the same time would be noticed.
    let inside = format!("mkdir {mark} && sleep 0.05 && rmdir {mark} && echo went");
    let running: Vec<Child> = (0..6)
        .map(|_| etcdctl(&server, &["lock", "shared", "--", "sh", "-c", &inside]).spawn())
        .map(|child| child.expect("Debian has etcdctl in etcd-client"))
        .collect();
    for child in running {
        let came = child.wait_with_output().expect("it ends");
        assert_eq!(String::from_utf8_lossy(&came.stdout), "went\n", "{came:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leaders_follow_each_other() {
    let server = Server::quorate().await;
    let mut one = etcdctl(&server, &["elect", "boss", "one"]).spawn().expect("etcdctl");
    let (key, value) = two_lines(&mut one);
    assert!(key.starts_with("boss/") && value == "one", "{key} {value}");
    let mut seen = etcdctl(&server, &["elect", "--listen", "boss"]).spawn().expect("etcdctl");
    assert_eq!(two_lines(&mut seen).1, "one");
    let two = etcdctl(&server, &["elect", "boss", "two"]).spawn().expect("etcdctl");
    tokio::time::sleep(Duration::from_millis(300)).await;
    // The election API reports the same leader.
    let led = server.client().await.expect("a client").leader("boss").await.expect("one leads");
    assert_eq!(led.kv().map(|kv| kv.value()), Some(&b"one"[..]));
    interrupt(one);
    assert_eq!(two_lines(&mut seen).1, "two");
    interrupt(two);
    interrupt(seen);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_there_is_not_names_what_there_is() {
    let server = Server::quorate().await;
    for words in [&["get", "x"][..], &["put", "x", "y"], &["member", "list"], &["del", "x"]] {
        let (fine, _, errors) = said(&mut etcdctl(&server, words));
        assert!(!fine && errors.contains("quorate"), "{words:?}: {errors}");
    }
}
