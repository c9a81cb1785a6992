//! A cluster and the commands of its users: real processes that communicate over loopback.

#![expect(clippy::disallowed_methods, reason = "real processes take real time")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Cluster started with `quorate up`, stopped when dropped.
struct Cluster {
    process: Child,
    /// Client address of each node.
    nodes: Vec<String>,
}

impl Cluster {
    fn up(n: usize) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_quorate"))
            .args(["up", "-n", &n.to_string(), "--port", "0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let out = BufReader::new(process.stdout.take().expect("it is piped"));
        // The page is printed last. A cluster whose output cannot be written ends, so all lines are read.
        let told = out.lines().take(n + 1).map(|line| {
            let line = line.expect("it says where its nodes are");
            line.split_whitespace().last().expect("an address").to_owned()
        });
        let mut nodes: Vec<String> = told.collect();
        nodes.truncate(n);
        Self { nodes, process }
    }

    fn quorate(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quorate"));
        command.args(arguments).env("QUORATE_ENDPOINT", &self.nodes[0]).env_remove("USER");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.quorate(arguments).output().expect("it runs")
    }

    fn locks(&self) -> Vec<Value> {
        let output = self.run(&["locks", "--json"]);
        let list: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        list["locks"].as_array().expect("a list").clone()
    }

    fn wait_for_holder(&self, name: &str) {
        let start = Instant::now();
        while !self.locks().iter().any(|lock| lock["name"] == name && lock["standing"] == "holding")
        {
            assert!(start.elapsed() < Duration::from_secs(20), "nobody gets {name}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_command_runs_under_a_lock_and_its_code_is_ours() {
    let cluster = Cluster::up(3);
    let shell = |script: &str| cluster.run(&["lock", "a", "--", "/bin/sh", "-c", script]);
    let first = shell("echo $QUORATE_LOCK $QUORATE_TOKEN; test $QUORATE_DEADLINE -gt 0; exit 7");
    assert_eq!(first.status.code(), Some(7), "{}", text(&first.stderr));
    let token = |output: &Output| -> u64 {
        let said = text(&output.stdout);
        let (name, token) = said.trim().split_once(' ').expect("a name and a token");
        assert_eq!(name, "a");
        token.parse().expect("a number")
    };
    let second = shell("echo $QUORATE_LOCK $QUORATE_TOKEN");
    assert_eq!(second.status.code(), Some(0));
    assert!(token(&second) > token(&first));
    assert_eq!(shell("kill -9 $$").status.code(), Some(128 + 9));
    let missing = cluster.run(&["lock", "a", "--", "/no/such/command"]);
    assert_eq!(missing.status.code(), Some(127));
    assert_eq!(cluster.run(&["lock", "a", "--", "/etc"]).status.code(), Some(126));
}

#[test]
fn who_comes_too_late_is_told_and_input_is_passed_on() {
    let cluster = Cluster::up(3);
    let mut holder = cluster.quorate(&["lock", "b", "--why", "a test", "--", "cat"]);
    let mut holder = holder.stdin(Stdio::piped()).spawn().expect("it starts");
    cluster.wait_for_holder("b");
    let late = cluster.run(&["lock", "b", "--timeout", "100ms", "--", "true"]);
    assert_eq!(late.status.code(), Some(75), "{}", text(&late.stderr));
    assert!(text(&late.stderr).contains("number 1 in the queue"), "{}", text(&late.stderr));
    let busy = cluster.run(&["lock", "b", "--timeout", "0s", "--", "true"]);
    assert_eq!(busy.status.code(), Some(75));
    let list = text(&cluster.run(&["locks"]).stdout);
    assert!(list.contains("holds it, token") && list.contains("a test"), "{list}");
    let mut input = holder.stdin.take().expect("it is piped");
    input.write_all(b"hello").expect("it reads");
    drop(input);
    let mut said = String::new();
    holder.stdout.take().expect("piped").read_to_string(&mut said).expect("text");
    assert_eq!((said.as_str(), holder.wait().expect("it ends").code()), ("hello", Some(0)));
    let elected = cluster.run(&["elect", "b", "--timeout", "5s", "--", "true"]);
    assert_eq!(elected.status.code(), Some(0), "an election has names of its own");
}

#[test]
fn a_lock_that_is_taken_away_ends_its_command() {
    let cluster = Cluster::up(3);
    let folder = tempfile::tempdir().expect("a folder");
    let (alive, lost) = (folder.path().join("alive"), folder.path().join("lost"));
    // Neither the command nor its children react to SIGTERM.
    let script =
        format!("trap '' TERM; while true; do touch {}; sleep 0.02; done", alive.display());
    let on_lost = format!("touch {}", lost.display());
    let arguments =
        ["lock", "c", "--grace", "200ms", "--on-lost", &on_lost, "--", "/bin/sh", "-c", &script];
    let holder = cluster.quorate(&arguments).spawn().expect("it starts");
    cluster.wait_for_holder("c");
    let release = cluster.run(&["release", "c", "--force", "--reason", "a test"]);
    assert_eq!(release.status.code(), Some(0), "{}", text(&release.stderr));
    let ended = holder.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(76), "{}", text(&ended.stderr));
    assert!(lost.exists(), "what is to be done then was done");
    let _ = std::fs::remove_file(&alive);
    std::thread::sleep(Duration::from_millis(200));
    assert!(!alive.exists(), "its processes have ended");
    let free = cluster.run(&["release", "c", "--force", "--reason", "again"]);
    assert_eq!(free.status.code(), Some(1));
}

#[test]
fn a_cluster_that_is_gone_loses_the_lock_in_time() {
    let mut cluster = Cluster::up(3);
    let arguments = ["lock", "d", "--ttl", "2s", "--grace", "300ms", "--", "sleep", "60"];
    let holder = cluster.quorate(&arguments).spawn().expect("it starts");
    cluster.wait_for_holder("d");
    cluster.process.kill().expect("it runs");
    let start = Instant::now();
    let ended = holder.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(76), "{}", text(&ended.stderr));
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    let nobody = cluster.run(&["status"]);
    assert_eq!(nobody.status.code(), Some(2));
    assert!(text(&nobody.stderr).contains("quorate up"), "{}", text(&nobody.stderr));
    let nobody = cluster.run(&["lock", "d", "--", "true"]);
    assert_eq!(nobody.status.code(), Some(69), "{}", text(&nobody.stderr));
}

/// A node that refuses every client with this reason; returns its address.
fn refusing_node(reason: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound").to_string();
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            // Magic bytes, versions, and the length of a token, which is empty.
            let mut hello = [0; 10];
            client.read_exact(&mut hello).expect("a client begins");
            let length = (reason.len() as u16).to_be_bytes();
            let answer = [&hello[..8], &length, reason.as_bytes()].concat();
            client.write_all(&answer).expect("the client reads");
        }
    });
    address
}

