//! The flags of `quorate bench`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, RangedU64ValueParser, TypedValueParser};
use clap::{Args, ValueEnum};
use quorate_bench::engines::Engine;
use quorate_bench::peers::Peer;
use quorate_bench::{Task, Wire};

/// `quorate bench`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quorate bench                        three nodes on this machine, each a process of its own
  quorate bench --seconds 5 --json
  quorate bench --work alone,together --wire plain
  quorate bench --against etcd,redlock
  quorate bench --against etcd,zookeeper,redis,redlock --out report
  quorate bench --against stateright,madsim,simpy

Each piece of work is done with mutual TLS between the nodes and without, and compared with what a
message and its answer take on this machine in the same run:
  alone     one client takes and frees a lock that nobody else wants
  apart     16 clients, each with a lock of its own
  together  8 clients and one lock: how often it is handed on, and how quickly
  queue     1,000 clients wait for one lock, and each has it once
  killed    the holder's process is killed: how long until the next one has the lock
  many      100,000 different locks: what the nodes remember of them (quorate only)
  idle      eight nodes and nobody who wants anything (quorate only)

With --against, the servers of others are started where they are installed, on loopback, in
temporary folders on disk and in memory, and do the same work: etcd and ZooKeeper with three nodes,
Redis with one, Redlock over five instances of Redis. What is missing is said, and the rest goes on.
ZooKeeper is Debian's, or that of ZOOKEEPER_HOME. All four take some six minutes.

stateright, madsim and simpy are beside our checker and simulator instead: small programs are built
and run in a temporary folder, with the cargo or the python3 of the PATH; what they need is
downloaded.")]
pub(crate) struct BenchFlags {
    /// How long each piece of work lasts
    #[arg(long, value_name = "S", default_value_t = 3, value_parser = RangedU64ValueParser::<u64>::new().range(1..=3600))]
    pub(crate) seconds: u64,
    /// Which work
    #[arg(long, value_name = "WORK,..", value_delimiter = ',', value_parser = one_of(Task::ALL.into_iter(), Task::name))]
    work: Vec<Task>,
    /// How nodes talk to each other; without, both ways are measured
    #[arg(long, value_enum)]
    wire: Option<BenchWire>,
    /// How many nodes
    #[arg(short = 'n', long, value_name = "N", default_value_t = 3, value_parser = RangedU64ValueParser::<u32>::new().range(1..=64))]
    pub(crate) nodes: u32,
    /// Whom to compare with, in one table
    #[arg(long, value_name = "OTHER,..", value_delimiter = ',', value_parser = one_of(Competitor::all(), Competitor::name))]
    pub(crate) against: Vec<Competitor>,
    /// A folder for performance.md, performance.svg and performance.json; it is made if it is not there
    #[arg(long, value_name = "FOLDER", requires = "against")]
    pub(crate) out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl BenchFlags {
    /// The tasks that were chosen, or all, in the order in which they are done.
    pub(crate) fn tasks(&self) -> Vec<Task> {
        let chosen = |task: &Task| self.work.is_empty() || self.work.contains(task);
        Task::ALL.into_iter().filter(chosen).collect()
    }

    /// The ways in which nodes talk that were chosen, or both.
    pub(crate) fn wires(&self) -> Vec<Wire> {
        match self.wire {
            None => vec![Wire::Tls, Wire::Plain],
            Some(BenchWire::Tls) => vec![Wire::Tls],
            Some(BenchWire::Plain) => vec![Wire::Plain],
        }
    }

    /// The services to compare with, each once, in their own order.
    pub(crate) fn peers(&self) -> Vec<Peer> {
        let chosen = |peer: &Peer| self.against.contains(&Competitor::Service(*peer));
        Peer::ALL.into_iter().filter(chosen).collect()
    }

    /// The simulators and checkers to compare with, each once, in their own order.
    pub(crate) fn engines(&self) -> Vec<Engine> {
        let chosen = |engine: &Engine| self.against.contains(&Competitor::Engine(*engine));
        Engine::ALL.into_iter().filter(chosen).collect()
    }
}

/// How nodes talk to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum BenchWire {
    Tls,
    Plain,
}

/// Whom to compare with.
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

/// One of these, by its name.
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
