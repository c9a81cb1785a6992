//! What a message and its answer take on this machine's loopback with nothing behind it.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;

use crate::measure::Latency;
use crate::service::Trouble;

/// The size of a message.
const BYTES: usize = 64;

/// Messages and answers of 64 bytes between two threads, each with a runtime of its own, for so long.
pub fn round_trip(time: Duration) -> Result<Latency, Trouble> {
    let (address, door) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await?;
                let _ = address.send(listener.local_addr()?);
                let (mut stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                let mut bytes = [0; BYTES];
                while stream.read_exact(&mut bytes).await.is_ok() {
                    stream.write_all(&bytes).await?;
                }
                std::io::Result::Ok(())
            })
        });
        let runtime = Builder::new_current_thread().enable_all().build().map_err(Trouble::new)?;
        let address = door.recv().map_err(Trouble::new)?;
        runtime.block_on(ask(address, time)).map_err(Trouble::new)
    })
}

async fn ask(address: std::net::SocketAddr, time: Duration) -> std::io::Result<Latency> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (mut bytes, mut latency) = ([7; BYTES], Latency::default());
    let (start, warm) = (Instant::now(), time / 10);
    while start.elapsed() < time {
        let sent = Instant::now();
        stream.write_all(&bytes).await?;
        stream.read_exact(&mut bytes).await?;
        if start.elapsed() > warm {
            latency.add(sent.elapsed());
        }
    }
    Ok(latency)
}