#[test]
fn a_client_that_is_not_admitted_is_told_how_to_authenticate() {
    let node = refusing_node("an unknown token");
    let expected = format!(
        "error: {node}: the node does not let this client in: an unknown token; \
         authenticate with --token-file FILE, or with --cert FILE and --key FILE\n"
    );
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quorate"));
        command.args(arguments).env("QUORATE_ENDPOINT", &node).output().expect("it runs")
    };
    let lock = run(&["lock", "a", "--", "true"]);
    assert_eq!((lock.status.code(), text(&lock.stderr)), (Some(77), expected.clone()));
    let status = run(&["status"]);
    assert_eq!((status.status.code(), text(&status.stderr)), (Some(2), expected));
}

#[test]
fn a_cluster_can_be_looked_at() {
    let cluster = Cluster::up(5);
    let status = text(&cluster.run(&["status"]).stdout);
    assert!(status.contains("5 of 5 up") && status.contains("replaced within"), "{status}");
    let output = cluster.run(&["members", "--json"]);
    let members: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(members["members"].as_array().map(Vec::len), Some(5));
    let status = cluster.run(&["status", "--json", "--endpoint", &cluster.nodes[4]]);
    let status: Value = serde_json::from_slice(&status.stdout).expect("JSON");
    assert_eq!((&status["node"], &status["quorum"]), (&4.into(), &true.into()));
    let unknown = cluster.run(&["lock", "a", "--backend", "consul://a:1", "--", "true"]);
    assert_eq!(unknown.status.code(), Some(64));
    assert!(text(&unknown.stderr).contains("etcd://"), "{}", text(&unknown.stderr));
    let backend = format!("quorate://{}", cluster.nodes[0]);
    let output = cluster.run(&["lock", "a", "--backend", &backend, "--", "true"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

/// Three nodes with configuration files of their own.
struct Nodes {
    folder: tempfile::TempDir,
    clients: Vec<String>,
    processes: Vec<Option<Child>>,
}

impl Nodes {
    fn new() -> Self {
        // A separate loopback address: on 127.0.0.1 another process may take the port while a node is down.
        let [_, x, y, z] = std::process::id().to_be_bytes();
        let own = format!("127.{}.{y}.{}:0", 64 | x, z.clamp(1, 254));
        let free = || std::net::TcpListener::bind(&own).expect("loopback");
        let listeners: Vec<_> = (0..6).map(|_| free()).collect();
        let addresses: Vec<String> = listeners
            .iter()
            .map(|listener| listener.local_addr().expect("it is bound").to_string())
            .collect();
        let folder = tempfile::tempdir().expect("a folder");
        for node in 0..3 {
            let peers: Vec<String> =
                (0..3).map(|peer| format!("{peer} = \"{}\"", addresses[peer])).collect();
            let text = format!(
                "cluster = \"7e57\"\nid = {node}\nclients = \"{}\"\ndata = \"data{node}\"\nlease_ms = 1000\n\
                 answer_ms = 100\n[peers]\n{}\n",
                addresses[3 + node],
                peers.join("\n")
            );
            std::fs::write(folder.path().join(format!("{node}.toml")), text).expect("a disk");
        }
        Self { folder, clients: addresses[3..].to_vec(), processes: vec![None, None, None] }
    }

    fn start(&mut self, node: usize, first: bool) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quorate"));
        command.arg("node").arg("--config").arg(self.folder.path().join(format!("{node}.toml")));
        command.args(first.then_some("--new-cluster")).stderr(Stdio::null());
        self.processes[node] = Some(command.spawn().expect("it starts"));
    }

    fn kill(&mut self, node: usize) {
        let mut process = self.processes[node].take().expect("it runs");
        process.kill().and_then(|()| process.wait()).expect("it can be killed");
    }

    /// Command under a lock, with all nodes as endpoints.
    fn lock(&self, name: &str, command: &[&str]) -> Command {
        let mut lock = Command::new(env!("CARGO_BIN_EXE_quorate"));
        lock.args(["lock", name, "--ttl", "1s", "--grace", "100ms"]);
        lock.args(["--endpoint", &self.clients.join(","), "--"]).args(command);
        lock.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        lock
    }

    fn token(&self, node: usize) -> u64 {
        let output = Command::new(env!("CARGO_BIN_EXE_quorate"))
            .args(["lock", "x", "--timeout", "30s", "--endpoint", &self.clients[node], "--"])
            .args(["/bin/sh", "-c", "echo $QUORATE_TOKEN"])
            .output()
            .expect("it runs");
        text(&output.stdout).trim().parse().unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
    }

    /// Waits until a node sees all three nodes and is ready.
    fn wait_for(&self, node: usize) {
        let start = Instant::now();
        loop {
            let output = Command::new(env!("CARGO_BIN_EXE_quorate"))
                .args(["status", "--json", "--endpoint", &self.clients[node]])
                .output()
                .expect("it runs");
            let status: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            let up = status["members"]
                .as_array()
                .map_or(0, |members| members.iter().filter(|member| member["up"] == true).count());
            if up == 3 && status["reasons"] == Value::Array(Vec::new()) {
                return;
            }
            assert!(start.elapsed() < Duration::from_secs(30), "node {node}: {status}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for mut process in self.processes.iter_mut().filter_map(Option::take) {
            let _ = process.kill().and_then(|()| process.wait());
        }
    }
}

#[test]
fn tokens_grow_though_nodes_are_killed_and_all_of_them_start_again() {
    let mut nodes = Nodes::new();
    (0..3).for_each(|node| nodes.start(node, true));
    (0..3).for_each(|node| nodes.wait_for(node));
    let mut last = nodes.token(0);
    let mut grows = |token: u64| {
        assert!(token > last, "{token} after {last}");
        last = token;
    };
    nodes.kill(2);
    grows(nodes.token(0));
    nodes.start(2, false);
    nodes.wait_for(2);
    grows(nodes.token(2));
    (0..3).for_each(|node| nodes.kill(node));
    (0..3).for_each(|node| nodes.start(node, false));
    (0..3).for_each(|node| nodes.wait_for(node));
    grows(nodes.token(1));
}

#[test]
fn a_second_process_on_one_data_folder_exits_with_2() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("node.toml");
    let text = "cluster = \"1\"\nid = 0\nclients = \"127.0.0.1:0\"\ndata = \"data\"\n[peers]\n0 = \"127.0.0.1:0\"\n";
    std::fs::write(&file, text).expect("a disk");
    let node = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quorate"));
        command.args(["node", "--new-cluster", "--config"]).arg(&file);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    };
    let mut first = node().spawn().expect("it starts");
    let mut said = BufReader::new(first.stderr.take().expect("it is piped"));
    let mut line = String::new();
    while !line.contains("is up") {
        line.clear();
        assert!(said.read_line(&mut line).expect("it says so") > 0, "it ended");
    }
    let second = node().output().expect("it runs");
    let _ = first.kill();
    let _ = first.wait();
    let why = String::from_utf8_lossy(&second.stderr);
    assert_eq!(second.status.code(), Some(2), "{why}");
    assert!(why.contains("in use by another process") && why.lines().count() == 1, "{why}");
}

#[test]
fn a_command_goes_on_while_any_one_node_is_dead() {
    let mut nodes = Nodes::new();
    (0..3).for_each(|node| nodes.start(node, true));
    (0..3).for_each(|node| nodes.wait_for(node));
    for node in 0..3 {
        let script = "echo here; sleep 4; echo there";
        let holder = nodes.lock("x", &["/bin/sh", "-c", script]).spawn();
        let mut holder = holder.expect("it starts");
        let mut out = BufReader::new(holder.stdout.take().expect("it is piped"));
        let mut line = String::new();
        out.read_line(&mut line).expect("it has the lock");
        nodes.kill(node);
        out.read_to_string(&mut line).expect("text");
        let ended = holder.wait_with_output().expect("it ends");
        assert_eq!(ended.status.code(), Some(0), "node {node}: {}", text(&ended.stderr));
        assert_eq!(line, "here\nthere\n");
        nodes.start(node, false);
        nodes.wait_for(node);
    }
}
