//! Comparison of quorate with other services: the same tasks for all of them, in one run.

mod chart;
mod goals;
mod page;
mod tables;
mod value;

use std::time::Duration;

use serde::Serialize;

use crate::cluster::{Launch, QuorateCluster, Wire};
use crate::error::BenchError;
use crate::measure::Measurement;
use crate::peers::{self, Absent, Peer, PeerResult};
use crate::raw::RoundTrip;
use crate::storage::Storage;
use crate::task::{BenchConfig, Task, perform};

pub use goals::Goal;

/// Plan of a comparison.
#[derive(Clone, Debug)]
pub struct ComparisonPlan {
    /// Command that starts a quorate node.
    pub launch: Launch,
    /// Number of quorate nodes.
    pub nodes: usize,
    /// Transports to measure, one after the other. Others are compared with the first.
    pub wires: Vec<Wire>,
    /// Tasks to measure on each service.
    pub tasks: Vec<Task>,
    /// Durations and numbers of clients.
    pub config: BenchConfig,
    /// Other services to measure.
    pub peers: Vec<Peer>,
}

/// Results of a comparison.
#[derive(Clone, Debug)]
pub struct ServiceComparison {
    /// Time of a raw message and its answer.
    pub round_trip: RoundTrip,
    /// Number of quorate nodes.
    pub nodes: usize,
    /// Durations and numbers of clients.
    pub config: BenchConfig,
    /// Results of quorate for each transport.
    pub ours: Vec<(Wire, Results)>,
    /// Results of the other services.
    pub others: Vec<PeerResult>,
    /// Machine on which everything was measured.
    pub machine: Machine,
}

/// Result of each task.
pub type Results = Vec<(Task, Result<Measurement, BenchError>)>;

/// Description of the machine.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// Number of cores, shared by servers and clients.
    pub cores: usize,
    /// Model name of the processor.
    pub processor: String,
    /// Whether temporary directories are in memory, so that nothing was on a disk.
    pub disk_is_memory: bool,
    /// Whether this program is a release build. Results of a debug build mean little.
    pub optimised: bool,
    /// Share of all cores that was in use during one second before the run, if known.
    pub busy: Option<f64>,
}

impl Machine {
    async fn here() -> Self {
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model =
            cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split(':').nth(1));
        Self {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            processor: model.map_or_else(|| "unknown".to_owned(), |model| model.trim().to_owned()),
            disk_is_memory: Storage::disk_is_memory(),
            optimised: !cfg!(debug_assertions),
            busy: busy().await,
        }
    }
}

/// Measures the share of all cores that is in use while this program is idle.
async fn busy() -> Option<f64> {
    let before = ticks()?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let after = ticks()?;
    let [all, idle] = [0, 1].map(|place| after[place].saturating_sub(before[place]) as f64);
    (all > 0.0).then(|| 1.0 - idle / all)
}

/// Total and idle time of all cores since boot, in ticks.
fn ticks() -> Option<[u64; 2]> {
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Option<Vec<u64>> = line.split_whitespace().map(|word| word.parse().ok()).collect();
    let ticks = ticks?;
    // Fields four and five are idle time and time waiting for a disk.
    Some([ticks.iter().take(8).sum(), ticks.iter().skip(3).take(2).sum()])
}

/// Runs all tasks of the plan in sequence. `progress` receives a description of each next step.
pub async fn run(
    plan: &ComparisonPlan,
    round_trip: RoundTrip,
    mut progress: impl FnMut(&str),
) -> ServiceComparison {
    let ComparisonPlan { nodes, config, .. } = *plan;
    // Measured first, so that our own work is not included.
    let machine = Machine::here().await;
    let (mut ours, mut others) = (Vec::new(), Vec::new());
    for wire in &plan.wires {
        let mut results = Results::new();
        for task in plan.tasks.iter().filter(|task| task.is_for_all()) {
            progress(&format!("quorate, {}: {}", setting(nodes, *wire), task.name()));
            results.push((*task, run_quorate_task(plan, *wire, *task).await));
        }
        ours.push((*wire, results));
    }
    for peer in &plan.peers {
        for storage in [Storage::Disk, Storage::Memory] {
            let title = format!("{}, {}", peer.name(), peer.setting(storage));
            let progress = |what: &str| progress(&format!("{title}: {what}"));
            others.push(peers::run(*peer, storage, &plan.tasks, &config, progress).await);
        }
    }
    ServiceComparison { round_trip, nodes, config, ours, others, machine }
}

