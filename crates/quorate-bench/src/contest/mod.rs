//! quorate beside the services of others: the same tasks for all of them, in one run.

mod chart;
mod goals;
mod page;
mod tables;
mod value;

use serde::Serialize;

use crate::cluster::{Cluster, Launch, Wire};
use crate::measure::Measured;
use crate::peers::{self, Absent, Entry, Peer};
use crate::raw::RoundTrip;
use crate::service::Trouble;
use crate::storage::Storage;
use crate::task::{Effort, Task, perform};

pub use goals::Goal;

/// What is to be done.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How a node of ours is started.
    pub launch: Launch,
    /// How many nodes of ours there are.
    pub nodes: usize,
    /// How they talk to each other, one way after the other. The first is what others are compared with.
    pub wires: Vec<Wire>,
    /// The tasks.
    pub tasks: Vec<Task>,
    /// How much of each.
    pub effort: Effort,
    /// The services of others.
    pub peers: Vec<Peer>,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Contest {
    /// What a message and its answer take.
    pub round_trip: RoundTrip,
    /// How many nodes of ours there were.
    pub nodes: usize,
    /// How much of each task was done.
    pub effort: Effort,
    /// What ours did, for each way in which nodes talk.
    pub ours: Vec<(Wire, Results)>,
    /// What others did.
    pub others: Vec<Entry>,
    /// The machine.
    pub machine: Machine,
}

/// What came of each task.
pub type Results = Vec<(Task, Result<Measured, Trouble>)>;

/// On what it was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// How many cores servers and clients share.
    pub cores: usize,
    /// What the processor says that it is.
    pub processor: String,
    /// Whether what should be on a disk was in memory.
    pub disk_is_memory: bool,
    /// Whether this program was optimised: figures of one that was not say little.
    pub optimised: bool,
}

impl Machine {
    fn here() -> Self {
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model =
            cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split(':').nth(1));
        Self {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            processor: model.map_or_else(|| "unknown".to_owned(), |model| model.trim().to_owned()),
            disk_is_memory: Storage::disk_is_memory(),
            optimised: !cfg!(debug_assertions),
        }
    }
}

/// Runs all of it, one after the other. `tell` hears what is done next.
pub async fn run(plan: &Plan, round_trip: RoundTrip, mut tell: impl FnMut(&str)) -> Contest {
    let Plan { nodes, effort, .. } = *plan;
    let (mut ours, mut others) = (Vec::new(), Vec::new());
    for wire in &plan.wires {
        let mut results = Results::new();
        for task in plan.tasks.iter().filter(|task| task.is_for_all()) {
            tell(&format!("quorate, {}: {}", setting(nodes, *wire), task.name()));
            results.push((*task, own(plan, *wire, *task).await));
        }
        ours.push((*wire, results));
    }
    for peer in &plan.peers {
        for storage in [Storage::Disk, Storage::Memory] {
            let title = format!("{}, {}", peer.name(), peer.setting(storage));
            let tell = |what: &str| tell(&format!("{title}: {what}"));
            others.push(peers::run(*peer, storage, &plan.tasks, &effort, tell).await);
        }
    }
    Contest { round_trip, nodes, effort, ours, others, machine: Machine::here() }
}

async fn own(plan: &Plan, wire: Wire, task: Task) -> Result<Measured, Trouble> {
    let cluster = Cluster::start(&plan.launch, plan.nodes, wire).await?;
    perform(&cluster, task, &plan.effort).await
}

/// How ours are set up, in words.
fn setting(nodes: usize, wire: Wire) -> String {
    match wire {
        Wire::Tls => format!("{nodes} nodes, mutual TLS"),
        Wire::Plain => format!("{nodes} nodes, plain"),
    }
}

/// A service with a setting, ours or another's.
struct Row<'c> {
    peer: Option<Peer>,
    service: &'static str,
    setting: String,
    version: Option<&'c str>,
    results: &'c [(Task, Result<Measured, Trouble>)],
    absent: Option<&'c Absent>,
}

impl Row<'_> {
    fn title(&self) -> String {
        format!("{}, {}", self.service, self.setting)
    }

    fn measured(&self, task: Task) -> Option<&Measured> {
        let found = self.results.iter().find(|(done, _)| *done == task);
        found.and_then(|(_, result)| result.as_ref().ok())
    }

    /// What went wrong, a line for each.
    fn troubles(&self) -> Vec<String> {
        let mut all: Vec<String> = self.absent.iter().map(|absent| absent.to_string()).collect();
        for (task, result) in self.results {
            if let Err(trouble) = result {
                all.push(format!("{}: {trouble}", task.name()));
            }
        }
        all
    }
}

/// The figures that are compared.
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

    /// Its value, if it was measured. Times are in microseconds, rates by the second.
    fn of(self, row: &Row<'_>) -> Option<f64> {
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

    /// How many times as good ours is as another.
    fn ratio(self, ours: &Row<'_>, other: &Row<'_>) -> Option<f64> {
        let (own, theirs) = (self.of(ours)?, self.of(other)?);
        Some(if self.less_is_better() { theirs / own } else { own / theirs })
    }
}

impl Contest {
    fn rows(&self) -> Vec<Row<'_>> {
        let ours = self.ours.iter().map(|(wire, results)| Row {
            peer: None,
            service: "quorate",
            setting: setting(self.nodes, *wire),
            version: None,
            results,
            absent: None,
        });
        let others = self.others.iter().map(|entry| Row {
            peer: Some(entry.peer),
            service: entry.peer.name(),
            setting: entry.peer.setting(entry.storage).to_owned(),
            version: entry.came.as_ref().ok().map(|ran| ran.version.as_str()),
            results: entry.came.as_ref().map_or(&[], |ran| &ran.results),
            absent: entry.came.as_ref().err(),
        });
        ours.chain(others).collect()
    }
}
