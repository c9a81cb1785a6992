//! `quorate up`: runs a whole cluster in one process.

use std::io::Write;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use quorate_service::local_cluster_with;
use tokio::runtime::Builder;

use crate::CommandResult;
use crate::arguments::UpFlags;
use crate::command_error::CommandError;

pub(crate) fn up(flags: &UpFlags) -> CommandResult {
    quorate_service::raise_open_files();
    let runtime = Builder::new_multi_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| CommandError::new(format!("cannot start the runtime: {error}")))?;
    let clients = SocketAddr::from(([127, 0, 0, 1], flags.port));
    runtime.block_on(async {
        let lab = quorate_console::router(Some(&quorate_console::LabSettings::default()));
        let cluster = local_cluster_with(flags.nodes as usize, clients, Some(lab)).await;
        let cluster = cluster.map_err(|error| {
            CommandError::new(format!("the cluster cannot start: {error}; try another --port"))
        })?;
        cluster.ready().await;
        let mut out = anstream::stdout().lock();
        for (node, running) in cluster.nodes.iter().enumerate() {
            writeln!(out, "node {node}  {}", running.address())?;
        }
        let url = format!("http://{}/", cluster.nodes[0].address());
        writeln!(out, "page    {url}")?;
        out.flush()?;
        drop(out);
        if flags.open {
            super::lab::open(&url);
        }
        let first = cluster.nodes[0].address().to_string();
        let endpoint = match first == quorate_client::DEFAULT_ENDPOINT {
            true => String::new(),
            false => format!(" --endpoint {first}"),
        };
        anstream::eprintln!(
            "ready; try `quorate lock demo{endpoint} -- sleep 5` in another terminal; press Ctrl-C to stop the cluster"
        );
        shutdown_signal().await?;
        for node in cluster.nodes {
            node.stop(Duration::ZERO).await;
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// Waits for SIGINT or SIGTERM.
pub(crate) async fn shutdown_signal() -> Result<(), CommandError> {
    use tokio::signal::unix::{SignalKind, signal};
    let cannot = |error| CommandError::new(format!("cannot install signal handlers: {error}"));
    let mut terminate = signal(SignalKind::terminate()).map_err(cannot)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(cannot)?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}
