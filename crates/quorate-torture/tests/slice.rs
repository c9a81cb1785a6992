//! A fixed short slice of the torture: six faults, and a small part of the stress. `cargo xtask torture` runs longer.

use std::process::Command;

/// Runs it. What it tells on the way, such as that there are no network namespaces here, is not captured.
fn torture(arguments: &[&str]) -> serde_json::Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quorate-torture"));
    let output =
        command.args(arguments).arg("--json").stderr(std::process::Stdio::inherit()).output();
    let output = output.expect("it can be started");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}\n{text}", output.status);
    serde_json::from_str(&text).expect("it is JSON")
}

#[test]
fn a_cluster_bears_faults_and_a_crowd() {
    // One after the other: both need the whole machine.
    let faults = ["faults", "--faults", "6", "--seed", "1", "--or-loopback"];
    let faults = torture(&faults);
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
