//! Raw time of a message and its answer on loopback, without any service.

use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;

use crate::error::BenchError;
use crate::measure::Latency;

/// Size of a message in bytes.
const BYTES: usize = 64;

/// Time of a message and its answer, by the cores of the two ends.
#[derive(Clone, Debug)]
pub struct RoundTrip {
    /// Each end on its own core. It is the reference for everything else, because servers and clients also run on different
    /// cores. On a machine with one core, both ends share it.
    pub two_cores: Latency,
    /// Both ends on one core, where no other core has to be woken.
    pub one_core: Latency,
}

impl RoundTrip {
    /// Median of `two_cores` in microseconds, the reference for everything else.
    pub fn median(&self) -> f64 {
        self.two_cores.percentile(50.0)
    }
}

impl std::fmt::Display for RoundTrip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (half, most) = (self.two_cores.percentile(50.0), self.two_cores.percentile(99.0));
        let one_core = self.one_core.percentile(50.0);
        write!(
            f,
            "round trip on loopback, 50 %: {half:.1} us, 99 %: {most:.1} us; both ends on one core: {one_core:.1} us"
        )
    }
}

/// Measures messages and answers of 64 bytes between two threads, each with its own runtime. It takes `time` in total.
pub fn round_trip(time: Duration) -> Result<RoundTrip, BenchError> {
    let cores = allowed_cores();
    let (first, last) = (cores.first().copied(), cores.last().copied());
    Ok(RoundTrip {
        two_cores: measure_between(time / 2, [first, last])?,
        one_core: measure_between(time / 2, [first, first])?,
    })
}

/// Cores on which this process may run, as far as the system reports them.
fn allowed_cores() -> Vec<usize> {
    let allowed = sched_getaffinity(None);
    let is_allowed = |core: &usize| allowed.as_ref().is_ok_and(|all| all.is_set(*core));
    (0..CpuSet::MAX_CPU).filter(is_allowed).collect()
}

/// Pins this thread to a core. If that fails, the thread runs anywhere.
fn pin_to_core(core: Option<usize>) {
    if let Some(core) = core {
        let mut only = CpuSet::new();
        only.set(core);
        let _ = sched_setaffinity(None, &only);
    }
}

fn measure_between(
    time: Duration,
    [client_core, server_core]: [Option<usize>; 2],
) -> Result<Latency, BenchError> {
    let (address_sender, address_receiver) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            pin_to_core(server_core);
            let runtime = Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await?;
                let _ = address_sender.send(listener.local_addr()?);
                let (mut stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                let mut bytes = [0; BYTES];
                while stream.read_exact(&mut bytes).await.is_ok() {
                    stream.write_all(&bytes).await?;
                }
                std::io::Result::Ok(())
            })
        });
        // The client has its own thread too, because pinning a thread is permanent.
        let client = scope.spawn(move || {
            pin_to_core(client_core);
            let runtime = Builder::new_current_thread().enable_all().build();
            let address = address_receiver.recv().map_err(BenchError::new)?;
            let runtime = runtime.map_err(BenchError::new)?;
            runtime.block_on(measure(address, time)).map_err(BenchError::new)
        });
        client.join().map_err(|_| BenchError::new("the client thread has ended"))?
    })
}

async fn measure(address: std::net::SocketAddr, time: Duration) -> std::io::Result<Latency> {
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
