//! `quorate bench`: how fast locks are on this machine, ours and others'.

mod against;
mod own;

use std::future::Future;

use quorate_bench::{Launch, allow_many_files};
use tokio::runtime::Builder;

use crate::Done;
use crate::arguments::Bench;
use crate::failure::Failure;

pub(crate) fn bench(flags: &Bench) -> Done {
    allow_many_files();
    if flags.against.is_empty() { own::bench(flags) } else { against::bench(flags) }
}

/// How this program is started as a node.
fn launch() -> Result<Launch, Failure> {
    let program = std::env::current_exe().map_err(Failure::new)?;
    let arguments = ["node", "--new-cluster", "--config"].map(str::to_owned).to_vec();
    Ok(Launch { program, arguments })
}

/// Runs it to its end, or until Ctrl-C: then servers are ended and their folders removed all the same.
fn to_the_end<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, Failure> {
    // One thread for the clients, so that they wake each other cheaply; another while somebody is killed.
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|error| Failure::new(format!("no runtime: {error}")))?;
    let mut task = runtime.spawn(work);
    runtime.block_on(async {
        tokio::select! {
            done = &mut task => done.map_err(Failure::new),
            _ = tokio::signal::ctrl_c() => {
                task.abort();
                let _ = task.await;
                Err(Failure::new("stopped before the end; nothing was written"))
            }
        }
    })
}
