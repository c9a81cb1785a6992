//! The flags of `quorate bench`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, RangedU64ValueParser, TypedValueParser};
use clap::{Args, ValueEnum};
use quorate_bench::engines::Engine;
use quorate_bench::peers::Peer;
use quorate_bench::{Task, Wire};

/// Flags of `quorate bench`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quorate bench                        Three nodes on this machine, one process each
  quorate bench --seconds 5 --json
  quorate bench --work alone,together --wire plain
  quorate bench --against etcd,redlock
  quorate bench --against etcd,zookeeper,redis,redlock --out report
  quorate bench --against stateright,madsim,simpy

Each task runs with mutual TLS between the nodes and without it. Latencies are compared with the \
round trip of a bare message on this machine in the same run. Tasks of --work:
  alone     one client acquires and releases an uncontended lock
  apart     16 clients, each with its own lock
  together  8 clients and one lock: rate and latency of hand-offs
  queue     1,000 clients wait for one lock, and each acquires it once
  killed    the process of the holder is killed: time until the next client has the lock
  many      100,000 different locks: memory that the nodes use for each (quorate only)
  idle      eight nodes without requests: CPU usage (quorate only)

With --against, the same tasks run on other servers that are installed. They are started on \
loopback, with temporary directories on disk and in memory: etcd and ZooKeeper with three nodes, \
Redis with one, Redlock over five instances of Redis. Missing servers are reported and skipped. \
ZooKeeper is the Debian package, or the installation in ZOOKEEPER_HOME. All four take about six \
minutes.

stateright, madsim and simpy are compared with our model checker and simulator instead. Small \
programs are built and run in a temporary directory, with the cargo or python3 of the PATH. Their \
dependencies are downloaded.")]
pub(crate) struct BenchFlags {
    /// Duration of each task in seconds
    #[arg(long, value_name = "S", default_value_t = 3, value_parser = RangedU64ValueParser::<u64>::new().range(1..=3600))]
    pub(crate) seconds: u64,
    /// Tasks to run [default: all]
    #[arg(long, value_name = "WORK,..", value_delimiter = ',', value_parser = one_of(Task::ALL.into_iter(), Task::name))]
    work: Vec<Task>,
    /// Connections between nodes: mutual TLS or plain TCP [default: both]
    #[arg(long, value_enum)]
    wire: Option<BenchWire>,
    /// Number of nodes
    #[arg(short = 'n', long, value_name = "N", default_value_t = 3, value_parser = RangedU64ValueParser::<u32>::new().range(1..=64))]
    pub(crate) nodes: u32,
    /// Systems to compare with, in one table
    #[arg(long, value_name = "OTHER,..", value_delimiter = ',', value_parser = one_of(Competitor::all(), Competitor::name))]
    pub(crate) against: Vec<Competitor>,
    /// Directory for performance.md, performance.svg and performance.json; created if it does not exist
    #[arg(long, value_name = "FOLDER", requires = "against")]
    pub(crate) out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl BenchFlags {
    /// Selected tasks in the order of execution; the default is all tasks.
    pub(crate) fn tasks(&self) -> Vec<Task> {
        let chosen = |task: &Task| self.work.is_empty() || self.work.contains(task);
        Task::ALL.into_iter().filter(chosen).collect()
    }

    /// Selected kinds of connections between nodes; the default is both.
    pub(crate) fn wires(&self) -> Vec<Wire> {
        match self.wire {
            None => vec![Wire::Tls, Wire::Plain],
            Some(BenchWire::Tls) => vec![Wire::Tls],
            Some(BenchWire::Plain) => vec![Wire::Plain],
        }
    }

    /// Selected services to compare with, without duplicates, in a fixed order.
    pub(crate) fn peers(&self) -> Vec<Peer> {
        let chosen = |peer: &Peer| self.against.contains(&Competitor::Service(*peer));
        Peer::ALL.into_iter().filter(chosen).collect()
    }

    /// Selected simulators and model checkers to compare with, without duplicates, in a fixed order.
    pub(crate) fn engines(&self) -> Vec<Engine> {
        let chosen = |engine: &Engine| self.against.contains(&Competitor::Engine(*engine));
        Engine::ALL.into_iter().filter(chosen).collect()
    }
}

/// Connections between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum BenchWire {
    Tls,
    Plain,
}

/// System to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Competitor {
    Service(Peer),
    Engine(Engine),
}

impl Competitor {
    fn all() -> impl Iterator<Item = Self> {
        let services = Peer::ALL.into_iter().map(Self::Service);
        services.chain(Engine::ALL.into_iter().map(Self::Engine))
    }

    fn name(self) -> &'static str {
        match self {
            Self::Service(peer) => peer.name(),
            Self::Engine(engine) => engine.name(),
        }
    }
}

/// Parser that accepts the name of one of these values.
fn one_of<T: Copy + Send + Sync + 'static>(
    all: impl Iterator<Item = T>,
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let all: Vec<T> = all.collect();
    PossibleValuesParser::new(all.iter().map(|one| name(*one))).map(move |text| {
        let found = all.iter().find(|one| name(**one) == text);
        *found.expect("only possible values come here")
    })
}
