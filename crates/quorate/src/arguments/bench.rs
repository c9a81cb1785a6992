//! The flags of `quorate bench`.

use std::path::PathBuf;

use clap::builder::RangedU64ValueParser;
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
pub(crate) struct Bench {
    /// How long each piece of work lasts
    #[arg(long, value_name = "S", default_value_t = 3, value_parser = RangedU64ValueParser::<u64>::new().range(1..=3600))]
    pub(crate) seconds: u64,
    /// Which work
    #[arg(long, value_name = "WORK,..", value_delimiter = ',', value_enum)]
    work: Vec<Work>,
    /// How nodes talk to each other; without, both ways are measured
    #[arg(long, value_enum)]
    wire: Option<BenchWire>,
    /// How many nodes
    #[arg(short = 'n', long, value_name = "N", default_value_t = 3, value_parser = RangedU64ValueParser::<u32>::new().range(1..=64))]
    pub(crate) nodes: u32,
    /// Whom to compare with, in one table
    #[arg(long, value_name = "OTHER,..", value_delimiter = ',', value_enum)]
    pub(crate) against: Vec<Against>,
    /// A folder for performance.md, performance.svg and performance.json; it is made if it is not there
    #[arg(long, value_name = "FOLDER", requires = "against")]
    pub(crate) out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl Bench {
    /// The tasks that were chosen, or all, in the order in which they are done.
    pub(crate) fn tasks(&self) -> Vec<Task> {
        let chosen = |task: &Task| self.work.iter().any(|work| work.task() == *task);
        Task::ALL.into_iter().filter(|task| self.work.is_empty() || chosen(task)).collect()
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
        let chosen = |peer: &Peer| self.against.iter().any(|other| other.peer() == Some(*peer));
        Peer::ALL.into_iter().filter(chosen).collect()
    }

    /// The simulators and checkers to compare with, each once, in their own order.
    pub(crate) fn engines(&self) -> Vec<Engine> {
        let chosen = |engine: &Engine| self.against.iter().any(|o| o.engine() == Some(*engine));
        Engine::ALL.into_iter().filter(chosen).collect()
    }
}

/// A piece of work for `quorate bench`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Work {
    Alone,
    Apart,
    Together,
    Queue,
    Killed,
    Many,
    Idle,
}

impl Work {
    fn task(self) -> Task {
        match self {
            Self::Alone => Task::Alone,
            Self::Apart => Task::Apart,
            Self::Together => Task::Together,
            Self::Queue => Task::Queue,
            Self::Killed => Task::Killed,
            Self::Many => Task::Many,
            Self::Idle => Task::Idle,
        }
    }
}

/// How nodes talk to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum BenchWire {
    Tls,
    Plain,
}

/// Whom to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Against {
    Etcd,
    Zookeeper,
    Redis,
    Redlock,
    Stateright,
    Madsim,
    Simpy,
}

impl Against {
    fn peer(self) -> Option<Peer> {
        match self {
            Self::Etcd => Some(Peer::Etcd),
            Self::Zookeeper => Some(Peer::Zookeeper),
            Self::Redis => Some(Peer::Redis),
            Self::Redlock => Some(Peer::Redlock),
            Self::Stateright | Self::Madsim | Self::Simpy => None,
        }
    }

    fn engine(self) -> Option<Engine> {
        match self {
            Self::Stateright => Some(Engine::Stateright),
            Self::Madsim => Some(Engine::Madsim),
            Self::Simpy => Some(Engine::Simpy),
            Self::Etcd | Self::Zookeeper | Self::Redis | Self::Redlock => None,
        }
    }
}
