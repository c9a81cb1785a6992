//! `quorate node`: runs one member of a cluster.

use std::process::ExitCode;
use std::time::Duration;

use quorate_service::{BadConfig, Extras, FirstStart, Node, NodeConfig, SpanSink, launch};
use sd_notify::NotifyState;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

use super::up::shutdown_signal;
use crate::CommandResult;
use crate::arguments::NodeFlags;
use crate::command_error::CommandError;

/// Time that clients have to move to another node before this one stops.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) fn node(flags: &NodeFlags) -> CommandResult {
    let config = NodeConfig::read(&flags.config).map_err(|error| bad_config(&error))?;
    super::log::init(flags.log, &flags.log_level)?;
    quorate_service::raise_open_files();
    // A node is one loop. Its connections are faster on the same thread, because no other thread has to be woken.
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| CommandError::new(format!("cannot start the runtime: {error}")))?;
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
        let first_start = match flags.join {
            true => FirstStart::NewNode,
            false => FirstStart::of_cluster(flags.new_cluster),
        };
        let (node, tls) = launch(&config, first_start, extras).await.map_err(CommandError::new)?;
        anstream::eprintln!("node {} is up; clients: {}", config.id, node.address());
        notify_systemd(&[NotifyState::Ready]);
        let mut reload = signal(SignalKind::hangup())
            .map_err(|error| CommandError::new(format!("cannot install signal handlers: {error}")))?;
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
                    Some(Err(error)) => anstream::eprintln!("certificates not reloaded, the old ones stay: {error}"),
                    Some(Ok(())) => anstream::eprintln!("certificates reloaded"),
                    None => {}
                },
            }
        }
        notify_systemd(&[NotifyState::Stopping]);
        node.stop(DRAIN_TIMEOUT).await;
        Ok(ExitCode::SUCCESS)
    })
}

/// Describes an error in the configuration: for a misspelt key the one that was meant, and the place in the file.
fn bad_config(error: &BadConfig) -> CommandError {
    let BadConfig::Syntax { path, line, column, problem, excerpt } = error else {
        return CommandError::new(error);
    };
    let unknown = problem.strip_prefix("unknown field `").and_then(|rest| rest.split_once('`'));
    let meant = unknown.and_then(|(name, rest)| {
        let known = rest.split('`').skip(1).step_by(2);
        Some((name, quorate_sim::nearest(name, known)?))
    });
    let problem = match meant {
        Some((name, meant)) => format!("there is no key `{name}`; did you mean `{meant}`?"),
        None => problem.clone(),
    };
    CommandError::new(format!("{path}:{line}:{column}: {problem}")).with_excerpt(excerpt)
}

/// Notifies the watchdog of systemd, if enabled, and reports the status, after the loop of the node has answered.
/// systemd restarts a node whose loop hangs.
async fn notify_watchdog(node: &Node) {
    let every = sd_notify::watchdog_enabled().map_or(Duration::from_secs(10), |limit| limit / 2);
    loop {
        tokio::time::sleep(every).await;
        let reasons = node.reasons().await;
        let status = match reasons.first() {
            None => "grants locks".to_owned(),
            Some(reason) => format!("not ready: {reason}"),
        };
        if node.is_alive().await {
            notify_systemd(&[NotifyState::Watchdog, NotifyState::Status(&status)]);
        }
    }
}

/// Sends states to systemd; does nothing without systemd.
fn notify_systemd(states: &[NotifyState<'_>]) {
    let _ = sd_notify::notify(states);
}
