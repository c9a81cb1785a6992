//! What a message and its answer take on this machine's loopback with nothing behind it.

use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;

use crate::measure::Latency;
use crate::service::Trouble;

/// The size of a message.
const BYTES: usize = 64;

/// What a message and its answer take, by where the two ends are.
#[derive(Clone, Debug)]
pub struct RoundTrip {
    /// Each on a core of its own: what everything else is compared with, since servers and clients are apart, too. On a
    /// machine with one core there is no such thing, and both are on that.
    pub apart: Latency,
    /// Both on one core, where nobody has to be woken elsewhere.
    pub beside: Latency,
}

impl RoundTrip {
    /// The median that everything else is compared with, in microseconds.
    pub fn median(&self) -> f64 {
        self.apart.percentile(50.0)
    }
}

impl std::fmt::Display for RoundTrip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (half, most) = (self.apart.percentile(50.0), self.apart.percentile(99.0));
        let beside = self.beside.percentile(50.0);
        write!(
            f,
            "a message and its answer on loopback: {half:.1} us, 99 %: {most:.1} us; both ends on one core: {beside:.1} us"
        )
    }
}

/// Messages and answers of 64 bytes between two threads, each with a runtime of its own, for so long in all.
pub fn round_trip(time: Duration) -> Result<RoundTrip, Trouble> {
    let cores = allowed_cores();
    let (first, last) = (cores.first().copied(), cores.last().copied());
    Ok(RoundTrip {
        apart: between(time / 2, [first, last])?,
        beside: between(time / 2, [first, first])?,
    })
}

/// The cores on which we may run, as far as the system says.
fn allowed_cores() -> Vec<usize> {
    let allowed = sched_getaffinity(None);
    let is_allowed = |core: &usize| allowed.as_ref().is_ok_and(|all| all.is_set(*core));
    (0..CpuSet::MAX_CPU).filter(is_allowed).collect()
}

/// Keeps this thread on a core. Where that is refused, figures are those of wherever it runs.
fn stay(core: Option<usize>) {
    if let Some(core) = core {
        let mut only = CpuSet::new();
        only.set(core);
        let _ = sched_setaffinity(None, &only);
    }
}

fn between(time: Duration, [asks, answers]: [Option<usize>; 2]) -> Result<Latency, Trouble> {
    let (address, door) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            stay(answers);
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
        // A thread of its own, too: whoever stays on a core stays there.
        let asking = scope.spawn(move || {
            stay(asks);
            let runtime = Builder::new_current_thread().enable_all().build();
            let address = door.recv().map_err(Trouble::new)?;
            let runtime = runtime.map_err(Trouble::new)?;
            runtime.block_on(ask(address, time)).map_err(Trouble::new)
        });
        asking.join().map_err(|_| Trouble::new("the thread that asks has ended"))?
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
