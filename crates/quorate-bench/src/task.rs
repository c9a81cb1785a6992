//! Tasks of a benchmark, with numbers of clients and durations.

use std::time::Duration;

use crate::error::BenchError;
use crate::measure::Measurement;
use crate::service::Service;
use crate::work;

/// One kind of work to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
    /// One client and an uncontended lock.
    Alone,
    /// Many clients, each with its own lock.
    Apart,
    /// Several clients and one lock.
    Together,
    /// Very many clients that wait for one lock.
    Queue,
    /// A holder that is killed, and the next client.
    Killed,
    /// Very many different locks; quorate only.
    Many,
    /// A cluster without requests; quorate only.
    Idle,
}

impl Task {
    /// All tasks, in the order of execution.
    pub const ALL: [Self; 7] = [
        Self::Alone,
        Self::Apart,
        Self::Together,
        Self::Queue,
        Self::Killed,
        Self::Many,
        Self::Idle,
    ];

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Alone => "alone",
            Self::Apart => "apart",
            Self::Together => "together",
            Self::Queue => "queue",
            Self::Killed => "killed",
            Self::Many => "many",
            Self::Idle => "idle",
        }
    }

    /// Whether the task applies to every service.
    pub const fn is_for_all(self) -> bool {
        !matches!(self, Self::Many | Self::Idle)
    }
}

/// Durations and numbers of clients.
#[derive(Clone, Copy, Debug)]
pub struct BenchConfig {
    /// Duration of a task that could run forever.
    pub time: Duration,
    /// Number of clients with their own locks.
    pub apart: usize,
    /// Number of clients that contend for one lock.
    pub together: usize,
    /// Number of clients that wait in a queue.
    pub queue: usize,
    /// Number of holders that are killed.
    pub kills: u32,
    /// Warm-up of services in Java, which are slow until their code has been compiled.
    pub warm_up: Duration,
}

impl BenchConfig {
    /// Values that `quorate bench` uses, for tasks of this duration.
    pub const fn new(time: Duration) -> Self {
        let warm_up = Duration::from_secs(8);
        Self { time, apart: 16, together: 8, queue: 1_000, kills: 3, warm_up }
    }

    /// Maximum duration of the queue task. On a service without a queue, a thousand retrying clients take minutes.
    const QUEUE_TIMEOUT: Duration = Duration::from_secs(10);
}

/// Performs a task that applies to every service. It fails after a timeout.
pub async fn perform(
    service: &impl Service,
    task: Task,
    config: &BenchConfig,
) -> Result<Measurement, BenchError> {
    let BenchConfig { time, apart, together, queue, kills, .. } = *config;
    let done = async {
        match task {
            Task::Alone => work::alone(service, time).await,
            Task::Apart => work::apart(service, apart, time).await,
            Task::Together => work::together(service, together, time).await,
            Task::Queue => work::queue(service, queue, BenchConfig::QUEUE_TIMEOUT).await,
            Task::Killed => work::killed(service, kills).await,
            Task::Many | Task::Idle => {
                Err(BenchError(format!("{} is for quorate only", task.name())))
            }
        }
    };
    let limit = 10 * time + Duration::from_secs(30);
    let late = || BenchError(format!("not done within {} s", limit.as_secs()));
    tokio::time::timeout(limit, done).await.unwrap_or_else(|_| Err(late()))
}
