//! A fixed short slice of the torture tests: six faults, and a small stress run. `cargo xtask torture` runs longer.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs the program. Its messages, for example about missing network namespaces, are not captured.
fn torture(arguments: &[&str]) -> serde_json::Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quorate-torture"));
    let output = command.args(arguments).arg("--json").stderr(Stdio::inherit()).output();
    let output = output.expect("it can be started");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}\n{text}", output.status);
    serde_json::from_str(&text).expect("it is JSON")
}

/// Takes 40 s: leases of two seconds have to lapse, and nodes have to restart, in real time.
#[test]
fn a_cluster_bears_faults_and_a_crowd() {
    // One after the other: each needs the whole machine.
    an_interrupted_run_leaves_nothing_behind();
    // The present build serves as the earlier one, from which all nodes are upgraded.
    let program = env!("CARGO_BIN_EXE_quorate-torture");
    let faults = ["faults", "--faults", "6", "--seed", "1", "--or-loopback", "--from", program];
    let faults = torture(&faults);
    assert_eq!(faults["faults"]["an upgrade of a node"], 5, "{faults:#}");
    let figure = |name: &str| faults["figures"][name].as_u64().expect("a number");
    assert!(figure("grants that a worker relied on") > 0, "{faults:#}");
    assert!(figure("increments of the guarded register") > 0, "{faults:#}");
    for client in faults["clients"].as_array().expect("a list") {
        let count = |name: &str| client[name].as_u64().expect("a number");
        assert!(count("grants") > 0 && count("long holds") > 0, "{client:#}");
    }
    assert!(faults["faults"].as_object().is_some_and(|kinds| kinds.len() > 3), "{faults:#}");
    let stress = ["stress", "--waiters", "200", "--locks", "5000", "--strangers", "40"];
    let stress = torture(&stress);
    assert_eq!(stress["phases"].as_array().map(Vec::len), Some(8), "{stress:#}");
}

/// Sends SIGTERM to a run in the middle of a fault.
#[expect(clippy::disallowed_methods, reason = "real processes live in real time")]
fn an_interrupted_run_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_quorate-torture"));
    command.args(["faults", "--faults", "50", "--clients", "direct,http", "--or-loopback"]);
    command.env("TMPDIR", folder.path()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut run = command.spawn().expect("it can be started");
    let mut stderr_lines = BufReader::new(run.stderr.take().expect("it is piped")).lines();
    let works = stderr_lines.any(|line| line.is_ok_and(|line| line.contains("are at work")));
    assert!(works, "{:?}", run.wait());
    std::thread::sleep(std::time::Duration::from_millis(500));
    let pid = run.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().is_ok_and(|it| it.success()));
    let messages = stderr_lines.map_while(Result::ok).collect::<Vec<_>>().join("\n");
    assert_eq!(run.wait().expect("it ends").code(), Some(2), "{messages}");
    assert!(messages.contains("interrupted"), "{messages}");
    assert_eq!(left_of(folder.path(), &pid), Vec::<String>::new());
}

/// Remains of a run: files, processes and namespaces.
fn left_of(folder: &Path, pid: &str) -> Vec<String> {
    let names = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect::<Vec<_>>()
    };
    let ours = folder.to_string_lossy().into_owned();
    let commands = names(Path::new("/proc")).into_iter().filter_map(|process| {
        let command = std::fs::read(format!("/proc/{process}/cmdline")).ok()?;
        Some(String::from_utf8_lossy(&command).into_owned()).filter(|line| line.contains(&ours))
    });
    let prefix = format!("quorate-{pid}-");
    let namespaces = names(Path::new("/run/netns")).into_iter();
    let namespaces = namespaces.filter(|name| name.starts_with(&prefix));
    names(folder).into_iter().chain(commands).chain(namespaces).collect()
}
