//! A server that runs until its test ends.

#![allow(dead_code, reason = "each test uses its part")]

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use etcd_client::{Client, Error};

/// Server process on loopback.
pub(crate) struct Server {
    pub(crate) name: &'static str,
    pub(crate) endpoint: String,
    process: Child,
    _folder: tempfile::TempDir,
}

impl Server {
    /// Starts three quorate nodes. QUORATE_BIN names the program.
    pub(crate) async fn quorate() -> Self {
        let program = std::env::var_os("QUORATE_BIN");
        let program = program.expect("QUORATE_BIN names the program; `cargo xtask verify compat` does");
        let mut command = Command::new(program);
        let port = free_port();
        command.args(["up", "-n", "3", "--port", &port.to_string()]);
        Self::start("quorate", command, port, tempfile::tempdir().expect("a folder")).await
    }

    /// Starts a single etcd node.
    pub(crate) async fn etcd() -> Self {
        let (folder, port, peers) =
            (tempfile::tempdir().expect("a folder"), free_port(), free_port());
        let (clients, peers) =
            (format!("http://127.0.0.1:{port}"), format!("http://127.0.0.1:{peers}"));
        let mut command = Command::new("etcd");
        command.arg("--data-dir").arg(folder.path());
        command.args(["--listen-client-urls", &clients, "--advertise-client-urls", &clients]);
        command.args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers]);
        command.arg("--initial-cluster").arg(format!("default={peers}"));
        Self::start("etcd", command, port, folder).await
    }

    async fn start(
        name: &'static str,
        mut command: Command,
        port: u16,
        folder: tempfile::TempDir,
    ) -> Self {
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = quiet.spawn().unwrap_or_else(|error| {
            panic!("{name} cannot be started: {error}; Debian has it in etcd-server")
        });
        let endpoint = format!("127.0.0.1:{port}");
        let server = Self { name, endpoint, process, _folder: folder };
        let start = Instant::now();
        loop {
            let ready = match server.client().await {
                Ok(mut client) => client.lease_grant(10, None).await.map(drop),
                Err(error) => Err(error),
            };
            match ready {
                Ok(()) => return server,
                Err(error) => assert!(start.elapsed() < Duration::from_secs(30), "{name}: {error}"),
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Opens a client with its own connection.
    pub(crate) async fn client(&self) -> Result<Client, Error> {
        Client::connect([&self.endpoint], None).await
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    listener.local_addr().expect("an address").port()
}
