//! `quorate node`: one member of a real cluster.

use std::process::ExitCode;
use std::time::Duration;

use quorate_service::{Extras, Node, NodeConfig, SpanSink, launch};
use sd_notify::NotifyState;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

use super::up::shutdown_signal;
use crate::CommandResult;
use crate::arguments::NodeFlags;
use crate::command_error::CommandError;

/// How long clients have to go elsewhere.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) fn node(flags: &NodeFlags) -> CommandResult {
    let config = NodeConfig::read(&flags.config).map_err(CommandError::new)?;
    super::log::init(flags.log, &flags.log_level)?;
    quorate_service::raise_open_files();
    // A node is one loop, and what it talks to is quicker on the same thread: nothing has to be woken elsewhere.
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| CommandError::new(format!("no runtime: {error}")))?;
    runtime.block_on(async {
        let spans = match &flags.spans {
            Some(path) => {
                let file = super::log::open_for_append(path)?;
                let instance = config.id.to_string();
                Some(SpanSink::new("quorate-node", &instance, file).map_err(CommandError::new)?)
            }
            None => None,
        };
        let extras = Extras { pages: Some(quorate_console::router(None)), spans };
        let (node, tls) = launch(&config, flags.new_cluster, extras).await.map_err(CommandError::new)?;
        anstream::eprintln!("node {} is up; clients: {}", config.id, node.address());
        notify_systemd(&[NotifyState::Ready]);
        let mut reload = signal(SignalKind::hangup())
            .map_err(|error| CommandError::new(format!("signals cannot be heard: {error}")))?;
        let end = shutdown_signal();
        tokio::pin!(end);
        loop {
            tokio::select! {
                done = &mut end => {
                    done?;
                    break;
                }
                () = notify_watchdog(&node) => {}
                _ = reload.recv() => match tls.as_ref().map(|tls| tls.reload()) {
                    Some(Err(error)) => anstream::eprintln!("the certificates stay as they were: {error}"),
                    Some(Ok(())) => anstream::eprintln!("the certificates are loaded anew"),
                    None => {}
                },
            }
        }
        notify_systemd(&[NotifyState::Stopping]);
        node.stop(DRAIN_TIMEOUT).await;
        Ok(ExitCode::SUCCESS)
    })
}

/// Tells systemd that the node lives, if it wants to know, and how it is: its loop has answered. A node whose loop
/// hangs is started anew.
async fn notify_watchdog(node: &Node) {
    let every = sd_notify::watchdog_enabled().map_or(Duration::from_secs(10), |limit| limit / 2);
    loop {
        tokio::time::sleep(every).await;
        let reasons = node.reasons().await;
        let status = match reasons.first() {
            None => "gives locks".to_owned(),
            Some(reason) => format!("not ready: {reason}"),
        };
        if node.is_alive().await {
            notify_systemd(&[NotifyState::Watchdog, NotifyState::Status(&status)]);
        }
    }
}

/// Where there is no systemd, nobody is told.
fn notify_systemd(states: &[NotifyState<'_>]) {
    let _ = sd_notify::notify(states);
}
