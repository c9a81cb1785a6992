//! Workloads of clients.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::error::BenchError;
use crate::measure::{Latency, Measurement};
use crate::processes::own_processor;
use crate::service::{LockClient, Service};

/// Session lifetime of clients that are not killed.
const TTL: Duration = Duration::from_secs(10);

/// The first tenth of the time is a warm-up that does not count.
fn warm_up(time: Duration) -> Duration {
    time / 10
}

/// Resource use at the start of a workload.
struct ResourceBaseline {
    start: Instant,
    processor: Duration,
    kernel: Duration,
    /// Processor time of this process, which runs the clients.
    own: Duration,
    messages: Option<u64>,
}

impl ResourceBaseline {
    async fn take(service: &impl Service) -> Self {
        let messages = service.messages().await;
        let (processor, kernel) = (service.processes().processor(), service.processes().kernel());
        Self { start: Instant::now(), processor, kernel, own: own_processor(), messages }
    }

    async fn measured(
        self,
        service: &impl Service,
        work: &'static str,
        (cycles, hand_offs): (u64, u64),
        latency: Latency,
    ) -> Measurement {
        let seconds = self.start.elapsed().as_secs_f64();
        let used = service.processes().processor().saturating_sub(self.processor);
        let kernel = service.processes().kernel().saturating_sub(self.kernel);
        let sent = match (self.messages, service.messages().await) {
            (Some(before), Some(after)) => Some(after.saturating_sub(before)),
            _ => None,
        };
        let each = |what: f64| what / (cycles.max(1)) as f64;
        let processor_us = each(used.as_secs_f64() * 1e6);
        let kernel_us = each(kernel.as_secs_f64() * 1e6);
        let client_us = each(own_processor().saturating_sub(self.own).as_secs_f64() * 1e6);
        let messages = sent.map(|sent| each(sent as f64));
        Measurement {
            work,
            seconds,
            cycles,
            hand_offs,
            latency,
            processor_us,
            kernel_us,
            client_us,
            messages,
        }
    }
}

/// One client repeatedly acquires and releases an uncontended lock.
pub async fn alone(service: &impl Service, time: Duration) -> Result<Measurement, BenchError> {
    let mut client = service.connect(0, TTL).await?;
    cycle(&mut client, "bench/alone", warm_up(time)).await?;
    let baseline = ResourceBaseline::take(service).await;
    let latency = cycle(&mut client, "bench/alone", time).await?;
    Ok(baseline.measured(service, "alone", (latency.count(), 0), latency).await)
}

async fn cycle(
    client: &mut impl LockClient,
    name: &str,
    time: Duration,
) -> Result<Latency, BenchError> {
    let (mut latency, start) = (Latency::default(), Instant::now());
    while start.elapsed() < time {
        let asked = Instant::now();
        client.acquire(name).await?;
        latency.add(asked.elapsed());
        client.release().await?;
    }
    Ok(latency)
}

/// Several clients, each with its own lock.
pub async fn apart(
    service: &impl Service,
    clients: usize,
    time: Duration,
) -> Result<Measurement, BenchError> {
    let mut all = connect(service, clients).await?;
    for (number, client) in all.iter_mut().enumerate() {
        cycle(client, &format!("bench/apart-{number}"), warm_up(time) / clients as u32).await?;
    }
    let baseline = ResourceBaseline::take(service).await;
    let mut tasks = JoinSet::new();
    for (number, mut client) in all.into_iter().enumerate() {
        tasks
            .spawn(async move { cycle(&mut client, &format!("bench/apart-{number}"), time).await });
    }
    let mut latency = Latency::default();
    while let Some(done) = tasks.join_next().await {
        latency.merge(&done.map_err(BenchError::new)??);
    }
    Ok(baseline.measured(service, "apart", (latency.count(), 0), latency).await)
}

async fn connect<S: Service>(service: &S, clients: usize) -> Result<Vec<S::Client>, BenchError> {
    let mut all = Vec::new();
    for number in 0..clients {
        all.push(service.connect(number, TTL).await?);
    }
    Ok(all)
}

/// Statistics shared by the clients that contend for one lock.
#[derive(Default)]
struct ContentionStats {
    /// Number of the last holder, counted from one.
    last: AtomicUsize,
    freed: Mutex<Option<Instant>>,
    latency: Mutex<Latency>,
    hand_offs: AtomicU64,
    cycles: AtomicU64,
}

impl ContentionStats {
    /// Cycles, hand-offs and latencies so far.
    fn totals(&self) -> ((u64, u64), Latency) {
        let counts = (self.cycles.load(Ordering::Relaxed), self.hand_offs.load(Ordering::Relaxed));
        (counts, lock(&self.latency).clone())
    }

