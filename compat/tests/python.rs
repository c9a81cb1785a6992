//! A client in another language: `etcd3-py`, which uses the JSON API.

mod server;

use std::path::Path;
use std::process::Command;

use server::Server;

/// Installs the client in a virtual environment; returns `None` without Python or if the client cannot be downloaded.
fn python() -> Option<std::path::PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python");
    let python = folder.join("bin/python");
    let runs = |command: &mut Command| command.status().is_ok_and(|status| status.success());
    let known =
        |python: &Path| python.exists() && runs(Command::new(python).args(["-c", "import etcd3"]));
    if known(&python) {
        return Some(python);
    }
    let made = runs(Command::new("python3").args(["-m", "venv"]).arg(&folder));
    let install = ["-m", "pip", "install", "--quiet", "etcd3-py==0.1.6"];
    (made && runs(Command::new(&python).args(install)) && known(&python)).then_some(python)
}

/// Takes 20 s and more: a virtual environment is made, and the client waits for leases in real time, with two servers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_does_with_quorate_what_it_does_with_etcd() {
    let Some(python) = python() else {
        println!("not run: python3 is missing, or etcd3-py cannot be fetched from its registry");
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/locks.py");
    for server in [Server::etcd().await, Server::quorate().await] {
        let port = server.endpoint.rsplit(':').next().expect("a port");
        let came = Command::new(&python).arg(&script).arg(port).output().expect("Python");
        let (said, errors) =
            (String::from_utf8_lossy(&came.stdout), String::from_utf8_lossy(&came.stderr));
        let expected = "lease 777, 30 s\nlocked py/309\nkeys py/309\nwaits\nunlocked\nlocked py/30a\nrevoked\n";
        assert_eq!(said, expected, "{}: {errors}", server.name);
    }
}
