//! `quorate up`: a whole cluster in one process.

use std::io::Write;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use quorate_service::local_cluster_with;
use tokio::runtime::Builder;

use crate::Done;
use crate::arguments::Up;
use crate::failure::Failure;

pub(crate) fn up(flags: &Up) -> Done {
    quorate_service::raise_open_files();
    let runtime = Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::new(format!("no runtime: {error}")))?;
    let clients = SocketAddr::from(([127, 0, 0, 1], flags.port));
    runtime.block_on(async {
        let lab = quorate_console::page(Some(&quorate_console::Settings::default()));
        let cluster = local_cluster_with(flags.nodes as usize, clients, Some(lab)).await;
        let cluster = cluster.map_err(|error| {
            Failure::new(format!("the cluster cannot start: {error}; try another --port"))
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
        anstream::eprintln!(
            "ready; try `quorate lock demo -- sleep 5` elsewhere. Ctrl-C ends the cluster"
        );
        end_is_wanted().await?;
        for node in cluster.nodes {
            node.stop(Duration::ZERO).await;
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// Waits for Ctrl-C or TERM.
pub(crate) async fn end_is_wanted() -> Result<(), Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let cannot = |error| Failure::new(format!("signals cannot be heard: {error}"));
    let mut terminate = signal(SignalKind::terminate()).map_err(cannot)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(cannot)?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}
