//! `quorate node`: one member of a real cluster.

use std::process::ExitCode;
use std::time::Duration;

use quorate_service::{NodeConfig, launch};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

use super::up::end_is_wanted;
use crate::Done;
use crate::arguments::NodeFlags;
use crate::failure::Failure;

/// How long clients have to go elsewhere.
const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) fn node(flags: &NodeFlags) -> Done {
    let config = NodeConfig::read(&flags.config).map_err(Failure::new)?;
    // A node is one loop, and what it talks to is quicker on the same thread: nothing has to be woken elsewhere.
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::new(format!("no runtime: {error}")))?;
    runtime.block_on(async {
        let (node, tls) = launch(&config, flags.new_cluster, Some(quorate_console::page(None))).await.map_err(Failure::new)?;
        anstream::eprintln!("node {} is up; clients: {}", config.id, node.address());
        let mut reload = signal(SignalKind::hangup())
            .map_err(|error| Failure::new(format!("signals cannot be heard: {error}")))?;
        let end = end_is_wanted();
        tokio::pin!(end);
        loop {
            tokio::select! {
                done = &mut end => {
                    done?;
                    break;
                }
                _ = reload.recv() => match tls.as_ref().map(|tls| tls.reload()) {
                    Some(Err(error)) => anstream::eprintln!("the certificates stay as they were: {error}"),
                    Some(Ok(())) => anstream::eprintln!("the certificates are loaded anew"),
                    None => {}
                },
            }
        }
        node.stop(PATIENCE).await;
        Ok(ExitCode::SUCCESS)
    })
}
