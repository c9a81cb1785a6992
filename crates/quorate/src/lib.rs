//! The command line as a library: parses flags, runs commands and prints results. Everything else is in the other crates.
//!
//! # Features
//!
//! | feature | default | effect |
//! |---|---|---|
//! | `service` | yes | the commands that run or use a cluster, `lab`, `bench` and `--over tcp`; without it, the build is shorter |
//! | `png` | no | pictures as PNG, and not only as SVG |
//!
//! The program `quorate` is [`main`] with the standard catalogue. A program with algorithms of its own is
//! [`main_with`]; `examples/own_mutex` of the repository is a complete one:
//!
//! ```no_run
//! use quorate::{Catalogue, Entry};
//! # use quorate_algorithms::mutex::Central as OwnMutex;
//!
//! fn main() -> std::process::ExitCode {
//!     quorate::main_with(Catalogue::standard().with(Entry::mutex::<OwnMutex>()))
//! }
//! ```

mod arguments;
mod command;
mod command_error;
mod files;
mod memory;
mod output;
#[cfg(feature = "service")]
mod over_tcp;
mod picture;
mod print;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command};
use command_error::CommandError;

pub use quorate_lab::{Catalogue, CatalogueError, Entry};

/// Runs the command line with a catalogue of the caller's, for example [`Catalogue::standard`] with algorithms added.
/// A name that is taken twice is reported like any other error.
pub fn main_with(catalogue: Result<Catalogue, CatalogueError>) -> ExitCode {
    match catalogue.and_then(Catalogue::install) {
        Ok(()) => main(),
        Err(error) => CommandError::new(error).report(),
    }
}

/// Runs the command line: parses the arguments of the process, runs the command and returns its exit code.
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return command_error::report_usage_error(&error),
    };
    let done = match arguments.command {
        Command::List(list) => command::list::list(&list),
        Command::Sim(sim) => command::sim::sim(*sim),
        Command::Replay(replay) => command::replay::replay(&replay),
        Command::Draw(draw) => command::draw::draw(&draw),
        Command::Quorum(quorum) => command::quorum::quorum(&quorum),
        Command::Clocks(flags) => command::clocks::clocks(&flags),
        Command::Campaign(campaign) => command::campaign::run(&campaign),
        Command::Merge(merge) => command::merge::merge(&merge),
        Command::Check(check) => command::check::check(&check),
        Command::Experiment(experiment) => command::experiment::experiment(&experiment),
        #[cfg(feature = "service")]
        Command::Lab(lab) => command::lab::lab(&lab),
        #[cfg(feature = "service")]
        Command::Up(up) => command::up::up(&up),
        #[cfg(feature = "service")]
        Command::Node(node) => command::node::node(&node),
        #[cfg(feature = "service")]
        Command::Bench(bench) => command::bench::bench(&bench),
        #[cfg(feature = "service")]
        Command::Lock(lock) => {
            command::locked_command::run_locked(&lock, quorate_client::Kind::Lock)
        }
        #[cfg(feature = "service")]
        Command::Elect(elect) => {
            command::locked_command::run_locked(&elect, quorate_client::Kind::Election)
        }
        #[cfg(feature = "service")]
        Command::Status(status) => command::admin::status(&status),
        #[cfg(feature = "service")]
        Command::Locks(locks) => command::admin::locks(&locks),
        #[cfg(feature = "service")]
        Command::Members(members) => command::members::members(&members),
        #[cfg(feature = "service")]
        Command::Release(release) => command::admin::release(&release),
        #[cfg(feature = "service")]
        Command::Become(flags) => command::locked_command::become_command(&flags),
        #[cfg(feature = "service")]
        Command::Certs(certs) => command::certs::certs(&certs),
        #[cfg(feature = "service")]
        Command::OverTcpChild => over_tcp::run_child(),
        Command::Completions { shell } => command::generate::completions(shell),
        Command::Man { command } => command::generate::man(command.as_deref()),
    };
    match done {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

/// Result of a command: an exit code, or the reason why it could not run.
type CommandResult = Result<ExitCode, CommandError>;