async fn run_quorate_task(
    plan: &ComparisonPlan,
    wire: Wire,
    task: Task,
) -> Result<Measurement, BenchError> {
    let cluster = QuorateCluster::start(&plan.launch, plan.nodes, wire).await?;
    perform(&cluster, task, &plan.config).await
}

/// Describes the setting of quorate.
fn setting(nodes: usize, wire: Wire) -> String {
    match wire {
        Wire::Tls => format!("{nodes} nodes, mutual TLS"),
        Wire::Plain => format!("{nodes} nodes, plain"),
    }
}

/// One service with a setting, ours or another.
struct ServiceRow<'c> {
    peer: Option<Peer>,
    service: &'static str,
    setting: String,
    version: Option<&'c str>,
    results: &'c [(Task, Result<Measurement, BenchError>)],
    absent: Option<&'c Absent>,
}

impl ServiceRow<'_> {
    fn title(&self) -> String {
        format!("{}, {}", self.service, self.setting)
    }

    fn measured(&self, task: Task) -> Option<&Measurement> {
        let found = self.results.iter().find(|(done, _)| *done == task);
        found.and_then(|(_, result)| result.as_ref().ok())
    }

    /// Problems of the service, one line each.
    fn problems(&self) -> Vec<String> {
        let mut all: Vec<String> = self.absent.iter().map(|absent| absent.to_string()).collect();
        for (task, result) in self.results {
            if let Err(error) = result {
                all.push(format!("{}: {error}", task.name()));
            }
        }
        all
    }
}

/// Quantities that the tables compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Figure {
    AloneHalf,
    AloneMost,
    Apart,
    HandOffs,
    Queue,
    Killed,
}

impl Figure {
    const ALL: [Self; 6] =
        [Self::AloneHalf, Self::AloneMost, Self::Apart, Self::HandOffs, Self::Queue, Self::Killed];

    /// Value of the quantity, if measured. Times are in microseconds, rates are per second.
    fn of(self, row: &ServiceRow<'_>) -> Option<f64> {
        let value = match self {
            Self::AloneHalf => row.measured(Task::Alone)?.latency.percentile(50.0),
            Self::AloneMost => row.measured(Task::Alone)?.latency.percentile(99.0),
            Self::Apart => row.measured(Task::Apart)?.rate(),
            Self::HandOffs => row.measured(Task::Together)?.hand_off_rate(),
            Self::Queue => row.measured(Task::Queue)?.hand_off_rate(),
            Self::Killed => row.measured(Task::Killed)?.latency.percentile(50.0),
        };
        (value > 0.0).then_some(value)
    }

    fn less_is_better(self) -> bool {
        matches!(self, Self::AloneHalf | Self::AloneMost | Self::Killed)
    }

    /// Factor by which ours is better than the other.
    fn ratio(self, ours: &ServiceRow<'_>, other: &ServiceRow<'_>) -> Option<f64> {
        let (own, theirs) = (self.of(ours)?, self.of(other)?);
        Some(if self.less_is_better() { theirs / own } else { own / theirs })
    }
}

impl ServiceComparison {
    fn rows(&self) -> Vec<ServiceRow<'_>> {
        let ours = self.ours.iter().map(|(wire, results)| ServiceRow {
            peer: None,
            service: "quorate",
            setting: setting(self.nodes, *wire),
            version: None,
            results,
            absent: None,
        });
        let others = self.others.iter().map(|other| ServiceRow {
            peer: Some(other.peer),
            service: other.peer.name(),
            setting: other.peer.setting(other.storage).to_owned(),
            version: other.outcome.as_ref().ok().map(|run| run.version.as_str()),
            results: other.outcome.as_ref().map_or(&[], |run| &run.results),
            absent: other.outcome.as_ref().err(),
        });
        ours.chain(others).collect()
    }
}
