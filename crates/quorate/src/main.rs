//! The `quorate` binary: parses flags, runs commands and prints results. Everything else is in the library crates.

mod arguments;
mod command;
mod command_error;
mod files;
mod memory;
mod over_tcp;
mod picture;
mod print;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command};
use command_error::CommandError;

/// A fast allocator, because campaigns create and drop thousands of small worlds per second.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
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
        Command::Campaign(campaign) => command::campaign::run(&campaign),
        Command::Merge(merge) => command::merge::merge(&merge),
        Command::Check(check) => command::check::check(&check),
        Command::Experiment(experiment) => command::experiment::experiment(&experiment),
        Command::Lab(lab) => command::lab::lab(&lab),
        Command::Up(up) => command::up::up(&up),
        Command::Node(node) => command::node::node(&node),
        Command::Bench(bench) => command::bench::bench(&bench),
        Command::Lock(lock) => {
            command::locked_command::run_locked(&lock, quorate_client::Kind::Lock)
        }
        Command::Elect(elect) => {
            command::locked_command::run_locked(&elect, quorate_client::Kind::Election)
        }
        Command::Status(status) => command::admin::status(&status),
        Command::Locks(locks) => command::admin::locks(&locks),
        Command::Members(members) => command::admin::members(&members),
        Command::Release(release) => command::admin::release(&release),
        Command::BecomeCommand(flags) => command::locked_command::become_command(&flags),
        Command::Certs(certs) => command::certs::certs(&certs),
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
