//! The tasks: which work is done with how many clients, and for how long.

use std::time::Duration;

use crate::measure::Measurement;
use crate::service::{BenchError, Service};
use crate::work;

/// A task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
    /// A lock that nobody else wants.
    Alone,
    /// Many clients, each with a lock of its own.
    Apart,
    /// Several clients and one lock.
    Together,
    /// Very many clients wait for one lock.
    Queue,
    /// The holder is killed.
    Killed,
    /// Very many different locks; quorate only.
    Many,
    /// Nobody wants anything; quorate only.
    Idle,
}

impl Task {
    /// All of them, in the order in which they are done.
    pub const ALL: [Self; 7] = [
        Self::Alone,
        Self::Apart,
        Self::Together,
        Self::Queue,
        Self::Killed,
        Self::Many,
        Self::Idle,
    ];

    /// Its name on the command line.
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

    /// Whether every service does it.
    pub const fn is_for_all(self) -> bool {
        !matches!(self, Self::Many | Self::Idle)
    }
}

/// How much of it.
#[derive(Clone, Copy, Debug)]
pub struct BenchConfig {
    /// How long what can go on for ever lasts.
    pub time: Duration,
    /// How many clients have a lock each.
    pub apart: usize,
    /// How many clients want one lock.
    pub together: usize,
    /// How many wait in a queue.
    pub queue: usize,
    /// How often a holder is killed.
    pub kills: u32,
    /// How long what runs in Java works before anything counts: it is slow until it has been compiled.
    pub warm_up: Duration,
}

impl BenchConfig {
    /// As `quorate bench` does it.
    pub const fn new(time: Duration) -> Self {
        let warm_up = Duration::from_secs(8);
        Self { time, apart: 16, together: 8, queue: 1_000, kills: 3, warm_up }
    }

    /// A queue is given up after so long: without one, a thousand that try again and again take minutes.
    const QUEUE_TIMEOUT: Duration = Duration::from_secs(10);
}

/// Does a task that is for all. Whatever happens, it is over after some time.
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
