//! Measures the cost of a message on loopback: through the mesh, in plain text and with TLS, compared with bare TCP.
//!
//! `cargo run --release -p quorate-net --example round_trip`

use std::sync::Arc;
use std::time::Duration;

use quorate_core::ProcessId;
use quorate_net::authority::Authority;
use quorate_net::{ClusterId, Config, Event, Events, Mesh, Network, Security, Tcp, Tls};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

const ROUNDS: u32 = 20_000;
const BURST: u64 = 400_000;
const SIZE: usize = 64;

/// Each side has a thread of its own, like two processes.
fn main() {
    show("bare TCP, round trip", bare_tcp() / ROUNDS);
    let securities = |tls: bool| -> [Security; 2] {
        if tls { certified() } else { [Security::Plain, Security::Plain] }
    };
    for (name, tls) in [("plain", false), ("TLS", true)] {
        show(&format!("mesh, {name}, round trip"), mesh(securities(tls), round_trips) / ROUNDS);
        let time = mesh(securities(tls), burst);
        print_line(&format!(
            "mesh, {name}, one way: {:.0} messages/s",
            BURST as f64 / time.as_secs_f64()
        ));
    }
}

#[expect(clippy::print_stdout, reason = "an example's data")]
fn print_line(line: &str) {
    println!("{line}");
}

fn show(label: &str, time: Duration) {
    print_line(&format!("{label}: {:.1} us", time.as_secs_f64() * 1e6));
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

fn bare_tcp() -> Duration {
    let (sender, address) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        runtime().block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            sender.send(listener.local_addr().expect("bound")).expect("told");
            let (mut stream, _) = listener.accept().await.expect("accepted");
            stream.set_nodelay(true).expect("set");
            let mut buffer = [0; SIZE];
            while stream.read_exact(&mut buffer).await.is_ok() {
                stream.write_all(&buffer).await.expect("written");
            }
        });
    });
    let address = address.recv().expect("told");
    runtime().block_on(async {
        let mut stream = TcpStream::connect(address).await.expect("connected");
        stream.set_nodelay(true).expect("set");
        let mut buffer = [0; SIZE];
        let start = Instant::now();
        for _ in 0..ROUNDS {
            stream.write_all(&buffer).await.expect("written");
            stream.read_exact(&mut buffer).await.expect("read");
        }
        start.elapsed()
    })
}

/// Node 0 measures, node 1 echoes messages. The first byte of a message requests the echo.
fn mesh(
    security: [Security; 2],
    measure: impl AsyncFnOnce(&Mesh, &mut Events) -> Duration,
) -> Duration {
    let [zero, one] = security;
    let (sender, address) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        runtime().block_on(async {
            let listener = Tcp.listen("127.0.0.1:0").await.expect("a port");
            sender.send(listener.address().expect("bound").to_string()).expect("told");
            let config = config(1, (0, "127.0.0.1:1".to_owned()), one);
            let (mesh, mut events) = Mesh::start(config, Tcp, listener).expect("started");
            while let Some(event) = events.next().await {
                match event {
                    Event::Message { from, payload } if payload[0] == 1 => {
                        mesh.send(from, payload).await.expect("sent");
                    }
                    Event::Down { .. } => return,
                    _ => {}
                }
            }
        });
    });
    let address = address.recv().expect("told");
    runtime().block_on(async {
        let listener = Tcp.listen("127.0.0.1:0").await.expect("a port");
        let config = config(0, (1, address), zero);
        let (mesh, mut events) = Mesh::start(config, Tcp, listener).expect("started");
        while !matches!(events.next().await, Some(Event::Up { .. })) {}
        measure(&mesh, &mut events).await
    })
}

async fn round_trips(mesh: &Mesh, events: &mut Events) -> Duration {
    let start = Instant::now();
    for _ in 0..ROUNDS {
        mesh.try_send(ProcessId::new(1), vec![1; SIZE]).expect("sent");
        events.next().await.expect("answered");
    }
    start.elapsed()
}

async fn burst(mesh: &Mesh, events: &mut Events) -> Duration {
    let start = Instant::now();
    for _ in 1..BURST {
        mesh.send(ProcessId::new(1), vec![0; SIZE]).await.expect("sent");
    }
    mesh.send(ProcessId::new(1), vec![1; SIZE]).await.expect("sent");
    events.next().await.expect("answered");
    start.elapsed()
}

fn config(me: u32, (peer, address): (u32, String), security: Security) -> Config {
    Config::new(ClusterId(1), ProcessId::new(me), [(ProcessId::new(peer), address)], security)
}

fn certified() -> [Security; 2] {
    let (authority, ca) = Authority::generate().expect("an authority");
    [0, 1].map(|node| {
        let pem = authority.certify(ProcessId::new(node), &[], 1).expect("a certificate");
        let [ca, certificate, key] =
            [&ca.certificate, &pem.certificate, &pem.key].map(|s| s.as_bytes());
        Security::Tls(Arc::new(Tls::from_pem(ca, certificate, key).expect("usable")))
    })
}
