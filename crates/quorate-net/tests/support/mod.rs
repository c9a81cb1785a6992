//! Nodes on loopback, and waiting with a timeout.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::sync::Arc;
use std::time::Duration;

use quorate_core::ProcessId;
use quorate_net::authority::Authority;
use quorate_net::{
    ClusterId, Config, Event, Events, Incarnation, Limits, Listener, Mesh, Network, Security, Tcp,
    Tls,
};
use tokio::time::{sleep, timeout};

pub(crate) const CLUSTER: ClusterId = ClusterId(0xc1);

pub(crate) fn p(number: u32) -> ProcessId {
    ProcessId::new(number)
}

/// Limits for tests: problems are detected quickly.
pub(crate) fn quick_limits() -> Limits {
    let mut limits = Limits::default();
    limits.handshake = Duration::from_secs(2);
    limits.ping = Duration::from_millis(50);
    limits.silence = Duration::from_millis(400);
    limits.redial = Duration::from_millis(5);
    limits.redial_max = Duration::from_millis(50);
    limits.stop = Duration::from_secs(3);
    limits
}

/// Configuration of a node, without peers.
pub(crate) fn config(me: u32, incarnation: u64, security: Security) -> Config {
    let mut config = Config::new(CLUSTER, p(me), [], security);
    config.incarnation = Incarnation(incarnation);
    config.limits = quick_limits();
    config.seed = u64::from(me);
    config
}

pub(crate) async fn listener() -> Box<dyn Listener> {
    Tcp.listen("127.0.0.1:0").await.expect("a free port")
}

/// Listens at an address that another listener is about to free.
pub(crate) async fn listen_again(at: &str) -> Box<dyn Listener> {
    for _ in 0..500 {
        match Tcp.listen(at).await {
            Ok(listener) => return listener,
            Err(_) => sleep(Duration::from_millis(10)).await,
        }
    }
    panic!("the port is never free");
}

pub(crate) fn address(listener: &dyn Listener) -> String {
    listener.address().expect("it listens").to_string()
}

pub(crate) struct Node {
    pub(crate) mesh: Mesh,
    pub(crate) events: Events,
}

impl Node {
    pub(crate) fn start(config: Config, listener: Box<dyn Listener>) -> Self {
        let (mesh, events) = Mesh::start(config, Tcp, listener).expect("it starts");
        Self { mesh, events }
    }

    pub(crate) async fn next(&mut self) -> Event {
        in_time(self.events.next()).await.expect("it has not stopped")
    }

    /// Reads events until `count` messages have arrived.
    pub(crate) async fn messages(&mut self, count: usize) -> Vec<Vec<u8>> {
        let mut messages = Vec::new();
        while messages.len() < count {
            if let Event::Message { payload, .. } = self.next().await {
                messages.push(payload.to_vec());
            }
        }
        messages
    }

    /// Reads events until a peer is up; returns its incarnation, whether that is new, and the version of the messages.
    pub(crate) async fn up(&mut self) -> (Incarnation, bool, u16) {
        loop {
            if let Event::Up { incarnation, fresh, version, .. } = self.next().await {
                return (incarnation, fresh, version);
            }
        }
    }

    /// Waits until the last error of a peer contains these words.
    pub(crate) async fn expect_error(&self, words: &str) {
        eventually(words, || {
            let status = self.mesh.status();
            status
                .iter()
                .any(|peer| peer.last_error.as_ref().is_some_and(|why| why.contains(words)))
        })
        .await;
    }
}

/// Two nodes that are configured as peers.
pub(crate) async fn pair(mut a: Config, mut b: Config) -> (Node, Node) {
    let (at, bt) = (listener().await, listener().await);
    a.peers.insert(b.me, address(&*bt));
    b.peers.insert(a.me, address(&*at));
    (Node::start(a, at), Node::start(b, bt))
}

/// Certificates of one authority for these nodes.
pub(crate) fn certified<const N: usize>(nodes: [u32; N]) -> [Security; N] {
    let (authority, ca) = Authority::generate().expect("an authority");
    nodes.map(|node| {
        let pem = authority.certify(p(node), &[], 1).expect("a certificate");
        let [ca, certificate, key] =
            [&ca.certificate, &pem.certificate, &pem.key].map(|s| s.as_bytes());
        Security::Tls(Arc::new(Tls::from_pem(ca, certificate, key).expect("usable")))
    })
}

/// Waits for a future, with a timeout.
pub(crate) async fn in_time<T>(future: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(20), future).await.expect("it should not take so long")
}

pub(crate) async fn eventually(label: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..2000 {
        if holds() {
            return;
        }
        sleep(Duration::from_millis(10)).await;
    }
    panic!("it never came to this: {label}");
}
