//! Ports and connections on loopback.

use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use tokio::net::TcpStream;

/// Returns distinct ports that are currently free.
pub(crate) fn free_ports(count: usize) -> std::io::Result<Vec<SocketAddr>> {
    let listeners: Result<Vec<_>, _> =
        (0..count).map(|_| TcpListener::bind("127.0.0.1:0")).collect();
    listeners?.iter().map(TcpListener::local_addr).collect()
}

/// Opens a connection without Nagle's algorithm, so that data is sent immediately.
pub(crate) async fn dial(address: SocketAddr) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Repeats an attempt until it succeeds, `limit` has passed, or `alive` returns false. Fails with the last error.
pub(crate) async fn until<T, E, F: Future<Output = Result<T, E>>>(
    limit: Duration,
    mut alive: impl FnMut() -> bool,
    mut attempt: impl FnMut() -> F,
) -> Result<T, E> {
    let start = Instant::now();
    loop {
        match attempt().await {
            Err(_) if start.elapsed() < limit && alive() => {}
            done => return done,
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
