//! `quorate bench`: how fast locks are on this machine, ours and others'.

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

/// How this program is started as a node.
fn launch() -> Result<Launch, CommandError> {
    let program = std::env::current_exe().map_err(CommandError::new)?;
    let arguments = ["node", "--new-cluster", "--config"].map(str::to_owned).to_vec();
    Ok(Launch { program, arguments })
}

/// Runs it to its end, or until Ctrl-C: then servers are ended and their folders removed all the same.
fn run_to_completion<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, CommandError> {
    // One thread for the clients, so that they wake each other cheaply; another while somebody is killed.
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|error| CommandError::new(format!("no runtime: {error}")))?;
    let mut task = runtime.spawn(work);
    runtime.block_on(async {
        tokio::select! {
            done = &mut task => done.map_err(CommandError::new),
            _ = tokio::signal::ctrl_c() => {
                task.abort();
                let _ = task.await;
                Err(CommandError::new("stopped before the end; nothing was written"))
            }
        }
    })
}
