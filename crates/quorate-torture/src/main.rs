//! Torture tests: a cluster of real processes, each with its own network and address, under faults chosen by a seed.
//! Clients take a lock and increment a register that it guards. Their logs are checked afterwards. See `docs/torture.md`.
//!
//! The program starts itself again as a node, a worker, the register and so on. With `--from`, nodes and workers begin as
//! processes of an earlier build of this program, so the arguments of the hidden subcommands `node` and `worker`, and the files
//! that these write, stay as they are from one release to the next.

#![expect(
    clippy::disallowed_methods,
    reason = "real processes live in real time, and this drives them"
)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command prints what it found")]

mod campaign;
mod checker;
mod clients;
mod disks;
mod faults;
mod fleet;
mod history;
mod hold_log;
mod holder;
mod hosts;
mod linear;
mod log;
mod losses;
mod memory;
mod monitor;
mod node;
mod outages;
mod process;
mod records;
mod register;
mod report;
mod rng;
mod stress;
mod wait;
mod worker;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

use crate::campaign::{RunLength, TorturePlan};
use crate::clients::{ClientKind, ClientKinds, etcdctl};
use crate::fleet::Fleet;
use crate::holder::LongHolder;
use crate::hosts::Hosts;
use crate::worker::LockWorker;

/// Test a cluster of real processes under real faults.
#[derive(Debug, Parser)]
#[command(name = "quorate-torture")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Inject faults while workers take a lock: kills, pauses, network cuts, lost memory, shifted clocks
    Faults {
        /// Duration of the faults, in seconds
        #[arg(long, default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=86_400))]
        seconds: u64,
        /// Number of faults to inject, in place of a duration
        #[arg(long, conflicts_with = "seconds", value_parser = clap::value_parser!(u64).range(1..=100_000))]
        faults: Option<u64>,
        /// Seed that selects faults, victims and pauses
        #[arg(long, default_value_t = 0)]
        seed: u64,
        /// Number of nodes
        #[arg(long, short = 'n', default_value_t = 5, value_parser = clap::value_parser!(u64).range(3..=15))]
        nodes: u64,
        /// Number of workers, which use the kinds of clients in turn [default: two of each kind]
        #[arg(long, value_parser = clap::value_parser!(u64).range(1..=60))]
        workers: Option<u64>,
        /// Kinds of clients to run, such as `http,go` [default: all kinds whose programs are installed]
        #[arg(long, value_enum, value_delimiter = ',')]
        clients: Vec<ClientKind>,
        /// Inject only faults whose names contain this text, such as `memory` or `cut off` [default: all faults]
        #[arg(long, default_value = "", hide_default_value = true)]
        only: String,
        /// An earlier build of this program, with which all nodes and half of the workers begin; the nodes are upgraded one
        /// after the other during the run
        #[arg(long, value_name = "PROGRAM")]
        from: Option<PathBuf>,
        /// Run on loopback, without network cuts, if network namespaces are not available
        #[arg(long)]
        or_loopback: bool,
        /// Print the results as JSON
        #[arg(long)]
        json: bool,
    },
    /// Stress a cluster with a thousand waiters, 100,000 locks, a client that never reads, and garbage
    Stress {
        /// Number of clients that wait for one lock
        #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=5_000))]
        waiters: u64,
        /// Number of locks that are held at the same time
        #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
        locks: u64,
        /// Number of connections that send each kind of garbage
        #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=10_000))]
        strangers: u64,
        /// Print the results as JSON
        #[arg(long)]
        json: bool,
    },
    #[command(hide = true)]
    Node { config: PathBuf, records: PathBuf, age: String },
    #[command(hide = true)]
    Worker {
        kind: ClientKind,
        number: usize,
        endpoints: String,
        register: String,
        log: PathBuf,
        locker: PathBuf,
    },
    #[command(hide = true)]
    Holder { kind: ClientKind, endpoints: String, log: PathBuf, locker: PathBuf },
    #[command(hide = true, name = "inside")]
    EtcdctlLock { address: String },
    #[command(hide = true)]
    Monitor { endpoints: String, log: PathBuf },
    #[command(hide = true)]
    Register { address: String, log: PathBuf },
    /// Puts a node that has not run yet in place of another
    #[command(hide = true)]
    Replace { endpoints: String, former: u32, number: u32, address: String },
    #[command(hide = true, name = "look")]
    CheckNode { address: String, absent: usize },
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(command: Command) -> io::Result<bool> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match command {
        Command::Faults {
            seconds,
            faults,
            seed,
            nodes,
            workers,
            clients,
            only,
            from,
            or_loopback,
            json,
        } => {
            wait::watch_for_interrupts()?;
            let folder = tempfile::Builder::new().prefix("quorate-torture-").tempdir()?;
            let required = std::env::var("QUORATE_PEERS").is_ok_and(|how| how == "required");
            let progress = |line: &str| eprintln!("{line}");
            let kinds = ClientKinds::prepare(&clients, required, folder.path(), progress)?;
            let workers = workers.map_or(2 * kinds.iter().len(), |workers| workers as usize);
            let length =
                faults.map_or(RunLength::Seconds(seconds), |it| RunLength::Faults(it as usize));
            let nodes = nodes as usize;
            let plan = TorturePlan { nodes, workers, kinds, length, seed, only, from };
            run_faults(&plan, folder, or_loopback, json)
        }
        Command::Stress { waiters, locks, strangers, json } => {
            wait::watch_for_interrupts()?;
            let load = stress::StressLoad {
                waiters: waiters as usize,
                locks: locks as usize,
                strangers: strangers as usize,
            };
            stress::run(load, json)
        }
        Command::Node { config, records, age } => {
            end_with_parent()?;
            runtime.block_on(node::run(&config, &records, node::first_start(&age))).map(|()| true)
        }
        Command::Worker { kind, number, endpoints, register, log, locker } => {
            end_with_parent()?;
            let worker = LockWorker::new(kind, number, &endpoints, &register, &log, locker)?;
            runtime.block_on(worker.run());
            Ok(true)
        }
        Command::Holder { kind, endpoints, log, locker } => {
            end_with_parent()?;
            let holder = LongHolder::new(kind, &endpoints, &log, locker)?;
            runtime.block_on(holder.run());
            Ok(true)
        }
        Command::EtcdctlLock { address } => etcdctl::run_lock_command(&address).map(|()| true),
        Command::Monitor { endpoints, log } => {
            end_with_parent()?;
            runtime.block_on(monitor::run(&endpoints, &log)).map(|()| true)
        }
        Command::Register { address, log } => {
            end_with_parent()?;
            register::serve(&address, &log).map(|()| true)
        }
        Command::Replace { endpoints, former, number, address } => {
            end_with_parent()?;
            runtime.block_on(node::replace(&endpoints, former, number, address))?;
            Ok(true)
        }
        Command::CheckNode { address, absent } => {
            end_with_parent()?;
            Ok(runtime.block_on(node::is_healthy(&address, absent)))
        }
    }
}