    /// Records that a client holds the lock.
    fn record_grant(&self, number: usize) {
        self.cycles.fetch_add(1, Ordering::Relaxed);
        if self.last.swap(number + 1, Ordering::Relaxed) != number + 1 {
            self.hand_offs.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(freed) = lock(&self.freed).take() {
            lock(&self.latency).add(freed.elapsed());
        }
    }

    /// Records that the lock is about to be released.
    fn record_release(&self) {
        *lock(&self.freed) = Some(Instant::now());
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for all tasks, at most for `patience`. Unfinished tasks are abandoned, and their results so far count.
async fn join(
    tasks: &mut JoinSet<Result<(), BenchError>>,
    patience: Duration,
) -> Result<(), BenchError> {
    let all = async {
        while let Some(done) = tasks.join_next().await {
            done.map_err(BenchError::new)??;
        }
        Ok(())
    };
    tokio::time::timeout(patience, all).await.unwrap_or(Ok(()))
}

/// Several clients contend for one lock. The latency is the time from a release to the next grant.
pub async fn together(
    service: &impl Service,
    clients: usize,
    time: Duration,
) -> Result<Measurement, BenchError> {
    let all = connect(service, clients).await?;
    let baseline = ResourceBaseline::take(service).await;
    let (shared, start) = (Arc::new(ContentionStats::default()), baseline.start);
    let mut tasks = JoinSet::new();
    for (number, mut client) in all.into_iter().enumerate() {
        let shared = Arc::clone(&shared);
        tasks.spawn(async move {
            while start.elapsed() < time {
                client.acquire("bench/together").await?;
                shared.record_grant(number);
                shared.record_release();
                client.release().await?;
            }
            Ok(())
        });
    }
    join(&mut tasks, 2 * time).await?;
    let (counts, latency) = shared.totals();
    Ok(baseline.measured(service, "together", counts, latency).await)
}

/// Several clients wait for a held lock. After its release each of them acquires it once, as far as time allows.
pub async fn queue(
    service: &impl Service,
    clients: usize,
    time: Duration,
) -> Result<Measurement, BenchError> {
    let mut holder = service.connect(0, TTL).await?;
    holder.acquire("bench/queue").await?;
    let all = connect(service, clients).await?;
    let shared = Arc::new(ContentionStats::default());
    let mut tasks = JoinSet::new();
    for (number, mut client) in all.into_iter().enumerate() {
        let shared = Arc::clone(&shared);
        tasks.spawn(async move {
            client.acquire("bench/queue").await?;
            shared.record_grant(number);
            shared.record_release();
            client.release().await
        });
    }
    settle(service).await;
    let baseline = ResourceBaseline::take(service).await;
    shared.record_release();
    holder.release().await?;
    join(&mut tasks, time).await?;
    let (counts, latency) = shared.totals();
    Ok(baseline.measured(service, "queue", counts, latency).await)
}

/// Waits until all clients are in the queue, which shows in idle servers. It waits at most five seconds, because servers
/// without a queue are polled all the time.
async fn settle(service: &impl Service) {
    const POLLS: u32 = 10;
    for _ in 0..POLLS {
        if idle_share(service, Duration::from_millis(500)).await < 0.2 {
            return;
        }
    }
}

/// Session lifetime of clients that are killed.
const SHORT_TTL: Duration = Duration::from_secs(1);

/// Kills the holder of a lock several times. The latency is the time until the next client holds the lock. Sessions of
/// the holders expire after one second without contact.
pub async fn killed(service: &impl Service, times: u32) -> Result<Measurement, BenchError> {
    let mut next = service.connect(1, TTL).await?;
    let baseline = ResourceBaseline::take(service).await;
    let mut latency = Latency::default();
    for _ in 0..times {
        let killed = tokio::task::block_in_place(|| hold_and_die(service))?;
        next.acquire("bench/killed").await?;
        latency.add(killed.elapsed());
        next.release().await?;
    }
    let counts = (times.into(), times.into());
    Ok(baseline.measured(service, "killed", counts, latency).await)
}

/// Acquires the lock in a separate runtime, which ends without releasing it.
fn hold_and_die(service: &impl Service) -> Result<Instant, BenchError> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(BenchError::new)?;
    let holds = async {
        let mut holder = service.connect(0, SHORT_TTL).await?;
        holder.acquire("bench/killed").await?;
        // Wait until the client has renewed its session.
        tokio::time::sleep(SHORT_TTL / 2).await;
        Ok::<_, BenchError>(holder)
    };
    let holder = runtime.block_on(async { tokio::time::timeout(TTL, holds).await });
    let holder =
        holder.map_err(|_| BenchError::new("the holder to be killed did not get the lock"))??;
    // A killed client releases nothing, so its destructor must not run.
    std::mem::forget(holder);
    runtime.shutdown_background();
    Ok(Instant::now())
}

/// Cost of many locks that are not held.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Idle {
    /// Number of locks that were acquired and released once.
    pub locks: usize,
    /// Duration of the workload in seconds.
    pub seconds: f64,
    /// Additional memory of all servers together, in bytes per lock.
    pub bytes: f64,
}

/// Acquires and releases many different locks with 16 clients.
pub async fn many(service: &impl Service, locks: usize) -> Result<Idle, BenchError> {
    const CLIENTS: usize = 16;
    let all = connect(service, CLIENTS).await?;
    let (start, before) = (Instant::now(), service.processes().memory());
    let mut tasks = JoinSet::new();
    for (number, mut client) in all.into_iter().enumerate() {
        tasks.spawn(async move {
            for lock in (number..locks).step_by(CLIENTS) {
                client.acquire(&format!("bench/many-{lock}")).await?;
                client.release().await?;
            }
            Ok::<_, BenchError>(client)
        });
    }
    let mut clients = Vec::new();
    while let Some(done) = tasks.join_next().await {
        clients.push(done.map_err(BenchError::new)??);
    }
    let seconds = start.elapsed().as_secs_f64();
    let more = service.processes().memory().saturating_sub(before);
    Ok(Idle { locks, seconds, bytes: more as f64 / locks as f64 })
}

/// Share of one core that the servers use without requests.
pub async fn idle_share(service: &impl Service, time: Duration) -> f64 {
    let (start, before) = (Instant::now(), service.processes().processor());
    tokio::time::sleep(time).await;
    let used = service.processes().processor().saturating_sub(before);
    used.as_secs_f64() / start.elapsed().as_secs_f64()
}
