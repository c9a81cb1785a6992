//! What clients are made to do.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::measure::{Latency, Measurement};
use crate::processes::own_processor;
use crate::service::{BenchError, LockClient, Service};

/// How long clients live that nobody kills.
const TTL: Duration = Duration::from_secs(10);

/// A tenth of the time goes by before anything is counted.
fn warm_up(time: Duration) -> Duration {
    time / 10
}

/// What the servers had used when the work began.
struct ResourceBaseline {
    start: Instant,
    processor: Duration,
    kernel: Duration,
    /// What the clients had used, which are here.
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

/// One client takes and frees a lock that nobody else wants, again and again.
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

/// So many clients, each with a lock of its own.
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

/// What those share who want the same lock.
#[derive(Default)]
struct ContentionStats {
    /// Who had it last, counted from one.
    last: AtomicUsize,
    freed: Mutex<Option<Instant>>,
    latency: Mutex<Latency>,
    hand_offs: AtomicU64,
    cycles: AtomicU64,
}

impl ContentionStats {
    /// So much was done until now.
    fn totals(&self) -> ((u64, u64), Latency) {
        let counts = (self.cycles.load(Ordering::Relaxed), self.hand_offs.load(Ordering::Relaxed));
        (counts, lock(&self.latency).clone())
    }

    /// Somebody has it.
    fn record_grant(&self, number: usize) {
        self.cycles.fetch_add(1, Ordering::Relaxed);
        if self.last.swap(number + 1, Ordering::Relaxed) != number + 1 {
            self.hand_offs.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(freed) = lock(&self.freed).take() {
            lock(&self.latency).add(freed.elapsed());
        }
    }

    /// It is about to be free.
    fn record_release(&self) {
        *lock(&self.freed) = Some(Instant::now());
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for all of them, but not for ever: those that are not done by then are given up, and what they did counts.
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

/// So many clients and one lock. Measured is the time from freeing it to the next one's having it.
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

/// So many clients wait for one lock that somebody has; then it is freed, and each has it once, as far as time allows.
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

/// Waits until all who want something are in the queue: until the servers have little to do, but for five seconds at most,
/// since those without a queue are asked all the time.
async fn settle(service: &impl Service) {
    const POLLS: u32 = 10;
    for _ in 0..POLLS {
        if idle_share(service, Duration::from_millis(500)).await < 0.2 {
            return;
        }
    }
}

/// How long those live who are killed.
const SHORT_TTL: Duration = Duration::from_secs(1);

/// The holder of a lock is killed, so many times: how long until the next one has it. Holders have said that one second
/// without a word is their end.
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

/// Takes the lock in a runtime of its own, which ends without a word.
fn hold_and_die(service: &impl Service) -> Result<Instant, BenchError> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(BenchError::new)?;
    let holds = async {
        let mut holder = service.connect(0, SHORT_TTL).await?;
        holder.acquire("bench/killed").await?;
        // It has been heard of since.
        tokio::time::sleep(SHORT_TTL / 2).await;
        Ok::<_, BenchError>(holder)
    };
    let holder = runtime.block_on(async { tokio::time::timeout(TTL, holds).await });
    let holder =
        holder.map_err(|_| BenchError::new("who was to be killed did not get the lock"))??;
    // Whoever is killed frees nothing.
    std::mem::forget(holder);
    runtime.shutdown_background();
    Ok(Instant::now())
}

/// What many locks cost that nobody has.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Idle {
    /// How many locks have been taken and freed, each once.
    pub locks: usize,
    /// In how many seconds.
    pub seconds: f64,
    /// How many bytes of memory all servers together have more than before, for each.
    pub bytes: f64,
}

/// So many different locks are taken and freed, by 16 clients.
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

/// The share of one core that the servers use while nobody wants anything.
pub async fn idle_share(service: &impl Service, time: Duration) -> f64 {
    let (start, before) = (Instant::now(), service.processes().processor());
    tokio::time::sleep(time).await;
    let used = service.processes().processor().saturating_sub(before);
    used.as_secs_f64() / start.elapsed().as_secs_f64()
}