/// Has the kernel kill this process when its parent ends, however that ends. Clients lead process groups of their own, so
/// that an interrupt from the terminal does not reach them.
fn end_with_parent() -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have ended before.
    match getppid() {
        None | Some(Pid::INIT) => Err(io::Error::other("the run has ended")),
        Some(_) => Ok(()),
    }
}

fn run_faults(
    plan: &TorturePlan,
    folder: tempfile::TempDir,
    or_loopback: bool,
    json: bool,
) -> io::Result<bool> {
    disks::unmount_stale();
    let wanted = Fleet::hosts_wanted(plan.nodes, plan.workers, plan.kinds.iter().len());
    let hosts = match Hosts::in_namespaces(wanted) {
        Ok(hosts) => hosts,
        Err(why) if or_loopback => {
            eprintln!("WITHOUT NETWORK NAMESPACES ({why})");
            eprintln!(
                "WITHOUT CUTS: all processes are on loopback, and no link is cut in this run"
            );
            Hosts::Loopback
        }
        Err(why) => {
            return Err(io::Error::other(format!(
                "no network namespaces: {why}\nhint: they need root and iproute2; use `--or-loopback` to run without them, and without network cuts"
            )));
        }
    };
    let outcome = match campaign::run(plan, hosts, folder.path(), |line| eprintln!("{line}")) {
        Ok(outcome) => outcome,
        Err(error) => {
            keep_unless_interrupted(folder, &error);
            return Err(error);
        }
    };
    print!("{}", if json { report::json(plan, &outcome) } else { report::text(plan, &outcome) });
    let sound = outcome.is_sound();
    if !sound {
        keep(folder);
    }
    Ok(sound)
}

/// Keeps the folder of a run with violations, and prints its path.
fn keep(folder: tempfile::TempDir) {
    eprintln!("the files of all processes are in {}", folder.keep().display());
}

/// Keeps the folder of a run that failed. The folder of an interrupted run is deleted.
fn keep_unless_interrupted(folder: tempfile::TempDir, error: &io::Error) {
    if error.kind() != io::ErrorKind::Interrupted {
        keep(folder);
    }
}
