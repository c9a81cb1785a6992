//! `quorate bench`: measures the speed of locks on this machine, of quorate and of others.

mod comparison;
mod quorate_only;

use std::future::Future;

use quorate_bench::{Launch, raise_open_file_limit};
use tokio::runtime::Builder;

use crate::CommandResult;
use crate::arguments::BenchFlags;
use crate::command_error::CommandError;

pub(crate) fn bench(flags: &BenchFlags) -> CommandResult {
    raise_open_file_limit();
    if flags.against.is_empty() { quorate_only::bench(flags) } else { comparison::bench(flags) }
}

/// Command line that starts this program as a node.
fn launch() -> Result<Launch, CommandError> {
    let program = std::env::current_exe().map_err(CommandError::new)?;
    let arguments = ["node", "--new-cluster", "--config"].map(str::to_owned).to_vec();
    Ok(Launch { program, arguments })
}

/// Runs `work` to its end, or until Ctrl-C. In both cases servers are stopped and their directories are removed.
fn run_to_completion<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, CommandError> {
    // One worker thread for the clients, so that they wake each other cheaply. The runtime starts another thread while
    // the worker blocks to kill a client.
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime =
        runtime.map_err(|error| CommandError::new(format!("cannot start the runtime: {error}")))?;
    let mut task = runtime.spawn(work);
    runtime.block_on(async {
        tokio::select! {
            done = &mut task => done.map_err(CommandError::new),
            _ = tokio::signal::ctrl_c() => {
                task.abort();
                let _ = task.await;
                Err(CommandError::new("interrupted; no results were written"))
            }
        }
    })
}
